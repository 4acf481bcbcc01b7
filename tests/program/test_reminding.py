"""Reminders before the weekly review: when, of what, to whom, and each once."""

from datetime import UTC, date, datetime, time, timedelta
from typing import Any

import pytest
from django.core import mail as outbox

from program.models import ActionItem
from program.reminding import cutoff_to_remind_of, lacking, remind, until_next_look
from support.actions import note_case, open_case, plan_case, take_case
from support.models import Case
from tenants import mail
from tenants.models import Delivery, Due, Person, Programme
from tenants.wall.acting import acting_for, reading_everyone
from tenants.work import due, heartbeat, loop
from tests.conftest import World

TOKYO = (2, time(18), "Asia/Tokyo")  # Wednesdays at 18:00, which is 09:00 in UTC
DAY = timedelta(days=1)


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("now", "wanted"),
    [
        ("2026-12-01T08:59", None),  # Tuesday, a minute too early
        ("2026-12-01T09:00", "2026-12-02T09:00"),
        ("2026-12-02T08:59", "2026-12-02T09:00"),
        ("2026-12-02T09:00", None),  # frozen: the next one is a week away
        ("2026-12-05T12:00", None),
    ],
)
def test_owners_are_reminded_within_the_day_before_the_cutoff(now: str, wanted: str | None) -> None:
    assert cutoff_to_remind_of(at(now), *TOKYO) == (at(wanted) if wanted else None)


def test_a_day_is_24_hours_also_when_the_clock_is_turned() -> None:
    """Paris leaves summer time on Sunday 2026-10-25: Sunday 18:00 is 17:00 in UTC, Saturday 18:00 was 16:00."""
    sunday = (6, time(18), "Europe/Paris")
    assert cutoff_to_remind_of(at("2026-10-24T16:59"), *sunday) is None
    assert cutoff_to_remind_of(at("2026-10-24T17:00"), *sunday) == at("2026-10-25T17:00")


@pytest.mark.parametrize(
    ("now", "minutes"), [("2026-12-01T08:50", 10), ("2026-11-28T00:00", 60), ("2026-12-01T12:00", 60)]
)
def test_the_next_look_is_at_the_beginning_of_that_day_or_in_an_hour(now: str, minutes: int) -> None:
    assert until_next_look(at(now), *TOKYO) == timedelta(minutes=minutes)


NOW = at("2026-12-01T10:00")


@pytest.mark.parametrize(
    ("step", "by", "shared", "wanted"),
    [
        ("Look", date(2026, 12, 1), NOW - DAY, []),
        ("", None, NOW - DAY, ["no_next_step"]),
        ("Look", date(2026, 11, 30), NOW - DAY, ["step_overdue"]),
        ("Look", None, NOW - 5 * DAY, ["quiet"]),
        ("Look", None, NOW - 5 * DAY + timedelta(seconds=1), []),
        ("Look", None, None, ["quiet"]),  # nobody ever wrote, and it is ten days old
        ("", date(2026, 11, 1), None, ["no_next_step", "step_overdue", "quiet"]),
    ],
)
def test_what_a_case_lacks(step: str, by: date | None, shared: datetime | None, wanted: list[str]) -> None:
    started = NOW - 10 * DAY
    assert lacking(next_step=step, next_step_due=by, started=started, last_shared=shared, now=NOW) == wanted


@pytest.fixture
def tomorrow(world: World) -> datetime:
    """The programme's cut-off is some hours ahead."""
    ahead = datetime.now(UTC) + timedelta(hours=6)
    Programme.objects.update(cutoff_weekday=ahead.weekday(), cutoff_time=ahead.time(), timezone="UTC")
    return ahead


def opened(world: World, owner: Person, title: str = "It broke", tenant: Any = None) -> Case:
    with acting_for(tenant or world.hoshi, staff=True):
        case = open_case(tenant=tenant or world.hoshi, title=title, severity="high", by="engine")
        return take_case(case=case, person=owner, by=owner.actor)


def run() -> None:
    due.wish("remind", "test")
    held = due.claim(["remind"])
    assert held is not None
    remind(held)
    while (held := due.claim(["deliver"])) is not None:
        loop.HANDLERS["deliver"][1](held)


@pytest.mark.django_db
def test_an_owner_gets_one_mail_for_everything_however_often_it_is_looked(world: World, tomorrow: datetime) -> None:
    lead, engineer = world.person("lead_architect"), world.person("ml_engineer")
    first, second = opened(world, lead, "First"), opened(world, lead, "Second", world.umi)
    theirs = opened(world, engineer, "Theirs")
    for _ in range(3):
        run()
    sent = {message.to[0]: message for message in outbox.outbox}
    assert len(outbox.outbox) == 2 and set(sent) == {lead.email, engineer.email}
    body = sent[lead.email].body
    assert "First" in body and "Second" in body and "Theirs" not in body and "no next step" in body
    assert f"/t/umi/cases/{second.pk}/" in body and f"/t/hoshi/cases/{first.pk}/" in body
    assert "Umi" not in sent[engineer.email].body and str(theirs.pk) in sent[engineer.email].body
    with reading_everyone():
        assert {row.tenant.slug for row in Delivery.objects.select_related("tenant")} == {"programme", "hoshi"}


@pytest.mark.django_db
def test_who_has_planned_and_spoken_is_left_in_peace(world: World, tomorrow: datetime) -> None:
    lead = world.person("lead_architect")
    case = opened(world, lead)
    with acting_for(world.hoshi, staff=True):
        plan_case(case=case, owner=lead, next_step="Look", due=tomorrow.date(), by=lead.actor)
        note_case(case=case, text="We look.", audience="shared", by=lead.actor)
    run()
    assert outbox.outbox == []


@pytest.mark.django_db
def test_an_overdue_action_item_is_named(world: World, tomorrow: datetime) -> None:
    lead, long_ago = world.person("lead_architect"), date(2026, 1, 1)
    with acting_for(world.hoshi, staff=True):
        for audience, text in (("internal", "Write the rule."), ("shared", "Pin NCCL.")):
            ActionItem.objects.create(
                tenant=world.hoshi, audience=audience, number=f"AI-{audience}", text=text, owner=lead, due=long_ago,
                due_at_first=long_ago,
            )  # fmt: skip
    run()
    [sent] = outbox.outbox
    assert "Write the rule." in sent.body and "Pin NCCL." in sent.body and "2 things" in sent.subject


@pytest.mark.django_db
def test_a_week_before_nobody_is_reminded(world: World) -> None:
    ahead = datetime.now(UTC) + timedelta(hours=30)
    Programme.objects.update(cutoff_weekday=ahead.weekday(), cutoff_time=ahead.time(), timezone="UTC")
    opened(world, world.person("lead_architect"))
    run()
    assert outbox.outbox == []


@pytest.mark.django_db
def test_what_was_done_before_the_mail_went_out_sends_none(world: World, tomorrow: datetime) -> None:
    lead = world.person("lead_architect")
    case = opened(world, lead)
    due.wish("remind", "test")
    held = due.claim(["remind"])
    assert held is not None
    remind(held)
    with acting_for(world.hoshi, staff=True):
        plan_case(case=case, owner=lead, next_step="Look", due=tomorrow.date(), by=lead.actor)
    run()
    assert outbox.outbox == []
    with reading_everyone():
        assert [row.outcome for row in Delivery.objects.all()] == ["skipped"]


@pytest.mark.django_db
def test_the_looking_begins_also_where_the_portal_ran_before_it_existed(db: Any) -> None:
    heartbeat.begin()
    Due.objects.filter(kind="remind").delete()
    heartbeat.begin()
    assert Due.objects.filter(kind="remind").count() == 1
    assert mail.KINDS["review-reminder"]


@pytest.mark.django_db
def test_a_reminder_that_could_not_go_out_before_the_cutoff_does_not_go_out_at_all(world: World) -> None:
    lead = world.person("lead_architect")
    opened(world, lead)
    with acting_for(world.office, staff=True):
        yesterday = datetime.now(UTC) - DAY
        key = f"{world.cycle.pk} {yesterday.isoformat()}"
        assert mail.tell(person=lead, tenant=world.office, kind="review-reminder", key=key)
    held = due.claim(["deliver"])
    assert held is not None
    loop.HANDLERS["deliver"][1](held)
    assert outbox.outbox == []
