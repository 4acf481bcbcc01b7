"""A pod's log read on from where it was last read. The API knows no offsets: a line is known again by when it was written."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Protocol

from clusters.launchers.log_pages import LogPage, gap

SLACK = 15  # seconds by which a node's clock may differ from ours
MOST_BYTES = 2_000_000  # of one call
TAIL_LINES = 400
EVERY = 1_000_000_000  # all lines of a moment are known
WRITTEN = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?Z ?(.*)", re.DOTALL)

Dated = tuple[str, str]  # when, with nine digits after the second, so that words sort as moments; and what


class Reads(Protocol):
    """One call: the text of a pod's log with times, its first MOST_BYTES unless its `tail` is asked for; None where there is
    none (any more)."""

    def __call__(
        self, pod: str, *, seconds: int | None = None, tail: int | None = None, previous: bool = False
    ) -> bytes | None: ...


@dataclass(frozen=True)
class Mark:
    """The last line that is known: of which container, when it was written, and which of that moment's lines it is."""

    pod: str = ""
    restarts: int = 0
    at: str = ""
    same: int = 0

    def __str__(self) -> str:
        return f"{self.pod}/{self.restarts}/{self.at}/{self.same}"


@dataclass(frozen=True)
class Stretch:
    lines: tuple[tuple[datetime | None, str], ...]
    mark: Mark
    full: bool  # more may follow at once


def mark_of(position: str) -> Mark:
    """Raises nothing: what is no position of ours is the beginning."""
    parts = position.split("/")
    if len(parts) != 4 or not parts[1].isdecimal() or not parts[3].isdecimal():
        return Mark()
    return Mark(parts[0], int(parts[1]), parts[2], int(parts[3]))


def page(
    reads: Reads, pods: Sequence[Mapping[str, Any]], position: str, now: datetime, since: datetime | None = None
) -> LogPage:
    """What was written since `position` by the last of `pods`, the one that tells most, after what is left of the one before.
    Without a position, from the moment `since` on, else from its beginning."""
    if not pods:
        return LogPage((), position)
    mark = mark_of(position)
    newest = pods[-1]["metadata"]["name"]
    before: tuple[tuple[datetime | None, str], ...] = ()
    if mark.pod and mark.pod != newest:
        if any(pod["metadata"]["name"] == mark.pod for pod in pods):
            left = stretch(reads, mark, now)
            if left.full:
                return LogPage(left.lines, str(left.mark))
            before = left.lines
        mark = Mark()
    restarts = restarts_of(pods[-1])
    if mark.pod and restarts > mark.restarts:
        left = stretch(reads, mark, now, previous=True) if restarts == mark.restarts + 1 else None
        if left is not None and left.full:
            return LogPage(left.lines, str(left.mark))
        # An empty answer may be a container that had said all it had to say, so nothing is claimed to be missing.
        before, mark = left.lines if left is not None else (gap("the container began anew more than once"),), Mark()
    if not position and since is not None:
        mark = Mark(at=f"{since.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}000Z")
    told = stretch(reads, replace(mark, pod=newest, restarts=restarts), now)
    return LogPage((*before, *told.lines), str(told.mark))


def restarts_of(pod: Mapping[str, Any]) -> int:
    statuses = (pod.get("status") or {}).get("containerStatuses") or []
    return int(statuses[0].get("restartCount") or 0) if statuses else 0


def stretch(reads: Reads, mark: Mark, now: datetime, *, previous: bool = False) -> Stretch:
    """The next lines of one container, at most what one call brings; what is missing before them is said in them."""
    window = _seconds(mark, now)
    text = reads(mark.pod, seconds=window, previous=previous)
    lines, full = _dated(text)
    fresh, joined = after(lines, mark)
    if not joined and window is not None:  # by a clock that differs more, the known line lies outside the window
        lines, full = _dated(reads(mark.pod, seconds=window + _wider(lines, mark), previous=previous))
        fresh, joined = after(lines, mark)
    if full and not fresh:  # more in those seconds than one call brings
        lines, full = _dated(reads(mark.pod, tail=TAIL_LINES, previous=previous), whole=True)
        if len(lines) == TAIL_LINES and lines[0][0] >= mark.at:
            return _only_the_end(lines, mark)
        fresh, joined = after(lines, mark)
    told = tuple((_moment(at), text) for at, text in fresh)
    if not fresh:
        return Stretch((), mark, False)
    if not joined:
        told = (gap(f"what was written between {mark.at} and {fresh[0][0]} is not on the node any more"), *told)
    return Stretch(told, _marked(mark, fresh, lines), full)


def _only_the_end(lines: Sequence[Dated], mark: Mark) -> Stretch:
    """The end of a log that grew faster than it can be read; it begins after the known line, or within its moment."""
    fresh = [each for each in lines if each[0] > mark.at or mark.same < EVERY]
    if not fresh:
        return Stretch((), mark, False)
    told = tuple((_moment(at), text) for at, text in fresh)
    missing = gap(f"more was written after {mark.at} than can be read at once")
    return Stretch((missing, *told), replace(mark, at=fresh[-1][0], same=EVERY), False)


def after(lines: Sequence[Dated], mark: Mark) -> tuple[list[Dated], bool]:
    """The lines after the known one, and whether it was among them. A mark of no line is a moment, and misses none."""
    seen, fresh, found = 0, [], not mark.same
    for at, text in lines:
        if at == mark.at and seen < mark.same:
            seen, found = seen + 1, True
        elif at >= mark.at:
            fresh.append((at, text))
    return fresh, found


def _marked(mark: Mark, fresh: Sequence[Dated], lines: Sequence[Dated]) -> Mark:
    at = fresh[-1][0]
    return replace(mark, at=at, same=sum(one[0] == at for one in lines))


def _seconds(mark: Mark, now: datetime) -> int | None:
    moment = _moment(mark.at) if mark.at else None
    return max(1, math.ceil((now - moment).total_seconds()) + SLACK) if moment else None


def _wider(lines: Sequence[Dated], mark: Mark) -> int:
    """By how many seconds a window that begins with these lines has to grow to hold the known one."""
    begins, known = _moment(lines[0][0]) if lines else None, _moment(mark.at)
    return math.ceil((begins - known).total_seconds()) + SLACK if begins and known else 3600


def _dated(text: bytes | None, *, whole: bool = False) -> tuple[list[Dated], bool]:
    """The whole lines of an answer, and whether it was cut, as all are that were not asked for whole."""
    if not text:
        return [], False
    full = not whole and len(text) >= MOST_BYTES
    told = text.decode("utf-8", "replace")
    found: list[Dated] = []
    for line in (told[: told.rfind("\n") + 1] if full else told).split("\n"):
        written = WRITTEN.fullmatch(line.rstrip("\r"))
        if written:
            found.append((f"{written[1]}.{(written[2] or '')[:9]:0<9}Z", written[3]))
        elif line and found:  # the rest of a line that holds a line feed of its own
            found.append((found[-1][0], line))
    return found, full


def _moment(at: str) -> datetime | None:
    try:
        return datetime.strptime(at[:26], "%Y-%m-%dT%H:%M:%S.%f").replace(tzinfo=UTC)
    except ValueError:
        return None
