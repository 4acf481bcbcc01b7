"""Words planted in every text column of one tenant are seen by nobody of another, on no page, in no answer, in no error."""

import html
import json
import re
from collections import deque
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

import pytest
from django.db.models import Model

from program.models import Call, ChecklistStep, Session
from support.models import Article
from tenants.wall import roles
from tenants.wall.acting import acting_for
from tests import canaries
from tests.examples import Examples, routes
from tests.town import Town, ask, town

__all__ = ["town"]

GUARDED = [route for route in routes() if hasattr(route.view, "roles")]
OF_EVERYBODY = (
    "reviews",
    "sessions",
    "enrolments",
    "articles",
    "versions",
    "calls",
    "apply",
    "apply-to",
    "cycles",
    "checklist",
)
LINKS = re.compile(r'(?:href|hx-get|action|src)="([^"]+)"')
MOST_ADDRESSES = 200
# One role of a customer asks everything; the others differ from it only in what they are shown at all.
WIDEST = roles.PLATFORM_ENGINEER
FEW_ADDRESSES = 40


@pytest.fixture(scope="module")
def foreign(town: Town) -> canaries.Planted:
    """Everything of umi's, its people's names included."""
    planted = canaries.plant(town.umi.tenant)
    people = [person for key, person in town.world.people.items() if key.endswith("@umi")]
    planted.words |= canaries.plant_in_the_directory(town.umi.tenant, people).words
    planted.words |= {
        str(found.pk): f"id of {noun}"
        for noun, found in town.umi.by_noun.items()
        if noun not in OF_EVERYBODY and isinstance(found, Model) and isinstance(found.pk, UUID)
    }
    return planted


@pytest.fixture(scope="module")
def internal(town: Town) -> canaries.Planted:
    """Hoshi's own internal text, and all that the office keeps."""
    planted = canaries.plant(town.hoshi.tenant, only_internal=True)
    # Which component an engineer answers for stands in the directory; forms offer it to whoever may escalate.
    office = canaries.plant(town.world.office, but=frozenset({"membership"})).words
    planted.words |= {word: place for word, place in office.items() if word not in shown_to_all(town)}
    # What everybody may read is planted too, and said to be so.
    planted.skipped |= set(office.values())
    return planted


def shown_to_all(town: Town) -> set[str]:
    """The words of the session that is announced, the article that is published, the call that is open and the onboarding
    list, whose steps each participant reads."""
    with acting_for(town.world.office, staff=True):
        rows = [
            Session.objects.filter(announced_at__isnull=False),
            Article.objects.filter(state="published"),
            Call.objects.exclude(state="draft"),
            ChecklistStep.objects.all(),
        ]
        return {word for each in rows for row in each.values() for word in canaries.PATTERN.findall(str(row))}


def test_every_column_that_can_hold_text_holds_a_word(foreign, internal):
    words = [*foreign.words.values(), *internal.words.values(), *internal.skipped]
    planted = {place for place in words if "." in place}
    columns = {
        f"{model._meta.db_table}.{column.column}"
        for model in canaries.tenant_models()
        for column in canaries._columns(model, canaries.Planted())
    }
    # These hold ids and names of handlers, and no row of them speaks of a tenant in words.
    bare = {
        name
        for name in columns
        if name.startswith(("tenants_due.", "tenants_apitoken.", "tenants_membership.", "tenants_assignment."))
    }
    assert columns - planted - bare == set(), "tests/examples.py makes no row of it"


def test_what_is_planted_can_be_found_by_those_who_may_see_it(town, foreign, internal):
    """Without this, a crawl that looks in the wrong places would prove nothing."""
    staff = seen(town, town.token(town.world.person("lead_architect"), internal=True), town.umi, foreign)
    assert {
        "clusters_cluster.name",
        "tenants_trainingmodel.name",
        "support_casenote.text",
        "program_minutes.body",
    } <= staff
    mine = seen(town, town.token(town.world.person("lead_architect"), internal=True), town.hoshi, internal)
    assert {"support_casenote.text", "tenants_note.text", "program_review.sha256"} <= mine


def seen(town: Town, client: Any, of: Examples, planted: canaries.Planted) -> set[str]:
    found: set[str] = set()
    for address in api_addresses(of):
        found.update(planted.seen_in(told(ask(client, "GET", address))))
    return found


def api_addresses(of: Examples) -> Iterator[str]:
    for route in GUARDED:
        if route.is_api:
            yield route.address("programme" if route.of_office else of.tenant.slug, of)


@pytest.mark.parametrize("role", roles.CUSTOMER_ROLES)
def test_a_customer_sees_nothing_of_another_tenant_and_nothing_internal(town, foreign, internal, role):
    crawl(town, town.client(town.world.person(role, town.world.hoshi)), [foreign, internal], widely=role == WIDEST)


def test_a_token_of_automation_sees_its_one_tenant(town, foreign, internal):
    crawl(town, town.token(town.world.person("automation"), town.world.hoshi), [foreign, internal])


def test_a_token_of_staff_narrowed_to_one_tenant_sees_that_one(town, foreign):
    crawl(town, town.token(town.world.person("programme_manager"), town.world.hoshi, internal=True), [foreign])


def test_a_service_engineer_sees_the_tenants_of_escalated_cases_only(town, foreign):
    crawl(town, town.client(town.world.person("service_engineer")), [foreign])


def test_who_may_read_no_internal_text_finds_none_anywhere(town, internal):
    crawl(town, town.token(town.world.person("automation")), [internal])
    crawl(town, town.token(town.world.person("auditor")), [hoshis(internal)])


def hoshis(internal: canaries.Planted) -> canaries.Planted:
    """Without the office's own rows: staff counts there, whatever its token shows of participants."""
    rows = ("program_review.", "tenants_entry.")
    return canaries.Planted({word: place for word, place in internal.words.items() if not place.startswith(rows)})


def crawl(town: Town, client: Any, planted: list[canaries.Planted], *, widely: bool = True) -> None:
    """Ask every address with own ids, foreign ids and no ids, follow what the answers point to, and send foreign ids in bodies."""
    waiting: deque[str] = deque()
    for route in GUARDED:
        home = town.world.office.slug if route.of_office else "hoshi"
        waiting.extend([route.address(home, town.hoshi), route.address(home, town.umi)])
        if widely:
            waiting.extend([route.address("umi", town.umi), route.address(home, None)])
    waiting.extend(["/api/v1/nothing/", "/nothing/", "/api/v1/clusters/?state=nothing", "/api/v1/entries/?page_size=1"])
    waiting.extend(f"/api/v1/{noun}/?page_size=1" for noun in ("clusters", "jobs", "cases", "nodes", "records"))
    asked: set[str] = set()
    followed, most = 0, MOST_ADDRESSES if widely else FEW_ADDRESSES
    while waiting:
        address = waiting.popleft()
        if address in asked or "sign-out" in address or "logout" in address:
            continue
        asked.add(address)
        answer = ask(client, "GET", address)
        look(f"GET {address}", answer, planted)
        for link in links(answer):
            if link not in asked and followed < most:
                followed += 1
                waiting.append(link)
    for method, address, body in foreign_bodies(town):
        look(
            f"{method} {address} {body}",
            ask(client, method, address, json.dumps(body).encode(), **{"Idempotency-Key": "k"}),
            planted,
        )


def foreign_bodies(town: Town) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Writes at one's own address that name things of somebody else's."""
    theirs, mine = town.umi, town.hoshi
    cluster = {
        "account": theirs.account_id,
        "configuration": {},
        "name": "x",
        "participation": str(theirs["participations"].pk),
    }
    yield "POST", "/api/v1/t/hoshi/clusters/", cluster
    yield "POST", "/api/v1/t/hoshi/clusters/", {**cluster, "participation": str(mine["participations"].pk)}
    yield "POST", "/api/v1/t/hoshi/clusters/check/", {"account": theirs.account_id, "configuration": {}}
    yield (
        "POST",
        "/api/v1/t/hoshi/jobs/",
        {"cluster": str(theirs["clusters"].pk), "name": "x", "script": "#!/bin/sh", "nodes": 1},
    )
    for noun in ("participation", "cluster", "job"):
        yield "POST", "/api/v1/t/hoshi/cases/", {"title": "x", "severity": "low", noun: str(theirs[f"{noun}s"].pk)}
    note = f"/api/v1/t/hoshi/cases/{theirs['cases'].pk}/notes/"
    yield "POST", note, {"text": "x"}
    for path in (f"clusters/{theirs['clusters'].pk}/retire/", f"jobs/{theirs['jobs'].pk}/cancel/"):
        yield "POST", f"/api/v1/t/hoshi/{path}", {}


def look(asked: str, answer: Any, planted: list[canaries.Planted]) -> None:
    assert answer.status_code < 500, f"{asked}: {answer.status_code} {answer.content[:500]!r}"
    text = told(answer)
    for sent in (asked, html.unescape(asked)):
        text = text.replace(sent.partition(" ")[2], "")
    for words in planted:
        leaked = words.seen_in(text)
        assert not leaked, f"{asked} shows {leaked}"
        ids = [
            place
            for word, place in words.words.items()
            if place.startswith("id of") and word in text and word not in asked
        ]
        assert not ids, f"{asked} shows {ids}"


def told(answer: Any) -> str:
    body = b"".join(answer.streaming_content) if answer.streaming else answer.content
    return body.decode("utf-8", "replace") + "\n" + "\n".join(f"{name}: {value}" for name, value in answer.items())


def links(answer: Any) -> list[str]:
    """Addresses of ours that an answer points to."""
    if answer.streaming or answer.status_code != 200:
        return []
    text = answer.content.decode("utf-8", "replace")
    if answer["Content-Type"].startswith("application/json"):
        found = [json.loads(text).get("next")]
    else:
        found = [html.unescape(link) for link in LINKS.findall(text)]
    parts = [urlsplit(link) for link in found if link]
    here = [
        part
        for part in parts
        if part.netloc in ("", "testserver") and part.path.startswith("/") and "/static/" not in part.path
    ]
    return [part._replace(scheme="", netloc="", fragment="").geturl() for part in here]
