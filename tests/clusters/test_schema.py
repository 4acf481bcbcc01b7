"""ParallelCluster's own schema is asked while somebody types: by the real process, and when that is not there or not well."""

import json
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from clusters import engine_check
from clusters.architectures.configuration import read_configuration
from clusters.findings import Refusals
from clusters.providers import schema
from clusters.providers.schema import NotChecked, Problem
from tenants.wall.acting import acting_for
from tests import examples
from tests.clusters.test_pages import BACKEND, FORM, REQUEST

CHECKOUT = Path(__file__).parents[2]
ON_EC2 = {
    **{name: value for name, value in FORM.items() if name != "node_recovery"},
    "architecture": "parallelcluster-p5",
    "node_recovery": "clustermgtd",
    "groups-0-capacity": "on-demand",
    "groups-1-capacity": "on-demand",
}
DOCUMENT: dict[str, Any] = {
    "architecture": "parallelcluster-p5",
    "region": "ap-northeast-1",
    "az_id": "apne1-az4",
    "instance_groups": [
        {"name": "workers", "instance_type": "p5.48xlarge", "count": 2},
        {"name": "head", "instance_type": "m5.4xlarge", "count": 1, "role": "controller"},
        {"name": "more", "instance_type": "p5.48xlarge", "count": 1},
    ],
}


def wish(**changes: Any) -> Any:
    return read_configuration({**DOCUMENT, **changes})


@pytest.fixture(autouse=True)
def rested() -> Iterator[None]:
    schema.resting.end()
    yield
    schema.resting.end()


def ready(process: subprocess.Popen[str]) -> None:
    assert process.stdout
    assert process.stdout.readline().strip() == "answering"


def server(address: Path) -> subprocess.Popen[str]:
    words = [
        sys.executable,
        "clusters/providers/schema_server.py",
        str(address),
        "--python",
        ".pcluster-venv/bin/python",
    ]
    environment = {**os.environ, "AWS_SECRET_ACCESS_KEY": "of the hub", "SECRET_KEY": "of the portal"}
    return subprocess.Popen(words, cwd=CHECKOUT, env=environment, stdout=subprocess.PIPE, text=True)


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, subprocess.Popen[str]]]:
    address = tmp_path_factory.mktemp("schema") / "socket"
    started = server(address)
    try:
        ready(started)
        yield address, started
    finally:
        started.kill()
        started.wait()


def found(address: Path, **changes: Any) -> list[tuple[str, str, str]]:
    told = engine_check.findings(wish(**changes), name="train", address=str(address))
    return [(each.code, each.field, each.sentence()) for each in told]


@pytest.mark.pcluster
def test_what_we_write_is_what_its_schema_takes(process):
    assert found(process[0]) == [("schema", "configuration", "ParallelCluster's own schema takes the configuration.")]
    openzfs = {"openzfs": {"capacity_gib": 512}, "bucket": "the-participants-own"}
    assert found(process[0], storage=openzfs)[0][0] == "schema"
    groups = [dict(group) for group in DOCUMENT["instance_groups"]]
    groups[0] |= {"reservation": "cr-0123456789abcdef0", "capacity": "capacity-block", "placement_group": True}
    assert found(process[0], instance_groups=groups)[0][0] == "schema"


@pytest.mark.pcluster
@pytest.mark.parametrize(
    ("settings", "code", "path", "words"),
    [
        ({"Monitoring": {"DetailedMonitoring": "soon"}}, "schema_yes_or_no", "Monitoring.DetailedMonitoring", "“soon”"),
        ({"Monitoring": {"Nonsense": 1}}, "schema_unknown", "Monitoring.Nonsense", "knows no Monitoring.Nonsense"),
        (
            {"Monitoring": {"Logs": {"CloudWatch": {"RetentionInDays": 4}}}},
            "schema_choice",
            "Monitoring.Logs.CloudWatch.RetentionInDays",
            "is “4”; ParallelCluster takes 0, 1, 3, 5, 7,",
        ),
        (
            {"Scheduling": {"SlurmSettings": {"ScaledownIdletime": "an hour"}}},
            "schema_number",
            "Scheduling.SlurmSettings.ScaledownIdletime",
            "“an hour”",
        ),
        (
            {"Scheduling": {"SlurmSettings": {"Database": {"Uri": "db:3306"}}}},
            "schema_missing",
            "Scheduling.SlurmSettings.Database.UserName",
            "is missing",
        ),
        ({"HeadNode": {"Ssh": "everybody"}}, "schema_fields", "HeadNode.Ssh", "“everybody”"),
    ],
)
def test_what_it_does_not_take_is_told_with_the_place_in_its_file_and_the_value(process, settings, code, path, words):
    told = {each[:2]: each[2] for each in found(process[0], engine_settings=settings)}
    assert (code, f"engine_settings.{path}") in told, told
    sentence = told[code, f"engine_settings.{path}"]
    assert path in sentence and words in sentence


@pytest.mark.pcluster
def test_it_runs_without_our_keys_and_a_question_that_breaks_it_breaks_no_other(process):
    address, started = process
    inside = dict(
        each.split("=", 1) for each in Path(f"/proc/{started.pid}/environ").read_text().split("\0") if "=" in each
    )
    assert "of the hub" not in inside.values() and "SECRET_KEY" not in inside
    assert inside["AWS_ENDPOINT_URL"] == "http://127.0.0.1:1"
    line = b'{"name": "x", "region": "us-east-1", "configuration": ' + b"[" * 50_000 + b"]" * 50_000 + b"}\n"
    for question in (line, b"rubbish\n", b"{}\n", b"x" * 1_100_000 + b"\n"):
        with socket.socket(socket.AF_UNIX) as broken:
            broken.settimeout(10)
            broken.connect(str(address))
            try:
                broken.sendall(question)
                assert broken.recv(10) == b""
            except OSError:
                pass  # it hung up before it had heard everything
    assert found(address)[0][0] == "schema"
    assert started.poll() is None


@pytest.mark.pcluster
def test_its_memory_is_limited_and_one_that_talks_on_for_ever_is_ended(process):
    address, started = process
    assert resource.prlimit(started.pid, resource.RLIMIT_AS)[0] < 2_000_000_000
    with socket.socket(socket.AF_UNIX) as silent:
        silent.settimeout(10)
        silent.connect(str(address))
        began = time.monotonic()
        assert silent.recv(10) == b""  # we never asked; it does not wait for us
        assert time.monotonic() - began < 5


@pytest.mark.pcluster
def test_one_that_is_stopped_costs_one_moment_and_then_nobody_waits_for_it(process):
    address, started = process
    os.kill(started.pid, signal.SIGSTOP)
    try:
        began = time.monotonic()
        assert found(address)[0][0] == "schema_late"
        assert 1.5 < time.monotonic() - began < 3.5
        began = time.monotonic()
        assert found(address)[0][0] == "schema_late"
        assert time.monotonic() - began < 0.5
    finally:
        os.kill(started.pid, signal.SIGCONT)
    schema.resting.end()
    assert found(address)[0][0] == "schema"


@pytest.mark.pcluster
def test_a_second_one_takes_over_the_place_of_one_that_was_killed(tmp_path):
    address = tmp_path / "socket"
    for _ in range(2):
        started = server(address)
        try:
            ready(started)
            assert found(address)[0][0] == "schema"
        finally:
            started.kill()
            started.wait()
        assert found(address)[0][0] == "schema_away"


def answering(address: Path, answer: bytes) -> None:
    line = socket.socket(socket.AF_UNIX)
    line.bind(str(address))
    line.listen()

    def serve() -> None:
        heard, _ = line.accept()
        heard.recv(1_000_000)
        heard.sendall(answer)
        heard.close()
        line.close()

    threading.Thread(target=serve, daemon=True).start()


@pytest.mark.parametrize("answer", [b"", b"no json\n", b"[]\n", b'{"problems": 3}\n', b'{"problems": [{"path": 1}]}\n'])
def test_an_answer_that_is_none_is_told_and_nothing_else_happens(tmp_path, answer):
    answering(tmp_path / "socket", answer)
    [told] = engine_check.findings(wish(), name="train", address=str(tmp_path / "socket"))
    assert (told.code, told.level) == ("schema_dumb", "warning")
    assert "Not checked by ParallelCluster's own schema" in told.sentence()


@pytest.mark.parametrize(("address", "code"), [("", "schema_off"), ("/nowhere/at/all", "schema_away"), ("/tmp", "schema_away"), ("/" + "x" * 200, "schema_away")])  # fmt: skip
def test_where_nobody_answers_it_is_said_and_refuses_nothing(address, code):
    [told] = engine_check.findings(wish(), name="train", address=address)
    assert (told.code, told.level) == (code, "warning")


def test_hyperpod_is_none_of_its_business():
    from tests.clusters.wishes import wish as on_hyperpod

    assert engine_check.findings(on_hyperpod(), name="train", address="/nowhere") == []


@pytest.mark.parametrize(
    ("path", "field"),
    [
        (("Scheduling", "SlurmQueues", 0, "Name"), "instance_groups[0].name"),
        (("Scheduling", "SlurmQueues", 1, "ComputeResources", 0, "MinCount"), "instance_groups[2].count"),
        (("Scheduling", "SlurmQueues", 1, "ComputeResources", 0, "Efa", "Enabled"), "instance_groups[2]"),
        (("Scheduling", "SlurmQueues", 9, "Name"), "configuration"),
        (
            (
                "Scheduling",
                "SlurmQueues",
                0,
                "ComputeResources",
                0,
                "CapacityReservationTarget",
                "CapacityReservationId",
            ),
            "instance_groups[0].reservation",
        ),
        (("HeadNode", "InstanceType"), "instance_groups[1].instance_type"),
        (("HeadNode", "Iam", "S3Access", 1, "BucketName"), "storage.bucket"),
        (("Region",), "region"),
        (("Monitoring", "DetailedMonitoring"), "engine_settings.Monitoring.DetailedMonitoring"),
        (("Monitoring", "Missing"), "configuration"),
        ((), "configuration"),
    ],
)
def test_a_finding_leads_to_the_field_it_comes_from(path, field):
    assert engine_check.field(path, wish(engine_settings={"Monitoring": {"DetailedMonitoring": 1}})) == field


def test_a_place_is_written_as_people_write_it():
    assert engine_check.written(("Scheduling", "SlurmQueues", 0, "Name")) == "Scheduling.SlurmQueues[0].Name"


@pytest.mark.parametrize(
    ("settings", "code", "field"),
    [
        ({"Region": "us-east-1"}, "settings_closed", "engine_settings.Region"),
        ({"HeadNode": {"InstanceType": "p5.48xlarge"}}, "settings_closed", "engine_settings.HeadNode.InstanceType"),
        ({"Scheduling": {"SlurmQueues": []}}, "settings_closed", "engine_settings.Scheduling.SlurmQueues"),
        ({"Scheduling": 3}, "settings_closed", "engine_settings.Scheduling"),
        ({"LoginNodes": {}}, "settings_closed", "engine_settings.LoginNodes"),
        (
            {"Scheduling": {"SlurmSettings": {"QueueUpdateStrategy": "TERMINATE"}}},
            "settings_ours",
            "engine_settings.Scheduling.SlurmSettings.QueueUpdateStrategy",
        ),
        ({"Monitoring": {"Day": date(2026, 1, 1)}}, "settings_value", "engine_settings.Monitoring.Day"),
        ({"Monitoring": {"Text": "a\0b"}}, "settings_value", "engine_settings.Monitoring.Text"),
        ({"Monitoring": {"Number": float("nan")}}, "settings_value", "engine_settings.Monitoring.Number"),
        ({"Monitoring": {3: "x"}}, "settings_value", "engine_settings.Monitoring"),
        ({"Monitoring": {"Long": "x" * 30_000}}, "too_large", "engine_settings"),
        ("Monitoring: true", "not_fields", "engine_settings"),
        ([1], "not_fields", "engine_settings"),
    ],
)  # fmt: skip
def test_what_is_closed_ours_or_no_value_is_refused_with_its_place(settings, code, field):
    with pytest.raises(Refusals) as told:
        wish(engine_settings=settings)
    [finding] = told.value.findings
    assert (finding.code, finding.field) == (code, field)
    assert field in finding.sentence()


def test_settings_are_laid_over_what_we_write_and_ours_stands():
    told = wish(engine_settings={"Monitoring": {"DetailedMonitoring": True}, "HeadNode": {"Ssh": {"KeyName": "ours"}}})
    from clusters.architectures.parts import specimen

    whole = specimen(told)
    assert whole["Monitoring"] == {"DetailedMonitoring": True}
    assert whole["HeadNode"]["Ssh"] == {"KeyName": "ours"} and whole["HeadNode"]["InstanceType"] == "m5.4xlarge"
    assert read_configuration(json.loads(json.dumps(told.document()))) == told


def test_they_mean_nothing_to_hyperpod():
    from tests.clusters.wishes import document

    with pytest.raises(Refusals) as told:
        read_configuration({**document(), "engine_settings": {"Monitoring": {}}})
    assert [each.code for each in told.value.findings] == ["not_here"]


@pytest.fixture
def engineer(world, settings, tmp_path) -> Client:
    examples.make(world, world.hoshi, 1)
    settings.PCLUSTER_SCHEMA = str(tmp_path / "nobody")
    client = Client()
    client.force_login(world.person("platform_engineer"), backend=BACKEND)
    return client


def account(client: Client) -> str:
    from clusters.models import CloudAccount
    from tenants.models import Tenant

    with acting_for(Tenant.objects.get(slug="hoshi")):
        return str(CloudAccount.objects.get().pk)


def typed(client: Client, **told: str) -> str:
    form = ON_EC2 | {"do": "type", "account": account(client)} | told
    answer = client.post(REQUEST, form, headers={"HX-Request": "true"})
    assert answer.status_code == 200
    return answer.content.decode()


@pytest.mark.django_db
def test_while_typing_the_findings_come_alone_and_a_name_may_come_last(engineer):
    html = typed(engineer, name="")
    assert html.strip().startswith('<div id="findings"')
    assert "the process that knows it does not run" in html
    assert 'role="alert"' not in html  # nobody is interrupted at every letter


@pytest.mark.django_db
def test_what_cannot_be_read_yet_is_named_softly(engineer):
    html = typed(engineer, lustre_gib="", engine_settings="Monitoring: [")
    assert "Not yet:" in html and "id_lustre_gib" in html and "id_engine_settings" in html
    assert 'role="alert"' not in html


@pytest.mark.django_db
@pytest.mark.pcluster
def test_a_setting_it_does_not_take_is_found_while_typing_and_refused_when_requested(engineer, process, settings):
    settings.PCLUSTER_SCHEMA = str(process[0])
    told = "Monitoring:\n  Logs:\n    CloudWatch:\n      RetentionInDays: 4\n"
    html = typed(engineer, engine_settings=told)
    assert "Monitoring.Logs.CloudWatch.RetentionInDays is “4”" in html
    assert 'href="#id_engine_settings"' in html
    answer = engineer.post(REQUEST, ON_EC2 | {"account": account(engineer), "engine_settings": told})
    assert answer.status_code == 422 and "RetentionInDays is “4”" in answer.content.decode()
    assert "schema takes the configuration" in typed(engineer, engine_settings=told.replace("4", "7"))


@pytest.mark.django_db
@pytest.mark.pcluster
def test_the_dry_run_of_the_api_tells_the_same_and_asking_is_refused(engineer, process, settings, world):
    settings.PCLUSTER_SCHEMA = str(process[0])
    body = {**DOCUMENT, "engine_settings": {"Monitoring": {"DetailedMonitoring": "soon"}}}
    number = engineer.get("/api/v1/t/hoshi/accounts/").json()["results"][0]["account_id"]
    asked = {"account": number, "name": "fresh", "configuration": body}
    answer = engineer.post("/api/v1/t/hoshi/clusters/check/", json.dumps(asked), content_type="application/json")
    assert answer.status_code == 200, answer.content
    codes = {each["code"]: each for each in answer.json()["findings"]}
    assert codes["schema_yes_or_no"]["field"] == "engine_settings.Monitoring.DetailedMonitoring"
    assert codes["schema_yes_or_no"]["asked"] == "soon" and not answer.json()["fits"]
    asked["participation"] = str(world.participations["hoshi"].pk)
    answer = engineer.post(
        "/api/v1/t/hoshi/clusters/",
        json.dumps(asked),
        content_type="application/json",
        headers={"Idempotency-Key": "once"},
    )
    assert answer.status_code == 422 and "Monitoring.DetailedMonitoring" in answer.content.decode()


def test_a_problem_is_what_the_process_says(tmp_path):
    answering(tmp_path / "socket", b'{"problems": [{"path": ["HeadNode", 0], "says": "Unknown field."}]}\n')
    found = schema.problems(str(tmp_path / "socket"), name="a", region="b", configuration={})
    assert found == [Problem(("HeadNode", 0), "Unknown field.")]


def test_who_never_answers_is_late(tmp_path):
    line = socket.socket(socket.AF_UNIX)
    line.bind(str(tmp_path / "socket"))
    line.listen()
    with pytest.raises(NotChecked, match="late"):
        schema.problems(str(tmp_path / "socket"), name="a", region="b", configuration={})
    line.close()
