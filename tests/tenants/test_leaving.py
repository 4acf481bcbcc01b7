"""Roles that change and end: removal reaches everything in one transaction, keeps the history, and never the last lead."""

from datetime import UTC, date, datetime, timedelta

import pytest
from django.test import Client
from django.utils import timezone

from program.decisions import give_action_item
from support.actions import open_case, take_case
from support.models import Case
from tenants import inviting, leaving
from tenants.history.models import Entry
from tenants.models import ApiToken, Assignment, DutyShift, Invitation, Membership, holding
from tenants.programme_day import programme_today
from tenants.queries import lines
from tenants.wall.acting import acting_for
from tenants.wall.identity import issue_token
from tenants.web.problems import Refused
from tests.conftest import World

BACKEND = "allauth.account.auth_backends.AuthenticationBackend"


@pytest.mark.parametrize(
    ("role", "others", "own", "at_office", "may_not_go"),
    [
        ("business_lead", 0, True, False, True),
        ("technical_lead", 0, True, False, True),
        ("business_lead", 1, True, False, False),
        ("business_lead", 0, False, False, False),  # the office may
        ("viewer", 0, True, False, False),
        ("programme_manager", 0, False, True, True),
        ("programme_manager", 1, True, True, False),
        ("auditor", 0, True, True, False),
    ],
)
def test_who_may_not_go(role: str, others: int, own: bool, at_office: bool, may_not_go: bool) -> None:
    assert leaving.last_lead(role=role, others=others, own=own, at_office=at_office) is may_not_go


def seat(world: World, role: str) -> Membership:
    return Membership.objects.exclude(tenant=world.umi).get(person=world.person(role))


def remove(world: World, role: str, by: str = "business_lead", why: str = "") -> leaving.Left:
    person = world.person(by)
    with acting_for(world.hoshi):
        return leaving.remove(seat=seat(world, role), by=person.actor, person=person, why=why)


@pytest.mark.django_db
def test_removal_reaches_everything_at_once_and_keeps_the_history(world: World, client: Client) -> None:
    leaver, lead = world.person("ml_engineer"), world.person("business_lead")
    Membership.objects.create(person=leaver, tenant=world.umi, role="viewer", starts_on=date(2020, 1, 1))
    client.force_login(leaver, BACKEND)
    assert client.get("/t/hoshi/").status_code == 200
    _row, here = issue_token(person=leaver, name="here", tenant=world.hoshi)
    _row, everywhere = issue_token(person=leaver, name="everywhere")
    with acting_for(world.hoshi):
        case = open_case(tenant=world.hoshi, title="Slow", severity="low", by="engine")
        take_case(case=case, person=leaver, by=leaver.actor)
        sent = inviting.invite(
            tenant=world.hoshi, email="friend@example.org", role="viewer", by=leaver.actor, giver="business_lead"
        )
    left = remove(world, "ml_engineer", why="Left the company")
    assert (left.tokens, left.invitations, left.unowned) == (1, 1, {"case": 1})
    assert client.get("/t/umi/").status_code == 302, "the session is over, everywhere"
    leaver.refresh_from_db()
    client.force_login(leaver, BACKEND)
    assert client.get("/t/hoshi/").status_code == 404 and client.get("/t/umi/").status_code == 200
    for token, status in ((here, 401), (everywhere, 200)):
        answer = Client().get("/api/v1/me/", headers={"Authorization": f"Bearer {token}"})
        assert answer.status_code == status
        assert status == 401 or [one["tenant"] for one in answer.json()["seats"]] == ["umi"]
    with acting_for(world.hoshi):
        assert Case.objects.get(pk=case.pk).owner is None
        assert Invitation.objects.get(pk=sent.pk).state == "withdrawn"
        told = [line.sentence for line in lines(list(Entry.objects.order_by("-id")[:4]))]
    assert told[0] == "Business Lead@Hoshi removed Ml Engineer@Hoshi"
    assert "The case CASE-0001 has no owner any more: Ml Engineer@Hoshi left" in told
    row = seat_of_the_past(world, leaver)
    assert row.starts_on == date(2020, 1, 1) and row.ends_on == programme_today() and row.ended_at is not None
    client.force_login(lead, BACKEND)
    assert case.number in client.get("/cases/?owner=nobody").content.decode()
    assert "Ml Engineer" in client.get("/t/hoshi/people/").content.decode(), "among those who had access before"
    with pytest.raises(Refused) as refused, acting_for(world.hoshi):
        leaving.remove(seat=row, by=lead.actor, person=lead)
    assert refused.value.code == "seat_over"


def seat_of_the_past(world: World, person: object) -> Membership:
    return Membership.objects.get(person=person, tenant=world.hoshi)


@pytest.mark.django_db
def test_the_last_lead_cannot_leave_alone_and_the_office_may_take_it_away(world: World) -> None:
    remove(world, "technical_lead")
    with pytest.raises(Refused) as refused:
        remove(world, "business_lead")
    assert refused.value.code == "last_lead"
    lead = world.person("business_lead")
    for wish in ({"role": "viewer"}, {"role": "business_lead", "ends_on": programme_today()}):
        mine = seat(world, "business_lead")
        with pytest.raises(Refused) as refused, acting_for(world.hoshi):
            leaving.change(seat=mine, by=lead.actor, person=lead, giver="business_lead", **wish)
        assert refused.value.code == "last_lead"
    remove(world, "business_lead", by="lead_architect")
    manager = world.person("programme_manager")
    with acting_for(world.office, staff=True), pytest.raises(Refused) as refused:
        leaving.remove(seat=seat(world, "programme_manager"), by=manager.actor, person=manager)
    assert refused.value.code == "last_lead"


@pytest.mark.django_db
def test_who_leaves_the_office_looks_after_nobody_and_owns_nothing_anywhere(world: World) -> None:
    leaver, manager = world.person("account_team"), world.person("programme_manager")
    issue_token(person=leaver, name="all")
    with acting_for(world.umi, staff=True):
        case = open_case(tenant=world.umi, title="Slow", severity="low", by="engine")
        take_case(case=case, person=leaver, by=leaver.actor)
        inviting.invite(
            tenant=world.umi, email="friend@example.org", role="viewer", by=leaver.actor, giver="lead_architect"
        )
    with acting_for(world.office, staff=True):
        left = leaving.remove(seat=seat(world, "account_team"), by=manager.actor, person=manager)
    assert (left.tokens, left.duties, left.invitations, left.unowned) == (1, 1, 1, {"case": 1})
    assert not ApiToken.objects.filter(person=leaver, revoked_at=None).exists()
    assert not Assignment.objects.filter(person=leaver, ended_at=None).exists()
    with acting_for(world.hoshi):
        assert Entry.objects.filter(kind="member.unassigned").exists(), "each participant's history tells its part"


@pytest.mark.django_db
def test_a_role_changes_at_once_or_later_and_what_was_stays(world: World, client: Client) -> None:
    lead, person, today = world.person("business_lead"), world.person("viewer"), programme_today()

    def change(**wish: object) -> Membership:
        with acting_for(world.hoshi):
            now = Membership.objects.filter(person=person, ended_at=None).order_by("starts_on").first()
            return leaving.change(seat=now, by=lead.actor, person=lead, giver="business_lead", **wish)

    client.force_login(person, BACKEND)
    assert client.get("/t/hoshi/people/invite/").status_code == 403
    change(role="technical_lead")
    assert client.get("/t/hoshi/people/invite/").status_code == 200, "the next request has the new role"
    later = change(role="viewer", starts_on=today + timedelta(days=10))
    assert later.starts_on == today + timedelta(days=10)
    assert client.get("/t/hoshi/people/invite/").status_code == 200
    rows = Membership.objects.filter(person=person).order_by("starts_on", "pk").values_list("role", "ends_on")
    assert list(rows) == [("viewer", today), ("technical_lead", today + timedelta(days=9)), ("viewer", None)]
    with pytest.raises(Refused) as refused:
        change(role="ml_engineer", ends_on=today + timedelta(days=30))
    assert refused.value.code == "already_seated", "the seat that begins later stands in the way"
    change(role="technical_lead", ends_on=today + timedelta(days=2))
    with acting_for(world.hoshi):
        kinds = list(Entry.objects.filter(kind__startswith="member.").order_by("id").values_list("kind", flat=True))
    assert kinds == ["member.role_changed", "member.role_changed", "member.days_changed"]


@pytest.mark.django_db
def test_pages_and_api_change_and_remove_only_ones_own_people(world: World, client: Client) -> None:
    mine, theirs = seat(world, "viewer"), Membership.objects.get(person=world.person("viewer", world.umi))
    client.force_login(world.person("technical_lead"), BACKEND)
    for verb in ("change", "remove"):
        assert client.get(f"/t/hoshi/people/{mine.pk}/{verb}/").status_code == 200
        assert client.get(f"/t/hoshi/people/{theirs.pk}/{verb}/").status_code == 404
        there, body = f"/api/v1/t/hoshi/members/{theirs.pk}/{verb}/", {"role": "viewer"} if verb == "change" else {}
        assert client.post(there, body, content_type="application/json").status_code == 404
    wrong = client.post(f"/t/hoshi/people/{mine.pk}/change/", {"role": "viewer", "ends_on": "2020-01-01"})
    assert wrong.status_code == 422
    assert client.post(f"/t/hoshi/people/{mine.pk}/change/", {"role": "ml_engineer"}).status_code == 303
    now = Membership.objects.get(person=mine.person, ended_at=None)
    where = f"/api/v1/t/hoshi/members/{now.pk}/"
    body = {"role": "programme_manager"}
    assert client.post(f"{where}change/", body, content_type="application/json").status_code == 422
    gone = client.post(f"{where}remove/", {"why": "Moved"}, content_type="application/json")
    assert gone.status_code == 200 and gone.json()["member"]["ended_at"]
    assert client.post(f"{where}remove/", {}, content_type="application/json").status_code == 409


@pytest.mark.django_db
def test_what_is_theirs_goes_on_to_somebody_else_in_the_same_form(world: World, client: Client) -> None:
    leaver, heir, manager = (
        world.person("account_team"),
        world.person("lead_architect"),
        world.person("programme_manager"),
    )
    soon, tomorrow = programme_today() + timedelta(days=5), timezone.now() + timedelta(days=1)
    with acting_for(world.umi, staff=True):
        case = open_case(tenant=world.umi, title="Slow", severity="low", by="engine")
        take_case(case=case, person=leaver, by=leaver.actor)
    item = give_action_item(tenant=world.hoshi, text="Call them", owner=leaver, due=soon, by=manager.actor)
    with acting_for(world.office, staff=True):
        DutyShift.objects.create(
            tenant=world.office, team="account", person=leaver, starts_at=tomorrow,
            ends_at=tomorrow + timedelta(hours=8), zone="Asia/Tokyo",
        )  # fmt: skip
    client.force_login(manager, BACKEND)
    address = f"/t/programme/people/{seat(world, 'account_team').pk}/remove/"
    assert client.post(address, {"to": str(world.person("viewer").pk)}).status_code == 422
    assert client.post(address, {"to": str(heir.pk), "why": "new job"}).status_code == 303
    with acting_for(world.hoshi, world.umi, world.office, staff=True):
        case.refresh_from_db()
        item.refresh_from_db()
        assert (case.owner, item.owner) == (heir, heir)
        assert Assignment.objects.get(tenant=world.hoshi, duty="account", ends_on=None).person == heir
        assert not DutyShift.objects.exists(), "an architect is not of the account team"
        told = [line.sentence for line in lines(list(Entry.objects.order_by("-id")[:12]))]
    assert f"{item.number} went on from {leaver} to {heir}" in told


@pytest.mark.django_db
def test_an_action_item_without_an_heir_stays_and_is_told(world: World) -> None:
    leaver = world.person("ml_engineer")
    soon = programme_today() + timedelta(days=5)
    give_action_item(tenant=world.hoshi, text="Look", owner=leaver, due=soon, by="engine", audience="shared")
    assert remove(world, "ml_engineer").unowned == {"action_item": 1}


@pytest.mark.django_db
@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "Pacific/Kiritimati", "America/Los_Angeles"])
def test_a_seat_that_was_taken_away_holds_no_longer_whatever_day_it_is_for_the_reader(world: World, zone: str) -> None:
    day, seats = date(2026, 5, 1), Membership.objects.filter(person=world.person("viewer"), tenant=world.hoshi)
    for hour in (0, 6, 12, 20, 23):
        seats.update(ends_on=day, ended_at=datetime(2026, 5, 1, hour, 30, tzinfo=UTC))
        with timezone.override(zone):
            held = [seats.filter(holding(day + timedelta(days=n))).exists() for n in (-1, 0, 1)]
        assert held == [True, False, False], (zone, hour)
    today = programme_today()
    seats.update(ends_on=today, ended_at=timezone.now() - timedelta(seconds=1))
    with timezone.override(zone):
        assert not seats.filter(holding()).exists()
    seats.update(ended_at=None)
    with timezone.override(zone):
        assert seats.filter(holding()).exists()
