"""Contacts by duty stay fresh, and access is confirmed again and again: what is not, is shown and reminded of."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core import mail as outbox
from django.test import Client
from django.utils import timezone

from tenants import confirming, contacts, leaving
from tenants.history.models import Entry
from tenants.models import Contact, Membership
from tenants.wall.acting import acting_for
from tenants.work import due, loop
from tests.conftest import World
from tests.tenants.test_inviting import BACKEND, invited

NOW = datetime(2026, 5, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("days_ago", "standing"), [(0, "fresh"), (75, "fresh"), (76, "due"), (89, "due"), (90, "stale"), (900, "stale")]
)
def test_how_fresh_a_confirmation_is(days_ago: int, standing: str) -> None:
    assert contacts.freshness(NOW - timedelta(days=days_ago), NOW, 90) == standing


@pytest.mark.parametrize(
    ("day", "week"), [((2026, 1, 1), "2026-W01"), ((2027, 1, 1), "2026-W53"), ((2026, 5, 1), "2026-W18")]
)
def test_one_reminder_a_week(day: tuple, week: str) -> None:
    assert confirming.week_of(datetime(*day, tzinfo=UTC)) == week


def work_off(kinds: Any = ("people", "deliver")) -> None:
    while (held := due.claim(list(kinds))) is not None:
        loop.HANDLERS[held.kind][1](held)


@pytest.mark.django_db
def test_leads_are_reminded_until_access_is_confirmed_and_what_is_not_ticked_stays_shown(
    world: World, client: Client
) -> None:
    old = timezone.now() - timedelta(days=100)
    Membership.objects.filter(tenant=world.hoshi).update(created_at=old)
    expired = invited(world)
    with acting_for(world.hoshi):
        type(expired).objects.update(expires_at=old)
    for _day in range(2):
        due.wish("people", world.hoshi.pk, tenant=world.hoshi)
        work_off()
    leads = {world.person(role).email for role in ("business_lead", "technical_lead")}
    reminders = [sent for sent in outbox.outbox if "/people/confirm/" in sent.body]
    assert {sent.to[0] for sent in reminders} == leads and len(reminders) == 2, "once a week, to the leads alone"
    assert "Viewer@Hoshi" in reminders[0].body
    with acting_for(world.hoshi):
        assert type(expired).objects.get(pk=expired.pk).state == "expired"
    client.force_login(world.person("business_lead"), BACKEND)
    assert client.post("/t/hoshi/people/confirm/", {}).status_code == 422
    assert client.post("/t/hoshi/people/confirm/", {"seat": ["x", "9" * 30]}).status_code == 422
    kept = Membership.objects.filter(tenant=world.hoshi).exclude(role="viewer")
    theirs = Membership.objects.filter(tenant=world.umi).first()
    ticked = [seat.pk for seat in kept] + [theirs.pk]
    assert client.post("/t/hoshi/people/confirm/", {"seat": ticked}).status_code == 303
    theirs.refresh_from_db()
    assert theirs.confirmed_at is None
    assert [seat.role for seat in confirming.unconfirmed(world.hoshi, timezone.now())] == ["viewer"]
    assert client.get("/t/hoshi/people/").content.decode().count("not confirmed</span>") == 1
    with acting_for(world.hoshi):
        entry = Entry.objects.get(kind="access.confirmed")
    assert (entry.facts["count"], entry.facts["left"]) == (4, 1)


@pytest.mark.django_db
def test_a_contact_is_written_confirmed_changed_and_goes_with_its_person(world: World, client: Client) -> None:
    client.force_login(world.person("account_team"), BACKEND)
    assert client.get("/t/hoshi/contacts/add/?duty=on_call").status_code == 200
    form = {"duty": "on_call", "name": "Night desk", "timezone": "Asia/Tokio", "phone": "+81 3 1234"}
    wrong = client.post("/t/hoshi/contacts/add/", form)
    assert wrong.status_code == 422 and "Asia/Tokyo" in wrong.content.decode()
    nobody = client.post("/t/hoshi/contacts/add/", form | {"timezone": "Asia/Tokyo", "phone": ""})
    assert nobody.status_code == 422, "somebody has to be reached"
    assert client.post("/t/hoshi/contacts/add/", form | {"timezone": "Asia/Tokyo"}).status_code == 303
    with acting_for(world.hoshi):
        row = Contact.objects.get()
        Contact.objects.update(checked_at=timezone.now() - timedelta(days=100))
    assert "ask again" in client.get("/t/hoshi/people/").content.decode()
    assert client.post(f"/t/hoshi/contacts/{row.pk}/confirm/").status_code == 303
    assert "ask again" not in client.get("/t/hoshi/people/").content.decode()
    stale = client.post(f"/t/hoshi/contacts/{row.pk}/edit/", form | {"timezone": "UTC", "version": "1"})
    assert stale.status_code == 409, "confirming made a newer version"
    assert stale.context["form"]["version"].value() == "2", "sent again it is saved"
    assert "<ins>UTC</ins>" in stale.content.decode()
    viewer = world.person("viewer")
    changed = form | {"timezone": "UTC", "version": "2", "person": str(viewer.pk)}
    assert client.post(f"/t/hoshi/contacts/{row.pk}/edit/", changed).status_code == 303
    where = f"/api/v1/t/hoshi/contacts/{row.pk}/"
    patched = client.patch(where, {"hours": "always"}, content_type="application/json", headers={"If-Match": '"3"'})
    assert patched.status_code == 200 and patched.json()["hours"] == "always"
    somebody = {"duty": "data", "name": "x", "person": str(world.person("viewer", world.umi).pk)}
    assert client.post("/api/v1/t/hoshi/contacts/", somebody, content_type="application/json").status_code == 422
    lead = world.person("business_lead")
    with acting_for(world.hoshi):
        leaving.remove(seat=Membership.objects.get(person=viewer), by=lead.actor, person=lead)
        assert not Contact.objects.exists()
        told = Entry.objects.filter(kind__startswith="contact.").order_by("id")
        assert [one.kind.partition(".")[2] for one in told] == ["added", "confirmed", "changed", "changed", "removed"]
        assert "1234" not in str(list(told.values_list("facts", flat=True))), "the history keeps no telephone numbers"
    client.force_login(world.person("ml_engineer"), BACKEND)
    assert client.get("/t/hoshi/contacts/add/").status_code == 403


@pytest.mark.django_db
def test_one_person_is_written_down_for_several_duties_at_once(world: World, client: Client) -> None:
    client.force_login(world.person("account_team"), BACKEND)
    form = {"duty": "business", "also": ["on_call", "business"], "name": "Emi", "timezone": "UTC", "phone": "+81 3 1"}
    assert client.post("/t/hoshi/contacts/add/", form).status_code == 303
    with acting_for(world.hoshi):
        assert sorted(Contact.objects.values_list("duty", flat=True)) == ["business", "on_call"]
