"""The meeting screen: one stop of the agenda after the other, by keyboard; each form answers by itself and keeps what was typed."""

import json
from collections.abc import Callable
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from program import meeting_forms, meeting_stops, queries, reviews, states
from program.meeting import ESCALATES_AT
from program.meeting_doings import DOINGS, Doing
from program.models import Review, ReviewItem
from support.forms import owners_of
from support.models import Case, CaseNote
from support.states import ENDED
from tenants.programme_day import programme_today
from tenants.queries import actor_names
from tenants.wall import roles
from tenants.wall.access import allow, at_the_office
from tenants.wall.acting import acting_for, reading_everyone
from tenants.web.attempt import attempt, see_other
from tenants.web.problems import Refused, Stale

NOTES_SHOWN = 8


def found_review(pk: UUID) -> Review:
    """A review, as whoever reads everyone sees it. Raises Http404."""
    with reading_everyone():
        found = Review.objects.select_related("cycle__programme").filter(pk=pk).first()
    if found is None:
        raise Http404
    return found


@allow(roles.REVIEW)
@require_safe
def meeting(request: HttpRequest, pk: UUID) -> HttpResponse:
    """The screen of the meeting: `at` says which stop of the agenda."""
    at_the_office(request)
    return _screen(request, found_review(pk), request.GET.get("at", ""))


def _screen(
    request: HttpRequest,
    row: Review,
    at: str,
    filled: forms.Form | None = None,
    doing: str = "",
    refused: Any = None,
    status: int = 200,
) -> HttpResponse:
    found = meeting_stops.stops(row, queries.review_items(row))
    place = next((index for index, stop in enumerate(found) if stop.key == at), 0)
    stop = found[place]
    context = {
        "row": row,
        "office": request.tenant,
        "stops": found,
        "stop": stop,
        "place": place,
        "before": found[place - 1] if place else None,
        "after": found[place + 1] if place + 1 < len(found) else None,
        "is_open": row.state in states.OPEN_REVIEW,
        "items_at": sum(1 for one in found[: place + 1] if one.item),
        "items_in_all": sum(1 for one in found if one.item),
        "refused": refused,
        "doing_now": doing,
        "url": reverse("meeting", args=[request.tenant.slug, row.pk]),
    }
    if stop.item is not None:
        context |= _of_item(request, row, stop.item, filled, doing, refused)
    elif stop.kind == "actions":
        context |= meeting_stops.due_actions(row, programme_today())
    else:
        context |= meeting_stops.PARTS[stop.kind](row)
    return render(request, "program/meeting.html", context, status=status)


def _of_item(
    request: HttpRequest, row: Review, item: ReviewItem, filled: forms.Form | None, doing: str, refused: Any
) -> dict[str, Any]:
    """One item with everything that can be done with it now."""
    with acting_for(item.tenant_id, staff=True):
        case = Case.objects.select_related("tenant", "owner", "cluster", "job").get(pk=item.case_id)
        notes = list(CaseNote.objects.filter(case=case).order_by("-at", "-id")[:NOTES_SHOWN])
        owners = owners_of([item.tenant])[item.tenant_id]
        offered = [
            {
                "doing": one,
                "form": filled if one.name == doing and filled is not None else one.form(item, case, owners, None),
                "open": one.name == doing if doing else one.name == "settle",
                "refused": refused if one.name == doing else None,
                "url": reverse(f"meeting_{one.name}", args=[request.tenant.slug, row.pk, item.pk]),
            }
            for one in DOINGS
            if row.state in states.OPEN_REVIEW and one.offered(case, request)
        ]
        writers = actor_names({note.author for note in notes})
    return {
        "item": item,
        "case": case,
        "notes": [{"note": note, "name": writers.get(note.author, note.author)} for note in reversed(notes)],
        "offered": offered,
        "ended": case.state in ENDED,
        "escalates": item.times_on_agenda >= ESCALATES_AT and not case.component,
        "may_block": item.agenda_group == "rest" and not item.accepted_as_block and row.state in states.OPEN_REVIEW,
    }


def doing_view(doing: Doing) -> Callable[..., HttpResponse]:
    """The view of one thing that the meeting does with an item."""

    def view(request: HttpRequest, pk: UUID, item: UUID) -> HttpResponse:
        at_the_office(request)
        row, found = found_review(pk), _item(pk, item)
        if request.method != "POST":
            return _screen(request, row, str(found.pk), doing=doing.name)
        with acting_for(found.tenant_id, staff=True):
            case = Case.objects.select_related("tenant", "owner", "job").get(pk=found.case_id)
            form = doing.form(found, case, owners_of([found.tenant])[found.tenant_id], request.POST)
            refused = _refusal(form) if not form.is_valid() else _try(request, doing, row, found, case, form)
        if refused is not None:
            return _refused(request, row, found, doing, form, refused)
        if request.headers.get("HX-Request"):
            return _done(request, found_review(pk), _item(pk, item), doing)
        messages.success(request, str(doing.done))
        return see_other(f"{reverse('meeting', args=[request.tenant.slug, row.pk])}?at={found.pk}")

    view.__name__ = f"meeting_{doing.name}"
    view.__doc__ = f"{doing.name}: done with one item in the meeting."
    return allow(roles.REVIEW)(require_http_methods(["GET", "POST"])(view))


def _refusal(form: forms.Form) -> Refused:
    return Refused("invalid", _("Please look at this again."), status=422)


def _try(
    request: HttpRequest, doing: Doing, row: Review, item: ReviewItem, case: Case, form: forms.Form
) -> Refused | None:
    if row.state not in states.OPEN_REVIEW:
        sentence = _("Review %(number)s is published: its items stand.") % {"number": row.number}
        return Refused("review_published", sentence)
    _result, refused = attempt(
        doing.act, request=request, review=row, item=item, case=case, told=dict(form.cleaned_data)
    )
    if isinstance(refused, Stale):
        meeting_forms.keep_with(form, refused.facts["version"])
    elif refused is not None:
        for name in [*refused.facts.get("missing", []), refused.facts.get("field")]:
            if name in form.fields:
                form.add_error(
                    name, _("Say this too.") if name in refused.facts.get("missing", []) else refused.sentence
                )
    return refused


def _item(pk: UUID, item: UUID) -> ReviewItem:
    with reading_everyone():
        found = ReviewItem.objects.select_related("case", "owner", "tenant").filter(review_id=pk, pk=item).first()
    if found is None:
        raise Http404
    return found


def _refused(
    request: HttpRequest, row: Review, item: ReviewItem, doing: Doing, form: forms.Form, refused: Refused
) -> HttpResponse:
    """The form with what was typed, and beside it what somebody else wrote meanwhile."""
    if not request.headers.get("HX-Request"):
        return _screen(request, row, str(item.pk), form, doing.name, refused, status=refused.status)
    context = _of_item(request, row, item, form, doing.name, refused)
    one = next((one for one in context["offered"] if one["doing"] is doing), None)
    if one is None:
        return _screen(request, row, str(item.pk), refused=refused, status=422)
    # htmx puts only a 422 into the page; the true status of a conflict is told to whoever asks without it.
    answer = render(request, "program/meeting.html#form", {"one": one, **context, "row": row}, status=422)
    answer["X-Refused"] = str(refused.status)
    return answer


def _done(request: HttpRequest, row: Review, item: ReviewItem, doing: Doing) -> HttpResponse:
    """The form, empty again, and beside it what changed on the screen: half-typed text in the other forms stays."""
    context = _of_item(request, row, item, None, doing.name, None)
    found = meeting_stops.stops(row, queries.review_items(row))
    stop = next(one for one in found if one.item and one.item.pk == item.pk)
    one = next((one for one in context["offered"] if one["doing"] is doing), None)
    page = {
        **context,
        "one": one,
        "row": row,
        "stops": found,
        "stop": stop,
        "office": request.tenant,
        "doing": doing,
        "partial": True,
    }
    page["url"] = reverse("meeting", args=[request.tenant.slug, row.pk])
    answer = render(request, "program/meeting.html#answer", page)
    answer["HX-Trigger"] = json.dumps({"toast": {"text": str(doing.done), "tone": "good"}})
    return answer


VIEWS = {doing.name: doing_view(doing) for doing in DOINGS}


def _chair(name: str, act: Callable[[HttpRequest, Review, ReviewItem], Any], done: Any) -> Callable[..., HttpResponse]:
    """What the chair does with an item by one button."""

    def view(request: HttpRequest, pk: UUID, item: UUID) -> HttpResponse:
        at_the_office(request)
        row, found = found_review(pk), _item(pk, item)
        _result, refused = attempt(act, request=request, review=row, item=found)
        if refused is not None:
            return _screen(request, row, str(found.pk), refused=refused, status=refused.status)
        messages.success(request, str(done))
        return see_other(f"{reverse('meeting', args=[request.tenant.slug, row.pk])}?at={found.pk}")

    view.__name__ = name
    view.__doc__ = f"{name}: one item, by the chair."
    return allow(roles.REVIEW)(require_POST(view))


def _block(request: HttpRequest, review: Review, item: ReviewItem) -> Any:
    return reviews.accept_as_block(review=review, items=[item], by=request.actor)


def _follow_up(request: HttpRequest, review: Review, item: ReviewItem) -> Any:
    return reviews.conclude(item=item, outcome=ReviewItem.Outcome.FOLLOW_UP, by=request.actor)


def _earlier(request: HttpRequest, review: Review, item: ReviewItem) -> Any:
    return reviews.move_item(item=item, by=request.actor, earlier=True)


def _later(request: HttpRequest, review: Review, item: ReviewItem) -> Any:
    return reviews.move_item(item=item, by=request.actor, earlier=False)


block = _chair("block", _block, gettext_lazy("Accepted as it stands."))
follow_up = _chair("follow_up", _follow_up, gettext_lazy("Taken up outside the meeting."))
earlier = _chair("earlier", _earlier, gettext_lazy("Moved up."))
later = _chair("later", _later, gettext_lazy("Moved down."))


@allow(roles.REVIEW)
@require_POST
def late(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Put an open case on the agenda that the freeze did not know of."""
    at_the_office(request)
    row = found_review(pk)
    chosen = request.POST.get("case", "")
    case = next((case for case in meeting_stops.late_cases(row) if str(case.pk) == chosen), None)
    if case is None:
        refused = Refused("not_late", _("Choose an open case that is not on the agenda."), status=422)
    else:
        added, refused = attempt(reviews.add_late_item, review=row, case=case, by=request.actor)
    if refused is not None:
        return _screen(request, row, "end", refused=refused, status=refused.status)
    messages.success(request, _("%(number)s is on the agenda.") % {"number": case.number})
    return see_other(f"{reverse('meeting', args=[request.tenant.slug, row.pk])}?at={added.pk}")
