"""Pure: instance hours from who sat in a seat and what jobs ran, and which jobs saved no checkpoint for too long."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

CHECKPOINT_LIMIT = timedelta(hours=6)  # a running job without a newer checkpoint loses more than a shift when it falls


@dataclass(frozen=True)
class Spell:
    """Something that was so on `count` instances of a cluster, from a moment to a moment; an open end is None."""

    cluster: str
    begins: datetime
    ends: datetime | None
    count: int = 1


def hours(spells: Iterable[Spell], since: datetime | None, until: datetime) -> dict[str, float]:
    """Instance hours within the window, by cluster."""
    found: dict[str, float] = {}
    for spell in spells:
        begin = spell.begins if since is None else max(spell.begins, since)
        end = until if spell.ends is None else min(spell.ends, until)
        if end > begin:
            found[spell.cluster] = found.get(spell.cluster, 0.0) + spell.count * (end - begin).total_seconds() / 3600
    return found


def checkpoint_late(
    started: datetime | None, ended: datetime | None, saved: datetime | None, at: datetime
) -> timedelta | None:
    """How long a job that runs at that moment has saved nothing, when that is over the limit; else None."""
    if started is None or started > at or (ended is not None and ended <= at):
        return None
    if saved is not None and saved > at:
        return None  # only the last one is kept: whether it was late then is not known
    last = started if saved is None else max(started, saved)
    return at - last if at - last > CHECKPOINT_LIMIT else None
