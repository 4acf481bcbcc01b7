"""The onboarding list of a cycle: shipped until it is changed, versioned, limited, copied, and laid out as it is then."""

import json
from typing import Any
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone, translation

from program import checklists, onboarding
from program.calls import cycles
from program.models import ChecklistStep, Onboarding, OnboardingStep
from tenants.history.models import Entry
from tenants.models import Cycle
from tenants.wall.acting import acting_for, reading_everyone
from tenants.web.problems import Refused, Stale
from tests.conftest import World

BACKEND = "allauth.account.auth_backends.AuthenticationBackend"
SHIPPED = [text for text, *_rest in checklists.CHECKLIST]


def steps(cycle: Cycle) -> list[ChecklistStep]:
    with reading_everyone():
        return checklists.steps_of(cycle.pk)


def texts(cycle: Cycle) -> list[str]:
    return [one.text for one in steps(cycle)]


def planned(world: World, slug: str) -> Onboarding:
    tenant = world.participations[slug].tenant
    with acting_for(tenant, staff=True):
        return onboarding.plan_onboarding(
            participation=world.participations[slug],
            lead=world.person("lead_architect"),
            held_at=timezone.now(),
            minutes=60,
            by="engine",
        )


def test_a_list_is_changed_and_laid_out_as_it_is_then(world: World) -> None:
    cycle = world.cycle
    assert texts(cycle) == SHIPPED and not ChecklistStep.objects.exists()
    before = planned(world, "hoshi")
    first = steps(cycle)[0]
    own = checklists.add_step(cycle=cycle, by="engine", text=" our own step ", help="Ask us.", measure="nccl")
    assert steps(cycle)[0].pk == first.pk, "written with the first change, and known by the same id"
    checklists.move_step(cycle=cycle, step=own.pk, to="up", by="engine", version=1)
    checklists.move_step(cycle=cycle, step=first.pk, to="up", by="engine")  # it stays
    checklists.remove_step(cycle=cycle, step=first.pk, by="engine", version=1)
    second = steps(cycle)[0]
    checklists.change_step(cycle=cycle, step=second.pk, values={"text": "plan confirmed"}, by="engine", version=1)
    now = ["plan confirmed", *SHIPPED[2:-1], "our own step", SHIPPED[-1]]
    assert texts(cycle) == now and [one.position for one in steps(cycle)] == list(range(1, 13))

    after = planned(world, "umi")
    with reading_everyone():
        laid = list(OnboardingStep.objects.filter(onboarding=after).order_by("position"))
        old = list(OnboardingStep.objects.filter(onboarding=before).order_by("position"))
        told = list(Entry.objects.filter(kind__startswith="checklist.").order_by("id").values_list("kind", "facts"))
    assert [one.text for one in laid] == now and [one.text for one in old] == SHIPPED
    assert (laid[10].measure, checklists.help_of(laid[10])) == ("nccl", "Ask us.")
    with translation.override("ja"):
        assert checklists.worded(laid[0].text) == "plan confirmed"
        assert checklists.worded(laid[1].text) != laid[1].text and checklists.help_of(laid[0]) != laid[0].help
    kinds = [kind.removeprefix("checklist.") for kind, _facts in told]
    assert sorted(kinds) == ["added", "changed", "moved", "removed"]
    changed = next(facts for kind, facts in told if kind == "checklist.changed")
    assert changed["changes"] == {"text": [SHIPPED[1], "plan confirmed"]}


def test_a_shipped_step_that_is_saved_in_japanese_as_it_is_goes_on_being_translated(world: World) -> None:
    first = steps(world.cycle)[0]
    with translation.override("ja"):
        same = {"text": checklists.worded(first.text), "help": checklists.worded(first.help), "measure": "nccl"}
        made = checklists.change_step(cycle=world.cycle, step=first.pk, values=same, by="engine")
    assert (made.text, made.help, made.measure) == (first.text, first.help, "nccl")


def test_what_a_list_refuses(world: World) -> None:
    cycle, own = world.cycle, checklists.add_step(cycle=world.cycle, by="engine", text="own")
    checklists.change_step(cycle=cycle, step=own.pk, values={"text": "theirs"}, by="engine", version=1)
    with pytest.raises(Stale) as stale:
        checklists.change_step(
            cycle=cycle, step=own.pk, values={"text": "mine", "measure": "nccl"}, by="engine", version=1
        )
    measures = ["", "NCCL or NCCOM test"]
    assert stale.value.facts["changes"] == {"text": ["theirs", "mine"], "measure": measures}
    for values, code in (
        ({"text": " "}, "no_text"),
        ({"text": "x" * 201}, "too_long"),
        ({"help": "x" * 1001}, "too_long"),
        ({"measure": "ruler"}, "unknown_measure"),
        ({"text": SHIPPED[3]}, "step_twice"),
    ):
        with pytest.raises(Refused) as refused:
            checklists.change_step(cycle=cycle, step=own.pk, values=values, by="engine")
        assert (refused.value.code, refused.value.status) == (code, 422), values
    with pytest.raises(Refused, match="not in the list"):
        checklists.remove_step(cycle=cycle, step=uuid4(), by="engine")
    with acting_for(world.office, staff=True):
        ChecklistStep.objects.all().delete()
        rows = [{"text": f"step {n}"} for n in range(40)]
        checklists.write_steps(cycle, world.office, rows)
    with pytest.raises(Refused, match="40 steps"):
        checklists.add_step(cycle=cycle, by="engine", text="one more")
    with acting_for(world.office, staff=True):
        ChecklistStep.objects.exclude(position=1).delete()
    with pytest.raises(Refused, match="only step"):
        checklists.remove_step(cycle=cycle, step=steps(cycle)[0].pk, by="engine")


def test_it_is_copied_with_its_cycle(world: World) -> None:
    checklists.add_step(cycle=world.cycle, by="engine", text="our own step", help="Ask us.")
    day = world.cycle.starts_on.replace(year=world.cycle.starts_on.year + 1)
    made = cycles.copy(cycle=world.cycle, code="next", name="Next", starts_on=day, by="engine")
    checklists.add_step(cycle=world.cycle, by="engine", text="not copied")
    assert texts(made) == [*SHIPPED, "our own step"] and steps(made)[-1].help == "Ask us."


def test_the_office_edits_it_on_the_page_and_by_the_api(world: World, client: Client) -> None:
    officer = world.person("programme_officer")
    client.force_login(officer, backend=BACKEND)
    page, here = f"/cycles/{world.cycle.pk}/", f"/t/programme/cycles/{world.cycle.pk}/checklist/"
    assert SHIPPED[0] in client.get(page).content.decode()
    assert client.post(f"{here}add/", {"text": "our own step", "help": "Ask us."}).status_code == 303
    own = steps(world.cycle)[-1]
    assert "Ask us." in client.get(page).content.decode()
    assert client.post(f"{here}{own.pk}/", {"text": "theirs", "help": "Ask us.", "version": "1"}).status_code == 303
    both = client.post(f"{here}{own.pk}/", {"text": "mine", "help": "Ask us.", "version": "1"})
    assert both.status_code == 409 and "theirs" in both.content.decode() and "mine" in both.content.decode()
    assert client.post(f"{here}{own.pk}/move/", {"to": "up", "version": "2"}).status_code == 303
    late = client.post(f"{here}{own.pk}/remove/", {"version": "2"})
    assert late.status_code == 409
    assert "Yes, remove it" in client.get(f"{here}{own.pk}/remove/").content.decode()
    assert client.post(f"{here}{own.pk}/remove/", {"version": "3"}).status_code == 303
    assert client.get(f"{here}{own.pk}/").status_code == 404
    assert texts(world.cycle) == SHIPPED

    api = f"/api/v1/t/programme/cycles/{world.cycle.pk}/checklist/"

    def post(path: str, **sent: Any) -> Any:
        return client.post(api + path, json.dumps(sent), content_type="application/json")

    made = post("", text="by the API", measure="nccl")
    assert made.status_code == 201 and made.json()["steps"][-1]["measure"] == "nccl"
    pk = made.json()["steps"][-1]["id"]
    assert post(f"{pk}/change/", help="Told.", version=1).json()["steps"][-1]["help"] == "Told."
    assert post(f"{pk}/change/", text="late", version=1).status_code == 409
    assert post(f"{pk}/move/", to="up", version=2).json()["steps"][-2]["text"] == "by the API"
    assert len(post(f"{pk}/remove/", version=3).json()["steps"]) == 12
    assert len(client.get(f"/api/v1/cycles/{world.cycle.pk}/checklist/").json()["steps"]) == 12


FITS = [{"text": "one"}, {"text": "two", "help": "Ask.", "measure": "nccl"}]


@pytest.mark.parametrize(
    ("rows", "wrong"),
    [
        (FITS, []),
        ([], ["c: is a list of 1 to 40 steps; leave it out for the usual ones"]),
        ([{"text": "x"}, {"text": "x"}], ["c[1].text: x is there twice"]),
        ([{"help": "x"}], ["c[0].text: is missing"]),
        ([{"text": 4}], ["c[0]: is a step, with texts as text, help and measure"]),
        ([{"text": "x", "owner": "y"}], ["c[0]: owner is none of text, help, measure"]),
    ],
)
def test_what_a_file_may_say(rows: Any, wrong: list[str]) -> None:
    assert list(checklists.problems("c", rows)) == wrong


def test_a_step_of_a_file_is_told_by_its_text_or_whole() -> None:
    known = {"two": FITS[1]}
    assert checklists.laid_out("two", known) == {"text": "two", "help": "Ask.", "measure": "nccl"}
    assert checklists.laid_out(SHIPPED[8], {})["measure"] == "nccl"
    assert checklists.laid_out("other", known) == {"text": "other", "help": "", "measure": ""}
    assert checklists.laid_out(FITS[0], known) == {"text": "one", "help": "", "measure": ""}
