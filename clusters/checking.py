"""Preflight on what the database knows: quotas as last read, reservations, what other clusters of the account take."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from clusters import facts
from clusters.architectures.configuration import Configuration, read_configuration
from clusters.findings import Finding, Refusals
from clusters.models import CloudAccount, Cluster, Reservation, Revision, ServiceQuota
from clusters.preflight import Network, Plan, Quotas, preflight, refused
from clusters.states import USES_QUOTA
from tenants.web.problems import Refused


@dataclass(frozen=True)
class Checked:
    """A configuration that could be read, and everything that was found about it."""

    configuration: Configuration | None
    findings: list[Finding]

    @property
    def fits(self) -> bool:
        return self.configuration is not None and not refused(self.findings)


def check(*, account: CloudAccount, name: str, body: Any, other_than: Cluster | None = None) -> Checked:
    """Read and check a configuration without asking a cloud anything."""
    try:
        wish = read_configuration(body)
    except Refusals as error:
        return Checked(None, error.findings)
    usage, plans_used = _usage(account, wish.region, other_than)
    findings = preflight(
        wish,
        facts.load(),
        _quotas(account, wish.region),
        usage,
        _plans(wish.region, plans_used),
        Network(),
        timezone.now(),
        name=name,
    )
    return Checked(wish, findings)


def _quotas(account: CloudAccount, region: str) -> Quotas:
    rows = ServiceQuota.objects.filter(account=account, region=region).values_list("service", "name", "value")
    return Quotas({(service, name): float(value) for service, name, value in rows})


def _usage(account: CloudAccount, region: str, other_than: Cluster | None) -> tuple[Counter[str], Counter[str]]:
    """Instances by type and by training plan in the account's other clusters, the wished ones included."""
    clusters = Cluster.objects.filter(account=account, region=region, state__in=USES_QUOTA)
    if other_than is not None:
        clusters = clusters.exclude(pk=other_than.pk)
    newest: dict[Any, Any] = {}
    rows = Revision.objects.filter(cluster__in=clusters).order_by("number").values_list("cluster_id", "body")
    for cluster_id, body in rows:
        newest[cluster_id] = body
    types: Counter[str] = Counter()
    plans: Counter[str] = Counter()
    for body in newest.values():
        for group in body["instance_groups"]:
            types[group["instance_type"]] += group["count"]
            if group["training_plan"]:
                plans[group["training_plan"]] += group["count"]
    return types, plans


def _plans(region: str, used: Counter[str]) -> list[Plan]:
    rows = Reservation.objects.filter(kind=Reservation.Kind.TRAINING_PLAN, region=region)
    return [
        Plan(
            name=row.external_id,
            instance_type=row.instance_type,
            region=row.region,
            az_id=row.az_id,
            count=row.count,
            state=row.engine_status.lower() or "active",
            starts_at=row.starts_at,
            ends_at=row.ends_at,
            used=used[row.external_id],
        )
        for row in rows
    ]


def told(finding: Finding) -> dict[str, Any]:
    """A finding as pages and the API show it, in the reader's language."""
    return {
        "code": finding.code,
        "level": finding.level,
        "field": finding.field,
        "asked": finding.asked,
        "allowed": finding.allowed,
        "unit": finding.unit,
        "who": finding.who,
        "suggestion": finding.suggestion,
        "sentence": finding.sentence(_),
        "advice": finding.advice(_),
    }


def refuse_unless_it_fits(checked: Checked) -> Configuration:
    """The configuration, or Refused with every finding that speaks against it."""
    against = refused(checked.findings)
    if checked.configuration is None or against:
        sentence = " ".join(filter(None, [against[0].sentence(_), against[0].advice(_)]))
        raise Refused("preflight", sentence, status=422, findings=[told(finding) for finding in against])
    return checked.configuration
