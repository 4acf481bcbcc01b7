"""The clusters layer as a Django application."""

from django.apps import AppConfig


class ClustersConfig(AppConfig):
    name = "clusters"

    def ready(self) -> None:
        import clusters.engine.handlers  # noqa: F401  registers what the workers do
