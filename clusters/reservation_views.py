"""Pages about one reservation: want it, say that it is bought, change it, end it."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from clusters import capacity_queries, facts
from clusters.actions import reservations as acting
from clusters.forms import BoughtForm, ChangedForm, ReasonForm, WantedForm
from clusters.models import Reservation
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web.attempt import attempt, posted, see_other
from tenants.web.choosing import chosen


def _one(pk: UUID) -> Reservation:
    found: Reservation = get_object_or_404(Reservation.objects.select_related("tenant"), pk=pk)
    return found


@allow(roles.READ)
@require_safe
def reservation(request: HttpRequest, pk: UUID) -> HttpResponse:
    """One reservation: its times, what is idle of it, what else holds at the same time, and what can be done."""
    row = _one(pk)
    shown = next(one for one in capacity_queries.reservations(row.participation_id) if one.row.pk == row.pk)
    rows = list(capacity_queries.ledger().filter(reservation=row)[:50])
    context = {"row": row, "shown": shown, "rows": rows, "may": request.role in roles.EDIT_QUOTAS}
    return render(request, "clusters/reservation.html", context)


@allow(roles.EDIT_QUOTAS)
@require_http_methods(["GET", "POST"])
def want(request: HttpRequest) -> HttpResponse:
    """Say that a reservation is wanted."""
    choice = chosen(request)
    place: Any = choice.place
    form = WantedForm(posted(request), types=sorted(capacity_queries.accelerated_types()))
    refused, status = None, 200
    if request.method == "POST":
        status = 422
        if place is not None and form.is_valid():
            told = form.cleaned_data
            region = facts.load().region_of(told["az_id"]) or ""
            made, refused = attempt(acting.want, participation=place, region=region, by=request.actor, **told)
            if made is not None:
                messages.success(request, _("Written down. It waits until somebody buys it."))
                return see_other(reverse("reservation", args=[request.tenant.slug, made.pk]))
            status = refused.status if refused else 422
    back = reverse("tenant_capacity", args=[request.tenant.slug]) + choice.of
    context = {"form": form, "refused": refused, "back": back, "row": None, "title": _("Want a reservation")}
    return render(request, "clusters/reservation_form.html", context, status=status)


def _deed(
    request: HttpRequest, row: Reservation, form: Any, title: str, action: Callable[..., Reservation]
) -> HttpResponse:
    refused, status = None, 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            _done, refused = attempt(action, held=row, by=request.actor, **form.cleaned_data)
            if refused is None:
                messages.success(request, _("Done. It stands in the history."))
                return see_other(reverse("reservation", args=[request.tenant.slug, row.pk]))
            status = refused.status
    back = reverse("reservation", args=[request.tenant.slug, row.pk])
    context = {"form": form, "refused": refused, "back": back, "row": row, "title": title}
    return render(request, "clusters/reservation_form.html", context, status=status)


@allow(roles.EDIT_QUOTAS)
@require_http_methods(["GET", "POST"])
def buy(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Say that it is bought, and how the provider calls it."""
    row = _one(pk)
    form = BoughtForm(posted(request), initial={"version": row.version})
    return _deed(request, row, form, _("It is bought"), acting.bought)


@allow(roles.EDIT_QUOTAS)
@require_http_methods(["GET", "POST"])
def change(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Another number or other times, for instance an extension."""
    row = _one(pk)
    now = {name: getattr(row, name) for name in ("count", "starts_at", "ends_at", "version")}
    return _deed(request, row, ChangedForm(posted(request), initial=now), _("Change the reservation"), acting.change)


@allow(roles.EDIT_QUOTAS)
@require_http_methods(["GET", "POST"])
def end(request: HttpRequest, pk: UUID) -> HttpResponse:
    """It is not wanted any more, was given back, or taken away."""
    row = _one(pk)
    form = ReasonForm(posted(request), initial={"version": row.version})
    return _deed(request, row, form, _("End the reservation"), acting.end)
