"""The blocks of the tracking record: their words and limits, their history, and the gate before the first job."""

import uuid
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import botocore.session
import pytest
from django.db import models
from django.test import Client

from clusters.actions import launch_job
from clusters.models import Job
from tenants.actions import edit_record
from tenants.forms import block_form
from tenants.history.models import Entry
from tenants.models import DataIngest, Evaluation, TrainingModel
from tenants.queries import ages_of_blocks
from tenants.record_blocks import BLOCKS, age, long_past, milestone_word
from tenants.wall.acting import acting_for
from tenants.web.problems import Refused
from tests.clusters.test_change_pages import send
from tests.clusters.test_pages import hoshi, signed_in
from tests.conftest import World
from tests.examples import Examples

__all__ = ["hoshi"]

SCRIPT = "#!/bin/bash\n#SBATCH --open-mode=append\nexport FI_PROVIDER=efa\nsrun --auto-resume=1 hostname\n"


def test_the_words_of_jobs_and_tasks_that_bring_data_are_those_of_their_apis() -> None:
    shapes = {
        "snowball": ("snowball", "JobState"),
        "datasync": ("datasync", "TaskExecutionStatus"),
        "repository": ("fsx", "DataRepositoryTaskLifecycle"),
    }
    assert set(shapes) == set(DataIngest.STATES)
    for way, (service, name) in shapes.items():
        shape = botocore.session.get_session().get_service_model(service).shape_for(name)
        assert set(DataIngest.STATES[way].values) == set(shape.enum), way


@pytest.mark.parametrize(
    ("due", "done", "word"),
    [
        (date(2026, 5, 1), date(2026, 5, 1), "done"),
        (date(2026, 5, 1), date(2026, 5, 2), "late"),
        (date(2026, 5, 1), None, "overdue"),
        (date(2026, 5, 10), None, "soon"),
        (date(2026, 5, 24), None, "soon"),
        (date(2026, 5, 25), None, "ahead"),
    ],
)
def test_a_milestone_has_one_word(due: date, done: date | None, word: str) -> None:
    assert milestone_word(due, done, date(2026, 5, 10)) == word


@pytest.mark.parametrize(
    ("due", "done", "minded"),
    [
        (date(2026, 5, 10), None, False),
        (date(2026, 4, 10), None, False),  # 30 days
        (date(2026, 4, 9), None, True),
        (date(1, 1, 1), None, True),
        (date(2020, 1, 1), date(2026, 5, 1), False),
    ],
)
def test_a_milestone_that_is_open_long_after_its_day_may_be_a_slip(due: date, done: date | None, minded: bool) -> None:
    assert long_past(due, done, date(2026, 5, 10)) is minded


def test_a_milestone_of_long_ago_is_saved_and_the_page_and_the_api_say_what_may_be_wrong(
    world: World, hoshi: Examples
) -> None:
    client, place = signed_in(world.person("ml_engineer")), f"records/{hoshi['participations'].pk}/milestones"
    old = {"title": "Corpus", "kind": "data", "due_on": "2020-04-19"}
    assert client.post("/t/hoshi/record/milestone/add/", old).status_code == 303
    page = client.get("/t/hoshi/").content.decode()
    assert "Added." in page and "is due on 19 April 2020, which lies" in page
    [minded] = (made := send(world, f"{place}/", old | {"title": "Tokeniser"})).json()["warnings"]
    assert made.status_code == 201 and minded["code"] == "due_long_past" and "19 April 2020" in minded["sentence"]
    assert send(world, f"{place}/", old | {"title": "Next", "due_on": "2030-01-01"}).json()["warnings"] == []


def test_a_block_is_old_after_its_own_number_of_days() -> None:
    now = datetime(2026, 5, 31, tzinfo=UTC)
    block = BLOCKS["model"]
    assert [age(block, now - timedelta(days=days), now).old for days in (14, 15)] == [False, True]
    assert not age(block, None, now).old
    assert not age(BLOCKS["result"], now - timedelta(days=900), now).old


def editable() -> list[tuple[str, str]]:
    return [(word, name) for word, block in BLOCKS.items() for name in block.fields]


def other_value(column: models.Field, now: Any) -> Any:
    """A value that this column may have and has not."""
    if column.choices:
        return next(word for word, _label in column.choices if word not in (now, ""))
    if isinstance(column, models.BooleanField):
        return not now
    if isinstance(column, models.DateField):
        return date(2031, 2, 3)
    if isinstance(column, models.DecimalField):
        return Decimal(90 if column.name == "total_params_b" else 3)
    if isinstance(column, models.IntegerField):
        return 2
    if column.name in ("link", "prefix"):
        return {"link": "https://other.example/", "prefix": "s3://other-bucket/x/"}[column.name]
    return ["other"] if column.get_internal_type() == "ArrayField" else "other"


def test_every_editable_field_is_in_the_history_with_old_and_new_and_who(world: World, hoshi: Examples) -> None:
    lead = world.person("lead_architect")
    with acting_for(world.hoshi, staff=True):
        for word, name in editable():
            line = type(hoshi[word]).objects.get(pk=hoshi[word].pk)
            if word == "evaluation" and name == "model_code":
                hoshi["model"].__class__.objects.filter(pk=hoshi["model"].pk).update(code="other")
            if word == "ingest" and name == "method":
                edit_record(block=line, changes={"engine_state": ""}, version=line.version, by=lead.actor)
                line.refresh_from_db()
            old, new = getattr(line, name), other_value(line._meta.get_field(name), getattr(line, name))
            if (word, name) == ("ingest", "engine_state"):
                continue  # it was emptied above, as a change of its own
            edit_record(block=line, changes={name: new}, version=line.version, by=lead.actor)
            entry = Entry.objects.filter(kind="record.changed", subject_id=line.pk).order_by("-id").first()
            assert entry is not None and entry.actor == lead.actor, (word, name)
            told = entry.facts["changes"][name]
            assert told[0] != told[1] and str(new) in (str(told[1]), told[1]), (word, name, old, told)


@pytest.mark.parametrize(
    ("word", "sent", "field", "sentence"),
    [
        ("ingest", {"method": "s3_copy"}, "engine_state", "Only Snowball, DataSync and an import through Lustre"),
        ("ingest", {"method": "repository"}, "engine_state", "it has: PENDING, EXECUTING"),
        ("model", {"done_amount": "-1"}, "done_amount", "greater than or equal to 0"),
        ("framework", {"tensor_parallel": "0"}, "tensor_parallel", "greater than or equal to 1"),
        ("ingest", {"prefix": "/fsx/data"}, "prefix", "s3://bucket/folder/"),
        ("ingest", {"planned_tb": "-1"}, "planned_tb", "greater than or equal to 0"),
        ("monitoring", {"link": "javascript:alert(1)"}, "link", "A link begins with https://"),
        (
            "evaluation",
            {"model_code": "M9"},
            "model_code",
            "There is no model &#x27;M9&#x27; in this record; there are: M1.",
        ),
        ("model", {"layers": "-4"}, "layers", "greater than or equal to 0"),
    ],
)
def test_what_does_not_fit_is_told_at_its_field(
    world: World, hoshi: Examples, word: str, sent: dict[str, str], field: str, sentence: str
) -> None:
    client = signed_in(world.person("ml_engineer"))
    address = f"/t/hoshi/record/{word}/{hoshi[word].pk}/edit/"
    page = client.get(address)
    form = page.context["form"]
    values = {name: form[name].value() for name in form.fields}
    body = {name: value for name, value in values.items() if value not in (None, False)} | sent
    answer = client.post(address, body)
    assert answer.status_code == 422 and field in answer.context["form"].errors
    assert sentence in answer.content.decode()


def test_a_model_may_have_more_than_500_layers_and_any_framework_needs_no_code(world: World, hoshi: Examples) -> None:
    client = signed_in(world.person("ml_engineer"))
    added = client.post("/t/hoshi/record/framework/add/", {"name": "Own 分散フレームワーク", "tensor_parallel": "4"})
    assert added.status_code == 303
    model = {
        "code": "M2",
        "name": "Deep",
        "family": "other",
        "layers": "640",
        "total_params_b": "1",
        "active_params_b": "1",
    }
    more = {"amount_unit": "billion_tokens", "evaluation_plan": "JGLUE, MMLU"}
    assert client.post("/t/hoshi/record/model/add/", model | more).status_code == 303
    page = client.get("/t/hoshi/").content.decode()
    assert (
        "Own 分散フレームワーク" in page
        and "640" in page
        and "s3://hoshi-data/crawl/" in page
        and "JGLUE, MMLU" in page
    )


def test_the_first_training_job_waits_for_its_data_unless_somebody_says_it_need_not(
    world: World, hoshi: Examples
) -> None:
    def launched(**more: Any) -> Job:
        return launch_job(
            cluster=hoshi["clusters"], name=uuid.uuid4().hex[:8], script=SCRIPT, nodes=1, by="engine", partition="gpu",
            time_limit_minutes=60, **more,
        )  # fmt: skip

    with acting_for(world.hoshi, staff=True):
        Job.objects.filter(cluster=hoshi["clusters"]).update(purpose="probe")
        with pytest.raises(Refused, match="is not ready: Crawl") as told:
            launched(accepted=False)
        assert told.value.code == "data_not_ready"
        launched(accepted=False, template="data-ingest")
        with pytest.raises(Refused, match="is not ready"):
            launched(accepted=False)
        launched(accepted=True)
        launched(accepted=False)  # no longer the first
        Job.objects.filter(cluster=hoshi["clusters"]).update(purpose="probe")
        DataIngest.objects.update(ready_on=date(2026, 1, 7))
        launched(accepted=False)


def test_a_line_of_every_block_is_added_by_the_api_and_no_other_tenant_sees_it(world: World, hoshi: Examples) -> None:
    place = f"records/{hoshi['participations'].pk}"
    bodies: dict[str, dict[str, Any]] = {
        "ingests": {"name": "Second", "method": "s3_copy", "planned_tb": "2.5"},
        "milestones": {"title": "Gate", "kind": "gate", "due_on": "2030-01-01"},
        "evaluations": {"model_code": "M1", "benchmark": "Exam", "score": "71.25", "measured_on": "2026-02-01"},
        "results": {"kind": "model", "title": "Weights", "openness": "weights", "licence": "Apache-2.0"},
        "monitoring": {"kind": "experiments", "name": "Runs", "link": "https://runs.example/"},
    }
    for block, body in bodies.items():
        made = send(world, f"{place}/{block}/", body)
        assert made.status_code == 201, made.json()
        other = Client()
        other.force_login(world.person("ml_engineer", world.umi))
        assert other.get(f"/api/v1/t/hoshi/{place}/{block}/{made.json()['id']}/").status_code == 404
    refused = send(world, f"{place}/evaluations/", bodies["evaluations"] | {"model_code": "none"})
    assert refused.status_code == 422 and "There is no model 'none'" in refused.json()["detail"]
    with acting_for(world.hoshi):
        assert Evaluation.objects.filter(benchmark="Exam").count() == 2


def test_a_block_is_confirmed_without_a_change_and_is_fresh_again(world: World, hoshi: Examples) -> None:
    long_ago = datetime.now(UTC) - timedelta(days=40)
    with acting_for(world.hoshi, staff=True):
        TrainingModel.objects.update(updated_at=long_ago)
        assert ages_of_blocks(datetime.now(UTC))[world.hoshi.pk, "model"].old
    client = signed_in(world.person("ml_engineer"))
    assert "Still right" in client.get("/t/hoshi/").content.decode()
    assert client.post("/t/hoshi/record/confirm/", {"block": "model"}).status_code == 303
    page = client.get("/t/hoshi/").content.decode()
    assert "Still right" not in page
    with acting_for(world.hoshi, staff=True):
        assert not ages_of_blocks(datetime.now(UTC))[world.hoshi.pk, "model"].old
        entry = Entry.objects.get(kind="record.confirmed")
    assert entry.actor == world.person("ml_engineer").actor
    history = client.get("/t/hoshi/history/").content.decode()
    assert "confirmed what the record says: Models in training" in history
    refused = client.post("/t/hoshi/record/confirm/", {"block": "weather"})
    assert refused.status_code == 422 and "There is no block" in refused.content.decode()
    by_api = send(world, f"records/{hoshi['participations'].pk}/confirm/", {"block": "software"})
    assert by_api.status_code == 200 and by_api.json()["block"] == "software"


def test_the_state_of_a_snowball_job_is_asked_only_where_that_is_the_way() -> None:
    form_class = block_form(BLOCKS["ingest"])
    assert "engine_state" not in form_class().fields
    assert "engine_state" not in form_class(instance=DataIngest(method="link")).fields
    for way, known in DataIngest.STATES.items():
        asked = form_class(instance=DataIngest(method=way)).fields["engine_state"]
        assert [word for word, _label in asked.choices] == ["", *known.values]


def test_a_line_is_removed_with_its_values_in_the_history_and_not_over_somebodys_head(
    world: World, hoshi: Examples
) -> None:
    client, at = signed_in(world.person("ml_engineer")), f"/t/hoshi/record/model/{hoshi['models'].pk}/remove/"
    place = f"records/{hoshi['participations'].pk}"
    shown = client.get(at)
    assert "Total parameters" in shown.content.decode() and "<dd>70</dd>" in shown.content.decode()
    refused = client.post(at, {"version": "1"})
    assert refused.status_code == 409 and "evaluation names &#x27;M1&#x27;" in refused.content.decode()
    gone = send(world, f"{place}/evaluations/{hoshi['evaluation'].pk}/remove/", {"version": 1, "why": "Twice"})
    assert gone.status_code == 200 and gone.json()["benchmark"] == hoshi["evaluation"].benchmark
    assert send(world, f"{place}/evaluations/{hoshi['evaluation'].pk}/remove/", {"version": 1}).status_code == 404
    assert send(world, f"{place}/results/{hoshi['result'].pk}/remove/", {}).status_code == 428
    with acting_for(world.hoshi, staff=True):
        edit_record(block=hoshi["models"], changes={"phase": "later"}, version=1, by="engine")
    stale = client.post(at, {"version": "1", "why": "Never begun"})
    assert stale.status_code == 409 and stale.context["form"]["version"].value() == "2"
    assert "Never begun" in stale.content.decode()
    assert client.post(at, {"version": "2", "why": "Never begun"}).status_code == 303
    with acting_for(world.hoshi, staff=True):
        assert not TrainingModel.objects.filter(pk=hoshi["models"].pk).exists()
        entry = Entry.objects.filter(kind="record.removed").order_by("-id")[0]
    assert entry.facts["changes"]["total_params_b"] == ["70", None] and entry.facts["changes"]["phase"][0] == "later"
    told = client.get("/t/hoshi/history/?about=record").content.decode()
    assert "removed Language" in told and "Never begun" in told
    assert signed_in(world.person("viewer")).get(at).status_code == 403
    assert signed_in(world.person("ml_engineer", world.umi)).get(at).status_code == 404
