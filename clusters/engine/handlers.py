"""What the workers do for clusters, jobs and accounts."""

from clusters import linting
from clusters.budgets.actions import KIND as BUDGET
from clusters.engine import (
    accounts,
    agent_tokens,
    budgets,
    jobs,
    leftovers,
    linted,
    quarantines,
    quota_increases,
    reservations,
    searches,
    step,
    turns,
    usage,
)
from tenants.work.due import Held
from tenants.work.loop import handler


@handler(turns.QUICK_TURN)
def cluster(held: Held) -> None:
    step.step(held)


@handler(turns.SLOW_TURN, queue="slow")
def cluster_that_runs_programs(held: Held) -> None:
    step.step(held)


@handler("jobs")
def jobs_of_a_cluster(held: Held) -> None:
    jobs.step(held)


@handler("account")
def account(held: Held) -> None:
    accounts.step(held)


@handler(linting.KIND, queue="slow")
def templates_of_an_architecture(held: Held) -> None:
    linted.step(held)


@handler("agent_token")
def token_of_an_agent(held: Held) -> None:
    agent_tokens.step(held)


@handler("leftovers")
def leftovers_of_a_cluster(held: Held) -> None:
    leftovers.look_again(held)


@handler("quota")
def request_for_more_quota(held: Held) -> None:
    quota_increases.step(held)


@handler("reservation")
def reservation(held: Held) -> None:
    reservations.step(held)


@handler(turns.COUNT)
def usage_of_a_cluster(held: Held) -> None:
    usage.step(held)


@handler(turns.JUDGE)
def nodes_that_failed_often(held: Held) -> None:
    quarantines.step(held)


@handler(turns.SEARCH)
def search_for_a_bad_node(held: Held) -> None:
    searches.step(held)


@handler(BUDGET)
def budget_of_a_participation(held: Held) -> None:
    budgets.step(held)
