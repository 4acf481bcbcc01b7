"""What a step knows before it looks: the cluster, its configuration, its parts, and who acts where."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.conf import settings
from django.db.models.functions import Now

from clusters import architectures, node_setups
from clusters.architectures.configuration import Configuration, Group, read_configuration
from clusters.architectures.parts import MissingOutput, PartSpec, Wiring, parts
from clusters.engine import names
from clusters.findings import Refusals
from clusters.models import (
    AlertIntake,
    CloudAccount,
    Cluster,
    ClusterAccess,
    ExternalObject,
    Job,
    Node,
    NodeOrder,
    Operation,
    Proof,
    Revision,
)
from clusters.providers import Account, Part
from tenants.history.moves import move

ENGINE = "engine"
LINES_AFTER, LINES_AGAIN = timedelta(seconds=15), timedelta(seconds=30)


@dataclass
class Known:
    """Everything a step needs, read in one transaction before any call."""

    now: datetime  # by the database's clock, which also dated the calls
    cluster: Cluster
    configuration: Configuration | None  # None: what is kept cannot be read any more
    revision: int
    account: Account
    specs: list[PartSpec]
    rows: dict[str, ExternalObject]
    nodes: list[Node] = field(default_factory=list)
    proofs: list[Proof] = field(default_factory=list)  # of this generation
    smoke_job: Job | None = None  # of this generation
    access: ClusterAccess | None = None
    operation: Operation | None = None  # what is under way
    orders: list[NodeOrder] = field(default_factory=list)  # of it
    rehearsed: bool = False  # ParallelCluster's validators took this change in this very turn
    unreadable: str = ""  # why the configuration cannot be read: what is there is known by the ledger alone
    scripts: dict[str, str] = field(default_factory=dict)  # of the participant, by their checksums
    alerts: tuple[str, str] | None = None  # where alerts go, and the token that lets them in
    surplus: frozenset[str] = frozenset()  # roles of parts that the configuration no longer has

    @property
    def groups(self) -> tuple[Group, ...]:
        return tuple(self.configuration.instance_groups) if self.configuration else ()

    def part(self, role: str, *, verb: str = "") -> Part:
        """The part as the adapter takes it; with a verb, complete with the request. Raises MissingOutput."""
        row = self.rows[role]
        spec = next(spec for spec in self.specs if spec.role == role)
        # What we made ourselves is known by its id until it is ready; at rest, and before it goes, its tags are asked for.
        held = row.external_id if self.cluster.wanted and self.cluster.state in ("creating", "updating") else ""
        body: dict[str, Any] = {"seen": row.newest_event, "held": held}
        if self._asks_for_lines(row):
            body["lines_since"] = row.lines[-1]["at"] if row.lines else 0
        if verb in ("create", "update"):
            body |= spec.body(self.wiring())
        return Part(
            kind=row.kind,
            name=row.name,
            token=names.token(row.name, verb, self.cluster.generation) if verb else row.token,
            tags=names.tags(settings.INSTALLATION_ID, self.cluster.tenant_id, self.cluster.pk, row.incarnation),
            body=body,
        )

    def _asks_for_lines(self, row: ExternalObject) -> bool:
        """What the set-up of nodes says is worth a call now and then, and not before they can have begun."""
        young = row.last_call_at is not None and self.now - row.last_call_at < LINES_AFTER
        again = row.lines_read_at is None or self.now - row.lines_read_at >= LINES_AGAIN
        theirs = self.configuration is not None and self.configuration.node_setup is not None
        settled = self.cluster.state in ("ready", "deleting")
        speaks = row.kind == "hyperpod" or (row.kind == "parallelcluster" and theirs and not settled)
        return speaks and not young and again

    def wished_digest(self, role: str) -> str:
        """Of the request this part ought to have been made with."""
        spec = next(spec for spec in self.specs if spec.role == role)
        return names.body_digest(spec.body(self.wiring()))

    def wished_digest_of(self, wish: Configuration, role: str) -> str:
        """The same of another configuration."""
        made_of = architectures.architecture(wish.architecture, wish.version)
        return names.body_digest(next(spec for spec in parts(made_of, wish) if spec.role == role).body(self.wiring()))

    def wiring(self) -> Wiring:
        return Wiring(
            account_id=self.account.account_id,
            role_arn=self.account.role_arn,
            names={role: row.name for role, row in self.rows.items()},
            outputs={role: row.outputs for role, row in self.rows.items()},
            scripts=self.scripts,
            **({"alerts": self.alerts} if self.alerts else {}),
        )


def account_of(row: CloudAccount, region: str) -> Account:
    """How to act in a participant's account; the session's name joins its audit trail with our history."""
    bound = structlog.contextvars.get_contextvars().get("request_id", "")
    return Account(
        row.account_id, region, row.role_arn, row.external_id, f"cohort-{bound or settings.INSTALLATION_ID}"[:64]
    )


def read(cluster_id: str) -> Known | None:
    """Read it inside a scope; None when it does not exist. The first read makes the rows of its parts."""
    cluster = Cluster.objects.select_related("account").annotate(now=Now()).filter(pk=cluster_id).first()
    if cluster is None:
        return None
    revision = Revision.objects.filter(cluster=cluster).order_by("-number").first()
    operation = Operation.objects.filter(cluster=cluster, state="running").first()
    rows = {row.role: row for row in ExternalObject.objects.filter(cluster=cluster).order_by("position")}
    wish, unreadable = None, ""
    try:
        wish = read_configuration(revision.body)
        specs = parts(wish.made_of(), wish)
    except (Refusals, LookupError) as error:
        unreadable, specs = f"The configuration that is kept cannot be read any more: {error}", _by_the_ledger(rows)
    surplus = _surplus(specs, rows)
    return Known(
        now=cluster.now,
        cluster=cluster,
        configuration=wish,
        revision=revision.number,
        account=account_of(cluster.account, cluster.region),
        specs=[*specs, *surplus],
        surplus=frozenset(spec.role for spec in surplus),
        rows=rows,
        scripts=node_setups.texts(wish.node_setup.sha256) if wish and wish.node_setup else {},
        alerts=_alerts(cluster) if wish and wish.watched else None,
        nodes=list(Node.objects.filter(cluster=cluster)),
        proofs=list(Proof.objects.filter(cluster=cluster, generation=cluster.generation)),
        smoke_job=Job.objects.filter(
            cluster=cluster, purpose=Job.Purpose.PROOF, engine_name=smoke_name(cluster)
        ).first(),
        access=ClusterAccess.objects.filter(cluster=cluster).first(),
        operation=operation,
        orders=list(NodeOrder.objects.filter(operation=operation).select_related("node")) if operation else [],
        unreadable=unreadable,
    )


def _by_the_ledger(rows: Mapping[str, ExternalObject]) -> list[PartSpec]:
    """The parts that were asked for, to be looked at and deleted: no request can be made for them any more."""

    def nothing(role: str) -> Callable[[Wiring], dict[str, Any]]:
        def body(_wiring: Wiring) -> dict[str, Any]:
            raise MissingOutput(role, "configuration")

        return body

    return [PartSpec(row.kind, role, "cluster", (), nothing(role)) for role, row in rows.items()]


def _surplus(specs: list[PartSpec], rows: dict[str, ExternalObject]) -> list[PartSpec]:
    """Parts that were made for an earlier configuration and that this one does not have: they go, the last first."""
    wished = {spec.role for spec in specs}
    left = sorted((row for row in rows.values() if row.role not in wished), key=lambda row: row.position)
    return [PartSpec(row.kind, row.role, "cluster", (), _nothing) for row in left if row.state != "gone"]


def _nothing(_wiring: Wiring) -> dict[str, Any]:
    return {}


def _alerts(cluster: Cluster) -> tuple[str, str] | None:
    """Where the cluster's alerts are posted to, and with which token."""
    intake = AlertIntake.objects.select_related("tenant").filter(cluster=cluster).first()
    if intake is None:
        return None
    return f"{settings.SITE_URL}/t/{intake.tenant.slug}/clusters/{cluster.pk}/alerts/", str(intake.token)


def smoke_name(cluster: Cluster) -> str:
    """The name of the smoke job of this generation: at most one of each exists."""
    return names.part_name(
        settings.INSTALLATION_ID, cluster.pk, f"proof-{cluster.generation}", "smoke", cluster.generation
    )


def intend_parts(known: Known) -> None:
    """Write down under which names the parts will be asked for, before anything is asked."""
    cluster = known.cluster
    for position, spec in enumerate(known.specs):
        if spec.role in known.rows:
            if known.rows[spec.role].position != position:  # a newer version may put others before it
                ExternalObject.objects.filter(pk=known.rows[spec.role].pk).update(position=position)
            continue
        known.rows[spec.role] = ExternalObject.objects.create(
            tenant_id=cluster.tenant_id,
            cluster=cluster,
            role=spec.role,
            position=position,
            kind=spec.kind,
            account_number=known.account.account_id,
            region=cluster.region,
            name=names.part_name(settings.INSTALLATION_ID, cluster.pk, cluster.name, spec.role, 1),
            intended_at=Now(),
        )


def begin_again(row: ExternalObject, cluster: Cluster) -> None:
    """A part that is gone gets a new incarnation, and with it a name that was never used and a scheduler elsewhere."""
    incarnation = row.incarnation + 1
    columns = {
        "incarnation": incarnation,
        "name": names.part_name(settings.INSTALLATION_ID, cluster.pk, cluster.name, row.role, incarnation),
        "external_id": "",
        "outputs": {},
        "last_call": "",
        "last_call_at": None,
        "absences": 0,
        "newest_event": "",
        "body_sha256": "",
        "existed": False,
        "stuck": [],
        "lines": [],
    }
    if row.state != "gone":
        move(row, "gone", by=ENGINE, part=row.name, region=row.region)
    move(row, "intended", by=ENGINE, columns=columns, part=columns["name"], region=row.region)
    if row.role == "cluster":
        ClusterAccess.objects.filter(cluster=cluster).delete()
    row.refresh_from_db()
