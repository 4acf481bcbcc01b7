"""The pages about a participant's history and record."""

import re
import uuid
from datetime import timedelta
from typing import Any

import pytest
import structlog
from django.test import Client
from django.utils import timezone

from support.actions import note_case, open_case, take_case
from tenants import entries
from tenants.actions import edit_record, note_interaction, three_way
from tenants.history import timeline
from tenants.history.models import Entry
from tenants.models import Person, SoftwareVersion, TrainingModel
from tenants.wall.acting import acting_for
from tests import examples
from tests.conftest import World
from tests.examples import Examples

BACKEND = "allauth.account.auth_backends.AuthenticationBackend"
HISTORY = "/t/hoshi/history/"


@pytest.fixture
def hoshi(world: World) -> Examples:
    return examples.make(world, world.hoshi, 1)


def signed_in(person: Person) -> Client:
    client = Client()
    client.force_login(person, BACKEND)
    return client


def fields_of(model: TrainingModel, **changes: Any) -> dict[str, Any]:
    return {
        "code": model.code, "name": model.name, "family": model.family, "total_params_b": "70", "active_params_b": "70", "modalities": "text",
        "amount_unit": model.amount_unit, "version": model.version, **changes,
    }  # fmt: skip


def edit_of(model: TrainingModel) -> str:
    return f"/t/hoshi/record/model/{model.pk}/edit/"


def test_a_customer_edits_the_record_and_the_history_keeps_old_and_new(world: World, hoshi: Examples) -> None:
    client, model = signed_in(world.person("ml_engineer")), hoshi["models"]
    assert client.post(edit_of(model), fields_of(model, phase="annealing", total_params_b="72.5")).status_code == 303
    with acting_for(world.hoshi):
        changed = TrainingModel.objects.get(pk=model.pk)
        entry = Entry.objects.filter(kind="record.changed").latest("id")
    assert (changed.phase, changed.version) == ("annealing", 2)
    assert entry.facts["changes"] == {"phase": ["", "annealing"], "total_params_b": ["70", "72.5"]}
    page = client.get(HISTORY).content.decode()
    assert "total parameters (billions)" in page and "<del>70</del>" in page and "<ins>72.5</ins>" in page


def test_a_stale_edit_shows_both_texts_and_keeps_what_was_typed(world: World, hoshi: Examples) -> None:
    client, model = signed_in(world.person("ml_engineer")), hoshi["models"]
    with acting_for(world.hoshi):
        edit_record(block=model, changes={"phase": "cool-down"}, version=1, by=world.person("platform_engineer").actor)
    answer = client.post(edit_of(model), fields_of(model, phase="annealing"))
    page = answer.content.decode()
    assert answer.status_code == 409
    assert "<del>cool-down</del>" in page and "<ins>annealing</ins>" in page
    assert 'name="phase" value="annealing"' in page and 'name="version" value="2"' in page
    assert client.post(edit_of(model), fields_of(model, phase="annealing", version=2)).status_code == 303


@pytest.mark.parametrize(
    ("was", "now", "mine", "kept", "both"),
    [
        ({}, {"a": 1}, {"a": 1}, [], []),  # nobody changed it
        ({}, {"a": 1}, {"a": 2}, [], []),  # only I did
        ({"a": 1}, {"a": 2}, {"a": 1}, ["a"], []),  # only they did
        ({"a": 1}, {"a": 2}, {"a": 3}, [], ["a"]),  # both did
        ({"a": 1}, {"a": 2}, {"a": 2}, [], []),  # both, alike
        ({"a": 1, "b": 1}, {"a": 2, "b": 2, "c": 0}, {"a": 1, "b": 3, "c": 5}, ["a"], ["b"]),
        (None, {"a": 2, "b": 1}, {"a": 1, "b": 1}, [], ["a"]),  # nobody knows what it was
    ],
)
def test_three_texts_are_compared_field_by_field(was, now, mine, kept, both) -> None:
    assert three_way(now, mine, was) == (kept, both)


def test_an_old_page_leaves_alone_what_only_somebody_else_changed(world: World, hoshi: Examples) -> None:
    client, model = signed_in(world.person("ml_engineer")), hoshi["models"]
    old = fields_of(model)
    by = world.person("platform_engineer").actor
    with acting_for(world.hoshi):
        for version, changes in enumerate(
            ({"phase": "cool-down"}, {"phase": "long", "modalities": ["text", "image"]}), 1
        ):
            edit_record(block=model, changes=changes, version=version, by=by)
    assert client.post(edit_of(model), old | {"name": "Renamed"}).status_code == 303
    with acting_for(world.hoshi):
        now = TrainingModel.objects.get(pk=model.pk)
        entry = Entry.objects.filter(kind="record.changed").latest("id")
    assert (now.name, now.phase, now.modalities, now.version) == ("Renamed", "long", ["text", "image"], 4)
    assert entry.facts["fields"] == ["name"]
    answer = client.post(edit_of(model), old | {"name": "Again", "licence_plan": "open"})
    page = answer.content.decode()
    assert answer.status_code == 409 and "<del>Renamed</del>" in page and "<ins>Again</ins>" in page
    assert page.count("<del>") == 1
    for kept in (
        'name="phase" value="long"',
        'name="modalities" value="text,image"',
        'name="licence_plan" value="open"',
    ):
        assert kept in page


def test_a_model_may_have_no_modality(world: World, hoshi: Examples) -> None:
    client, model = signed_in(world.person("ml_engineer")), hoshi["models"]
    assert client.post(edit_of(model), fields_of(model, modalities="")).status_code == 303
    with acting_for(world.hoshi):
        assert TrainingModel.objects.get(pk=model.pk).modalities == []


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"active_params_b": "71"}, "71 billion active parameters are more than the total of 70 billion."),
        ({"total_params_b": "-1"}, "greater than or equal to 0"),
        ({"family": "spiral"}, "not one of the available choices"),
        ({"context_length": "9" * 20}, "less than or equal to"),
        ({"name": "a\x00b"}, "Null characters"),
        ({"version": "x"}, "whole number"),
        ({"modalities": "x" * 41}, "at most 40"),
    ],
)
def test_what_cannot_be_is_told_at_the_field(world: World, hoshi: Examples, changes: dict[str, str], told: str) -> None:
    answer = signed_in(world.person("ml_engineer")).post(
        edit_of(hoshi["models"]), fields_of(hoshi["models"], **changes)
    )
    assert answer.status_code == 422
    assert told in answer.content.decode()


def test_a_line_is_added_once_under_one_name(world: World, hoshi: Examples) -> None:
    client = signed_in(world.person("ml_engineer"))
    line = {"component": "NCCL", "software_version": "2.23.4", "source": "declared"}
    assert client.post("/t/hoshi/record/software/add/", line).status_code == 303
    again = client.post("/t/hoshi/record/software/add/", line)
    assert again.status_code == 422
    assert "is there already, as" in again.content.decode()
    with acting_for(world.hoshi):
        assert SoftwareVersion.objects.filter(component="NCCL").count() == 1


def test_customers_read_quotas_and_the_account_team_changes_them(world: World, hoshi: Examples) -> None:
    with acting_for(world.hoshi):
        grant = hoshi["quota"]
    address = f"/t/hoshi/record/quota/{grant.pk}/edit/"
    change = {"approved_instances": "24", "version": "1"}
    assert signed_in(world.person("platform_engineer")).post(address, change).status_code == 403
    assert address not in signed_in(world.person("platform_engineer")).get("/t/hoshi/").content.decode()
    assert address in signed_in(world.person("account_team")).get("/t/hoshi/").content.decode()
    assert signed_in(world.person("account_team")).post(address, change).status_code == 303


def test_a_quota_is_told_in_three_units(world: World, hoshi: Examples) -> None:
    page = signed_in(world.person("business_lead")).get("/t/hoshi/").content.decode()
    for amount in ("4 of 20", "32 of 160", "768 of 3840"):
        assert amount in page


def test_an_internal_note_is_seen_by_staff_and_does_not_exist_for_the_customer(world: World, hoshi: Examples) -> None:
    staff = signed_in(world.person("lead_architect"))
    note = {"medium": "call", "text": "The director is worried.", "audience": "internal"}
    assert staff.post(f"{HISTORY}note/", note).status_code == 303
    assert "The director is worried." in staff.get(HISTORY).content.decode()
    assert "The director is worried." in staff.get(f"{HISTORY}?audience=internal").content.decode()
    for address in (HISTORY, f"{HISTORY}?audience=internal", "/t/hoshi/"):
        assert "The director is worried." not in signed_in(world.person("business_lead")).get(address).content.decode()
    customer = signed_in(world.person("business_lead"))
    assert 'name="audience"' not in customer.get(HISTORY).content.decode()
    assert customer.post(f"{HISTORY}note/", note).status_code == 403


def test_a_note_about_the_past_is_marked_and_one_about_the_future_refused(world: World, hoshi: Examples) -> None:
    staff = signed_in(world.person("lead_architect"))
    note = {"medium": "meeting", "text": "We met.", "audience": "shared"}
    past, future = (f"{timezone.now() + timedelta(days=days):%Y-%m-%dT%H:%M}" for days in (-2, 2))
    assert staff.post(f"{HISTORY}note/", note | {"at": future}).status_code == 422
    assert staff.post(f"{HISTORY}note/", note | {"at": past}).status_code == 303
    assert "written later," in staff.get(f"{HISTORY}?about=interaction").content.decode()


def test_a_correction_is_a_new_entry_and_the_old_one_stays(world: World, hoshi: Examples) -> None:
    staff = signed_in(world.person("lead_architect"))
    with acting_for(world.hoshi, staff=True):
        note_interaction(
            participation=world.participations["hoshi"], medium="call", text="Monday.", audience="shared", by="engine"
        )
        wrong = Entry.objects.latest("id")
    assert staff.post(f"{HISTORY}{wrong.pk}/correct/", {"text": "Tuesday."}).status_code == 303
    page = staff.get(HISTORY).content.decode()
    assert "Monday." in page and "Tuesday." in page and "corrected by a later entry" in page


def test_filters_keep_what_they_say(world: World, hoshi: Examples) -> None:
    client = signed_in(world.person("platform_engineer"))
    with acting_for(world.hoshi):
        entries = list(Entry.objects.values_list("id", "kind"))
    shown = client.get(f"{HISTORY}?about=case").content.decode()
    for pk, kind in entries:
        assert (f'id="e-{pk}"' in shown) == kind.startswith("case."), kind
    tomorrow = f"{timezone.now() + timedelta(days=2):%Y-%m-%d}"
    assert "Nothing matches" in client.get(f"{HISTORY}?start={tomorrow}").content.decode()
    assert 'id="e-' in client.get(f"{HISTORY}?end={tomorrow}").content.decode()


@pytest.mark.parametrize(
    ("query", "status"),
    [("about=nothing", 400), ("cluster=x", 400), ("start=32-13-1", 400), ("end=9999-12-31", 200), ("entry=x", 400), ("entry=999999", 404),
     ("entry=" + "9" * 18, 404), ("cursor=x", 400), ("audience=internal", 200), ("severity=%00", 400)],
)  # fmt: skip
def test_a_filter_that_means_nothing_is_told(world: World, hoshi: Examples, query: str, status: int) -> None:
    assert signed_in(world.person("platform_engineer")).get(f"{HISTORY}?{query}").status_code == status


def test_the_history_is_paged_and_a_link_leads_to_its_entry(world: World, hoshi: Examples) -> None:
    client = signed_in(world.person("platform_engineer"))
    with acting_for(world.hoshi):
        for number in range(60):
            note_interaction(
                participation=world.participations["hoshi"],
                medium="call",
                text=f"call {number}",
                audience="shared",
                by="engine",
            )
        oldest = Entry.objects.earliest("occurred_at", "id")
    first = client.get(HISTORY)
    assert f'id="e-{oldest.pk}"' not in first.content.decode()
    assert first.context["newer"] is None
    second = client.get(first.context["older"])
    again = client.get(second.context["newer"])
    assert [line.id for line in again.context["entries"]] == [line.id for line in first.context["entries"]]
    older = second.content.decode()
    assert f'id="e-{oldest.pk}"' in older and "Newer" in older
    assert f'id="e-{oldest.pk}"' in client.get(f"{HISTORY}?entry={oldest.pk}").content.decode()


def test_the_entry_of_another_tenant_does_not_exist(world: World, hoshi: Examples) -> None:
    examples.make(world, world.umi, 2)
    with acting_for(world.umi):
        foreign = Entry.objects.latest("id")
    assert signed_in(world.person("platform_engineer")).get(f"{HISTORY}?entry={foreign.pk}").status_code == 404
    assert (
        signed_in(world.person("lead_architect")).post(f"{HISTORY}{foreign.pk}/correct/", {"text": "x"}).status_code
        == 404
    )


def test_what_one_request_wrote_is_one_item_that_says_what_was_done(world: World, hoshi: Examples) -> None:
    lead, other = world.person("lead_architect"), world.person("frameworks_specialist")
    staff = signed_in(lead)
    with acting_for(world.hoshi, staff=True):
        case = open_case(tenant=world.hoshi, title="Slow", severity="high", by=lead.actor, text="Slow since noon.")
        with structlog.contextvars.bound_contextvars(request_id=str(uuid.uuid4())):
            note_case(case=case, text="Ellis knows this.", audience="shared", by=lead.actor)
            take_case(case=case, person=other, by=lead.actor)
        ids = list(
            Entry.objects.filter(subject="case", subject_id=case.pk).order_by("-id").values_list("id", flat=True)
        )
    told = {action.head.id: action for action in staff.get(f"{HISTORY}?about=case").context["told"]}
    triaged, given, noted, opened = ids
    assert told[opened].text == "Slow since noon."
    assert told[given].text == "Ellis knows this." and [line.id for line in told[given].more] == [noted, triaged]
    page = staff.get(f"{HISTORY}?entry={noted}").content.decode()
    assert all(f'id="e-{pk}"' in page for pk in ids[:3])
    assert re.search(r'<details class="with" open>', page)  # the link leads into what is closed otherwise


def test_a_day_is_jumped_to_and_what_came_later_is_one_step_back(world: World, hoshi: Examples) -> None:
    staff = signed_in(world.person("lead_architect"))
    days = [timezone.now() - timedelta(days=days) for days in (90, 60, 30)]
    with acting_for(world.hoshi, staff=True):
        for at in days:
            note_interaction(
                participation=world.participations["hoshi"],
                medium="call",
                text="x",
                audience="shared",
                by="engine",
                at=at,
            )
    found = staff.get(f"{HISTORY}?about=interaction&day={days[1]:%Y-%m-%d}")
    assert [line.at for line in found.context["entries"]] == [days[1], days[0]]
    back = found.context["newer"]
    assert "day=" not in back and "about=interaction" in back
    assert days[2] in [line.at for line in staff.get(back).context["entries"]]
    assert staff.get(f"{HISTORY}?day=someday").status_code == 400


def test_what_was_imported_is_not_called_late(world: World, hoshi: Examples) -> None:
    at = timezone.now() - timedelta(days=90)
    with acting_for(world.hoshi, staff=True):
        timeline.record(entries.RECORD_ADDED, about=world.hoshi, by="engine", at=at, source="import", what="a thing")
    page = signed_in(world.person("lead_architect")).get(f"{HISTORY}?about=record&end={at:%Y-%m-%d}").content.decode()
    assert "a thing" in page and "imported" in page and "written later," not in page
