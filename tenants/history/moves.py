"""The only way a state changes: check the table, compare and swap, write the history, or do nothing."""

from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils.translation import gettext as _

from tenants.history import timeline
from tenants.history.models import Entry
from tenants.states import Moves
from tenants.web.problems import Refused


class IllegalMove(Refused):
    """The table does not allow this step."""


class LostRace(Refused):
    """Somebody moved it first."""


def move(
    thing: Any, to: str, *, by: str, at: datetime | None = None, columns: dict[str, Any] | None = None, **facts: Any
) -> Entry:
    """Move `thing` along its MOVES and record `<subject>.<state>`; `columns` are written in the same statement.

    Raises IllegalMove or LostRace; then nothing was written.
    """
    was, noun = thing.state, thing.SUBJECT
    if to not in thing.MOVES.get(was, ()):
        raise IllegalMove(
            "illegal_move",
            _("A %(noun)s that is %(was)s cannot become %(to)s.") % {"noun": noun, "was": was, "to": to},
            was=was,
            to=to,
        )
    values = dict(columns or {})
    if any(field.name == "version" for field in thing._meta.concrete_fields):
        values.setdefault("version", F("version") + 1)
    with transaction.atomic():
        if not type(thing).objects.filter(pk=thing.pk, state=was).update(state=to, **values):
            raise LostRace(
                "lost_race", _("This %(noun)s is no longer %(was)s.") % {"noun": noun, "was": was}, was=was, to=to
            )
        entry = timeline.record(f"{noun}.{to}", about=thing, by=by, at=at, was=was, **facts)
    thing.state = to
    for column, value in values.items():
        if not hasattr(value, "resolve_expression"):
            setattr(thing, column, value)
    return entry


def move_in_directory(thing: Any, to: str, *, moves: Moves, noun: str, by: str, about: Any, **facts: Any) -> Entry:
    """Move a row of the directory, which is no tenant's: `<noun>.<state>` stands in the history of `about`.

    Raises IllegalMove or LostRace; then nothing was written.
    """
    was = thing.state
    if to not in moves.get(was, ()):
        raise IllegalMove(
            "illegal_move",
            _("A %(noun)s that is %(was)s cannot become %(to)s.") % {"noun": noun, "was": was, "to": to},
            was=was,
            to=to,
        )
    with transaction.atomic():
        values = {"state": to, "version": F("version") + 1}
        if not type(thing).objects.filter(pk=thing.pk, state=was).update(**values):
            raise LostRace(
                "lost_race", _("This %(noun)s is no longer %(was)s.") % {"noun": noun, "was": was}, was=was, to=to
            )
        entry = timeline.record(f"{noun}.{to}", about=about, by=by, was=was, **facts)
    thing.state = to
    return entry


def move_together(things: list[Any], to: str, *, by: str, about: Any, names: list[str], **facts: Any) -> Entry | None:
    """Move many of one kind at once, with one entry `<subject>s.<state>` about what they belong to.

    All are in the same state; those that somebody moved meanwhile stay. None when nothing moved.
    """
    if not things:
        return None
    model, was, noun = type(things[0]), things[0].state, things[0].SUBJECT
    if to not in model.MOVES.get(was, ()):
        raise IllegalMove(
            "illegal_move", _("A %(noun)s that is %(was)s cannot become %(to)s.") % {"noun": noun, "was": was, "to": to}
        )
    with transaction.atomic():
        moved = model.objects.filter(pk__in=[thing.pk for thing in things], state=was).update(state=to)
        if not moved:
            return None
        entry = timeline.record(f"{noun}s.{to}", about=about, by=by, was=was, count=moved, nodes=names, **facts)
    for thing in things:
        thing.state = to
    return entry
