"""Reads for budgets: what stays, is reserved and granted, of one participation or of many with the same number of queries."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db import models
from django.db.models import Count, Max, QuerySet, Sum
from django.utils import timezone
from django.utils.translation import gettext as _

from clusters import capacity_queries, endings, holding
from clusters.architectures.configuration import Configuration
from clusters.budgets import prices
from clusters.budgets.reckoning import Reckoning, Term, reckon, rounded
from clusters.budgets.spans import Change, Good, Grant, Reserved, Stay, changed, pieces, together
from clusters.budgets.stopping import Standing, Terms
from clusters.models import (
    BudgetRow,
    BudgetWatch,
    Cluster,
    FileSystem,
    LedgerRow,
    NodeInstance,
    Operation,
    Reservation,
    Revision,
)
from tenants import participating
from tenants.models import Participation, Programme

HORIZON = timedelta(days=180)  # of a cycle without an end
PAST_PLANS = frozenset({"failed", "deleting", "deleted"})
ENGINES = {Reservation.Kind.TRAINING_PLAN: "hyperpod"}


@dataclass
class Known:
    """What a reckoning is made of. `ahead` is what each cluster will hold from now on; no key: what is past."""

    participation: Participation
    term: Term
    budget: Decimal | None
    past: list[Stay] = field(default_factory=list)
    ahead: dict[UUID, list[Stay]] = field(default_factory=dict)
    reserved: list[Reserved] = field(default_factory=list)
    grants: list[Grant] = field(default_factory=list)
    later: list[Grant] = field(default_factory=list)  # granted for requests, after the term: in no sum of it
    elsewhere: set[str] = field(default_factory=set)  # reservations that another participation of the tenant pays
    unseen: timedelta = timedelta(0)  # instance-time since contact was lost
    foreign: list[str] = field(default_factory=list)  # sums in a currency that the programme had before

    @property
    def stays(self) -> list[Stay]:
        found = [*together(self.past), *(stay for stays in self.ahead.values() for stay in stays)]
        return [stay for stay in found if stay.claim not in self.elsewhere]


def reckoning(known: Known, book: prices.Book, change: Change | None = None) -> Reckoning:
    """`change`: what if. Pure but for its arguments."""
    stays, term = known.stays, known.term
    if change:
        ends = term.midnight(change.ends) if change.ends else None
        stays = changed(stays, term.now, change.fewer, ends, capacity_queries.accelerated_types())
    found = pieces(stays, known.reserved, known.grants, term.now)
    notes = book.notes(term.day(term.begins), term.day(term.now))
    if known.foreign:
        sentence = _("Not in the budget, because the programme had another currency then: %(sums)s. Set them anew.")
        notes.append(sentence % {"sums": ", ".join(known.foreign)})
    hours = Decimal(known.unseen.total_seconds()) / 3600
    return reckon(found, term, book, known.budget, price_days=book.days(), unmeasured_hours=hours, notes=notes)


@dataclass(frozen=True)
class Later:
    """What is granted after the end of the term: `amount` None: there is no price for some of it; `until` its last day."""

    amount: Decimal | None
    until: date


def after_the_term(known: Known, book: prices.Book) -> Later | None:
    """None where nothing is granted then. At the prices of today."""
    if not known.later:
        return None
    amount: Decimal | None = Decimal(0)
    for one in known.later:
        price = book(one.good, known.term.now)
        hours = Decimal((one.ends - one.begins).total_seconds()) / 3600
        amount = None if amount is None or price is None else amount + one.delta * hours * price
    last = max(known.term.day(one.ends - timedelta(microseconds=1)) for one in known.later)
    return Later(None if amount is None else rounded(amount), last)


def with_wish(known: Known, wish: Configuration, cluster: Cluster | None = None) -> Known:
    """The same if this were launched, or the cluster changed to it."""
    stays = _ahead(wish.document(), _engine(wish.made_of().engine), wish.region, known.term, known.reserved)
    storage = _storage_of_body(wish.document(), wish.region, known.term)
    key = cluster.pk if cluster else UUID(int=0)
    return replace(known, ahead={**known.ahead, key: [*stays, *storage]})


def budgets() -> QuerySet[Participation]:
    """Participations that go on."""
    rows = Participation.objects.exclude(state__in=["closed", "withdrawn", "applied"])
    return rows.select_related("tenant", "cycle__programme").order_by("tenant__name", "code")


def known_of(participations: Iterable[Participation], now: datetime | None = None) -> dict[UUID, Known]:
    """By participation. Each has its cycle and the cycle's programme at hand."""
    now = now or timezone.now()
    found = {row.pk: Known(row, _term(row, now), None) for row in participations}
    sums = BudgetRow.objects.filter(participation__in=found).order_by().values("participation_id", "currency")
    for row in sums.annotate(total=Sum("delta")):
        known = found[row["participation_id"]]
        if row["currency"] == known.participation.cycle.programme.currency:
            known.budget = row["total"]
        else:
            known.foreign.append(f"{row['total']:,.2f} {row['currency']}")
    _reserve(found)
    _grant(found)
    clusters = {row.pk: row for row in Cluster.objects.filter(participation__in=found)}
    bodies = _bodies(found)
    seated = _sit(found, clusters, bodies)
    for pk, cluster in clusters.items():
        place = found[cluster.participation_id]
        if not cluster.wanted or cluster.state in PAST_PLANS:
            held = seated.get(pk, {}) if cluster.state == "failed" else {}
            body = _as_seated(bodies[pk][-1][1], held) if pk in bodies else {}
        else:
            body = _without_fleet(bodies[pk][-1][1], cluster) if pk in bodies else {}
        place.ahead[pk] = _ahead(body, _engine_of(cluster), cluster.region, place.term, place.reserved)
    _store(found, clusters, bodies)
    return found


def one(participation: Participation, now: datetime | None = None) -> Known:
    row = Participation.objects.select_related("cycle__programme", "tenant").get(pk=participation.pk)
    return known_of([row], now)[row.pk]


def here() -> Participation | None:
    """The participation of the scope that pages speak of: one that is only applied for does not hide the one that runs."""
    return participating.current_first().select_related("cycle__programme", "tenant").first()


def book_of(participation: Participation) -> prices.Book:
    return prices.book(participation.cycle.programme)


def _term(row: Participation, now: datetime) -> Term:
    zone, cycle = row.cycle.programme.timezone, row.cycle
    term = Term(now, now, now, zone)
    begins = term.midnight(cycle.starts_on)
    ends = term.midnight(cycle.ends_on + timedelta(days=1)) if cycle.ends_on else term.midnight(term.day(now + HORIZON))
    return Term(begins, max(ends, begins + timedelta(days=1)), now, zone)


def _engine(word: str) -> str:
    return "hyperpod" if word == "hyperpod" else "ec2"


def _engine_of(cluster: Cluster) -> str:
    return "ec2" if cluster.orchestrator == "parallelcluster" else "hyperpod"


def _plain(instance_type: str) -> str:
    return instance_type.removeprefix("ml.")


def _reserve(found: Mapping[UUID, Known]) -> None:
    """What was bought, until its end; what is only wanted binds nothing."""
    tenants: dict[UUID, list[Known]] = defaultdict(list)
    for one_of_many in found.values():
        tenants[one_of_many.participation.tenant_id].append(one_of_many)
    rows = Reservation.objects.filter(tenant__in=tenants).exclude(state="wanted").exclude(external_id="")
    for row in rows.exclude(kind=Reservation.Kind.ON_DEMAND).order_by("pk"):
        good = Good(row.instance_type, ENGINES.get(Reservation.Kind(row.kind), "ec2"), row.region)
        for known in tenants[row.tenant_id]:
            if known.participation.pk == row.participation_id:
                known.reserved.append(Reserved(row.external_id, good, row.count, row.starts_at, row.ends_at))
            else:
                known.elsewhere.add(row.external_id)


def _grant(found: Mapping[UUID, Known]) -> None:
    rows = LedgerRow.objects.filter(participation__in=found, ledger=LedgerRow.Ledger.GRANT).order_by("pk")
    columns = ("participation_id", "instance_type", "region", "delta", "starts_on", "ends_on", "request_id")
    for pid, kind, region, delta, first, last, request in rows.values_list(*columns):
        term = found[pid].term
        ends = term.midnight(last + timedelta(days=1)) if last else term.ends
        grant = Grant(
            Good(kind, "hyperpod", region), delta, term.midnight(first), min(ends, term.ends), request is not None
        )
        found[pid].grants.append(grant)
        if grant.asked and last and ends > term.ends:
            found[pid].later.append(replace(grant, begins=max(grant.begins, term.ends), ends=ends))


def _bodies(found: Mapping[UUID, Known]) -> dict[UUID, list[tuple[datetime, Mapping[str, Any]]]]:
    bodies: dict[UUID, list[tuple[datetime, Mapping[str, Any]]]] = defaultdict(list)
    rows = Revision.objects.filter(cluster__participation__in=found).order_by("cluster_id", "number")
    for pk, at, body in rows.values_list("cluster_id", "created_at", "body"):
        bodies[pk].append((at, body))
    return bodies


def _sit(
    found: Mapping[UUID, Known], clusters: Mapping[UUID, Cluster], bodies: Mapping[UUID, Any]
) -> dict[UUID, dict[str, int]]:
    """Put what sat in seats into the past; answers who sits now, by cluster and group. What is not seen is not counted."""
    seated: dict[UUID, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    columns = ("node__cluster_id", "node__group", "node__instance_type", "sat_from", "sat_until")
    rows = NodeInstance.objects.filter(node__cluster__participation__in=found).order_by().values_list(*columns)
    for pk, group, kind, begins, ends, count in rows.annotate(n=Count("pk")):
        cluster = clusters[pk]
        place = found[cluster.participation_id]
        now = place.term.now
        until = ends
        if ends is None:
            seated[pk][group] += count
            until = max(begins, min(cluster.unknown_since or now, now))
            place.unseen += (now - until) * count if now > until else timedelta(0)
        good = Good(_plain(kind), _engine_of(cluster), cluster.region)
        place.past.append(Stay(good, count, begins, min(until, now), _claim(bodies.get(pk, ()), group, begins)))
    return seated


def _claim(bodies: Sequence[tuple[datetime, Mapping[str, Any]]], group: str, begins: datetime) -> str:
    """The reservation that a group ran in at a moment, by the configuration that was wished for then."""
    held = [body for at, body in bodies if at <= begins] or [body for _at, body in bodies[:1]]
    for each in (held[-1] if held else {}).get("instance_groups", ()):
        if each["name"] == group:
            return str(each.get("training_plan") or each.get("reservation") or "")
    return ""


def _as_seated(body: Mapping[str, Any], seated: Mapping[str, int]) -> dict[str, Any]:
    groups = [{**group, "count": seated.get(group["name"], 0)} for group in body.get("instance_groups", ())]
    return {**body, "instance_groups": groups}


def _without_fleet(body: Mapping[str, Any], cluster: Cluster) -> Mapping[str, Any]:
    if cluster.fleet_wanted != "stopped":
        return body
    groups = [
        {**group, "count": 0 if group.get("role", "compute") == "compute" else group["count"]}
        for group in body.get("instance_groups", ())
    ]
    return {**body, "instance_groups": groups}


def _ahead(body: Mapping[str, Any], engine: str, region: str, term: Term, reserved: Sequence[Reserved]) -> list[Stay]:
    """Each group from now to the end of the term, or until its nodes are taken away with what they are reserved in."""
    ends = {one.name: one.ends for one in reserved}
    found = []
    for group in body.get("instance_groups", ()):
        claim = str(group.get("training_plan") or group.get("reservation") or "")
        taken_away = holding.option_of(group) in endings.TAKEN_AWAY
        last = min(ends.get(claim, term.ends), term.ends) if taken_away else term.ends
        if last > term.now and group["count"]:
            found.append(
                Stay(Good(_plain(group["instance_type"]), engine, region), group["count"], term.now, last, claim)
            )
    return found


def _storage_of_body(body: Mapping[str, Any], region: str, term: Term) -> list[Stay]:
    storage, found = body.get("storage") or {}, []
    lustre, openzfs = storage.get("lustre"), storage.get("openzfs")
    if lustre:
        found.append((f"lustre-{lustre['mbs_per_tib']}", lustre["capacity_gib"]))
    if openzfs:
        found += [("openzfs", openzfs["capacity_gib"]), (prices.THROUGHPUT, openzfs["mbs"])]
    return [
        Stay(Good(what, prices.STORAGE, region), size, term.now, term.ends)
        for what, size in found
        if term.ends > term.now
    ]


def _store(found: Mapping[UUID, Known], clusters: Mapping[UUID, Cluster], bodies: Mapping[UUID, Any]) -> None:
    """File systems from when they were first seen until their cluster was gone; of one that is to come, as it is wished."""
    gone = dict(
        Operation.objects.filter(cluster__participation__in=found, kind=Operation.Kind.DELETE, state="done")
        .order_by().values_list("cluster_id").annotate(at=Max("ended_at"))
    )  # fmt: skip
    seen: set[UUID] = set()
    rows = FileSystem.objects.filter(cluster__participation__in=found).order_by("pk")
    for pk, kind, rate, size, at in rows.values_list("cluster_id", "kind", "mbs_per_tib", "capacity_gib", "created_at"):
        seen.add(pk)
        cluster, place = clusters[pk], found[clusters[pk].participation_id]
        until = (gone.get(pk) if cluster.state == "deleted" else None) or place.term.now
        goods = [(f"lustre-{rate}" if kind == "lustre" else kind, size)]
        openzfs = (
            (bodies[pk][-1][1].get("storage") or {}).get("openzfs") if kind == "openzfs" and pk in bodies else None
        )
        if openzfs:  # its throughput costs apart, and only the configuration tells it
            goods.append((prices.THROUGHPUT, openzfs["mbs"]))
        for what, count in goods:
            good = Good(what, prices.STORAGE, cluster.region)
            place.past.append(Stay(good, count, at, until))
            if cluster.state not in ("deleting", "deleted") and place.term.ends > place.term.now:
                place.ahead[pk].append(Stay(good, count, place.term.now, place.term.ends))
    for pk, cluster in clusters.items():
        if pk not in seen and pk in bodies and cluster.wanted and cluster.state not in PAST_PLANS:
            place = found[cluster.participation_id]
            place.ahead[pk] += _storage_of_body(bodies[pk][-1][1], cluster.region, place.term)


def rows(participation: Any) -> QuerySet[BudgetRow]:
    """The newest first."""
    return BudgetRow.objects.filter(participation=participation).order_by("-created_at", "-id")


def lines(participation: Any) -> list[tuple[str, Decimal]]:
    """Each budget line with what is left of its rows: their sum."""
    own = models.F("participation__cycle__programme__currency")
    found = BudgetRow.objects.filter(participation=participation, currency=own).order_by("line").values_list("line")
    return [(line, total) for line, total in found.annotate(total=Sum("delta"))]


def watch(participation: Participation) -> BudgetWatch:
    """How it stands; where nothing was written down yet, as a new one does."""
    found = BudgetWatch.objects.filter(participation=participation).first()
    return found or BudgetWatch(tenant_id=participation.tenant_id, participation=participation, since=timezone.now())


def terms(programme: Programme, row: BudgetWatch | None) -> Terms:
    rule: Any = (row.rule if row else "") or programme.budget_rule
    counts: Any = (row.counts if row else "") or programme.budget_counts
    return Terms(
        rule, tuple(programme.budget_warn_at), timedelta(hours=programme.budget_notice_hours),
        timedelta(hours=programme.budget_patience_hours), counts,
    )  # fmt: skip


def standing(row: BudgetWatch, found: Reckoning) -> Standing:
    return Standing(row.state, row.since, row.warned, found.budget, found.spent, row.paused_until)
