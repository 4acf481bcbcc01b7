"""Budgets: each instance-moment costs once, months sum to totals, which day reaches the limit, and what follows there."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from django.test import Client
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from clusters import capacity_queries
from clusters.actions import capacity
from clusters.actions import holding as granting
from clusters.architectures.configuration import read_configuration
from clusters.budgets import actions, effects, prices, queries, telling
from clusters.budgets.prices import Book
from clusters.budgets.reckoning import Term, reckon
from clusters.budgets.spans import Good, Grant, Reserved, Stay, changed, pieces, together
from clusters.budgets.stopping import JobNow, Standing, Step, Terms, binds_too_much, deed, follow, refusal, smallest
from clusters.models import BudgetRow, BudgetWatch, CapacityRequest, LedgerRow, NodeInstance, Reservation, Revision
from clusters.plans.prices import Prices
from tenants import mail
from tenants.history import timeline
from tenants.history.models import Entry
from tenants.models import Cycle, Delivery, Participation, Programme
from tenants.programme_day import programme_today
from tenants.wall.acting import acting_for
from tenants.web.problems import Refused
from tests import examples

P5, TRN = Good("p5.48xlarge", "hyperpod", "r"), Good("trn1.32xlarge", "ec2", "r")
T = datetime(2027, 1, 15, tzinfo=UTC)
NEVER = datetime(2027, 7, 1, tzinfo=UTC)
TERM = Term(datetime(2027, 1, 1, tzinfo=UTC), NEVER, T)


def days(number):
    return T + timedelta(days=number)


def stay(begins, ends, count=1, claim="", good=P5):
    return Stay(good, count, days(begins), days(ends), claim)


def reserved(begins, ends, count, name="a", good=P5):
    return Reserved(name, good, count, days(begins), days(ends))


def grant(delta, begins, ends, asked=True, good=P5):
    return Grant(good, delta, days(begins), days(ends), asked)


def instance_days(found):
    told = {}
    for one in found:
        told[one.kind] = told.get(one.kind, 0) + one.hours / 24
    return told


@pytest.mark.parametrize(
    ("stays", "held", "grants", "told"),
    [
        ([stay(-4, 0), stay(0, 6, 2)], [], [], {"instances": 16}),
        # What runs in a reservation is in its price; what does not fit, comes before it or stays after it is not.
        ([stay(0, 10, 4, "a")], [reserved(0, 10, 4)], [], {"reserved": 40}),
        ([stay(0, 10, 4, "a")], [reserved(0, 10, 6)], [], {"reserved": 60}),
        ([stay(0, 10, 4, "a")], [reserved(0, 10, 3)], [], {"reserved": 30, "instances": 10}),
        ([stay(-2, 12, 1, "a")], [reserved(0, 10, 1)], [], {"reserved": 10, "instances": 4}),
        ([stay(0, 10, 1, "b")], [reserved(0, 10, 1)], [], {"reserved": 10, "instances": 10}),
        ([stay(0, 10, 1, "a", TRN)], [reserved(0, 10, 1)], [], {"reserved": 10, "instances": 10}),
        ([stay(0, 5, 2, "a"), stay(3, 8, 2, "a")], [reserved(0, 10, 3)], [], {"reserved": 30, "instances": 2}),
        # Granted for a request: what neither runs nor is reserved, from now on.
        ([], [], [grant(4, -10, 10)], {"granted": 40}),
        ([], [], [grant(4, -10, 10, asked=False)], {}),
        ([stay(0, 10, 3)], [], [grant(4, 0, 10)], {"instances": 30, "granted": 10}),
        ([stay(0, 10, 20)], [], [grant(20, 0, 10, False), grant(4, 0, 10)], {"instances": 200, "granted": 40}),
        ([stay(0, 10, 30)], [], [grant(20, 0, 10, False), grant(4, 0, 10)], {"instances": 300}),
        ([], [reserved(2, 6, 4)], [grant(4, 0, 10)], {"reserved": 16, "granted": 24}),
        ([], [], [grant(4, 0, 10), grant(-3, 5, 10)], {"granted": 25}),
        ([stay(3, 3), stay(4, 2)], [reserved(5, 5, 9)], [], {}),
    ],
)  # fmt: skip
def test_each_instance_costs_once(stays, held, grants, told):
    assert instance_days(pieces(stays, held, grants, T)) == told


day_numbers = st.integers(-30, 60)
spells = st.tuples(day_numbers, st.integers(1, 40), st.integers(1, 5))


@given(
    st.lists(st.tuples(spells, st.sampled_from(["", "a", "b", "gone"]), st.sampled_from([P5, TRN])), max_size=8),
    st.lists(st.tuples(spells, st.sampled_from([P5, TRN])), max_size=2),
    st.lists(st.tuples(spells, st.booleans()), max_size=3),
)
def test_no_sequence_of_events_is_counted_twice(stays, held, grants):
    """Day by day: what costs is the larger of what is reserved and runs in it, and of grants only what is left of them."""
    stays = [stay(first, first + length, count, claim, good) for (first, length, count), claim, good in stays]
    held = [
        reserved(first, first + length, count, name, good)
        for ((first, length, count), good), name in zip(held, "ab", strict=False)
    ]
    grants = [grant(count, first, first + length, asked) for (first, length, count), asked in grants]
    found = pieces(stays, held, grants, T)
    for number in range(-31, 101):
        moment = days(number) + timedelta(hours=7)

        def there(rows, moment=moment):
            return [one for one in rows if one.begins <= moment < one.ends]

        wanted, rest = 0, list(there(stays))
        for one in there(held):
            inside = sum(s.count for s in rest if s.claim == one.name and s.good == one.good)
            rest = [s for s in rest if not (s.claim == one.name and s.good == one.good)]
            wanted += max(one.count, inside)
        wanted += sum(s.count for s in rest)
        now = there(found)
        assert sum(one.count for one in now if one.kind != "granted") == wanted
        free = sum(one.count for one in now if one.kind == "granted")
        taken = sum(one.count for one in now if one.kind != "granted" and one.good.what == P5.what)
        limit = sum(one.delta for one in there(grants))
        assert free == (0 if number < 0 or not any(g.asked for g in grants) else min(
            sum(g.delta for g in there(grants) if g.asked), max(0, limit - taken)
        ))  # fmt: skip
    assert instance_days(pieces(together(stays), held, grants, T)) == instance_days(found)


def book(**more):
    lists = [
        Prices("old", date(2026, 12, 1), date(2027, 1, 9), "USD", False, {"hyperpod": {"p5.48xlarge": Decimal(10)}}),
        Prices("new", date(2027, 1, 10), date(2028, 1, 1), "USD", False, {"hyperpod": {"p5.48xlarge": Decimal(20)}}),
    ]
    return Book(**{"currency": "USD", "zone": "UTC", "lists": lists} | more)


def told_of(stays, budget=None, prices=None, held=()):
    return reckon(pieces(stays, held, [], T), TERM, prices or book(), budget, price_days=(prices or book()).days())


def test_hours_have_the_price_of_their_time_and_months_sum_to_the_total():
    found = told_of([stay(-10, 0), stay(0, 31)], Decimal(20_000))
    assert found.spent == 5 * 24 * 10 + 5 * 24 * 20
    assert [(m.first.month, m.spent, m.bound) for m in found.months[:3]] == [
        (1, Decimal(3600), Decimal(17 * 24 * 20)), (2, Decimal(0), Decimal(14 * 24 * 20)), (3, Decimal(0), Decimal(0)),
    ]  # fmt: skip
    assert found.bound == 31 * 24 * 20 and found.total == sum(m.spent + m.bound for m in found.months)
    assert sum(line.amount for line in found.lines) == found.total
    assert (found.left, found.unspent, found.percent) == (20_000 - found.total, Decimal(16_400), 18)


@given(
    st.lists(st.tuples(day_numbers, st.integers(1, 90), st.integers(1, 7)), max_size=6), st.decimals(0, 99, places=4)
)
def test_rows_sum_to_totals_whatever_the_price(stays, price):
    prices = book(
        lists=[Prices("p", date(2026, 1, 1), NEVER.date(), "USD", False, {"hyperpod": {"p5.48xlarge": price}})]
    )
    found = told_of([stay(a, a + b, n) for a, b, n in stays], Decimal(10), prices)
    assert sum((line.amount for line in found.lines), Decimal(0)) == found.total == found.spent + found.bound
    assert found.left == Decimal(10) - sum((m.spent + m.bound for m in found.months), Decimal(0))


@pytest.mark.parametrize(
    ("prices", "known", "note"),
    [
        (book(currency="JPY"), False, "no rate"),
        (book(currency="JPY", rates={"USD": [(date(2027, 1, 1), Decimal(150))]}), True, None),
        (book(lists=[]), False, "No price"),
        (book(lists=book().lists[1:]), True, "No prices from before"),
        (book(lists=book().lists[:1]), True, "expired"),
    ],
)
def test_what_has_no_price_is_not_known_and_never_nothing(prices, known, note):
    found = told_of([stay(-1, 0)], Decimal(5), prices)
    assert (found.unpriced == (), found.lines[0].amount is not None) == (known, known)
    notes = " ".join(prices.notes(TERM.begins.date(), T.date()))
    assert note in notes if note else notes == ""
    assert not known or found.spent in (480, 480 * 150, 240)


@pytest.mark.parametrize(
    ("budget", "reached", "at_present"),
    [
        (None, None, None),
        (Decimal(0), date(2027, 1, 5), date(2027, 1, 15)),
        (Decimal(3600), date(2027, 1, 15), date(2027, 1, 15)),
        (Decimal(3600 + 48_000), date(2027, 2, 24), date(2027, 7, 1)),  # 480 a day, of which 10 of 14 days were used
        (Decimal(10**9), None, None),
    ],
)
def test_the_day_on_which_it_is_reached(budget, reached, at_present):
    found = told_of([stay(-10, 0), stay(0, 20), stay(20, 99, 4)], budget)
    assert found.per_day == (found.spent / 14).quantize(Decimal("0.01"))
    assert found.reached == reached
    if at_present != date(2027, 7, 1):
        assert found.reached_at_present == at_present


def test_what_if_there_were_fewer_or_it_ended_earlier():
    stays = [stay(-5, 0, 4), stay(0, 10, 4), stay(0, 10, 2, "a"), stay(0, 10, 1, good=TRN)]
    kinds = frozenset({P5.what})
    fewer = instance_days(pieces(changed(stays, T, 3, None, kinds), [reserved(0, 10, 2)], [], T))
    assert fewer == {"instances": 20 + 10 + 10, "reserved": 20}
    ended = instance_days(pieces(changed(stays, T, 0, days(4), kinds), [reserved(0, 10, 2)], [], T))
    assert ended == {"instances": 20 + 16 + 4, "reserved": 20}
    assert instance_days(pieces(changed(stays, T, 99, days(-2), kinds), [], [], T)) == {"instances": 20}


RULE = Terms("stop", (50, 80, 95), timedelta(hours=72), timedelta(hours=24))


def stands(state="within", spent=0, warned=0, budget=100, since=-1, paused=None):
    pause = days(paused) if paused is not None else None
    return Standing(state, days(since), warned, None if budget is None else Decimal(budget), Decimal(spent), pause)


@pytest.mark.parametrize(
    ("now_is", "terms", "running", "step"),
    [
        (stands(), RULE, 3, Step("within", None, 0)),
        (stands(budget=None, spent=9), RULE, 3, Step("within", None, 0)),
        (stands(spent=49), RULE, 3, Step("within", None, 0)),
        (stands(spent=50), RULE, 3, Step("within", 50, 50)),
        (stands(spent=79, warned=50), RULE, 3, Step("within", None, 50)),
        (stands(spent=96, warned=50), RULE, 3, Step("within", 95, 95)),  # the highest only
        (stands(spent=60, warned=95), RULE, 3, Step("within", None, 50)),  # raised: told again when it comes again
        (stands(spent=100, warned=95), RULE, 3, Step("notice", None, 95)),
        (stands(spent=100, warned=95), Terms("refuse"), 3, Step("notice", None, 95)),
        (stands(spent=100, warned=95), Terms("tell"), 3, Step("within", None, 95)),
        (stands(budget=0), RULE, 0, Step("notice", None, 0)),
        (stands("notice", 100, 95, since=-2), RULE, 3, Step("notice", None, 95)),
        (stands("notice", 100, 95, since=-3), RULE, 3, Step("stopping", None, 95)),
        (stands("notice", 100, 95, since=-9), Terms("refuse"), 3, Step("notice", None, 95)),
        (stands("notice", 100, 95, since=-9, paused=1), RULE, 3, Step("notice", None, 95)),
        (stands("notice", 100, 95, since=-9, paused=0), RULE, 3, Step("stopping", None, 95)),
        (stands("stopping", 100, 95), RULE, 1, Step("stopping", None, 95)),
        (stands("stopping", 100, 95), RULE, 0, Step("stopped", None, 95)),
        (stands("stopping", 100, 95, paused=1), RULE, 0, Step("stopping", None, 95)),
        (stands("stopped", 100, 95), RULE, 1, Step("stopping", None, 95)),
        (stands("stopping", 90, 95), RULE, 1, Step("within", None, 80)),
        (stands("stopped", 100, 95), Terms("refuse"), 0, Step("notice", None, 95)),
    ],
)  # fmt: skip
def test_which_step_of_the_stop_rule_comes(now_is, terms, running, step):
    assert follow(now_is, terms, T, running=running) == step


@pytest.mark.parametrize(
    ("job", "since", "found"),
    [
        (JobNow(True, None), 0, "cancel"),
        (JobNow(True, days(-1)), 0, "wait"),  # it saves: its next checkpoint is waited for
        (JobNow(True, days(0)), 0, "wait"),
        (JobNow(True, days(0.1)), 0, "cancel"),
        (JobNow(True, days(-9)), -1, "cancel"),  # the latest moment
        (JobNow(True, days(-9), lost=True), -1, "wait"),
        (JobNow(True, None, lost=True), 0, "wait"),
        (JobNow(True, None, wished=True), 0, "wait"),
        (JobNow(False, None), 0, "hold"),
        (JobNow(False, None, wished=True), -5, "wait"),
    ],
)
def test_what_becomes_of_a_job_at_the_limit(job, since, found):
    assert deed(job, days(since), RULE, T) == found


def test_when_nothing_new_begins():
    full = stands(spent=100)
    assert [refusal(full, terms, T) for terms in (RULE, Terms("refuse"), Terms("tell"))] == [True, True, False]
    assert not refusal(stands(spent=99.99), RULE, T) and not refusal(stands(budget=None, spent=9), RULE, T)
    assert not refusal(stands(spent=100, paused=1), RULE, T) and refusal(stands(spent=100, paused=-1), RULE, T)


@pytest.mark.parametrize(
    ("budget", "bound", "adds", "terms", "refused"),
    [
        (100, 60, 40, Terms(counts="bound"), False),
        (100, 60, 41, Terms(counts="bound"), True),
        (100, 120, 1, Terms(counts="bound"), True),
        (100, 120, 0, Terms(counts="bound"), False),  # what costs nothing more is let through
        (100, 120, -5, Terms(counts="bound"), False),
        (100, 120, None, Terms(counts="bound"), False),  # it has no price
        (None, 120, 50, Terms(counts="bound"), False),  # not set limits nothing, and 0 allows nothing
        (0, 0, 1, Terms(counts="bound"), True),
        (100, 60, 41, Terms("tell", counts="bound"), False),
        (100, 60, 41, Terms(), False),
    ],
)
def test_where_what_is_bound_counts_nothing_new_binds_more_than_there_is(budget, bound, adds, terms, refused):
    told = {"bound": Decimal(bound), "adds": None if adds is None else Decimal(adds)}
    assert binds_too_much(stands(budget=budget), terms, T, **told) is refused
    assert not binds_too_much(stands(budget=budget, paused=1), terms, T, **told)


def test_as_small_as_can_be_without_what_is_paid_anyway():
    groups = [
        {"name": "head", "instance_type": "m5.8xlarge", "count": 2}, {"name": "a", "instance_type": "ml.p5.48xlarge", "count": 9},
        {"name": "b", "instance_type": "p5.48xlarge", "count": 4, "training_plan": "tp"},
    ]  # fmt: skip
    body = {"instance_groups": groups, "storage": {"lustre": {"capacity_gib": 1200}}}
    found = smallest(body, frozenset({"p5.48xlarge"}))
    assert [group["count"] for group in found["instance_groups"]] == [2, 1, 4] and found["storage"] == body["storage"]
    assert smallest(found, frozenset({"p5.48xlarge"})) is None


BACKEND = "allauth.account.auth_backends.AuthenticationBackend"


def client(world, role, tenant=None):
    found = Client()
    found.force_login(world.person(role, tenant), backend=BACKEND)
    return found


def test_a_budget_is_the_sum_of_its_rows_and_is_moved_in_both_or_neither(world):
    place, other = world.participations["hoshi"], world.participations["umi"]
    told = {"line": "compute", "why": "the plan", "by": world.person("programme_manager").actor}
    with acting_for(world.hoshi, staff=True):
        Reservation.objects.create(
            tenant=world.hoshi, participation=place, kind="odcr", state="bought", external_id="cr-1", region="us-east-1",
            az_id="use1-az4", instance_type="p5.48xlarge", count=20, starts_at=timezone.now(), ends_at=timezone.now() + timedelta(20),
        )  # fmt: skip
        assert queries.one(place).budget is None  # not set is no 0
        actions.set_to(participation=place, amount=Decimal(0), **told)
        assert queries.one(place).budget == 0
        actions.change(participation=place, delta=Decimal("9000000.50"), reference="D-12", **told)
        found = queries.reckoning(queries.one(place), queries.book_of(place))
        assert found.budget == Decimal("9000000.50") and found.total == 20 * 20 * 24 * 100
        for change, code in [
            ({"delta": -(found.left + 1)}, "below_bound"),
            ({"delta": Decimal(-5), "line": "travel"}, "no_line"),
            ({"delta": Decimal("0.001")}, "invalid"), ({"delta": Decimal("nan")}, "invalid"), ({"delta": 0}, "nothing_changes"),
        ]:  # fmt: skip
            with pytest.raises(Refused) as refused:
                actions.change(participation=place, **(told | change))
            assert refused.value.code == code
        assert BudgetRow.objects.count() == 2
        actions.change(participation=place, delta=-found.left - 1, below_bound=True, **told)
        assert Entry.objects.get(kind="budget.below_bound").facts["why"] == "the plan"
    with acting_for(world.hoshi, world.umi, staff=True):
        with pytest.raises(Refused):
            actions.move_between(giver=place, taker=other, amount=Decimal(10**8), **told)
        assert BudgetRow.objects.filter(participation=other).count() == 0
        gave, took = actions.move_between(giver=place, taker=other, amount=Decimal(7), below_bound=True, **told)
        assert (gave.delta, took.delta, gave.moved) == (-7, 7, took.moved)
        assert queries.one(other).budget == 7


def test_what_runs_in_the_reservation_of_the_record_binds_nothing_beside_it(world):
    made = examples.make(world, world.hoshi, 1)
    with acting_for(world.hoshi, staff=True):
        place, now = made["participations"], timezone.now() + timedelta(hours=1)
        before = queries.reckoning(queries.one(place, now), queries.book_of(place))
        body = {**examples.BODY, "instance_groups": [
            {**group, "training_plan": "tp-hoshi" if group["role"] == "compute" else ""}
            for group in examples.BODY["instance_groups"]
        ]}  # fmt: skip
        row = made["clusters"]
        Revision.objects.create(tenant=world.hoshi, cluster=row, number=2, body=body, author="engine")
        after = queries.reckoning(queries.one(place, now), queries.book_of(place))

    def of(found, kind):
        return sum(
            line.hours
            for line in found.lines
            if line.kind == kind and not line.spent and line.good.what == "p5.48xlarge"
        )

    assert of(before, "reserved") == of(after, "reserved") > 0
    assert of(before, "instances") > of(after, "instances") == 0
    with acting_for(world.hoshi, staff=True):  # nor does it where another participation of the same tenant pays for it
        cycle = Cycle.objects.create(
            programme=world.cycle.programme, code="C3", name="Cycle 3", starts_on=date(2026, 1, 1)
        )
        other = Participation.objects.create(
            tenant=world.hoshi, cycle=cycle, code="H3", project="The next", state="active"
        )
        type(row).objects.filter(pk=row.pk).update(participation=other)
        assert of(queries.reckoning(queries.one(other, now), queries.book_of(other)), "instances") == 0


def test_the_pages_of_a_budget(world):
    made = examples.make(world, world.hoshi, 1)
    manager, lead = client(world, "programme_manager"), client(world, "business_lead")
    assert "nobody has said how much" in client(world, "viewer", world.umi).get("/t/umi/budget/").content.decode()
    assert lead.get("/t/hoshi/budget/change/").status_code == 403 and lead.get("/budgets/").status_code == 403
    cut = {"how": "set", "amount": "5000000", "line": "compute of hoshi", "why": "plan"}
    assert "are spent and" in manager.post("/t/hoshi/budget/change/", cut).content.decode()
    assert manager.post("/t/hoshi/budget/change/", cut | {"below_bound": "on"}).status_code == 303
    page = lead.get("/t/hoshi/budget/?fewer=2&ends=2030-01-01").content.decode()
    assert "5,000,000.00" in page and 'id="then"' in page and "Programme Manager" in page
    assert "5000000" in lead.get("/t/hoshi/budget/export/").content.decode()
    assert manager.get("/budgets/").content.decode().count("/budget/?of=") >= 2
    moved = {
        "giver": str(made["participations"].pk),
        "taker": str(world.participations["umi"].pk),
        "amount": "5",
        "line": "compute of hoshi",
        "why": "lent",
        "below_bound": "on",
    }
    assert manager.post("/budgets/move/", moved).status_code == 303
    rate = {"of": "EUR", "rate": "1.08", "starts_on": "2026-11-01", "source": "a bank"}
    assert manager.post("/budgets/rate/", rate).status_code == 303
    assert manager.post("/budgets/rate/", rate | {"of": "USD"}).status_code == 422
    until = (timezone.now() + timedelta(days=3)).strftime("%Y-%m-%dT%H:%M")
    assert manager.post("/t/hoshi/budget/pause/", {"until": until, "why": "the gate"}).status_code == 303
    assert manager.post("/t/hoshi/budget/rule/", {"rule": "stop", "why": "agreed"}).status_code == 303
    with acting_for(world.hoshi, staff=True):
        kinds = set(Entry.objects.values_list("kind", flat=True))
        assert {"budget.below_bound", "budget_watch.paused", "budget_watch.rule"} <= kinds
        assert queries.watch(made["participations"]).rule == "stop"


def test_what_is_new_is_refused_once_the_budget_is_spent_and_told_what_it_binds(world):
    made = examples.make(world, world.hoshi, 1)
    place, row, by = made["participations"], made["clusters"], world.person("programme_manager").actor
    told = {"participation": place, "line": "compute of hoshi", "why": "x", "by": by}
    wish = read_configuration(examples.BODY)
    with acting_for(world.hoshi, staff=True):
        Programme.objects.update(small_request_hours=10_000)
        actions.refuse_at_limit(place)
        effect = effects.of_wish(place, wish)
        storage = sum(one.amount for one in _lines(place) if one.kind == "storage" and not one.spent)
        assert effect.adds > storage > 0 and effect.left_after == effect.left - effect.adds
        assert effects.of_wish(place, wish, row).adds == 0  # it is that already
        larger = {"lustre": {"capacity_gib": 2400, "mbs_per_tib": 250}}
        grown = effects.of_wish(place, read_configuration({**examples.BODY, "storage": larger}), row)
        assert 0 < grown.adds < effect.adds
        given_back = effects.of_cost(place, {"cost": "-5.00", "currency": "USD"})
        assert given_back.left_after == given_back.left + 5
        assert effects.of_cost(place, {"cost": "5", "currency": "XYZ"}).adds is None
        last = effects.of_cost(place, {}).until
        runs = {"cost": "10.00", "currency": "USD", "until": (last + timedelta(days=5)).isoformat()}
        half = effects.of_cost(place, runs, last - timedelta(days=4))
        assert (half.adds, half.days_past) == (5, 5)
        assert effects.of_cost(place, runs, last + timedelta(days=3)).adds == 0
        NodeInstance.objects.create(
            tenant=world.hoshi, node=made["nodes"], instance_id="i-9", sat_from=timezone.now() - timedelta(days=9)
        )
        actions.set_to(amount=Decimal(1), below_bound=True, **told)
        with pytest.raises(Refused) as refused:
            actions.refuse_at_limit(place)
        assert refused.value.code == "budget_used_up"
        assert (
            capacity.ask(
                participation=place,
                kind="more",
                instance_type="p5.48xlarge",
                region="us-east-1",
                instances=1,
                by=by,
                starts_on=programme_today(),
                ends_on=programme_today(),
                reason="small",
            ).state
            == "waiting"
        )  # nothing is granted by itself any more
        Programme.objects.update(budget_rule="tell")
        actions.refuse_at_limit(place)
        Programme.objects.update(budget_rule="refuse")
        actions.pause(participation=place, until=timezone.now() + timedelta(hours=1), why="x", by=by)
        actions.refuse_at_limit(place)
        with pytest.raises(Refused):
            actions.pause(participation=place, until=timezone.now() + timedelta(days=400), why="x", by=by)
        # Since contact was lost nothing is known, so nothing of it counts.
        before = queries.reckoning(queries.one(place), queries.book_of(place)).spent
        type(row).objects.filter(pk=row.pk).update(unknown_since=timezone.now() - timedelta(days=6))
        after = queries.reckoning(queries.one(place), queries.book_of(place))
        assert after.spent < before and 6 * 24 <= after.unmeasured_hours
    assert prices.keep() and not prices.keep()
    with acting_for(world.hoshi, staff=True):
        small = {
            "kind": "more",
            "instance_type": "p5.48xlarge",
            "region": "us-east-1",
            "instances": 1,
            "reason": "small",
        }
        today = programme_today()
        Programme.objects.update(budget_rule="tell")
        row = capacity.ask(participation=place, by=by, starts_on=today, ends_on=today, **small)
        assert (row.state, row.rule) == ("granted", "small")
        assert CapacityRequest.objects.get(pk=row.pk).budget_line == "compute of hoshi"
        Programme.objects.update(currency="JPY")
        known = queries.one(place)
        found = queries.reckoning(known, queries.book_of(known.participation))
        assert (
            found.budget is None
            and queries.lines(place.pk) == []
            and "another currency" in " ".join(found.notes)
            and not found.known
        )


def test_the_mail_says_what_is_spent_and_what_comes(world):
    place = world.participations["hoshi"]
    facts = {"spent": "80.00", "budget": "100.00", "bound": "7.00", "currency": "USD"}
    lead = world.person("business_lead")
    Programme.objects.update(budget_rule="stop")
    said = []
    with acting_for(world.hoshi, staff=True):
        for kind, more in [
            ("budget.warned", {"percent": 80}),
            ("budget_watch.notice", {}),
            ("budget_watch.stopping", {}),
        ]:
            row = BudgetWatch(tenant=world.hoshi, participation=place)
            entry = timeline.record(kind, about=row, by="engine", **facts, **more)
            telling.tell(place, entry)
            telling.tell(place, entry)
            told = Delivery.objects.filter(key=str(entry.pk)).select_related("person", "tenant")
            assert {one.person.name for one in told} == {"Account Team", "Business Lead@Hoshi"}
            message = mail.compose(next(one for one in told if one.person == lead))
            said.append(f"{message.subject}\n{message.body}")
    assert "80 percent of the budget of Hoshi Language Works is spent" in said[0] and "Nothing new" not in said[0]
    assert all("80.00 of 100.00 USD are spent, and 7.00 are bound" in text for text in said)
    assert "From 72 hours after this on" in said[1] and "right after its next checkpoint; what waits" in said[2]
    assert all("/t/hoshi/budget/" in text for text in said)


def _lines(place):
    return queries.reckoning(queries.one(place), queries.book_of(place)).lines


def test_budgets_in_the_api(world):
    made = examples.make(world, world.hoshi, 1)
    manager, lead = client(world, "programme_manager"), client(world, "business_lead")
    place = str(made["participations"].pk)
    [row] = lead.get("/api/v1/t/hoshi/budgets/").json()["results"]
    found = row["budget"]
    assert (found["budget"], found["rule"], found["state"]) == ("9000000.00", "refuse", "within")
    months = sum(Decimal(one["spent"]) + Decimal(one["bound"]) for one in found["months"])
    assert Decimal(found["left"]) == 9_000_000 - months and Decimal(found["bound"]) > 0
    asked = {"participation": place, "how": "raise", "amount": "5.50", "line": "compute of hoshi", "why": "more"}
    assert lead.post("/api/v1/t/hoshi/budget-rows/", asked, "application/json").status_code == 403
    answer = manager.post("/api/v1/t/hoshi/budget-rows/", asked, "application/json")
    assert answer.status_code == 201 and answer.json()["delta"] == "5.50"
    assert manager.post("/api/v1/t/umi/budget-rows/", asked, "application/json").status_code == 404
    source = "the central bank's reference rate of 1 November"
    rate = {"of": "EUR", "rate": "1.085", "starts_on": "2026-11-01", "source": source}
    assert manager.post("/api/v1/t/hoshi/exchange-rates/", rate, "application/json").status_code == 404
    assert manager.post("/api/v1/t/programme/exchange-rates/", rate, "application/json").status_code == 201
    assert manager.get("/api/v1/exchange-rates/").json()["results"][0]["rate"] == "1.08500000"
    with acting_for(world.office, staff=True):
        entry = Entry.objects.get(kind="programme.exchange_rate")
        assert source in timeline.sentence(entry.kind, "Kanri", entry.facts) and entry.source == "portal"
    assert lead.get("/api/v1/exchange-rates/").status_code == 403
    other = str(world.participations["umi"].pk)
    moved = {"participation": place, "to": other, "amount": "3", "line": "compute of hoshi", "why": "lent"}
    answer = manager.post("/api/v1/t/hoshi/budgets/move/", moved, "application/json")
    assert (answer.status_code, answer.json()["delta"]) == (201, "-3.00")
    assert client(world, "viewer", world.umi).get("/api/v1/budget-rows/").json()["results"][0]["delta"] == "3.00"
    wrong = manager.post("/api/v1/t/hoshi/budgets/move/", moved | {"to": place}, "application/json")
    assert wrong.status_code == 422 and "another participant" in wrong.content.decode()
    pause = {"participation": place, "until": timezone.now().isoformat(), "why": "x"}
    assert manager.post("/api/v1/t/hoshi/budgets/pause/", pause, "application/json").json()["state"] == "within"
    address = "/api/v1/t/hoshi/budgets/rule/"
    own = {"participation": place, "rule": "stop", "counts": "bound", "why": "as agreed"}
    assert lead.post(address, own, "application/json").status_code == 403
    told = manager.post(address, own, "application/json").json()
    assert (told["rule"], told["counts"]) == ("stop", "bound")
    stale = manager.post(address, own | {"rule": "", "version": told["version"] - 1}, "application/json")
    assert stale.status_code == 409
    told = manager.post(address, {"participation": place, "rule": "", "why": "as all"}, "application/json").json()
    assert (told["rule"], told["counts"]) == ("", "bound")  # what is not sent stays
    assert manager.post(address, own | {"rule": "x"}, "application/json").status_code == 422
    assert manager.post("/api/v1/t/umi/budgets/rule/", own, "application/json").status_code == 404
    [row] = lead.get("/api/v1/t/hoshi/budgets/").json()["results"]
    assert (row["budget"]["rule"], row["budget"]["counts"]) == ("refuse", "bound")
    with acting_for(world.hoshi, staff=True):
        entry = Entry.objects.filter(kind="budget_watch.rule").latest("pk")
        assert entry.facts["before"] == ["stop", "bound"] and entry.facts["why"] == "as all"


def test_a_budget_counts_what_is_bound_where_the_rule_says_so(world):
    made = examples.make(world, world.hoshi, 1)
    place, by = made["participations"], world.person("programme_manager").actor
    wish, today = read_configuration(examples.BODY), programme_today()
    asked = {
        "participation": place, "kind": "more", "instance_type": "p5.48xlarge", "region": "us-east-1", "instances": 1,
        "by": by, "starts_on": today, "ends_on": today + timedelta(days=2), "reason": "small",
    }  # fmt: skip
    with acting_for(world.hoshi, staff=True):
        Programme.objects.update(small_request_hours=10_000)
        total = queries.reckoning(queries.one(place), queries.book_of(place)).total
        actions.set_to(participation=place, amount=total + 1, line="compute of hoshi", why="x", by=by)
        actions.refuse_at_limit(place, wish)  # nothing is spent yet, and that is what counts
        assert not effects.of_wish(place, wish).refused
        Programme.objects.update(budget_counts="bound")
        assert (
            effects.of_wish(place, wish).told()["refused"]
            and not effects.of_wish(place, wish, made["clusters"]).refused
        )
        with pytest.raises(Refused) as refused:
            actions.refuse_at_limit(place, wish)
        assert refused.value.code == "budget_bound" and " are left: 0" in str(refused.value.sentence)
        actions.refuse_at_limit(place, wish, made["clusters"])  # it is that already
        waits = capacity.ask(**asked)
        assert waits.state == "waiting"
        manager = world.person("lead_architect")
        decided = {"asked": waits, "grants": True, "why": "x", "person": manager, "by": manager.actor}
        with pytest.raises(Refused) as refused:
            capacity.decide(**decided, budget_line="compute of hoshi")
        assert refused.value.code == "budget_bound"
        page = client(world, "lead_architect").get(f"/t/hoshi/capacity-requests/{waits.pk}/").content.decode()
        assert 'id="budget-refuses"' in page
        actions.choose_rule(participation=place, rule="", counts="spent", why="of its own", by=by)
        assert capacity.decide(**decided, budget_line="compute of hoshi").state == "granted"


def test_the_budget_of_what_runs_is_shown_and_not_that_of_the_cycle_that_is_applied_for(world):
    made = examples.make(world, world.hoshi, 1)
    place = made["participations"]
    coming = Cycle.objects.create(
        programme=place.cycle.programme, code="C9", name="Next", state="preparing",
        starts_on=programme_today() + timedelta(days=200),
    )  # fmt: skip
    with acting_for(world.hoshi, staff=True):
        Participation.objects.create(tenant=world.hoshi, cycle=coming, code="C9-01", project="next")
        assert Participation.objects.get(pk=place.pk).state == "active"
        assert queries.here() == place
    reader = client(world, "business_lead")
    for address in ("/t/hoshi/budget/", "/t/hoshi/capacity/"):
        page, other = (reader.get(address + of).content.decode() for of in ("", "?of=C9-01"))
        assert f'aria-current="page">{place.code}, ' in page and 'aria-current="page">C9-01, Next' in other
        assert reader.get(f"{address}?of=UMI").status_code == reader.get(f"{address}?of=%00").status_code == 404
    manager = client(world, "programme_manager")
    set_it = {"how": "set", "amount": "70", "line": "C9-compute", "why": "the plan"}
    answer = manager.post("/t/hoshi/budget/change/?of=C9-01", set_it)
    assert (answer.status_code, answer["Location"]) == (303, "/t/hoshi/budget/?of=C9-01")
    with acting_for(world.hoshi, staff=True):
        assert BudgetRow.objects.get(line="C9-compute").participation.code == "C9-01"


def test_what_nobody_granted_is_told_or_refused_and_what_was_migrated_is_put_right(world):
    made = examples.make(world, world.hoshi, 1)
    row, place = made["clusters"], made["participations"]
    elsewhere = read_configuration({**examples.BODY, "region": "us-east-1", "az_id": "use1-az4"})
    plan = [{**group, "training_plan": "tp-hoshi" if group["role"] == "compute" else ""}
            for group in examples.BODY["instance_groups"]]  # fmt: skip
    with acting_for(world.hoshi, staff=True):
        assert granting.refuse_unless_granted(place.pk, elsewhere) == ["p5.48xlarge"]
        assert granting.refuse_unless_granted(place.pk, read_configuration(examples.BODY), row) == []
        Programme.objects.update(grant_not_set="refuse")
        with pytest.raises(Refused) as refused:
            granting.refuse_unless_granted(place.pk, elsewhere)
        assert "its rule refuses" in str(refused.value.sentence)

        Revision.objects.create(
            tenant=world.hoshi, cluster=row, number=2, body={**examples.BODY, "instance_groups": plan}, author="engine"
        )
        granting.settle_what_was_migrated(row)
        assert capacity_queries.held_by(row) == {("p5.48xlarge", "on_demand"): 4}  # no migration wrote it
        for delta in (1, -1):
            LedgerRow.objects.create(
                tenant=world.hoshi, ledger="use", participation=place, region=row.region, instance_type="p5.48xlarge",
                option="on_demand", delta=delta, cluster=row, by="engine", why=granting.AS_BEFORE,
            )  # fmt: skip
        granting.settle_what_was_migrated(row)
        granting.settle_what_was_migrated(row)
        assert capacity_queries.held_by(row) == {("p5.48xlarge", "training_plan"): 4}
