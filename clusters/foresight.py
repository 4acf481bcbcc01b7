"""Read what a plan needs (configuration, parts, jobs, prices, our own measured times), and make the plan."""

import dataclasses
import statistics
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.db.models import Count, F
from django.utils import timezone
from django.utils.translation import gettext as _

from clusters import checking, possible, states
from clusters.architectures.configuration import Configuration, read_configuration
from clusters.engine import names
from clusters.findings import Refusals
from clusters.models import CloudAccount, Cluster, ExternalObject, FileSystem, Job, Node, Operation, Revision
from clusters.plans.changes import Change
from clusters.plans.effects import WORDS, Effect
from clusters.plans.planning import (
    ChangePlan,
    Ledger,
    Minutes,
    Observed,
    Place,
    RunningJob,
    change_plan,
    deletion_plan,
    ledger_deletion_plan,
    software_plan,
    typical,
)
from clusters.plans.prices import Cost, Prices, UnreadablePrices, prices
from clusters.preflight import refused
from tenants.web.problems import Refused

CENTS = Decimal("0.01")
MEASURED = 20  # so many of the last ones say how long it takes
ENOUGH = 3
PLAIN = frozenset({"resource_created", "resource_removed", "resource_stays"})  # of a stack, and nothing to decide about
SHAPING = ("create", "change", "remove")  # operations that lead to another configuration


def current(cluster: Cluster) -> Configuration:
    """The configuration that is wished for now."""
    return _read(Revision.objects.filter(cluster=cluster).order_by("-number").values_list("body", flat=True)[0])


def _read(body: Any) -> Configuration:
    """What is kept may name an architecture that the catalogue no longer has. Raises Refused, 409."""
    try:
        return read_configuration(body)
    except Refusals as error:
        sentence = _("The configuration that is saved for this cluster cannot be read any more: %(why)s")
        raise Refused("configuration_unreadable", sentence % {"why": error}, status=409, why=str(error)) from error


def accepted(cluster: Cluster) -> Configuration:
    """The configuration that the cluster really has: of the last operation that went through, where the newest did not."""
    newest = Operation.objects.filter(cluster=cluster, kind__in=SHAPING).order_by("-created_at", "-id").first()
    if newest is None or newest.state not in ("failed", "cancelled"):
        return current(cluster)
    done = Operation.objects.filter(cluster=cluster, kind__in=SHAPING, state="done").exclude(revision=None)
    number = done.order_by("-ended_at").values_list("revision", flat=True).first()
    body = Revision.objects.filter(cluster=cluster, number=number).values_list("body", flat=True).first()
    return _read(body) if body else current(cluster)


def price_list() -> Prices:
    """Raises Refused when the operator's file cannot be used."""
    try:
        return prices(settings.PRICE_FILE)
    except UnreadablePrices as error:
        raise Refused("prices", str(error), status=503) from error


def for_request(*, account: CloudAccount, checked: checking.Checked) -> ChangePlan | None:
    """The plan of a cluster that is not there yet; None when its configuration could not be read."""
    wish = checked.configuration
    if wish is None:
        return None
    return change_plan(
        None, wish, _place(account), Observed(), price_list(), minutes(_label(wish), "create"), _verdicts(checked)
    )


def of_creation(cluster: Cluster) -> ChangePlan:
    """The plan of a cluster that waits for approval, by what is known now."""
    wish = current(cluster)
    checked = checking.check(account=cluster.account, name=cluster.name, body=wish.document(), other_than=cluster)
    place = _place(cluster.account, cluster)
    return change_plan(
        None, wish, place, Observed(), price_list(), minutes(cluster.orchestrator, "create"), _verdicts(checked)
    )


def of_change(cluster: Cluster, checked: checking.Checked) -> ChangePlan | None:
    """The plan that leads from what is wished now to this; None when it could not be read."""
    if checked.configuration is None:
        return None
    return change_plan(
        accepted(cluster),
        checked.configuration,
        _place(cluster.account, cluster),
        observed(cluster),
        price_list(),
        minutes(cluster.orchestrator, "change"),
        _verdicts(checked),
    )


def check_change(cluster: Cluster, body: Any) -> checking.Checked:
    """Preflight of a changed configuration: what this cluster has already does not count against it."""
    return checking.check(account=cluster.account, name=cluster.name, body=body, other_than=cluster)


def of_deletion(cluster: Cluster) -> ChangePlan:
    """By the configuration; where that cannot be read any more, by the ledger of what was asked for and seen."""
    usual = minutes(cluster.orchestrator, "delete")
    try:
        wish = current(cluster)
    except Refused as unreadable:
        return ledger_deletion_plan(_ledger(cluster, unreadable), observed(cluster), price_list(), usual)
    return deletion_plan(wish, _place(cluster.account, cluster), observed(cluster), price_list(), usual)


def _ledger(cluster: Cluster, unreadable: Refused) -> Ledger:
    parts = ExternalObject.objects.filter(cluster=cluster).exclude(state__in=("intended", "gone")).order_by("-position")
    nodes = Node.objects.filter(cluster=cluster).exclude(state="gone").order_by("group")
    systems = FileSystem.objects.filter(cluster=cluster).order_by("mount")
    return Ledger(
        region=cluster.region,
        parts=tuple(parts.values_list("role", "name")),
        groups=tuple(nodes.values("group").annotate(n=Count("pk")).values_list("group", "n")),
        file_systems=tuple(systems.values_list("external_id", "kind", "mbs_per_tib", "capacity_gib")),
        why=str(unreadable.facts.get("why", "")),
    )


def of_rollback(cluster: Cluster) -> ChangePlan | None:
    """What going back to what the cluster had does; None where nothing was changed, or nobody can read it any more."""
    try:
        now, before = current(cluster), accepted(cluster)
    except Refused:
        return None
    if not cluster.proven or now == before:
        return None
    place, usual = _place(cluster.account, cluster), minutes(cluster.orchestrator, "change")
    return change_plan(now, before, place, observed(cluster), price_list(), usual)


def of_software(cluster: Cluster, groups: list[str]) -> ChangePlan:
    """What an update of the machine image of these groups does; no group named: all of them."""
    now = current(cluster)
    counts = {group.name: group.count for group in now.instance_groups if not groups or group.name in groups}
    place = _place(cluster.account, cluster)
    return software_plan(now, counts, place, observed(cluster), price_list(), minutes(cluster.orchestrator, "software"))


def observed(cluster: Cluster) -> Observed:
    """Jobs that are not over, proofs left out, and the state of the fleet as it was last seen."""
    live = Job.objects.filter(cluster=cluster, state__in=states.JOB_LIVE, purpose=Job.Purpose.TRAINING)
    jobs = tuple(
        RunningJob(str(job.pk), job.name, job.nodes, job.partition)
        for job in live.order_by("name", "pk").only("name", "nodes", "partition")
    )
    return Observed(jobs, cluster.fleet)


def minutes(label: str, what: str) -> Minutes:
    """By the facts; and the median of our own, where there are enough of them."""
    rows = (
        Operation.objects.filter(kind=what, state="done", cluster__orchestrator=label)
        .exclude(started_at=None)
        .order_by("-ended_at")
        .annotate(took=F("ended_at") - F("started_at"))
        .values_list("took", flat=True)[:MEASURED]
    )
    found = [took.total_seconds() / 60 for took in rows]
    told = typical(label, what)
    if len(found) < ENOUGH:
        return told
    return dataclasses.replace(told, measured=max(1, round(statistics.median(found))), times=len(found))


def _label(wish: Configuration) -> str:
    return wish.made_of().label


def _verdicts(checked: checking.Checked) -> list[str]:
    return [finding.code for finding in refused(checked.findings)]


def _place(account: CloudAccount, cluster: Cluster | None = None) -> Place:
    known = dict(ExternalObject.objects.filter(cluster=cluster).values_list("role", "name")) if cluster else {}
    if cluster:
        for role in ("base", "eks", "cluster"):
            known.setdefault(
                role, names.part_name(settings.INSTALLATION_ID, cluster.pk, cluster.name, role, cluster.incarnation)
            )
    return Place(account.account_id, account.role_arn, known)


def kept(plan: ChangePlan) -> dict[str, Any]:
    """As data: codes and values, so that it can be told in any language later."""
    return {
        "kind": plan.kind,
        "digest": plan.digest,
        "changes": [dataclasses.asdict(each) for each in plan.changes],
        "effects": [dataclasses.asdict(each) for each in plan.effects],
        "stopped": [dataclasses.asdict(each) for each in plan.stopped],
        "minutes": dataclasses.asdict(plan.minutes),
        "before": _cost(plan.before) if plan.before else None,
        "after": _cost(plan.after),
        "prices": {
            "title": plan.prices.title,
            "dated": plan.prices.dated.isoformat(),
            "expires": plan.prices.expires.isoformat(),
            "currency": plan.prices.currency,
            "fictional": plan.prices.fictional,
        },
    }


def _cost(cost: Cost) -> dict[str, Any]:
    return {
        "per_hour": str(cost.per_hour),
        "per_month": str(cost.per_month),
        "unpriced": list(cost.unpriced),
        "lines": [
            {
                "what": line.what,
                "count": line.count,
                "unit": line.unit,
                "advance": line.advance,
                "per_hour": None if line.per_hour is None else str(line.per_hour.quantize(CENTS)),
                "per_month": None if line.per_month is None else str(line.per_month.quantize(CENTS)),
            }
            for line in cost.lines
        ],
    }


def told(plan: Mapping[str, Any], translate: Callable[[str], str] = _) -> dict[str, Any]:
    """A kept plan in the reader's language, for pages and the API."""
    effects = [
        {
            "kind": each["kind"],
            "word": translate(WORDS[each["kind"]]),
            "part": each["part"],
            "rule": each["rule"],
            "sentence": Effect(**each).sentence(translate),
        }
        for each in plan["effects"]
    ]
    expired = timezone.localdate().isoformat() > plan["prices"]["expires"]
    plain = [each["code"] in PLAIN and not each["holds_data"] for each in plan["effects"]]
    return {
        **plan,
        "before": _cost_told(plan["before"], translate) if plan["before"] else None,
        "after": _cost_told(plan["after"], translate),
        "changes": [Change(**each).sentence(translate) for each in plan["changes"]],
        "effects": effects,
        "first": [told for told, folded in zip(effects, plain, strict=True) if not folded],
        "folded": _folded([told for told, folded in zip(effects, plain, strict=True) if folded], translate),
        "possible": all(each["kind"] != "refused" for each in effects),
        "prices": {**plan["prices"], "expired": expired},
    }


def _folded(effects: list[dict[str, Any]], translate: Callable[[str], str]) -> list[dict[str, Any]]:
    """The plain resources of each part, by what becomes of them: thirty of them would hide what matters."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for each in effects:
        found.setdefault((each["part"], each["kind"]), []).append(each)
    return [
        {"part": possible.PARTS.get(part, part), "kind": kind, "word": translate(WORDS[kind]), "effects": told}
        for (part, kind), told in found.items()
    ]


def _cost_told(cost: Mapping[str, Any], translate: Callable[[str], str]) -> dict[str, Any]:
    """With its sums as a person reads them."""
    lines = [{**line, "unit_word": translate(line["unit"])} for line in cost["lines"]]
    words = {"hour_word": f"{Decimal(cost['per_hour']):,.2f}", "month_word": f"{Decimal(cost['per_month']):,.2f}"}
    return {**cost, **words, "lines": lines}
