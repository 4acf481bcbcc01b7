"""What the loss of a node would cost at this moment. Pure."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class AtRisk:
    """Everything since `since` would have to be done again."""

    since: datetime
    minutes: float
    accelerator_hours: float
    saved: bool  # False: this run has saved nothing yet, so it is all of the run


def at_risk(
    *, now: datetime, begun: datetime | None, saved: datetime | None, accelerators: int, running: bool
) -> AtRisk | None:
    """None where nothing runs, or nothing is known of its accelerators. `begun` is this run's beginning: what an earlier one
    lost is lost already."""
    if not running or begun is None or accelerators <= 0:
        return None
    since = max(begun, saved) if saved else begun
    minutes = max(0.0, (now - since).total_seconds() / 60)
    return AtRisk(since, minutes, minutes / 60 * accelerators, saved is not None and saved >= begun)
