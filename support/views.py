"""Pages about cases: all of them in the order of urgency, opening one, one of them and what is written on it."""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.db.models import Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from clusters.models import Job
from support import actions, forms, queries, showing, states
from support.articles_of_cases import on_case
from support.models import Case, CaseNote
from support.urgency import by_urgency
from support.verbs import AT_HAND, VERBS, Verb
from tenants.models import Membership, Person, holding
from tenants.queries import actor_names, lines, tenants
from tenants.rosters import on_duty
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web import pages
from tenants.web.attempt import attempt, see_other

ROW = (
    "id", "tenant__slug", "tenant__name", "number", "type", "title", "severity", "state", "owner_id", "owner__name", "owner__email",
    "next_step", "next_step_due", "opened_at", "reopened_at", "severity_raised_at", "first_response_at", "last_shared_at",
    "resolved_at", "component", "urgency",
)  # fmt: skip
MOST_NOTES = 200
MOST_FILES = 100
MOST_SIMILAR = 5


def visible(request: HttpRequest) -> QuerySet[Case]:
    """The cases that whoever asks may see."""
    return queries.cases(role=request.role, person=request.person)


def found_case(request: HttpRequest, pk: UUID) -> Case:
    """The case, with what its page names. Raises Http404 for what is not there or not theirs."""
    found = visible(request).select_related("tenant", "owner", "cluster", "job").filter(pk=pk).first()
    if found is None:
        raise Http404
    return found


@allow(roles.READ_CASES)
@require_safe
def cases(request: HttpRequest) -> HttpResponse:
    """Cases one may see: unanswered ones first, then by severity and age."""
    now = timezone.now()
    everybody = list(tenants().filter(is_office=False).order_by("name"))
    owners = Person.objects.filter(pk__in=visible(request).filter(state__in=states.OPEN).values("owner")).order_by(
        "name", "email"
    )
    form = forms.CaseFilters(request.GET, tenants=everybody, owners=list(owners))
    chosen = form.chosen()
    rows = by_urgency(_filtered(visible(request), chosen, request.person), now).values(*ROW)
    page = pages.by_name(rows, request, name="urgency")
    context = {
        "form": form,
        "chosen": chosen,
        "rows": [row | {"flags": showing.flags(queries.attention(row, now))} for row in page.rows],
        "older": page.next,
        "several": len(everybody) > 1,
        "may_open": request.role in roles.WRITE_CASES,
        "ended": states.ENDED,
    }
    return render(request, "support/index.html", context, status=200 if form.is_valid() else 400)


def _filtered(rows: QuerySet[Case], chosen: dict[str, str], person: Person) -> QuerySet[Case]:
    match chosen.get("state", ""):
        case "":
            rows = rows.filter(state__in=states.OPEN)
        case forms.ENDED:
            rows = rows.filter(state__in=states.ENDED)
        case forms.ALL:
            pass
        case word:
            rows = rows.filter(state=word)
    if q := chosen.get("q"):
        rows = rows.filter(Q(title__icontains=q) | Q(number__icontains=q) | Q(tenant__name__icontains=q))
    for field, name in {"severity": "severity", "tenant": "tenant__slug"}.items():
        if value := chosen.get(field):
            rows = rows.filter(**{name: value})
    match chosen.get("owner", ""):
        case "":
            return rows
        case forms.MINE:
            return rows.filter(owner=person)
        case forms.NOBODY:
            return rows.filter(owner=None)
        case other:
            return rows.filter(owner=other)


@allow(roles.WRITE_CASES)
@require_safe
def choose_tenant(request: HttpRequest) -> HttpResponse:
    """Whose case is to be opened; with one participant there is nothing to choose."""
    everybody = list(tenants().filter(is_office=False).order_by("name"))
    form = forms.ForWhomForm(request.GET if "tenant" in request.GET else None, tenants=everybody)
    if len(everybody) == 1:
        return redirect("new_case", everybody[0].slug)
    if form.is_valid():
        return redirect("new_case", form.cleaned_data["tenant"])
    return render(request, "support/choose.html", {"form": form}, status=400 if form.is_bound else 200)


@allow(roles.WRITE_CASES)
@require_http_methods(["GET", "POST"])
def new_case(request: HttpRequest) -> HttpResponse:
    """Open a case at a participant."""
    if request.tenant.is_office:
        raise Http404
    form = forms.OpenForm(request.POST or None, initial=_asked_about(request))
    refused, status = None, 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            opened, refused = attempt(actions.open_case, tenant=request.tenant, by=request.actor, **form.cleaned_data)
            if refused is None:
                messages.success(request, _("Opened as %(number)s.") % {"number": opened.number})
                return see_other(reverse("case", args=[request.tenant.slug, opened.pk]))
            status = refused.status
    return render(request, "support/new.html", {"form": form, "refused": refused}, status=status)


def _asked_about(request: HttpRequest) -> dict[str, Any]:
    """What a link to this page already names: a job, or a cluster."""
    try:
        asked = {name: UUID(request.GET[name]) for name in ("job", "cluster") if request.GET.get(name)}
    except ValueError:
        return {}
    job = Job.objects.select_related("cluster").filter(pk=asked["job"]).first() if "job" in asked else None
    if job is not None:
        return {"job": job.pk, "cluster": job.cluster_id, "title": _("Job %(name)s") % {"name": job.name}}
    return {"cluster": asked.get("cluster")}


@allow(roles.READ_CASES)
@require_safe
def case(request: HttpRequest, pk: UUID) -> HttpResponse:
    """One case: how it stands, what was written, what was frozen, what happened."""
    return shown(request, found_case(request, pk))


def shown(
    request: HttpRequest,
    row: Case,
    note_form: forms.NoteForm | None = None,
    refused: Any = None,
    status: int = 200,
    file_form: forms.FileForm | None = None,
) -> HttpResponse:
    """The page of a case, with the note or the file that could not be kept when there is one."""
    now = timezone.now()
    page = pages.newest_first(queries.case_history(row), request, size=30)
    notes, files = _notes(row), _files(row)
    answers = request.role in roles.ANSWER_CASES
    offered = [verb for verb in VERBS if verb.open_to(row, request)]
    context = {
        "row": row,
        "ended": row.state in states.ENDED,
        "category": showing.CATEGORIES.get(row.category, row.category),
        "opened_by": actor_names({row.opened_by}).get(row.opened_by, row.opened_by),
        "flags": showing.flags(queries.attention(row, now)),
        "clocks": showing.case_clocks(row, queries.pauses(row), now),
        "notes": notes,
        "files": files,
        "file_form": file_form or (forms.FileForm(internal=request.internal) if answers else None),
        "evidence": showing.evidence(row.evidence),
        "entries": lines(page.rows),
        "older": page.next,
        "similar": _similar(request, row),
        "at_hand": [_asked(verb, row) for verb in offered if verb.name in AT_HAND],
        "more": [_asked(verb, row) for verb in offered if verb.name not in AT_HAND],
        "note_form": note_form or (forms.NoteForm(case=row, internal=request.internal) if answers else None),
        "refused": refused,
        "on_duty": on_duty(now, row.component) if request.internal and row.component else [],
        **on_case(request, row),
    }
    return render(request, "support/case.html", context, status=status)


def _asked(verb: Verb, row: Case) -> dict[str, Any]:
    """A verb with its form, to be asked over the page."""
    return {
        "verb": verb,
        "form": verb.form(case=row, prefix=verb.name),
        "title": str(verb.title) % {"number": row.number},
    }


def _notes(row: Case) -> list[dict[str, Any]]:
    """The newest notes, oldest first, with who wrote each and for whom they work."""
    written: list[CaseNote] = list(reversed(queries.case_notes(row).reverse()[:MOST_NOTES]))
    names = actor_names(note.author for note in written)
    people = {note.author.partition(":")[2] for note in written if note.author.startswith("person:")}
    seats = Membership.objects.filter(holding(), person__in=people).select_related("tenant") if people else []
    houses = {f"person:{seat.person_id}": seat.tenant.name for seat in seats}
    return [
        {"id": note.pk, "text": note.text, "at": note.at, "audience": note.audience}
        | {"name": names.get(note.author, note.author), "house": houses.get(note.author, "")}
        for note in written
    ]


def _files(row: Case) -> list[dict[str, Any]]:
    """The newest files, oldest first, with who attached each."""
    found = list(reversed(queries.case_files(row).reverse()[:MOST_FILES]))
    names = actor_names(one.actor for one in found)
    return [{"row": one, "name": names.get(one.actor, one.actor)} for one in found]


def _similar(request: HttpRequest, row: Case) -> list[Case]:
    """Other cases of this tenant with the same signature, else of the same category."""
    alike = Q(signature=row.signature) if row.signature else Q(category=row.category) if row.category else None
    if alike is None:
        return []
    return list(
        visible(request).filter(alike, tenant=row.tenant_id).exclude(pk=row.pk).order_by("-opened_at")[:MOST_SIMILAR]
    )
