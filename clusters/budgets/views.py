"""Pages about budgets: one participant's with what binds it and a what-if, everybody's for the office, and its changes."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from clusters.budgets import actions, queries, stopping
from clusters.budgets.forms import ChangeForm, MoveForm, PauseForm, RateForm, RuleForm, WhatIfForm
from clusters.budgets.reckoning import Reckoning, Term
from clusters.budgets.spans import Change
from clusters.models import BudgetRow, BudgetWatch, ExchangeRate
from clusters.wording import gettext_noop
from tenants.models import Membership, Participation, Person, Programme, Tenant, holding
from tenants.queries import actor_names
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.wall.acting import acting_for
from tenants.web.attempt import attempt, posted, see_other
from tenants.web.charts import Chart, by_step
from tenants.web.choosing import chosen, passed_on
from tenants.web.tables import as_csv

NEWEST = 50
KINDS = {
    "reserved": gettext_noop("reserved, used or not"),
    "instances": gettext_noop("instances outside of reservations"),
    "storage": gettext_noop("storage"),
    "granted": gettext_noop("granted for a request, not used yet"),
}
SCALES = ((Decimal(10**9), gettext_noop("in thousand millions")), (Decimal(10**6), gettext_noop("in millions")),
          (Decimal(10**3), gettext_noop("in thousands")))  # fmt: skip


def who_raises() -> list[Person]:
    """Who may raise a budget: those of the office with that role."""
    seats = Membership.objects.filter(holding(), tenant__is_office=True, role__in=sorted(roles.KEEP_BUDGET))
    return [seat.person for seat in seats.select_related("person").order_by("role", "person__name")]


@allow(roles.READ)
@require_safe
def budget(request: HttpRequest) -> HttpResponse:
    """What is left, why, what binds it, when it ends, who can raise it."""
    choice = chosen(request)
    place = choice.place
    if place is None:
        return render(request, "clusters/budget.html", {"place": None})
    known, book = queries.one(place), queries.book_of(place)
    found, programme = queries.reckoning(known, book), place.cycle.programme
    row, whatif = queries.watch(place), WhatIfForm(request.GET or None)
    change = _change(whatif)
    terms = queries.terms(programme, row)
    rows: list[Any] = list(queries.rows(place)[:NEWEST])
    names = actor_names({one.by for one in rows} | {row.paused_by} - {""})
    for one in rows:
        one.by_name = names.get(one.by, one.by)
    then = queries.reckoning(known, book, change) if change else None
    saves = found.total - then.total if then else None
    context = {
        "place": place,
        "choice": choice,
        "saves": saves,
        "saves_little": saves is not None and saves * 50 < found.bound,
        "term": known.term,
        "open_end": place.cycle.ends_on is None,
        "currency": programme.currency,
        "found": found,
        "later": queries.after_the_term(known, book),
        "present_left": None if found.budget is None else found.budget - found.at_present,
        "notice_hours": programme.budget_notice_hours,
        "patience_hours": programme.budget_patience_hours,
        "groups": [(spent, [_shown(line) for line in found.lines if line.spent is spent]) for spent in (True, False)],
        "months": _running(found),
        "chart": _chart(found, known.term),
        "scale": _scale(found)[1],
        "notes": found.notes,
        "watch": row,
        "rule": BudgetWatch.Rule(terms.rule).label,
        "counts": BudgetWatch.Counts(terms.counts).label,
        "terms": terms,
        "paused": queries.standing(row, found).paused(known.term.now),
        "refuses": stopping.refusal(queries.standing(row, found), terms, known.term.now),
        "paused_by": names.get(row.paused_by, row.paused_by),
        "whatif": whatif,
        "then": then,
        "lines": queries.lines(place.pk),
        "rows": rows,
        "raisers": who_raises(),
        "may_keep": request.role in roles.KEEP_BUDGET,
    }
    return render(request, "clusters/budget.html", context)


def _change(form: WhatIfForm) -> Change | None:
    if not form.is_valid():
        return None
    return Change(form.cleaned_data["fewer"] or 0, form.cleaned_data["ends"]) or None


def _shown(line: Any) -> dict[str, Any]:
    storage = line.good.engine == "storage"
    return {"line": line, "kind": _(KINDS[line.kind]), "hours": None if storage else line.hours}


def _running(found: Reckoning) -> list[dict[str, Any]]:
    total, shown = Decimal(0), []
    for month in found.months:
        total += month.spent + month.bound
        left = None if found.budget is None else found.budget - total
        shown.append({"month": month, "both": month.spent + month.bound, "total": total, "left": left})
    return shown


def _scale(found: Reckoning) -> tuple[Decimal, str]:
    most = max(found.total, found.budget or Decimal(0), found.at_present)
    return next(((size, _(words)) for size, words in SCALES if most >= size * 5), (Decimal(1), ""))


def _chart(found: Reckoning, term: Term) -> Chart:
    """Sums at the end of each month: what is spent and bound, the present rate, the budget."""
    size, _words = _scale(found)
    # The year where it begins: twelve whole months would not fit on a phone.
    labels = [f"{one.first:%Y-%m}" if not number or one.first.month == 1 else f"{one.first:%m}"
              for number, one in enumerate(found.months)]  # fmt: skip
    running = [float(one["total"] / size) for one in _running(found)]
    present: list[float | None] = []
    spent = Decimal(0)
    for number, month in enumerate(found.months):
        spent += month.spent
        last = found.months[number + 1].first if number + 1 < len(found.months) else term.day(term.ends)
        days = (term.midnight(last) - term.now).total_seconds() / 86_400
        present.append(float((spent + found.per_day * Decimal(days)) / size) if days >= 0 else float(spent / size))
    lines: dict[str, Any] = {_("spent and bound"): running, _("at the present rate"): present}
    if found.budget is not None:
        lines[_("budget")] = [float(found.budget / size)] * len(labels)
    return by_step(labels, lines)


HEADER = (
    "participant", "participation", "cycle", "currency", "month", "spent", "bound", "budget", "left_after", "unmeasured_hours",
    "without_price",
)  # fmt: skip


@allow(roles.READ)
@require_safe
def export(request: HttpRequest) -> HttpResponse:
    """The months as a table. An empty budget is one that is not set."""
    place, rows = chosen(request).place, []
    if place is None:
        raise Http404
    found = queries.reckoning(queries.one(place), queries.book_of(place))
    for one in _running(found):
        rows.append([
            request.tenant.slug, place.code, place.cycle.code, place.cycle.programme.currency, f"{one['month'].first:%Y-%m}",
            one["month"].spent, one["month"].bound, found.budget, one["left"],
            found.unmeasured_hours.quantize(Decimal("0.01")), " ".join(found.unpriced),
        ])  # fmt: skip
    return as_csv(f"budget-{request.tenant.slug}.csv", HEADER, rows)


@allow(roles.STAFF)
@require_safe
def budgets(request: HttpRequest) -> HttpResponse:
    """All participations that go on, the least left first; those without a budget last."""
    places = list(queries.budgets())
    known = queries.known_of(places)
    watches = {row.participation_id: row for row in BudgetWatch.objects.filter(participation__in=known)}
    programme = Programme.objects.order_by("pk").first()
    rows = []
    books: dict[Any, Any] = {}
    for place in places:
        own = place.cycle.programme
        if own.pk not in books:
            books[own.pk] = queries.prices.book(own)
        found = queries.reckoning(known[place.pk], books[own.pk])
        rows.append({"place": place, "found": found, "watch": watches.get(place.pk), "currency": own.currency})
    rows.sort(key=_least_left)
    context = {
        "rows": rows,
        "programme": programme,
        "rates": list(ExchangeRate.objects.order_by("of", "-starts_on", "-pk")[:NEWEST]),
        "may_keep": request.role in roles.KEEP_BUDGET,
        "notes": rows[0]["found"].notes if rows else (),
    }
    return render(request, "clusters/budgets.html", context)


def _least_left(row: dict[str, Any]) -> tuple[bool, Decimal, str]:
    left = row["found"].left
    return left is None, left if left is not None else Decimal(0), row["place"].tenant.name


@allow(roles.KEEP_BUDGET)
@require_http_methods(["GET", "POST"])
def change(request: HttpRequest) -> HttpResponse:
    """Set, raise or cut the budget of a participation."""
    place = _here(request)
    lines = queries.lines(place.pk)
    form = ChangeForm(
        posted(request), currency=place.cycle.programme.currency,
        initial={"how": "raise" if lines else "set", "line": lines[0][0] if lines else ""},
    )  # fmt: skip
    return _form(request, form, _kept(request, place), _("Change the budget"), _("Written down."))


def _kept(request: HttpRequest, place: Participation) -> Callable[[dict[str, Any]], BudgetRow]:
    def keep(told: dict[str, Any]) -> BudgetRow:
        how, amount = told.pop("how"), told.pop("amount")
        given = {"participation": place, "by": request.actor, **told}
        if how == "set":
            return actions.set_to(amount=amount, **given)
        return actions.change(delta=amount if how == "raise" else -amount, **given)

    return keep


def _here(request: HttpRequest) -> Participation:
    place = chosen(request).place
    if place is None or request.tenant.is_office:
        raise Http404
    return place


def _form(request: HttpRequest, form: Any, act: Callable[[dict[str, Any]], Any], title: str, done: str) -> HttpResponse:
    """A form about the budget of one participant, and back to its page."""
    back = reverse("budget", args=[request.tenant.slug]) + passed_on(request)
    refused, status = None, 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            _row, refused = attempt(act, told=dict(form.cleaned_data))
            if refused is None:
                messages.success(request, done)
                return see_other(back)
            status = refused.status
    context = {"form": form, "refused": refused, "back": back, "title": title}
    return render(request, "clusters/budget_form.html", context, status=status)


@allow(roles.KEEP_BUDGET)
@require_http_methods(["GET", "POST"])
def rule(request: HttpRequest) -> HttpResponse:
    """What happens at the limit for this participant."""
    place = _here(request)
    row = queries.watch(place)
    form = RuleForm(
        posted(request),
        initial={"rule": row.rule, "counts": row.counts, "version": row.version if row.created_at else None},
    )
    return _form(
        request, form, lambda told: actions.choose_rule(participation=place, by=request.actor, **told),
        _("What happens at the limit"), _("Written down."),
    )  # fmt: skip


@allow(roles.KEEP_BUDGET)
@require_http_methods(["GET", "POST"])
def pause(request: HttpRequest) -> HttpResponse:
    """Refuse and stop nothing until a moment, with the reason."""
    place = _here(request)
    row = queries.watch(place)
    form = PauseForm(posted(request), initial={"version": row.version if row.created_at else None})
    return _form(
        request, form, lambda told: actions.pause(participation=place, by=request.actor, **told), _("Pause the rule"),
        _("Paused. Nothing is refused or stopped until then."),
    )  # fmt: skip


@allow(roles.KEEP_BUDGET)
@require_http_methods(["GET", "POST"])
def move(request: HttpRequest) -> HttpResponse:
    """Move some of one participant's budget to another: both rows or none."""
    places = {str(row.pk): row for row in queries.budgets()}
    programme = Programme.objects.order_by("pk").first()
    shown = [(pk, f"{row.tenant.name} ({row.code})") for pk, row in places.items()]
    form = MoveForm(posted(request), places=shown, currency=programme.currency if programme else "")

    def moved(told: dict[str, Any]) -> Any:
        giver, taker = places[told.pop("giver")], places[told.pop("taker")]
        with acting_for(giver.tenant_id, taker.tenant_id, staff=True):
            return actions.move_between(giver=giver, taker=taker, by=request.actor, **told)

    return _office_form(request, form, moved, _("Move between participants"), _("Moved."))


@allow(roles.KEEP_BUDGET)
@require_http_methods(["GET", "POST"])
def rate(request: HttpRequest) -> HttpResponse:
    """Enter what one unit of the prices' currency is in the programme's."""
    programme = Programme.objects.order_by("pk").first()
    form = RateForm(posted(request), currency=programme.currency if programme else "")

    def entered(told: dict[str, Any]) -> Any:
        office = Tenant.objects.get(is_office=True)
        with acting_for(office, staff=True):
            return actions.enter_rate(office=office, by=request.actor, **told)

    return _office_form(
        request, form, entered, _("Enter an exchange rate"), _("Written down. It counts from its day on.")
    )


def _office_form(
    request: HttpRequest, form: Any, act: Callable[[dict[str, Any]], Any], title: str, done: str
) -> HttpResponse:
    refused, status = None, 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            _row, refused = attempt(act, told=dict(form.cleaned_data))
            if refused is None:
                messages.success(request, done)
                return see_other(reverse("budgets"))
            status = refused.status
    context = {"form": form, "refused": refused, "back": reverse("budgets"), "title": title}
    return render(request, "clusters/budget_form.html", context, status=status)
