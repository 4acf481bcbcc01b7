"""`manage.py verify`: whether every sealed line of every history is what it was, and every file's content is there."""

from __future__ import annotations

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import connection

from tenants import files
from tenants.history import seals
from tenants.history.models import Seal
from tenants.models import Attachment, Tenant
from tenants.wall.acting import acting_for


class Command(BaseCommand):
    help = "Check the seals of all histories and the files; ends with 1 and names what no longer fits or is missing."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("--tenant", metavar="SLUG", help="only this one")

    def handle(self, *args: Any, tenant: str | None, **options: Any) -> None:
        tenants = Tenant.objects.filter(slug=tenant) if tenant else Tenant.objects.order_by("slug")
        if tenant and not tenants:
            raise CommandError(f"There is no tenant {tenant}.")
        broken = [each for one in tenants for each in self._verify(one)]
        lost = [(one, each) for one in tenants for each in self._lost(one)]
        for each in broken:
            self.stdout.write(f"BROKEN: seal {each.seal} of {each.tenant} {each.reason}")
        for one, file in lost:
            self.stdout.write(f"LOST: the content of '{file.name}' of {one.slug}, to be restored as {file.stored_as}")
        if broken or lost:
            sys.exit(1)

    def _lost(self, tenant: Tenant) -> list[Attachment]:
        with acting_for(tenant, staff=True):
            return files.lost(tenant)

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
