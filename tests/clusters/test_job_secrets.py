"""A job's environment may hold tokens: nobody reads them again, they lie sealed, and the scheduler gets them whole."""

import importlib
import io
import json
import logging
import sys
from types import SimpleNamespace

import pytest
from django.core.management import call_command
from django.db import connection
from django.test import Client

from clusters.actions import reporting
from clusters.engine import job_specs
from clusters.models import Job
from program.logs import logging_settings
from tenants.wall.acting import acting_for
from tenants.wall.identity import issue_token
from tests import examples

BACKEND = "allauth.account.auth_backends.AuthenticationBackend"
SECRET = "hf_zebrafish0123456789"
MIGRATION = importlib.import_module("clusters.migrations.0004_job_environment_sealed")


@pytest.fixture
def cluster(world):
    with acting_for(world.hoshi, staff=True):
        return examples.make(world, world.hoshi, 1)["clusters"]


def everything_stored():
    """Every byte of every table, as the database shows it."""
    with connection.cursor() as cursor:
        cursor.execute("set local role cohort_owner")
        cursor.execute("select tablename from pg_tables where schemaname = 'public'")
        found = []
        for (table,) in cursor.fetchall():
            cursor.execute(f'select coalesce(string_agg(row::text, chr(10)), chr(10)) from "{table}" row')
            found.append(cursor.fetchone()[0])
        cursor.execute("set local role none")
    return "\n".join(found)


def launched(world, cluster):
    _row, token = issue_token(person=world.person("ml_engineer"), name="t")
    client = Client(headers={"authorization": f"Bearer {token}"})
    body = {
        "cluster": str(cluster.pk),
        "name": "train",
        "script": "#!/bin/bash\necho $HF_TOKEN",
        "nodes": 1,
        "environment": {"HF_TOKEN": SECRET, "A": "1"},
    }
    answer = client.post(
        "/api/v1/t/hoshi/jobs/", body, content_type="application/json", headers={"idempotency-key": "once-and-for-all"}
    )
    assert answer.status_code == 202, answer.content
    return client, answer


def test_values_go_in_and_never_come_out(world, cluster):
    client, answer = launched(world, cluster)
    made = answer.json()
    assert made["environment_names"] == ["A", "HF_TOKEN"]
    browser = Client()
    browser.force_login(world.person("ml_engineer"), BACKEND)
    told = [
        answer,
        client.get(f"/api/v1/t/hoshi/jobs/{made['id']}/"),
        client.get("/api/v1/t/hoshi/jobs/"),
        client.get("/api/v1/t/hoshi/entries/"),
        browser.get(f"/t/hoshi/jobs/{made['id']}/"),
        browser.get("/t/hoshi/history/"),
    ]
    for one in told:
        assert one.status_code < 300 and SECRET not in one.content.decode(), one.request["PATH_INFO"]
    assert "HF_TOKEN" in told[4].content.decode()


def test_no_byte_of_it_lies_open_in_any_table(world, cluster):
    launched(world, cluster)
    stored = everything_stored()
    assert "HF_TOKEN" in stored and SECRET not in stored


def test_the_scheduler_gets_them_whole_and_nobody_prints_them(world, cluster):
    _client, answer = launched(world, cluster)
    with acting_for(world.hoshi):
        row = Job.objects.select_related("cluster").get(pk=answer.json()["id"])
        spec = job_specs.spec(row, row.cluster)
    told = dict(spec.environment)
    assert told.pop(reporting.URL).endswith(f"/t/hoshi/jobs/{row.pk}/reports/") and len(told.pop(reporting.TOKEN)) > 40
    assert told == {"HF_TOKEN": SECRET, "A": "1", "PYTHONPATH": "/opt/cohort/python"}
    assert SECRET not in repr(spec)


def test_the_reporter_is_where_python_looks_in_every_job_of_a_person(world, cluster):
    with acting_for(world.hoshi, staff=True):
        row = examples.job(cluster, "train", environment={"PYTHONPATH": "/fsx/mine"})
        assert job_specs.spec(row, cluster).environment["PYTHONPATH"] == "/fsx/mine:/opt/cohort/python"
        cluster.orchestrator = "hyperpod-eks"
        spec = job_specs.spec(row, cluster)
        assert spec.environment == {"PYTHONPATH": "/fsx/mine"} and "class Run" in spec.files["cohort.py"]
        made = json.dumps(spec.manifest)
        assert "export PYTHONPATH=" in made and "echo script-body" in made
        row.purpose = "proof"
        assert not job_specs.spec(row, cluster).files


def test_a_traceback_in_the_log_holds_no_variables():
    formatter = logging_settings(readable=False)["formatters"]["lines"]
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(
        formatter["()"](foreign_pre_chain=formatter["foreign_pre_chain"], processors=formatter["processors"])
    )
    token = SECRET
    try:
        raise RuntimeError(f"broken after {len(token)}")
    except RuntimeError:
        handler.emit(logging.LogRecord("tenants", logging.ERROR, __file__, 1, "failed", (), sys.exc_info()))
    line = json.loads(written.getvalue())
    assert line["exception"][0]["exc_type"] == "RuntimeError" and line["exception"][0]["frames"]
    assert SECRET not in written.getvalue()


def test_what_was_plain_is_sealed_by_the_migration(world, cluster):
    with acting_for(world.hoshi, staff=True):
        old, bare = examples.job(cluster, "old", environment={}), examples.job(cluster, "bare", environment={})
    with connection.cursor() as cursor:
        cursor.execute("set constraints all immediate")
        cursor.execute("set local role cohort_owner")
        cursor.execute("alter table clusters_job add column environment jsonb not null default '{}'")
        cursor.execute(
            "update clusters_job set environment = %s::jsonb where id = %s", [json.dumps({"HF_TOKEN": SECRET}), old.pk]
        )
        MIGRATION.seal(None, SimpleNamespace(connection=connection))
        cursor.execute("alter table clusters_job drop column environment")
        cursor.execute("set local role none")
    with acting_for(world.hoshi):
        assert Job.objects.get(pk=old.pk).environment == {"HF_TOKEN": SECRET}
        assert Job.objects.get(pk=old.pk).environment_names == ["HF_TOKEN"]
        assert Job.objects.get(pk=bare.pk).environment == {}
    assert SECRET not in everything_stored()


def test_the_models_and_the_migrations_say_the_same(db):
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)
