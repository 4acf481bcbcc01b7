"""Preflight on what the database knows: quotas as last read, reservations, what other clusters of the account take."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from clusters import (
    account_told,
    capacity_queries,
    engine_check,
    facts,
    linting,
    node_setups,
    preflight_network,
    states,
)
from clusters.account_told import Fact, Told
from clusters.architectures.configuration import Configuration, read_configuration
from clusters.findings import Finding, Refusals, in_order
from clusters.models import (
    AccountFact,
    CloudAccount,
    Cluster,
    ExternalObject,
    Node,
    Reservation,
    Revision,
    ServiceQuota,
)
from clusters.preflight import Account, Ec2, Held, Network, Plan, Quotas, preflight, refused
from clusters.states import USES_QUOTA
from tenants.history import timeline
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
    quotas, told = _quotas(account, wish.region), told_by(account, wish.region)
    hyperpod, on_ec2, capacity_used = _usage(account, wish.region, other_than)
    made = network_of(wish, other_than, told)
    findings = preflight(
        wish,
        account_told.offers(facts.load(), told, wish.region),
        quotas,
        hyperpod,
        account_told.plans(_plans(wish.region, capacity_used), told, wish.region),
        _room(made, other_than),
        timezone.now(),
        name=name,
        ec2=Ec2(
            quotas={name: value for (service, name), value in quotas.values.items() if service == "ec2"},
            usage=on_ec2,
            held=account_told.held(_held(wish.region, capacity_used), told, wish.region),
        ),
        account=_account(account, wish.region, quotas, hyperpod + on_ec2, other_than),
        told=told,
        made=made,
    )
    who = other_than.participation_id if other_than is not None else _participations(account).first()
    granted = capacity_queries.findings(who, wish, other_than) if who else ()
    return Checked(wish, in_order([*findings, *granted, linting.finding(wish)]))


def _participations(account: CloudAccount) -> QuerySet[Participation, Any]:
    """Ids of those that go on, the newest first."""
    going_on = Participation.objects.exclude(state__in=["closed", "withdrawn"]).filter(tenant=account.tenant_id)
    return going_on.order_by("-created_at").values_list("pk", flat=True)


def told_by(account: CloudAccount, region: str) -> Told:
    """What the account last said of itself."""
    rows = AccountFact.objects.filter(account=account, region=region)
    return Told({row.kind: Fact(row.body, row.read_at, row.error) for row in rows}, timezone.now())


def network_of(wish: Configuration, cluster: Cluster | None, told: Told) -> preflight_network.Network | None:
    """The network of a cluster that is there, or the one that its base will make; None when nobody knows of it."""
    base = ExternalObject.objects.filter(cluster=cluster, role="base", existed=True).first() if cluster else None
    if base is not None:
        fact = told["network"]
        return preflight_network.of_account(fact.body, base.outputs, fact.read_at) if fact.body is not None else None
    made_of = wish.made_of()
    template = next(part.template for part in made_of.parts if part.role == "base")
    return preflight_network.of_template(made_of.text(template))


def _room(made: preflight_network.Network | None, cluster: Cluster | None) -> Network:
    """What a subnet that is there has free for this cluster: also what its own nodes hold already."""
    if made is None or made.known_at is None or made.free is None or cluster is None:
        return Network()
    known = facts.load()
    orchestrator: facts.Orchestrator = "eks" if cluster.orchestrator.endswith("eks") else "slurm"
    there = Node.objects.filter(cluster=cluster).exclude(state__in=["gone", "pending"])
    held = sum(
        instance.addresses(orchestrator)
        for kind in there.values_list("instance_type", flat=True)
        if (instance := known.instance(kind)) is not None
    )
    return Network(made.range, free_addresses=made.free + held, known_at=made.known_at)


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
    allowed = _participations(row).values_list("allowed_regions", flat=True).first()
    return Account(
        number=row.account_id,
        access=row.access,
        checked_at=row.checked_at,
        allowed_regions=tuple(allowed or ()),
        limits=quotas.values,
        read_at=quotas.read_at,
        usage=usage,
        clusters=_others(row, region, other_than).count(),
        makes_base=other_than is None or not _has_base(other_than),
        mine=_counts(other_than) if other_than is not None else {},
    )


def _has_base(cluster: Cluster) -> bool:
    return ExternalObject.objects.filter(cluster=cluster, role="base", existed=True).exists()


def _counts(cluster: Cluster) -> Counter[str]:
    """Instances by type of the newest configuration."""
    body = Revision.objects.filter(cluster=cluster).order_by("-number").values_list("body", flat=True).first()
    counts: Counter[str] = Counter()
    for group in (body or {}).get("instance_groups", []):
        counts[group["instance_type"]] += group["count"]
    return counts


def _others(account: CloudAccount, region: str, other_than: Cluster | None) -> QuerySet[Cluster]:
    clusters = Cluster.objects.filter(account=account, region=region, state__in=USES_QUOTA)
    return clusters.exclude(pk=other_than.pk) if other_than is not None else clusters


def _usage(
    account: CloudAccount, region: str, other_than: Cluster | None
) -> tuple[Counter[str], Counter[str], Counter[str]]:
    """What the account's other clusters take, the wished ones included: instances by type on HyperPod, the same on EC2,
    and instances by training plan or reservation."""
    clusters = _others(account, region, other_than)
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
    rows = Reservation.objects.filter(kind__in=kinds, region=region).exclude(state="wanted")
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
    plans = Reservation.objects.exclude(state="wanted")
    rows = plans.filter(kind=Reservation.Kind.TRAINING_PLAN, region=region)
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


def tell(participation: Participation, *, key: str, name: str, sentences: list[str], day: str) -> None:
    """What fitted and no longer does, as work of the participant: an entry of which support makes a case."""
    timeline.record(
        states.NO_LONGER_FITS,
        about=participation,
        by="engine",
        key=key,
        name=name,
        day=day,
        why=" ".join(sentences)[:1500],
    )


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
