"""The tenants layer as a Django application."""

from django.apps import AppConfig


class TenantsConfig(AppConfig):
    name = "tenants"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        import tenants.entries  # noqa: F401  declares the kinds
        import tenants.history.seals  # noqa: F401  registers the hourly sealing
        import tenants.work.heartbeat  # noqa: F401
