"""Pages of sessions: what is coming and what was, one of them with who comes, and what staff do with it."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from program import queries, session_forms, sessions
from program.invitations import calendar
from program.models import Attendance, Registration, Session
from tenants.models import Cycle, Membership, Person, holding
from tenants.queries import history, lines
from tenants.wall import roles
from tenants.wall.access import allow, at_the_office
from tenants.wall.acting import acting_for, reading_everyone
from tenants.web import pages
from tenants.web.attempt import attempt, see_other
from tenants.web.problems import Refused, Stale

MOST_AHEAD = 100


@allow(roles.EVERYONE)
@require_safe
def all_sessions(request: HttpRequest) -> HttpResponse:
    """Sessions that are coming, and those that were."""
    coming = list(queries.sessions_ahead()[:MOST_AHEAD])
    page = pages.newest_first(Session.objects.exclude(pk__in=[one.pk for one in coming]), request, at="starts_at")
    mine = set(
        Registration.objects.filter(
            session__in=[one.pk for one in coming], person=request.person, cancelled_at=None
        ).values_list("session_id", flat=True)
    )
    context = {
        "coming": [{"row": one, "mine": one.pk in mine} for one in coming],
        "past": page.rows,
        "older": page.next,
        "office": sessions.office() if request.role in roles.TEACH else None,
    }
    return render(request, "program/sessions.html", context)


@allow(roles.EVERYONE)
@require_safe
def calendar_file(request: HttpRequest) -> HttpResponse:
    """Everything that is coming, for a person's own calendar."""
    return _file(list(queries.sessions_ahead()[:MOST_AHEAD]), "sessions.ics")


@allow(roles.EVERYONE)
@require_safe
def invitation(request: HttpRequest, pk: UUID) -> HttpResponse:
    """One session, for a person's own calendar."""
    row = _found(pk)
    return _file([row], f"{row.code}.ics")


def _file(rows: list[Session], name: str) -> HttpResponse:
    body = calendar(rows, now=timezone.now(), site=settings.SITE_URL)
    response = HttpResponse(body, content_type="text/calendar; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def _found(pk: UUID) -> Session:
    found = Session.objects.select_related("cycle", "tenant").filter(pk=pk).first()
    if found is None:
        raise Http404
    return found


@allow(roles.EVERYONE)
@require_safe
def session(request: HttpRequest, pk: UUID) -> HttpResponse:
    """One session: what it is about, who speaks, who of one's own comes; for staff everybody."""
    return _shown(request, _found(pk))


def _shown(
    request: HttpRequest, row: Session, refused: Refused | None = None, status: int = 200, **bound: forms.Form
) -> HttpResponse:
    now = timezone.now()
    # The registrations of the scope: everybody's for staff, a customer's own.
    registered = list(
        Registration.objects.filter(session=row, cancelled_at=None)
        .select_related("person", "tenant")
        .order_by("tenant__name", "person__name", "person__email")
    )
    # Who speaks is the office's row and no secret: whoever may see the session may see it.
    with acting_for(row.tenant_id, staff=True):
        speakers = list(
            Attendance.objects.filter(session=row, part=Attendance.Part.SPEAKER)
            .select_related("person")
            .order_by("person__name")
        )
    teaches = request.role in roles.TEACH
    begun = row.starts_at <= now
    entries = (
        list(history(subject=(Session.SUBJECT, row.pk)).order_by("-occurred_at", "-id")[:50])
        if request.internal
        else []
    )
    context = {
        "row": row,
        "begun": begun,
        "ends_at": row.starts_at + timedelta(minutes=row.minutes),
        "registered": registered,
        "left": None if row.seats is None else max(0, row.seats - row.registered),
        "speakers": [each.person for each in speakers],
        "materials": [(line, line.startswith(("https://", "http://"))) for line in row.materials],
        "mine": any(each.person_id == request.person.pk for each in registered),
        "enrol_at": _where_to_enrol(request, row, begun),
        "teaches": teaches,
        "entries": lines(entries),
        "refused": refused,
    }
    if teaches:
        context |= {
            "why": bound.get("why") or session_forms.WhyForm(prefix="why"),
            "attendance": bound.get("attendance")
            or session_forms.AttendanceForm(session=row, registered=registered, prefix="attendance"),
            "survey": bound.get("survey") or session_forms.SurveyForm(session=row, prefix="survey"),
        }
    return render(request, "program/session.html", context, status=status)


def _where_to_enrol(request: HttpRequest, row: Session, begun: bool) -> str:
    """A person takes a seat as a member of one organisation; with several, as of the first."""
    if begun or row.cancelled_at or not row.announced_at or request.role not in roles.ENROL:
        return ""
    member = (
        Membership.objects.filter(
            holding(), person=request.person, tenant__is_office=False, role__in=sorted(roles.ENROL)
        )
        .order_by("pk")
        .values_list("tenant__slug", flat=True)
        .first()
    )
    return reverse("enrolment", args=[member, row.pk]) if member else ""


@allow(roles.ENROL)
@require_POST
def enrolment(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Take a seat for oneself, or give it back."""
    row = _found(pk)
    leaves = request.POST.get("do") == "leave"
    act = sessions.unregister if leaves else sessions.register
    _row, refused = attempt(act, session=row, tenant=request.tenant, person=request.person, by=request.actor)
    if refused is not None:
        return _shown(request, _found(pk), refused=refused, status=refused.status)
    messages.success(request, _("Your seat is free again.") if leaves else _("You have a seat."))
    return see_other(reverse("session", args=[row.pk]))


def _choices() -> dict[str, Any]:
    staff = Membership.objects.filter(holding(), tenant__is_office=True, person__is_active=True)
    staff = staff.exclude(role__in=(roles.AUTOMATION, roles.AUDITOR)).values("person")
    return {
        "cycles": sorted(
            Cycle.objects.exclude(state="closed").select_related("programme").order_by("-starts_on"),
            key=lambda cycle: cycle.state != "running",  # what is planned is mostly for the one that runs
        ),
        "staff": list(Person.objects.filter(pk__in=staff).order_by("name", "email")),
    }


@allow(roles.TEACH)
@require_http_methods(["GET", "POST"])
def plan(request: HttpRequest) -> HttpResponse:
    """Plan a session."""
    at_the_office(request)
    form = session_forms.SessionForm(request.POST if request.method == "POST" else None, **_choices())
    return _written(request, form, sessions.plan_session, None)


@allow(roles.TEACH)
@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Change what is planned."""
    at_the_office(request)
    row = _found(pk)
    initial = {name: getattr(row, name) for name in sessions.EDITABLE} | {"cycle": row.cycle_id, "version": row.version}
    choices = _choices()
    if choices["cycles"]:
        initial["starts_at"] = row.starts_at.astimezone(
            session_forms.zone_of(choices["cycles"][0].programme.timezone)
        ).replace(tzinfo=None)
    speaking = Attendance.objects.filter(session=row, part=Attendance.Part.SPEAKER)
    initial["speakers"] = [str(pk) for pk in speaking.values_list("person_id", flat=True)]
    form = session_forms.SessionForm(request.POST if request.method == "POST" else None, initial=initial, **choices)
    return _written(request, form, sessions.edit_session, row)


def _written(request: HttpRequest, form: forms.Form, act: Callable[..., Session], row: Session | None) -> HttpResponse:
    refused, status = None, 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            told = dict(form.cleaned_data)
            version = told.pop("version")
            named = {"session": row, "version": version} if row else {}
            made, refused = attempt(act, by=request.actor, **named, **told)
            if refused is None:
                messages.success(request, _("%(title)s is saved.") % {"title": made.title})
                return see_other(reverse("session", args=[made.pk]))
            status = refused.status
            if isinstance(refused, Stale):
                form.data = form.data.copy()
                form.data["version"] = str(refused.facts["version"])
            elif refused.facts.get("field") in form.fields:
                form.add_error(refused.facts["field"], refused.sentence)
                refused = None
    context = {"form": form, "row": row, "refused": refused}
    return render(request, "program/session_edit.html", context, status=status)


@allow(roles.TEACH)
@require_POST
def announce(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Show it to every participant."""
    at_the_office(request)
    return _after(request, pk, sessions.announce_session, _("Participants see it and may register."))


def _after(request: HttpRequest, pk: UUID, act: Callable[..., Any], done: str, **values: Any) -> HttpResponse:
    row = _found(pk)
    _result, refused = attempt(act, session=row, by=request.actor, **values)
    if refused is not None:
        with reading_everyone():
            return _shown(request, _found(pk), refused=refused, status=refused.status)
    messages.success(request, done)
    return see_other(reverse("session", args=[pk]))


def _step(name: str, act: Callable[..., Any], done: Any) -> Callable[..., HttpResponse]:
    """A form on the session's own page, and what it does."""

    def view(request: HttpRequest, pk: UUID) -> HttpResponse:
        at_the_office(request)
        row = _found(pk)
        form: Any = {
            "why": lambda: session_forms.WhyForm(request.POST, prefix=name),
            "survey": lambda: session_forms.SurveyForm(request.POST, session=row, prefix=name),
            "attendance": lambda: session_forms.AttendanceForm(
                request.POST, session=row, registered=sessions.registrations(row), prefix=name
            ),
        }[name]()
        if not form.is_valid():
            with reading_everyone():
                return _shown(request, row, status=422, **{name: form})
        told = form.asked() if hasattr(form, "asked") else form.cleaned_data
        return _after(request, pk, act, str(done), **told)

    view.__name__ = name
    view.__doc__ = act.__doc__
    return allow(roles.TEACH)(require_POST(view))


call_off = _step("why", sessions.call_off_session, gettext_lazy("It is called off."))
attendance = _step("attendance", sessions.mark_attendance, gettext_lazy("Who came is saved."))
survey = _step("survey", sessions.enter_survey, gettext_lazy("The survey is saved."))
