"""Pure: which step of the stop rule comes now, and what becomes of each job; nothing follows from contact that is lost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Literal

Rule = Literal["tell", "refuse", "stop"]  # each does what those before it do
Counts = Literal["spent", "bound"]
Deed = Literal["wait", "hold", "cancel"]


@dataclass(frozen=True)
class Terms:
    """As the programme's office has it, and the participation where it has its own."""

    rule: Rule = "refuse"
    warn_at: tuple[int, ...] = (50, 80, 95)
    notice: timedelta = timedelta(hours=72)
    patience: timedelta = timedelta(hours=24)  # so long a checkpoint is waited for once the notice is over
    counts: Counts = "spent"  # against which what is new is held; jobs are stopped only for what is spent


@dataclass(frozen=True)
class Standing:
    """How it stands: `since` when it came into its state, `warned` the highest percentage that was told."""

    state: str
    since: datetime
    warned: int
    budget: Decimal | None
    spent: Decimal
    paused_until: datetime | None = None

    @property
    def at_limit(self) -> bool:
        """A budget of 0 allows nothing; one that is not set limits nothing."""
        return self.budget is not None and self.spent >= self.budget

    def paused(self, now: datetime) -> bool:
        return self.paused_until is not None and now < self.paused_until


@dataclass(frozen=True)
class Step:
    """The state that follows, the percentage to tell of now (None: none), and the highest that is told by now."""

    state: str
    warn: int | None
    warned: int


def follow(now_is: Standing, terms: Terms, now: datetime, *, running: int) -> Step:
    """`running`: jobs of it that are not known to have ended. One step at a time, so that each stands in the history."""
    reached = 0
    if now_is.budget:
        percent = 100 * now_is.spent / now_is.budget
        reached = max((each for each in terms.warn_at if percent >= each), default=0)
    warn = reached if reached > now_is.warned else None
    return Step(_state(now_is, terms, now, running), warn, reached)


def _state(now_is: Standing, terms: Terms, now: datetime, running: int) -> str:
    if not now_is.at_limit:
        return "within"
    if terms.rule == "tell":
        return "within"
    if now_is.paused(now):
        return now_is.state
    if now_is.state == "within":
        return "notice"
    if terms.rule != "stop":
        return "notice"
    if now_is.state == "notice":
        return "stopping" if now >= now_is.since + terms.notice else "notice"
    return "stopping" if running else "stopped"


@dataclass(frozen=True)
class JobNow:
    """What decides about one job: whether it holds nodes, when it last saved, and whether anybody still sees it."""

    runs: bool
    checkpoint_at: datetime | None
    lost: bool = False
    wished: bool = False  # its end, or that it does not start


def deed(job: JobNow, since: datetime, terms: Terms, now: datetime) -> Deed:
    """`since`: when the notice was over. A job that saves is ended right after it has saved again, or at the latest moment;
    one that never saved loses all whenever it ends, and was told before; one that waits is held and keeps its place."""
    if job.wished or job.lost:
        return "wait"
    if not job.runs:
        return "hold"
    if job.checkpoint_at is None or job.checkpoint_at > since:
        return "cancel"
    return "cancel" if now >= since + terms.patience else "wait"


def refusal(now_is: Standing, terms: Terms, now: datetime) -> bool:
    """Whether nothing new may begin."""
    return terms.rule != "tell" and now_is.at_limit and not now_is.paused(now)


def binds_too_much(now_is: Standing, terms: Terms, now: datetime, *, bound: Decimal, adds: Decimal | None) -> bool:
    """Whether something new would bind more than there is; `bound`: what is spent and bound without it. What costs nothing
    more is always let through, and of what has no price nobody knows it (`adds` None)."""
    if terms.rule == "tell" or terms.counts != "bound" or now_is.budget is None or now_is.paused(now):
        return False
    return adds is not None and adds > 0 and bound + adds > now_is.budget


def smallest(body: Mapping[str, Any], accelerated: frozenset[str], least: int = 1) -> dict[str, Any] | None:
    """The configuration with its accelerated groups as small as can be, but for those that a reservation pays for anyway;
    None: there is nothing to make smaller. Nothing is removed and no storage is touched."""
    groups: Sequence[Mapping[str, Any]] = body.get("instance_groups", ())
    found = []
    for group in groups:
        paid = group.get("training_plan") or group.get("reservation")
        small = str(group["instance_type"]).removeprefix("ml.") in accelerated and not paid
        found.append({**group, "count": min(group["count"], least)} if small else dict(group))
    return {**body, "instance_groups": found} if found != [dict(group) for group in groups] else None
