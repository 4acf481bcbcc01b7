"""Which state may follow which for a review, an action item and a launch; the groups of the agenda; the sentences."""

from django.utils.translation import gettext_lazy as _

from tenants.history.timeline import kind
from tenants.states import Moves

REVIEW: Moves = {
    "draft": {"in_session", "publishing"},
    "in_session": {"publishing"},
    "publishing": {"published"},
    "published": {"locked"},
    "locked": set(),
}

OPEN_REVIEW = ("draft", "in_session")

ACTION_ITEM: Moves = {"open": {"done", "dropped"}, "done": {"open"}, "dropped": {"open"}}

LAUNCH: Moves = {
    "planned": {"running", "stopped"},
    "running": {"stopped", "done"},
    "stopped": {"running"},
    "done": set(),
}
LAUNCH_WAVE: Moves = {"planned": {"started"}, "started": set()}
REPORT: Moves = {
    "not_started": {"draft", "submitted", "late"},
    "draft": {"submitted", "late"},
    "late": {"draft", "submitted"},
    "submitted": {"accepted", "disputed", "returned"},
    "disputed": {"submitted", "accepted"},
    "returned": {"submitted", "late"},
    "accepted": set(),
}

ONBOARDING_STEP: Moves = {
    "open": {"done", "not_applicable"},
    "done": {"open"},
    "not_applicable": {"open"},
}

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
    "review.frozen",
    _("{actor} froze review {number} as of {cutoff}: {open_now} open"),
    audience="internal",
    icon="snowflake",
)
kind("review.in_session", _("{actor} opened the session of review {number}"), audience="internal", icon="users")
PUBLISHING = kind(
    "review.publishing", _("{actor} gave out the minutes of review {number}"), audience="internal", icon="send"
)
kind("review.published", _("{actor} published review {number}"), icon="clipboard-check")
kind("review.locked", _("{actor} locked review {number}"), audience="internal", icon="lock")
ITEM_SETTLED = kind(
    "review.item_settled",
    _("{actor} settled {case} in review {number}: {next_step} (by {due})"),
    icon="clipboard-check",
)
MINUTES_PUBLISHED = kind("minutes.published", _("The minutes of review {number} are out"), icon="clipboard-check")

DECIDED = kind("decision.recorded", _("{actor} recorded the decision {number}: {text}"), icon="check")
GIVEN = kind("action_item.given", _("{number} was given to {owner}: {text} (by {due})"), icon="user-check")
HANDED_OVER = kind("action_item.handed_over", _("{number} went on from {person} to {owner}"), icon="user-check")
DUE_MOVED = kind("action_item.due_moved", _("{actor} moved {number} from {was_due} to {due}: {why}"), icon="calendar")
kind("action_item.done", _("{actor} reported {number} as done"), icon="circle-check")
kind("action_item.dropped", _("{actor} dropped {number}: {why}"), icon="trash")
kind("action_item.open", _("{actor} took up {number} again: {why}"), icon="refresh")

ITEM_LATE = kind(
    "review.item_added", _("{actor} added {case} to the agenda of review {number} after its cut-off"), icon="plus"
)
ITEM_BLOCK = kind("review.item_accepted", _("Review {number} accepted {case} as it stands"), icon="clipboard-check")
ITEM_OUTCOME = kind("review.item_outcome", _("Review {number} on {case}: {outcome}"), icon="clipboard-check")
MINUTES_EDITED = kind("minutes.edited", _("{actor} edited the minutes of review {number}"), icon="pencil")
MINUTES_LOCKED = kind("minutes.locked", _("The minutes of review {number} are final"), icon="lock")
ADDENDUM = kind("minutes.addendum", _("{actor} added to the minutes of review {number}"), icon="pencil")

kind("launch.planned", _("{actor} planned the launch {name} on {day}"), audience="internal", icon="flag")
kind("launch.running", _("{actor} started the launch {name}"), audience="internal", icon="player-play")
kind("launch.stopped", _("{actor} stopped the launch {name}: {why}"), audience="internal", icon="player-stop")
kind("launch.done", _("{actor} ended the launch {name}"), audience="internal", icon="circle-check")
kind(
    "launch_wave.started",
    _("{actor} started wave {wave} of {name}: {count} clusters"),
    audience="internal",
    icon="player-play",
)
LAUNCH_PLANNED = kind(
    "launch_cluster.planned",
    _("{name} is planned for the launch on {day}, wave {wave}: {planned} × {type}"),
    icon="flag",
)
LAUNCH_CHECKED = kind("launch_cluster.checked", _("{name} was checked for the launch: {result}"), icon="shield-check")
LAUNCH_VERDICT = kind("launch_cluster.verdict", _("{actor} on {name} for the launch: {verdict} {why}"), icon="flag")
LAUNCH_STARTED = kind(
    "launch_cluster.started", _("{actor} started {name} in wave {wave} of the launch"), icon="player-play"
)
IN_SERVICE = kind(
    "launch.in_service",
    _("{count} × {instance_type} of {cluster_name} came into service in {region}"),
    icon="circle-check",
)

SESSION_PLANNED = kind("session.planned", _("{title} is planned for {day}"), icon="calendar")
SESSION_EDITED = kind(
    "session.edited", _("{actor} changed the session {title}: {fields}"), audience="internal", icon="pencil"
)
SESSION_ANNOUNCED = kind("session.announced", _("{actor} announced {title} on {day}"), icon="calendar")
SESSION_CANCELLED = kind("session.cancelled", _("{actor} called off {title} on {day}: {why}"), icon="player-stop")
SESSION_SURVEYED = kind(
    "session.surveyed", _("{answers} people answered the survey of {title}: {satisfaction} of 5"), icon="gauge"
)
REGISTERED = kind("registration.made", _("{actor} registered for {title} on {day}"), icon="calendar")
REGISTRATIONS_MARKED = kind(
    "registration.marked", _("{came} of your {registered} registered people came to {title}"), icon="users"
)
UNREGISTERED = kind("registration.cancelled", _("{actor} will not come to {title} on {day}"), icon="calendar")
SESSION_HELD = kind("session.held", _("{title} was held; {attended} of {registered} came"), icon="users")
ONBOARDED = kind(
    "onboarding.held", _("{actor} held the onboarding session: {done} of {steps} steps are done"), icon="users"
)
ONBOARDING_PLANNED = kind(
    "onboarding.planned", _("{actor} set the onboarding session for {day}: {steps} steps"), icon="users"
)
ONBOARDING_CHANGED = kind(
    "onboarding.changed", _("{actor} changed the onboarding session: {lead} leads it, on {day}"), icon="users"
)
kind("onboarding_step.done", _("{actor} ticked off: {text} {evidence}"), icon="circle-check")
kind("onboarding_step.open", _("{actor} took back the tick of: {text} ({why})"), icon="refresh")
kind("onboarding_step.not_applicable", _("{actor} noted that this does not apply: {text} ({why})"), icon="minus")
ONBOARDING_DONE = kind("onboarding.completed", _("The onboarding is complete"), icon="circle-check")
GATE_DECIDED = kind(
    "participation.gate_decided", _("{actor} decided the stage gate: {gate_outcome}. {why}"), icon="flag"
)
REPORT_DUE = kind("report.due", _("The {report} for {period} is due on {due}"), icon="clipboard-check")
REPORT_DUE_MOVED = kind(
    "report.due_moved", _("{actor} moved the {report} for {period} from {was_due} to {due}: {why}"), icon="calendar"
)
for _state, _words in {
    "draft": _("The {report} for {period} is being written"),
    "late": _("The {report} for {period} is late; it was due on {due}"),
    "submitted": _("{actor} handed in the {report} for {period}"),
    "accepted": _("{actor} accepted the {report} for {period}"),
    "disputed": _("{actor} disputed the {report} for {period}: {why}"),
    "returned": _("{actor} sent back the {report} for {period}: {why}"),
}.items():
    kind(f"report.{_state}", _words, icon="clipboard-check")
USED = kind(
    "usage.week",
    _("{cluster_name} was {percent} % busy in the week of {week}: {reserved} instance hours were reserved"),
    icon="gauge",
)
TAKEN_OUT = kind(
    "programme.taken_out", _("{actor} downloaded the whole of {name} as a file"), audience="internal", icon="file"
)
EXPORTED = kind("export.made", _("{actor} exported {what}: {rows} rows"), audience="internal", icon="file")
