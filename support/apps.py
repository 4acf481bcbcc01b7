"""The support layer as a Django application."""

from django.apps import AppConfig


class SupportConfig(AppConfig):
    name = "support"

    def ready(self) -> None:
        import support.escalation
        import support.leaving
        import support.telling
        import support.triage  # noqa: F401  registers the handler that opens cases
        from support.models import Case, CaseNote
        from support.queries import cases
        from tenants import files
        from tenants.queries import WRITTEN
        from tenants.wall import roles

        WRITTEN["case_note"] = CaseNote
        # Only a service engineer sees fewer cases than the scope holds, and with them fewer of their files.
        files.subject(
            Case.SUBJECT,
            readers=roles.READ_CASES,
            among=lambda role, person: cases(role=role, person=person) if role == roles.SERVICE_ENGINEER else None,
        )
