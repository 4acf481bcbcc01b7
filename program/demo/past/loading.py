"""Imports the past in the order in which its parts refer to each other. Whatever is there already stays as it is."""

from __future__ import annotations

from collections.abc import Callable

from program.demo.past import cases, reviews
from program.demo.past.rows import Past

Say = Callable[[str], None]


def load(past: Past, say: Say) -> None:
    """The reviews come last: each counts what was imported before it."""
    say(f"{cases.load(past)} cases of the past")
    say(f"{reviews.load(past)} weekly reviews, frozen from their history")
