"""Calls: what a need comes to, an organisation from the open call to its invitation, and what reviewers and strangers may not."""

import re
from datetime import date, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.core import mail as outbox
from django.core.cache import caches
from django.test import Client
from django.utils import timezone

from clusters.models import CapacityRequest, Reservation
from program.calls import applying, calling, demand, need, selecting
from program.calls import forms as asking
from program.models import Application, ApplicationScore, ApplicationVersion, Call
from tenants import erasing
from tenants.history.models import Entry
from tenants.models import Cycle, Invitation, Membership, Participation, Tenant
from tenants.programme_day import programme_today
from tenants.wall.acting import acting_for, reading_everyone
from tenants.web.problems import Refused
from tenants.work import due, loop
from tests.conftest import World

BACKEND = "allauth.account.auth_backends.AuthenticationBackend"
MONDAY = date(2027, 3, 1)


def span(first: int = 0, days: int = 7, peak: int = 4, minimum: int = 2, **more: Any) -> need.Span:
    starts = MONDAY + timedelta(days=first)
    told = {"types": ("p5.48xlarge",), "regions": ("ap-northeast-1",)} | more
    return need.Span(starts, starts + timedelta(days=days - 1), told["types"], told["regions"], minimum, peak)


def eight(_kind: str) -> int:
    return 8


@pytest.mark.parametrize(
    ("spans", "instances", "least", "hours"),
    [
        ([], 0, 0, 0),
        ([span()], 4, 2 * 8 * 24 * 7, 4 * 8 * 24 * 7),
        ([span(), span(first=7)], 4, 4 * 8 * 24 * 7, 8 * 8 * 24 * 7),
        ([span(), span(first=6, peak=10, days=1)], 14, 2 * 8 * 24 * 8, (4 * 7 + 10) * 8 * 24),
    ],
)
def test_a_need_in_both_units(spans: list[need.Span], instances: int, least: int, hours: int) -> None:
    assert need.total(spans, eight) == need.Total(instances, least, hours)
    assert need.read([one.kept() for one in spans]) == spans


@pytest.mark.parametrize(
    ("spans", "field", "says"),
    [
        ([span(types=("p9.huge",))], "types", "p9.huge"),
        ([span(types=())], "types", "p5.48xlarge"),
        ([span(regions=("mars-1",))], "regions", "mars-1"),
        ([span(days=0)], "ends_on", "before the first day"),
        ([span(days=2000)], "ends_on", "five years"),
        ([span(minimum=5)], "peak", "5 to 4"),
        ([span(peak=0, minimum=0)], "peak", "1 to"),
        ([span(peak=11)], "need", "at once"),
        ([span(days=80, peak=10)], "need", "accelerator-hours"),
        ([span(peak=1, minimum=0)] * 25, "need", "25 spans"),
        ([need.Span(date(1, 1, 1), date(1, 1, 2), ("p5.48xlarge",), ("ap-northeast-1",), 1, 1)], "starts_on", "2000"),
        ([need.Span(date(9999, 1, 1), date.max, ("p5.48xlarge",), ("ap-northeast-1",), 1, 1)], "starts_on", "2100"),
    ],
)
def test_what_does_not_fit_is_told_with_its_number_and_what_to_do(
    spans: list[need.Span], field: str, says: str
) -> None:
    found = list(
        need.problems(
            spans, known_types=["p5.48xlarge"], known_regions=["ap-northeast-1"], most_instances=10, most_hours=100_000,
            each=eight,
        )
    )  # fmt: skip
    assert [each for each in found if each[1] == field and says in each[2]], found


def test_nothing_is_needed_after_the_cycle_and_a_call_opens_once_its_end_is_set(world: World) -> None:
    one, known = span(days=10), {"known_types": ["p5.48xlarge"], "known_regions": ["ap-northeast-1"]}
    more: dict[str, Any] = {"most_instances": None, "most_hours": None, "each": eight} | known
    assert list(need.problems([one], last=one.ends_on, **more)) == []
    [told] = need.problems([one], last=one.ends_on - timedelta(days=1), **more)
    assert told[1] == "ends_on" and "after the last day of the cycle" in told[2]
    call = open_call(world)
    calling.close_call(call=call, by="engine")
    Cycle.objects.filter(pk=world.cycle.pk).update(ends_on=None)
    with pytest.raises(Refused) as refused:
        calling.open_call(call=call, by="engine")
    assert refused.value.code == "cycle_without_end"


def test_weeks_begin_on_monday_and_days_outside_of_a_span_do_not_count() -> None:
    instances, hours = need.by_week([span(first=2, days=7, peak=4), span(first=9, days=1, peak=3)], eight)
    here, next_week = ("p5.48xlarge", "ap-northeast-1"), MONDAY + timedelta(days=7)
    assert instances == {(MONDAY, *here): 4, (next_week, *here): 4}  # one after the other, never together
    assert hours == {(MONDAY, *here): 5 * 24 * 8 * 4, (next_week, *here): 2 * 24 * 8 * 4 + 24 * 8 * 3}


def test_the_forecast_tells_what_is_missing_beside_what_is_reserved() -> None:
    rows = demand.table([span(peak=9)], [span(peak=6)], [span(peak=2), span(peak=5, regions=("us-east-1",))], eight)
    [row] = rows  # what is reserved where nobody asks is no row
    assert (row.applied.instances, row.selected.instances, row.reserved.instances, row.missing) == (9, 6, 2, 4)
    assert demand.weeks_of(rows) == [MONDAY] and demand.chart(rows, [MONDAY]).drawn


def test_a_span_is_counted_by_the_type_that_was_chosen_and_not_by_the_alphabet() -> None:
    wanted = span(types=("p5.48xlarge", "g5.xlarge"), regions=("us-east-1", "ap-northeast-1"))
    spans = asking.SpanSet(profile(wanted), prefix="need")
    assert spans.is_valid(), spans.errors
    [kept] = spans.told()
    assert need.read([kept]) == [wanted]
    assert need.total([wanted], calling.each).hours == 4 * 8 * 24 * 7
    choices = dict(spans.forms[0].fields["types"].choices)
    assert [name for name, _words in choices["A10G"]][:2] == ["g5.xlarge", "g5.2xlarge"]  # by size
    assert "trn2.48xlarge, 16 × Trainium2" in dict(choices["Trainium2"]).values()  # and not the name of its driver


def browser(person: Any = None) -> Client:
    client = Client()
    if person is not None:
        client.force_login(person, BACKEND)
    return client


def open_call(world: World, **more: Any) -> Call:
    now, by = timezone.now(), world.person("programme_officer").actor
    Cycle.objects.filter(pk=world.cycle.pk, ends_on=None).update(ends_on=date(2031, 12, 31))
    values = {
        "cycle": world.cycle, "title": "Who trains next?", "text": "Say what you need.",
        "opens_at": now - timedelta(days=1), "closes_at": now + timedelta(days=10),
    }  # fmt: skip
    return calling.open_call(call=calling.draft(by=by, **(values | more)), by=by)


def close(call: Call) -> None:
    calling.close_call(call=call, by="engine")


def send_mail() -> list[Any]:
    while held := due.claim(["deliver"]):
        loop.HANDLERS["deliver"][1](held)
    return outbox.outbox


ANSWERS = {
    "organisation": "Kumo Speech", "organisation_kind": "company", "sector": "media", "staff_size": 40,
    "contact_name": "Aiko Mori", "project": "A model of speech", "summary": "It listens.", "intended": "A 32B model.",
    "procure": "partly", "procure_how": "", "provider": "", "openness": "Weights and data.", "licence": "Apache-2.0",
}  # fmt: skip


def profile(*spans: need.Span) -> dict[str, Any]:
    found: dict[str, Any] = {"need-TOTAL_FORMS": len(spans), "need-INITIAL_FORMS": 0}
    for number, one in enumerate(spans):
        found |= {f"need-{number}-{name}": value for name, value in asking.span_initial(one.kept()).items()}
    return found


def ahead(days: int = 28, peak: int = 4, **more: Any) -> need.Span:
    starts = programme_today() + timedelta(days=30)
    one = span(peak=peak, **more)
    return need.Span(starts, starts + timedelta(days=days - 1), one.types, one.regions, 2, peak)


def handed_in(world: World, call: Call, email: str = "aiko@kumo.example", **more: Any) -> Application:
    applying.begin_by_mail(call=call, email=email, organisation="Kumo Speech", language="ja")
    with reading_everyone():
        row = Application.objects.get(call=call, contact_email=email)
    told = ANSWERS | {"need": [ahead().kept()]} | more
    with acting_for(row.tenant_id):
        return applying.save(application=row, by="engine", hands_in=True, **told)


@pytest.mark.django_db
def test_from_the_open_call_to_the_invitation(world: World) -> None:
    officer, manager = browser(world.person("programme_officer")), browser(world.person("programme_manager"))
    here = "%Y-%m-%dT%H:%M"
    now = timezone.now()
    told = {
        "cycle": world.cycle.pk, "title": "Third cycle", "text": "Whoever trains in the open.",
        "opens_at": (now - timedelta(days=2)).strftime(here), "closes_at": (now + timedelta(days=9)).strftime(here),
        "most_instances": 100, "small_hours": 0,
    }  # fmt: skip
    made = officer.post("/t/programme/calls/draft/", told)
    assert made.status_code == 303, made.content
    at = made["Location"]
    assert browser(world.person("business_lead")).get(at).status_code == 404  # a draft is nobody's but staff's
    pk = at.strip("/").split("/")[-1]
    no_end = officer.post(f"/t/programme/calls/{pk}/step/", {"do": "open"})
    assert no_end.status_code == 409 and b"has no last day yet" in no_end.content
    Cycle.objects.update(ends_on=date(2031, 12, 31))
    assert officer.post(f"/t/programme/calls/{pk}/step/", {"do": "open"}).status_code == 303

    stranger = browser()
    assert b"Third cycle" in stranger.get("/apply/").content
    sent = stranger.post(
        f"/apply/{pk}/", {"organisation": "Kumo Speech", "email": "Aiko@Kumo.example", "language": "ja"}
    )
    assert sent.status_code == 200
    [letter] = send_mail()
    assert letter.to == ["aiko@kumo.example"]
    link = re.search(r"http\S+(/apply/mine/\S+/)", letter.body)[1]
    assert stranger.get(link).status_code == 200
    draft = stranger.post(link, ANSWERS | {"project": "", "do": "save"} | profile())
    assert draft.status_code == 303
    short = stranger.post(link, ANSWERS | {"project": "", "do": "hand_in"} | profile())
    assert short.status_code == 422 and "Title of the project: It is needed to hand" in short.content.decode()
    assert "Why this cannot be done now" not in short.content.decode()  # once, where it is missing
    many = stranger.post(link, ANSWERS | {"do": "hand_in"} | profile(ahead(peak=101)))
    assert many.status_code == 422 and b"this call allows 100" in many.content and b'href="#profile"' in many.content
    late = ahead()
    swapped = profile(need.Span(late.ends_on, late.starts_on, late.types, late.regions, 2, 4))
    wrong = stranger.post(link, ANSWERS | {"do": "save"} | swapped).content.decode()
    assert 'href="#id_need-0-ends_on"' in wrong and "is before the first day" in wrong
    assert re.search(r'name="need-0-ends_on"[^>]*aria-invalid="true"', wrong)
    whole = stranger.post(link, ANSWERS | {"do": "hand_in"} | profile(ahead()))
    assert whole.status_code == 303
    receipt = send_mail()[-1]
    assert receipt.to == ["aiko@kumo.example"] and "AP-001" in receipt.subject and link in receipt.body
    again = stranger.post(link, ANSWERS | {"licence": "MIT", "do": "hand_in"} | profile(ahead(peak=6)))
    assert again.status_code == 303
    with reading_everyone():
        row = Application.objects.get()
        assert (row.state, row.edition, row.licence, row.tenant) == ("submitted", 2, "MIT", world.office)
        assert ApplicationVersion.objects.filter(application=row.pk).count() == 2

    reader = manager.get(f"/t/programme/applications/{row.pk}/")
    assert (
        reader.status_code == 200 and b"<dt>Time profile</dt>" in reader.content and b"the applicant" in reader.content
    )
    assert (
        b"2\xe2\x80\x934 \xc3\x97 p5.48xlarge" in reader.content
        and b"2\xe2\x80\x936 \xc3\x97 p5.48xlarge" in reader.content
    )
    handed = stranger.get(link).content.decode()  # what was handed in is read; it is changed apart from that
    assert 'name="need-0-types"' not in handed and "Edition 2 was handed in" in handed and "<details" in handed
    assert 'name="need-0-types"' in stranger.get(f"{link}?edit=1").content.decode()
    letter = send_mail()[-1]
    assert "第2版" in letter.subject and "ライセンス" in letter.body  # in the language of the application
    assert b"decide-outcome" not in reader.content and b"Close it first" in reader.content  # a sentence, no form
    decision = {"decide-outcome": "selected", "decide-why": "It is open.", "decide-slug": "kumo"}
    early = manager.post(f"/t/programme/applications/{row.pk}/decide/", decision)
    assert early.status_code in (409, 422) and b"Close it first" in early.content
    assert officer.post(f"/t/programme/calls/{pk}/step/", {"do": "close"}).status_code == 303
    unscored = manager.post(f"/t/programme/applications/{row.pk}/decide/", decision)
    assert b"score it first" in unscored.content
    score = {"score-performance": 5, "score-openness": 5, "score-feasibility": 3, "score-reason": "Small team."}
    assert officer.post(f"/t/programme/applications/{row.pk}/score/", score).status_code == 303
    offered = manager.get(f"/t/programme/applications/{row.pk}/").content
    assert b'value="kumo-speech"' in offered and b"needed for a new organisation" in offered
    listed = manager.get(f"/calls/{pk}/?sort=points")
    assert b"Kumo Speech" in listed.content and b"13" in listed.content
    asked = manager.post(f"/t/programme/applications/{row.pk}/decide/", decision)
    assert (
        asked.status_code == 200
        and b"Select Kumo Speech?" in asked.content
        and b"cannot be taken back" in asked.content
    )
    decision |= {"decide-sure": "selected"}
    done = manager.post(f"/t/programme/applications/{row.pk}/decide/", decision)
    assert done.status_code == 303 and done["Location"] == f"/t/kumo/applications/{row.pk}/", done.content
    assert manager.post(f"/t/kumo/applications/{row.pk}/decide/", decision).status_code in (409, 422)

    after = manager.get(f"/t/kumo/applications/{row.pk}/").content.decode()
    assert "What comes next" in after and 'href="/t/kumo/"' in after and "/onboard/" in after
    kumo = Tenant.objects.get(slug="kumo")
    with acting_for(kumo, staff=True):
        participation = Participation.objects.get()
        assert (participation.state, participation.project) == ("selected", "A model of speech")
        [wanted] = CapacityRequest.objects.all()
        assert (wanted.state, wanted.instances, wanted.instance_type) == ("waiting", 6, "p5.48xlarge")
        invited = Invitation.objects.get()
        assert (invited.email, invited.role, invited.language) == ("aiko@kumo.example", "business_lead", "ja")
        row = Application.objects.get()
        assert row.became == participation.pk
    letters = [one for one in send_mail() if "/join/" in one.body]
    door = re.search(r"http\S+(/join/\S+/)", letters[-1].body)[1]
    assert b'value="Aiko Mori"' in browser().get(door).content  # nobody is asked twice for a name
    subjects = {one.subject for one in send_mail()[3:]}
    assert len(subjects) == 2  # the decision, and the invitation; nothing is said any more of a receipt
    told_why = stranger.get(link)
    assert b"It is open." in told_why.content and b"Small team." not in told_why.content
    assert stranger.post(link, ANSWERS | {"do": "hand_in"} | profile(ahead())).status_code == 409


@pytest.mark.django_db
def test_the_doors_for_strangers_name_an_open_call_and_the_office_finds_its_address(world: World) -> None:
    doors = ("/accounts/login/", "/join/")
    for door in doors:
        assert b'href="/apply/"' not in browser().get(door).content
    call = open_call(world)
    for door in doors:
        page = browser().get(door).content.decode()
        assert 'href="/apply/"' in page and "1 call is open" in page
    officer = browser(world.person("programme_officer"))
    page = officer.get(f"/calls/{call.pk}/").content.decode()
    assert re.search(rf"https?://[^<]+/apply/{call.pk}/</pre>", page)
    assert 'value="close"' not in page and 'href="?closing=1#closing"' in page
    assert 'value="close"' in officer.get(f"/calls/{call.pk}/?closing=1").content.decode()
    lead = browser(world.person("business_lead"))
    assert b"public-address" not in lead.get(f"/calls/{call.pk}/").content
    assert b'value="close"' not in lead.get(f"/calls/{call.pk}/?closing=1").content


@pytest.mark.django_db
def test_a_call_that_is_closed_early_says_so_to_whoever_began_and_on_every_page(world: World) -> None:
    call = open_call(world, gives="H100", lasts="Half a year", paid_by="The programme", ask="Hana, call@example.org")
    officer, stranger = browser(world.person("programme_officer")), browser()
    door = stranger.get(f"/apply/{call.pk}/").content.decode()
    assert all(
        word in door for word in ("H100", "Half a year", "Who pays", 'Hana, <a href="mailto:call@example.org"', "JST")
    )
    row = handed_in(world, call)
    applying.confirm(row)
    handed_in(world, call, email="never@opened.example")
    send_mail()
    outbox.outbox.clear()
    announced = timezone.localtime(call.closes_at, ZoneInfo("Asia/Tokyo")).strftime("%H:%M")
    officer.post(f"/t/programme/calls/{call.pk}/step/", {"do": "close"})
    [letter] = send_mail()
    assert letter.to == ["aiko@kumo.example"] and announced in letter.body and "Hana, call@example.org" in letter.body
    with reading_everyone():
        closed = Call.objects.get()
    assert closed.closed_at < closed.closes_at and closed.takes_until == closed.closed_at
    mine = stranger.get(f"/apply/mine/{applying.link_token(row)}/").content.decode()
    assert f'datetime="{closed.takes_until.astimezone(ZoneInfo("Asia/Tokyo")):%Y-%m-%dT%H:%M}' in mine
    listed = officer.get("/calls/").content.decode()
    assert 'data-state="closed"' in listed and call.closes_at.strftime("%Y-%m-%dT") not in listed
    assert "announced was" in officer.get(f"/calls/{call.pk}/").content.decode()
    outbox.outbox.clear()
    again = calling.open_call(call=closed, by="engine")
    calling.change(call=again, by="engine", closes_at=call.closes_at + timedelta(days=1))
    calling.change(call=again, by="engine", closes_at=call.closes_at)
    [letter] = send_mail()  # of the last of two moments alone
    assert announced in letter.body and "handed in" not in letter.subject
    assert again.closed_at is None and again.takes_until == call.closes_at
    past = Call(state="open", closes_at=timezone.now() - timedelta(days=1))
    assert past.shown_state == "closed" and past.takes_until == past.closes_at  # nobody closed it, and it is over


@pytest.mark.django_db
def test_the_office_and_nobody_else_is_told_of_another_application_of_the_same_name(world: World) -> None:
    call = open_call(world)
    row = handed_in(world, call)
    applying.begin_by_mail(call=call, email="kei@kumo.example", organisation="KUMO  speech")
    page = browser(world.person("programme_officer")).get(f"/t/programme/applications/{row.pk}/").content
    assert b"Others of this name" in page and b"AP-002" in page and b"kei@kumo.example" not in page  # a draft
    link = re.search(r"/apply/mine/\S+/", applying.address_of(row))[0]
    assert b"AP-002" not in browser().get(link).content


@pytest.mark.parametrize(
    ("name", "taken", "short"),
    [
        ("Kumo Speech", (), "kumo-speech"),
        ("Kumo Speech", ("kumo-speech", "kumo-speech-2"), "kumo-speech-3"),
        ("雲音声", (), ""),
        ("A" * 60, (), "a" * 40),
        ("_ & _", (), ""),
    ],
)
def test_a_short_name_is_proposed_of_the_organisations_own(name: str, taken: tuple[str, ...], short: str) -> None:
    found = selecting.short_name(name, taken)
    assert found == short and (not found or selecting.SLUG.fullmatch(found))


@pytest.mark.parametrize(
    ("taken", "found"),
    [((), "C2-01"), (("C2-01", "C2-02"), "C2-03"), (("C2-02", "HOSHI"), "C2-03"), (("C2-01", "C2-03"), "C2-04")],
)
def test_a_participation_gets_a_code_that_nobody_has(taken: tuple[str, ...], found: str) -> None:
    assert selecting.free_code("C2", taken) == found


@pytest.mark.django_db
def test_an_answer_that_was_written_over_an_older_one_stands_beside_it_and_can_be_sent_again(world: World) -> None:
    row = handed_in(world, open_call(world))
    link = re.search(r"/apply/mine/\S+/", applying.address_of(row))[0]
    mine = ANSWERS | {"licence": "MIT", "version": row.version, "do": "hand_in"} | profile(ahead(peak=6))
    applying.save(application=row, by="engine", licence="BSD-3-Clause")
    stale = browser().post(link, mine)
    page = stale.content.decode()
    assert stale.status_code == 409 and "Theirs and yours" in page
    assert "<del>BSD-3-Clause</del>" in page and "<ins>MIT</ins>" in page and "2–6 × p5.48xlarge" in page
    assert browser().post(link, mine | {"version": row.version + 1}).status_code == 303
    officer, cycle = browser(world.person("programme_officer")), world.cycle
    told = {"name": "Cycle 2b", "starts_on": "2025-01-06", "version": cycle.version}
    Cycle.objects.filter(pk=cycle.pk).update(name="Cycle two", version=cycle.version + 1)
    stale = officer.post(f"/t/programme/cycles/{cycle.pk}/edit/", told)
    assert stale.status_code == 409 and "<del>Cycle two</del>" in stale.content.decode()
    assert stale.context["form"]["version"].value() == str(cycle.version + 1)
    with reading_everyone():
        call = Call.objects.get()
    values = {
        "cycle": cycle.pk,
        "title": "Mine",
        "opens_at": "2026-01-01T09:00",
        "closes_at": "2090-01-01T09:00",
        "small_hours": 0,
    }
    stale = officer.post(f"/t/programme/calls/{call.pk}/edit/", values | {"version": call.version + 7})
    assert stale.status_code == 409 and "<ins>Mine</ins>" in stale.content.decode()


@pytest.mark.django_db
def test_a_former_participant_applies_from_its_own_pages_and_others_see_nothing_of_it(world: World) -> None:
    with acting_for(world.hoshi):
        old = world.participations["hoshi"]
        Participation.objects.filter(pk=old.pk).update(project="The first model")
    call = open_call(world)
    lead = browser(world.person("business_lead"))
    begin = f"/t/hoshi/apply-to/{call.pk}/"
    assert b"The first model" in lead.get(begin).content
    at = lead.post(begin)["Location"]
    assert lead.post(begin)["Location"] == at  # begun once
    answers = ANSWERS | {"organisation": "Somebody else", "do": "hand_in"} | profile(ahead())
    assert lead.post(at, answers).status_code == 303
    with reading_everyone():
        row = Application.objects.get()
    assert (row.tenant, row.organisation, row.state) == (world.hoshi, world.hoshi.name, "submitted")
    assert browser(world.person("viewer")).post(at, answers).status_code == 403
    assert browser(world.person("business_lead", world.umi)).get(at).status_code == 404
    assert browser(world.person("business_lead", world.umi)).get(f"/t/umi/applications/{row.pk}/").status_code == 404
    assert b"The first model" in browser(world.person("lead_architect")).get(at).content  # earlier cycles
    close(call)
    manager = world.person("programme_manager")
    with acting_for(world.hoshi, staff=True):
        selecting.score(
            application=row, person=manager, by=manager.actor, performance=4, openness=4, feasibility=4, reason="Known."
        )
        with pytest.raises(Refused, match="takes part in Cycle 2 already"):
            selecting.decide(application=row, outcome="selected", why="Good.", person=manager, by=manager.actor)
        kept = selecting.decide(application=row, outcome="waitlisted", why="Next.", person=manager, by=manager.actor)
    assert kept.state == "waitlisted"
    page = lead.get(at).content
    assert b"Next." in page and b"Known." not in page


@pytest.mark.django_db
def test_nobody_scores_or_decides_about_the_own_organisation(world: World) -> None:
    call = open_call(world, small_hours=10_000_000)
    row = handed_in(world, call, email=world.person("frameworks_specialist").email)
    reviewer = world.person("frameworks_specialist")
    points = {"performance": 5, "openness": 5, "feasibility": 5, "reason": "Mine."}
    with acting_for(world.office, staff=True):
        with pytest.raises(Refused, match="You belong to"):
            selecting.score(application=row, person=reviewer, by=reviewer.actor, **points)
        moved = world.person("programme_manager")
        Application.objects.filter(pk=row.pk).update(tenant=world.office)
        Membership.objects.create(person=moved, tenant=world.umi, role="viewer", starts_on=date(2020, 1, 1))
    with acting_for(world.umi, staff=True):
        theirs = Application(tenant=world.umi, contact_email="x@umi.example")
        assert selecting.belongs(moved, theirs) and not selecting.belongs(world.person("lead_architect"), theirs)
        assert not ApplicationScore.objects.exists()


@pytest.mark.django_db
def test_a_small_application_is_decided_at_once_and_a_known_name_is_not_made_twice(world: World) -> None:
    call = open_call(world, small_hours=10_000_000)
    row = handed_in(world, call, organisation="ＵＭＩ vision")
    manager = world.person("programme_manager")
    told = {"application": row, "outcome": "selected", "why": "Small.", "person": manager, "by": manager.actor}
    with acting_for(world.office, staff=True):
        for slug, code in (("Kumo!", "slug"), ("umi", "slug"), ("umi-2", "known")):
            with pytest.raises(Refused) as refused:
                selecting.decide(**told, slug=slug)
            assert refused.value.code == code
        assert not Tenant.objects.filter(slug="umi-2").exists()
        declined = selecting.decide(**(told | {"outcome": "declined"}))
    assert declined.state == "declined" and declined.tenant == world.office
    with reading_everyone():
        kinds = set(Entry.objects.filter(subject="application").values_list("kind", flat=True))
    assert kinds == {"application.begun", "application.submitted", "application.declined"}


@pytest.mark.django_db
def test_a_link_is_sent_again_under_a_new_secret_and_only_so_often(world: World) -> None:
    call = open_call(world)
    for _time in range(applying.MOST_MAILS + 3):
        applying.begin_by_mail(call=call, email="aiko@kumo.example", organisation="Kumo Speech")
    letters = send_mail()
    assert len(letters) == 1  # of those that wait only the newest still says something
    with reading_everyone():
        row = Application.objects.get()
    assert row.issue == applying.MOST_MAILS
    link = re.search(r"/apply/mine/(\S+)/", letters[0].body)[1]
    assert applying.by_link(link).pk == row.pk and applying.by_link(link[:-1] + "?") is None
    assert browser().get("/apply/mine/nothing/").status_code == 404
    close(call)
    assert browser().get(f"/apply/{call.pk}/").status_code == 404
    with acting_for(world.office), pytest.raises(Refused, match="takes no applications any more"):
        applying.save(application=row, by="engine", hands_in=True, **ANSWERS, need=[ahead().kept()])


@pytest.mark.django_db
def test_the_cycle_shows_what_it_will_need_beside_what_is_reserved(world: World) -> None:
    call = open_call(world)
    handed_in(world, call)
    with acting_for(world.hoshi, staff=True):
        Reservation.objects.create(
            tenant=world.hoshi, participation=world.participations["hoshi"], kind="training_plan", state="active",
            external_id="tp-1", region="ap-northeast-1", az_id="apne1-az4", instance_type="p5.48xlarge", count=3,
            starts_at=timezone.now(), ends_at=timezone.now() + timedelta(days=90),
        )  # fmt: skip
    staff = browser(world.person("auditor"))
    assert staff.get("/cycles/").status_code == 200
    page = staff.get(f"/cycles/{world.cycle.pk}/")
    assert page.status_code == 200 and b"p5.48xlarge" in page.content
    file = staff.get(f"/cycles/{world.cycle.pk}/demand.csv").content.decode()
    assert file.count("p5.48xlarge,ap-northeast-1,4,") >= 4 and ",3," in file
    assert browser(world.person("viewer")).get("/cycles/").status_code == 403


@pytest.mark.django_db
def test_the_same_way_goes_by_the_api(world: World) -> None:
    officer, manager = browser(world.person("programme_officer")), browser(world.person("programme_manager"))
    lead = browser(world.person("business_lead"))
    now = timezone.now()

    def send(client: Client, at: str, body: dict[str, Any], status: int = 200) -> Any:
        answer = client.post(f"/api/v1/t/{at}", body, content_type="application/json")
        assert answer.status_code == status, (at, answer.content)
        return answer.json()

    cycle = send(
        manager, f"programme/cycles/{world.cycle.pk}/copy/", {"code": "C3", "name": "Three", "starts_on": "2027-01-04"}, 201
    )  # fmt: skip
    told = {
        "cycle": "C3", "title": "Three", "opens_at": (now - timedelta(days=1)).isoformat(),
        "closes_at": (now + timedelta(days=1)).isoformat(), "small_hours": 10_000_000,
    }  # fmt: skip
    call = send(officer, "programme/calls/", told, 201)
    assert "has no last day" in send(officer, f"programme/calls/{call['id']}/open/", {}, 409)["title"]
    Cycle.objects.filter(code="C3").update(ends_on=date(2027, 12, 31))
    assert lead.get(f"/api/v1/calls/{call['id']}/").status_code == 404
    send(officer, f"programme/calls/{call['id']}/open/", {})
    begun = send(lead, "hoshi/applications/", {"call": call["id"]}, 201)
    assert (begun["state"], begun["organisation"]) == ("draft", world.hoshi.name)
    assert manager.get(f"/api/v1/applications/{begun['id']}/").status_code == 404  # a draft is its writer's own
    answers = {name: value for name, value in ANSWERS.items() if name != "organisation"}
    at = f"hoshi/applications/{begun['id']}"
    unfit = send(lead, f"{at}/answers/", answers | {"need": [ahead().kept() | {"types": ["p9"]}]}, 422)
    assert "p9" in unfit["detail"]
    sent = send(lead, f"{at}/answers/", answers | {"need": [ahead().kept()], "hands_in": True})
    assert (sent["state"], sent["instances"], sent["accelerator_hours"]) == ("submitted", 4, 4 * 8 * 24 * 28)
    score = {"performance": 3, "openness": 3, "feasibility": 3, "reason": "Fine."}
    assert send(officer, f"{at}/score/", score)["scores"][0]["reason"] == "Fine."
    assert lead.get(f"/api/v1/applications/{begun['id']}/").json()["scores"] == []
    done = send(manager, f"{at}/decide/", {"outcome": "selected", "why": "Open."})
    assert done["state"] == "selected"
    steps = manager.get(f"/api/v1/t/hoshi/participations/{done['participation']}/steps/").json()
    assert [one["to"] for one in steps["steps"]] == ["onboarding", "withdrawn"] and "clusters" not in steps["permits"]
    moved = send(officer, f"hoshi/participations/{done['participation']}/move/", {"to": "onboarding"})
    assert moved["state"] == "onboarding"
    weeks = manager.get(f"/api/v1/cycles/{cycle['id']}/demand/").json()["weeks"]
    assert {one["selected_instances"] for one in weeks} == {4}
    send(officer, f"programme/cycles/{cycle['id']}/move/", {"to": "running", "version": 9}, 409)
    send(officer, f"programme/cycles/{cycle['id']}/move/", {"to": "running"})


@pytest.mark.django_db
def test_a_flood_from_one_place_is_refused_and_a_forgotten_person_is_no_contact_any_more(world: World) -> None:
    call, stranger = open_call(world), browser()
    caches["throttles"].clear()
    told = {"organisation": "Kumo", "email": "aiko@kumo.example", "language": "en"}
    codes = [stranger.post(f"/apply/{call.pk}/", told).status_code for _time in range(31)]
    caches["throttles"].clear()
    assert codes == [200] * 30 + [429]
    person = world.person("business_lead")
    handed_in(world, call, email=person.email)
    erasing.FORGETTERS[0](person.email, "x@erased.invalid")
    with reading_everyone():
        row = Application.objects.get(contact_email__endswith=".x@erased.invalid")
        [edition] = ApplicationVersion.objects.filter(application=row.pk)
    assert not row.contact_name and not edition.answers["contact_name"]
    assert applying.by_link(applying.link_token(row)) is None
