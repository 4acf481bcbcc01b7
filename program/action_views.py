"""Pages of action items and decisions: what was given to whom by when, and what was decided with which authority."""

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.db.models import Exists, OuterRef, Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from program import decisions, meeting_forms
from program.models import ActionItem, Decision
from support.forms import owners_of
from support.models import Case
from tenants.history.models import Entry
from tenants.models import Membership, Tenant, holding
from tenants.programme_day import programme_today
from tenants.queries import lines
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.wall.acting import acting_for
from tenants.web import pages
from tenants.web.attempt import attempt, see_other
from tenants.web.problems import Refused, Stale

OPEN, ENDED = "open", "ended"
VERBS: dict[str, tuple[Any, Any]] = {
    "end": (meeting_forms.EndForm, decisions.end_action_item),
    "move": (meeting_forms.MoveForm, decisions.move_due),
    "reopen": (meeting_forms.ReopenForm, decisions.reopen_action_item),
}


def _owner_is_here() -> Exists:
    """Whether an item's owner still sits at the office or at the item's own organisation."""
    seats = Membership.objects.filter(holding(), person=OuterRef("owner"), person__is_active=True)
    return Exists(seats.filter(Q(tenant__is_office=True) | Q(tenant=OuterRef("tenant"))))


@allow(roles.READ)
@require_safe
def action_items(request: HttpRequest) -> HttpResponse:
    """Action items within the scope: open ones by date, or those that ended."""
    ended = request.GET.get("state") == ENDED
    rows = ActionItem.objects.select_related("owner", "tenant")
    rows = rows.exclude(state="open") if ended else rows.filter(state="open")
    mine = request.GET.get("owner") == "me"
    if mine:
        rows = rows.filter(owner=request.person)
    left = request.GET.get("owner") == "nobody"
    if left:
        rows = rows.exclude(_owner_is_here())
    page = pages.by_name(rows, request, name="number")
    today = programme_today()
    overdue = ActionItem.objects.filter(state="open", due__lt=today).count()
    often = ActionItem.objects.filter(state="open", due_changes__gte=decisions.OFTEN_MOVED).count()
    context = {
        "rows": page.rows,
        "older": page.next,
        "ended": ended,
        "mine": mine,
        "left": left,
        "today": today,
        "overdue": overdue,
        "often": often,
        "office": _office(request),
    }
    return render(request, "program/action_items.html", context)


@allow(roles.READ, write=roles.REVIEW)
@require_http_methods(["GET", "POST"])
def action_item(request: HttpRequest, pk: UUID) -> HttpResponse:
    """One action item: end it, move its date, take it up again; and its history."""
    row = _found(pk)
    doing, form, refused, status = request.POST.get("do", ""), None, None, 200
    if request.method == "POST":
        status = 422
        if doing in VERBS:
            kind, act = VERBS[doing]
            form = kind(request.POST, row=row, prefix=doing)
            if form.is_valid():
                refused = _try(act, row, form, request.actor)
                if refused is None:
                    messages.success(request, _("%(number)s is up to date.") % {"number": row.number})
                    return see_other(reverse("action_item", args=[request.tenant.slug, row.pk]))
                status = refused.status
        else:
            refused = Refused("unknown_do", _("Choose what to do with it."), status=422)
    return _shown(request, _found(pk), doing, form, refused, status)


def _found(pk: UUID) -> ActionItem:
    found = ActionItem.objects.select_related("owner", "tenant", "case", "decision").filter(pk=pk).first()
    if found is None:
        raise Http404
    return found


def _try(act: Any, row: ActionItem, form: forms.Form, by: str) -> Refused | None:
    _result, refused = attempt(act, item=row, by=by, **form.cleaned_data)
    if isinstance(refused, Stale):
        meeting_forms.keep_with(form, refused.facts["version"])
    elif refused is not None and refused.facts.get("field") in form.fields:
        form.add_error(refused.facts["field"], refused.sentence)
    return refused


def _shown(request: HttpRequest, row: ActionItem, doing: str, form: Any, refused: Any, status: int) -> HttpResponse:
    wanted = ("end", "move") if row.state == "open" else ("reopen",)
    offered = [
        {
            "name": name,
            "form": form if name == doing and form is not None else VERBS[name][0](row=row, prefix=name),
            "open": name == doing,
        }
        for name in wanted
        if request.role in roles.REVIEW
    ]
    entries = list(
        Entry.objects.filter(subject=ActionItem.SUBJECT, subject_id=row.pk).order_by("-occurred_at", "-id")[:100]
    )
    context = {
        "row": row,
        "offered": offered,
        "refused": refused,
        "entries": lines(entries),
        "today": programme_today(),
        "often": row.due_changes >= decisions.OFTEN_MOVED,
    }
    return render(request, "program/action_item.html", context, status=status)


@allow(roles.READ)
@require_safe
def all_decisions(request: HttpRequest) -> HttpResponse:
    """Decisions within the scope, the newest first; one that a later one superseded says so."""
    rows = Decision.objects.select_related("decided_by", "tenant", "case", "supersedes")
    query = request.GET.get("q", "").strip()[:80]
    if query:
        rows = rows.filter(Q(text__icontains=query) | Q(number__iexact=query))
    page = pages.newest_first(rows, request, at="created_at")
    newer = dict(
        Decision.objects.filter(supersedes__in=[row.pk for row in page.rows]).values_list("supersedes_id", "number")
    )
    told = [{"row": row, "superseded_by": newer.get(row.pk)} for row in page.rows]
    context = {"rows": told, "older": page.next, "query": query, "office": _office(request)}
    return render(request, "program/decisions.html", context)


def _office(request: HttpRequest) -> Tenant | None:
    """Where one writes down what concerns everybody; a participant's own is written from its page or its case."""
    return Tenant.objects.get(is_office=True) if request.role in roles.REVIEW else None


@allow(roles.REVIEW)
@require_http_methods(["GET", "POST"])
def decide(request: HttpRequest) -> HttpResponse:
    """Record a decision of this organisation, or of the office."""
    return _written(request, meeting_forms.DecisionForm, _record, "decisions", _("Record a decision"))


@allow(roles.REVIEW)
@require_http_methods(["GET", "POST"])
def give(request: HttpRequest) -> HttpResponse:
    """Give somebody an action item."""
    return _written(request, meeting_forms.ActionForm, _give, "action_items", _("Give an action item"))


def _record(request: HttpRequest, told: dict[str, Any]) -> Any:
    return decisions.record_decision(tenants=[_concerned(request, told)], by=request.actor, **told)


def _give(request: HttpRequest, told: dict[str, Any]) -> Any:
    return decisions.give_action_item(tenant=_concerned(request, told), by=request.actor, **told)


def _concerned(request: HttpRequest, told: dict[str, Any]) -> Any:
    everybody = told.pop("concerns", meeting_forms.THEIRS) == meeting_forms.ALL
    return Tenant.objects.get(is_office=True) if everybody else request.tenant


def _written(request: HttpRequest, kind: Any, act: Any, after: str, title: str) -> HttpResponse:
    """A form of its own page, for what is written outside a meeting; from a case, it is about that case."""
    owners = owners_of([request.tenant])[request.tenant.pk]
    case = _case_named(request)
    form = kind(request.POST if request.method == "POST" else None, tenant=request.tenant, owners=owners)
    refused, status = None, 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            with acting_for(request.tenant, staff=True):
                told = dict(form.cleaned_data) | ({"case": case} if case else {})
                _result, refused = attempt(act, request=request, told=told)
            if refused is None:
                messages.success(request, _("Saved."))
                return see_other(reverse(after))
            status = refused.status
    back = reverse("case", args=[request.tenant.slug, case.pk]) if case else reverse(after)
    context = {"form": form, "refused": refused, "title": title, "back": back, "case": case}
    return render(request, "program/write_down.html", context, status=status)


def _case_named(request: HttpRequest) -> Case | None:
    """The case of this tenant that the address names. Raises Http404 for one that is not there."""
    asked = request.GET.get("case", "")
    if not asked:
        return None
    try:
        found = Case.objects.filter(pk=UUID(asked)).first()
    except ValueError:
        found = None
    if found is None:
        raise Http404
    return found
