"""The menu: few groups, one icon each, nothing that a role may not open, and every page lies under one entry of it."""

import re

import pytest
from django.urls import resolve

from tenants.wall import roles
from tenants.web.navigation import Destination, menu
from tests.examples import page_routes

ALL = (*roles.ROLES, roles.ACCOUNT_TEAM_ELSEWHERE)
# Of one's own, for whoever builds pages, and what is given as a file: they lie under nothing.
NOWHERE = re.compile(r"preferences|styleguide|api-docs|file|export_.*|.*_calendar|cycle_demand")


def entries(role: str, here: str = "", *, tenant: str = "hoshi", of_tenant: bool = False) -> list[Destination]:
    groups = menu(role=role, tenant=tenant, here=here, of_tenant=of_tenant)
    return [entry for group in groups for entry in group.entries]


@pytest.mark.parametrize("role", ALL)
def test_a_menu_holds_what_its_reader_may_open_and_nothing_twice(role: str) -> None:
    groups, found = menu(role=role, tenant="hoshi", here="", of_tenant=True), entries(role)
    assert len(groups) <= 6 and len(found) <= 22
    assert len({entry.icon for entry in found}) == len({entry.url for entry in found}) == len(found)
    for entry in found:
        assert role in resolve(entry.url).func.roles["read"], entry.url  # type: ignore[attr-defined]


@pytest.mark.parametrize("role", roles.CUSTOMER_ROLES)
def test_a_customer_s_menu_is_short_and_without_what_is_the_office_s(role: str) -> None:
    shown = {entry.url for entry in entries(role)}
    assert len(shown) <= 17
    assert not shown & {"/engagement/", "/cycles/", "/duty/", "/status/", "/reviews/", "/budgets/"}
    assert {"/", "/clusters/", "/cases/", "/t/hoshi/", "/t/hoshi/people/", "/t/hoshi/budget/"} <= shown
    assert not [entry for entry in entries(role, tenant="") if "/t/" in entry.url]


def test_every_page_lies_under_one_entry() -> None:
    missed = []
    for route in page_routes():
        for role in sorted(route.view.roles["read"]):
            marked = [one for one in entries(role, route.name, of_tenant=route.has_tenant) if one.current]
            led_on = (route.name, role) == ("portfolio", roles.SERVICE_ENGINEER)
            if len(marked) > 1 or not (marked or led_on or NOWHERE.fullmatch(route.name)):
                missed.append((route.name, role, [one.url for one in marked]))
    assert not {(name, *urls) for name, _role, urls in missed}


@pytest.mark.parametrize(
    ("role", "here", "of_tenant", "url", "current"),
    [
        ("lead_architect", "clusters", False, "/clusters/", "page"),
        ("lead_architect", "cluster", True, "/clusters/", "true"),
        ("lead_architect", "budget", True, "/budgets/", "true"),
        ("lead_architect", "participant", True, "/", "true"),
        ("lead_architect", "edit_model", True, "/", "true"),
        ("business_lead", "budget", True, "/t/hoshi/budget/", "page"),
        ("business_lead", "participant", True, "/t/hoshi/", "page"),
        ("business_lead", "edit_model", True, "/t/hoshi/", "true"),
        ("viewer", "architecture", False, "/clusters/", "true"),
        ("platform_engineer", "architecture", False, "/catalogue/", "true"),
    ],
)
def test_where_one_is_is_marked(role: str, here: str, of_tenant: bool, url: str, current: str) -> None:
    assert [(one.url, one.current) for one in entries(role, here, of_tenant=of_tenant) if one.current] == [
        (url, current)
    ]


def test_who_has_one_participant_is_led_to_its_own_capacity() -> None:
    for role in roles.CUSTOMER_ROLES:
        own = [one.url for one in entries(role) if "capacity" in one.url]
        assert own == ["/t/hoshi/capacity/"]
        assert [one.url for one in entries(role, tenant="") if "capacity" in one.url] == ["/capacity/"]
