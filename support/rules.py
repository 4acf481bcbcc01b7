"""Rules as data: which entry opens a case, with which title, severity, category and signature; what a failed job died of."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_lazy as _


@dataclass(frozen=True)
class Rule:
    """What becomes of one kind of entry. Title and signature are filled from the subject's facts."""

    title: Any
    severity: str
    category: str
    signature: str


@dataclass(frozen=True)
class Failure:
    """One way a job dies. `wide`: it is the cluster's trouble, so other jobs that die of it belong to the same case."""

    code: str
    category: str
    words: Any
    wide: bool
    pattern: str = ""  # in the scheduler's state, its reason or the last log lines
    exits: frozenset[int] = frozenset()
    signals: frozenset[int] = frozenset()


RULES: Mapping[str, Rule] = {
    "job.failed": Rule(_("{job} failed: {what}"), "high", "job", "{cluster}/{failure}"),
    "job.timed_out": Rule(_("{job} ran out of time"), "normal", "job", "{cluster}/{job_key}/time"),
    "job.stalled": Rule(
        _("{job} hangs: it has written nothing for longer than its communicator waits"),
        "high",
        "job",
        "{cluster}/{job_key}/stalled",
    ),
    "cluster.failed": Rule(_("The cluster {name} failed: {why}"), "urgent", "provisioning", "{cluster}/failed"),
    "cluster.degraded": Rule(_("The cluster {name} is degraded: {why}"), "high", "hardware", "{cluster}/degraded"),
    # Severity and category are the alert's own; what is not urgent or high opens none.
    "alert.firing": Rule(_("{name} on {cluster_name}: {summary}"), "high", "hardware", "{cluster}/alert/{name}"),
    "preflight.no_longer_fits": Rule(
        _("{name} no longer fits for its launch: {why}"), "high", "provisioning", "{key}/preflight"
    ),
    "reservation.ends_soon": Rule(
        _("The reservation of {what} ends at {ends}"), "high", "capacity", "reservation/{key}"
    ),
    "orphan.found": Rule(
        _("{name} in {region} carries our tags, but no cluster accounts for it"),
        "high",
        "provisioning",
        "{account}/{region}/orphan/{name}",
    ),
    "usage_dispute.opened": Rule(
        _("{month} of {cluster_name} is said to be counted wrong"), "normal", "usage", "{cluster}/usage/{month}"
    ),
    "part.foreign": Rule(_("{part} exists but is not ours"), "high", "provisioning", "{cluster}/foreign/{part}"),
}

# The first that fits counts: what is wrong with the machine comes before what the program said about it.
FAILURES: tuple[Failure, ...] = (
    Failure("node", "hardware", _("a node failed"), True, r"\bNODE_FAIL\b|NodeFail|unexpectedly rebooted"),
    Failure("gpu", "gpu", _("an accelerator reported an error"), True, r"\bXid\b|uncorrectable ECC|row remap"),
    Failure(
        "efa",
        "efa",
        _("the network adapter failed"),
        True,
        r"EFA health check|NET/OFI Using TCP|Unable to register memory",
    ),
    Failure("neuron", "neuron", _("the Neuron compiler or runtime failed"), False, r"neuronx-cc|NCC_EOOM|\bNRT_"),
    Failure(
        "nccl",
        "nccl",
        _("collective communication stopped"),
        True,
        r"Watchdog caught collective|\bNCCL\b.*(timeout|error|fail)",
    ),
    Failure(
        "accelerator_memory",
        "memory",
        _("an accelerator ran out of memory"),
        False,
        r"(CUDA|HIP) out of memory|OutOfMemoryError",
    ),
    Failure(
        "host_memory",
        "memory",
        _("a host ran out of memory"),
        False,
        r"\bOUT_OF_MEMORY\b|oom.?kill|Cannot allocate memory|\bErrno 12\b",
        frozenset({137}),
        frozenset({9}),
    ),
    Failure(
        "storage",
        "storage",
        _("storage failed"),
        True,
        r"No space left on device|Stale file handle|Input/output error|\bLustre\w*Error",
    ),
    Failure("numbers", "training", _("the loss is not a number"), False, r"\b(loss|grad\w*)\b\D{0,20}\bnan\b"),
)


def failure_of(
    *, engine_state: str, reason: str, exit_code: int | None, signal: int | None, log: str
) -> Failure | None:
    """What the job died of, as far as its scheduler and its last lines tell; None when they do not."""
    told = f"{engine_state}\n{reason}\n{log}"
    for failure in FAILURES:
        if failure.pattern and re.search(failure.pattern, told, re.IGNORECASE):
            return failure
        if exit_code in failure.exits or signal in failure.signals:
            return failure
    return None


def key_of(name: str) -> str:
    """A name short enough for a signature, still its own when cut."""
    return name if len(name) <= 40 else f"{name[:27]}~{hashlib.sha256(name.encode()).hexdigest()[:12]}"
