"""Asks for the clusters as the participants' platform engineers, and approves them as their lead architects."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

from clusters import actions
from clusters.models import CloudAccount, Cluster, ServiceQuota
from clusters.states import SETTLED
from program.transfer.clusters import store, wished
from program.transfer.dates import Row
from program.transfer.directory import Directory
from program.transfer.words import ARCHITECTURES
from tenants.models import Participation
from tenants.wall.acting import acting_for, reading_everyone
from tenants.web.problems import Refused

Say = Callable[[str], None]
LOOK_EVERY = 0.5


class TookTooLong(RuntimeError):
    """What was waited for did not come; the message says what, and where to look."""


def launchable(told: Row) -> Iterator[tuple[Row, Row]]:
    """The clusters for which there is a reference architecture, with their participants."""
    for row in told["participants"]:
        yield from ((row, cluster) for cluster in row["clusters"] if cluster["orchestrator"] in ARCHITECTURES)


def load(told: Row, directory: Directory, accounts: dict[str, CloudAccount], say: Say) -> list[str]:
    """Ask for what nobody asked for yet; the names of the clusters that were refused, which does not stop the others."""
    missing = [(row, cluster) for row, cluster in launchable(told) if not _known(directory, row, cluster)]
    if missing:
        say("waiting until Cohort has read the quotas of the accounts")
        _wait_for_quotas([accounts[row["slug"]] for row, _ in missing])
    refused = []
    for row, cluster in missing:
        try:
            _launch(row, cluster, directory, accounts[row["slug"]])
        except Refused as problem:
            refused.append(cluster["name"])
            say(f"{cluster['name']} of {row['name']} was refused: {problem}")
        else:
            say(f"asked for and approved {cluster['name']} of {row['name']}")
    return refused


def _known(directory: Directory, row: Row, cluster: Row) -> bool:
    # A deleted one counts: somebody has decided so.
    with acting_for(directory.tenants[row["slug"]]):
        return Cluster.objects.filter(name=cluster["name"]).exists()


def _launch(row: Row, cluster: Row, directory: Directory, account: CloudAccount) -> None:
    """Both decisions in one transaction, so that a second run finds either none or both."""
    participation: Participation = directory.participations[row["slug"]]
    platform = directory.people[row["team"]["contacts"]["platform"]]
    lead = directory.people[row["team"]["lead_sa"]]
    with acting_for(participation.tenant_id):
        made = actions.request_cluster(
            participation=participation,
            account=account,
            name=cluster["name"],
            body=wished(row, cluster),
            by=platform.actor,
            reason=row["project"],
        )
        for row_of_storage in cluster["storage"]:
            store(row_of_storage, made, platform.actor)
        actions.approve_cluster(cluster=made, person=lead, by=lead.actor)


def _wait_for_quotas(accounts: list[CloudAccount], seconds: float = 120) -> None:
    end, wanted = (
        time.monotonic() + seconds,
        {(account.pk, region) for account in accounts for region in account.regions},
    )
    while True:
        with reading_everyone():
            read = set(ServiceQuota.objects.values_list("account_id", "region").distinct())
            denied = dict(
                CloudAccount.objects.filter(pk__in=[account.pk for account in accounts])
                .exclude(denied_reason="")
                .values_list("account_id", "denied_reason")
            )
        if wanted <= read:
            return
        if time.monotonic() > end:
            why = "; ".join(f"{account}: {reason}" for account, reason in denied.items())
            raise TookTooLong(
                f"After {seconds:.0f} s the quotas of {len(wanted - read)} accounts were still unread. "
                + (f"They do not let us in ({why})." if why else "Do workers and beat run?")
            )
        time.sleep(LOOK_EVERY)


def wait_until_settled(names: list[str], say: Say, seconds: float) -> bool:
    """Tell of every step of these clusters until none moves any more; whether all of them are ready."""
    end, shown = time.monotonic() + seconds, dict.fromkeys(names, "")
    while True:
        with reading_everyone():
            now = dict(Cluster.objects.filter(name__in=names).values_list("name", "state"))
        for name in [name for name in names if now[name] != shown[name]]:
            say(f"{name} is {now[name]}")
        shown = now
        if set(shown.values()) <= SETTLED:
            return set(shown.values()) <= {"ready"}
        if time.monotonic() > end:
            raise TookTooLong(
                f"After {seconds:.0f} s these still move: {', '.join(n for n in names if now[n] not in SETTLED)}"
            )
        time.sleep(LOOK_EVERY)
