"""What people and programs type into a form of a page that is not what it asks for: each kind with its one answer."""

import re
from typing import Any

import pytest
from django.test import Client

from tenants.history.models import Entry
from tenants.models import DataIngest, Milestone, TrainingModel
from tenants.wall.acting import acting_for
from tests.clusters.test_change_pages import form
from tests.clusters.test_pages import BACKEND, hoshi, signed_in
from tests.conftest import World
from tests.examples import Examples

__all__ = ["hoshi"]

ADD, GATE = "/t/hoshi/record/model/add/", "/t/hoshi/record/milestone/add/"
GOOD = {
    "code": "M-77", "name": "Seven", "family": "dense", "total_params_b": "7", "active_params_b": "7",
    "amount_unit": "billion_tokens",
}  # fmt: skip


def written(world: World) -> tuple[int, int, int]:
    with acting_for(world.hoshi, staff=True):
        return TrainingModel.objects.count(), Milestone.objects.count(), Entry.objects.count()


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": " \t\u3000"}, "name"),
        ({"name": "a\x00b"}, "name"),
        ({"name": "x" * 121}, "name"),
        *(({"layers": value}, "layers") for value in ("-1", "1000000000000", "1e309", "1,000", "many", "1.5")),
        *(({"total_params_b": value}, "total_params_b") for value in ("NaN", "Infinity", "-1", "1e309", "12345678")),
        ({"family": "huge"}, "family"),
        ({"active_params_b": "8"}, "active_params_b"),
    ],
    ids=str,
)
def test_what_no_field_takes_is_said_at_the_field_and_nothing_typed_is_lost(
    world: World, hoshi: Examples, sent: dict[str, str], field: str
) -> None:
    before, client = written(world), signed_in(world.person("ml_engineer"))
    answer = client.post(ADD, GOOD | {"phase": "kept as typed"} | sent)
    page = answer.content.decode()
    assert answer.status_code == 422 and written(world) == before
    assert field in answer.context["form"].errors and 'value="kept as typed"' in page
    assert re.search(rf'name="{field}"[^>]*aria-invalid="true"', page), field


@pytest.mark.parametrize("day", ["0000-00-00", "2030-02-30", "30.2.2030", "tomorrow", "٢٠٣٠-٠١-٠١x"])
def test_a_day_that_is_none_is_refused(world: World, hoshi: Examples, day: str) -> None:
    before, client = written(world), signed_in(world.person("ml_engineer"))
    answer = client.post(GATE, {"title": "x", "kind": "training", "due_on": day})
    assert answer.status_code == 422 and written(world) == before and "due_on" in answer.context["form"].errors


def test_ten_megabytes_in_a_field_are_refused_before_they_are_read(world: World, hoshi: Examples) -> None:
    before, client = written(world), signed_in(world.person("ml_engineer"))
    answer = client.post(ADD, GOOD | {"name": "x" * 10_000_000})
    assert answer.status_code == 413 and written(world) == before


def test_digits_of_another_script_are_digits(world: World, hoshi: Examples) -> None:
    client = signed_in(world.person("ml_engineer"))
    assert client.post(ADD, GOOD | {"layers": "١٢"}).status_code == 303
    with acting_for(world.hoshi):
        assert TrainingModel.objects.get(code="M-77").layers == 12


@pytest.mark.parametrize(
    "name",
    ["<script>alert(1)</script>", "[x][y]\n\n[y]: javascript:alert(1)", '<b hx-get="/" onclick="x" style="y">z</b>',
     "🦊 ﷽ e\u0301", "right\u202eto left", "zero\u200bwidth"],
)  # fmt: skip
def test_what_could_be_more_than_text_is_shown_as_text(world: World, hoshi: Examples, name: str) -> None:
    client = signed_in(world.person("ml_engineer"))
    answer = client.post(ADD, GOOD | {"name": name})
    page = client.get("/t/hoshi/").content.decode()
    if answer.status_code == 422:
        assert "name" in answer.context["form"].errors and "M-77" not in page
    else:
        assert "M-77" in page
    for raw in ("<script>alert", 'href="javascript:', "<b hx-get"):
        assert raw not in page


@pytest.mark.parametrize("code", ["m-77", "Ｍ-７７", " M-77 ", "M-77\u3000"])
def test_a_name_that_people_read_as_another_one_is_refused(world: World, hoshi: Examples, code: str) -> None:
    client = signed_in(world.person("ml_engineer"))
    assert client.post(ADD, GOOD).status_code == 303
    before = written(world)
    answer = client.post(ADD, GOOD | {"code": code})
    assert answer.status_code == 422 and written(world) == before and "code" in answer.context["form"].errors


def test_the_same_drawing_of_a_form_is_one_thing_and_another_drawing_another(world: World, hoshi: Examples) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(world.person("ml_engineer"), BACKEND)

    def drawn() -> dict[str, str]:
        return form(client.get(GATE).content.decode(), title="Once", kind="training", due_on="2031-01-01")

    sent = drawn()
    first, again = client.post(GATE, sent), client.post(GATE, sent)
    assert (first.status_code, again.status_code) == (303, 303) and first["Location"] == again["Location"]
    with acting_for(world.hoshi):
        assert Milestone.objects.filter(title="Once").count() == 1
    wrong = sent | {"title": ""}
    assert [client.post(GATE, wrong).status_code for _ in range(2)] == [422, 422]
    assert client.post(GATE, drawn() | {"title": "Twice"}).status_code == 303
    with acting_for(world.hoshi):
        assert Milestone.objects.filter(title__in=["Once", "Twice"]).count() == 2


def test_an_old_text_is_refused_beside_the_new_one_and_keeps_what_was_typed(world: World, hoshi: Examples) -> None:
    model, client = hoshi["model"], signed_in(world.person("ml_engineer"))
    address = f"/t/hoshi/record/model/{model.pk}/edit/"
    mine = form(client.get(address).content.decode())
    assert client.post(address, mine | {"phase": "theirs"}).status_code == 303
    answer = client.post(address, mine | {"phase": "mine"})
    page = answer.content.decode()
    assert answer.status_code == 409 and 'value="mine"' in page and "theirs" in page


def test_what_is_another_participants_does_not_exist(world: World, hoshi: Examples) -> None:
    with acting_for(world.umi):
        theirs = DataIngest.objects.values_list("pk", flat=True).first()
    client = signed_in(world.person("ml_engineer"))
    nowhere = client.get(f"/t/hoshi/record/ingest/{hoshi['model'].pk}/edit/")
    assert nowhere.status_code == 404
    if theirs:
        assert client.get(f"/t/hoshi/record/ingest/{theirs}/edit/").status_code == 404


def test_a_form_from_elsewhere_is_refused_with_a_way_back(world: World, hoshi: Examples) -> None:
    client: Any = Client(enforce_csrf_checks=True)
    client.force_login(world.person("ml_engineer"), BACKEND)
    before = written(world)
    answer = client.post(ADD, GOOD | {"csrfmiddlewaretoken": "x" * 64})
    assert answer.status_code == 403 and written(world) == before
    assert re.search(r'<a [^>]*href="/', answer.content.decode())
