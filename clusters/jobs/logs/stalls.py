"""Whether a running job still speaks. Pure.

Silence shorter than the communicator's time-out is no failure: a collective may yet come back.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

Word = Literal["flowing", "quiet", "stalled", "unknown"]
QUIET = timedelta(minutes=2)


@dataclass(frozen=True)
class Silence:
    word: Word
    since: datetime | None = None  # the last line


def silence(running: bool, last_line_at: datetime | None, read_at: datetime | None, timeout: float) -> Silence:
    """`read_at` is when the log was last read: what we did not look at is not known to be silent."""
    if not running or last_line_at is None or read_at is None:
        return Silence("unknown", last_line_at)
    length = read_at - last_line_at
    if length > timedelta(seconds=timeout):
        return Silence("stalled", last_line_at)
    return Silence("quiet" if length > QUIET else "flowing", last_line_at)
