"""Pages about capacity: what one has in every unit, what is asked of the programme, and the decision."""

import re
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.dateparse import parse_date
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from clusters import capacity_queries, capacity_telling
from clusters.actions import capacity as acting
from clusters.budgets import effects
from clusters.budgets import queries as budget_queries
from clusters.forms import CapacityForm, DecisionForm, LongerForm, ReasonForm, SmallForm
from clusters.models import CapacityRequest
from clusters.wording import gettext_noop
from tenants.models import Programme, Tenant
from tenants.programme_day import programme_today
from tenants.queries import actor_names
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.wall.acting import acting_for
from tenants.web import pages
from tenants.web.attempt import attempt, posted, see_other
from tenants.web.choosing import Chosen, chosen
from tenants.web.tables import as_csv

NEWEST_ROWS = 50
MOST_BESIDE = 10
NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")
RULES = {
    "small": gettext_noop("small: up to the programme's limit within 30 days"),
    "gives_back": gettext_noop("given back: needs nobody's agreement"),
}


@allow(roles.READ)
@require_safe
def capacity(request: HttpRequest) -> HttpResponse:
    """Every request for capacity that one may see: what waits with its age, the oldest first, and what was decided."""
    waiting = list(capacity_queries.requests().filter(state="waiting").order_by("created_at", "id"))
    page = pages.newest_first(capacity_queries.requests().exclude(state="waiting"), request, at="created_at")
    context = {
        "waiting": waiting,
        "decided": page.rows,
        "reservations": capacity_queries.to_look_at(),
        "older": page.next,
        "small": _small(),
        "may_set": request.role in roles.APPROVE,
    }
    return render(request, "clusters/capacity.html", context)


def _small() -> int:
    """Up to how many accelerator-hours a request is small; 0: none is."""
    return Programme.objects.values_list("small_request_hours", flat=True).first() or 0


@allow(roles.APPROVE)
@require_http_methods(["GET", "POST"])
def small(request: HttpRequest) -> HttpResponse:
    """Say up to how many accelerator-hours a request needs nobody's agreement."""
    programme = Programme.objects.first()
    now = {"hours": programme.small_request_hours, "version": programme.version} if programme else {}
    form = SmallForm(posted(request), initial=now)
    refused, status = None, 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            office = Tenant.objects.get(is_office=True)
            with acting_for(office, staff=True):
                _done, refused = attempt(acting.set_limit, office=office, by=request.actor, **form.cleaned_data)
            if refused is None:
                messages.success(request, _("Saved. It holds for requests from now on."))
                return see_other(reverse("capacity"))
            status = refused.status
    return render(request, "clusters/capacity_small.html", {"form": form, "refused": refused}, status=status)


@allow(roles.READ)
@require_safe
def tenant_capacity(request: HttpRequest) -> HttpResponse:
    """What a participant may have, has reserved and holds, in every unit; the requests; the newest rows of the ledgers."""
    choice = chosen(request)
    place = choice.place
    rows: list[Any] = list(capacity_queries.ledger().filter(participation=place)[:NEWEST_ROWS])
    asked = list(capacity_queries.requests().filter(participation=place)[:NEWEST_ROWS])
    names = actor_names({row.by for row in rows})
    for row in rows:
        row.by_name = names.get(row.by, row.by)
    context = {
        "participation": place,
        "choice": choice,
        "joined": capacity_queries.joined_of([place.pk])[place.pk] if place else [],
        "asked": asked,
        "reservations": capacity_queries.reservations(place.pk) if place else [],
        "may_reserve": request.role in roles.EDIT_QUOTAS and place is not None,
        "rows": rows,
        "may_ask": request.role in roles.ASK_CAPACITY and place is not None,
    }
    return render(request, "clusters/tenant_capacity.html", context)


HEADER = (
    "participant", "participation", "cycle", "instance_type", "region", "bought", "granted", "granted_instances",
    "granted_accelerators", "granted_vcpus", "reserved_instances", "held_instances", "held_accelerators", "held_vcpus",
    "free_instances", "provider_allows", "provider_allows_instances", "cycle_granted_accelerator_hours",
    "cycle_used_accelerator_hours",
)  # fmt: skip


@allow(roles.READ)
@require_safe
def export(request: HttpRequest) -> HttpResponse:
    """The same as a table: a line for each way of buying. An empty cell is no number; `granted` says which way."""
    place, rows = chosen(request).place, []
    for one in capacity_queries.joined_of([place.pk])[place.pk] if place else ():
        told = [each.instances for each in one.allowed if each.instances is not None]
        for way in one.ways:
            granted, held = one.kind.units(way.granted), one.kind.units(way.held)
            rows.append([
                request.tenant.slug, place.code, place.cycle.code, one.kind.instance_type, one.kind.region,
                way.option or "any", one.word, *granted.values(), way.reserved, *held.values(), way.free, one.allowed_word,
                sum(told) if told else None, one.granted_hours, one.used_hours,
            ])  # fmt: skip
    return as_csv(f"capacity-{request.tenant.slug}.csv", HEADER, rows)


@allow(roles.ASK_CAPACITY)
@require_http_methods(["GET", "POST"])
def ask(request: HttpRequest) -> HttpResponse:
    """Ask the programme for other capacity; `?like=` begins with what another request says."""
    choice = chosen(request)
    place: Any = choice.place
    types = sorted(capacity_queries.accelerated_types())
    form = CapacityForm(posted(request), types=types, initial=_begins_with(request, place))
    refused, status = None, 200
    same: list[CapacityRequest] = []
    if request.method == "POST":
        status = 422
        if place is not None and form.is_valid():
            made, refused, same = _asks(request, form, place, dict(form.cleaned_data))
            if made is not None:
                return see_other(reverse("capacity_request", args=[request.tenant.slug, made.pk]))
            status = refused.status if refused else 422
            refused = _at_its_field(form, refused)
    back = reverse("tenant_capacity", args=[request.tenant.slug]) + choice.of
    waiting = list(capacity_queries.requests().filter(state="waiting")[:MOST_BESIDE]) if not same else []
    context = {
        "form": form,
        "refused": refused,
        "back": back,
        "place": place,
        "choice": choice,
        "waiting": waiting,
        "small": _small(),
    }
    if same:
        context |= _adds(place.pk, same, form.cleaned_data)
    return render(request, "clusters/capacity_ask.html", context, status=status)


def _begins_with(request: HttpRequest, place: Any) -> dict[str, Any]:
    """What the form shows before anything is typed: by the address, by the request it names, else by what is usual."""
    given = {name: request.GET[name] for name in ("kind", "region") if request.GET.get(name)}
    try:
        like = capacity_queries.requests().filter(pk=UUID(request.GET.get("like", ""))).first()
    except ValueError:
        like = None
    if like is None:
        usual = request.GET.get("type", "") or (capacity_queries.usual_type(place.pk) if place else "")
        return given | {"instance_type": usual}
    first = max(like.starts_on, programme_today())
    same = {name: getattr(like, name) for name in ("instance_type", "option", "instances", "ends_on")}
    return same | {"region": like.to_region or like.region, "starts_on": first} | given


def _asks(request: HttpRequest, form: Any, place: Any, told: dict[str, Any]) -> tuple[Any, Any, list[CapacityRequest]]:
    """(the request that was made, a refusal, what waits or is granted already for the same and stops it)."""
    told.pop("version", None)
    again, same = told.pop("again"), _same(form, place.pk, told)
    if not again and (same or _gives_back(form, told)):
        return None, None, same
    made, refused = attempt(acting.ask, participation=place, by=request.actor, **told)
    if made is not None:
        words = _("Granted at once.") if made.state == "granted" else _("Asked. The programme's office decides it.")
        messages.success(request, words)
    return made, refused, []


def _same(form: Any, place: Any, told: dict[str, Any], but: Any = None) -> list[CapacityRequest]:
    """What waits or is granted already for the same; then the form asks whether this is wanted in addition."""
    like = {name: told[name] for name in ("kind", "instance_type", "region", "starts_on", "ends_on")}
    same = list(capacity_queries.asked_already(place, but=but, **like)[:MOST_BESIDE])
    if same:
        form.asks_again()
    return same


def _gives_back(form: Any, told: dict[str, Any]) -> bool:
    """Whether it would be given back at once, without anybody's agreement; then the form asks whether that is meant."""
    if told["kind"] != CapacityRequest.Kind.FEWER:
        return False
    form.asks_again()
    form.fields["again"].label = _("Give it back at once")
    sentence = _("Giving back takes effect at once; whoever wants it again has to ask. Tick that it is meant.")
    form.add_error("again", sentence)
    return True


def _adds(place: Any, same: list[CapacityRequest], told: dict[str, Any]) -> dict[str, Any]:
    """What the stop says: what is granted at most in that time, what it would be, and which request may be prolonged."""
    there = capacity_queries.most_granted(
        place, told["instance_type"], told["region"], told["starts_on"], told["ends_on"]
    )
    ending = [row for row in same if capacity_queries.prolonged_by(row)]
    last = max(ending, key=lambda row: row.given_until or row.starts_on, default=None)
    return {"same": same, "there": there, "would": there + told["instances"], "prolongs": last}


@allow(roles.ASK_CAPACITY)
@require_http_methods(["GET", "POST"])
def change(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Ask for something else instead, as long as nobody decided."""
    row, refused, status = _one(pk), None, 200
    back = reverse("capacity_request", args=[request.tenant.slug, row.pk])
    says = {name: getattr(row, name) for name in (*acting.CHANGEABLE, "version")}
    form = CapacityForm(posted(request), types=sorted(capacity_queries.accelerated_types()), initial=says)
    context = {
        "form": form,
        "back": back,
        "place": row.participation,
        "row": row,
        "choice": Chosen(row.participation, ()),
    }
    if request.method == "POST":
        status = 422
        if form.is_valid():
            told = dict(form.cleaned_data)
            again, same = told.pop("again"), _same(form, row.participation_id, told, but=row.pk)
            made = None
            if same and not again:
                context |= _adds(row.participation_id, same, told)
            elif again or not _gives_back(form, told):
                made, refused = attempt(acting.change, asked=row, by=request.actor, **told)
            if made is not None:
                messages.success(request, _("Granted at once.") if made.state == "granted" else _("Saved."))
                return see_other(back)
            status = refused.status if refused else 422
            refused = _at_its_field(form, refused)
    return render(request, "clusters/capacity_ask.html", context | {"refused": refused}, status=status)


@allow(roles.ASK_CAPACITY)
@require_http_methods(["GET", "POST"])
def longer(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Ask for what is granted, for longer: from the day after it would have ended."""
    row = _one(pk)
    back = reverse("capacity_request", args=[request.tenant.slug, row.pk])
    first, instances = capacity_queries.prolonged_by(row) or (None, 0)
    form, refused, status = LongerForm(posted(request)), None, 200
    context = {"row": row, "back": back, "first": first, "instances": instances, "place": row.to_region or row.region}
    if request.method == "POST":
        status = 422
        if first is not None and form.is_valid():
            told = form.cleaned_data | {
                "kind": CapacityRequest.Kind.LONGER, "instance_type": row.instance_type, "region": context["place"],
                "option": row.option, "instances": instances, "starts_on": first,
            }  # fmt: skip
            made, refused, same = _asks(request, form, row.participation, dict(told))
            if made is not None:
                return see_other(reverse("capacity_request", args=[request.tenant.slug, made.pk]))
            status = refused.status if refused else 422
            refused = _at_its_field(form, refused)
            if same:
                context |= _adds(row.participation_id, same, told)
    context |= {"form": form, "refused": refused}
    return render(request, "clusters/capacity_longer.html", context, status=status)


def _at_its_field(form: Any, refused: Any) -> Any:
    """A refusal about a field of the form is told there; any other stays what it is."""
    if refused is None or refused.facts.get("field") not in form.fields:
        return refused
    form.add_error(refused.facts["field"], refused.sentence)
    return None


def _one(pk: UUID) -> CapacityRequest:
    found: CapacityRequest = get_object_or_404(capacity_queries.requests(), pk=pk)
    return found


@allow(roles.READ)
@require_safe
def capacity_request(request: HttpRequest, pk: UUID) -> HttpResponse:
    """One request: what it comes to, who decided it, out of which budget line, why."""
    return _page(request, _one(pk), None, None, 200)


def _in_figures(effect: dict[str, Any]) -> dict[str, Any]:
    """An effect as it is kept, its amount and its days as people read them."""
    days = {name: effect.get(name) and parse_date(effect[name]) for name in ("gate", "prices_dated")}
    cost = effect.get("cost")
    return effect | days | {"cost": f"{Decimal(cost):,.2f}" if cost and NUMBER.fullmatch(cost) else cost}


def _page(request: HttpRequest, row: CapacityRequest, form: Any, refused: Any, status: int) -> HttpResponse:
    waits = row.state == "waiting"
    decides = waits and request.role in roles.APPROVE and not acting.own(row, request.person)
    names = actor_names({row.asked_by, row.decided_by} - {""})
    lines = [line for line, _total in budget_queries.lines(row.participation_id)] if decides else []
    gives = row.state == "granted" and row.kind != CapacityRequest.Kind.FEWER
    kept = acting.effect_of(row).kept() if waits else row.effect.get("granted", row.effect)
    context = {
        "row": row,
        "budget": effects.of_cost(row.participation_id, kept, row.starts_on)
        if waits
        else effects.read(kept.get("budget")),
        "effect": _in_figures(kept),
        "follows": gives and request.role in roles.ASK_CAPACITY,
        "prolongs": capacity_queries.prolonged_by(row) if gives else None,
        "beside": list(capacity_queries.beside(row)[:MOST_BESIDE]),
        "rule": RULES.get(row.rule, ""),
        "form": (form or DecisionForm(initial={"version": row.version}, lines=lines, row=row)) if decides else None,
        "named_lines": capacity_queries.named_lines() if decides and not lines else [],
        "next": capacity_telling.next_step(row, request.role)
        if gives and request.role in roles.ASK_CAPACITY
        else ("", ""),
        "own": waits and request.role in roles.APPROVE and not decides,
        "may_withdraw": waits and not decides and request.role in roles.ASK_CAPACITY,
        "refused": refused,
        "asked_by": names.get(row.asked_by, row.asked_by),
        "decided_by": names.get(row.decided_by, row.decided_by),
    }
    return render(request, "clusters/capacity_request.html", context, status=status)


@allow(roles.APPROVE)
@require_http_methods(["POST"])
def decide(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Grant or decline."""
    row, refused = _one(pk), None
    lines = [line for line, _total in budget_queries.lines(row.participation_id)]
    form = DecisionForm(request.POST, lines=lines, row=row)
    if form.is_valid():
        told = dict(form.cleaned_data)
        grants = told.pop("decision") == "grant"
        _done, refused = attempt(
            acting.decide, asked=row, grants=grants, person=request.person, by=request.actor, **told
        )  # fmt: skip
        if refused is None:
            messages.success(request, _("Granted.") if grants else _("Declined."))
            return see_other(reverse("capacity_request", args=[request.tenant.slug, row.pk]))
    if refused is not None and refused.code == "past_term":
        form.asks_nevertheless()
    status = refused.status if refused else 422
    return _page(request, _one(pk), form, _at_its_field(form, refused), status)


@allow(roles.ASK_CAPACITY)
@require_http_methods(["GET", "POST"])
def withdraw(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Ask for it no longer."""
    row, refused, status = _one(pk), None, 200
    form = ReasonForm(posted(request), initial={"version": row.version})
    if request.method == "POST":
        status = 422
        if form.is_valid():
            _done, refused = attempt(acting.withdraw, asked=row, by=request.actor, **form.cleaned_data)
            if refused is None:
                messages.success(request, _("Withdrawn."))
                return see_other(reverse("capacity_request", args=[request.tenant.slug, row.pk]))
            status = refused.status
    back = reverse("capacity_request", args=[request.tenant.slug, row.pk])
    context = {"form": form, "refused": refused, "back": back, "row": row}
    return render(request, "clusters/capacity_withdraw.html", context, status=status)
