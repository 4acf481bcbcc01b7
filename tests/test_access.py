"""Every address of the portal times every role: who may, who may not, and for whom it does not even exist."""

import json
import re
from collections import Counter
from typing import Any

import pytest

from tenants.wall import roles
from tests.examples import Route, routes
from tests.town import NOWHERE, Town, ask, cells, town

__all__ = ["town"]

# Signing in, files of the look, and what a load balancer asks: everything else goes through the door.
# Where a cluster's Alertmanager posts to shows a token of the cluster's own instead of a person.
PUBLIC = {
    "take_alerts",
    "take_reports",
    "reporter",
    "machine-pull",
    "machine-answer",
    "machine-report",
    "healthz",
    "readyz",
    "persona",
    "personas",
    "pick_persona",
    "ask_to_join",  # whoever asks has no account yet
    "invitation",  # a link in a mail is its own proof
    "apply",  # whoever applies has no account yet
    "apply_begin",
    "application_link",  # a link in a mail is its own proof
}
PUBLIC_PREFIXES = ("account_", "accounts/", "static/", "jsi18n", "set_language")
ALL = list(routes())
GUARDED = [route for route in ALL if hasattr(route.view, "roles")]
TENANTS = [route for route in GUARDED if route.has_tenant]
DETAILS = [route for route in GUARDED if route.parameters()]
FINE = {200, 204}
TOKEN = re.compile(rb"\b[A-Za-z0-9]{64}\b")  # a form's proof of its page, masked anew each time
# An empty body is not what most writes want; what they may not answer is 403, 404 and a server error.
CONSIDERED = {200, 201, 202, 204, 302, 303, 400, 409, 412, 415, 422, 428}


def named(route: Route) -> str:
    return f"{route.name} {route.pattern}"


def home(town: Town, route: Route) -> str:
    return town.world.office.slug if route.of_office else town.world.hoshi.slug


def is_public(route: Route) -> bool:
    return route.name in PUBLIC or route.name.startswith(PUBLIC_PREFIXES) or route.pattern.startswith(PUBLIC_PREFIXES)


@pytest.mark.parametrize("route", ALL, ids=named)
def test_every_route_says_whom_it_lets_in_or_is_known_to_be_public(route):
    assert is_public(route) != hasattr(route.view, "roles"), f"put @allow(...) on {route.name}, or say why it is public"


@pytest.mark.parametrize("route", GUARDED, ids=named)
def test_roles_that_a_route_names_exist(route):
    known = {*roles.ROLES, roles.ACCOUNT_TEAM_ELSEWHERE}
    assert route.view.roles["read"] <= known and route.view.roles["write"] <= known
    assert route.view.roles["read"] or route.view.roles["write"]


@pytest.mark.parametrize("route", GUARDED, ids=named)
def test_nobody_gets_in_without_signing_in(town, route):
    for method in ("GET", route.unsafe()):
        answer = ask(town.client(None), method, route.address(home(town, route), town.hoshi))
        if answer.status_code != 405:
            assert answer.status_code == (401 if route.is_api else 302), answer.content[:300]
            assert route.is_api or answer["Location"].startswith("/accounts/login/"), answer["Location"]


VERBS = ("read", "write")
EVERY_ROLE = (*roles.STAFF_ROLES, *roles.CUSTOMER_ROLES)


def _spread() -> tuple[dict[tuple[str, str], list[str]], Counter[tuple[str, bool]]]:
    """(route, verb) -> who asks: one of each kind that the door can tell apart, of these the one asked least so far.

    Behind the door nothing asks for the role again, and what a page shows to each role is asked elsewhere."""
    chosen: dict[tuple[str, str], list[str]] = {}
    asked: Counter[tuple[str, bool]] = Counter()
    for route in GUARDED:
        for verb in VERBS:
            kinds: dict[tuple[bool, bool, bool], list[str]] = {}
            for role in EVERY_ROLE:
                service, customer = role == roles.SERVICE_ENGINEER, role in roles.CUSTOMER_ROLES
                if not (route.of_office and (service or customer)):  # they have no seat at the office: the next test
                    kinds.setdefault((role in route.view.roles[verb], customer, service), []).append(role)
            for (listed, _customer, _service), found in kinds.items():
                role = min(found, key=lambda each: (asked[each, listed], found.index(each)))
                asked[role, listed] += 1
                chosen.setdefault((named(route), verb), []).append(role)
    return chosen, asked


SPREAD, ASKED = _spread()


@pytest.mark.parametrize("route", GUARDED, ids=named)
def test_each_role_is_let_in_exactly_where_it_is_listed(town, route):
    address, people = route.address(home(town, route), town.hoshi), dict(cells(town))
    for method, verb in (("GET", "read"), (route.unsafe(), "write")):
        for role in SPREAD[named(route), verb]:
            answer = ask(town.client(people[role]), method, address)
            check(answer, f"{method} {address} as {role}", role in route.view.roles[verb], method)


@pytest.mark.parametrize("role", EVERY_ROLE)
def test_every_role_was_asked_at_doors_that_open_to_it_and_at_doors_that_do_not(role):
    doors = [
        route for route in GUARDED if not route.of_office or role not in (*roles.CUSTOMER_ROLES, roles.SERVICE_ENGINEER)
    ]
    known = {role in route.view.roles[verb] for route in doors for verb in VERBS}
    assert known and all(ASKED[role, listed] for listed in known)


def check(answer, asked: str, listed: bool, method: str) -> None:
    told = f"{asked}: {answer.status_code} {b'' if answer.streaming else answer.content[:300]!r}"
    if answer.status_code == 405:
        return
    assert not (300 <= answer.status_code < 400 and "login" in answer.get("Location", "")), told
    if not listed:
        assert answer.status_code == 403, told
    elif refused_by_role(answer):
        pytest.fail(told)
    elif method == "GET":
        # The start page sends people on to where they belong; where that is, is asked as a page of its own.
        assert answer.status_code in FINE or answer.status_code in (302, 303), told
    else:
        assert answer.status_code in CONSIDERED or answer.status_code == 403, told


def refused_by_role(answer) -> bool:
    """403 may also be an action's own refusal; the door's is the one that speaks of roles."""
    if answer.status_code != 403:
        return False
    if answer["Content-Type"].startswith("application/problem+json"):
        return json.loads(answer.content)["code"] == "forbidden"
    return b"Your role may not do this" in answer.content


@pytest.mark.parametrize("route", TENANTS, ids=named)
def test_another_tenants_address_answers_like_one_that_does_not_exist(town, route):
    world = town.world
    strangers = [world.person(roles.PLATFORM_ENGINEER, world.umi), world.people["stranger"]]
    if route.of_office:
        strangers = [world.person(role) for role in (roles.PLATFORM_ENGINEER, roles.SERVICE_ENGINEER)]
    for person in strangers:
        for method in ("GET", route.unsafe()):
            theirs = ask(town.client(person), method, route.address(home(town, route), town.hoshi))
            nobodys = ask(town.client(person), method, route.address(NOWHERE, town.hoshi))
            told = f"{method} {route.pattern} as {person}: {theirs.status_code}"
            assert theirs.status_code == nobodys.status_code and theirs.status_code in (404, 405), told
            assert (
                method != "GET" or theirs.status_code == 404 or route.view.roles["read"] == route.view.roles["write"]
            ), told
            assert without_its_address(theirs) == without_its_address(nobodys), told


OWN = [route for route in DETAILS if route.has_tenant and not route.of_office and not route.of_everybody]


@pytest.mark.parametrize("route", OWN, ids=named)
def test_another_tenants_id_answers_like_one_that_does_not_exist(town, route):
    for role, person in one_of_each(town, route.view.roles["read"] | route.view.roles["write"]):
        for method in ("GET", route.unsafe()):
            theirs = ask(town.client(person), method, route.address("hoshi", town.umi), body=body_for(route))
            nobodys = ask(town.client(person), method, route.address("hoshi", None), body=body_for(route))
            told = f"{method} {route.pattern} as {role}: {theirs.status_code} {theirs.content[:200]!r}"
            assert theirs.status_code == nobodys.status_code and theirs.status_code in (404, 403, 405, 422, 428), told
            assert without_its_address(theirs) == without_its_address(nobodys), told
            if method == "GET" and role in route.view.roles["read"] and theirs.status_code != 405:
                assert theirs.status_code == 404, told


def one_of_each(town: Town, listed: frozenset[str]) -> list[tuple[str, Any]]:
    """A customer, one who reads everybody, and a service engineer: what they cannot see does not depend on more."""
    found = [(role, person) for role, person in cells(town) if role in listed]
    customers = [cell for cell in found if cell[0] in roles.CUSTOMER_ROLES]
    service = [cell for cell in found if cell[0] == roles.SERVICE_ENGINEER]
    staff = [cell for cell in found if cell not in customers + service]
    return customers[:1] + staff[:1] + service


def body_for(route: Route) -> bytes | None:
    return b"{}" if route.is_api else None


@pytest.mark.parametrize("route", [route for route in DETAILS if not route.has_tenant], ids=named)
def test_without_a_tenant_a_customer_reads_the_own_and_staff_reads_all(town, route):
    for role, person in cells(town):
        if role not in route.view.roles["read"]:
            continue
        own = ask(town.client(person), "GET", route.address("", town.hoshi))
        assert own.status_code in FINE, f"{route.pattern} as {role}: {own.status_code} {own.content[:300]!r}"
        theirs = ask(town.client(person), "GET", route.address("", town.umi))
        wide = route.of_everybody or (role in roles.STAFF_ROLES and role != roles.SERVICE_ENGINEER)
        assert theirs.status_code == (200 if wide else 404), f"{route.pattern} as {role}: {theirs.status_code}"


def without_its_address(answer) -> bytes:
    """A page may repeat the address it was asked at; nothing else of it may differ."""
    request = answer.wsgi_request
    body = answer.content
    for shown in (request.get_full_path(), request.path):
        body = body.replace(shown.encode(), b"(address)")
    return TOKEN.sub(b"(token)", body.replace(answer.get("X-Request-Id", "-").encode(), b"(request)"))
