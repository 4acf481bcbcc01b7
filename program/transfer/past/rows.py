"""What every part of the import shares: the file with whom it names, and what is there already."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, time
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from program.transfer import records
from program.transfer.dates import Row, Shift, field
from program.transfer.directory import OFFICE, Directory
from tenants.history.models import Entry
from tenants.history.timeline import IMPORT
from tenants.models import Cycle, Participation, Tenant

NOON = time(12)
MONTH = re.compile(r"\d{4}-\d{2}")


@dataclass(frozen=True)
class Past:
    """The file, how far its dates move, and whom and what it refers to."""

    told: Row
    shift: Shift
    who: Directory

    def of(self, section: str, slug: str) -> list[Row]:
        """The rows of a section that are about one participant."""
        return [row for row in self.told.get(section, []) if row.get("participant") == slug]

    def records(self) -> Iterator[tuple[str, str | None, Participation, Row]]:
        """(slug, `in_cycle` of the rows about it, the participation, its record) of every participation."""
        for _where, slug, record in records.of(self.told):
            other = self.who.others.get((slug, record["cycle"])) if "slug" not in record else None
            yield slug, record["cycle"] if other else None, other or self.who.participations[slug], record

    def actor(self, handle: str | None) -> str:
        return self.who.actor(handle)

    def of_team(self, slug: str, place: str) -> str:
        """Who is in that place of a participant's team, or the programme manager where nobody is."""
        return self.actor(field(self.participant(slug)["team"], place))

    def participant(self, slug: str) -> Row:
        return next(row for row in self.told["participants"] if row["slug"] == slug)

    def running_cycle(self) -> Cycle:
        return self.who.cycles[self.cycle_row["code"]]

    @property
    def cycle_row(self) -> Row:
        """The one that runs, else the last."""
        rows = self.told["cycles"]
        return next((row for row in rows if row["state"] == "running"), rows[-1])

    @property
    def office(self) -> Tenant:
        return self.who.tenants[OFFICE]

    @property
    def as_of(self) -> datetime:
        """The moment of which the file tells: what has no date of its own was so by then."""
        return self.shift.moment(self.told["meta"]["as_of"])

    def month(self, text: str) -> str:
        """A month of the file, by where its middle moves to."""
        return f"{self.shift.day(f'{text}-15'):%Y-%m}" if MONTH.fullmatch(text) else text

    def noon(self, day: str) -> datetime:
        """Of a day of which the file knows no hour, in the programme's zone."""
        return datetime.combine(self.shift.day(day), NOON, ZoneInfo(self.told["programme"]["timezone"]))


def known(*kinds: str) -> dict[str, UUID]:
    """The file's ids of what was imported into this scope, with what they became."""
    rows = Entry.objects.filter(kind__in=kinds, source=IMPORT, facts__has_key="imported")
    return dict(rows.values_list("facts__imported", "subject_id"))


def imported(**facts: Any) -> dict[str, Any]:
    """The facts of an imported entry."""
    return {"source": IMPORT, **facts}
