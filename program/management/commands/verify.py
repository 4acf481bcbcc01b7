"""`manage.py verify`: whether every sealed line of every history is still what it was when it was sealed."""

from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import connection

from tenants.history import seals
from tenants.history.models import Seal
from tenants.models import Tenant
from tenants.wall.acting import acting_for


class Command(BaseCommand):
    help = "Check the seals of all histories; ends with 1 and names every seal that its entries no longer fit."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("--tenant", metavar="SLUG", help="only this one")

    def handle(self, *args: Any, tenant: str | None, **options: Any) -> None:
        tenants = Tenant.objects.filter(slug=tenant) if tenant else Tenant.objects.order_by("slug")
        if tenant and not tenants:
            raise CommandError(f"There is no tenant {tenant}.")
        broken = [each for one in tenants for each in self._verify(one)]
        for each in broken:
            self.stdout.write(f"BROKEN: seal {each.seal} of {each.tenant} {each.reason}")
        if broken:
            sys.exit(1)

    def _verify(self, tenant: Tenant) -> list[seals.Broken]:
        with acting_for(tenant, staff=True):
            with connection.cursor() as cursor:
                # A page may not take this long; reading a whole history may.
                cursor.execute("set local statement_timeout = 0")
            broken = seals.verify(tenant)
            known = list(Seal.objects.order_by("until"))
            newest = f", newest digest {known[-1].digest[:16]}" if known else ""
            entries = sum(each.entries for each in known)
        self.stdout.write(f"{tenant.slug}: {len(known)} seals over {entries} entries{newest}")
        return broken
