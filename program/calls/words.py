"""Which state may follow which for a call and an application, and the sentences of the history about them."""

from django.utils.translation import gettext_lazy as _

from tenants.history.timeline import kind
from tenants.states import Moves

CALL: Moves = {"draft": {"open"}, "open": {"closed"}, "closed": {"open"}}

APPLICATION: Moves = {
    "draft": {"submitted", "withdrawn"},
    "submitted": {"selected", "waitlisted", "declined", "withdrawn"},
    "waitlisted": {"selected", "declined", "withdrawn"},
    "selected": set(),
    "declined": set(),
    "withdrawn": set(),
}
OUTCOMES = ("selected", "waitlisted", "declined")

CALL_DRAFTED = kind("call.drafted", _("{actor} drafted the call {title}"), audience="internal", icon="pencil")
CALL_CHANGED = kind("call.changed", _("{actor} changed the call {title}: {fields}"), audience="internal", icon="pencil")
kind("call.open", _("{actor} opened the call {title}, until {closes}"), audience="internal", icon="flag")
kind("call.closed", _("{actor} closed the call {title}"), audience="internal", icon="lock")

BEGUN = kind("application.begun", _("An application was begun: {number}"), icon="pencil")
LINK_SENT = kind("application.link_sent", _("The link of {number} was sent again"), icon="send")
SAVED = kind("application.changed", _("{number} was handed in again, edition {edition}: {fields}"), icon="pencil")
kind("application.submitted", _("{number} was handed in"), icon="send")
kind("application.withdrawn", _("{number} was withdrawn: {why}"), icon="player-stop")
kind("application.selected", _("{number} was selected: {why}"), icon="flag")
kind("application.waitlisted", _("{number} is on the waiting list: {why}"), icon="flag")
kind("application.declined", _("{number} was not selected: {why}"), icon="minus")
SCORED = kind("application.scored", _("{actor} scored {number}: {points} of 15"), audience="internal", icon="gauge")
CYCLE_COPIED = kind(
    "cycle.copied",
    _("{actor} made {name} after {after}, with {sessions} sessions"),
    audience="internal",
    icon="copy",
)
CHECKLIST_ADDED = kind(
    "checklist.added", _("{actor} added to the onboarding list of {name}: {text}"), audience="internal", icon="plus"
)
CHECKLIST_CHANGED = kind(
    "checklist.changed",
    _("{actor} changed in the onboarding list of {name}: {text} ({fields})"),
    audience="internal",
    icon="pencil",
)
CHECKLIST_MOVED = kind(
    "checklist.moved",
    _("{actor} moved in the onboarding list of {name}: {text}, from {was} to {now}"),
    audience="internal",
    icon="pencil",
)
CHECKLIST_REMOVED = kind(
    "checklist.removed",
    _("{actor} took out of the onboarding list of {name}: {text}"),
    audience="internal",
    icon="minus",
)
kind("cycle.running", _("{actor} let {name} begin"), audience="internal", icon="flag")
kind("cycle.closed", _("{actor} closed {name}"), audience="internal", icon="lock")
