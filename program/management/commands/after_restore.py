"""`manage.py after_restore`: once, after a restored backup and before the workers start.

The backup may be older than the clouds: what it calls half made may long have been finished and deleted again. So
everything settled is looked at anew, which never creates anything, and everything in the middle waits for a person.
"""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import connection, transaction
from django.db.models.functions import Now

from clusters.engine import turns
from clusters.models import Cluster, ExternalObject, Job
from clusters.states import SETTLED
from tenants import entries
from tenants.history import timeline
from tenants.models import Tenant
from tenants.wall.acting import acting_for
from tenants.work import due
from tenants.work.heartbeat import begin

ALIVE = "select exists (select from tenants_due where kind = 'heartbeat' and done_at > statement_timestamp() - interval '1 minute')"
# Whoever still holds a row from before the restore must not be able to finish it.
FREE = "update tenants_due set leased_until = null, again = false, attempt = 0, epoch = epoch + 1000000"
HOLD = """
insert into tenants_due (kind, ref, tenant_id, lane, stuck) values (%s, %s, %s, %s, %s)
on conflict (kind, ref) do update set stuck = excluded.stuck"""
MIDDLE = "Restored from a backup in which this was half made. Look at the account; then let it be tried again."


class Command(BaseCommand):
    help = "After a restore: look at everything again, and hold what was half made until a person has looked at its account."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("--force", action="store_true", help="although workers seem to run")

    def handle(self, *args: Any, force: bool, **options: Any) -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(ALIVE)
            if cursor.fetchone()[0] and not force:
                raise CommandError(
                    "Workers run on this database. Stop them first; they may be acting on the old state."
                )
            cursor.execute(FREE)
            held = [line for tenant in Tenant.objects.order_by("slug") for line in self._tenant(tenant)]
            office = Tenant.objects.get(is_office=True)
            with acting_for(office, staff=True):
                timeline.record(entries.RESTORED, about=office, by="engine", held=len(held))
            begin()
        for line in held:
            self.stdout.write(f"held: {line}")
        self.stdout.write(f"Everything else is due for a look; {len(held)} wait for a person. Start the workers now.")

    def _tenant(self, tenant: Tenant) -> list[str]:
        held = []
        with acting_for(tenant, staff=True):
            # "Not found" counts only a while after the last call: a restore starts that while again.
            ExternalObject.objects.exclude(last_call="").update(last_call_at=Now(), absences=0)
            for cluster in Cluster.objects.exclude(state="deleted").select_related("account").order_by("name"):
                if cluster.state not in SETTLED:
                    _hold(turns.kind_of(cluster), cluster)
                    held.append(
                        f"{tenant.slug} cluster {cluster.name} ({cluster.state}): due --again {turns.kind_of(cluster)} {cluster.pk}"
                    )
                elif cluster.state != "requested":
                    turns.wish(cluster)
                jobs = list(Job.objects.filter(cluster=cluster, state="requested").values_list("name", flat=True))
                if jobs:
                    _hold("jobs", cluster)
                    held.append(
                        f"{tenant.slug} jobs {', '.join(jobs)} on {cluster.name}: due --again jobs {cluster.pk}"
                    )
                else:
                    due.wish("jobs", cluster.pk, tenant=tenant, lane=cluster.lane)
        return held


def _hold(kind: str, cluster: Cluster) -> None:
    with connection.cursor() as cursor:
        cursor.execute(HOLD, [kind, str(cluster.pk), cluster.tenant_id, cluster.lane, MIDDLE])
