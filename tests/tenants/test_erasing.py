"""People who are forgotten: two of the office do it, access and addresses go, and what they changed is still told whole."""

import csv
import io
import json
from uuid import UUID

import pytest
from django.test import Client

from clusters.forms import BucketForm, QuotaForm
from support.actions import open_case, take_case
from tenants import contacts, erasing, inviting
from tenants.actions import edit_record
from tenants.history.models import Entry
from tenants.models import ApiToken, Contact, Erasure, Invitation, JoinRequest, Person
from tenants.queries import lines
from tenants.record_blocks import PARTICIPATION_FIELDS
from tenants.wall.acting import acting_for
from tenants.wall.identity import issue_token
from tenants.web.problems import Refused
from tests.clusters.test_pages import hoshi, signed_in
from tests.conftest import World
from tests.examples import Examples
from tests.tenants.test_record_blocks import editable, other_value

__all__ = ["hoshi"]

# What is edited of a participation beside the blocks of its record: (noun, field).
BESIDE = [
    *(("participations", name) for name in (*PARTICIPATION_FIELDS, "allowed_regions")),
    *(("quotas", name) for name in (*QuotaForm.Meta.fields,)),
    *(("bucket", name) for name in (*BucketForm.Meta.fields,)),
]
ONE, TWO, THREE = UUID(int=1), UUID(int=2), UUID(int=3)


@pytest.mark.parametrize(
    ("asked_by", "decides", "erased", "may"),
    [(ONE, TWO, THREE, True), (ONE, ONE, THREE, False), (ONE, TWO, TWO, False), (ONE, TWO, ONE, True)],
)
def test_who_asked_and_who_is_erased_do_not_do_it(asked_by: UUID, decides: UUID, erased: UUID, may: bool) -> None:
    assert erasing.two_persons(asked_by=asked_by, decides=decides, erased=erased) is may


def erase(world: World, person: Person) -> None:
    asker, doer = world.person("programme_officer"), world.person("programme_manager")
    with acting_for(world.office, staff=True):
        row = erasing.ask(email=person.email, reason="By letter", office=world.office, by=asker.actor, person=asker)
        with pytest.raises(Refused) as refused:
            erasing.erase(erasure=row, by=asker.actor, person=asker)
        assert refused.value.code == "two_persons"
        erasing.erase(erasure=row, by=doer.actor, person=doer)


def change_everything(made: Examples, by: str) -> dict[tuple[str, str], tuple[Entry, str]]:
    """Every editable field of the record, changed once with a reason: (block, field) -> the entry and what is now there."""
    told: dict[tuple[str, str], tuple[Entry, str]] = {}
    models = type(made["model"]).objects
    of = {"tenant": made.tenant, "participation": made["participations"], "total_params_b": 1, "active_params_b": 1}
    models.create(**of, code="other", name="Other", family="dense")  # an evaluation has to name one
    for word, name in [*editable(), *BESIDE]:
        line = type(made[word]).objects.get(pk=made[word].pk)
        new = 7 if name == "approved_instances" else other_value(line._meta.get_field(name), getattr(line, name))
        if (word, name) == ("model", "code"):
            new = "M2"
        if (word, name) == ("ingest", "method"):
            line = edit_record(block=line, changes={"engine_state": ""}, version=line.version, by=by, why="first")
        if (word, name) == ("ingest", "engine_state"):
            continue  # it was emptied with the method
        why = f"because of {word} {name}"
        edit_record(block=line, changes={name: new}, version=line.version, by=by, why=why)
        entry = Entry.objects.filter(kind="record.changed", subject_id=line.pk).order_by("-id").first()
        assert entry is not None
        told[word, name] = entry, why
        models.filter(code="M2").update(code="M1")
    return told


def test_a_change_to_any_field_outlives_whoever_made_it_in_page_api_and_file(world: World, hoshi: Examples) -> None:
    author = world.person("lead_architect")
    with acting_for(world.hoshi, staff=True):
        told = change_everything(hoshi, author.actor)
    erase(world, author)
    author.refresh_from_db()
    reader = signed_in(world.person("ml_engineer"))
    seen: dict[int, dict[str, object]] = {}
    address = "/api/v1/t/hoshi/entries/?kind=record.changed&page_size=200"
    while address:
        answer = reader.get(address).json()
        seen |= {one["id"]: one for one in answer["results"]}
        address = answer["next"]
    pages, address = "", "/t/hoshi/history/?about=record"
    while address:
        page = reader.get(address)
        pages, address = pages + page.content.decode(), page.context["older"]
    file = reader.get("/t/hoshi/history/file/?about=record").content.decode("utf-8-sig")
    lines = {(int(row["Entry"]), row["Why"]): row for row in csv.DictReader(io.StringIO(file))}
    assert len(told) > 50
    for (word, name), (entry, why) in told.items():
        one = seen[entry.pk]
        pair = one["facts"]["changes"][name]  # type: ignore[index]
        assert pair == entry.facts["changes"][name] and pair[0] != pair[1], (word, name)
        assert (one["actor"], one["actor_name"], one["text"]) == (author.actor, str(author), why)
        assert one["occurred_at"] and f'id="e-{entry.pk}"' in pages and why in pages, (word, name)
        row = lines[entry.pk, why]
        assert (
            row["Who"] == str(author) and row["When"] == entry.occurred_at.isoformat() and row["Before"] != row["After"]
        )
    assert str(author).startswith("a former member (") and "Lead Architect" not in file + pages + json.dumps(seen)


def test_erasing_ends_access_and_leaves_no_address_anywhere(world: World) -> None:
    leaver, lead = world.person("ml_engineer"), world.person("business_lead")
    mine, everywhere = leaver.email, signed_in(leaver)
    _row, text = issue_token(person=leaver, name="My laptop")
    with acting_for(world.hoshi, staff=True):
        case = open_case(tenant=world.hoshi, title="Slow", severity="low", by="engine")
        take_case(case=case, person=leaver, by=leaver.actor)
        told = {"duty": "data", "person": leaver, "name": leaver.name, "email": mine}
        row = contacts.add(tenant=world.hoshi, by=lead.actor, **told)
        contacts.edit(contact=row, by=lead.actor, version=1, **told, phone="+81 3 1", hours="Mon to Fri")
        other = contacts.add(tenant=world.hoshi, by=leaver.actor, duty="billing", name="Accounts", email="a@b.example")
        contacts.edit(contact=other, by=leaver.actor, version=1, phone="+81 3 2", email=mine)
        contacts.edit(contact=other, by=leaver.actor, version=2, phone="+81 3 3", email="c@b.example")
    with acting_for(world.umi, staff=True):
        asked = {"email": mine, "role": "viewer", "by": lead.actor, "giver": "business_lead"}
        inviting.invite(tenant=world.umi, **asked)
        JoinRequest.objects.create(tenant=world.umi, email=mine, name=leaver.name, message="Let me in")
    erase(world, leaver)
    leaver.refresh_from_db()
    assert everywhere.get("/t/hoshi/").status_code == 302
    assert Client(headers={"Authorization": f"Bearer {text}"}).get("/api/v1/me/").status_code == 401
    assert not leaver.is_active and leaver.erased_at and not ApiToken.objects.filter(name="My laptop").exists()
    with acting_for(world.hoshi, world.umi, staff=True):
        assert [one.email for one in Contact.objects.all()] == ["c@b.example"]
        texts = [line.text for line in lines(list(Entry.objects.filter(kind="contact.changed").order_by("id")))]
        assert texts == ["hours: – → Mon to Fri\nphone: – → +81 3 1", "", ""], "who is gone is named by none of them"
        left = [*Invitation.objects.values_list("email", "state"), *JoinRequest.objects.values_list("email", "state")]
        assert left == [(leaver.email, "withdrawn"), (leaver.email, "declined")]
        case.refresh_from_db()
        assert case.owner is None
    page = signed_in(world.person("programme_manager")).get("/t/programme/erasures/").content.decode()
    assert "By letter" in page and str(leaver) in page and mine not in page
    with acting_for(world.office, staff=True):
        assert Erasure.objects.get().state == "done"
        kinds = Entry.objects.filter(kind__startswith="erasure.").order_by("id").values_list("kind", flat=True)
        assert list(kinds) == ["erasure.asked", "erasure.done"]


def test_the_pages_of_the_office_ask_refuse_and_erase(world: World) -> None:
    officer, manager = world.person("programme_officer"), world.person("programme_manager")
    first, second = signed_in(officer), signed_in(manager)
    body = {"email": "nobody@example.org", "reason": "By letter"}
    unknown = first.post("/t/programme/erasures/ask/", body)
    assert unknown.status_code == 422 and "Nobody has the address nobody@example.org" in unknown.content.decode()
    stranger = world.people["stranger"]
    assert first.post("/t/programme/erasures/ask/", body | {"email": stranger.email}).status_code == 303
    assert first.post("/t/programme/erasures/ask/", body | {"email": stranger.email}).status_code == 409
    with acting_for(world.office, staff=True):
        row = Erasure.objects.get()
    assert first.post(f"/t/programme/erasures/{row.pk}/erase/").status_code == 403
    assert signed_in(world.person("business_lead")).get("/t/hoshi/erasures/").status_code == 403
    assert second.get("/t/hoshi/erasures/").status_code == 404
    no = f"/t/programme/erasures/{row.pk}/decline/"
    assert second.post(no, {"why": ""}).status_code == 422
    assert second.post(f"/t/programme/erasures/{row.pk}/erase/").status_code == 303
    assert second.post(no, {"why": "no"}).status_code == 409
    stranger.refresh_from_db()
    assert stranger.email.endswith("@erased.invalid")


def test_a_token_that_sees_no_internal_text_erases_nobody(world: World) -> None:
    asker, leaver = world.person("programme_officer"), world.person("ml_engineer")
    _row, text = issue_token(person=asker, name="A program")
    told = json.dumps({"email": leaver.email, "reason": "By letter"})
    client = Client(headers={"Authorization": f"Bearer {text}"})
    answer = client.post("/api/v1/t/programme/erasures/", told, content_type="application/json")
    assert (answer.status_code, answer.json()["code"]) == (403, "internal_token")
    assert not Erasure.objects.exists()
