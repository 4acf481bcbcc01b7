"""What one has in every unit, and requests for capacity: what they come to, which rule grants them, who decides."""

from datetime import date, timedelta
from decimal import Decimal

import pytest
from django.test import Client
from django.utils.formats import date_format

from clusters import capacity_queries
from clusters.actions import capacity as acting
from clusters.capacity import Coming, Kind, coming, hours, joined
from clusters.capacity_effect import Change, Circumstances, effect, least_within, most_within, rows, rule
from clusters.granted import Granted
from clusters.models import CapacityRequest, LedgerRow, QuotaGrant
from tenants import mail
from tenants.actions import edit_record
from tenants.history.models import Entry
from tenants.models import Cycle, Delivery, Programme
from tenants.programme_day import programme_today
from tenants.wall.acting import acting_for
from tenants.wall.identity import issue_token
from tenants.web.problems import Refused, Stale
from tests import examples
from tests.clusters.test_change_pages import send

P5 = "p5.48xlarge"
DAY = date(2027, 1, 1)
LINE = "compute of hoshi"  # of the examples
BACKEND = "allauth.account.auth_backends.AuthenticationBackend"


def test_one_number_in_every_unit():
    kind = Kind(P5, "us-east-1", 8, 192)
    assert kind.units(127) == {"instances": 127, "accelerators": 1016, "vcpus": 24384}
    assert kind.units(None) == {"instances": None, "accelerators": None, "vcpus": None}
    assert Kind("x", "r").units(2) == {"instances": 2, "accelerators": None, "vcpus": None}


@pytest.mark.parametrize(
    ("granted", "word", "free", "over"),
    [
        (Granted({"": 8, "odcr": 4}), "limited", 6, 0),
        (Granted({}), "none", 0, 6),
        (Granted(), "not_set", None, 0),
        (Granted({"": 1}, True), "unlimited", None, 0),
    ],
)
def test_what_is_joined(granted, word, free, over):
    one = joined(Kind(P5, "r", 8, 192), granted, {"on_demand": 4, "odcr": 2}, {"odcr": 5})
    assert (one.word, one.free, one.over, one.held, one.reserved) == (word, free, over, 6, 5)
    assert [(way.option, way.reserved, way.held, way.idle) for way in one.ways] == [
        ("", 0, 0, 0), ("odcr", 5, 2, 3), ("on_demand", 0, 4, 0),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("steps", "ends", "found"),
    [
        ([(2, DAY, DAY)], None, 2 * 24 * 8),
        ([(2, DAY, None)], None, None),
        ([(2, DAY, None)], date(2027, 1, 2), 2 * 48 * 8),
        ([(2, date(2026, 1, 1), None), (-1, date(2027, 1, 2), None)], date(2027, 1, 2), (48 + 24) * 8),
        ([(2, date(2028, 1, 1), None)], date(2027, 1, 2), 0),
        ([], None, 0),
    ],
)
def test_accelerator_hours_of_a_cycle(steps, ends, found):
    assert hours(steps, DAY, ends, 8) == found


NOW = Circumstances(date(2027, 6, 30), date(2027, 3, 31), 8, Decimal("10.5"), Decimal("8"), "USD", date(2026, 11, 1))


@pytest.mark.parametrize(
    ("change", "now", "told"),
    [
        (Change("more", 2, "r", "", DAY, date(2027, 1, 10)), NOW, (2 * 240 * 8, Decimal("5040.00"), 0)),
        (Change("more", 1, "r", "", date(2027, 6, 30), None), NOW, (24 * 8, Decimal("252.00"), 91)),
        (Change("fewer", 1, "r", "", date(2027, 6, 30), None), NOW, (-24 * 8, Decimal("-252.00"), 91)),
        (Change("region", 1, "r", "s", DAY, DAY), NOW, (0, Decimal("60.00"), 0)),  # what the other Region is dearer
        (Change("more", 1, "r", "", DAY, None), Circumstances(accelerators=8), (None, None, None)),
        (Change("more", 1, "r", "", DAY, DAY), Circumstances(accelerators=8), (192, None, None)),
    ],
)
def test_what_a_request_comes_to(change, now, told):
    found = effect(change, now)
    assert (found.accelerator_hours, found.cost, found.days_past_gate) == told


@pytest.mark.parametrize(
    ("kind", "days", "limit", "recently", "named"),
    [
        ("more", 10, 1920, 0, "small"),
        ("more", 10, 1919, 0, ""),
        ("more", 10, 0, 0, ""),
        ("more", 10, 3000, 1081, ""),  # no large wish in small pieces
        ("longer", 10, 3000, 1080, "small"),
        ("fewer", 10, 0, 9999, "gives_back"),
        ("region", 10, 10**9, 0, ""),
    ],
)
def test_which_rule_grants_at_once(kind, days, limit, recently, named):
    change = Change(kind, 1, "r", "s", DAY, DAY + timedelta(days=days - 1))
    assert rule(change, effect(change, NOW), limit=limit, recently=recently) == named


def test_what_has_no_end_is_not_small():
    change = Change("more", 1, "r", "", DAY, None)
    assert rule(change, effect(change, Circumstances(accelerators=8)), limit=10**9, recently=0) == ""


def test_the_rows_of_each_kind_and_what_can_be_given_back():
    assert list(rows(Change("longer", 3, "r", "", DAY, DAY))) == [("r", 3, DAY, DAY)]
    assert list(rows(Change("fewer", 3, "r", "", DAY, None))) == [("r", -3, DAY, None)]
    assert list(rows(Change("region", 3, "r", "s", DAY, None))) == [("r", -3, DAY, None), ("s", 3, DAY, None)]
    steps = [(5, date(2026, 1, 1), None), (3, DAY, date(2027, 1, 5)), (-2, date(2027, 1, 4), None)]
    assert [least_within(steps, DAY, end) for end in (DAY, date(2027, 1, 4), None)] == [8, 6, 3]
    assert [most_within(steps, date(2027, 1, 4), end) for end in (date(2027, 1, 4), None)] == [6, 6]


def asked_for(world, made, **changes):
    told = {
        "kind": "more", "instance_type": P5, "region": "ap-northeast-1", "instances": 4, "starts_on": programme_today(),
        "ends_on": programme_today() + timedelta(days=9), "reason": "the larger model",
        "by": world.person("platform_engineer").actor,
    } | changes  # fmt: skip
    with acting_for(world.hoshi):
        return acting.ask(participation=made["participations"], **told)


def granted(world):
    with acting_for(world.hoshi):
        return {line.region: line.approved_instances for line in QuotaGrant.objects.all()}


def test_a_large_one_is_decided_by_somebody_else_and_small_ones_by_the_rule(world):
    made = examples.make(world, world.hoshi, 1)
    row = asked_for(world, made)
    assert (row.state, row.effect["accelerator_hours"]) == ("waiting", 4 * 240 * 8)
    lead, manager = world.person("lead_architect"), world.person("programme_manager")
    own = asked_for(world, made, by=lead.actor)
    with acting_for(world.hoshi, staff=True):
        for told, code in [
            ({"asked": own, "person": lead, "by": lead.actor, "budget_line": LINE}, "own_request"),
            ({"asked": row, "person": lead, "by": lead.actor}, "invalid"),
        ]:
            with pytest.raises(Refused) as refused:
                acting.decide(grants=True, why="fits", **told)
            assert refused.value.code == code
        done = acting.decide(
            asked=row, grants=True, why="It fits the plan.", budget_line=LINE, person=manager, by=manager.actor
        )
        assert (done.state, done.budget_line, done.decided_by, done.rule) == ("granted", LINE, manager.actor, "")
        with pytest.raises(Refused) as again:
            acting.decide(asked=row, grants=True, why="x", budget_line=LINE, person=manager, by=manager.actor)
        assert again.value.code == "decided"
        [line] = LedgerRow.objects.filter(request=row)
        assert (line.delta, line.by, line.ends_on) == (4, manager.actor, row.ends_on)
        assert Entry.objects.filter(kind="capacity_request.granted").count() == 1
        declined = acting.decide(asked=own, grants=False, why="Not now.", person=manager, by=manager.actor)
        assert (declined.state, declined.why) == ("declined", "Not now.")
        # Whoever asked is told, and nobody of what they decided themselves.
        wished = Delivery.objects.filter(kind="capacity-decided").select_related("person", "tenant")
        assert dict(wished.values_list("about", "person__email")) == {
            row.pk: world.person("platform_engineer").email,
            own.pk: lead.email,
        }
        letters = [mail.compose(one) for one in wished]
        assert {"granted" in one.subject for one in letters} == {True, False}
        assert all("It fits the plan." in one.body or "Not now." in one.body for one in letters)
    assert granted(world) == {"ap-northeast-1": 24}
    Programme.objects.update(small_request_hours=200)
    first = asked_for(world, made, instances=1, ends_on=programme_today())
    second = asked_for(world, made, instances=1, ends_on=programme_today())
    assert (first.state, first.rule, second.state) == ("granted", "small", "waiting")
    assert granted(world) == {"ap-northeast-1": 25}


def test_whoever_edits_a_line_by_what_it_said_before_a_grant_does_not_take_the_grant_back(world):
    made = examples.make(world, world.hoshi, 1)
    row, manager = asked_for(world, made), world.person("programme_manager")
    with acting_for(world.hoshi, staff=True):
        seen = QuotaGrant.objects.get(region="ap-northeast-1")
        acting.decide(asked=row, grants=True, why="ok", budget_line=LINE, person=manager, by=manager.actor)
        changes = {"approved_instances": 21, "provider_value": 21}
        with pytest.raises(Stale):
            edit_record(block=seen, changes=changes, version=seen.version, by=manager.actor)
    assert granted(world) == {"ap-northeast-1": 24}


def test_what_is_granted_from_a_later_day_is_told_with_its_days():
    later, last = date(2027, 4, 19), date(2027, 7, 11)
    steps = [(4, DAY, None), (2, later, last), (2, later, last), (1, last, None), (-1, last, None), (3, last, last)]
    assert coming(steps, DAY) == [Coming(4, later, last), Coming(3, last, last)]
    assert coming(steps, last) == []


def test_pages_say_from_when_a_later_grant_holds_and_not_that_none_is_allowed(world):
    made, today = examples.make(world, world.hoshi, 1), programme_today()
    wish = {"region": "us-east-1", "starts_on": today + timedelta(days=20), "ends_on": today + timedelta(days=40)}
    row, manager = asked_for(world, made, **wish), world.person("programme_manager")
    with acting_for(world.hoshi, staff=True):
        acting.decide(asked=row, grants=True, why="ok", budget_line=LINE, person=manager, by=manager.actor)
    client = Client()
    client.force_login(world.person("business_lead"), BACKEND)
    for address in ("/t/hoshi/capacity/", "/", "/t/hoshi/"):
        page = client.get(address).content.decode()
        assert (
            "none allowed" not in page and "granted for later:" in page and '4 × <span class="mono">p5.48xlarge' in page
        )


def test_giving_back_and_another_region(world):
    made = examples.make(world, world.hoshi, 1)
    back = asked_for(world, made, kind="fewer", instances=6, ends_on=None)
    assert (back.state, back.rule) == ("granted", "gives_back")
    assert granted(world) == {"ap-northeast-1": 14}
    with pytest.raises(Refused) as refused:
        asked_for(world, made, kind="fewer", instances=15, ends_on=None)
    assert refused.value.code == "not_granted" and "grants 14" in str(refused.value.sentence)
    moved = asked_for(world, made, kind="region", to_region="us-east-1", instances=5, ends_on=None)
    manager = world.person("programme_manager")
    with acting_for(world.hoshi, staff=True):
        acting.decide(asked=moved, grants=True, why="ok", budget_line=LINE, person=manager, by=manager.actor)
    assert granted(world) == {"ap-northeast-1": 9, "us-east-1": 5}


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"instance_type": "p5.48xlage"}, "instance_type"),
        ({"instance_type": "m5.4xlarge"}, "instance_type"),
        ({"region": "mars-1"}, "region"),
        ({"to_region": "us-east-1"}, "to_region"),
        ({"kind": "region"}, "to_region"),
        ({"kind": "region", "to_region": "ap-northeast-1"}, "to_region"),
        ({"kind": "less"}, "kind"),
        ({"option": "barter"}, "option"),
        ({"instances": 0}, "instances"),
        ({"instances": 100_001}, "instances"),
        ({"starts_on": date(2020, 1, 1)}, "starts_on"),
        ({"ends_on": date(2020, 1, 1)}, "ends_on"),
        ({"ends_on": date(2999, 1, 1)}, "ends_on"),
        ({"kind": "longer", "ends_on": None}, "ends_on"),
        ({"reason": " "}, "reason"),
    ],
)
def test_what_is_refused_names_the_field(changes, field):
    told = {
        "kind": "more", "instance_type": P5, "region": "ap-northeast-1", "instances": 4, "starts_on": date(2026, 12, 1),
        "reason": "why",
    } | changes  # fmt: skip
    with pytest.raises(Refused) as refused:
        acting._refuse_nonsense(CapacityRequest(**told), date(2026, 12, 1))
    assert refused.value.facts["field"] == field  # for programs; people read what their form calls it
    assert str(acting.FIELDS[field]) in refused.value.sentence


def test_the_pages_from_the_wish_to_the_decision(world):
    made = examples.make(world, world.hoshi, 1)
    Cycle.objects.update(ends_on=date(2030, 1, 1), stage_gate_on=date(2029, 1, 1))
    signed = {}
    for role in ("platform_engineer", "programme_manager", "viewer"):
        signed[role] = Client()
        signed[role].force_login(world.person(role), BACKEND)
    page = signed["platform_engineer"].get("/t/hoshi/capacity/").content.decode()
    assert "Ask for capacity" in page and "20 <span" in page and "Reserved and idle" in page
    assert "Ask for capacity" not in signed["viewer"].get("/t/hoshi/capacity/").content.decode()
    form = {
        "kind": "more", "instance_type": P5, "region": "us-east-1", "instances": "8", "reason": "longer context",
        "starts_on": programme_today().isoformat(),
    }  # fmt: skip
    asked = signed["platform_engineer"].post("/t/hoshi/capacity/ask/", form)
    assert asked.status_code == 303
    assert (
        signed["platform_engineer"].post("/t/hoshi/capacity/ask/", form | {"ends_on": "2020-01-01"}).status_code == 422
    )
    where = asked["Location"]
    again = signed["platform_engineer"].post("/t/hoshi/capacity/ask/", form)
    assert again.status_code == 422 and where in again.content.decode() and 'name="again"' in again.content.decode()
    twice = signed["platform_engineer"].post("/t/hoshi/capacity/ask/", form | {"again": "on"})
    assert twice.status_code == 303 and where in signed["viewer"].get(twice["Location"]).content.decode()
    body = {name: value for name, value in form.items() if name != "ends_on"} | {"instances": 8}
    body["participation"] = str(made["participations"].pk)
    told = send(world, "capacity-requests/", body).json()["warnings"]
    assert [one["code"] for one in told] == ["asked_already"] and len(told[0]["about"]) == 2
    elsewhere = send(world, "capacity-requests/", body | {"region": "us-west-2"})
    assert elsewhere.status_code == 201 and elsewhere.json()["warnings"] == []
    assert "days of it lie after the gate" in signed["viewer"].get(where).content.decode()
    assert "Budget line" not in signed["platform_engineer"].get(where).content.decode()
    assert where in signed["programme_manager"].get("/capacity/").content.decode()
    decision = {"decision": "grant", "why": "It fits.", "version": "1"}
    assert signed["programme_manager"].post(f"{where}decide/", decision).status_code == 422
    assert signed["programme_manager"].post(f"{where}decide/", decision | {"budget_line": LINE}).status_code == 303
    told = signed["viewer"].get(where).content.decode()
    assert LINE in told and "It fits." in told
    table = signed["viewer"].get("/t/hoshi/capacity/export/").content.decode()
    assert "p5.48xlarge,us-east-1,any,limited,8,64,1536" in table
    limit = {"hours": "5000", "why": "as agreed", "version": "1"}
    assert signed["platform_engineer"].post("/capacity/small/", limit).status_code == 403
    assert signed["programme_manager"].post("/capacity/small/", limit).status_code == 303
    assert signed["programme_manager"].post("/capacity/small/", limit).status_code == 409
    assert "up to 5000 accelerator-hours" in signed["platform_engineer"].get("/capacity/").content.decode()
    token = issue_token(person=world.person("viewer"), name="t")[1]
    shown = Client(headers={"Authorization": f"Bearer {token}"}).get("/api/v1/t/hoshi/capacity/").json()["results"][0]
    tokyo, virginia = shown["capacity"]
    assert virginia["granted"] == {"word": "limited", "instances": 8, "accelerators": 64, "vcpus": 1536}
    assert (tokyo["held"]["instances"], tokyo["free"]["instances"], tokyo["allowed"][0]["value"]) == (4, 16, 20)
    with acting_for(world.hoshi):
        assert made and capacity_queries.unsettled() == {}


def test_what_is_granted_is_prolonged_without_counting_a_day_twice(world):
    made, today = examples.make(world, world.hoshi, 1), programme_today()
    first, last, end = today + timedelta(days=20), today + timedelta(days=40), today + timedelta(days=54)
    row = asked_for(world, made, region="us-east-1", starts_on=first, ends_on=last)
    manager, client = world.person("programme_manager"), Client()
    client.force_login(world.person("platform_engineer"), BACKEND)
    page = f"/t/hoshi/capacity-requests/{row.pk}/"
    assert "longer/" not in client.get(page).content.decode()
    assert "Nothing to prolong" in client.get(f"{page}longer/").content.decode()
    with acting_for(world.hoshi, staff=True):
        acting.decide(asked=row, grants=True, why="ok", budget_line=LINE, person=manager, by=manager.actor)
    # The old first day with the new last day would hold the same instances twice.
    wrong = {
        "kind": "longer", "instance_type": P5, "region": "us-east-1", "instances": "4", "reason": "longer",
        "starts_on": first.isoformat(), "ends_on": end.isoformat(),
    }  # fmt: skip
    for kind in ("longer", "more"):
        stopped = client.post("/t/hoshi/capacity/ask/", wrong | {"kind": kind})
        told = stopped.content.decode()
        assert stopped.status_code == 422 and f"{page}longer/" in told and 'name="again"' in told
        assert "at most 4 instances are granted in that time, with it they would be 8" in told
    assert f"{page}longer/" in client.get(page).content.decode()
    back = client.post("/t/hoshi/capacity/ask/", wrong | {"kind": "fewer", "ends_on": last.isoformat()})
    assert back.status_code == 422 and "Giving back takes effect at once" in back.content.decode()
    again = client.get(f"/t/hoshi/capacity/ask/?like={row.pk}&kind=fewer").content.decode()
    assert f'value="{first.isoformat()}"' in again and 'value="fewer" selected' in again
    assert client.post(f"{page}longer/", {"reason": "x", "ends_on": last.isoformat()}).status_code == 422
    asked = client.post(f"{page}longer/", {"reason": "the last runs", "ends_on": end.isoformat()})
    assert asked.status_code == 303
    stopped = client.post(f"{page}longer/", {"reason": "again", "ends_on": end.isoformat()})
    assert stopped.status_code == 422 and asked["Location"] in stopped.content.decode()
    with acting_for(world.hoshi):
        more = CapacityRequest.objects.get(pk=asked["Location"].rstrip("/").rpartition("/")[2])
        assert (more.kind, more.instances, more.starts_on, more.ends_on) == (
            "longer", 4, last + timedelta(days=1), end,
        )  # fmt: skip
        assert more.effect["accelerator_hours"] == 4 * 14 * 24 * 8


def test_fewer_and_a_shorter_time_are_granted_and_what_waits_is_changed_by_whoever_asked(world):
    made, today = examples.make(world, world.hoshi, 1), programme_today()
    ends, term = today + timedelta(days=60), today + timedelta(days=40)
    Cycle.objects.update(ends_on=term)
    row = asked_for(world, made, region="us-east-1", ends_on=ends, least=2)
    page = f"/t/hoshi/capacity-requests/{row.pk}/"
    asker, office = Client(), Client()
    asker.force_login(world.person("platform_engineer"), BACKEND)
    office.force_login(world.person("programme_manager"), BACKEND)
    form = {
        "kind": "more", "instance_type": P5, "region": "us-east-1", "instances": "6", "least": "3", "reason": "larger",
        "starts_on": today.isoformat(), "ends_on": ends.isoformat(), "version": "1",
    }  # fmt: skip
    with acting_for(world.hoshi, staff=True):
        waits = Delivery.objects.filter(kind="capacity-waits").select_related("person", "tenant")
        assert {one.person for one in waits} == {world.person("programme_manager")}
        assert "asks for capacity: 4" in mail.compose(waits[0]).subject
    assert asker.post(f"{page}change/", form | {"least": "7"}).status_code == 422
    assert asker.post(f"{page}change/", form).status_code == 303
    assert asker.post(f"{page}change/", form).status_code == 409
    with acting_for(world.hoshi, staff=True):
        changed = Entry.objects.get(kind="capacity_request.changed").facts["changes"]
        assert (changed["instances"], changed["least"]) == ([4, 6], [2, 3])
        now = CapacityRequest.objects.get(pk=row.pk)
        assert now.effect["accelerator_hours"] == 6 * 61 * 24 * 8 and acting.own(now, world.person("platform_engineer"))
        assert not acting.own(now, world.person("programme_manager"))
    decision = {"decision": "grant", "why": "It fits.", "version": "2", "budget_line": LINE, "instances": "4"}
    for wrong in ({"instances": "2"}, {"instances": "7"}, {"ends_on": (ends + timedelta(days=1)).isoformat()}):
        assert office.post(f"{page}decide/", decision | wrong).status_code == 422
    past = office.post(f"{page}decide/", decision)
    assert past.status_code == 422 and "20 days of it lie after the end of the cycle" in past.content.decode()
    assert 'type="checkbox" name="nevertheless"' in past.content.decode()
    assert office.post(f"{page}decide/", decision | {"ends_on": term.isoformat()}).status_code == 303
    with acting_for(world.hoshi, staff=True):
        done = CapacityRequest.objects.get(pk=row.pk)
        assert (done.instances, done.ends_on, done.given, done.given_until) == (6, ends, 4, term)
        [line] = LedgerRow.objects.filter(request=row)
        assert (line.delta, line.ends_on, done.given_hours) == (4, term, 4 * 41 * 24 * 8)
        assert capacity_queries.prolonged_by(done) == (term + timedelta(days=1), 4)
        [letter] = [mail.compose(one) for one in Delivery.objects.filter(kind="capacity-decided")]
        assert "fewer or for a shorter time" in letter.body and "31,488" in letter.body
    told = asker.get(page).content.decode()
    assert "less than was asked for" in told and "Left of the budget" in told
    assert "Decided already" in asker.get(f"{page}change/").content.decode()
    other = asked_for(world, made, region="us-east-1", ends_on=ends, instances=1)
    assert "for capacity: the programme decides" in asker.get("/").content.decode()
    changed = send(world, f"capacity-requests/{other.pk}/change/", {"instances": 2, "version": 1})
    assert (changed.status_code, changed.json()["instances"], changed.json()["version"]) == (200, 2, 2)
    assert send(world, f"capacity-requests/{other.pk}/change/", {"instances": 3, "version": 1}).status_code == 409
    decided = send(world, f"capacity-requests/{row.pk}/change/", {"instances": 3, "version": done.version})
    assert (decided.status_code, decided.json()["code"]) == (409, "decided")
    assert 'id="later"' not in asker.get("/t/hoshi/budget/").content.decode()
    with acting_for(world.hoshi, staff=True):
        person = world.person("programme_manager")
        told = {"grants": True, "why": "x", "budget_line": LINE, "person": person, "by": person.actor}
        with pytest.raises(Refused) as refused:
            acting.decide(asked=other, **told)
        assert refused.value.code == "past_term"
        assert acting.decide(asked=other, nevertheless=True, **told).state == "granted"
    # What is granted after the term is in no sum of it, and is said.
    page = asker.get("/t/hoshi/budget/").content.decode()
    assert 'id="later"' in page and date_format(ends, "SHORT_DATE_FORMAT") in page
