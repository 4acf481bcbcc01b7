"""The support layer as a Django application."""

from django.apps import AppConfig


class SupportConfig(AppConfig):
    name = "support"

    def ready(self) -> None:
        import support.escalation
        import support.triage  # noqa: F401  registers the handler that opens cases
        from support.models import CaseNote
        from tenants.queries import WRITTEN

        WRITTEN["case_note"] = CaseNote
