"""Imports the past in the order in which its parts refer to each other. Whatever is there already stays as it is."""

from __future__ import annotations

from collections.abc import Callable

from program.transfer.carried import calls, duty, money
from program.transfer.carried import capacity as carried_capacity
from program.transfer.past import capacity, cases, enablement, health, interactions, jobs, reviews
from program.transfer.past.rows import Past

Say = Callable[[str], None]


def load(past: Past, say: Say, *, living: bool = False) -> None:
    """The reviews come last: each counts what was imported before it. `living`: with the jobs that had not ended."""
    capacity.load_launch_day(past)
    capacity.load_quota_requests(past)
    capacity.load_usage(past)
    capacity.load_extensions(past)
    ended, waiting = jobs.load(past, living=living)
    say(f"{ended} jobs of the past" + (f"; without a cluster: {', '.join(waiting)}" if waiting else ""))
    health.load(past)
    interactions.load(past)
    say(f"{cases.load(past)} cases of the past")
    enablement.load_sessions(past)
    enablement.load_onboarding(past)
    enablement.load_reports(past)
    enablement.load_articles(past)
    enablement.load_exports(past)
    asked, rows = carried_capacity.load(past), money.load(past)
    say(f"{asked} requests for capacity, {rows} rows of budgets")
    say(f"{calls.load(past)} applications, {duty.load(past)} shifts of duty")
    say(f"{reviews.load(past)} weekly reviews, frozen from their history")
