"""The door: where a person sits, what a token narrows, and what the door itself refuses."""

from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.db import IntegrityError, OperationalError, transaction
from django.http import Http404, HttpResponse
from django.utils import timezone

from tenants.history.models import Entry
from tenants.models import Assignment, Membership, Participation
from tenants.programme_day import programme_today
from tenants.wall import roles
from tenants.wall.access import SwallowedError, allow, seat
from tenants.wall.acting import acting_for
from tenants.wall.identity import bearer, issue_token
from tenants.web import shell


def tenants_seen(found) -> set[str]:
    with found.scope():
        return {participation.code for participation in Participation.objects.all()}


def a_token(world, role, *, tenant=None, at=None, **options):
    row, _text = issue_token(person=world.person(role, at), name="t", tenant=tenant, **options)
    return row


@pytest.mark.parametrize("role", [role for role in roles.STAFF_ROLES if role != roles.SERVICE_ENGINEER])
def test_staff_sit_everywhere(world, role):
    assert tenants_seen(seat(world.person(role), None)) == {"HOS", "UMI"}
    assert tenants_seen(seat(world.person(role), "umi")) == {"UMI"}


@pytest.mark.parametrize("role", roles.CUSTOMER_ROLES)
def test_customers_sit_at_their_own_place(world, role):
    found = seat(world.person(role), None)
    assert tenants_seen(found) == {"HOS"} and not found.internal
    for slug in ("umi", "programme", "nowhere"):
        with pytest.raises(Http404):
            seat(world.person(role), slug)


def test_who_belongs_nowhere_sits_nowhere(world):
    for slug in (None, "hoshi"):
        with pytest.raises(Http404):
            seat(world.people["stranger"], slug)


def test_who_is_no_longer_active_sits_nowhere(world):
    person = world.person("viewer")
    person.is_active = False
    person.save()
    with pytest.raises(Http404):
        seat(person, "hoshi")


@pytest.mark.parametrize(
    ("starts", "ends", "holds"), [(-9, None, True), (0, 0, True), (-9, 0, True), (-9, -1, False), (1, None, False)]
)
def test_a_seat_holds_from_its_first_to_its_last_day(world, starts, ends, holds):
    today = programme_today()
    rows = Membership.objects.filter(person=world.person("viewer"))
    rows.update(
        starts_on=today + timedelta(days=starts), ends_on=None if ends is None else today + timedelta(days=ends)
    )
    if holds:
        assert seat(world.person("viewer"), "hoshi").role == "viewer"
    else:
        with pytest.raises(Http404):
            seat(world.person("viewer"), "hoshi")


def test_the_account_team_writes_only_where_it_is_assigned(world):
    person = world.person("account_team")
    assert seat(person, "hoshi").role == roles.ACCOUNT_TEAM
    assert seat(person, "umi").role == roles.ACCOUNT_TEAM_ELSEWHERE
    Assignment.objects.filter(person=person).update(ends_on=programme_today() - timedelta(days=1))
    assert seat(person, "hoshi").role == roles.ACCOUNT_TEAM_ELSEWHERE


def test_a_service_engineer_sits_where_a_case_was_escalated_to_them(world):
    person = world.person("service_engineer")
    assert tenants_seen(seat(person, None)) == set()
    Assignment.objects.create(person=person, tenant=world.umi, duty="service", starts_on="2020-01-01")
    assert tenants_seen(seat(person, None)) == {"UMI"}
    with pytest.raises(Http404):
        seat(person, "hoshi")


def test_one_person_at_two_places_has_the_lesser_right_where_no_place_is_named(world):
    person = world.person("platform_engineer")
    Membership.objects.create(person=person, tenant=world.umi, role="viewer", starts_on="2020-01-01")
    assert tenants_seen(seat(person, None)) == {"HOS", "UMI"}
    assert seat(person, None).role == "viewer"
    assert (seat(person, "hoshi").role, seat(person, "umi").role) == ("platform_engineer", "viewer")


def test_a_token_narrowed_to_one_tenant_sits_there_wherever_it_asks(world):
    token = a_token(world, "programme_manager", tenant=world.umi, internal=True)
    assert tenants_seen(seat(token.person, None, token)) == {"UMI"}
    assert tenants_seen(seat(token.person, "umi", token)) == {"UMI"}
    for slug in ("hoshi", "programme"):
        with pytest.raises(Http404):
            seat(token.person, slug, token)


def test_a_token_ends_with_the_seat_it_was_made_for(world):
    """Its person still sits elsewhere; the token opens neither the old place nor the other one."""
    person = world.person("viewer")
    Membership.objects.create(person=person, tenant=world.umi, role="viewer", starts_on="2020-01-01")
    token, _text = issue_token(person=person, name="t", tenant=world.umi)
    assert tenants_seen(seat(person, None, token)) == {"UMI"}
    Membership.objects.filter(person=person, tenant=world.umi).update(ends_on="2020-01-02")
    for slug in (None, "umi", "hoshi"):
        with pytest.raises(Http404):
            seat(person, slug, token)


@pytest.mark.parametrize("role", ["programme_manager", "service_engineer", "auditor"])
def test_a_token_sees_internal_text_only_when_it_says_so(world, role):
    Assignment.objects.create(
        person=world.person("service_engineer"), tenant=world.hoshi, duty="service", starts_on="2020-01-01"
    )
    with acting_for(world.hoshi, staff=True):
        Entry(
            tenant=world.hoshi,
            kind="x",
            subject="x",
            subject_id=world.hoshi.pk,
            actor="engine",
            action_id=world.hoshi.pk,
            audience="internal",
        ).save()
    for internal in (True, False):
        token = a_token(world, role, internal=internal)
        for slug in (None, "hoshi"):
            found = seat(token.person, slug, token)
            with found.scope():
                assert Entry.objects.filter(kind="x").exists() == internal
            assert found.internal == internal


def test_a_customers_token_does_not_see_internal_text_whatever_it_says(world):
    token = a_token(world, "business_lead", internal=True)
    assert not seat(token.person, "hoshi", token).internal


def test_a_token_is_known_by_its_text_until_it_ends(world):
    row, text = issue_token(person=world.person("viewer"), name="t", days=1)
    assert text not in (row.digest, row.prefix) and len(text) >= 43
    assert bearer(text).pk == row.pk
    assert bearer(text[:-1] + ("a" if text[-1] != "a" else "b")) is None
    type(row).objects.filter(pk=row.pk).update(expires_at=timezone.now())
    assert bearer(text) is None
    type(row).objects.filter(pk=row.pk).update(expires_at=timezone.now() + timedelta(days=1), revoked_at=timezone.now())
    assert bearer(text) is None
    type(row).objects.filter(pk=row.pk).update(revoked_at=None)
    row.person.is_active = False
    row.person.save()
    assert bearer(text) is None


def test_a_token_says_when_it_was_last_used_and_writes_that_once_an_hour(world, django_assert_num_queries):
    row, text = issue_token(person=world.person("viewer"), name="t")
    bearer(text)
    row.refresh_from_db()
    assert row.last_used_at is not None
    with django_assert_num_queries(1):
        bearer(text)


def test_a_read_token_writes_nothing(world, client):
    _row, text = issue_token(person=world.person("platform_engineer"), name="t", scope="read")
    headers = {"Authorization": f"Bearer {text}"}
    assert client.get("/api/v1/clusters/", headers=headers).status_code == 200
    answer = client.post(
        "/api/v1/t/hoshi/cases/", {"title": "x", "severity": "low"}, content_type="application/json", headers=headers
    )
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")


def test_a_token_opens_the_api_and_no_page(world, client):
    _row, text = issue_token(person=world.person("programme_manager"), name="t")
    answer = client.get("/t/hoshi/", headers={"Authorization": f"Bearer {text}"})
    assert (answer.status_code, answer["Location"].split("?")[0]) == (302, "/accounts/login/")


def ask(rf, world, view, role="platform_engineer", method="get"):
    request = getattr(rf, method)("/t/hoshi/", data=b"" if method == "post" else None, content_type="text/plain")
    request.person, request.token, request.actor = world.person(role), None, world.person(role).actor
    return view(request, tenant="hoshi")


def test_a_view_that_hides_a_database_error_does_not_get_away_with_it(rf, world):
    @allow(roles.READ)
    def careless(request):
        try:
            Participation.objects.create(tenant=world.hoshi, cycle=world.cycle, code="HOS", project="again")
        except IntegrityError:
            pass
        return HttpResponse("all well")

    with pytest.raises(SwallowedError):
        ask(rf, world, careless)


def test_a_view_may_expect_an_error_in_a_savepoint(rf, world):
    @allow(roles.READ)
    def careful(request):
        with pytest.raises(IntegrityError), transaction.atomic():
            Participation.objects.create(tenant=world.hoshi, cycle=world.cycle, code="HOS", project="again")
        return HttpResponse("all well")

    assert ask(rf, world, careful).status_code == 200


@pytest.mark.parametrize(
    ("code", "times", "passes"), [("40P01", 1, True), ("40001", 1, True), ("40P01", 2, False), ("57014", 1, False)]
)
def test_a_deadlock_is_tried_once_more_and_nothing_else_is(rf, world, code, times, passes):
    class Cause(Exception):
        pgcode = code

    seen = []

    @allow(roles.READ)
    def unlucky(request):
        seen.append(1)
        if len(seen) <= times:
            raise OperationalError("x") from Cause()
        return HttpResponse("done")

    if passes:
        assert ask(rf, world, unlucky).content == b"done"
    else:
        with pytest.raises(OperationalError):
            ask(rf, world, unlucky)
    assert len(seen) == (2 if code != "57014" else 1)


def test_an_api_view_is_tried_once_more_after_a_deadlock_too(world, client, monkeypatch):
    """DRF would have made an answer of the error before the door could see it."""

    class Cause(Exception):
        pgcode = "40P01"

    from clusters import queries

    real, seen = queries.clusters, []

    def unlucky(**options):
        seen.append(1)
        if len(seen) == 1:
            raise OperationalError("deadlock detected") from Cause()
        return real(**options)

    monkeypatch.setattr("clusters.queries.clusters", unlucky)
    _row, text = issue_token(person=world.person("viewer"), name="t")
    assert client.get("/api/v1/clusters/", headers={"Authorization": f"Bearer {text}"}).status_code == 200
    assert len(seen) == 2


def test_what_an_auditor_opened_is_written_down(world, client):
    client.force_login(world.person("auditor"), "allauth.account.auth_backends.AuthenticationBackend")
    assert client.get("/api/v1/t/hoshi/clusters/?state=ready").status_code == 200
    with acting_for(world.hoshi, staff=True):
        [entry] = Entry.objects.filter(kind="audit.opened")
        assert entry.facts["path"] == "/api/v1/t/hoshi/clusters/?state=ready"
        assert entry.actor == world.person("auditor").actor and entry.audience == "internal"
    with acting_for(world.hoshi):
        assert not Entry.objects.filter(kind="audit.opened").exists()


def test_sessions_that_ended_are_told_to_htmx_as_a_redirect(client, world):
    answer = client.get("/t/hoshi/", headers={"HX-Request": "true"})
    assert (answer.status_code, answer["HX-Redirect"]) == (401, "/accounts/login/")


def test_one_is_led_to_the_organisations_where_one_sits_today(world):
    person, today = world.people["stranger"], programme_today()
    days = timedelta(days=3)
    for tenant, begins, ends in ((world.hoshi, today - days, today + days), (world.umi, today + days, None)):
        Membership.objects.create(person=person, tenant=tenant, role=roles.VIEWER, starts_on=begins, ends_on=ends)
    assert [tenant.slug for tenant in shell._mine(SimpleNamespace(person=person))] == ["hoshi"]
