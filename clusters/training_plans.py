"""Do training plans cover what a request for HyperPod takes from them: type, zone, count, time. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from clusters import facts as known_facts
from clusters.architectures.configuration import Configuration, Group
from clusters.facts import Facts
from clusters.findings import Finding

ENDS_SOON = timedelta(days=14)
USABLE_PLANS = frozenset({"scheduled", "active"})


@dataclass(frozen=True)
class Plan:
    """A training plan of the account."""

    name: str
    instance_type: str
    region: str
    az_id: str
    count: int
    state: str  # scheduled, active, expired, failed, pending
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    used: int = 0  # by other clusters of ours, wished or real


def findings(wish: Configuration, facts: Facts, plans: Sequence[Plan], now: datetime) -> Iterator[Finding]:
    named: dict[str, int] = {}
    for group in wish.instance_groups:
        if group.training_plan:
            named[group.training_plan] = named.get(group.training_plan, 0) + group.count
    for index, group in enumerate(wish.instance_groups):
        path = f"instance_groups[{index}].training_plan"
        values = {"group": group.name, "type": known_facts.ml_name(group.instance_type), "plan": group.training_plan}
        if group.training_plan:
            plan = next((each for each in plans if each.name == group.training_plan), None)
            yield from _plan(wish, group, plan, named[group.training_plan], path, values, now)
        elif (instance := facts.instance(group.instance_type)) and instance.accelerators:
            yield Finding(
                "plan_absent", "warning", path, group.count, unit="instances", who="account_team", values=values
            )


def _plan(
    wish: Configuration,
    group: Group,
    plan: Plan | None,
    asked: int,
    path: str,
    values: Mapping[str, object],
    now: datetime,
) -> Iterator[Finding]:
    def refuse(code: str, told: object, allowed: object = "", **more: object) -> Finding:
        return Finding(code, "refused", path, told, allowed, "instances", "account_team", values={**values, **more})

    if plan is None or plan.region != wish.region:
        yield refuse("plan_missing", group.training_plan)
        return
    left = plan.count - plan.used
    wrong = []
    if known_facts.plain_name(plan.instance_type) != group.instance_type:
        wrong.append(refuse("plan_type", group.instance_type, known_facts.plain_name(plan.instance_type)))
    if plan.az_id and plan.az_id != wish.az_id:
        wrong.append(refuse("plan_zone", wish.az_id, plan.az_id))
    if asked > left:
        wrong.append(refuse("plan_count", asked, max(left, 0), total=plan.count))
    if plan.ends_at and plan.ends_at <= now:
        wrong.append(refuse("plan_over", group.training_plan, _day(plan.ends_at)))
    elif plan.state not in USABLE_PLANS:
        wrong.append(refuse("plan_state", plan.state))
    elif plan.starts_at and plan.starts_at > now:
        wrong.append(Finding("plan_not_begun", "warning", path, "", _day(plan.starts_at), values=values))
    elif plan.ends_at and plan.ends_at - now <= ENDS_SOON:
        ends = _day(plan.ends_at)
        wrong.append(Finding("plan_ends_soon", "warning", path, "", ends, who="account_team", values=values))
    yield from wrong
    if not any(finding.level == "refused" for finding in wrong):
        yield Finding("plan", "ok", path, group.count, left, "instances", values=values)


def _day(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"
