"""Writes about budgets: set, raise, cut, move between participants, pause the stop rule, enter an exchange rate."""

import uuid
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

from django.db.models import F
from django.utils import timezone, translation
from django.utils.translation import gettext as _

from clusters import states
from clusters.actions.holding import lock
from clusters.architectures.configuration import Configuration
from clusters.budgets import prices, queries, stopping
from clusters.budgets.reckoning import CENT, Reckoning
from clusters.models import BudgetRow, BudgetWatch, Cluster, ExchangeRate
from tenants.history import timeline
from tenants.models import Participation, Programme, Tenant
from tenants.web.problems import Refused, Stale
from tenants.work import due

MOST = Decimal(1_000_000_000_000)  # of a budget
LONGEST = 300
LONGEST_LINE = 120
LONGEST_PAUSE = timedelta(days=90)
KIND = "budget"  # of the work that follows one


def set_to(
    *, participation: Participation, amount: Decimal, line: str, why: str, by: str, reference: str = "",
    below_bound: bool = False,
) -> BudgetRow:  # fmt: skip
    """Bring the budget to this sum by a row. Raises Refused: invalid, nothing_changes, below_bound, no_line."""
    amount = _amount("amount", amount)
    if amount < 0:
        _refuse("amount", amount, _("Say 0 or more."))
    hold(participation)
    now = queries.one(participation)
    delta = amount - (now.budget or Decimal(0))
    if now.budget is not None and not delta:
        raise Refused("nothing_changes", _("Nothing is different from what it is."), status=422, field="amount")
    return _changed(now, delta, line, why, by, reference, below_bound=below_bound)


def change(
    *, participation: Participation, delta: Decimal, line: str, why: str, by: str, reference: str = "",
    below_bound: bool = False,
) -> BudgetRow:  # fmt: skip
    """Raise (more than 0) or cut (less). A cut below what is spent and bound is refused unless it is said so."""
    delta = _amount("delta", delta)
    if not delta:
        raise Refused("nothing_changes", _("Nothing is different from what it is."), status=422, field="delta")
    hold(participation)
    return _changed(queries.one(participation), delta, line, why, by, reference, below_bound=below_bound)


def move_between(
    *, giver: Participation, taker: Participation, amount: Decimal, line: str, why: str, by: str, reference: str = "",
    below_bound: bool = False,
) -> tuple[BudgetRow, BudgetRow]:  # fmt: skip
    """From one participant to another: two rows that name each other, in one transaction. Inside the scope of both."""
    amount = _amount("amount", amount)
    if amount <= 0:
        _refuse("amount", amount, _("Say more than 0."))
    if giver.pk == taker.pk:
        _refuse("taker", taker.code, _("Choose another participant."))
    for one in sorted((giver, taker), key=lambda row: str(row.pk)):
        hold(one)
    moved = uuid.uuid4()
    told = {"why": why, "by": by, "reference": reference, "moved": moved}
    from_row = _changed(queries.one(giver), -amount, line, below_bound=below_bound, **told)
    return from_row, _changed(queries.one(taker), amount, line, below_bound=True, **told)


def hold(participation: Participation) -> None:
    """Until the transaction ends nobody else changes this budget, or looks whether it is used up."""
    lock(participation.pk, "", ["budget"])


def _changed(
    now: queries.Known,
    delta: Decimal,
    line: str,
    why: str,
    by: str,
    reference: str,
    *,
    below_bound: bool,
    moved: Any = None,
) -> BudgetRow:
    line, why = _text("line", line, LONGEST_LINE), _text("why", why, LONGEST)
    programme = now.participation.cycle.programme
    before = now.budget or Decimal(0)
    after = before + delta
    if after > MOST:
        _refuse("amount", after, _("Say at most %(most)s.") % {"most": f"{MOST:,}"})
    if delta < 0:
        _refuse_more_than_the_line(now, line, -delta)
    found = queries.reckoning(now, queries.book_of(now.participation))
    cut_below = delta < 0 and after < found.total
    if cut_below and not below_bound:
        raise _below(found, after, programme.currency)
    row = BudgetRow.objects.create(
        tenant_id=now.participation.tenant_id, participation=now.participation, line=line, delta=delta,
        currency=programme.currency, why=why, reference=reference.strip()[:LONGEST_LINE], moved=moved, by=by,
    )  # fmt: skip
    timeline.record(
        states.BUDGET_BELOW_BOUND if cut_below else states.BUDGET_CHANGED, about=row, by=by, delta=f"{delta:+,.2f}",
        currency=programme.currency, line=line, after=f"{after:,.2f}", total=f"{found.total:,.2f}", why=why,
        reference=row.reference,
    )  # fmt: skip
    wish(now.participation)
    return row


def _refuse_more_than_the_line(now: queries.Known, line: str, asked: Decimal) -> None:
    held = dict(queries.lines(now.participation.pk))
    there = held.get(line, Decimal(0))
    if asked > there:
        sentence = _(
            "You take %(asked)s out of '%(line)s', which has %(there)s of this participant. There is: %(lines)s."
        )
        shown = "; ".join(f"{name}: {total:,.2f}" for name, total in held.items()) or "–"
        values = {"asked": f"{asked:,.2f}", "line": line, "there": f"{there:,.2f}", "lines": shown}
        raise Refused("no_line", sentence % values, status=422, field="line", allowed=str(there))


def _below(found: Reckoning, after: Decimal, currency: str) -> Refused:
    sentence = _(
        "%(after)s %(currency)s would be left as the budget, and %(spent)s are spent and %(bound)s bound. Cut less, or say that "
        "it is meant (below_bound)."
    )
    values = {
        "after": f"{after:,.2f}", "currency": currency, "spent": f"{found.spent:,.2f}", "bound": f"{found.bound:,.2f}"
    }  # fmt: skip
    return Refused("below_bound", sentence % values, status=422, field="below_bound", bound=str(found.total))


def _amount(field: str, value: Any) -> Decimal:
    try:
        amount = Decimal(value)
        fine = amount.is_finite() and abs(amount) <= MOST and amount == amount.quantize(CENT)
    except (InvalidOperation, TypeError, ValueError):
        fine = False
    if not fine:
        _refuse(field, value, _("Say an amount with at most two places, up to %(most)s.") % {"most": f"{MOST:,}"})
    return amount.quantize(CENT)


def _text(field: str, value: str, longest: int) -> str:
    value = value.strip()
    if not value or len(value) > longest:
        _refuse(field, value, _("Say it in 1 to %(most)s letters.") % {"most": longest})
    return value


def _refuse(field: str, value: Any, hint: str) -> None:
    sentence = _("'%(value)s' cannot be taken for %(field)s. %(hint)s")
    values = {"value": str(value)[:60], "field": field, "hint": hint}
    raise Refused("invalid", sentence % values, status=422, field=field)


def wish(participation: Participation) -> None:
    """Have it looked at how the budget stands."""
    due.wish(KIND, participation.pk, tenant=participation.tenant_id)


def watched(participation: Participation) -> BudgetWatch:
    """The row, made where there is none; locked."""
    row, _new = BudgetWatch.objects.get_or_create(tenant_id=participation.tenant_id, participation=participation)
    return BudgetWatch.objects.select_for_update().get(pk=row.pk)


def choose_rule(
    *, participation: Participation, rule: str, why: str, by: str, counts: str = "", version: int | None = None
) -> BudgetWatch:
    """What happens at the limit for this participation, and what counts against it (spent, bound); empty: as the programme
    has it. Raises Refused, Stale."""
    if rule not in BudgetWatch.Rule.values:
        words = ", ".join(filter(None, BudgetWatch.Rule.values))
        _refuse("rule", rule, _("Leave it empty, or say one of %(words)s.") % {"words": words})
    if counts not in BudgetWatch.Counts.values:
        words = ", ".join(filter(None, BudgetWatch.Counts.values))
        _refuse("counts", counts, _("Leave it empty, or say one of %(words)s.") % {"words": words})
    why, row = _text("why", why, LONGEST), _newest(participation, version)
    if (row.rule, row.counts) != (rule, counts):
        BudgetWatch.objects.filter(pk=row.pk).update(rule=rule, counts=counts, version=F("version") + 1)
        with translation.override("en"):  # the history translates it for each reader
            words = {"what": str(BudgetWatch.Rule(rule).label), "to": str(BudgetWatch.Counts(counts).label)}
        timeline.record(
            states.BUDGET_RULE, about=row, by=by, why=why, before=[row.rule, row.counts], after=[rule, counts], **words
        )
        wish(participation)
    return BudgetWatch.objects.get(pk=row.pk)


def pause(
    *, participation: Participation, until: datetime, why: str, by: str, version: int | None = None
) -> BudgetWatch:
    """Stop and refuse nothing until then; a moment that is past ends a pause. Raises Refused, Stale."""
    why, row, now = _text("why", why, LONGEST), _newest(participation, version), timezone.now()
    if until > now + LONGEST_PAUSE:
        last = (now + LONGEST_PAUSE).date().isoformat()
        _refuse("until", until.isoformat(), _("Say %(last)s or earlier.") % {"last": last})
    columns = {"paused_until": until, "paused_why": why, "paused_by": by}
    BudgetWatch.objects.filter(pk=row.pk).update(**columns, version=F("version") + 1)
    timeline.record(states.BUDGET_PAUSED, about=row, by=by, until=until.isoformat(timespec="minutes"), why=why)
    wish(participation)
    return BudgetWatch.objects.get(pk=row.pk)


def _newest(participation: Participation, version: int | None) -> BudgetWatch:
    row = watched(participation)
    if version is not None and row.version != version:
        raise Stale("stale", _("Somebody changed this meanwhile. Look at it again."), status=409, version=row.version)
    return row


def enter_rate(*, office: Tenant, of: str, rate: Decimal, starts_on: date, source: str, by: str) -> ExchangeRate:
    """What one unit of a currency is in the programme's, from a day on. Inside the office's scope. Raises Refused."""
    programme = Programme.objects.order_by("pk").first()
    if programme is None:
        raise Refused("no_programme", _("There is no programme yet."))
    of = of.strip().upper()
    if len(of) != 3 or not of.isascii() or not of.isalpha() or of == programme.currency:
        _refuse(
            "of",
            of,
            _("Say another currency than %(own)s in three letters, for instance USD.") % {"own": programme.currency},
        )
    if not rate.is_finite() or not 0 < rate < 10**9 or rate != round(rate, 8):
        _refuse("rate", rate, _("Say a number above 0 with at most eight places."))
    source = _text("source", source, 200)
    row = ExchangeRate.objects.create(
        programme=programme, of=of, rate=rate, currency=programme.currency, starts_on=starts_on, source=source, by=by
    )
    timeline.record(
        states.BUDGET_RATE, about=office, by=by, of=of, rate=f"{rate.normalize():f}", currency=programme.currency,
        day=starts_on.isoformat(), told_by=source,
    )  # fmt: skip
    return row


def refuse_at_limit(
    participation: Participation, wish: Configuration | None = None, cluster: Cluster | None = None
) -> None:
    """Nothing new begins once the budget is spent, nor, where what is bound counts too, what would bind more than is left:
    `wish` as a new cluster, or as what `cluster` becomes. Raises Refused with what is left and who can raise it.

    Where nothing is set, where the rule only tells, and while it is paused, nothing is refused.
    """
    if (held := _held(participation)) is None:
        return
    if stopping.refusal(held.stands, held.terms, held.now):
        raise used_up(held.found, held.currency)
    if wish is None or held.terms.counts != "bound":
        return
    then = queries.reckoning(queries.with_wish(held.known, wish, cluster), held.book)
    _refuse_too_much(held, then.total - held.found.total)


def refuse_cost(participation: Participation, adds: Decimal | None) -> None:
    """The same for what is granted on request, by what it costs within the term; None: nobody knows. Raises Refused."""
    if (held := _held(participation)) is not None:
        _refuse_too_much(held, adds)


@dataclass(frozen=True)
class _Held:
    """A budget that somebody looks at under its lock."""

    known: queries.Known
    book: prices.Book
    found: Reckoning
    stands: stopping.Standing
    terms: stopping.Terms
    now: datetime
    currency: str


def _held(participation: Participation) -> _Held | None:
    """None where nothing would be refused, whatever it costs."""
    place = Participation.objects.select_related("cycle__programme").get(pk=participation.pk)
    if not BudgetRow.objects.filter(participation=place).exists():
        return None
    row, programme = queries.watch(place), place.cycle.programme
    terms = queries.terms(programme, row)
    if terms.rule == "tell":
        return None
    hold(place)
    known, book = queries.one(place), queries.book_of(place)
    found = queries.reckoning(known, book)
    return _Held(known, book, found, queries.standing(row, found), terms, timezone.now(), programme.currency)


def _refuse_too_much(held: _Held, adds: Decimal | None) -> None:
    found = held.found
    if not stopping.binds_too_much(held.stands, held.terms, held.now, bound=found.total, adds=adds):
        return
    sentence = _(
        "It would bind %(adds)s %(currency)s more until the end of the term, and of the budget of %(budget)s %(currency)s "
        "%(left)s are left: %(spent)s are spent and %(bound)s bound. Ask for less or for a shorter time, or have the "
        "programme's office raise the budget."
    )
    amounts = {"adds": adds, "budget": found.budget, "left": found.left, "spent": found.spent, "bound": found.bound}
    told = {name: f"{amount or 0:,.2f}" for name, amount in amounts.items()}
    facts = {name: str(amount) for name, amount in amounts.items()}
    raise Refused("budget_bound", sentence % {**told, "currency": held.currency}, status=409, **facts)


def only_line(participation: Participation) -> str:
    """The line of what a rule decides: where there are several, or none, nobody has said which."""
    held = queries.lines(participation.pk)
    return held[0][0] if len(held) == 1 else ""


def refuse_job_at_limit(cluster: Any) -> None:
    """The same for a job: one query while all is well, since the engine writes down when a limit is reached."""
    if BudgetWatch.objects.filter(participation=cluster.participation_id).exclude(state="within").exists():
        refuse_at_limit(cluster.participation)


def used_up(found: Reckoning, currency: str) -> Refused:
    sentence = _(
        "The budget of the term is used up: %(spent)s of %(budget)s %(currency)s are spent, so nothing is left for anything "
        "new. The programme's office can raise it, or pause the rule."
    )
    values = {"spent": f"{found.spent:,.2f}", "budget": f"{found.budget or 0:,.2f}", "currency": currency}
    return Refused("budget_used_up", sentence % values, status=409, spent=str(found.spent), budget=str(found.budget))


def refuse_other_line(participation: Any, line: str) -> None:
    """Where a budget is set, a decision is out of one of its lines. Raises Refused with those that there are."""
    held = dict(queries.lines(getattr(participation, "pk", participation)))
    if held and line not in held:
        sentence = _("'%(line)s' is no budget line of this participant. There is: %(lines)s.")
        raise Refused(
            "no_line", sentence % {"line": line[:60], "lines": "; ".join(held)}, status=422, field="budget_line"
        )
