"""Read what an account itself says, every hour: whether it lets us in, its quotas, its capacity, what is in it."""

from datetime import timedelta

from clusters import states
from clusters.accounts import answered, guard_answered
from clusters.engine import asking, orphans
from clusters.engine.facts import ENGINE, account_of
from clusters.models import CloudAccount
from clusters.providers import ProviderError, aws
from tenants import metrics
from tenants.history import timeline
from tenants.wall.acting import acting_for
from tenants.work import due

HOURLY = timedelta(hours=1)
DENIED_AGAIN = timedelta(seconds=10)  # the account's owner is probably at it right now
LOST_AGAIN = timedelta(minutes=1)


def step(held: due.Held) -> None:
    """Handle one due account: every Region it is used in."""
    with acting_for(held.tenant_id, staff=True):
        row = CloudAccount.objects.filter(pk=held.ref).first()
        if row is None:
            due.finish(held, again_in=None)
            return
        about = {region: asking.question(row, region) for region in row.regions}
        known = {region: orphans.expected(row, region) for region in row.regions}
    try:
        read = [asking.ask(row, region, about[region]) for region in row.regions]
        center = _identity_center(row)
        unguarded = aws.lets_in_without_id(account_of(row, row.regions[0]))
        tagged = {region: orphans.look(row, region, known[region]) for region in row.regions}
    except ProviderError as error:
        metrics.provider_error("account", error.kind)
        with acting_for(held.tenant_id, staff=True):
            _refused(held, row, error)
        return
    with acting_for(held.tenant_id, staff=True):
        CloudAccount.objects.select_for_update().get(pk=row.pk)
        due.finish(held, again_in=HOURLY)
        answered(row.pk, "yes")
        guard_answered(row, unguarded, by=ENGINE)
        CloudAccount.objects.filter(pk=row.pk).exclude(identity_center=center).update(identity_center=center)
        for answer in read:
            asking.keep(row, answer)
        for region, found in tagged.items():
            orphans.keep(row, region, found)


def _identity_center(row: CloudAccount) -> str:
    """Whether people can be signed in to Amazon Managed Grafana; a role that may not ask leaves it unknown."""
    try:
        told = aws.call(account_of(row, row.regions[0]), "sso-admin", "ListInstances")
    except ProviderError as error:
        if error.kind in ("denied", "refused"):
            return "unknown"
        raise
    return "yes" if told.get("Instances") else "no"


def _refused(held: due.Held, row: CloudAccount, error: ProviderError) -> None:
    denied = error.kind in ("denied", "refused")
    CloudAccount.objects.select_for_update().get(pk=row.pk)
    due.finish(held, again_in=DENIED_AGAIN if denied else LOST_AGAIN, give_back=error.kind == "throttled")
    answered(row.pk, "no" if denied else "unknown", error.message)
    if denied and row.denied_reason != error.message:
        timeline.record(states.ACCOUNT_DENIED, about=row, by=ENGINE, account=row.account_id, why=error.message)
