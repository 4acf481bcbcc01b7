"""Invitations: who may give what, what a link is worth, and that a dead or forged one tells nothing and breaks nothing."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from django.core import mail as outbox
from django.test import Client
from django.utils import timezone

from tenants import inviting
from tenants.history.models import Entry
from tenants.models import Invitation, Membership, Person, Programme
from tenants.programme_day import programme_today
from tenants.wall import roles
from tenants.wall.acting import acting_for
from tenants.web.problems import Refused
from tenants.work import due, loop
from tests.conftest import World

NOW = datetime(2026, 5, 1, tzinfo=UTC)
BACKEND = "allauth.account.auth_backends.AuthenticationBackend"
NEW = {"name": "Aiko Mori 森", "language": "ja", "timezone": "Asia/Tokyo", "password": "correct horse battery"}


@pytest.mark.parametrize(
    ("state", "hours", "worth"),
    [
        (None, 1, "unknown"),
        ("open", 1, "open"),
        ("open", 0, "expired"),
        ("open", -1, "expired"),
        ("accepted", 1, "accepted"),
        ("accepted", -1, "accepted"),
        ("withdrawn", 1, "withdrawn"),
        ("expired", -1, "expired"),
    ],
)
def test_what_a_link_is_worth(state: str | None, hours: int, worth: str) -> None:
    assert inviting.standing(state, NOW + timedelta(hours=hours), NOW) == worth


def day(number: int | None) -> Any:
    return None if number is None else date(2026, 5, number)


@pytest.mark.parametrize(
    ("one", "other", "share"),
    [
        ((1, 5), (6, 9), False),
        ((1, 5), (5, 9), True),
        ((1, None), (9, 9), True),
        ((5, None), (1, 4), False),
        ((1, 9), (3, 4), True),
        ((1, None), (2, None), True),
    ],
)
def test_spans_that_share_a_day(one: tuple, other: tuple, share: bool) -> None:
    mine, theirs = (day(one[0]), day(one[1])), (day(other[0]), day(other[1]))
    assert inviting.overlap(mine, theirs) is inviting.overlap(theirs, mine) is share


def test_who_may_give_which_role() -> None:
    givers = {role for role in roles.ROLES if roles.may_give(role, at_office=False)}
    assert givers == {"programme_manager", "programme_officer", "lead_architect", "business_lead", "technical_lead"}
    assert all(set(roles.may_give(role, at_office=False)) == set(roles.CUSTOMER_ROLES) for role in givers)
    assert {role for role in roles.ROLES if roles.may_give(role, at_office=True)} == {"programme_manager"}


def work_off() -> None:
    while (held := due.claim(["deliver"])) is not None:
        loop.HANDLERS[held.kind][1](held)


def invited(world: World, email: str = "Aiko@Example.org", **more: Any) -> Invitation:
    with acting_for(world.hoshi):
        lead = world.person("business_lead")
        given = {"role": "ml_engineer", "by": lead.actor, "giver": "business_lead", **more}
        return inviting.invite(tenant=world.hoshi, email=email, **given)


def address(row: Invitation) -> str:
    return f"/join/{inviting.link_token(row)}/"


@pytest.mark.django_db
def test_somebody_new_is_written_to_accepts_and_is_in(world: World, client: Client) -> None:
    row = invited(world, language="ja", ends_on=programme_today() + timedelta(days=30))
    work_off()
    [sent] = outbox.outbox
    link = address(row)
    assert sent.to == ["aiko@example.org"] and link in sent.body and "Business Lead" in sent.body
    assert sent.extra_headers["Content-Language"] == "ja"
    with acting_for(world.hoshi):
        row.refresh_from_db()
    assert inviting.link_token(row) not in str(row.__dict__) and len(row.digest) == 64
    shown = client.get(link)
    assert shown.status_code == 200 and "Hoshi" in shown.content.decode() and 'lang="ja"' in shown.content.decode()
    weak = client.post(link, {**NEW, "password": "aiko@example.org"})
    assert weak.status_code == 422 and not Person.objects.filter(email="aiko@example.org").exists()
    answer = client.post(link, NEW)
    assert answer.status_code == 200, answer.content[:500]
    person = Person.objects.get(email="aiko@example.org")
    assert (person.name, person.language, person.timezone) == ("Aiko Mori 森", "ja", "Asia/Tokyo")
    assert person.check_password(NEW["password"])
    seat = Membership.objects.get(person=person)
    assert (seat.tenant, seat.role) == (world.hoshi, "ml_engineer") and seat.ends_on is not None
    assert client.get("/t/hoshi/").status_code == 200, "signed in, and with a seat"
    assert client.get("/t/umi/").status_code == 404
    assert Client().get(link).status_code == 410, "a link opens once"
    with acting_for(world.hoshi):
        told = list(Entry.objects.filter(kind__startswith="invitation.").order_by("id").values_list("kind", "facts"))
        joined = Entry.objects.get(kind="member.joined")
    assert [kind for kind, _facts in told] == ["invitation.sent", "invitation.accepted"]
    assert "aiko" not in str(told).lower(), "the history keeps no address: a person can be erased"
    assert joined.actor == person.actor


@pytest.mark.django_db
def test_links_that_open_nothing_have_their_own_page_and_name_nobody(world: World, client: Client) -> None:
    withdrawn, expired, resent = (invited(world, f"{name}@example.org") for name in ("a", "b", "c"))
    before = address(resent)
    with acting_for(world.hoshi):
        inviting.withdraw(invitation=withdrawn, by="engine")
        Invitation.objects.filter(pk=expired.pk).update(expires_at=timezone.now())
        resent = inviting.resend(invitation=resent, by="engine", giver="business_lead")
    dead = {
        address(withdrawn): (410, "withdrawn"),
        address(expired): (410, "expired"),
        before: (404, "unknown"),
        "/join/forged/": (404, "unknown"),
        f"/join/{'A' * 43}/": (404, "unknown"),
        "/join/%00/": (404, "unknown"),
        "/join/%F0%9F%98%80/": (404, "unknown"),
    }
    for link, (status, worth) in dead.items():
        for answer in (client.get(link), client.post(link, NEW)):
            body = answer.content.decode()
            assert (answer.status_code, f'data-worth="{worth}"' in body) == (status, True), link
            assert "Hoshi" not in body and "hoshi" not in body
    assert client.get(address(resent)).status_code == 200
    assert not Person.objects.filter(email__in=["a@example.org", "b@example.org"]).exists()


@pytest.mark.django_db
def test_whoever_has_an_account_signs_in_and_only_the_address_that_was_invited_may_accept(
    world: World, client: Client
) -> None:
    person = world.person("viewer", world.umi)
    link = address(invited(world, person.email.upper()))
    assert "/accounts/login/?next=/join/" in client.get(link).content.decode()
    assert client.post(link, NEW).status_code == 200 and not Membership.objects.filter(
        tenant=world.hoshi, person=person
    )
    other = Client()
    other.force_login(world.person("viewer"), BACKEND)
    assert (other.get(link).status_code, other.post(link).status_code) == (403, 403)
    client.force_login(person, BACKEND)
    assert client.get(link).status_code == 200
    assert client.post(link).status_code == 200
    assert client.get("/t/hoshi/").status_code == client.get("/t/umi/").status_code == 200


@pytest.mark.django_db
def test_one_open_invitation_for_an_address_and_nobody_is_seated_twice(world: World) -> None:
    first = invited(world)
    with pytest.raises(Refused) as refused:
        invited(world, "AIKO@example.org ")
    assert refused.value.code == "invited_already" and "aiko@example.org" in refused.value.sentence
    with acting_for(world.umi):
        umis = inviting.invite(
            tenant=world.umi, email="aiko@example.org", role="viewer", by="engine", giver="lead_architect"
        )
    assert umis.pk != first.pk, "another organisation's invitation is no matter of this one"
    with acting_for(world.hoshi):
        Invitation.objects.filter(pk=first.pk).update(expires_at=timezone.now())
    again = invited(world)
    with acting_for(world.hoshi):
        assert Invitation.objects.get(pk=first.pk).state == "expired" and again.state == "open"
    with pytest.raises(Refused) as refused:
        invited(world, world.person("ml_engineer").email)
    assert refused.value.code == "already_seated"


@pytest.mark.django_db
def test_bad_wishes_are_refused_with_the_field(world: World) -> None:
    today = programme_today()
    for more, code in [
        ({"role": "lead_architect"}, "role"),
        ({"giver": "viewer"}, "not_yours_to_give"),
        ({"starts_on": today - timedelta(days=1)}, "starts_on"),
        ({"ends_on": today - timedelta(days=1)}, "ends_on"),
        ({"email": "no address"}, "email"),
        ({"email": "a\x00b@example.org"}, "email"),
        ({"email": f"{'a' * 250}@example.org"}, "email"),
    ]:
        with pytest.raises(Refused) as refused:
            invited(world, **{"email": "x@example.org", **more})
        assert refused.value.code == code and refused.value.status in (403, 422)


@pytest.mark.django_db
def test_the_page_and_the_api_invite_resend_and_withdraw(world: World, client: Client) -> None:
    Programme.objects.update(invitation_days=3)
    client.force_login(world.person("technical_lead"), BACKEND)
    wrong = client.post("/t/hoshi/people/invite/", {"email": "x", "role": "viewer", "language": "en"})
    assert wrong.status_code == 422
    sent = client.post("/t/hoshi/people/invite/", {"email": "x@example.org", "role": "viewer", "language": "en"})
    assert sent.status_code == 303
    page = client.get("/t/hoshi/people/").content.decode()
    assert "x@example.org" in page
    body = {"email": "y@example.org", "role": "viewer"}
    made = client.post("/api/v1/t/hoshi/invitations/", body, content_type="application/json")
    assert made.status_code == 201 and "digest" not in made.json()
    lives = datetime.fromisoformat(made.json()["expires_at"]) - timezone.now()
    assert timedelta(days=2, hours=23) < lives <= timedelta(days=3)
    where = f"/api/v1/t/hoshi/invitations/{made.json()['id']}/"
    assert client.post(f"{where}resend/", {}, content_type="application/json").status_code == 200
    assert client.post(f"{where}withdraw/", {}, content_type="application/json").json()["state"] == "withdrawn"
    assert client.post(f"{where}resend/", {}, content_type="application/json").status_code == 409
    assert client.post(where.replace("hoshi", "umi") + "withdraw/").status_code == 404
    work_off()
    assert {tuple(each.to) for each in outbox.outbox} == {("x@example.org",)}, "a withdrawn one is not written to"
    emails = [row["email"] for row in client.get("/api/v1/t/hoshi/members/").json()["results"]]
    assert "viewer.hoshi@example.org" in emails and not any("umi" in each for each in emails)
    client.force_login(world.person("ml_engineer"), BACKEND)
    assert client.get("/t/hoshi/people/").status_code == 200
    assert client.get("/t/hoshi/people/invite/").status_code == 403
