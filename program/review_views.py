"""Pages of the weekly review. Reading reads everyone and cannot write; what is written goes to the office's own addresses."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from program import queries, reviews, states
from program.figures import THIRD_TIME
from program.meeting import in_order
from program.minutes_views import addenda_of, found_minutes
from program.models import Minutes, Review, ReviewItem
from program.review_forms import FreezeForm, SettleForm
from support.forms import owners_of
from support.models import Case
from support.states import ENDED
from tenants.models import Cycle, Tenant
from tenants.queries import actor_names
from tenants.wall import roles
from tenants.wall.access import allow, at_the_office
from tenants.wall.acting import reading_everyone
from tenants.web import pages
from tenants.web.attempt import attempt, see_other
from tenants.web.problems import Refused, Stale

READ_REVIEWS = roles.STAFF - {roles.AUTOMATION}
TONES = {
    "worst": "bad",
    "unattended": "bad",
    "new": "warn",
    "third_time": "warn",
    "overage": "warn",
    "decision": "warn",
}


def _office() -> Tenant:
    return Tenant.objects.get(is_office=True)


@allow(READ_REVIEWS)
@require_safe
def all_reviews(request: HttpRequest) -> HttpResponse:
    """Every weekly review, the newest first, and the form that freezes the next one."""
    page = pages.newest_first(Review.objects.select_related("cycle__programme"), request, at="cutoff_at")
    context = {
        "rows": page.rows,
        "older": page.next,
        "office": _office(),
        "form": _freeze_form(None) if request.role in roles.PUBLISH else None,
    }
    return render(request, "program/reviews.html", context)


def _freeze_form(data: Any) -> FreezeForm | None:
    """The form, or None while no cycle exists that could be reviewed."""
    cycles = list(Cycle.objects.exclude(state="closed").select_related("programme").order_by("-starts_on"))
    # The one that is being prepared is newer, but there is little to review in it yet.
    cycles.sort(key=lambda cycle: cycle.state != "running")
    if not cycles:
        return None
    with reading_everyone():
        last = Review.objects.filter(cycle=cycles[0]).order_by("-cutoff_at").first()
    return FreezeForm(data, cycles=cycles, now=timezone.now(), reviewed_until=last.cutoff_at if last else None)


@allow(roles.PUBLISH)
@require_http_methods(["GET", "POST"])
def freeze(request: HttpRequest) -> HttpResponse:
    """Freeze a review as of a past moment."""
    at_the_office(request)
    form = _freeze_form(request.POST if request.method == "POST" else None)
    refused, status = None, 200
    if request.method == "POST":
        status = 422
        if form is not None and form.is_valid():
            review, refused = attempt(reviews.freeze, by=request.actor, **form.asked())
            if refused is None:
                messages.success(request, _("Review %(number)s is frozen.") % {"number": review.number})
                return see_other(reverse("review", args=[review.pk]))
            status = refused.status
    return render(
        request, "program/freeze.html", {"form": form, "refused": refused, "office": request.tenant}, status=status
    )


@allow(READ_REVIEWS)
@require_safe
def review(request: HttpRequest, pk: UUID) -> HttpResponse:
    """One review: its numbers, its agenda in the order of the meeting, and what keeps it from being published."""
    return _shown(request, _found(pk))


def _found(pk: UUID) -> Review:
    with reading_everyone():
        found = Review.objects.select_related("cycle__programme").filter(pk=pk).first()
    if found is None:
        raise Http404
    return found


def _shown(
    request: HttpRequest, row: Review, form: SettleForm | None = None, refused: Any = None, status: int = 200
) -> HttpResponse:
    """The page of a review; `form` is the one of an item that could not be settled."""
    if request.GET.get("part") == "publishing" and request.headers.get("HX-Request"):
        return _how_far(request, row)
    items = in_order(queries.review_items(row))
    owners = owners_of({item.tenant for item in items}) if items else {}
    may_settle = row.state in states.OPEN_REVIEW and request.role in roles.REVIEW
    told = [_told(item, owners, form) for item in items]
    first = next((one for one in told if one["missing"] and one["item"].agenda_group != "rest"), None)
    if first is not None and form is None and may_settle:
        first["open"] = True
    with reading_everyone():
        minutes = list(Minutes.objects.filter(review_id=row.pk).select_related("tenant").order_by("tenant__name"))
        names = dict(Tenant.objects.values_list("slug", "name"))
    causes = dict(Case.Cause.choices)
    context = {
        "groups": [
            (code, label, [one for one in told if one["item"].agenda_group == code])
            for code, label in states.AGENDA_GROUPS
        ],
        "minutes": minutes,
        "made": len(minutes),
        "resolved": [_ended(one, names, causes) for one in row.snapshot.get("resolved", [])],
        "held_by": actor_names({row.held_by}).get(row.held_by, row.held_by),
        "refused": refused,
        **_state_of(request, row),
        "may_settle": may_settle,
    }
    return render(request, "program/review.html", context, status=status)


def _how_far(request: HttpRequest, row: Review) -> HttpResponse:
    """How many minutes are there, for the page that asks while they are made; when all are, it loads itself anew."""
    if row.state != "publishing":
        return HttpResponse(headers={"HX-Refresh": "true"})
    with reading_everyone():
        made = Minutes.objects.filter(review_id=row.pk).count()
    context = {**_state_of(request, row), "made": made}
    return render(request, "program/review.html#publishing", context)


def _ended(one: dict[str, Any], names: dict[str, str], causes: dict[str, Any]) -> dict[str, Any]:
    """A case that ended since the review before, in words."""
    lost = Decimal(one["lost_hours"]) if one["lost_hours"] else None
    return one | {
        "tenant_name": names.get(one["tenant"], one["tenant"]),
        "cause_words": causes.get(one["cause"], "–"),
        "lost": lost,
    }


def _state_of(request: HttpRequest, row: Review) -> dict[str, Any]:
    """How far the review is, what it still lacks, and which step this person may take."""
    is_open = row.state in states.OPEN_REVIEW
    return {
        "row": row,
        "office": _office(),
        "lacking": _lacking(row) if is_open else [],
        "may_meet": request.role in roles.REVIEW and is_open,
        "may_accept": request.role in roles.REVIEW and is_open,
        "may_publish": request.role in roles.PUBLISH and is_open,
        "may_begin": request.role in roles.PUBLISH and row.state == "draft",
        "may_lock": request.role in roles.PUBLISH and row.state == "published",
        "awaited": reviews.minutes_awaited(row) if row.state == "publishing" else [],
    }


def _lacking(row: Review) -> list[dict[str, Any]]:
    """What keeps the minutes from going out, with the participants' names."""
    found = reviews.unsettled(row)
    names = (
        dict(Tenant.objects.filter(slug__in={one["tenant"] for one in found}).values_list("slug", "name"))
        if found
        else {}
    )
    return [one | {"tenant_name": names[one["tenant"]]} for one in found]


def _told(item: ReviewItem, owners: dict[Any, Any], form: SettleForm | None = None) -> dict[str, Any]:
    """An item with its form and what is said beside it."""
    bound = form is not None and form.item_pk == item.pk
    missing = not (item.owner_id and item.next_step and item.next_step_due) or (
        item.times_on_agenda >= THIRD_TIME and not item.times_reason
    )
    return {
        "item": item,
        "form": form if bound else SettleForm(item=item, owners=owners[item.tenant_id]),
        "open": bound,
        "missing": missing and item.case.state not in ENDED and not item.accepted_as_block,
        "ended": item.case.state in ENDED,
        "moved": item.case.state != item.state_then,
        "tone": TONES.get(item.agenda_group, "neutral"),
    }


@allow(roles.REVIEW)
@require_http_methods(["GET", "POST"])
def settle(request: HttpRequest, pk: UUID, item: UUID) -> HttpResponse:
    """Write down owner, next step and date of one item."""
    at_the_office(request)
    row = _found(pk)
    with reading_everyone():
        found = ReviewItem.objects.select_related("case", "owner", "tenant").filter(review_id=pk, pk=item).first()
    if found is None:
        raise Http404
    number, address = found.case.number, f"{reverse('review', args=[pk])}#item-{found.pk}"
    if request.method != "POST":
        return _shown(request, row)
    owners = owners_of([found.tenant])
    form = SettleForm(request.POST, item=found, owners=owners[found.tenant_id])
    refused, status = None, 422
    if form.is_valid():
        settled, refused = attempt(reviews.settle_item, item=found, by=request.actor, **form.cleaned_data)
        if refused is None:
            if request.headers.get("HX-Request"):
                return _one_item(request, row, settled.pk, owners)
            messages.success(request, _("%(number)s is settled.") % {"number": number})
            return see_other(address)
        status = refused.status
        _keep(form, refused)
    if request.headers.get("HX-Request"):
        # htmx puts only a 422 into the page; what was typed stays in it.
        return _one_item(request, row, found.pk, owners, form, refused, status=422)
    return _shown(request, row, form, refused, status=status)


def _keep(form: SettleForm, refused: Refused) -> None:
    """What was typed on an old page is kept for the next try."""
    if isinstance(refused, Stale):
        form.keep_with(refused.facts["version"])
    elif refused.facts.get("field") in form.fields:
        form.add_error(refused.facts["field"], refused.sentence)


def _one_item(
    request: HttpRequest,
    row: Review,
    pk: UUID,
    owners: dict[Any, Any],
    form: SettleForm | None = None,
    refused: Refused | None = None,
    status: int = 200,
) -> HttpResponse:
    """One item for the page that asked by htmx, and beside it what the review still lacks."""
    with reading_everyone():
        item = ReviewItem.objects.select_related("case", "owner", "tenant").get(pk=pk)
    context = {
        "one": _told(item, owners, form),
        "refused": refused,
        "may_settle": True,
        "partial": True,
        **_state_of(request, row),
    }
    return render(request, "program/review.html#answer", context, status=status)


def _step(
    act: Callable[..., Any], name: str, done: Callable[[Review], str], allowed: frozenset[str] = roles.PUBLISH
) -> Callable[..., HttpResponse]:
    """The view that takes a review one step on."""

    def view(request: HttpRequest, pk: UUID) -> HttpResponse:
        at_the_office(request)
        row = _found(pk)
        if request.method != "POST":
            return _shown(request, row)
        sent = request.POST.get("version", "")
        version = int(sent) if sent.isascii() and sent.isdigit() and len(sent) < 10 else None
        _result, refused = attempt(act, review=row, by=request.actor, version=version)
        if refused is not None:
            return _shown(request, _found(pk), refused=refused, status=refused.status)
        messages.success(request, done(row))
        return see_other(reverse("review", args=[pk]))

    view.__name__ = name
    view.__doc__ = act.__doc__
    return allow(allowed)(require_http_methods(["GET", "POST"])(view))


def _accept(*, review: Review, by: str, version: int | None) -> None:
    """Accept as a block what has no flag."""
    reviews.accept_as_block(review=review, by=by, version=version)


accept = _step(_accept, "accept", lambda row: _("Accepted as a block."), roles.REVIEW)
begin = _step(
    reviews.open_session, "begin", lambda row: _("The session of review %(number)s is open.") % {"number": row.number}
)
publish = _step(
    reviews.publish,
    "publish",
    lambda row: _("The minutes of review %(number)s are being made.") % {"number": row.number},
)
lock = _step(reviews.lock, "lock", lambda row: _("Review %(number)s is locked.") % {"number": row.number})


@allow(roles.READ)
@require_safe
def minutes(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The minutes that one participant got of one review."""
    found = found_minutes(request, pk)
    head, *blocks = [block.split("\n") for block in found.body.strip().split("\n\n")]
    seal = blocks.pop() if blocks else []  # the digests come last
    context = {"row": found, "head": head, "blocks": blocks, "seal": seal, "addenda": addenda_of(found)}
    return render(request, "program/minutes.html", context | {"may_edit": request.role in roles.REVIEW})
