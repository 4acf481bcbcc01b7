"""`manage.py verify`: whether every sealed line of every history is what it was, every file's content is there, and every
cluster holds the capacity that it should."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import connection

from clusters import capacity_queries
from clusters.actions import holding
from tenants import files
from tenants.history import seals
from tenants.history.models import Seal
from tenants.models import Attachment, Tenant
from tenants.wall.acting import acting_for


class Command(BaseCommand):
    help = "Check the seals of all histories and the files; ends with 1 and names what no longer fits or is missing."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("--tenant", metavar="SLUG", help="only this one")
        parser.add_argument("--settle", action="store_true", help="add the rows of capacity that are missing")

    def handle(self, *args: Any, tenant: str | None, settle: bool = False, **options: Any) -> None:
        tenants = Tenant.objects.filter(slug=tenant) if tenant else Tenant.objects.order_by("slug")
        if tenant and not tenants:
            raise CommandError(f"There is no tenant {tenant}.")
        broken = [each for one in tenants for each in self._verify(one)]
        lost = [(one, each) for one in tenants for each in self._lost(one)]
        for each in broken:
            self.stdout.write(f"BROKEN: seal {each.seal} of {each.tenant} {each.reason}")
        for one, file in lost:
            self.stdout.write(f"LOST: the content of '{file.name}' of {one.slug}, to be restored as {file.stored_as}")
        wrong = [each for one in tenants for each in self._unsettled(one, settle)]
        for sentence in wrong:
            self.stdout.write(f"CAPACITY: {sentence}")
        if broken or lost or (wrong and not settle):
            sys.exit(1)

    def _unsettled(self, tenant: Tenant, settle: bool) -> list[str]:
        """Clusters whose rows do not add up to what they should hold; what is added is a row like any other."""
        found = []
        with acting_for(tenant, staff=True):
            for cluster, (should, does) in capacity_queries.unsettled().items():
                found.append(f"{cluster.name} of {tenant.slug} holds {_told(does)} and should hold {_told(should)}")
                if settle:
                    holding.settle(cluster, by="engine", why="settled by manage.py verify")
        return found

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


def _told(held: Mapping[tuple[str, str], int]) -> str:
    return ", ".join(f"{count} {kind} {option}" for (kind, option), count in sorted(held.items())) or "nothing"
