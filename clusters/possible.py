"""What may be asked of a cluster now, deed by deed; of what may not: why, and what to do. Actions, pages and API ask here.

It reads the table of the engines' statuses (`allowed`). A wish (change, retire) is possible while a part moves, for the
engine waits with it; an order to what is there now (software, nodes) is not.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from clusters import allowed, states
from clusters.architectures.configuration import read_configuration
from clusters.findings import Refusals
from clusters.models import Cluster, ExternalObject, Operation, Revision
from tenants.web.problems import Refused

Deed = Literal[
    "change", "software", "order", "retire", "retry", "give_up", "continue", "rollback", "stop_fleet", "start_fleet",
    "launch", "look_again",
]  # fmt: skip
Rescue = Literal["continue", "rollback"]
DEEDS: tuple[Deed, ...] = get_args(Deed)
CHANGEABLE = frozenset({"ready", "degraded", "updating", "failed"})
USABLE = frozenset({"ready", "degraded", "updating"})
# What takes hold of the cluster, so that nothing else may hold it.
HOLDING = frozenset({"change", "software", "order", "continue", "rollback", "stop_fleet", "start_fleet"})
NEEDS_CONFIGURATION = frozenset(DEEDS) - {"launch", "retire", "give_up", "continue", "rollback", "look_again"}
CALL: Mapping[str, allowed.Call] = {"change": "update", "retry": "update", "software": "software", "order": "order"}
PARTS = {
    "base": gettext_lazy("base stack"),
    "eks": gettext_lazy("EKS stack"),
    "accounting": gettext_lazy("stack of the accounting database"),
    "grafana": gettext_lazy("stack of the managed Grafana"),
    "observability": gettext_lazy("stack that watches it"),
    "cluster": gettext_lazy("cluster itself"),
}


@dataclass(frozen=True)
class PartNow:
    """A part as it was last seen. `existed`: it was complete once, so it is never deleted to be made anew."""

    role: str
    kind: str
    status: str
    existed: bool = True


@dataclass(frozen=True)
class Situation:
    """Everything that decides what may be done."""

    name: str
    state: str
    wanted: bool = True
    orchestrator: str = "hyperpod-slurm"
    fleet: str = ""
    fleet_wanted: str = "running"
    unreadable: str = ""  # why the kept configuration cannot be read
    held: str = ""  # the kind of the operation that is open
    waiting: bool = False  # it waits for somebody's agreement
    denied: bool = False  # it waits for the account's owner
    untouched: bool = True  # nothing was asked of the provider for it yet
    parts: tuple[PartNow, ...] = field(default=())


def of(
    row: Cluster,
    *,
    operation: Operation | None = None,
    parts: Sequence[ExternalObject] | None = None,
    revision: Revision | None = None,
) -> Situation:
    """What is known of it here. The operation is looked for unless the cluster's page has it already."""
    if parts is None:
        parts = list(ExternalObject.objects.filter(cluster=row).order_by("position"))
        operation = Operation.objects.filter(cluster=row, state__in=states.OPEN).first()
        revision = Revision.objects.filter(cluster=row).order_by("-number").first()
    return Situation(
        name=row.name,
        state=row.state,
        wanted=row.wanted,
        orchestrator=row.orchestrator,
        fleet=row.fleet,
        fleet_wanted=row.fleet_wanted,
        unreadable=_unreadable(revision),
        held=operation.kind if operation else "",
        waiting=bool(operation and operation.state == "waiting"),
        denied=bool(operation and operation.denied_since),
        untouched=row.first_call_at is None,
        parts=tuple(PartNow(part.role, part.kind, part.status, part.existed) for part in parts),
    )


def _unreadable(revision: Revision | None) -> str:
    try:
        if revision is not None:
            read_configuration(revision.body)
    except Refusals as error:
        return str(error)
    return ""


def refusal(now: Situation, deed: Deed) -> Refused | None:
    """Why it is not possible now, with what to do instead; None when it is."""
    found = _by_state(now, deed)
    if found is None and now.unreadable and deed in NEEDS_CONFIGURATION:
        sentence = _(
            "The configuration that is saved for this cluster cannot be read any more: %(why)s Retire it: what was made "
            "of it is known without."
        )
        found = Refused("configuration_unreadable", sentence % {"why": now.unreadable}, status=409)
    if found is None and now.held and deed in HOLDING:
        found = Refused(
            "busy", _("Something else is under way on %(name)s. Wait until it is done.") % {"name": now.name}
        )
    if found is None and deed in CALL:
        found = next((one for part in now.parts if (one := _by_part(now, part, deed)) is not None), None)
    return found


def deeds(now: Situation) -> dict[str, Refused | None]:
    """Every deed, with why it is not possible."""
    return {deed: refusal(now, deed) for deed in DEEDS}


def stopped(now: Situation, call: allowed.Call) -> PartNow | None:
    """The part that takes this way out of where it stopped."""
    return next((part for part in now.parts if allowed.takes(part.kind, part.status, call)), None)


def _by_state(now: Situation, deed: Deed) -> Refused | None:
    if deed in ("change", "software", "order"):
        return _unless_changeable(now)
    if deed == "retire":
        gone = not now.wanted or now.state == "deleted"
        return Refused("already_retired", _("This cluster is already being deleted.")) if gone else None
    if deed == "retry":
        if now.state not in ("requested", "deleted"):
            return None
        return Refused(
            "nothing_to_retry", _("There is nothing to try again while it is %(state)s.") % {"state": now.state}
        )
    if deed == "give_up":
        return _unless_it_can_be_given_up(now)
    if deed in ("continue", "rollback"):
        return _unless_it_stopped(now, deed)
    if deed == "look_again":
        sentence = _("%(name)s is %(state)s; what is left of it is looked for when it is deleted.")
        values = {"name": now.name, "state": now.state}
        return None if now.state == "deleted" else Refused("not_deleted", sentence % values)
    if deed == "launch":
        return _unless_it_takes_jobs(now)
    return _unless_its_fleet_moves(now, deed)


def _unless_changeable(now: Situation) -> Refused | None:
    if now.wanted and now.state in CHANGEABLE:
        return None
    return Refused(
        "not_changeable",
        _("%(name)s is %(state)s; it can be changed when it is ready, degraded or failed.")
        % {"name": now.name, "state": now.state if now.wanted else _("being deleted")},
    )


def _by_part(now: Situation, part: PartNow, deed: Deed) -> Refused | None:
    """By the engine's own word for a part. One that never came to be is made anew, whatever state it failed in."""
    status = allowed.status_of(part.kind, part.status)
    if not now.wanted or status is None or not part.existed or CALL[deed] in status.may:
        return None
    values = {"part": PARTS.get(part.role, part.role), "name": now.name, "status": part.status}
    if deed in ("software", "order") and (part.kind == "stack" or status.meaning == "good"):
        return None  # neither is asked of a stack, and ParallelCluster's nodes are EC2's
    if status.meaning == "broken":
        return Refused("part_stopped", _way_out(status.may) % values, part=part.role, status_of_part=part.status)
    if status.meaning == "working" and deed in ("software", "order"):
        sentence = _(
            "The %(part)s of %(name)s is %(status)s, and takes no orders before that is over. Look again in some minutes."
        )
        return Refused("part_moves", sentence % values, part=part.role, status_of_part=part.status)
    return None


def of_file_system(mount: str, status: str) -> Refused | None:
    """Why the size or throughput of a file system cannot be changed now; None when FSx takes it, or nobody knows."""
    found = allowed.FILE_SYSTEM.get(status)
    if found is None or "update" in found.may:
        return None
    values = {"mount": mount, "status": status}
    if found.meaning == "working":
        sentence = _(
            "The file system at %(mount)s is %(status)s, and takes no change before that is over. Leave the storage as it "
            "is, or look again in some minutes."
        )
    else:
        sentence = _(
            "The file system at %(mount)s is %(status)s, and takes no change any more. Leave the storage as it is, save "
            "what is on it, and ask for another cluster."
        )
    return Refused("file_system", sentence % values, mount=mount, status_of_part=status)


def of_node(name: str, status: str) -> Refused | None:
    """Why HyperPod takes no order to a node in this status; None when it does, or nobody knows."""
    found = allowed.HYPERPOD_NODE.get(status)
    if found is None or "order" in found.may:
        return None
    sentence = _("%(node)s is %(status)s, and takes no orders before that is over. Leave it out, or wait some minutes.")
    return Refused("node_moves", sentence % {"node": name, "status": status}, status=422)


def _way_out(may: frozenset[allowed.Call]) -> str:
    if "continue" in may:
        return _(
            "The %(part)s of %(name)s is %(status)s: its rollback stopped, and it takes nothing else. Go on with the "
            "rollback first, or retire the cluster."
        )
    if "rollback" in may:
        return _("The %(part)s of %(name)s is %(status)s. Roll it back first, or retire the cluster.")
    return _(
        "The %(part)s of %(name)s is %(status)s, and can only be deleted. Retire the cluster and ask for another one; "
        "its file systems stay."
    )


def _unless_it_can_be_given_up(now: Situation) -> Refused | None:
    if not now.held:
        return Refused("nothing_held", _("Nothing is under way on %(name)s.") % {"name": now.name})
    if now.waiting and now.held == "create":
        return Refused("retire_instead", _("To withdraw the request for a new cluster, retire it."))
    if now.waiting:
        return None
    if now.held == "create":
        return Refused("cannot_stop", _("A creation is stopped by retiring the cluster."))
    if now.held == "delete":
        return Refused("cannot_stop", _("A deletion cannot be stopped: what is gone is gone."))
    if now.denied:
        return None
    if now.held == "change" and (now.untouched or stopped(now, "cancel")):
        return None
    sentence = _(
        "The engine has begun, and it knows no way to stop in the middle. Wait until it is done, and change it back."
    )
    return Refused("cannot_stop", sentence)


def _unless_it_stopped(now: Situation, deed: Deed) -> Refused | None:
    if not now.wanted:
        return Refused("not_changeable", _("%(name)s is being deleted, and its stacks with it.") % {"name": now.name})
    if stopped(now, "continue" if deed == "continue" else "rollback"):
        return None
    if deed == "continue":
        sentence = _("No rollback of %(name)s has stopped on its way; there is none to go on with.")
    else:
        sentence = _("No creation or update of %(name)s has stopped half-way; there is nothing to roll back.")
    return Refused("nothing_stopped", sentence % {"name": now.name})


def _unless_it_takes_jobs(now: Situation) -> Refused | None:
    if now.orchestrator not in states.TAKES_JOBS:
        sentence = _("Jobs can be launched on Slurm clusters; this one runs %(what)s.")
        return Refused("no_launcher", sentence % {"what": now.orchestrator})
    if not now.wanted:
        sentence = _("The cluster %(name)s is being deleted; no job can be launched on it.")
        return Refused("not_ready", sentence % {"name": now.name})
    if now.state not in USABLE:
        sentence = _("The cluster %(name)s is %(state)s; jobs can be launched when it is ready.")
        return Refused("not_ready", sentence % {"name": now.name, "state": now.state})
    if now.fleet_wanted == "stopped" or now.fleet in states.FLEET["stopped"][0] | states.FLEET["stopped"][1]:
        sentence = _("The compute fleet of %(name)s is stopped; start it, and launch the job when it is ready.")
        return Refused("fleet_stopped", sentence % {"name": now.name})
    return None


def _unless_its_fleet_moves(now: Situation, deed: Deed) -> Refused | None:
    if now.orchestrator != "parallelcluster":
        sentence = _("Only a ParallelCluster has a compute fleet to start and stop; this one runs %(what)s.")
        return Refused("no_fleet", sentence % {"what": now.orchestrator})
    if not now.wanted or now.state not in USABLE:
        sentence = _(
            "The cluster %(name)s is %(state)s; its compute fleet can be started and stopped when it is ready."
        )
        state = "deleting" if not now.wanted else now.state
        return Refused("not_ready", sentence % {"name": now.name, "state": state})
    word = allowed.FLEET.get(now.fleet)
    if word is not None and word.meaning == "broken" and "fleet" not in word.may:
        sentence = _("The head node does not say what its compute fleet does (%(word)s). Look at the head node first.")
        return Refused("fleet_unknown", sentence % {"word": now.fleet})
    if deed == "stop_fleet" and now.fleet_wanted == "stopped":
        return Refused("fleet_stopped", _("The compute fleet is stopped already, or about to be."))
    runs = {"", *states.FLEET["running"][0], *states.FLEET["running"][1]}
    if deed == "start_fleet" and now.fleet_wanted == "running" and now.fleet in runs:
        return Refused("fleet_running", _("The compute fleet runs already, or is about to."))
    return None
