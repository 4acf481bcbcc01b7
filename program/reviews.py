"""The weekly review's actions, gathered: freeze, hold the session, settle, publish, edit, lock, add."""

from program.freezing import freeze
from program.meeting import accept_as_block, add_late_item, conclude, move_item
from program.publishing import add_addendum, edit_minutes, lock, minutes_awaited, publish
from program.settling import open_session, settle_item, unsettled

__all__ = [
    "accept_as_block",
    "add_addendum",
    "add_late_item",
    "conclude",
    "edit_minutes",
    "freeze",
    "lock",
    "minutes_awaited",
    "move_item",
    "open_session",
    "publish",
    "settle_item",
    "unsettled",
]
