"""The second step as a rule for the office: its days, where sign-in leads, and what the history tells of ways to sign in."""

from datetime import date, timedelta

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.signals import authenticator_added, authenticator_removed
from allauth.socialaccount.signals import social_account_removed
from django.test import Client, RequestFactory

from tenants.history.models import Entry
from tenants.models import Membership, Programme
from tenants.programme_day import programme_today
from tenants.queries import lines
from tenants.wall.acting import acting_for
from tenants.wall.identity import issue_token
from tenants.wall.second_step import BY, LOOKED, deadline
from tests.clusters.test_pages import signed_in
from tests.conftest import World

DAY = date(2026, 4, 1)


@pytest.mark.parametrize(
    ("since", "seated", "grace", "last"),
    [
        (None, DAY, 14, None),
        (DAY, None, 14, None),
        (DAY, date(2020, 1, 1), 14, date(2026, 4, 15)),
        (DAY, date(2026, 5, 1), 14, date(2026, 5, 15)),
        (DAY, DAY, 0, DAY),
    ],
)
def test_the_last_day_without_it(since: date | None, seated: date | None, grace: int, last: date | None) -> None:
    assert deadline(since=since, seated=seated, grace_days=grace) == last


def test_sign_in_leads_to_set_up_after_the_grace_and_customers_are_left_alone(world: World) -> None:
    officer, today = world.person("programme_officer"), programme_today()
    Programme.objects.update(second_step_since=today - timedelta(days=3), second_step_grace_days=14)
    within = signed_in(officer)
    assert within.get("/").status_code == 200 and within.session[BY] == (today + timedelta(days=11)).isoformat()
    Programme.objects.update(second_step_grace_days=2)
    late = signed_in(officer)
    assert late.get("/t/hoshi/")["Location"] == "/accounts/2fa/totp/activate/"
    before = signed_in(world.person("lead_architect"))
    session = before.session
    session[BY], session[LOOKED] = "", "2020-01-01T00:00:00+00:00"
    session.save()
    assert before.get("/").status_code == 302, "the rule reaches a session that is older than it"
    refused = late.get("/api/v1/me/")
    assert refused.status_code == 403 and refused.json()["code"] == "second_step_required"
    _row, text = issue_token(person=officer, name="program")
    assert Client(headers={"Authorization": f"Bearer {text}"}).get("/api/v1/me/").status_code == 200
    assert signed_in(world.person("ml_engineer")).get("/t/hoshi/").status_code == 200
    Membership.objects.filter(person=officer).update(starts_on=today)
    assert signed_in(officer).get("/").status_code == 200, "who came later has the same time"
    Membership.objects.filter(person=officer).update(starts_on=date(2020, 1, 1))
    Authenticator.objects.create(user=officer, type="totp", data={"secret": "x"})
    assert signed_in(officer).get("/").status_code == 200


def test_the_history_of_each_place_tells_that_a_way_to_sign_in_changed(world: World) -> None:
    person = world.person("ml_engineer")
    Membership.objects.create(person=person, tenant=world.umi, role="viewer", starts_on=date(2020, 1, 1))
    request = RequestFactory().get("/")
    request.session = Client().session
    app = Authenticator(user=person, type="totp", data={})
    for signal in (authenticator_added, authenticator_removed):
        signal.send(Authenticator, request=request, user=person, authenticator=app)
        signal.send(Authenticator, request=request, user=person, authenticator=Authenticator(type="recovery_codes"))
    link = type("Link", (), {"user": person})()
    social_account_removed.send(Authenticator, request=request, socialaccount=link)
    for tenant in (world.hoshi, world.umi):
        with acting_for(tenant):
            told = lines(list(Entry.objects.filter(kind__startswith="security.").order_by("id")))
        assert [line.kind.partition(".")[2] for line in told] == [
            "second_step_on",
            "second_step_off",
            "account_unlinked",
        ]
        assert told[0].sentence == f"{person} switched the second step of signing in on"
