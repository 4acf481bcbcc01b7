"""Budgets in the API: how much there is, spent, bound and left of each participation, and the rows that it is the sum of."""

from decimal import Decimal
from typing import Any
from uuid import UUID

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters import states
from clusters.budgets import actions, queries
from clusters.budgets.forms import MOST
from clusters.budgets.reckoning import Reckoning
from clusters.budgets.spans import KINDS
from clusters.models import BudgetRow, BudgetWatch, ExchangeRate
from tenants.models import Participation
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.wall.acting import acting_for, reading_everyone
from tenants.web.api import endpoint
from tenants.web.bodies import Asked, asked
from tenants.web.idempotency import repeatable
from tenants.web.listing import Id, Listing, Shown, Word, one

MOST_RATES = 500
MONEY: dict[str, Any] = {"max_digits": 18, "decimal_places": 2}


class MonthOfBudget(serializers.Serializer):
    first = serializers.DateField(help_text="Its first day, in the programme's zone.")
    spent = serializers.DecimalField(**MONEY)
    bound = serializers.DecimalField(**MONEY)


class LineOfBudget(serializers.Serializer):
    """Hours of one good for one reason; of a file system an hour of one GiB."""

    kind = serializers.ChoiceField(choices=KINDS)
    what = serializers.CharField(source="good.what")
    region = serializers.CharField(source="good.region")
    spent = serializers.BooleanField(help_text="False: bound from now on.")
    hours = serializers.DecimalField(max_digits=20, decimal_places=2)
    amount = serializers.DecimalField(**MONEY, allow_null=True, help_text="Null: a price is not known.")


class BudgetFigures(serializers.Serializer):
    """Amounts in the programme's currency."""

    currency = serializers.CharField()
    budget = serializers.DecimalField(
        **MONEY, allow_null=True, help_text="Null: not set, which limits nothing; 0 allows nothing."
    )
    spent = serializers.DecimalField(**MONEY)
    bound = serializers.DecimalField(**MONEY, help_text="Until the end of the term, if nothing changes.")
    left = serializers.DecimalField(**MONEY, allow_null=True)
    per_day = serializers.DecimalField(**MONEY, help_text="At present, by the last 14 days.")
    at_present = serializers.DecimalField(**MONEY, help_text="At the end of the term, at the present rate.")
    reached = serializers.DateField(
        allow_null=True, help_text="The day on which what is spent and bound reaches the budget."
    )
    reached_at_present = serializers.DateField(allow_null=True)
    unpriced = serializers.ListField(child=serializers.CharField(), help_text="What has no price and is in no sum.")
    unmeasured_hours = serializers.DecimalField(
        max_digits=20, decimal_places=2, help_text="Instance-hours since contact was lost; in no sum."
    )
    notes = serializers.ListField(child=serializers.CharField())
    state = serializers.ChoiceField(choices=list(states.BUDGET_WATCH))
    rule = serializers.ChoiceField(choices=[word for word in BudgetWatch.Rule.values if word])
    counts = serializers.ChoiceField(
        choices=[word for word in BudgetWatch.Counts.values if word],
        help_text="What is new is refused by what is spent, or by what is spent and bound.",
    )
    paused_until = serializers.DateTimeField(allow_null=True)
    months = MonthOfBudget(many=True)
    lines = LineOfBudget(many=True)


class BudgetShown(Shown):
    """The budget of one participation for its term."""

    BESIDE = ("budget",)

    code = serializers.CharField()
    cycle = serializers.CharField(source="cycle.code")
    budget = BudgetFigures()


BUDGETS = Listing("budgets", BudgetShown, {"participation": Id("id"), "cycle": Word("cycle__code")}, name="code")


def told(found: Reckoning, place: Participation, row: BudgetWatch | None) -> dict[str, Any]:
    """All figures of one budget."""
    programme = place.cycle.programme
    columns = (
        "budget", "spent", "bound", "left", "per_day", "at_present", "reached", "reached_at_present", "unpriced", "notes",
        "months",
    )  # fmt: skip
    cents = Decimal("0.01")
    return {name: getattr(found, name) for name in columns} | {
        "currency": programme.currency,
        "unmeasured_hours": found.unmeasured_hours.quantize(cents),
        "state": row.state if row else "within",
        "rule": queries.terms(programme, row).rule,
        "counts": queries.terms(programme, row).counts,
        "paused_until": row.paused_until if row else None,
        "lines": [
            {"kind": line.kind, "good": line.good, "spent": line.spent, "hours": line.hours.quantize(cents), "amount": line.amount}
            for line in found.lines
        ],
    }  # fmt: skip


def whole(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    ids = [row["id"] for row in rows]
    places = list(Participation.objects.filter(pk__in=ids).select_related("cycle__programme", "tenant"))
    known = queries.known_of(places)
    watches = {row.participation_id: row for row in BudgetWatch.objects.filter(participation__in=ids)}
    books = {programme.pk: queries.prices.book(programme) for programme in {place.cycle.programme for place in places}}
    figures = {
        place.pk: told(
            queries.reckoning(known[place.pk], books[place.cycle.programme.pk]), place, watches.get(place.pk)
        )
        for place in places
    }
    return [row | {"budget": figures[row["id"]]} for row in rows]


@allow(roles.READ)
@BUDGETS.described
@endpoint("GET")
def budgets(request: Request) -> Response:
    """What each participation may spend, has spent, has bound and has left, with the forecast."""
    return BUDGETS.answer(request, Participation.objects.values(*BUDGETS.columns()), whole)


class BudgetRowShown(Shown):
    """So much more or less; the budget is the sum of the rows."""

    participation = serializers.UUIDField(source="participation_id")
    line = serializers.CharField()
    delta = serializers.DecimalField(**MONEY)
    currency = serializers.CharField()
    why = serializers.CharField()
    reference = serializers.CharField()
    moved = serializers.UUIDField(
        allow_null=True, help_text="The same on both rows of what was moved between participants."
    )
    by = serializers.CharField()


ROWS = Listing("budget_rows", BudgetRowShown, {"participation": Id("participation_id")}, newest="created_at")


@allow(roles.READ)
@ROWS.described
@endpoint("GET")
def rows(request: Request) -> Response:
    """The rows of budgets."""
    return ROWS.answer(request, BudgetRow.objects.all())


class BudgetRowAsked(Asked):
    participation = serializers.UUIDField()
    how = serializers.ChoiceField(choices=["set", "raise", "cut"])
    amount = serializers.DecimalField(max_digits=16, decimal_places=2, min_value=Decimal(0), max_value=MOST)
    line = serializers.CharField(max_length=120)
    why = serializers.CharField(max_length=300)
    reference = serializers.CharField(max_length=120, required=False, allow_blank=True)
    below_bound = serializers.BooleanField(default=False, help_text="It may fall below what is spent and bound.")


def _place(pk: UUID) -> Participation:
    place = Participation.objects.select_related("cycle__programme").filter(pk=pk).first()
    if place is None:
        raise Http404
    return place


def _add(request: Request) -> Response:
    """Set, raise or cut a budget by a row."""
    sent = asked(BudgetRowAsked, request)
    how, amount = sent.pop("how"), sent.pop("amount")
    given = sent | {"participation": _place(sent["participation"]), "by": request.actor}
    if how == "set":
        row = actions.set_to(amount=amount, **given)
    else:
        row = actions.change(delta=amount if how == "raise" else -amount, **given)
    return Response(BudgetRowShown(one(BudgetRow.objects.all(), BudgetRowShown, row.pk)).data, status=201)


@allow(roles.READ, write=roles.KEEP_BUDGET)
@ROWS.described
@extend_schema(methods=["POST"], request=BudgetRowAsked, responses={201: BudgetRowShown})
@endpoint("GET", "POST")
@repeatable(required=False)
def tenant_rows(request: Request) -> Response:
    """The rows of a budget, and another one."""
    return _add(request) if request.method == "POST" else ROWS.answer(request, BudgetRow.objects.all())


class BudgetMoveAsked(Asked):
    participation = serializers.UUIDField(help_text="Of this participant, which gives.")
    to = serializers.UUIDField(help_text="The participation of another participant, which gets it.")
    amount = serializers.DecimalField(max_digits=16, decimal_places=2, min_value=Decimal(0), max_value=MOST)
    line = serializers.CharField(max_length=120)
    why = serializers.CharField(max_length=300)
    reference = serializers.CharField(max_length=120, required=False, allow_blank=True)
    below_bound = serializers.BooleanField(default=False, help_text="It may fall below what is spent and bound.")


@allow(roles.KEEP_BUDGET)
@extend_schema(request=BudgetMoveAsked, responses={201: BudgetRowShown})
@endpoint("POST")
@repeatable(required=False)
def move(request: Request) -> Response:
    """Move some of it to another participant: a row on either side, or none. The answer is the row that takes it away."""
    sent = asked(BudgetMoveAsked, request)
    giver, to = _place(sent.pop("participation")), sent.pop("to")
    with reading_everyone():
        taker = Participation.objects.select_related("cycle__programme").filter(pk=to).first()
    if taker is None:
        raise Http404
    with acting_for(giver.tenant_id, taker.tenant_id, staff=True):
        row, _took = actions.move_between(giver=giver, taker=taker, by=request.actor, **sent)
    return Response(BudgetRowShown(one(BudgetRow.objects.all(), BudgetRowShown, row.pk)).data, status=201)


class BudgetPauseAsked(Asked):
    participation = serializers.UUIDField()
    until = serializers.DateTimeField(help_text="A moment that is past ends the pause.")
    why = serializers.CharField(max_length=300)
    version = serializers.IntegerField(min_value=1, max_value=10**9, required=False)


class BudgetRuleAsked(Asked):
    participation = serializers.UUIDField()
    rule = serializers.ChoiceField(
        choices=BudgetWatch.Rule.choices, allow_blank=True, help_text="Empty: as the programme has it."
    )
    counts = serializers.ChoiceField(
        choices=BudgetWatch.Counts.choices, allow_blank=True, required=False,
        help_text="What is new is held against what is spent, or what is spent and bound; empty: as the programme has it; "
        "not sent: as it is.",
    )  # fmt: skip
    why = serializers.CharField(max_length=300)
    version = serializers.IntegerField(min_value=1, max_value=10**9, required=False)


class BudgetWatchTold(serializers.Serializer):
    """How a budget stands to its limit."""

    state = serializers.ChoiceField(choices=list(states.BUDGET_WATCH))
    rule = serializers.CharField(help_text="Empty: as the programme has it.")
    counts = serializers.CharField(help_text="Empty: as the programme has it.")
    paused_until = serializers.DateTimeField(allow_null=True)
    version = serializers.IntegerField()


@allow(roles.KEEP_BUDGET)
@extend_schema(request=BudgetPauseAsked, responses=BudgetWatchTold)
@endpoint("POST")
def pause(request: Request) -> Response:
    """Refuse and stop nothing until a moment."""
    sent = asked(BudgetPauseAsked, request)
    place = _place(sent.pop("participation"))
    row = actions.pause(participation=place, by=request.actor, **sent)
    return Response(BudgetWatchTold(row).data)


@allow(roles.KEEP_BUDGET)
@extend_schema(request=BudgetRuleAsked, responses=BudgetWatchTold)
@endpoint("POST")
def rule(request: Request) -> Response:
    """Say what happens at the limit of one participation's budget."""
    sent = asked(BudgetRuleAsked, request)
    place = _place(sent.pop("participation"))
    sent.setdefault("counts", queries.watch(place).counts)
    row = actions.choose_rule(participation=place, by=request.actor, **sent)
    return Response(BudgetWatchTold(row).data)


class ExchangeRateShown(serializers.Serializer):
    """What one unit of a currency is in the programme's, from a day on; the newest of a day holds."""

    of = serializers.CharField()
    rate = serializers.DecimalField(max_digits=18, decimal_places=8)
    currency = serializers.CharField()
    starts_on = serializers.DateField()
    source = serializers.CharField()
    by = serializers.CharField()
    created_at = serializers.DateTimeField()


class ExchangeRatesShown(serializers.Serializer):
    results = ExchangeRateShown(many=True)


class ExchangeRateAsked(Asked):
    of = serializers.CharField(min_length=3, max_length=3)
    rate = serializers.DecimalField(max_digits=18, decimal_places=8, min_value=Decimal(0), max_value=10**9)
    starts_on = serializers.DateField()
    source = serializers.CharField(max_length=200)


def _rates() -> Response:
    rows = ExchangeRate.objects.order_by("of", "-starts_on", "-pk")[:MOST_RATES]
    return Response(ExchangeRatesShown({"results": list(rows)}).data)


@allow(roles.STAFF)
@extend_schema(responses=ExchangeRatesShown)
@endpoint("GET")
def rates(request: Request) -> Response:
    """The exchange rates that the office entered, the newest of each currency first."""
    return _rates()


@allow(roles.STAFF, write=roles.KEEP_BUDGET)
@extend_schema(methods=["GET"], responses=ExchangeRatesShown)
@extend_schema(methods=["POST"], request=ExchangeRateAsked, responses={201: ExchangeRateShown})
@endpoint("GET", "POST")
@repeatable(required=False)
def office_rates(request: Request) -> Response:
    """The exchange rates, and another one; at the office."""
    if request.method == "GET":
        return _rates()
    if not request.tenant.is_office:
        raise Http404
    row = actions.enter_rate(office=request.tenant, by=request.actor, **asked(ExchangeRateAsked, request))
    return Response(ExchangeRateShown(ExchangeRate.objects.get(pk=row.pk)).data, status=201)
