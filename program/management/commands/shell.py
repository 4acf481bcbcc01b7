"""Django's `shell`; with `--as TENANT` it sees what that tenant's pages see, and can change nothing."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands.shell import Command as Django
from django.db import connection

from tenants.models import Tenant
from tenants.wall.acting import acting_for


class Command(Django):
    """See Django's command of the same name."""

    def add_arguments(self, parser: Any) -> None:
        super().add_arguments(parser)
        parser.add_argument("--as", dest="tenant", metavar="TENANT", help="read as this tenant (its slug)")

    def handle(self, *args: Any, **options: Any) -> Any:
        if options["tenant"] is None:
            return super().handle(*args, **options)
        try:
            tenant = Tenant.objects.get(slug=options["tenant"])
        except Tenant.DoesNotExist:
            raise CommandError(f"There is no tenant {options['tenant']}.") from None
        with connection.cursor() as cursor:
            # A person thinks longer than a page may take. Reading only, because seals count on no writer being that slow.
            cursor.execute("set idle_in_transaction_session_timeout = 0; set transaction_timeout = 0")
            cursor.execute("set default_transaction_read_only = on")
        with acting_for(tenant):
            return super().handle(*args, **options)
