"""Pages of reports: what is owed by whom until when, and one report with its text, files and history."""

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_http_methods, require_safe

from program import life, reports
from program.meeting_forms import day_field
from program.models import Report
from tenants.files import LARGEST
from tenants.models import Cycle, Tenant
from tenants.programme_day import programme_today
from tenants.queries import actor_names, history, lines
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web import pages
from tenants.web.attempt import attempt, see_other
from tenants.web.problems import Refused, Stale
from tenants.web.templatetags.show import FAMILIES

MOST_OWED = 500


class AskForm(forms.Form):
    """What every participant of a cycle owes by a day."""

    cycle = forms.ChoiceField(label=gettext_lazy("Cycle"))
    kind = forms.ChoiceField(label=gettext_lazy("Report"), choices=Report.Kind.choices)
    period = forms.CharField(
        label=gettext_lazy("Period"),
        max_length=10,
        help_text=gettext_lazy("A month like 2026-01, or the cycle's code."),
    )
    due_on = day_field(gettext_lazy("Due on"))

    def __init__(self, *args: Any, cycles: list[Cycle], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.cycles = {str(cycle.pk): cycle for cycle in cycles}
        self.fields["cycle"].choices = [
            (pk, f"{cycle.programme.code} {cycle.name}") for pk, cycle in self.cycles.items()
        ]

    def clean_cycle(self) -> Cycle:
        return self.cycles[self.cleaned_data["cycle"]]


class ReportForm(forms.Form):
    version = forms.IntegerField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, report: Report, **kwargs: Any) -> None:
        super().__init__(*args, **{"initial": {"version": report.version, "text": report.text}, **kwargs})


class HandInForm(ReportForm):
    text = forms.CharField(
        label=gettext_lazy("Text"), max_length=20_000, required=False, widget=forms.Textarea(attrs={"rows": 8})
    )
    file = forms.FileField(
        label=gettext_lazy("File"), required=False, help_text=gettext_lazy("A PDF or a table; up to 20 MiB.")
    )

    def clean_file(self) -> tuple[str, bytes] | None:
        sent = self.cleaned_data.get("file")
        if sent is None:
            return None
        if sent.size > LARGEST:
            raise forms.ValidationError(
                _("'%(name)s' has %(size)s bytes; %(most)s are allowed.")
                % {"name": sent.name, "size": sent.size, "most": LARGEST}
            )
        return sent.name, sent.read()


class WhyForm(ReportForm):
    why = forms.CharField(label=gettext_lazy("Why"), max_length=500, widget=forms.Textarea(attrs={"rows": 3}))


class DueForm(ReportForm):
    due_on = day_field(gettext_lazy("Due on"))
    why = forms.CharField(label=gettext_lazy("Why"), max_length=300)

    def __init__(self, *args: Any, report: Report, **kwargs: Any) -> None:
        super().__init__(*args, report=report, **kwargs)
        self.fields["due_on"].initial = report.due_on


FORMS: dict[str, type[ReportForm]] = {
    "hand_in": HandInForm,
    "accept": ReportForm,
    "send_back": WhyForm,
    "dispute": WhyForm,
    "move_due": DueForm,
}


def _told(rows: list[Report], today: Any) -> list[dict[str, Any]]:
    return [
        {"row": row, "late": reports.is_late(row.state, row.due_on, today), "reminder": reports.reminder(row, today)}
        for row in rows
    ]


def owed() -> QuerySet[Report]:
    return Report.objects.filter(state__in=sorted(reports.OWED)).select_related("tenant", "participation")


@allow(roles.READ)
@require_safe
def all_reports(request: HttpRequest) -> HttpResponse:
    """What is owed, the latest first; then what waits for an answer; then what is done."""
    today = programme_today()
    chosen = request.GET.get("state", "")
    if chosen == "done":
        page = pages.newest_first(
            Report.objects.filter(state="accepted").select_related("tenant", "participation"),
            request,
            at="created_at",
        )
        rows, older = page.rows, page.next
    elif chosen == "answer":
        waiting = Report.objects.filter(state__in=("submitted", "disputed")).select_related("tenant", "participation")
        rows, older = list(waiting.order_by("due_on", "tenant__name", "id")[:MOST_OWED]), None
    else:
        chosen = ""
        rows, older = list(owed().order_by("due_on", "tenant__name", "id")[:MOST_OWED]), None
    told = _told(rows, today)
    context = {
        "rows": told,
        "older": older,
        "chosen": chosen,
        "late": sum(one["late"] for one in told),
        "today": today,
        "several": request.internal or request.role == roles.AUTOMATION,
        "office": Tenant.objects.get(is_office=True) if request.role in roles.REVIEW else None,
    }
    return render(request, "program/reports.html", context)


@allow(roles.REVIEW)
@require_http_methods(["GET", "POST"])
def ask(request: HttpRequest) -> HttpResponse:
    """Ask every participation of a cycle for a report."""
    if not request.tenant.is_office:
        raise Http404
    cycles = list(Cycle.objects.exclude(state="closed").select_related("programme").order_by("-starts_on"))
    form = AskForm(request.POST if request.method == "POST" else None, cycles=cycles)
    refused, status = None, 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            count, refused = attempt(reports.ask_for_reports, by=request.actor, **form.cleaned_data)
            if refused is None:
                messages.success(
                    request,
                    ngettext("%(n)s participant owes it now.", "%(n)s participants owe it now.", count) % {"n": count},
                )
                return see_other(reverse("reports"))
            status = refused.status
    context = {"form": form, "refused": refused, "title": _("Ask for a report"), "back": reverse("reports")}
    return render(request, "program/write_down.html", context, status=status)


def _found(pk: UUID) -> Report:
    found = Report.objects.select_related("tenant", "participation__cycle").filter(pk=pk).first()
    if found is None:
        raise Http404
    return found


@allow(roles.READ, write=roles.HAND_IN | roles.ANSWER_REPORTS, upload=True)
@require_http_methods(["GET", "POST"])
def report(request: HttpRequest, pk: UUID) -> HttpResponse:
    """One report: hand it in, accept it, send it back, dispute it."""
    row = _found(pk)
    if request.method != "POST":
        return _shown(request, row)
    doing = request.POST.get("do", "")
    if doing not in FORMS:
        return _shown(request, row, refused=Refused("unknown_do", _("Choose what to do with it."), status=422))
    _nothing, refused = attempt(reports.refuse_unless_may, verb=doing, kind=row.kind, role=request.role)
    if refused is not None:
        return _shown(request, row, refused=refused)
    form = FORMS[doing](request.POST, request.FILES, report=row, prefix=doing)
    if not form.is_valid():
        return _shown(request, row, doing, form)
    act, done = reports.VERBS[doing]
    _result, refused = attempt(act, report=row, by=request.actor, **form.cleaned_data)
    if refused is None:
        messages.success(request, str(done))
        return see_other(reverse("report", args=[request.tenant.slug, pk]))
    if isinstance(refused, Stale):
        form.data = form.data.copy()
        form.data[form.add_prefix("version")] = str(refused.facts["version"])
    return _shown(request, _found(pk), doing, form, refused)


WORDS: dict[str, tuple[Any, Any, str]] = {
    "hand_in": (gettext_lazy("Hand it in"), gettext_lazy("Hand it in"), "primary"),
    "accept": (gettext_lazy("Accept it"), gettext_lazy("Accept it"), "primary"),
    "send_back": (gettext_lazy("Send it back"), gettext_lazy("Send it back"), ""),
    "dispute": (gettext_lazy("Dispute it"), gettext_lazy("Dispute it"), ""),
    "move_due": (gettext_lazy("Another day"), gettext_lazy("Move the day"), ""),
}


def _shown(
    request: HttpRequest, row: Report, doing: str = "", form: Any = None, refused: Refused | None = None
) -> HttpResponse:
    status = 200 if request.method != "POST" else refused.status if refused else 422
    today = programme_today()
    entries = list(history(subject=(Report.SUBJECT, row.pk)).order_by("-occurred_at", "-id")[:100])
    names = actor_names({name for name in (row.handed_in_by, row.answered_by) if name})
    context = {
        "row": row,
        "files": reports.files_of(row),
        "late": reports.is_late(row.state, row.due_on, today),
        "reminder": reports.reminder(row, today),
        "handed_in_by": names.get(row.handed_in_by, ""),
        "answered_by": names.get(row.answered_by, ""),
        "offered": [
            {
                "name": verb,
                "title": WORDS[verb][0],
                "submit": WORDS[verb][1],
                "tone": WORDS[verb][2],
                "form": form if verb == doing and form is not None else FORMS[verb](report=row, prefix=verb),
            }
            for verb in reports.offered(row.state)
            if reports.may(verb, row.kind, request.role)
        ],
        "entries": lines(entries),
        "gate_at": life.gate_address(row.participation, request.role) if row.kind == Report.Kind.STAGE_GATE else "",
        "refused": refused,
        "family": FAMILIES[row.state][0],
    }
    return render(request, "program/report.html", context, status=status)
