"""A customer's overview: what waits, the days ahead, jobs, limits and helpers; and nothing of anybody else."""

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from django.test import Client
from django.utils import timezone

from clusters.models import Reservation
from program import first_steps, home
from program.models import Onboarding, Report
from support.actions import ask_customer
from support.models import Case
from tenants.models import Cycle, FrameworkUse, Milestone, Participation
from tenants.wall.acting import acting_for
from tests.clusters.test_pages import hoshi, signed_in
from tests.conftest import World
from tests.examples import Examples

__all__ = ["hoshi"]


def test_what_waits_for_the_participant_is_listed_with_its_day_the_earliest_first(
    world: World, hoshi: Examples
) -> None:
    today = timezone.now().date()
    with acting_for(world.hoshi, staff=True):
        ask_customer(
            case=Case.objects.get(pk=hoshi["cases"].pk), text="Which driver?", by=world.person("lead_architect").actor
        )
        owed = {"tenant": world.hoshi, "participation": hoshi["participations"], "kind": "final_report", "period": "C2"}
        Report.objects.create(**owed, due_on=today - timedelta(days=1))
        late = Milestone.objects.create(
            tenant=world.hoshi,
            participation=hoshi["participations"],
            title="Third of it",
            kind="training",
            due_on=today,
        )
    page = signed_in(world.person("business_lead")).get("/")
    waits = page.context["waits"]
    assert [(one.what, is_late) for one, is_late in waits][0] == ("the report is to be handed in", True)
    assert {one.what for one, _late in waits} >= {"the case waits for your answer", "the data is not ready"}
    assert late.title in [one.title for one in page.context["days"]]
    text = page.content.decode()
    assert "Waits for you" in text and "Crawl" in text and "20" in text and "p5.48xlarge" in text


def test_staff_and_other_customers_see_none_of_it(world: World, hoshi: Examples) -> None:
    other = signed_in(world.person("business_lead", world.umi)).get("/")
    assert other.context["waits_in_all"] == 0 and "Crawl" not in other.content.decode()
    assert "waits" not in signed_in(world.person("programme_manager")).get("/").context


def test_days_further_than_two_months_ahead_or_past_are_not_shown(world: World, hoshi: Examples) -> None:
    today = timezone.now().date()
    with acting_for(world.hoshi, staff=True):
        for days in (-1, 60, 61):
            Milestone.objects.create(
                tenant=world.hoshi, participation=hoshi["participations"], title=f"in {days}", kind="data",
                due_on=today + timedelta(days=days),
            )  # fmt: skip
    with acting_for(world.hoshi):
        assert [one.title for one in home.days(today, ZoneInfo("UTC")) if one.title.startswith("in ")] == ["in 60"]


def test_nobody_signed_in_sees_no_overview(world: World) -> None:
    assert Client().get("/").status_code == 302


def test_a_moment_falls_on_its_day_in_the_readers_zone(world: World, hoshi: Examples) -> None:
    tomorrow = timezone.now().date() + timedelta(days=1)
    late = datetime.combine(tomorrow, time(23, 30), UTC)
    with acting_for(world.hoshi, staff=True):
        Reservation.objects.update(ends_at=late)
        for zone, on in (("UTC", tomorrow), ("Asia/Tokyo", tomorrow + timedelta(days=1))):
            found = home.days(timezone.now().date(), ZoneInfo(zone))
            assert [one.on for one in found if one.what == "the reservation ends"] == [on]


def test_first_steps_are_ticked_off_by_the_facts_and_link_where_the_reader_may_act() -> None:
    facts = {name: name == "model" for name, *_rest in first_steps.STEPS}
    shown = first_steps.steps(facts, tenant="hoshi", role="platform_engineer")
    assert [one.done for one in shown].count(True) == 1 and shown[2].done
    assert shown[7].address == "/t/hoshi/accounts/add/" and shown[1].address == ""
    assert not any(one.address for one in first_steps.steps(facts, tenant="hoshi", role="viewer")[:-1])


def test_a_step_that_is_not_the_reader_s_says_whose_it_is() -> None:
    facts = {name: name == "model" for name, *_rest in first_steps.STEPS}
    seats = [("business_lead", "Ai"), ("viewer", "Bo"), ("platform_engineer", "Cy")]
    shown = first_steps.steps(facts, tenant="hoshi", role="viewer", seats=seats)
    named = {one.address or one.title: (one.roles, one.people) for one in shown}
    assert named["Invite a colleague"] == (("business_lead", "technical_lead"), (("business_lead", "Ai"),))
    assert named["Connect the cloud account"] == (
        ("technical_lead", "platform_engineer"),
        (("platform_engineer", "Cy"),),
    )
    assert named["Record the model to be trained"] == ((), ())  # done
    assert named["/t/hoshi/capacity/"] == ((), ())  # the reader's own


def test_a_newcomer_reads_the_first_steps_and_who_leads_the_onboarding(world: World, hoshi: Examples) -> None:
    lead, held = world.person("lead_architect"), timezone.now() + timedelta(days=3)
    with acting_for(world.hoshi, staff=True):
        Onboarding.objects.all().delete()
        place = hoshi["participations"]
        Onboarding.objects.create(tenant=world.hoshi, participation=place, lead=lead, held_at=held, minutes=60)
    page = signed_in(world.person("business_lead")).get("/")
    [found] = page.context["first_steps"]
    assert 0 < found.done < len(found.steps) and "First steps" in page.content.decode()
    shown = signed_in(world.person("viewer")).get("/").content.decode()
    assert "Who may do it:" in shown and world.person("business_lead").name in shown
    assert lead in [one["person"] for one in page.context["helpers"]]
    assert "Onboarding" in [one.title for one in page.context["days"]]
    assert "no lead architect" not in page.content.decode()
    assert "first_steps" not in signed_in(world.person("programme_manager")).get("/").context


def test_a_participant_s_page_begins_with_where_one_can_jump_and_folds_what_is_empty(
    world: World, hoshi: Examples
) -> None:
    with acting_for(world.hoshi, staff=True):
        FrameworkUse.objects.all().delete()
    page = signed_in(world.person("viewer")).get("/t/hoshi/")
    html, jumps = page.content.decode(), page.context["jumps"]
    assert all(f'id="{one.place}"' in html and f'href="#{one.place}"' in html for one in jumps)
    counted = {one.place: one.count for one in jumps}
    assert counted["models"] == 1 and counted["frameworks"] == 0
    assert "<summary>No framework recorded</summary>" in html


def test_a_gate_that_is_decided_is_no_day_ahead_and_a_participation_has_a_last_day_of_its_own(
    world: World, hoshi: Examples
) -> None:
    today = timezone.now().date()
    gate, last, own = (today + timedelta(days=n) for n in (5, 20, 10))
    Cycle.objects.filter(pk=world.cycle.pk).update(stage_gate_on=gate, ends_on=last, final_report_due=None)

    def shown() -> list[tuple[str, date]]:
        with acting_for(world.hoshi):
            return [(one.what, one.on) for one in home.days(today, ZoneInfo("UTC")) if one.title == world.cycle.name]

    assert shown() == [("stage gate", gate), ("the cycle ends", last)]
    with acting_for(world.hoshi, staff=True):
        Participation.objects.update(gate="passed", gate_on=today, ends_on=own)
    assert shown() == [("the participation ends", own)]


def test_the_page_of_a_participant_offers_the_next_first_step(world: World) -> None:
    page = signed_in(world.person("technical_lead")).get("/t/hoshi/").content.decode()
    assert 'id="next-step"' in page and "First steps: 1 of 9 done. Next:" in page
    assert 'id="next-step"' not in signed_in(world.person("lead_architect")).get("/t/hoshi/").content.decode()
