"""What people and programs send that they should not: a clear answer each, nothing written, never a server error."""

import base64
import json
import re
import uuid
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urlencode

import pytest
from django.db import OperationalError, connection
from django.test import Client

from program.api_docs import document
from tenants.wall.acting import reading_everyone
from tests.examples import BODY, Route, page_routes, routes
from tests.test_api_schema import in_schema, resolved
from tests.town import Town, ask, nothing_stays, town

__all__ = ["town"]

KEY = {"Idempotency-Key": "a-key-of-this-test"}
NOBODY = str(uuid.UUID(int=4))


@dataclass(frozen=True)
class Bad:
    """One thing that is sent, and how it has to be answered."""

    what: str
    method: str
    path: str
    status: int
    body: Any = None
    says: str = ""
    code: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    sender: str = "platform_engineer"

    def __str__(self) -> str:
        return self.what


def cursor(value: Any, pk: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps([value, pk]).encode()).decode()


def cluster(**other: Any) -> dict[str, Any]:
    return {"participation": "{participations}", "account": "{account}", "name": "next", "configuration": BODY, **other}


def with_count(count: Any) -> dict[str, Any]:
    head, gpu = BODY["instance_groups"]
    return cluster(configuration={**BODY, "instance_groups": [head, {**gpu, "count": count}]})


def with_type(kind: Any) -> dict[str, Any]:
    head, gpu = BODY["instance_groups"]
    return cluster(configuration={**BODY, "instance_groups": [head, {**gpu, "instance_type": kind}]})


def job(**other: Any) -> dict[str, Any]:
    return {"cluster": "{clusters}", "name": "next", "script": "#!/bin/sh\ntrue", "nodes": 1, **other}


def case(**other: Any) -> dict[str, Any]:
    return {"title": "It broke", "severity": "high", **other}


CLUSTERS, JOBS, CASES = "/api/v1/t/hoshi/clusters/", "/api/v1/t/hoshi/jobs/", "/api/v1/t/hoshi/cases/"
MODEL = "/api/v1/t/hoshi/records/{participations}/models/{models}/"

SENT = [
    # addresses
    Bad("an unknown tenant", "GET", "/api/v1/t/nowhere/clusters/", 404, code="not_found"),
    Bad("another tenant", "GET", "/api/v1/t/umi/clusters/", 404, code="not_found"),
    Bad("an unknown id", "GET", f"/api/v1/clusters/{NOBODY}/", 404, code="not_found"),
    Bad("another tenant's id in the address", "GET", "/api/v1/clusters/{their clusters}/", 404, code="not_found"),
    Bad("a malformed id", "GET", "/api/v1/clusters/not-a-uuid/", 404, code="not_found"),
    Bad("a number beyond the column", "GET", "/api/v1/entries/99999999999999999999/", 404, code="not_found"),
    Bad("an address that does not exist", "GET", "/api/v1/nothing/", 404, code="not_found"),
    Bad("dots in an address", "GET", "/api/v1/t/../../healthz", 404),
    Bad("a NUL in an address", "GET", "/api/v1/t/ho%00shi/clusters/", 404),
    Bad("a method that is not offered", "DELETE", "/api/v1/clusters/{clusters}/", 405, code="method_not_allowed"),
    Bad("a write without a tenant", "POST", "/api/v1/clusters/", 405, code="method_not_allowed", body={}),
    # who asks
    Bad("a token that never was", "GET", "/api/v1/me/", 401, headers={"Authorization": "Bearer nothing"}, code="not_signed_in"),
    Bad("half a header", "GET", "/api/v1/me/", 401, headers={"Authorization": "Bearer"}, code="not_signed_in"),
    Bad("a password instead of a token", "GET", "/api/v1/me/", 401, headers={"Authorization": "Basic YTpi"}, code="not_signed_in"),
    Bad("a NUL as token", "GET", "/api/v1/me/", 401, headers={"Authorization": "Bearer \x00"}, code="not_signed_in"),
    Bad("a role that may not", "POST", CLUSTERS, 403, body={}, headers=KEY, sender="viewer", code="forbidden"),
    # lists
    Bad("an unknown filter", "GET", "/api/v1/clusters/?stat=ready", 400, code="filter", says="'state'"),
    Bad("an unknown state", "GET", "/api/v1/clusters/?state=redy", 400, code="filter", says="ready"),
    Bad("a filter through a relation", "GET", "/api/v1/clusters/?account__external_id=x", 400, code="filter"),
    Bad("a filter with an operator of the ORM", "GET", "/api/v1/clusters/?_connector=OR", 400, code="filter"),
    Bad("an ordering", "GET", "/api/v1/clusters/?ordering=tenant__slug", 400, code="filter"),
    Bad("a malformed id as filter", "GET", "/api/v1/nodes/?cluster=abc", 400, code="filter"),
    Bad("a NUL as filter", "GET", "/api/v1/clusters/?name=a%00b", 400, code="filter"),
    Bad("half a surrogate as filter", "GET", "/api/v1/clusters/?name=%ED%A0%80", 400, code="filter"),
    Bad("a kind of entry that is not declared", "GET", "/api/v1/entries/?kind=cluster.redy", 400, code="filter", says="cluster.ready"),
    Bad("a prefix of no kind", "GET", "/api/v1/entries/?prefix=nothing.", 400, code="filter"),
    Bad("a date without a zone", "GET", "/api/v1/entries/?after=2026-01-01T00:00:00", 400, code="filter", says="zone"),
    Bad("a date that is none", "GET", "/api/v1/entries/?before=0000-00-00", 400, code="filter"),
    Bad("a page of -1", "GET", "/api/v1/clusters/?page_size=-1", 400, code="page_size", says="1"),
    Bad("a page of 0", "GET", "/api/v1/clusters/?page_size=0", 400, code="page_size"),
    Bad("a page of a million", "GET", "/api/v1/clusters/?page_size=1000000", 400, code="page_size", says="200"),
    Bad("a page in Arabic digits", "GET", "/api/v1/clusters/?page_size=٣", 400, code="page_size"),
    Bad("a cursor that is no base64", "GET", "/api/v1/clusters/?cursor=!!!", 400, code="cursor"),
    Bad("a cursor of nothing", "GET", f"/api/v1/clusters/?cursor={base64.urlsafe_b64encode(b'[]').decode()}", 400, code="cursor"),
    Bad("a number where the id is none", "GET", f"/api/v1/clusters/?cursor={cursor('a', '5')}", 400, code="cursor"),
    Bad("an id where it is a number", "GET", f"/api/v1/entries/?cursor={cursor('2026-01-01T00:00:00+00:00', NOBODY)}", 400, code="cursor"),
    Bad("a cursor without a zone", "GET", f"/api/v1/entries/?cursor={cursor('2026-01-01T00:00:00', '5')}", 400, code="cursor"),
    Bad("a NUL in a cursor", "GET", f"/api/v1/clusters/?cursor={cursor(chr(0), NOBODY)}", 400, code="cursor"),
    Bad("half a surrogate in a cursor", "GET", f"/api/v1/clusters/?cursor={cursor(chr(0xD800), NOBODY)}", 400, code="cursor"),
    Bad("a cursor of a megabyte", "GET", f"/api/v1/clusters/?cursor={'A' * 100_000}", 400, code="cursor"),
    # bodies
    Bad("no JSON", "POST", CASES, 400, body=b"{", code="malformed", says="line 1"),
    Bad("an array", "POST", CASES, 400, body=b"[]", code="malformed", says="object"),
    Bad("bytes that are no text", "POST", CASES, 400, body=b"\xff\xfe", code="malformed"),
    Bad("a key twice", "POST", CASES, 400, body=b'{"title": "a", "title": "b"}', code="malformed", says="title"),
    Bad("not a number", "POST", CASES, 400, body=b'{"title": NaN}', code="malformed"),
    Bad("a number of ten thousand digits", "POST", CASES, 400, body=b'{"title": ' + b"9" * 10_000 + b"}", code="malformed"),
    Bad("ten thousand levels", "POST", CASES, 400, body=b'{"a":' * 10_000 + b"1" + b"}" * 10_000, code="malformed"),
    Bad("forty levels", "POST", CASES, 422, body=b'{"a":' * 40 + b"1" + b"}" * 40, code="invalid", says="32"),
    Bad("a NUL in a text", "POST", CASES, 422, body=case(title="a\x00b"), code="invalid", says="NUL"),
    Bad("a NUL deep in a configuration", "POST", CLUSTERS, 422, body=cluster(configuration={"software": {"x": "\x00"}}), headers=KEY, says="NUL"),
    Bad("half a surrogate", "POST", CASES, 422, body=b'{"title": "\\ud800"}', code="invalid", says="surrogate"),
    Bad("another content type", "POST", CASES, 415, body=b"title=x", headers={"Content-Type": "application/x-www-form-urlencoded"}),
    Bad("an answer that we cannot give", "GET", "/api/v1/clusters/", 406, headers={"Accept": "text/xml"}),
    Bad("a misspelt field", "POST", CASES, 422, body=case(severty="low"), code="invalid", says="'severity'"),
    Bad("a field that is not for writing", "POST", CASES, 422, body=case(tenant="umi"), code="invalid", says="tenant"),
    Bad("an empty body", "POST", CASES, 422, body={}, code="invalid", says="title"),
    Bad("a blank title", "POST", CASES, 422, body=case(title="   "), code="invalid", says="title"),
    Bad("a title of ten megabytes", "POST", CASES, 413, body=case(title="x" * 10_000_000), code="too_large"),
    Bad("a long title", "POST", CASES, 422, body=case(title="x" * 201), code="invalid", says="200"),
    Bad("a title that is a list", "POST", CASES, 422, body=case(title=["x"]), code="invalid", says="title"),
    Bad("an unknown severity", "POST", CASES, 422, body=case(severity="worst"), code="invalid", says="severity"),
    Bad("another tenant's cluster in a case", "POST", CASES, 422, body=case(cluster="{their clusters}"), says="cluster"),
    Bad("another tenant's cluster in a job", "POST", JOBS, 422, body=job(cluster="{their clusters}"), headers=KEY, says="cluster"),
    Bad("another tenant's participation", "POST", CLUSTERS, 422, body=cluster(participation="{their participations}"), headers=KEY),
    Bad("another tenant's account", "POST", CLUSTERS, 422, body=cluster(account="{their account}"), headers=KEY, says="account"),
    Bad("an owner from elsewhere", "POST", "/api/v1/t/hoshi/cases/{cases}/plan/", 422, sender="lead_architect",
        body={"owner": "viewer.umi@example.org", "next_step": "x", "due": "2030-01-01"}, says="owner"),
    Bad("an owner who is nobody", "POST", "/api/v1/t/hoshi/cases/{cases}/plan/", 422, sender="lead_architect",
        body={"owner": "nobody@example.org", "next_step": "x", "due": "2030-01-01"}, says="owner"),
    Bad("a date that is none in a body", "POST", "/api/v1/t/hoshi/cases/{cases}/plan/", 422, sender="lead_architect",
        body={"owner": "lead_architect@example.org", "next_step": "x", "due": "2030-02-30"}, says="due"),
    # idempotency
    Bad("a launch without a key", "POST", CLUSTERS, 428, body=cluster(), code="idempotency_key_required"),
    Bad("a job without a key", "POST", JOBS, 428, body=job(), code="idempotency_key_required"),
    Bad("an empty key", "POST", CLUSTERS, 400, body=cluster(), headers={"Idempotency-Key": ""}, code="idempotency_key_malformed"),
    Bad("a key of 256 characters", "POST", JOBS, 400, body=job(), headers={"Idempotency-Key": "x" * 256}, code="idempotency_key_malformed"),
    Bad("a key with a blank", "POST", JOBS, 400, body=job(), headers={"Idempotency-Key": "a b"}, code="idempotency_key_malformed"),
    # clusters
    Bad("no nodes", "POST", CLUSTERS, 422, body=with_count(0), headers=KEY, says="count"),
    Bad("minus one node", "POST", CLUSTERS, 422, body=with_count(-1), headers=KEY, says="count"),
    Bad("a thousand million nodes", "POST", CLUSTERS, 422, body=with_count(10**9), headers=KEY, says="1000000000"),
    Bad("half a node", "POST", CLUSTERS, 422, body=with_count(1.5), headers=KEY, says="count"),
    Bad("a word as number of nodes", "POST", CLUSTERS, 422, body=with_count("many"), headers=KEY, says="count"),
    Bad("more than the quota", "POST", CLUSTERS, 422, body=with_count(17), headers=KEY, code="preflight", says="20"),
    Bad("a misspelt type", "POST", CLUSTERS, 422, body=with_type("p5.48xlage"), headers=KEY, code="preflight", says="p5.48xlarge"),
    Bad("a name with an underscore", "POST", CLUSTERS, 422, body=cluster(name="my_cluster"), headers=KEY, code="preflight"),
    Bad("a name that begins with a hyphen", "POST", CLUSTERS, 422, body=cluster(name="-x"), headers=KEY, code="preflight"),
    Bad("a name of 64 letters", "POST", CLUSTERS, 422, body=cluster(name="x" * 64), headers=KEY, says="63"),
    Bad("an empty name", "POST", CLUSTERS, 422, body=cluster(name=""), headers=KEY, says="name"),
    Bad("a name that is taken", "POST", CLUSTERS, 409, body=cluster(name="lab-hoshi"), headers=KEY, code="name_taken"),
    Bad("no configuration", "POST", CLUSTERS, 422, body=cluster(configuration={}), headers=KEY),
    Bad("a configuration that is a text", "POST", CLUSTERS, 422, body=cluster(configuration="x"), headers=KEY, says="configuration"),
    Bad("an unknown architecture", "POST", CLUSTERS, 422, body=cluster(configuration={**BODY, "architecture": "x"}), headers=KEY),
    Bad("groups that are no list", "POST", CLUSTERS, 422, body=cluster(configuration={**BODY, "instance_groups": {"a": 1}}), headers=KEY),
    Bad("storage that is a list", "POST", CLUSTERS, 422, body=cluster(configuration={**BODY, "storage": [1]}), headers=KEY),
    Bad("an account id of letters", "POST", "/api/v1/t/hoshi/accounts/", 422, body={"account_id": "12345678901x", "regions": []}, says="account_id"),
    Bad("an account that is there", "POST", "/api/v1/t/hoshi/accounts/", 409, body={"account_id": "{account}", "regions": ["ap-northeast-1"]}, code="account_exists"),
    Bad("an approval by who may not", "POST", "/api/v1/t/hoshi/clusters/{clusters}/approve/", 403, body={}, code="forbidden"),
    Bad("an approval of what is ready", "POST", "/api/v1/t/hoshi/clusters/{clusters}/approve/", 409, body={}, sender="lead_architect"),
    Bad("a deletion under running jobs", "POST", "/api/v1/t/hoshi/clusters/{clusters}/retire/", 409, body={}, code="jobs_running"),
    Bad("a fleet of what has none", "POST", "/api/v1/t/hoshi/clusters/{clusters}/fleet/", 409, body={"status": "stopped"}, code="no_fleet", says="hyperpod"),
    Bad("a fleet that is to be lost", "POST", "/api/v1/t/hoshi/clusters/{clusters}/fleet/", 422, body={"status": "lost"}, says="status"),
    # jobs
    Bad("a job on no nodes", "POST", JOBS, 422, body=job(nodes=0), headers=KEY, says="nodes"),
    Bad("a job on minus one node", "POST", JOBS, 422, body=job(nodes=-1), headers=KEY, says="nodes"),
    Bad("a job on a thousand million nodes", "POST", JOBS, 422, body=job(nodes=10**9), headers=KEY, says="nodes"),
    Bad("a job on more nodes than there are", "POST", JOBS, 422, body=job(nodes=2), headers=KEY, code="job_nodes", says="1"),
    Bad("a script without its first line", "POST", JOBS, 422, body=job(script="echo"), headers=KEY, says="#!"),
    Bad("an unknown partition", "POST", JOBS, 422, body=job(partition="cpu"), headers=KEY, says="gpu"),
    Bad("a time limit of 0", "POST", JOBS, 422, body=job(time_limit_minutes=0), headers=KEY, says="time_limit_minutes"),
    Bad("an environment with a broken name", "POST", JOBS, 422, body=job(environment={"A B": "x"}), headers=KEY, says="environment"),
    Bad("an environment of two lines", "POST", JOBS, 422, body=job(environment={"A": "x\ny"}), headers=KEY, says="environment"),
    # records
    Bad("a change of no version", "PATCH", MODEL, 428, body={"phase": "x"}, code="version_required"),
    Bad("a change of an old version, by header", "PATCH", MODEL, 412, body={"phase": "x"}, headers={"If-Match": '"7"'}, code="stale"),
    Bad("a change of an old version, in the body", "PATCH", MODEL, 409, body={"phase": "x", "version": 7}, code="stale", says="phase"),
    Bad("an If-Match that is none of ours", "PATCH", MODEL, 400, body={"phase": "x"}, headers={"If-Match": "*"}, code="if_match"),
    Bad("negative parameters", "PATCH", MODEL, 422, body={"total_params_b": "-1", "version": 1}, says="total_params_b"),
    Bad("parameters without end", "PATCH", MODEL, 422, body={"total_params_b": "Infinity", "version": 1}, says="total_params_b"),
    Bad("parameters beyond the column", "PATCH", MODEL, 422, body={"total_params_b": "12345678", "version": 1}, says="total_params_b"),
    Bad("more active than total", "PATCH", MODEL, 422, body={"active_params_b": "71", "version": 1}, says="70"),
    Bad("a context as long as the world", "PATCH", MODEL, 422, body={"context_length": 10**12, "version": 1}, says="context_length"),
    Bad("a code that is taken", "POST", "/api/v1/t/hoshi/records/{participations}/models/", 422, code="invalid",
        body={"code": "M1", "name": "x", "family": "dense", "total_params_b": "1", "active_params_b": "1"}),
    Bad("a quota changed by its participant", "PATCH", "/api/v1/t/hoshi/records/{participations}/quotas/{quotas}/", 403,
        body={"approved_instances": 100, "version": 1}, code="forbidden"),
    # reviews
    Bad("a cut-off that lies ahead", "POST", "/api/v1/t/programme/reviews/", 409, sender="programme_manager",
        body={"cycle": "C2", "cutoff": "2099-01-01T00:00:00+09:00"}),
    Bad("an unknown cycle", "POST", "/api/v1/t/programme/reviews/", 422, sender="programme_manager",
        body={"cycle": "C9", "cutoff": "2026-01-01T00:00:00+09:00"}, says="C2"),
    # pages
    Bad("a page of an unknown tenant", "GET", "/t/nowhere/", 404),
    Bad("a page of another tenant", "GET", "/t/umi/", 404),
    Bad("a page of another tenant's cluster", "GET", "/t/hoshi/clusters/{their clusters}/", 404),
    Bad("a page that does not exist", "GET", "/nothing/", 404),
    Bad("a list of pages with a broken cursor", "GET", "/t/hoshi/history/?cursor=!!!", 400),
    Bad("a form for another tenant's case", "POST", "/t/hoshi/cases/{their cases}/note/", 404, body=b"text=x"),
    Bad("an empty form", "POST", "/t/hoshi/cases/new/", 422, body=b""),
    Bad("a form that a role may not send", "POST", "/t/hoshi/cases/new/", 403, body=b"", sender="viewer"),
]  # fmt: skip


def filled(value: Any, town: Town) -> Any:
    """The ids of this run in place of {noun} and {their noun}."""
    if isinstance(value, dict):
        return {key: filled(inner, town) for key, inner in value.items()}
    if isinstance(value, list):
        return [filled(inner, town) for inner in value]
    if not isinstance(value, str) or "{" not in value:
        return value
    for prefix, made in (("their ", town.umi), ("", town.hoshi)):
        value = value.replace(f"{{{prefix}account}}", made.account_id)
        for noun, found in made.by_noun.items():
            value = value.replace(f"{{{prefix}{noun}}}", str(getattr(found, "pk", found)))
    return value


def send(town: Town, bad: Bad, client: Client) -> Any:
    address, body = filled(bad.path, town), filled(bad.body, town)
    headers = dict(bad.headers)
    if isinstance(body, dict):
        body = json.dumps(body).encode()
    kind = headers.pop(
        "Content-Type", "application/json" if address.startswith("/api/") else "application/x-www-form-urlencoded"
    )
    return client.generic(bad.method, address, body or b"", content_type=kind, headers=headers)


def written() -> tuple[int, ...]:
    """How much of everything there is."""
    with reading_everyone(), connection.cursor() as cursor:
        cursor.execute(
            "select (select count(*) from tenants_entry where kind <> 'audit.opened'), (select count(*) from clusters_cluster),"
            " (select count(*) from clusters_job), (select count(*) from support_case), (select sum(version) from tenants_trainingmodel),"
            " (select count(*) from tenants_idempotencykey), (select count(*) from tenants_due)"
        )
        return tuple(cursor.fetchone())


@pytest.mark.parametrize("bad", SENT, ids=str)
def test_what_cannot_be_done_is_answered_clearly_and_changes_nothing(town, bad):
    client = town.client(town.world.person(bad.sender))
    with nothing_stays():
        before = written()
        answer = send(town, bad, client)
        told = f"{answer.status_code} {answer.content[:600]!r}"
        assert answer.status_code == bad.status, told
        assert written() == before, "something was written"
        if bad.path.startswith("/api/"):
            problem = json.loads(answer.content)
            assert answer["Content-Type"] == "application/problem+json", told
            assert problem["status"] == bad.status and problem["code"] and problem["detail"], told
            assert problem["code"] == bad.code or not bad.code, told
        assert bad.says in answer.content.decode().replace("\\u2018", "'"), told
        assert len(answer.content) < 40_000, "an error that repeats what was sent"


def test_a_case_is_opened_when_nothing_is_wrong(town):
    """The control: the same sender, address and body without the mistake."""
    client = town.client(town.world.person("platform_engineer"))
    for path, body, headers, status in (
        (CASES, case(), {}, 201),
        (CLUSTERS, cluster(), KEY, 202),
        (JOBS, job(), KEY, 202),
    ):
        answer = ask(client, "POST", path, json.dumps(filled(body, town)).encode(), **headers)
        assert answer.status_code == status, answer.content[:500]


def test_a_key_used_for_another_request_is_refused_and_for_the_same_gives_the_same_answer(town):
    client = town.client(town.world.person("platform_engineer"))
    with nothing_stays():
        good = Bad("", "POST", JOBS, 202, body=job(), headers=KEY)
        first, again = send(town, good, client), send(town, good, client)
        assert (first.status_code, again.status_code) == (202, 202)
        assert json.loads(first.content) == json.loads(again.content)
        assert again["Idempotency-Replayed"] == "true"
        other = send(town, Bad("", "POST", JOBS, 422, body=job(name="other"), headers=KEY), client)
        assert (other.status_code, json.loads(other.content)["code"]) == (422, "idempotency_key_reused")


@pytest.mark.parametrize("path", [CASES, CLUSTERS, JOBS, "/t/hoshi/cases/new/", "/api/v1/t/hoshi/cases/{cases}/notes/"])
def test_a_session_must_prove_that_its_own_page_sent_the_write(town, path):
    strict = Client(enforce_csrf_checks=True, raise_request_exception=False)
    strict.force_login(town.world.person("platform_engineer"), "allauth.account.auth_backends.AuthenticationBackend")
    before = written()
    answer = send(town, Bad("", "POST", path, 403, body=case() if "/api/" in path else b"title=x", headers=KEY), strict)
    assert answer.status_code == 403
    assert "CSRF" in answer.content.decode() or "page" in answer.content.decode()
    assert written() == before


def test_a_token_needs_no_such_proof(town):
    strict = Client(enforce_csrf_checks=True, raise_request_exception=False)
    token = town.token(town.world.person("platform_engineer"))
    strict.defaults.update(token.defaults)
    with nothing_stays():
        assert send(town, Bad("", "POST", CASES, 201, body=case()), strict).status_code == 201


@pytest.mark.parametrize("path", ["/api/v1/clusters/", "/"])
def test_a_database_that_does_not_answer_is_said_and_asks_to_come_back(town, path, monkeypatch):
    def broken(*args: Any, **kwargs: Any) -> None:
        raise OperationalError("canceling statement due to statement timeout")

    monkeypatch.setattr("clusters.queries.clusters", broken)
    monkeypatch.setattr("program.queries.portfolio", broken)
    client = town.client(town.world.person("programme_manager"))
    answer = ask(client, "GET", path)
    assert (answer.status_code, answer["Retry-After"]) == (503, "2")


@pytest.mark.parametrize(("path", "body"), [(CLUSTERS, cluster()), (JOBS, job())])
def test_a_dead_broker_and_a_dead_cloud_are_no_business_of_a_request(town, path, body, monkeypatch):
    def dead(*args: Any, **kwargs: Any) -> None:
        raise ConnectionError("nobody is there")

    monkeypatch.setattr("kombu.connection.Connection._ensure_connection", dead)
    monkeypatch.setattr("redis.connection.AbstractConnection.connect", dead)
    monkeypatch.setattr("botocore.client.BaseClient._make_api_call", dead)
    monkeypatch.setattr("requests.sessions.Session.request", dead)
    client = town.client(town.world.person("platform_engineer"))
    with nothing_stays():
        answer = send(town, Bad("", "POST", path, 202, body=body, headers=KEY), client)
        assert answer.status_code == 202, answer.content[:500]


HOSTILE = ["", "\x00", "x" * 50_000, -1, 10**30, True, [["x"]], {"a": {"b": 1}}, None, "2030-02-30", NOBODY]
WRITES = [
    route
    for route in routes()
    if route.is_api and getattr(route.view, "cls", None) and {"post", "patch"} & set(route.view.cls.http_method_names)
]
GOOD: dict[str, dict[str, Any]] = {
    "api-tenant-clusters": cluster(),
    "api-tenant-cluster-check": {"account": "{account}", "configuration": BODY},
    "api-tenant-jobs": job(),
    "api-tenant-cases": case(
        text="x", category="x", participation="{participations}", cluster="{clusters}", job="{jobs}"
    ),
    "api-tenant-case-notes": {"text": "x", "audience": "internal"},
    "api-tenant-case-plan": {"owner": "lead_architect@example.org", "next_step": "x", "due": "2030-01-01"},
    "api-tenant-case-severity": {"severity": "low", "why": "x"},
    "api-tenant-case-escalate": {"component": "hyperpod", "why": "x"},
    "api-tenant-case-wait": {"whom": "provider", "why": "x"},
    "api-tenant-case-resolve": {"cause": "hardware", "cause_text": "x", "lost_hours": "1.5"},
    "api-tenant-accounts": {"account_id": "500000000000", "name": "x", "regions": ["ap-northeast-1"]},
    "api-tenant-reviews": {"cycle": "C2", "cutoff": "2026-01-01T00:00:00+09:00", "regular": False},
}


@pytest.mark.parametrize("route", WRITES, ids=lambda route: route.name)
def test_no_value_in_any_field_breaks_a_write(town, route: Route):
    client = town.client(town.world.person("lead_architect"))
    method = route.unsafe()
    found = json.loads(json.dumps(document(), default=str))
    content = found["paths"][in_schema(route)][method.lower()]["requestBody"]["content"]
    [(kind, taken)] = content.items()
    asked = taken["schema"]
    if kind == "multipart/form-data":
        pytest.skip("a form with a file: tests/tenants/test_files.py")
    address = route.address("programme" if route.of_office else "hoshi", town.hoshi)
    good = filled(GOOD.get(route.name, {}), town)
    names = list(resolved(found, asked["$ref"])["properties"])
    headers = {**KEY, **({"If-Match": '"1"'} if method == "PATCH" else {})}

    def refused(body: dict[str, Any]) -> set[str]:
        """The fields that the answer calls wrong."""
        answer = ask(client, method, address, json.dumps({**good, **body}).encode(), **headers)
        assert answer.status_code < 500, f"{str(body)[:200]}: {answer.status_code} {answer.content[:500]!r}"
        told = json.loads(answer.content or "{}")
        errors = told.get("errors", ()) if isinstance(told, dict) else ()
        return {re.split(r"[.\[]", error["field"])[0] for error in errors}

    for value in HOSTILE:
        # What its field refuses goes no further, in whatever company; what its field takes goes on alone.
        wrong = refused(dict.fromkeys(names, value))
        for name in names:
            if name not in wrong:
                refused({name: value})


IN_EVERY_FIELD = ("\x00", "x" * 50_000)
IN_TURN = ("", "-1", "1" * 30, "2030-02-30", NOBODY, "٣")
ANY_ID, ANY_NUMBER = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), re.compile(r"\d+")


class Forms(HTMLParser):
    """The forms of a page: where they go, and the names and values of their fields."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = dict(attrs)
        if tag == "form":
            post = (told.get("method") or "").lower() == "post" or "hx-post" in told
            self.found.append(((told.get("action") or told.get("hx-post") or "") if post else "GET", {}))
        elif tag in ("input", "textarea", "select", "button") and told.get("name") and self.found:
            self.found[-1][1][str(told["name"])] = told.get("value") or ""


def test_no_value_in_any_field_breaks_a_form(town):
    asked: set[tuple[str, str]] = set()
    for role in ("lead_architect", "platform_engineer"):
        client = town.client(town.world.person(role))
        for route in page_routes():
            page = "/" + route.address("programme" if route.of_office else "hoshi", town.hoshi).lstrip("/")
            answer = ask(client, "GET", page)
            if answer.status_code != 200 or "html" not in answer["Content-Type"]:
                continue
            parser = Forms()
            parser.feed(answer.content.decode())
            for action, fields in parser.found:
                if action == "GET" or "/accounts/" in action or "personas" in action:
                    continue
                # The same form stands on many pages, and the same field in many lines of a form.
                key = {name: (ANY_ID.sub("*", action or page), ANY_NUMBER.sub("*", name)) for name in fields}
                new = list({key[name]: name for name in reversed(fields) if key[name] not in asked}.values())
                asked.update(key[name] for name in new)
                for at, name in enumerate(new):
                    for value in (*IN_EVERY_FIELD, IN_TURN[at % len(IN_TURN)]):
                        sent = urlencode({**fields, name: value}).encode()
                        done = ask(client, "POST", action or page, sent)
                        assert done.status_code < 500, (
                            f"{role} {action or page} {name} = {value[:40]!r}: {done.status_code} {done.content[:200]!r}"
                        )
    assert len(asked) > 50, "there are forms, and none was found"
