"""Django's `migrate`, run as the owner of the tables."""

from django.core.management.commands.migrate import Command as Django

from program.management.as_owner import AsOwner


class Command(AsOwner, Django):
    """See Django's command of the same name."""
