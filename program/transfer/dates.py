"""A row of the programme file, and its moments and days, moved to today by whole weeks."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

Row = dict[str, Any]


@dataclass(frozen=True)
class Shift:
    """Moves a moment of the file to today's by whole weeks, so that weekdays and review days stay what they are."""

    by: timedelta

    def moment(self, text: str) -> datetime:
        return moment(text) + self.by

    def day(self, text: str) -> date:
        return date.fromisoformat(text) + self.by


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def field(row: Row, path: str) -> Any:
    """`row["a"]["b"]` for "a.b"; None where a part is missing."""
    found: Any = row
    for name in path.split("."):
        found = found.get(name) if isinstance(found, dict) else None
    return found
