"""Every status that an engine knows: what it means, and what may be asked of a thing while it is in it. Data."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Meaning = Literal["working", "good", "broken", "gone"]
Call = Literal["update", "delete", "cancel", "rollback", "continue", "order", "software", "fleet"]


@dataclass(frozen=True)
class Status:
    """`may` are the calls that the engine takes; deleting what is being deleted does nothing and is not asked for."""

    meaning: Meaning
    may: frozenset[Call] = frozenset()


def _status(meaning: Meaning, *may: Call) -> Status:
    return Status(meaning, frozenset(may))


# CloudFormation. A stack in ROLLBACK_COMPLETE holds its name and can only be deleted.
STACK: Mapping[str, Status] = {
    "CREATE_IN_PROGRESS": _status("working", "delete"),
    "CREATE_COMPLETE": _status("good", "update", "delete"),
    "CREATE_FAILED": _status("broken", "delete", "rollback"),
    "ROLLBACK_IN_PROGRESS": _status("working", "delete"),
    "ROLLBACK_COMPLETE": _status("broken", "delete"),
    "ROLLBACK_FAILED": _status("broken", "delete"),
    "UPDATE_IN_PROGRESS": _status("working", "cancel"),
    "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS": _status("working"),
    "UPDATE_COMPLETE": _status("good", "update", "delete"),
    "UPDATE_FAILED": _status("broken", "update", "delete", "rollback"),
    "UPDATE_ROLLBACK_IN_PROGRESS": _status("working"),
    "UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS": _status("working"),
    "UPDATE_ROLLBACK_COMPLETE": _status("good", "update", "delete"),
    "UPDATE_ROLLBACK_FAILED": _status("broken", "delete", "continue"),
    "DELETE_IN_PROGRESS": _status("working"),
    "DELETE_COMPLETE": _status("gone"),
    "DELETE_FAILED": _status("broken", "delete"),
    "REVIEW_IN_PROGRESS": _status("broken", "delete"),
    "IMPORT_IN_PROGRESS": _status("working"),
    "IMPORT_COMPLETE": _status("good", "update", "delete"),
    "IMPORT_ROLLBACK_IN_PROGRESS": _status("working"),
    "IMPORT_ROLLBACK_COMPLETE": _status("good", "update", "delete"),
    "IMPORT_ROLLBACK_FAILED": _status("broken", "delete"),
}

# HyperPod: a cluster in motion refuses whatever else would move it.
HYPERPOD_CLUSTER: Mapping[str, Status] = {
    "Creating": _status("working", "delete"),
    "InService": _status("good", "update", "delete", "order", "software"),
    "Updating": _status("working", "delete"),
    "RollingBack": _status("working", "delete"),
    "SystemUpdating": _status("working", "delete"),
    "Failed": _status("broken", "delete"),
    "Deleting": _status("working"),
}
HYPERPOD_GROUP: Mapping[str, Status] = {
    "InService": _status("good", "update", "software"),
    "Creating": _status("working"),
    "Updating": _status("working"),
    "SystemUpdating": _status("working"),
    "Degraded": _status("broken", "update", "software"),
    "Failed": _status("broken", "update"),
    "Deleting": _status("working"),
}
HYPERPOD_NODE: Mapping[str, Status] = {
    "Running": _status("good", "order"),
    "Failure": _status("broken", "order"),
    "Pending": _status("working"),
    "ShuttingDown": _status("working"),
    "SystemUpdating": _status("working"),
    "DeepHealthCheckInProgress": _status("working"),
    "AttachInProgress": _status("working"),
    "DetachInProgress": _status("working"),
    "NotFound": _status("gone"),
}
HYPERPOD_SOFTWARE: Mapping[str, Status] = {
    "Pending": _status("working"),
    "InProgress": _status("working"),
    "Succeeded": _status("good", "software"),
    "Failed": _status("broken", "software"),
    "RollbackInProgress": _status("working"),
    "RollbackComplete": _status("broken", "software"),
}

# ParallelCluster's own words for a cluster, and for its compute fleet.
PARALLELCLUSTER: Mapping[str, Status] = {
    "CREATE_IN_PROGRESS": _status("working", "delete"),
    "CREATE_FAILED": _status("broken", "delete"),
    "CREATE_COMPLETE": _status("good", "update", "delete", "order", "fleet"),
    "UPDATE_IN_PROGRESS": _status("working"),
    "UPDATE_COMPLETE": _status("good", "update", "delete", "order", "fleet"),
    "UPDATE_FAILED": _status("broken", "update", "delete"),
    "DELETE_IN_PROGRESS": _status("working"),
    "DELETE_COMPLETE": _status("gone"),
    "DELETE_FAILED": _status("broken", "delete"),
}
FLEET: Mapping[str, Status] = {
    "START_REQUESTED": _status("working"),
    "STARTING": _status("working", "fleet"),
    "RUNNING": _status("good", "fleet"),
    "PROTECTED": _status("broken", "fleet"),
    "STOP_REQUESTED": _status("working"),
    "STOPPING": _status("working"),
    "STOPPED": _status("good", "fleet"),
    "UNKNOWN": _status("broken"),
}
FILE_SYSTEM: Mapping[str, Status] = {
    "AVAILABLE": _status("good", "update", "delete"),
    "CREATING": _status("working", "delete"),
    "UPDATING": _status("working", "delete"),
    "DELETING": _status("working"),
    "FAILED": _status("broken", "delete"),
    "MISCONFIGURED": _status("broken", "update", "delete"),
    "MISCONFIGURED_UNAVAILABLE": _status("broken", "delete"),
}

PARTS: Mapping[str, Mapping[str, Status]] = {
    "stack": STACK,
    "hyperpod": HYPERPOD_CLUSTER,
    "parallelcluster": STACK,  # its cluster is a stack, and that is what is looked at
}


def status_of(kind: str, status: str) -> Status | None:
    """What a part's status means; None for one that nobody here knows. What stands after a comma is about its fleet."""
    return PARTS[kind].get(status.split(",")[0].strip()) if kind in PARTS else None


def calls(kind: str, status: str) -> frozenset[Call] | None:
    """The calls that a part takes now; None where the engine has to decide."""
    found = status_of(kind, status)
    return None if found is None else found.may


def takes(kind: str, status: str, call: Call) -> bool | None:
    """Whether a part takes this call now; None for a status that nobody here knows, where the engine decides."""
    may = calls(kind, status)
    return None if may is None else call in may
