"""The clusters layer as a Django application."""

from django.apps import AppConfig


class ClustersConfig(AppConfig):
    name = "clusters"

    def ready(self) -> None:
        import clusters.engine.handlers  # registers what the workers do
        import clusters.import_kinds  # noqa: F401
        from clusters.models import ExternalObject
        from tenants import files
        from tenants.wall import roles

        files.subject(ExternalObject.SUBJECT, readers=roles.READ)
