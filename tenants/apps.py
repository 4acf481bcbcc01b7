"""The tenants layer as a Django application."""

from django.apps import AppConfig


class TenantsConfig(AppConfig):
    name = "tenants"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        import tenants.confirming
        import tenants.entries
        import tenants.history.seals
        import tenants.import_kinds
        import tenants.importing
        import tenants.inviting
        import tenants.joining
        import tenants.mail
        import tenants.rosters
        import tenants.work.heartbeat  # noqa: F401
