"""Which state may follow which for a review, an action item and a launch; the groups of the agenda; the sentences."""

from django.utils.translation import gettext_lazy as _

from tenants.history.timeline import kind
from tenants.states import Moves

REVIEW: Moves = {
    "draft": {"in_session", "published"},
    "in_session": {"published"},
    "published": {"locked"},
    "locked": set(),
}

ACTION_ITEM: Moves = {"open": {"done", "dropped"}, "done": {"open"}, "dropped": {"open"}}

LAUNCH: Moves = {
    "planned": {"running", "stopped"},
    "running": {"stopped", "done"},
    "stopped": {"running"},
    "done": set(),
}
LAUNCH_WAVE: Moves = {"planned": {"started"}, "started": set()}

# The order of the meeting; inside a group the oldest case comes first.
AGENDA_GROUPS = [
    ("worst", _("critical and urgent")),
    ("unattended", _("response overdue, no owner or no next step")),
    ("new", _("new")),
    ("third_time", _("third time on the agenda")),
    ("overage", _("open longer than its limit")),
    ("decision", _("waiting for a decision")),
    ("high", _("high")),
    ("rest", _("accepted as a block")),
]

REVIEW_FROZEN = kind(
    "review.frozen", _("{actor} froze review {number} as of {cutoff}: {open_now} open"), audience="internal", icon="snowflake"
)
kind("review.in_session", _("{actor} opened the session of review {number}"), audience="internal", icon="users")
kind("review.published", _("{actor} published review {number}"), icon="clipboard-check")
kind("review.locked", _("{actor} locked review {number}"), audience="internal", icon="lock")
ITEM_SETTLED = kind("review.item_settled", _("{actor} settled {case} in review {number}: {next_step} (by {due})"), icon="clipboard-check")
MINUTES_PUBLISHED = kind("minutes.published", _("The minutes of review {number} are out"), icon="clipboard-check")

kind("decision.recorded", _("{actor} recorded the decision {number}: {text}"), icon="check")
kind("action_item.given", _("{number} was given to {owner_name}: {text} (by {due})"), icon="user-check")
kind("action_item.done", _("{actor} reported {number} as done"), icon="circle-check")
kind("action_item.dropped", _("{actor} dropped {number}: {why}"), icon="trash")
kind("action_item.open", _("{actor} took up {number} again: {why}"), icon="refresh")
kind("action_item.due_moved", _("{actor} moved {number} from {was_due} to {due}: {why}"), icon="calendar")
kind("action_item.changed", _("{actor} changed {number}"), icon="pencil")
