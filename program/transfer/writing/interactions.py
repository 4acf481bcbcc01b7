"""Writes what people noted about meetings, calls and messages."""

from __future__ import annotations

from collections.abc import Iterator

from program.transfer.dates import Row
from program.transfer.writing.names import Writing, stamp
from tenants import entries
from tenants.history.models import Entry, Note

CHUNK = 500


def interactions(writing: Writing) -> Iterator[Row]:
    """By their times, a few hundred at once."""
    rows = Entry.objects.filter(kind=entries.NOTED, tenant__in=list(writing.slugs)).order_by("occurred_at", "pk")
    keys = [(pk, facts["note"]) for pk, facts in rows.values_list("pk", "facts") if facts.get("note")]
    for first in range(0, len(keys), CHUNK):
        some = keys[first : first + CHUNK]
        notes = {str(note.pk): note for note in Note.objects.filter(pk__in=[note for _pk, note in some])}
        found = rows.in_bulk([pk for pk, _note in some])
        for pk, key in some:
            if key in notes:
                yield _row(writing, found[pk], notes[key])


def _row(writing: Writing, entry: Entry, note: Note) -> Row:
    return {
        "participant": writing.slugs[entry.tenant_id],
        "at": stamp(entry.occurred_at),
        "by": writing.actor(entry.actor),
        "medium": note.medium,
        "audience": note.audience,
        "text": note.text,
    }
