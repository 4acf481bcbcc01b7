"""Which state may follow which, for what lives in this layer, and the constraint that holds a column to its states."""

from collections.abc import Mapping, Set

from django.db import models

Moves = Mapping[str, Set[str]]

CYCLE: Moves = {"preparing": {"running"}, "running": {"closed"}, "closed": set()}

PARTICIPATION: Moves = {
    "applied": {"selected", "withdrawn"},
    "selected": {"onboarding", "withdrawn"},
    "onboarding": {"active", "suspended", "withdrawn"},
    "active": {"closing", "suspended", "withdrawn"},
    "suspended": {"onboarding", "active", "withdrawn"},
    "closing": {"closed"},
    "closed": set(),
    "withdrawn": set(),
}

INVITATION: Moves = {
    "open": {"accepted", "withdrawn", "expired"},
    "accepted": set(),
    "withdrawn": set(),
    "expired": set(),
}

JOIN_REQUEST: Moves = {
    "open": {"accepted", "declined", "expired"},
    "accepted": set(),
    "declined": set(),
    "expired": set(),
}

ERASURE: Moves = {"open": {"done", "declined"}, "done": set(), "declined": set()}

IMPORT: Moves = {
    "checking": {"checked", "unchanged", "faulty", "cancelled"},
    "checked": {"applying", "imported", "unchanged", "cancelled"},
    "applying": {"imported", "checked", "unchanged", "faulty", "cancelled"},
    "unchanged": set(),  # it says what is there already
    "faulty": set(),
    "imported": set(),
    "cancelled": set(),
}


def checked(noun: str, moves: Moves, column: str = "state") -> models.CheckConstraint:
    """A constraint that refuses a word which is no state of `noun`."""
    return models.CheckConstraint(condition=models.Q(**{f"{column}__in": sorted(moves)}), name=f"{noun}_{column}_known")
