"""The API's promise: every route with its types, and a change of the promise shows up in review.

`SCHEMA=write pytest tests/test_api_schema.py` writes the snapshot anew.
"""

import json
import os
import re
import warnings
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from openapi_spec_validator import validate

from program.api_docs import document
from tests.examples import Route, routes
from tests.town import ask, town

__all__ = ["town"]

SNAPSHOT = Path(__file__).with_name("api_schema.json")
SHOWS_THE_SCHEMA = {"api-schema", "api-docs"}
# A head node's agent is our own program: what it and the portal say to each other is no promise to anybody.
MACHINES = "machine-"
API = [
    route
    for route in routes()
    if route.is_api and route.name not in SHOWS_THE_SCHEMA and not route.name.startswith(MACHINES)
]
# Lists of what people wrote, and of what has a name elsewhere.
WRITTEN = ("notes", "entries", "jobs", "parts", "leftovers", "decisions", "action-items", "addenda")
# Figures are counted from many rows and are nobody's row themselves.
FIGURES = {
    "cluster-agent",
    "job-progress",
    "usage",
    "cluster-plan",
    "cluster-deeds",
    "cluster-spending",
    "configuration-compare",
    "launch",
    "review-trend",
    "assignments",
    "cycles",
    "cycle",
    "cycle-demand",
    "cycle-checklist",
    "participation-steps",
    "review-changes",
    "exchange-rates",
}
# The catalogue is the same for everybody, and can be taken away as a file.
EVERYBODYS = {"tables", "table", "architectures", "architecture", "job-templates", "job-template"}
ARCHIVES = {
    "api-architectures-export",
    "api-architecture-export",
    "api-tenant-programme-file",
}  # and the programme as a file
NOT_IN_LISTS = {
    "script",
    "environment",
    "environment_names",
    "log_tail",
    "text",
    "external_id",
    "jwt_key",
    "snapshot",
    "outputs",
}


def schema() -> dict[str, Any]:
    return json.loads(json.dumps(document(), default=str))


def named(route: Route) -> str:
    return route.name


def in_schema(route: Route) -> str:
    return "/" + re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", route.pattern).replace("{pk}", "{id}")


def test_the_document_is_valid_and_made_without_a_warning(capsys):
    document.cache_clear()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        validate(schema())
    assert "Warning" not in capsys.readouterr().err


@pytest.mark.parametrize("route", API, ids=named)
def test_every_route_is_in_the_schema_with_what_it_takes_and_gives(route):
    operations = schema()["paths"][in_schema(route)]
    offered = {name for name in route.view.cls.http_method_names if name not in ("options", "head")}
    assert set(operations) == offered
    for method, operation in operations.items():
        good = [answer for status, answer in operation["responses"].items() if status.startswith("2")]
        assert good and all(kind["schema"] for answer in good for kind in answer["content"].values()), (
            f"{method} gives nothing"
        )
        assert "application/problem+json" in operation["responses"]["default"]["content"]
        assert operation["description"], f"{method} says nothing of itself"
        if method in ("post", "patch"):
            [taken] = operation["requestBody"]["content"].values()
            assert taken["schema"], f"{method} takes nothing"


def test_operations_have_names_of_their_own():
    names = [operation["operationId"] for path in schema()["paths"].values() for operation in path.values()]
    assert len(names) == len(set(names))


def test_states_are_listed_where_they_are_shown_and_where_they_are_asked_for():
    found = schema()
    for noun, component in {
        "clusters": "ClusterShown",
        "nodes": "NodeShown",
        "jobs": "JobShown",
        "cases": "CaseShown",
    }.items():
        shown = found["components"]["schemas"][component]["properties"]["state"]["enum"]
        asked = next(one for one in found["paths"][f"/api/v1/{noun}/"]["get"]["parameters"] if one["name"] == "state")
        assert sorted(shown) == sorted(asked["schema"]["items"]["enum"])


def test_every_list_is_results_and_next_and_every_row_says_whose_it_is():
    found = schema()
    for route in API:
        operation = found["paths"][in_schema(route)].get("get")
        if operation is None or route.name in ARCHIVES:
            continue
        given = operation["responses"]["200"]["content"]
        if "application/octet-stream" in given:
            continue
        reference = given["application/json"]["schema"]["$ref"]
        shown = resolved(found, reference)
        if reference.endswith("Page"):
            assert set(shown["properties"]) == {"results", "next"}
            shown = resolved(found, shown["properties"]["results"]["items"]["$ref"])
            leaked = NOT_IN_LISTS & set(shown["properties"])
            # An external id is a secret of an account alone; a case note and an entry are what was written.
            known = {"text", "external_id"} if route.name.endswith(WRITTEN) else set()
            assert not leaked - known, f"{route.name} lists {leaked - known}"
        if route.name.removeprefix("api-").removeprefix("tenant-") not in FIGURES | EVERYBODYS:
            assert {"id", "tenant", "created_at"} <= set(shown["properties"]), reference


def resolved(found: dict[str, Any], reference: str) -> dict[str, Any]:
    return found["components"]["schemas"][reference.rpartition("/")[2]]


def test_the_promise_did_not_change_unnoticed():
    written = json.dumps(schema(), indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    if os.environ.get("SCHEMA") == "write":
        SNAPSHOT.write_text(written)
    assert SNAPSHOT.exists() and SNAPSHOT.read_text() == written, (
        "the schema changed: look at it, then write it anew (top of this file)"
    )


@pytest.mark.parametrize(
    "route",
    [route for route in API if "get" in route.view.cls.http_method_names and route.name not in ARCHIVES],
    ids=named,
)
def test_what_is_answered_is_what_the_schema_says(town, route):
    address = route.address("programme" if route.of_office else "hoshi", town.hoshi)
    answer = ask(town.token(town.world.person("programme_manager"), internal=True), "GET", address)
    assert answer.status_code == 200, answer.content[:300]
    found = schema()
    given = found["paths"][in_schema(route)]["get"]["responses"]["200"]["content"]
    if "application/octet-stream" in given:
        assert answer["Content-Type"] == "application/octet-stream" and answer["Content-Disposition"]
        return
    told = given["application/json"]["schema"]
    mismatches = list(differences(json.loads(answer.content), told, found, route.name))
    assert not mismatches, mismatches


def differences(value: Any, told: dict[str, Any], found: dict[str, Any], path: str) -> list[str]:
    """Where an answer is not what the schema says: missing, unknown, of another type, or no word of the list."""
    if "$ref" in told:
        told = resolved(found, told["$ref"])
    if "allOf" in told:
        told = {**resolved(found, told["allOf"][0]["$ref"]), "nullable": told.get("nullable", False)}
    if value is None:
        return [] if told.get("nullable") else [f"{path} is null"]
    if "enum" in told and value not in told["enum"]:
        return [f"{path}: {value!r} is none of {told['enum']}"]
    kind = told.get("type")
    right = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool}.get(
        kind or "", object
    )
    if not isinstance(value, right):
        return [f"{path}: {value!r} is no {kind}"]
    if kind == "array":
        return [
            line
            for index, inner in enumerate(value)
            for line in differences(inner, told["items"], found, f"{path}[{index}]")
        ]
    if kind == "object" and "properties" in told:
        properties = told["properties"]
        lines = [f"{path}.{name} is missing" for name in told.get("required", []) if name not in value]
        lines += [f"{path}.{name} is not in the schema" for name in value if name not in properties]
        return lines + [
            line
            for name, inner in value.items()
            if name in properties
            for line in differences(inner, properties[name], found, f"{path}.{name}")
        ]
    return []


def test_the_schema_and_its_page_are_for_whoever_signed_in(town):
    for role in ("viewer", "programme_manager", "service_engineer"):
        client = town.client(town.world.person(role))
        assert json.loads(ask(client, "GET", "/api/v1/schema/").content)["openapi"].startswith("3.")
        page = ask(client, "GET", "/api/v1/docs/").content.decode()
        assert "swagger-ui-bundle" in page and "/api/v1/schema/" in page
        assert not re.search(r"<script(?![^>]*src=)|<style|\son\w+=|style=", page), (
            "the content-security policy forbids inline code"
        )
    assert Client().get("/api/v1/schema/").status_code == 401
