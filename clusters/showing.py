"""How a cluster and a job are laid out for reading: steps, groups of nodes, configurations, log lines. Pure."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from clusters import architectures, possible
from clusters.endings import SHOWN_BEFORE, Ending
from clusters.models import CloudAccount, Cluster, ExternalObject, Leftover, NodeOrder, Operation, Proof
from clusters.plans.planning import SLOWER
from clusters.providers import NO_CAPACITY
from clusters.states import BROKEN

PART_NAMES = {
    "base": gettext_lazy("Base stack"),
    "eks": gettext_lazy("EKS cluster"),
    "accounting": gettext_lazy("Accounting database"),
    "grafana": gettext_lazy("Managed Grafana"),
    "observability": gettext_lazy("Monitoring"),
    "cluster": gettext_lazy("Cluster"),
}
PART_TONES = {
    "intended": "progress",
    "creating": "progress",
    "updating": "progress",
    "deleting": "progress",
    "exists": "good",
    "failed": "bad",
    "foreign": "bad",
    "gone": "neutral",
}
ENGINES = {
    "hyperpod-slurm": gettext_lazy("HyperPod, Slurm"),
    "hyperpod-eks": gettext_lazy("HyperPod, EKS"),
    "parallelcluster": gettext_lazy("ParallelCluster, Slurm"),
}
CONDITION_NAMES = {
    "Fits": gettext_lazy("Fits"),
    "Provisioned": gettext_lazy("Provisioned"),
    "Healthy": gettext_lazy("Healthy"),
    "Current": gettext_lazy("Current"),
    "Progressing": gettext_lazy("Progressing"),
}
CONDITION_SENTENCES = {
    ("Fits", "yes"): gettext_lazy("It fits the quotas and reservations."),
    ("Provisioned", "yes"): gettext_lazy("Every part is there."),
    ("Provisioned", "no"): gettext_lazy("Parts are still missing."),
    ("Healthy", "yes"): gettext_lazy("Every node is well."),
    ("Healthy", "no"): gettext_lazy("Not every node is well."),
    ("Healthy", "unknown"): gettext_lazy("Not known before everything is there and proven."),
    ("Current", "yes"): gettext_lazy("The newest configuration is applied."),
    ("Current", "no"): gettext_lazy("A newer configuration waits to be applied."),
    ("Progressing", "yes"): gettext_lazy("It goes on by itself, or is where it should be."),
}
STATUS_LOOKS = {"yes": ("good", "good"), "no": ("progress", "clock"), "unknown": ("neutral", "help")}
STOP_FLEET = gettext_lazy(
    "Every instance of its queues ends, and what lies on their own disks is lost. The head node, the file systems and "
    "the configuration stay; instances of a reservation stay reserved, and are paid for."
)
START_FLEET = gettext_lazy("The instances of its queues come again, and the cluster is proven before it is ready.")
# The engine's word for a compute fleet -> its tone and ours.
FLEETS: dict[str, tuple[str, Any]] = {
    "RUNNING": ("good", gettext_lazy("runs")),
    "START_REQUESTED": ("progress", gettext_lazy("is being started")),
    "STARTING": ("progress", gettext_lazy("is being started")),
    "STOP_REQUESTED": ("progress", gettext_lazy("is being stopped")),
    "STOPPING": ("progress", gettext_lazy("is being stopped")),
    "STOPPED": ("neutral", gettext_lazy("is stopped")),
    "PROTECTED": ("bad", gettext_lazy("protects itself, because its instances kept failing to start")),
}
BAD_LINE = re.compile(
    r"\b(error|fatal|traceback|exception|killed|aborted|xid|oom|out of memory|segfault)\b", re.IGNORECASE
)
WARN_LINE = re.compile(r"\b(warn|warning|timeout|timed out|retry|retrying|cancelled)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Step:
    """One step of coming up: what, how far, why, since when."""

    name: Any
    tone: str
    why: Any = ""
    since: datetime | None = None


def steps(row: Cluster, parts: list[ExternalObject], proofs: list[Proof], names: dict[str, str]) -> list[Step]:
    """From the request to the proofs, in the order in which they come."""
    return [_requested(row, names), _approved(row, names), *_parts(row, parts), _proven(row, proofs)]


def _requested(row: Cluster, names: dict[str, str]) -> Step:
    return Step(_("Requested"), "good", names.get(row.requested_by, row.requested_by), row.created_at)


def _approved(row: Cluster, names: dict[str, str]) -> Step:
    if row.approved_at:
        by = (
            _("without a person: it is small enough") if row.approved_by == "engine" else names.get(row.approved_by, "")
        )
        return Step(_("Approved"), "good", by, row.approved_at)
    if row.state == "requested":
        return Step(_("Approved"), "warn", _("waits for a lead architect or the programme manager"))
    return Step(_("Approved"), "neutral", _("never approved"))


def _parts(row: Cluster, parts: list[ExternalObject]) -> list[Step]:
    known = {part.role: part for part in parts}
    slug, version = row.architecture, row.architecture_version
    roles = (
        [each.role for each in architectures.architecture(slug, version).parts if not each.when or each.role in known]
        if version in architectures.versions(slug)
        else []
    )
    roles += [role for role in known if role not in roles]
    return [_part(row, role, known.get(role)) for role in roles]


def _part(row: Cluster, role: str, part: ExternalObject | None) -> Step:
    name = PART_NAMES.get(role, role)
    if part is None:
        return Step(name, "neutral", "" if row.wanted else _("never asked for"))
    # The engine's word may be broken at its underscores only.
    why = part.reason or (_("complete") if part.state == "exists" else part.status.replace("_", "_\u200b"))
    if role == "cluster" and part.state in ("creating", "updating") and not part.reason:
        why = ngettext("%(running)s of %(n)s node runs", "%(running)s of %(n)s nodes run", row.nodes_wanted) % {
            "running": row.nodes_running,
            "n": row.nodes_wanted,
        }
    return Step(name, PART_TONES.get(part.state, "neutral"), why, part.last_call_at or part.intended_at)


def _proven(row: Cluster, proofs: list[Proof]) -> Step:
    failed = [proof for proof in proofs if not proof.passed]
    if row.wanted and row.fleet_wanted == "stopped":
        return Step(_("Proofs"), "neutral", _("when the compute fleet runs again"))
    if failed:
        return Step(_("Proofs"), "bad", failed[0].evidence, failed[0].taken_at)
    if proofs and row.proven >= row.generation:
        return Step(_("Proofs"), "good", _("all passed"), proofs[-1].taken_at)
    if proofs:
        return Step(
            _("Proofs"),
            "progress",
            ngettext("%(n)s passed so far", "%(n)s passed so far", len(proofs)) % {"n": len(proofs)},
        )
    return Step(_("Proofs"), "neutral", _("nodes, file system, smoke job") if row.wanted else "")


@dataclass(frozen=True)
class UnderWay:
    """The operation that holds a cluster, as its page shows it."""

    row: Operation
    title: Any
    who: str
    progress: str
    done: int = 0
    of: int = 0
    slower_since: datetime | None = None
    waits_for_owner: bool = False
    orders: tuple[NodeOrder, ...] = ()


def under_way(
    operation: Operation,
    row: Cluster,
    nodes: list[dict[str, Any]],
    orders: list[NodeOrder],
    who: str,
    now: datetime,
    parts: list[ExternalObject] | None = None,
) -> UnderWay:
    """How far it is: by what each node was told, by new machine images, or by the parts, and then the nodes that run."""
    parts, progress = parts or [], ""
    # Those before the cluster itself; while that one comes, its nodes tell how far it is.
    waiting = [
        part
        for part in parts
        if (part.applied < row.generation or part.state != "exists") and (part.role != "cluster" or not part.last_call)
    ]
    if orders:
        done, of = sum(order.result not in ("wished", "accepted", "away") for order in orders), len(orders)
    elif operation.kind == Operation.Kind.SOFTWARE:
        chosen = [node for node in nodes if node["group"] in (operation.body or {}).get("groups", [])]
        done = sum(
            bool(node["software_at"] and operation.sent_at and node["software_at"] >= operation.sent_at)
            for node in chosen
        )
        of = len(chosen)
    elif operation.kind == Operation.Kind.DELETE:
        done, of = sum(part.state == "gone" for part in parts), len(parts)
        progress = _("%(done)s of %(of)s parts are gone") % {"done": done, "of": of}
    elif waiting:
        # Nodes that run already say nothing of a change before it has come to them.
        done, of = len(parts) - len(waiting), len(parts)
        progress = _("%(part)s first") % {"part": PART_NAMES.get(waiting[0].role, waiting[0].role)}
    else:
        of = max(row.nodes_running, row.nodes_wanted)
        done = of - abs(row.nodes_running - row.nodes_wanted)
    limit = None
    if operation.started_at and operation.usual_minutes:
        limit = operation.started_at + timedelta(minutes=operation.usual_minutes * SLOWER)
    return UnderWay(
        row=operation,
        title=_("%(what)s under way") % {"what": str(operation.get_kind_display()).capitalize()},
        who=who,
        progress=progress or _("%(done)s of %(of)s nodes converged") % {"done": done, "of": of},
        done=done,
        of=of,
        slower_since=limit if limit and now > limit and operation.state == "running" else None,
        waits_for_owner=operation.denied_since is not None,
        orders=tuple(orders),
    )


def left_over(rows: list[Leftover]) -> dict[str, Any]:
    """What is still in the account, and what of it costs so much a month; what has no price is named."""
    priced = [row.monthly for row in rows if row.monthly is not None]
    return {
        "leftovers": rows,
        "left_monthly": sum(priced),
        "left_unpriced": sum(row.monthly is None for row in rows),
        "left_found_at": max((row.found_at for row in rows), default=None),
    }


@dataclass(frozen=True)
class Trouble:
    """What stands in the way, in our words and in the provider's, and what to do next."""

    headline: Any
    told: str
    advice: Any = ""
    waits: bool = False  # Cohort goes on asking by itself
    quota: bool = False


NO_QUOTA = re.compile(r"quota|limit|current utilization", re.IGNORECASE)


def trouble(row: Cluster, parts: list[ExternalObject], operation: Operation | None = None) -> Trouble | None:
    """Why it does not go on, or goes on only when the provider has room; None when nothing stands in the way."""
    if not row.wanted and not row.needs_person:
        return None
    if operation is not None and operation.denied_since:
        return None  # what is under way says itself for whom it waits
    fits = next((each for each in row.conditions if each["type"] == "Fits"), {})
    short = fits.get("sentence", "") if fits.get("status") == "no" else ""
    failed = next((part.reason for part in parts if part.state == "failed" and part.reason), "")
    told = row.needs_person or short or (failed if row.state in BROKEN else "")
    if not told:
        return None
    waits = not row.needs_person and row.state not in BROKEN
    if NO_CAPACITY.search(told):
        advice = (
            _(
                "Cohort asks again by itself, and nothing is paid meanwhile. You can wait, try again now, or retire it and ask "
                "for fewer nodes, for another zone, or with a reservation or training plan that you hold."
            )
            if waits
            else _(
                "Try again later, or change what is asked for: fewer nodes, another zone, or a reservation or training "
                "plan that you hold. What did not come is not paid for."
            )
        )
        return Trouble(_("The provider has no room for it now."), told, advice, waits)
    if NO_QUOTA.search(told):
        advice = _("Ask the provider for a higher quota, or change what is asked for to what the account may have.")
        return Trouble(_("The account may not have so many."), told, advice, waits, quota=True)
    return Trouble(_("A person has to do something."), told)


def endings_soon(found: list[Ending], now: datetime) -> list[tuple[Ending, bool]]:
    """Capacity that ends soon, each with whether its nodes are being taken away already."""
    return [(one, one.draining(now)) for one in found if now >= one.ends_at - SHOWN_BEFORE]


@dataclass(frozen=True)
class Protected:
    """A compute fleet that ParallelCluster closed: how many instances did not come, and the way out, step by step."""

    failures: int
    steps: tuple[Any, ...]


def protected(row: Cluster, failures: int) -> Protected | None:
    """What to do about a fleet that protects itself; None for every other."""
    if row.fleet != "PROTECTED" or not row.wanted:
        return None
    return Protected(
        failures,
        (
            _("Read what the set-up of the nodes said last, and what happened below: the same thing failed each time."),
            _(
                "Mend it: capacity by other instances or another zone, a script by a change of the configuration, a file "
                "system or a rule of the network in the account."
            ),
            _("Start the fleet. Waiting jobs are kept, and the count begins anew."),
            _(
                "Where it is still protected after that: stop the fleet, wait until it is stopped, and start it; a start "
                "alone does not always open it."
            ),
        ),
    )


# What a person can do about a part that stopped, the mildest first: deed, its page, its words.
WAYS_OUT: tuple[tuple[possible.Deed, str, Any], ...] = (
    ("continue", "continue_rollback", gettext_lazy("Go on with the rollback")),
    ("rollback", "roll_back", gettext_lazy("Roll it back")),
    ("retry", "retry_cluster", gettext_lazy("Try again")),
    ("change", "change_cluster", gettext_lazy("Change what is asked for")),
    ("retire", "retire_cluster", gettext_lazy("Retire it")),
)


def ways_out(now: possible.Situation) -> list[tuple[str, Any]]:
    """Pages on which somebody can go on after a failure, as far as the engine takes it."""
    return [(page, words) for deed, page, words in WAYS_OUT if possible.refusal(now, deed) is None]


def conditions(row: Cluster) -> list[dict[str, Any]]:
    """Conditions in words. A no is trouble only where a person or the provider stands in the way; else it takes time."""
    told = []
    for each in row.conditions:
        name, status = each["type"], each["status"]
        trouble = status == "no" and (name in ("Fits", "Progressing") or row.state in BROKEN)
        tone, icon = ("bad", "bad") if trouble else STATUS_LOOKS.get(status, STATUS_LOOKS["unknown"])
        sentence = each.get("sentence") or CONDITION_SENTENCES.get((name, status), "")
        since = parse_datetime(each["since"]) if each.get("since") else None
        told.append(
            {
                "name": CONDITION_NAMES.get(name, name),
                "status": status,
                "tone": tone,
                "icon": icon,
                "sentence": sentence,
                "since": since,
            }
        )
    return told


def fleet(row: Cluster) -> tuple[str, Any]:
    """The compute fleet of a ParallelCluster: a tone and words; empty where there is none, or it has not told yet."""
    if not row.fleet or row.state in ("deleting", "deleted"):
        return "", ""
    return FLEETS.get(row.fleet, ("neutral", row.fleet))


ACCESS = {
    "yes": ("good", "good", gettext_lazy("The role lets us in.")),
    "no": ("bad", "bad", gettext_lazy("The account does not let us in.")),
    "unknown": ("neutral", "help", gettext_lazy("Nobody has answered yet.")),
}


GUARD = {
    "yes": ("good", "good", gettext_lazy("Without the external id the role refuses us, as it has to.")),
    "no": (
        "bad",
        "bad",
        gettext_lazy("The role lets us in without the external id too, so that others could borrow our trust."),
    ),
    "unknown": ("neutral", "help", gettext_lazy("It is tried as soon as the role lets us in.")),
}


def guard(account: CloudAccount) -> dict[str, Any]:
    """Whether the role refuses us without our id, as a condition."""
    tone, icon, sentence = GUARD[account.guarded]
    return {"status": account.guarded, "tone": tone, "icon": icon, "sentence": sentence}


def access(account: CloudAccount) -> dict[str, Any]:
    """Whether an account lets us in, as a condition: the answer, its reason, how long it has held."""
    tone, icon, sentence = ACCESS[account.access]
    why = {"no": account.denied_reason, "unknown": account.lost_reason}.get(account.access, "")
    return {
        "status": account.access,
        "tone": tone,
        "icon": icon,
        "sentence": why or sentence,
        "since": account.access_since,
    }


def node_groups(nodes: list[dict[str, Any]], chosen: str = "") -> list[dict[str, Any]]:
    """Nodes by instance group, the compute groups first; `chosen` keeps one state."""
    groups: dict[str, dict[str, Any]] = {}
    for node in nodes:
        group = groups.setdefault(
            node["group"], {"name": node["group"], "type": node["instance_type"], "all": 0, "running": 0, "nodes": []}
        )
        group["role"] = node["role"]
        group["zone"] = group.get("zone") or node["az_id"]
        group["all"] += 1
        group["running"] += node["state"] == "running"
        if not chosen or node["state"] == chosen:
            group["nodes"].append(node)
    return sorted(groups.values(), key=lambda group: (group["role"] != "compute", group["name"]))


def counts(nodes: list[dict[str, Any]]) -> list[tuple[str, int]]:
    """How many nodes are in each state, the troubled ones first."""
    order = ["impaired", "replacing", "pending", "checking", "running", "gone"]
    found: dict[str, int] = {}
    for node in nodes:
        found[node["state"]] = found.get(node["state"], 0) + 1
    return [(state, found[state]) for state in order if state in found]


def set_up_lines(parts: list[ExternalObject], most: int = 20) -> list[dict[str, Any]]:
    """The newest of what the nodes' set-up says, oldest first."""
    told = [line for part in parts for line in part.lines][-most:]
    return [
        {
            "at": datetime.fromtimestamp(line["at"] / 1000, UTC),
            "node": line["node"],
            "text": line["text"],
            "tone": tone_of(line["text"]),
        }
        for line in told
    ]


def log_lines(text: str, most: int = 400) -> list[dict[str, str]]:
    """The last lines of a job's output, each with its tone."""
    return [{"text": line, "tone": tone_of(line)} for line in text.splitlines()[-most:]]


def tone_of(line: str) -> str:
    if BAD_LINE.search(line):
        return "bad"
    return "warn" if WARN_LINE.search(line) else ""
