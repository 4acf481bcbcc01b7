"""Preflight on what the database knows: quotas as last read, reservations, what other clusters of the account take."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.utils import timezone
from django.utils.translation import gettext as _

from clusters import engine_check, facts, node_setups
from clusters.architectures.configuration import Configuration, read_configuration
from clusters.findings import Finding, Refusals
from clusters.models import CloudAccount, Cluster, Reservation, Revision, ServiceQuota
from clusters.preflight import Account, Ec2, Held, Network, Plan, Quotas, preflight, refused
from clusters.states import USES_QUOTA
from tenants.models import Participation
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
    body, unknown = node_setups.resolved(body)
    if unknown:
        return Checked(None, unknown)
    try:
        wish = read_configuration(body)
    except Refusals as error:
        return Checked(None, error.findings)
    quotas = _quotas(account, wish.region)
    hyperpod, on_ec2, capacity_used = _usage(account, wish.region, other_than)
    findings = preflight(
        wish,
        facts.load(),
        quotas,
        hyperpod,
        _plans(wish.region, capacity_used),
        Network(),
        timezone.now(),
        name=name,
        ec2=Ec2(
            quotas={name: value for (service, name), value in quotas.values.items() if service == "ec2"},
            usage=on_ec2,
            held=_held(wish.region, capacity_used),
        ),
        account=_account(account, wish.region, quotas, hyperpod + on_ec2, other_than),
    )
    return Checked(wish, findings)


def check_with_engine(*, account: CloudAccount, name: str, body: Any) -> Checked:
    """The same, and what the engine's own schema finds. Asks a process beside us, so never while rows are locked."""
    checked = check(account=account, name=name, body=body)
    if checked.configuration is None:
        return checked
    told = engine_check.findings(checked.configuration, name=name, address=settings.PCLUSTER_SCHEMA)
    return Checked(checked.configuration, engine_check.beside(checked.findings, told))


def _quotas(account: CloudAccount, region: str) -> Quotas:
    rows = list(
        ServiceQuota.objects.filter(account=account, region=region).values_list("service", "name", "value", "read_at")
    )
    values = {(service, name): float(value) for service, name, value, _read in rows}
    return Quotas(values, min((read for *_rest, read in rows), default=None))


def _account(
    row: CloudAccount, region: str, quotas: Quotas, usage: Counter[str], other_than: Cluster | None
) -> Account:
    """What is known of the account, and where its participation may keep data."""
    newest = Participation.objects.exclude(state__in=["closed", "withdrawn"]).filter(tenant=row.tenant_id)
    allowed = newest.order_by("-created_at").values_list("allowed_regions", flat=True).first()
    return Account(
        number=row.account_id,
        access=row.access,
        checked_at=row.checked_at,
        allowed_regions=tuple(allowed or ()),
        limits=quotas.values,
        read_at=quotas.read_at,
        usage=usage,
        clusters=1 if usage or other_than is not None else 0,
    )


def _usage(
    account: CloudAccount, region: str, other_than: Cluster | None
) -> tuple[Counter[str], Counter[str], Counter[str]]:
    """What the account's other clusters take, the wished ones included: instances by type on HyperPod, the same on EC2,
    and instances by training plan or reservation."""
    clusters = Cluster.objects.filter(account=account, region=region, state__in=USES_QUOTA)
    if other_than is not None:
        clusters = clusters.exclude(pk=other_than.pk)
    newest: dict[Any, Any] = {}
    rows = Revision.objects.filter(cluster__in=clusters).order_by("number").values_list("cluster_id", "body")
    for cluster_id, body in rows:
        newest[cluster_id] = body
    hyperpod: Counter[str] = Counter()
    on_ec2: Counter[str] = Counter()
    capacity: Counter[str] = Counter()
    for body in newest.values():
        counts = on_ec2 if body["architecture"].startswith("parallelcluster") else hyperpod
        for group in body["instance_groups"]:
            # A Capacity Block is outside the quotas of EC2.
            if group.get("capacity") != "capacity-block":
                counts[group["instance_type"]] += group["count"]
            for name in filter(None, (group["training_plan"], group.get("reservation"))):
                capacity[name] += group["count"]
    return hyperpod, on_ec2, capacity


def _held(region: str, used: Counter[str]) -> list[Held]:
    kinds = {Reservation.Kind.ODCR: "on-demand", Reservation.Kind.CAPACITY_BLOCK: "capacity-block"}
    rows = Reservation.objects.filter(kind__in=kinds, region=region)
    return [
        Held(
            id=row.external_id,
            kind=kinds[Reservation.Kind(row.kind)],
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
        "verdict": finding.verdict,
        "known_at": finding.known_at.isoformat() if finding.known_at else None,
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
