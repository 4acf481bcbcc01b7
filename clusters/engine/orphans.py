"""What carries our tags in an account though no cluster of ours accounts for it: kept in sight and told, and never touched.

Everything else that we make is inside a stack, so stacks and HyperPod clusters are all that has to be looked for.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import structlog
from django.conf import settings
from django.db.models import Q
from django.utils import timezone

from clusters import states
from clusters.engine.facts import ENGINE, account_of
from clusters.models import CloudAccount, ExternalObject, Orphan
from clusters.providers import Account, ProviderError, aws
from tenants.history import timeline

log = structlog.get_logger(__name__)

JUST_NOW = timedelta(hours=1)  # a list may still name what has gone since


@dataclass(frozen=True)
class Tagged:
    """One object with the tags of this installation."""

    kind: str
    external_id: str
    name: str
    claims: str  # the id of the cluster that it says it belongs to


def expected(row: CloudAccount, region: str) -> frozenset[str]:
    """The names that have a row here. Inside a scope."""
    gone = Q(state="gone") & (Q(last_seen_at=None) | Q(last_seen_at__lt=timezone.now() - JUST_NOW))
    parts = ExternalObject.objects.filter(account_number=row.account_id, region=region).exclude(gone)
    return frozenset(parts.values_list("name", flat=True))


def look(row: CloudAccount, region: str, known: frozenset[str]) -> list[Tagged] | None:
    """What carries our tags and none of these names, in no transaction; None when the account did not say. Raises
    ProviderError when it wants us to slow down."""
    account = account_of(row, region)
    try:
        return [*_stacks(account, known), *_clusters(account, known)]
    except ProviderError as error:
        if error.kind in ("throttled", "expired"):
            raise
        log.info("orphans_not_read", account=row.account_id, region=region, kind=error.kind, message=error.message)
        return None


def _stacks(account: Account, known: frozenset[str]) -> list[Tagged]:
    told = aws.pages(account, "cloudformation", "DescribeStacks", "Stacks")
    # A nested stack carries the tags of the one around it, and lives and goes with that.
    rows = [each for each in told if not each.get("ParentId") and each["StackName"] not in known]
    found = [_tagged("stack", each["StackId"], each["StackName"], each.get("Tags", [])) for each in rows]
    return [one for one in found if one is not None]


def _clusters(account: Account, known: frozenset[str]) -> list[Tagged]:
    found = []
    for each in aws.pages(account, "sagemaker", "ListClusters", "ClusterSummaries", MaxResults=100):
        if each["ClusterName"] in known:
            continue
        tags = aws.pages(account, "sagemaker", "ListTags", "Tags", ResourceArn=each["ClusterArn"])
        found.append(_tagged("hyperpod", each["ClusterArn"], each["ClusterName"], list(tags)))
    return [one for one in found if one is not None]


def _tagged(kind: str, external_id: str, name: str, tags: list[dict[str, str]]) -> Tagged | None:
    told = {each["Key"]: each["Value"] for each in tags}
    if told.get("cohort:installation") != settings.INSTALLATION_ID:
        return None
    return Tagged(kind, external_id, name, told.get("cohort:resource", "")[:60])


def keep(row: CloudAccount, region: str, found: list[Tagged] | None) -> None:
    """Write down what is new and what is no longer there. The account is locked by the caller; None changes nothing."""
    if found is None:
        return
    # Rows are written before their calls, so what is read now knows of all that the account could name before.
    known, now = expected(row, region), timezone.now()
    here = {one.external_id: one for one in found if one.name not in known}
    kept = {one.external_id: one for one in Orphan.objects.filter(account=row, region=region)}
    for external_id, one in here.items():
        before = kept.get(external_id)
        if before is not None and before.gone_at is None:
            continue
        told = {"kind": one.kind, "name": one.name, "claims": one.claims, "found_at": now, "gone_at": None}
        Orphan.objects.update_or_create(
            account=row, region=region, external_id=external_id,
            defaults=told, create_defaults=told | {"tenant_id": row.tenant_id},
        )  # fmt: skip
        _tell(states.ORPHAN_FOUND, row, region, one.name)
    for external_id, before in kept.items():
        if before.gone_at is None and external_id not in here:
            Orphan.objects.filter(pk=before.pk).update(gone_at=now)
            _tell(states.ORPHAN_GONE, row, region, before.name)


def _tell(what: str, row: CloudAccount, region: str, name: str) -> None:
    told: dict[str, Any] = {"account": row.account_id, "region": region, "name": name}
    timeline.record(what, about=row, by=ENGINE, **told)
