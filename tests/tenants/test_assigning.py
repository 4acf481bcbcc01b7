"""Who of the programme looks after a participant: named, handed over, ended, with days; and the gap on the board is filled there."""

from datetime import timedelta

import pytest
from django.test import Client

from tenants import assigning
from tenants.history.models import Entry
from tenants.mail import compose
from tenants.models import Assignment, Delivery, holding
from tenants.programme_day import programme_today
from tenants.queries import lines
from tenants.wall.acting import acting_for
from tenants.web.problems import Refused
from tests.conftest import World

BACKEND = "allauth.account.auth_backends.AuthenticationBackend"


@pytest.mark.django_db
def test_a_gap_of_the_board_is_filled_handed_over_and_ended(world: World, client: Client) -> None:
    lead, deputy = world.person("lead_architect"), world.person("frameworks_specialist")
    client.force_login(lead, BACKEND)
    assert '/t/umi/team/name/?duty=deputy"' in client.get("/engagement/").content.decode()
    page = client.get("/t/umi/team/name/?duty=deputy")
    assert page.context["form"].initial == {"duty": "deputy"}
    body = {
        "person": str(deputy.pk),
        "duty": "deputy",
        "ends_on": (programme_today() + timedelta(days=9)).isoformat(),
    }
    assert client.post("/t/umi/team/name/", body).status_code == 303
    assert client.post("/t/umi/team/name/", body).status_code == 409
    row = Assignment.objects.get(tenant=world.umi, duty="deputy")
    refused = client.post(f"/t/umi/team/{row.pk}/change/", {"ends_on": "2020-01-01"})
    assert refused.status_code == 422 and "2020-01-01" in refused.content.decode()
    assert client.post(f"/t/umi/team/{row.pk}/change/", {"ends_on": "", "why": "Stays"}).status_code == 303
    row.refresh_from_db()
    assert row.ends_on is None
    assert client.post(f"/t/umi/team/{row.pk}/end/", {"why": "Leave"}).status_code == 303
    assert client.post(f"/t/umi/team/{row.pk}/end/", {}).status_code == 409
    assert assigning.team(world.umi, programme_today()) == []
    with acting_for(world.umi):
        told = [line.sentence for line in lines(list(Entry.objects.order_by("id")))]
    assert told[0].startswith("Frameworks Specialist looks after this participant from ")
    assert told[1].startswith("Lead Architect set the last day on which Frameworks Specialist looks after")
    assert told[2] == "Frameworks Specialist no longer looks after this participant: Deputy"
    for role, at in (("business_lead", "hoshi"), ("account_team", "hoshi"), ("auditor", "hoshi")):
        client.force_login(world.person(role), BACKEND)
        assert client.get(f"/t/{at}/team/name/").status_code == 403
        assert "Who helps from the programme" in client.get(f"/t/{at}/people/").content.decode()


@pytest.mark.django_db
def test_a_participant_has_one_lead_and_a_new_one_takes_over(world: World) -> None:
    today, lead, other = programme_today(), world.person("lead_architect"), world.person("frameworks_specialist")
    with acting_for(world.hoshi, staff=True):
        told = {"tenant": world.hoshi, "duty": "lead", "by": lead.actor}
        first = assigning.name_somebody(person=lead, **told)
        with pytest.raises(Refused, match="Lead Architect leads here") as refused:
            assigning.name_somebody(person=other, starts_on=today + timedelta(days=3), **told)
        assert refused.value.code == "led_already"
        new = assigning.name_somebody(person=other, starts_on=today + timedelta(days=3), takes_over=True, **told)
        first.refresh_from_db()
        assert (first.ends_on, new.starts_on, new.ends_on) == (
            today + timedelta(days=2),
            today + timedelta(days=3),
            None,
        )
        with pytest.raises(Refused, match="has this duty from"):
            assigning.change_days(assignment=first, ends_on=None, by=lead.actor)
        at_once = assigning.name_somebody(person=world.person("programme_manager"), takes_over=True, **told)
        first.refresh_from_db(), new.refresh_from_db()
        assert first.ended_at is not None and new.ended_at is not None
        assert assigning.team(world.hoshi, today)[0] == at_once
        for person, code in ((world.person("ml_engineer"), "person"), (world.person("auditor"), "person")):
            with pytest.raises(Refused) as unfit:
                assigning.name_somebody(person=person, **told)
            assert unfit.value.code == code


@pytest.mark.django_db
def test_the_api_names_and_ends_and_an_account_team_writes_only_where_it_was_named(
    world: World, client: Client
) -> None:
    account = world.person("account_team")
    client.force_login(account, BACKEND)
    umi = world.participations["umi"].pk
    assert client.get(f"/t/umi/participations/{umi}/edit/").status_code == 403
    office = Client()
    office.force_login(world.person("programme_officer"), BACKEND)
    send = {"content_type": "application/json"}
    made = office.post("/api/v1/t/umi/assignments/", {"person": str(account.pk), "duty": "account"}, **send)
    assert made.status_code == 201 and made.json()["duty"] == "account"
    assert client.get(f"/t/umi/participations/{umi}/edit/").status_code == 200
    here = f"/api/v1/t/umi/assignments/{made.json()['id']}"
    assert office.post(f"{here}/change/", {"ends_on": "2090-01-01"}, **send).json()["ends_on"] == "2090-01-01"
    assert [row["name"] for row in office.get("/api/v1/t/umi/assignments/").json()["assignments"]] == ["Account Team"]
    assert office.post(f"/api/v1/t/hoshi/assignments/{made.json()['id']}/end/", {}, **send).status_code == 404
    assert office.post(f"{here}/end/", {}, **send).json()["ended_at"] is not None
    assert client.get(f"/t/umi/participations/{umi}/edit/").status_code == 403
    stranger = office.post(
        "/api/v1/t/umi/assignments/", {"person": str(world.person("viewer").pk), "duty": "lead"}, **send
    )
    assert stranger.status_code == 422


@pytest.mark.django_db
def test_the_account_team_gives_its_own_duty_on_before_a_holiday_and_then_for_good(
    world: World, client: Client
) -> None:
    aoi, lead, officer = (world.person(role) for role in ("account_team", "lead_architect", "programme_officer"))
    mine = Assignment.objects.get(person=aoi, duty="account")
    today, back = programme_today(), programme_today() + timedelta(days=9)
    client.force_login(aoi, BACKEND)
    address = f"/t/hoshi/team/{mine.pk}/give/"
    assert address in client.get("/t/hoshi/people/").content.decode()
    body = {"person": str(lead.pk), "ends_on": back.isoformat(), "why": "holiday"}
    assert client.post(address, body).status_code == 303 and client.post(address, body).status_code == 409
    stands = Assignment.objects.get(person=lead, duty="account")
    assert (stands.starts_on, stands.ends_on) == (today, back)
    assert Assignment.objects.filter(holding(back), pk=mine.pk).exists()
    assert (
        client.post(f"/t/hoshi/team/{stands.pk}/give/", {"person": str(aoi.pk)}).status_code == 403
    )  # a colleague's is not its own
    with acting_for(world.hoshi, staff=True):
        letter = compose(Delivery.objects.get(person=lead, kind="looks-after"))
        assert "You look after Hoshi Language Works: Account team" in letter.subject
        assert "ends by itself" in letter.body
        told = [line.sentence for line in lines(list(Entry.objects.filter(kind="member.steps_in")))]
    assert told == [f"{lead} looks after this participant from {today} until {back}: Account team"]
    assert client.post(address, {"person": str(officer.pk)}).status_code == 303
    assert not Assignment.objects.filter(holding(), pk=mine.pk).exists()
    assert {(row.person, row.duty) for row in assigning.team(world.hoshi, today)} == {
        (lead, "account"),
        (officer, "account"),
    }
    with acting_for(world.hoshi, staff=True):
        first = assigning.name_somebody(tenant=world.hoshi, person=officer, duty="lead", by=lead.actor)
        deputy = assigning.give_on(assignment=first, person=aoi, ends_on=back, by=lead.actor)
        new = assigning.give_on(assignment=first, person=lead, by=officer.actor)
    assert (deputy.duty, new.duty) == ("deputy", "lead")
    assert [row.person for row in assigning.team(world.hoshi, today) if row.duty == "lead"] == [lead]
