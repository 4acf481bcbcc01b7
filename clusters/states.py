"""Which state may follow which for clusters, their parts, nodes and jobs; the sets with meaning; the sentences."""

from django.utils.translation import gettext_lazy as _

from tenants.history.timeline import kind, say
from tenants.states import Moves

CLUSTER: Moves = {
    "requested": {"approved", "deleted"},
    "approved": {"creating", "failed", "deleting", "deleted"},
    "creating": {"ready", "degraded", "failed", "deleting"},
    "ready": {"updating", "degraded", "failed", "deleting"},
    "updating": {"ready", "degraded", "failed", "deleting"},
    "degraded": {"ready", "updating", "creating", "failed", "deleting"},
    "failed": {"creating", "updating", "ready", "degraded", "deleting"},
    "deleting": {"deleted"},
    "deleted": set(),
}
SETTLED = frozenset({"requested", "ready", "degraded", "failed", "deleted"})
AT_REST = SETTLED - {"requested"}  # nothing moves by itself; a request may be approved while somebody looks at it
LIVE = frozenset({"creating", "ready", "updating", "degraded"})
BROKEN = frozenset({"degraded", "failed"})
TAKES_JOBS = frozenset({"hyperpod-slurm", "hyperpod-eks", "parallelcluster"})  # engines whose scheduler we speak to
# What a compute fleet is wished to be -> the engine's words while it goes there, and when it is there.
FLEET: dict[str, tuple[frozenset[str], frozenset[str]]] = {
    "running": (frozenset({"START_REQUESTED", "STARTING"}), frozenset({"RUNNING", "ENABLED"})),
    "stopped": (frozenset({"STOP_REQUESTED", "STOPPING"}), frozenset({"STOPPED", "DISABLED"})),
}
FLEET_MOVING = FLEET["running"][0] | FLEET["stopped"][0]
USES_QUOTA = frozenset({"requested", "approved", "creating", "ready", "updating", "degraded", "failed", "deleting"})

PART: Moves = {
    "intended": {"creating", "exists", "failed", "gone", "foreign", "deleting"},
    "creating": {"exists", "failed", "deleting", "gone", "foreign", "updating"},
    "exists": {"updating", "failed", "deleting", "gone", "foreign"},
    "updating": {"exists", "failed", "deleting", "gone"},
    "failed": {"creating", "updating", "exists", "deleting", "gone", "foreign"},
    "deleting": {"gone", "failed", "exists"},
    "foreign": {"gone", "exists"},
    "gone": {"intended"},
}

NODE: Moves = {
    "pending": {"running", "checking", "impaired", "replacing", "gone"},
    "checking": {"running", "pending", "impaired", "replacing", "gone"},
    "running": {"checking", "impaired", "replacing", "pending", "gone"},
    "impaired": {"running", "checking", "replacing", "pending", "gone"},
    "replacing": {"pending", "checking", "running", "impaired", "gone"},
    "gone": {"pending", "checking", "running", "impaired", "replacing"},
}

JOB: Moves = {
    "requested": {
        "submitted",
        "queued",
        "starting",
        "running",
        "recovering",
        "succeeded",
        "failed",
        "cancelled",
        "timed_out",
    },
    "submitted": {"queued", "starting", "running", "recovering", "succeeded", "failed", "cancelled", "timed_out"},
    "queued": {"starting", "running", "recovering", "succeeded", "failed", "cancelled", "timed_out"},
    "starting": {"queued", "running", "recovering", "succeeded", "failed", "cancelled", "timed_out"},
    "running": {"queued", "recovering", "succeeded", "failed", "cancelled", "timed_out"},
    "recovering": {"queued", "starting", "running", "succeeded", "failed", "cancelled", "timed_out"},
    "succeeded": set(),
    "failed": set(),
    "cancelled": set(),
    "timed_out": set(),
}
JOB_ENDS = frozenset({"succeeded", "failed", "cancelled", "timed_out"})
JOB_LIVE = frozenset(JOB) - JOB_ENDS
JOB_WAITS = frozenset({"requested", "submitted", "queued", "recovering"})  # it holds no node

OPERATION: Moves = {
    "waiting": {"running", "cancelled"},
    "running": {"done", "failed", "cancelled"},
    "done": set(),
    "failed": set(),
    "cancelled": set(),
}
OPEN = frozenset({"waiting", "running"})

ALERT: Moves = {"firing": {"resolved"}, "resolved": set()}

SEARCH: Moves = {"running": {"done", "cancelled"}, "done": set(), "cancelled": set()}

USAGE_DISPUTE: Moves = {"open": {"settled"}, "settled": set()}

QUOTA_REQUEST: Moves = {
    "pending": {"case_opened", "approved", "denied"},
    "case_opened": {"approved", "denied"},
    "approved": set(),
    "denied": set(),
}
CAPACITY_REQUEST: Moves = {
    "waiting": {"granted", "declined", "withdrawn"},
    "granted": set(),
    "declined": set(),
    "withdrawn": set(),
}
RESERVATION: Moves = {
    "wanted": {"bought", "ended"},
    "bought": {"active", "ended"},
    "active": {"ended"},
    "ended": set(),
}
BUDGET_WATCH: Moves = {
    "within": {"notice"},
    "notice": {"stopping", "within"},
    "stopping": {"stopped", "notice", "within"},
    "stopped": {"stopping", "notice", "within"},
}
QUOTA_ENDS = frozenset({"approved", "denied"})

CLUSTER_WISHED = kind("cluster.requested", _("{actor} asked for the cluster {name}: {summary}"), icon="server")
CLUSTER_RETIRED = kind("cluster.retired", _("{actor} asked to delete the cluster {name}: {why}"), icon="trash")
CLUSTER_RETRIED = kind("cluster.retried", _("{actor} asked to try the cluster {name} again: {why}"), icon="refresh")
FLEET_STOP = kind(
    "cluster.fleet_stop_wished", _("{actor} asked to stop the compute fleet of {name}: {why}"), icon="player-pause"
)
FLEET_START = kind(
    "cluster.fleet_start_wished", _("{actor} asked to start the compute fleet of {name}: {why}"), icon="player-play"
)
FLEET_SEEN = kind("cluster.fleet", _("The compute fleet of {name} is now {status}"), icon="server")
CLUSTER_UNKNOWN = kind(
    "cluster.contact_lost", _("Contact with the account of {name} was lost: {why}"), icon="plug-connected-x"
)
CLUSTER_KNOWN = kind("cluster.contact_back", _("Contact with the account of {name} is back"), icon="plug-connected")
kind("cluster.approved", _("{actor} approved the cluster {name}"), icon="check")
kind("cluster.creating", _("The cluster {name} is being created"), icon="server")
kind("cluster.ready", _("The cluster {name} is ready: {nodes} nodes running"), icon="circle-check")
kind("cluster.updating", _("The cluster {name} is being updated"), icon="server")
kind(
    "cluster.degraded",
    _("The cluster {name} is degraded: {why}"),
    icon="alert-triangle",
    severity="high",
    reacts=["triage"],
)
kind(
    "cluster.failed", _("The cluster {name} failed: {why}"), icon="alert-triangle", severity="urgent", reacts=["triage"]
)
kind("cluster.deleting", _("The cluster {name} is being deleted"), icon="trash")
kind("cluster.deleted", _("The cluster {name} is deleted"), icon="trash")

OPERATION_ASKED = kind("operation.asked", _("{actor} asked for the {what} of {name}: {why}"), icon="server")
OPERATION_AGREED = kind("operation.approved", _("{actor} agreed to the {what} of {name}, plan {plan}"), icon="check")
OPERATION_CANCEL = kind(
    "operation.cancel_wished", _("{actor} asked to stop the {what} of {name}: {why}"), icon="player-stop"
)
OPERATION_WAITS = kind(
    "operation.waits",
    _("The {what} of {name} waits for the owner of account {account}, which does not let us go on: {why}"),
    icon="key",
    severity="high",
)
OPERATION_GOES_ON = kind(
    "operation.goes_on", _("Account {account} lets us in again: the {what} of {name} goes on"), icon="key"
)
NODES_ANSWERED = kind(
    "operation.answered", _("{name}: the provider took {taken} of {asked} nodes. {refused}"), icon="server"
)
LEFT_OVER_ASKED = kind(
    "cluster.leftovers_wished", _("{actor} asked to look again for what is left of {name}"), icon="refresh"
)
LEFT_OVER = kind("cluster.leftovers", _("{count} things of {name} stay in the account: {things}"), icon="server")
kind("operation.running", _("The {what} of {name} began"), icon="server")
kind("operation.done", _("The {what} of {name} is done"), icon="circle-check")
kind("operation.failed", _("The {what} of {name} failed: {why}"), icon="alert-triangle", severity="normal")
kind("operation.cancelled", _("The {what} of {name} was given up: {why}"), icon="player-stop")

PREFLIGHT_PASSED = kind(
    "preflight.passed", _("{name} fits: {passed} checks passed, {unknown} could not be made"), icon="shield-check"
)
PREFLIGHT_FAILED = kind(
    "preflight.failed", _("{name} does not fit, and nothing was made: {why}"), icon="alert-triangle", severity="normal"
)
NO_LONGER_FITS = kind(
    "preflight.no_longer_fits",
    _("{name} no longer fits for its launch on {day}: {why}"),
    icon="alert-triangle",
    severity="high",
    reacts=["triage"],
)

CONFIGURATION_KEPT = kind(
    "configuration.kept", _("{actor} saved version {number} of the configuration {name}: {why}"), icon="file"
)

ALERT_FIRING = kind("alert.firing", _("{name} of {cluster_name}: {summary}"), icon="alert-triangle", reacts=["triage"])
kind("alert.resolved", _("{name} of {cluster_name} is over: {summary}"), icon="circle-check", reacts=["alert_over"])
ALERT_TOKEN = kind("alert_intake.renewed", _("{actor} made a new token for the alerts of {cluster_name}"), icon="key")
AGENT_TOKEN = kind("agent.renewed", _("{actor} made a new token for the agent of {cluster_name}"), icon="key")
AGENT_REVOKED = kind("agent.revoked", _("The agent of {cluster_name} is no longer let in: {why}"), icon="key")
AGENT_SEEN = kind(
    "agent.connected", _("The agent of {cluster_name} is there: version {version} on {host}"), icon="plug-connected"
)
REACH_CHANGED = kind(
    "cluster.reach", _("{actor} chose how the scheduler of {name} is reached: {how}"), icon="plug-connected"
)
CHART_INSTALLED = kind(
    "chart.installed", _("{actor} recorded that {chart} {chart_version} is installed on {cluster_name}"), icon="server"
)
NODE_SETUP_KEPT = kind(
    "node_setup.kept", _("{actor} saved version {number} of the node set-up {name}: {why}"), icon="file"
)
NODE_SETUP_FAILED = kind(
    "node_setup.failed",
    _("The participant's own node set-up {name}, version {number}, ended with code {code} on {host}: {lines}"),
    icon="alert-triangle",
    severity="high",
)

JOB_SCRIPT_KEPT = kind("job_script.kept", _("{actor} saved version {number} of the script {name}: {why}"), icon="file")

PART_EVENT = kind("part.event", _("{resource}: {told}"), icon="point")
PROGRAM_RAN = kind(
    "part.program",
    _("ParallelCluster {verb} for {part} ended after {seconds} s with code {code}: {file}"),
    icon="server",
)
PROOF = kind("cluster.proof", _("Proof of {name}, {result}: {proof}"), icon="shield-check")
kind("part.intended", _("About to ask for {part} in {region}"), icon="point")
kind("part.creating", _("Asked for {part} in {region}"), icon="cloud-upload")
kind("part.exists", _("{part} is complete"), icon="circle-check")
kind("part.updating", _("Asked to change {part}"), icon="cloud-upload")
kind("part.failed", _("{part} failed: {why}"), icon="alert-triangle")
kind("part.deleting", _("Asked to delete {part}"), icon="trash")
kind("part.gone", _("{part} is gone"), icon="trash")
kind(
    "part.foreign", _("{part} exists but is not ours: {why}"), icon="alert-triangle", severity="high", reacts=["triage"]
)

kind("node.pending", _("{node} is on its way"), icon="cpu")
kind("node.checking", _("{node} is being checked"), icon="cpu")
kind("node.running", _("{node} is running"), icon="cpu")
kind("node.impaired", _("{node} is impaired: {why}"), icon="alert-triangle", severity="normal")
kind("node.replacing", _("{node} is being replaced"), icon="refresh")
kind("node.gone", _("{node} is gone"), icon="cpu")
for _state, _words in {
    "pending": _("{count} nodes are on their way: {nodes}"),
    "checking": _("{count} nodes are being checked: {nodes}"),
    "running": _("{count} nodes are running: {nodes}"),
    "impaired": _("{count} nodes are impaired: {nodes}"),
    "replacing": _("{count} nodes are being replaced: {nodes}"),
    "gone": _("{count} nodes are gone: {nodes}"),
}.items():
    kind(f"nodes.{_state}", _words, icon="cpu")

JOB_WISHED = kind("job.requested", _("{actor} launched the job {name} on {nodes} nodes"), icon="player-play")
JOB_CANCEL = kind("job.cancel_wished", _("{actor} asked to cancel the job {name}: {why}"), icon="player-stop")
JOB_STALLED = kind(
    "job.stalled",
    _("The job {name} has written nothing for longer than its communicator waits, {minutes} minutes"),
    icon="alert-triangle",
    severity="high",
    reacts=["triage"],
)
JOB_SPEAKS = kind(
    "job.speaks", _("The job {name} writes again, after {minutes} minutes of silence"), icon="circle-check"
)
JOB_HOLD = kind("job.hold_wished", _("{actor} asked to hold the job {name}: {why}"), icon="player-pause")
JOB_RELEASE = kind("job.release_wished", _("{actor} asked to let the job {name} go: {why}"), icon="player-play")
JOB_REQUEUE = kind("job.requeue_wished", _("{actor} asked to begin the job {name} again: {why}"), icon="refresh")
JOB_HELD = kind("job.held", _("The job {name} is held"), icon="player-pause")
JOB_LET_GO = kind("job.let_go", _("The job {name} is no longer held"), icon="player-play")
JOB_BEGUN_AGAIN = kind("job.begun_again", _("The job {name} begins again, run {number}: {why}"), icon="refresh")
JOB_WISH_REFUSED = kind(
    "job.wish_refused", _("{wish} of the job {name} was not possible: {why}"), icon="alert-triangle", severity="normal"
)
JOB_OVER_BUDGET = kind(
    "job.over_budget",
    _(
        "The job {name} was begun again {count} times within an hour, more than {most}: it is held until somebody lets it go"
    ),
    icon="alert-triangle",
    severity="high",
    reacts=["triage"],
)
JOB_IDLE = kind(
    "job.idle",
    _("The job {name} has printed nothing for {minutes} minutes, and holds {nodes} nodes"),
    icon="alert-triangle",
    severity="normal",
)
kind("job.submitted", _("The job {name} was handed to the scheduler as {external_id}"), icon="player-play")
kind("job.queued", _("The job {name} is queued: {why}"), icon="player-pause")
kind("job.starting", _("The job {name} is starting"), icon="player-play")
kind("job.running", _("The job {name} is running"), icon="player-play")
kind("job.recovering", _("The job {name} is recovering: {why}"), icon="refresh", severity="normal")
kind("job.succeeded", _("The job {name} succeeded"), icon="circle-check")
kind("job.failed", _("The job {name} failed: {why}"), icon="alert-triangle", severity="high", reacts=["triage"])
kind("job.cancelled", _("The job {name} was cancelled"), icon="player-stop")
kind("job.timed_out", _("The job {name} ran out of time"), icon="clock", severity="normal", reacts=["triage"])

ACCOUNT_ADDED = kind("account.added", _("{actor} added the cloud account {account}"), icon="key")
ACCOUNT_CHECK = kind("account.check_wished", _("{actor} asked whether account {account} lets us in"), icon="key")
ACCOUNT_RENEWED = kind(
    "account.renewed",
    _("{actor} made a new external id for account {account}; the old one no longer opens"),
    icon="key",
)
ACCOUNT_READ = kind(
    "account.read", _("The quotas of account {account} in {region} were read: {count} changed"), icon="gauge"
)
ACCOUNT_DENIED = kind(
    "account.denied", _("Account {account} does not let us in: {why}"), icon="alert-triangle", severity="high"
)
ACCOUNT_UNGUARDED = kind(
    "account.unguarded",
    _("Account {account} lets us in without the external id too, as it must not"),
    icon="alert-triangle",
    severity="high",
)
ACCOUNT_GUARDED = kind("account.guarded", _("Account {account} asks for the external id now"), icon="key")

# Made by hand with copied tags, or left by an installation whose database was lost: only a person can tell.
ORPHAN_FOUND = kind(
    "orphan.found",
    _("In account {account}, {region}: {name} carries our tags, but no cluster accounts for it; it is not touched"),
    icon="alert-triangle",
    severity="high",
    reacts=["triage"],
)
ORPHAN_GONE = kind("orphan.gone", _("In account {account}, {region}: {name} is there no longer"), icon="circle-check")

QUOTA_ASKED = kind(
    "quota_request.pending", _("{actor} asked for {instances} × {instance_type} in {region}: {reason}"), icon="gauge"
)
kind("quota_request.case_opened", _("The provider opened a case for {number}"), icon="gauge")
kind("quota_request.approved", _("The provider approved {number}: {value} {unit} in {region}"), icon="gauge")
kind("quota_request.denied", _("The provider denied {number}: {reason}"), icon="gauge")

say("what", fewer=_("fewer"), longer=_("for longer"), region=_("in another Region"))
CAPACITY_ASKED = kind(
    "capacity_request.waiting",
    _("{actor} asked the programme for capacity, {what}: {instances} × {instance_type} in {region}. {reason}"),
    icon="gauge",
)
kind(
    "capacity_request.granted",
    _("{number} is granted: {instances} × {instance_type} in {region}, out of {budget_line}. {why}"),
    icon="circle-check",
)
CAPACITY_CHANGED = kind("capacity_request.changed", _("{actor} changed {number}, before it was decided"), icon="gauge")
kind("capacity_request.declined", _("{actor} declined {number}: {why}"), icon="gauge")
kind("capacity_request.withdrawn", _("{actor} withdrew {number}: {why}"), icon="gauge")

RESERVATION_WANTED = kind("reservation.wanted", _("{actor} wants {what} reserved: {why}"), icon="calendar")
RESERVATION_CHANGED = kind(
    "reservation.changed", _("{actor} changed the reservation of {what}: {why}"), icon="calendar"
)
kind("reservation.bought", _("{what} are bought: {why}"), icon="circle-check")
kind("reservation.active", _("The reservation of {what} has begun"), icon="calendar")
kind("reservation.ended", _("The reservation of {what} is over: {why}"), icon="calendar")
RESERVATION_ENDS = kind(
    "reservation.ends",
    _("The reservation of {what} ends within {days} days, at {ends}"),
    icon="calendar",
    severity="normal",
)
RESERVATION_ENDS_SOON = kind(
    "reservation.ends_soon",
    _("The reservation of {what} ends within {days} days, at {ends}: its nodes go with it"),
    icon="alert-triangle",
    severity="high",
    reacts=["triage"],
)

CAPACITY_LIMIT = kind(
    "programme.small_requests",
    _(
        "{actor} changed up to how many accelerator-hours a request for capacity is small, from {before} to {after}: {why}"
    ),
    icon="gauge",
)

GRANT_NOT_SET = kind(
    "cluster.grant_not_set",
    _("{name} was let through although nobody has said how many of {types} are granted in {region}"),
    icon="gauge",
    severity="normal",
)
BUDGET_CHANGED = kind(
    "budget.changed",
    _("{actor} changed the budget by {delta} {currency}, out of {line}; it is {after} now: {why}"),
    icon="gauge",
)
BUDGET_BELOW_BOUND = kind(
    "budget.below_bound",
    _(
        "{actor} cut the budget by {delta} {currency} to {after}, which is less than what is spent and bound, {total}: {why}"
    ),
    icon="alert-triangle",
    severity="high",
)
BUDGET_WARNED = kind(
    "budget.warned",
    _("{percent} percent of the budget is spent: {spent} of {budget} {currency}"),
    icon="gauge",
    severity="normal",
)
kind("budget_watch.within", _("The budget is no longer used up: {spent} of {budget} {currency}"), icon="circle-check")
kind(
    "budget_watch.notice",
    _("The budget is used up, {spent} of {budget} {currency}: nothing new begins"),
    icon="alert-triangle",
    severity="high",
)
BUDGET_JOBS_TOLD = kind(
    "budget.jobs_told",
    _("Jobs are stopped from {begins} on, each after its next checkpoint: {names}. Without one so far: {unsaved}"),
    icon="alert-triangle",
    severity="high",
)
kind(
    "budget_watch.stopping",
    _("The budget stays used up, {spent} of {budget} {currency}: jobs are stopped now"),
    icon="player-stop",
    severity="high",
)
kind(
    "budget_watch.stopped",
    _("No job runs any more, the budget is used up: {spent} of {budget} {currency}"),
    icon="player-stop",
)
BUDGET_PAUSED = kind(
    "budget_watch.paused", _("{actor} paused the stop rule of the budget until {until}: {why}"), icon="player-pause"
)
BUDGET_RULE = kind(
    "budget_watch.rule",
    _("{actor} set what happens at the limit of the budget: {what}; what is new counts against: {to}. {why}"),
    icon="gauge",
)
BUDGET_SHRINK_NOT = kind(
    "budget.not_smaller", _("{name} could not be asked to become smaller: {why}"), icon="alert-triangle"
)
BUDGET_RATE = kind(
    "programme.exchange_rate",
    _("{actor} entered a rate: 1 {of} is {rate} {currency} from {day} on, by {told_by}"),
    icon="gauge",
)

HEALTH_REPORTED = kind("health.reported", _("{actor} reported {reason} on {node}: {detail}"), icon="alert-triangle")
HEALTH_SCHEDULED = kind("health.scheduled", _("{actor} announced {reason} for {starts}: {detail}"), icon="calendar")

# Kept with both numbers: what was shown when it was disputed, and what holds.
USAGE_DISPUTED = kind(
    "usage_dispute.opened",
    _("{actor} says that {month} of {cluster_name} is counted wrong, {used} h used of {reserved} h reserved: {why}"),
    icon="flag",
    severity="high",
    reacts=["triage"],
)
kind(
    "usage_dispute.settled",
    _("{actor} settled {month} of {cluster_name}: {before} h were disputed, {after} h hold. {why}"),
    icon="circle-check",
)
USAGE_CORRECTED = kind(
    "cluster.usage_corrected",
    _("{day} of {name} was closed and is counted anew: {fields}"),
    icon="gauge",
)
LENT = kind("lending.began", _("{actor} lent {nodes} nodes of {cluster_name} to {borrower}: {why}"), icon="link")
TAKEN_BACK = kind(
    "lending.ended", _("{actor} took back {nodes} nodes of {cluster_name} from {borrower}: {why}"), icon="link"
)
QUARANTINED = kind(
    "quarantine.held",
    _("{actor} put {node} in quarantine, no new job goes there: {what}"),
    icon="alert-triangle",
    severity="normal",
)
LET_BACK = kind("quarantine.lifted", _("{actor} took {node} out of quarantine: {what}"), icon="circle-check")

SEARCH_BEGAN = kind(
    "search.began", _("{actor} began to test {count} nodes of {cluster_name} in pairs: {why}"), icon="search"
)
kind("search.done", _("The pair tests of {cluster_name} are over. Named: {nodes}"), icon="search")
kind("search.cancelled", _("{actor} stopped the pair tests of {cluster_name}"), icon="player-stop")
