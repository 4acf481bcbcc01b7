"""How many statements each address costs: the same with 5 rows and with 50, and no more than budgets.json allows.

`BUDGETS=write pytest tests/test_queries.py` writes the file anew; the change is then looked at like any other.
"""

import json
import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, transaction

from tests.crowd import grow
from tests.examples import Route, routes
from tests.town import Town, ask, town

__all__ = ["town"]

BUDGETS = Path(__file__).with_name("budgets.json")
ASKERS = ("programme_manager", "platform_engineer")
Counts = dict[str, dict[str, list[str]]]


def asked_routes() -> list[Route]:
    return [route for route in routes() if hasattr(route.view, "roles")]


def measured(town: Town, only: Collection[str] | None = None) -> Counts:
    """The statements behind a GET of each address, for staff and for a customer; of `only` some by the names of their routes."""
    found: Counts = {}
    for route in asked_routes():
        if only is not None and route.name not in only:
            continue
        for role in ASKERS:
            if role not in route.view.roles["read"] or (route.of_office and role != "programme_manager"):
                continue
            client = town.client(town.world.person(role))
            address = route.address("programme" if route.of_office else "hoshi", town.hoshi)
            statements: list[str] = []
            with connection.execute_wrapper(kept_in(statements)):
                answer = ask(client, "GET", address)
            if answer.status_code != 405:
                assert answer.status_code < 400, (
                    f"GET {address} as {role}: {answer.status_code} {answer.content[:300]!r}"
                )
                found.setdefault(route.name, {})[role] = statements
    return found


def kept_in(statements: list[str]) -> Callable[..., Any]:
    """Django's own log of statements forgets after 9,000 of them."""

    def keep(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        statements.append(sql)
        return execute(sql, params, many, context)

    return keep


@pytest.fixture(scope="module")
def few_and_many(town: Town) -> tuple[Counts, Counts]:
    grow(town, 0, 5)
    few, before = measured(town), transaction.savepoint()
    grow(town, 5, 50)
    many = measured(town)
    transaction.savepoint_rollback(before)
    # What is cached for the life of a process is none of a page's costs: asked again, now that it is.
    unequal = {
        name
        for name, by_role in many.items()
        if by_role.keys() != few[name].keys() or sizes(by_role) != sizes(few[name])
    }
    return few | measured(town, unequal), many


def sizes(by_role: dict[str, list[str]]) -> list[int]:
    return [len(by_role[role]) for role in sorted(by_role)]


def budgets() -> dict[str, dict[str, int]]:
    return json.loads(BUDGETS.read_text()) if BUDGETS.exists() else {}


def test_the_number_of_statements_does_not_grow_with_the_rows(few_and_many):
    few, many = few_and_many
    grown = {
        f"{name} as {role}": f"{len(few[name][role])} -> {len(statements)}, e.g. {most_repeated(statements)}"
        for name, by_role in many.items()
        for role, statements in by_role.items()
        if len(statements) != len(few[name][role])
    }
    assert not grown, json.dumps(grown, indent=1)


def most_repeated(statements: list[str]) -> str:
    """The statement of which there are most, its values left out."""
    shapes = [statement.split(" WHERE ")[0][:200] for statement in statements]
    return max(shapes, key=shapes.count, default="")


def test_no_address_costs_more_than_its_budget(few_and_many):
    counted = {
        name: {role: len(found) for role, found in by_role.items()} for name, by_role in sorted(few_and_many[1].items())
    }
    if os.environ.get("BUDGETS") == "write":
        BUDGETS.write_text(json.dumps(counted, indent=1) + "\n")
    allowed = budgets()
    missing = sorted(set(counted) - set(allowed))
    assert not missing, f"these have no budget yet (see the top of this file): {missing}"
    over: dict[str, Any] = {
        f"{name} as {role}": f"{count}, allowed {allowed[name].get(role)}"
        for name, by_role in counted.items()
        for role, count in by_role.items()
        if count > allowed[name].get(role, -1)
    }
    assert not over, json.dumps(over, indent=1)
    left = sorted(set(allowed) - set(counted))
    assert not left, f"these addresses are gone: {left}"
