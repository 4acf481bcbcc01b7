"""Imports what people wrote about meetings, calls and messages."""

from __future__ import annotations

from program.transfer.one_action import one_action
from program.transfer.past.rows import Past, imported
from tenants import entries
from tenants.actions import note_interaction
from tenants.history.models import Entry
from tenants.wall.acting import acting_for


def load(past: Past) -> int:
    """One at a moment and of one hand is one; those that are there stay. Returns how many came in."""
    count = 0
    for participant in past.told["participants"]:
        slug = participant["slug"]
        with acting_for(past.who.tenants[slug], staff=True):
            there = set(Entry.objects.filter(kind=entries.NOTED).values_list("occurred_at", "actor"))
            for row in past.of("interactions", slug):
                at, by = past.shift.moment(row["at"]), past.actor(row["by"])
                if (at, by) not in there:
                    with one_action():
                        note_interaction(
                            participation=past.who.participations[slug], medium=row["medium"], text=row["text"],
                            audience=row["audience"], by=by, at=at, **imported(),
                        )  # fmt: skip
                    count += 1
    return count
