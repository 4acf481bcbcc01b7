"""Reservations from the wish to the end: one warning for each of four days, what overlaps, what is idle."""

from datetime import UTC, datetime, timedelta

import pytest
from django.test import Client
from django.utils import timezone

from clusters import capacity_queries, reserving
from clusters.actions import reservations as acting
from clusters.engine import reservations as engine
from clusters.models import LedgerRow, Reservation, Revision
from clusters.reserving import Held, Next, follow
from support.models import Case
from support.triage import triage
from tenants import mail
from tenants.history.models import Entry
from tenants.models import Delivery
from tenants.wall.acting import acting_for
from tenants.web.problems import Refused
from tenants.work import due
from tests import examples

P5 = "p5.48xlarge"
T = datetime(2027, 1, 1, tzinfo=UTC)
BACKEND = "allauth.account.auth_backends.AuthenticationBackend"


def days(number):
    return timedelta(days=number)


@pytest.mark.parametrize(
    ("state", "starts", "ends", "word", "warned", "found"),
    [
        ("wanted", -1, 1, "", None, Next("wanted", None, None, None)),
        ("ended", -1, 9, "", 3, Next("ended", None, 3, None)),
        ("bought", 2, 90, "", None, Next("bought", None, None, T + days(2))),
        ("bought", 0, 90, "", None, Next("active", None, None, T + days(76))),
        ("bought", -1, 90, "Scheduled", None, Next("bought", None, None, T + days(76))),
        ("bought", -1, 90, "payment-failed", None, Next("ended", None, None, None)),
        ("active", -1, 90, "expired", 7, Next("ended", None, 7, None)),
        ("active", -9, 0, "", 1, Next("ended", None, 1, None)),
        ("active", -9, 14, "active", None, Next("active", 14, 14, T + days(7))),
        ("active", -9, 13, "active", 14, Next("active", None, 14, T + days(6))),
        ("active", -9, 7, "active", 14, Next("active", 7, 7, T + days(4))),
        ("active", -9, 3, "active", 7, Next("active", 3, 3, T + days(2))),
        ("active", -9, 1, "active", 3, Next("active", 1, 1, T + days(1))),
        # Told late: the nearest only. Extended: those that are ahead again are told again.
        ("bought", -9, 2, "", None, Next("active", 3, 3, T + days(1))),
        ("active", -9, 30, "", 1, Next("active", None, None, T + days(16))),
        ("active", -9, 10, "", 1, Next("active", None, 14, T + days(3))),
    ],
)  # fmt: skip
def test_what_becomes_of_it(state, starts, ends, word, warned, found):
    assert follow(state, T + days(starts), T + days(ends), word, warned, T) == found


def held(name, begins, ends, count=4, kind=P5, region="r", state="active"):
    return Held(name, "odcr", kind, region, "z", count, T + days(begins), T + days(ends), state)


def test_what_holds_at_the_same_time():
    rows = [
        held("a", 0, 10), held("b", 9, 20), held("c", 20, 30), held("d", 0, 30, kind="trn1.32xlarge"),
        held("e", 0, 30, region="s"), held("f", 0, 30, state="ended"), held("g", 25, 26, state="wanted"),
    ]  # fmt: skip
    assert [(one.name, other.name) for one, other in reserving.overlaps(rows)] == [("a", "b"), ("c", "g")]


def test_what_is_idle():
    bodies = [
        {"instance_groups": [{"training_plan": "a", "reservation": "", "count": 3}, {"count": 1, "training_plan": ""}]},
        {"instance_groups": [{"training_plan": "", "reservation": "b", "count": 9}]},
        {},
    ]
    taken = reserving.used(bodies)
    assert taken == {"a": 3, "b": 9}
    assert [reserving.idle(one, taken) for one in (held("a", 0, 9), held("b", 0, 9), held("c", 0, 9))] == [1, 0, 4]
    assert reserving.idle(held("c", 0, 9, state="bought"), taken) == 0
    assert reserving.idle_hours(held("a", 0, 2), 3, T) == 3 * 48


def wanted(world, made, **changes):
    now = timezone.now()
    told = {
        "kind": "capacity_block", "instance_type": P5, "region": "ap-northeast-1", "az_id": "apne1-az4", "count": 4,
        "starts_at": now - days(1), "ends_at": now + days(30), "reason": "the last phase", "by": "engine",
    } | changes  # fmt: skip
    with acting_for(world.hoshi, staff=True):
        return acting.want(participation=made["participations"], **told)


def look(world, row, times=1):
    """The work queue handles it so often."""
    for _time in range(times):
        with acting_for(world.hoshi, staff=True):
            acting.wish(row)
        claimed = due.claim(["reservation"])
        engine.step(claimed)
    with acting_for(world.hoshi, staff=True):
        return Reservation.objects.get(pk=row.pk)


def test_from_the_wish_to_the_end_with_each_warning_once(world):
    made = examples.make(world, world.hoshi, 1)
    row = wanted(world, made)
    assert (row.state, look(world, row).state) == ("wanted", "wanted")
    with acting_for(world.hoshi, staff=True):
        with pytest.raises(Refused) as refused:
            acting.bought(held=row, external_id=" ", why="paid", by="engine")
        assert refused.value.facts["field"] == "external_id"
        with pytest.raises(Refused) as refused:
            acting.bought(held=row, external_id=made["reservations"].external_id, why="paid", by="engine")
        assert refused.value.code == "name_taken"
        assert acting.bought(held=row, external_id="cr-1", why="paid", by="engine").state == "bought"
    assert look(world, row).state == "active"
    told = []
    for left in (20, 14, 13, 7, 3, 2, 1, 0.5):
        with acting_for(world.hoshi, staff=True):
            Reservation.objects.filter(pk=row.pk).update(ends_at=timezone.now() + days(left))
        look(world, row, times=2)
    with acting_for(world.hoshi, staff=True):
        rows = Entry.objects.filter(kind__startswith="reservation.ends", subject_id=row.pk).order_by("id")
        told = [(entry.kind, entry.facts["days"]) for entry in rows]
    assert told == [
        ("reservation.ends", 14), ("reservation.ends", 7), ("reservation.ends_soon", 3), ("reservation.ends_soon", 1),
    ]  # fmt: skip
    with acting_for(world.hoshi, staff=True):
        first = Delivery.objects.filter(kind="reservation-ends", key=str(rows[0].pk)).select_related("person", "tenant")
        names = {"Account Team", "Business Lead@Hoshi", "Platform Engineer@Hoshi"}
        assert names <= {one.person.name for one in first}
        assert Delivery.objects.filter(kind="reservation-ends").count() == 4 * len(first)
        last = Delivery.objects.filter(kind="reservation-ends", key=str(rows[3].pk)).first()
        message = mail.compose(last)
        assert "4 × p5.48xlarge are reserved for 1 more day" in message.subject and "/reservations/" in message.body
        Reservation.objects.filter(pk=row.pk).update(ends_at=timezone.now() + days(30))
        assert "nothing to say" in mail.compose(last)  # extended before it was sent
    for _warning in range(2):
        triage(due.claim(["triage"]))
    with acting_for(world.hoshi, staff=True):
        [case] = Case.objects.filter(category="capacity")
        assert "4 p5.48xlarge in apne1-az4" in case.title
        Reservation.objects.filter(pk=row.pk).update(ends_at=timezone.now() - timedelta(seconds=1))
    assert look(world, row).state == "ended"
    with acting_for(world.hoshi, staff=True):
        rows = LedgerRow.objects.filter(reservation=row).order_by("created_at")
        assert [one.delta for one in rows] == [4, -4]
        with pytest.raises(Refused) as over:
            acting.end(held=row, why="again", by="engine")
        assert over.value.code == "ended"


def test_a_change_is_a_row_and_ending_early_holds_nothing_any_more(world):
    made = examples.make(world, world.hoshi, 1)
    row = wanted(world, made)
    with acting_for(world.hoshi, staff=True):
        row = acting.bought(held=row, external_id="cr-2", why="paid", by="engine")
        later = row.ends_at + days(7)
        row = acting.change(held=row, count=6, starts_at=row.starts_at, ends_at=later, why="extended", by="engine")
        assert (row.count, row.ends_at) == (6, later)
        with pytest.raises(Refused):
            acting.change(held=row, count=6, starts_at=row.starts_at, ends_at=later, why="again", by="engine")
        row = acting.end(held=row, why="given back", by="engine")
        assert row.state == "ended" and row.ends_at <= timezone.now()
        assert [one.delta for one in LedgerRow.objects.filter(reservation=row).order_by("created_at")] == [4, 2, -6]


def test_idle_and_overlapping_nodes_are_shown(world):
    made = examples.make(world, world.hoshi, 1)
    row = wanted(world, made)
    with acting_for(world.hoshi, staff=True):
        acting.bought(held=row, external_id="cr-3", why="paid", by="engine")
        newest = Revision.objects.get(cluster=made["clusters"])
        body = newest.body
        body["instance_groups"][1]["training_plan"] = "cr-3"
        body["instance_groups"][1]["count"] = 1
        Revision.objects.filter(pk=newest.pk).update(body=body)
    look(world, row)
    with acting_for(world.hoshi, staff=True):
        found = {one.row.external_id: one for one in capacity_queries.reservations(made["participations"].pk)}
    assert (found["cr-3"].idle, found["cr-3"].overlaps) == (3, ("tp-hoshi",))
    assert found["cr-3"].idle_hours == 3 * (30 * 24 - 1)


def test_the_account_team_does_all_of_it_on_pages(world):
    made = examples.make(world, world.hoshi, 1)
    team, engineer = Client(), Client()
    team.force_login(world.person("account_team"), BACKEND)
    engineer.force_login(world.person("platform_engineer"), BACKEND)
    now = timezone.now()
    form = {
        "kind": "odcr", "instance_type": P5, "az_id": "apne1-az4", "count": "2", "reason": "for the test",
        "starts_at": f"{now:%Y-%m-%dT%H:%M}", "ends_at": f"{now + days(5):%Y-%m-%dT%H:%M}",
    }  # fmt: skip
    assert engineer.post("/t/hoshi/reservations/want/", form).status_code == 403
    late = team.post("/t/hoshi/reservations/want/", form | {"ends_at": "2020-01-01T00:00"})
    assert late.status_code == 422 and "later than its beginning" in late.content.decode()
    where = team.post("/t/hoshi/reservations/want/", form)["Location"]
    assert where in team.get("/capacity/").content.decode()
    assert "not bought yet" in engineer.get("/t/hoshi/capacity/").content.decode()
    assert f"{where}buy/" not in engineer.get(where).content.decode()
    assert team.post(f"{where}buy/", {"external_id": "cr-9", "why": "paid", "version": "1"}).status_code == 303
    assert team.post(f"{where}end/", {"why": "over", "version": "1"}).status_code == 409
    change = {"count": "3", "starts_at": form["starts_at"], "ends_at": f"{now + days(9):%Y-%m-%dT%H:%M}", "why": "more"}
    assert team.post(f"{where}change/", change | {"version": "2"}).status_code == 303
    assert team.post(f"{where}end/", {"why": "over", "version": "3"}).status_code == 303
    assert "+2" in engineer.get(where).content.decode() and made
