"""Pages of calls: the list and one call, an application with its answers, scores and decision, and the public door."""

import re
from collections.abc import Callable
from functools import wraps
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from program.calls import applying, calling, demand, editions, need, queries, selecting
from program.calls import forms as asking
from program.models import Application, ApplicationScore, Call, Onboarding
from program.session_forms import zone_of
from tenants.mail import address
from tenants.models import Cycle, Membership, Participation, Tenant, holding
from tenants.programme_settings import programme
from tenants.queries import actor_names
from tenants.wall import roles
from tenants.wall.access import allow, at_the_office
from tenants.wall.acting import acting_for, reading_everyone
from tenants.web.attempt import attempt, posted, see_other, theirs_and_yours
from tenants.web.problems import Refused
from tenants.web.throttles import refuse_a_flood

BEGUN_FROM_ONE_PLACE, SENT_FROM_ONE_PLACE = "30/hour", "600/hour"
SPAN = re.compile(r"need\[(\d+)\]\.(\w+)")
DONE = {
    "save": gettext_lazy("Your answers are saved. They are not handed in yet."),
    "hand_in": gettext_lazy("It is handed in."),
    "withdraw": gettext_lazy("It is withdrawn."),
}


def _call(pk: UUID) -> Call:
    found = queries.calls().filter(pk=pk).first()
    if found is None:
        raise Http404
    return found


@allow(roles.READ)
@require_safe
def all_calls(request: HttpRequest) -> HttpResponse:
    """Calls, the newest first, and one's own applications."""
    now = timezone.now()
    rows = list(queries.calls()[:100])
    mine = (
        [] if request.internal else list(Application.objects.select_related("call", "tenant").order_by("-created_at"))
    )
    counts: dict[Any, int] = {}
    if request.internal:
        sent = Application.objects.filter(call__in=[row.pk for row in rows]).exclude(state__in=("draft", "withdrawn"))
        counts = dict(sent.order_by().values_list("call").annotate(Count("pk")))
    context = {
        "rows": [
            {"row": row, "ahead": row.state == "open" and now < row.opens_at, "handed_in": counts.get(row.pk, 0)}
            for row in rows
        ],
        "mine": mine,
        "office": Tenant.objects.get(is_office=True) if request.role in roles.REVIEW else None,
    }
    return render(request, "program/calls.html", context)


@allow(roles.READ)
@require_safe
def call(request: HttpRequest, pk: UUID) -> HttpResponse:
    """One call; for staff with what was handed in and how that lies to what is reserved."""
    return _shown(request, _call(pk))


def _shown(request: HttpRequest, row: Call, refused: Refused | None = None) -> HttpResponse:
    now = timezone.now()
    context: dict[str, Any] = {
        "row": row,
        "takes": calling.takes(row, now),
        "ahead": row.state == "open" and now < row.opens_at,
        "apply_at": _where_to_apply(request, row, now),
        "public_at": address("apply_begin", row.pk) if request.internal and row.state != "closed" else "",
        "refused": refused,
        "office": Tenant.objects.get(is_office=True) if request.role in roles.REVIEW else None,
        "closing": "closing" in request.GET and row.state == "open" and request.role in roles.REVIEW,
    }
    if request.internal:
        context |= _for_staff(request, row)
    return render(request, "program/call.html", context, status=refused.status if refused else 200)


def _for_staff(request: HttpRequest, row: Call) -> dict[str, Any]:
    # What can be decided is compared: the best come first.
    usual = "number" if calling.takes(row, timezone.now()) else "points"
    chosen, sort = request.GET.get("state", ""), request.GET.get("sort", usual)
    sort = sort if sort in queries.SORTS else usual
    every = queries.lines(queries.handed_in(row), row)
    found = sorted((line for line in every if chosen in ("", line.row.state)), key=lambda line: line.value(sort))
    sums = {
        name: {
            "count": len(group),
            "instances": sum(line.total.instances for line in group),
            "hours": sum(line.total.hours for line in group),
        }
        for name, group in {
            "handed_in": [line for line in every if line.row.state != "withdrawn"],
            "selected": [line for line in every if line.row.state == "selected"],
        }.items()
    }
    states = sorted({line.row.state for line in every})
    drafts = Application.objects.filter(call=row, state="draft").count()
    supply_hours = demand.reserved_hours(row.cycle)
    return {
        "supply_hours": supply_hours,
        "lines": found,
        "sums": sums,
        "states": states,
        "chosen": chosen,
        "sort": sort,
        "drafts": drafts,
        "untold": [
            str(Call._meta.get_field(name).verbose_name)
            for name in calling.SAYS
            if row.state != "closed" and not getattr(row, name)
        ],
        "unscored": sum(not line.reviewers for line in every if line.row.state in demand.UNDECIDED),
    }


def _where_to_apply(request: HttpRequest, row: Call, now: Any) -> str:
    """A lead applies for the organisation; with several, for the first."""
    if request.role not in roles.LEADS or not calling.takes(row, now):
        return ""
    slug = (
        Membership.objects.filter(
            holding(), person=request.person, tenant__is_office=False, role__in=sorted(roles.LEADS)
        )
        .order_by("pk")
        .values_list("tenant__slug", flat=True)
        .first()
    )
    return reverse("apply_again", args=[slug, row.pk]) if slug else ""


def _cycles() -> list[Cycle]:
    return list(Cycle.objects.exclude(state="closed").select_related("programme").order_by("-starts_on"))


@allow(roles.REVIEW)
@require_http_methods(["GET", "POST"])
def draft(request: HttpRequest) -> HttpResponse:
    """Write a call down."""
    at_the_office(request)
    return _written(request, asking.CallForm(posted(request), cycles=_cycles()), None)


@allow(roles.REVIEW)
@require_http_methods(["GET", "POST"])
def edit(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Change a call."""
    at_the_office(request)
    row = _call(pk)
    cycles = _cycles()
    if row.cycle not in cycles:
        cycles.append(row.cycle)
    zone = cycles[0].programme.timezone
    initial = {name: getattr(row, name) for name in calling.EDITABLE}
    initial |= {"cycle": row.cycle_id, "version": row.version}
    for name in ("opens_at", "closes_at"):
        initial[name] = timezone.localtime(initial[name], zone_of(zone)).replace(tzinfo=None)
    return _written(request, asking.CallForm(posted(request), cycles=cycles, initial=initial), row)


def _written(request: HttpRequest, form: forms.Form, row: Call | None) -> HttpResponse:
    refused, status = None, 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            told = dict(form.cleaned_data)
            version = told.pop("version")
            named = {"call": row, "version": version} if row else {}
            made, refused = attempt(calling.change if row else calling.draft, by=request.actor, **named, **told)
            if refused is None:
                messages.success(request, _("%(title)s is saved.") % {"title": made.title})
                return see_other(reverse("call", args=[made.pk]))
            status = refused.status
            refused = _into(form, refused)
    title = _("Edit the call") if row else _("Draft a call")
    back = reverse("call", args=[row.pk]) if row else reverse("calls")
    diff = theirs_and_yours(form, refused)
    context = {"form": form, "refused": refused, "diff": diff, "title": title, "back": back}
    return render(request, "program/write_down.html", context, status=status)


def _into(form: forms.Form, refused: Refused) -> Refused | None:
    """The refusal at its field where the form has one."""
    if refused.facts.get("field") in form.fields:
        form.add_error(refused.facts["field"], refused.sentence)
        return None
    return refused


@allow(roles.REVIEW)
@require_POST
def step(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Open a call, or close it."""
    at_the_office(request)
    row, doing = _call(pk), request.POST.get("do", "")
    refused: Refused | None = Refused("unknown_do", _("Choose what to do with it."), status=422)
    if doing in calling.VERBS:
        _row, refused = attempt(calling.VERBS[doing], call=row, by=request.actor)
    if refused is not None:
        with reading_everyone():
            return _shown(request, _call(pk), refused)
    messages.success(request, _("The call is open.") if doing == "open" else _("The call is closed."))
    return see_other(reverse("call", args=[pk]))


@allow(roles.LEADS)
@require_http_methods(["GET", "POST"])
def apply_again(request: HttpRequest, pk: UUID) -> HttpResponse:
    """A participant, or a former one, begins its application: what it did before is shown."""
    row = _call(pk)
    told = {"row": row, "takes": calling.takes(row, timezone.now())}
    if request.method == "POST":
        made, refused = attempt(
            applying.begin, call=row, tenant=request.tenant, person=request.person, by=request.actor
        )
        if refused is None:
            return see_other(reverse("application", args=[request.tenant.slug, made.pk]))
        return render(request, "program/apply_again.html", told | {"refused": refused}, status=refused.status)
    mine = Application(tenant=request.tenant, call=row)
    return render(request, "program/apply_again.html", told | {"earlier": queries.earlier(mine)})


def _application(pk: UUID, *, drafts: bool = True) -> Application:
    """Drafts are their writers' own."""
    found = Application.objects.select_related("tenant").filter(pk=pk).first()
    if found is None or (found.state == "draft" and not drafts):
        raise Http404
    with reading_everyone():
        found.call = Call.objects.select_related("cycle__programme").get(pk=found.call_id)
    return found


@allow(roles.READ, write=roles.LEADS)
@require_http_methods(["GET", "POST"])
def application(request: HttpRequest, pk: UUID) -> HttpResponse:
    """One application: its own organisation writes it, staff reads it, scores it and decides."""
    row = _application(pk, drafts=not request.internal)
    return _answered(request, row, reverse("application", args=[request.tenant.slug, pk]), request.actor)


def in_the_programmes_time(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Tell a stranger, whose zone nobody knows, the times of the programme: those that its office and its mails tell."""

    @wraps(view)
    def told(*args: Any, **kwargs: Any) -> HttpResponse:
        with timezone.override(programme().timezone):
            return view(*args, **kwargs)

    return told


@never_cache
@require_http_methods(["GET", "POST"])
@in_the_programmes_time
def application_link(request: HttpRequest, token: str) -> HttpResponse:
    """The same for whoever has the link of the mail, without an account."""
    found = applying.by_link(token)
    if found is None:
        return render(request, "program/apply_over.html", status=404)
    if request.method == "POST":
        refuse_a_flood(request, "application", SENT_FROM_ONE_PLACE)
    applying.confirm(found)
    with acting_for(found.tenant_id):
        return _answered(request, _application(found.pk), reverse("application_link", args=[token]), "engine", token)


def _answered(request: HttpRequest, row: Application, here: str, actor: str, token: str = "") -> HttpResponse:
    writes = bool(token) or request.role in roles.LEADS
    if request.method != "POST":
        return _page(request, row, here, writes=writes, token=token)
    doing = request.POST.get("do", "")
    if doing == "withdraw":
        why = asking.WhyForm(request.POST, prefix="why")
        if why.is_valid():
            _row, refused = attempt(
                applying.withdraw, application=row, by=actor, why=why.cleaned_data["why"], version=None
            )
            return _after(request, row, here, doing, refused, token)
        return _page(request, row, here, writes=writes, token=token, status=422)
    form, spans = _forms(row, request.POST)
    if doing not in ("save", "hand_in"):
        refused = Refused("unknown_do", _("Choose what to do with it."), status=422)
        return _page(request, row, here, form, spans, refused, writes=writes, token=token)
    if not (form.is_valid() and spans.is_valid()):
        for one in spans.forms:
            form.elsewhere += [
                (one[name].id_for_label, f"{one[name].label}: {sentence}")
                for name, sentences in one.errors.items()
                if name in one.fields
                for sentence in sentences
            ]
        return _page(request, row, here, form, spans, writes=writes, token=token, status=422)
    told = dict(form.cleaned_data)
    version = told.pop("version")
    if form.fields["organisation"].disabled:
        told["organisation"] = row.organisation
    _row, refused = attempt(
        applying.save,
        application=row,
        by=actor,
        version=version,
        hands_in=doing == "hand_in",
        **told,
        need=spans.told(),
    )
    if refused is not None:
        told_there = _placed(form, spans, refused)
        return _page(request, row, here, form, spans, told_there, writes=writes, token=token, status=refused.status)
    return _after(request, row, here, "hand_in" if row.state == "submitted" else doing, None, token)


def _placed(form: forms.Form, spans: Any, refused: Refused) -> Refused | None:
    """The sentences at the fields that they are about; what has no field is told above the form."""
    if not refused.facts.get("fields"):
        return refused
    filled = [one for one in spans.forms if one.cleaned_data and not one.cleaned_data.get("DELETE")]
    for name, sentences in refused.facts.get("fields", {}).items():
        at = SPAN.fullmatch(name)
        for sentence in sentences:
            if name in form.fields and name in applying.NEEDED and not form.cleaned_data.get(name):
                form.add_error(name, _("It is needed to hand the application in."))  # the label stands beside it
            elif name in form.fields:
                form.add_error(name, sentence)
            elif at:
                one = filled[int(at[1])]
                one.add_error(at[2], sentence)
                form.elsewhere.append((one[at[2]].id_for_label, sentence))
            else:
                form.elsewhere.append(("profile", sentence))
    return None


def _after(
    request: HttpRequest, row: Application, here: str, doing: str, refused: Refused | None, token: str
) -> HttpResponse:
    if refused is not None:
        return _page(request, row, here, refused=refused, writes=True, token=token)
    messages.success(request, str(DONE[doing]))
    return see_other(here)


def _forms(row: Application, data: Any = None) -> tuple[asking.ApplicationForm, Any]:
    newcomer = row.tenant.is_office
    form = asking.ApplicationForm(data, instance=row, initial={"version": row.version}, fixed_name=not newcomer)
    initial = [asking.span_initial(one) for one in row.need]
    spans = asking.SpanSet(data, initial=initial, prefix="need")
    if initial:
        spans.extra = 1  # one more to write into; saving gives the next
    return form, spans


def _page(
    request: HttpRequest,
    row: Application,
    here: str,
    form: Any = None,
    spans: Any = None,
    refused: Refused | None = None,
    *,
    writes: bool,
    token: str = "",
    status: int = 200,
    question: str = "",
    **bound: forms.Form,
) -> HttpResponse:
    now = timezone.now()
    # A form that was refused may have moved answers of the row that it is bound to; what is shown is what is kept.
    kept = Application.objects.select_related("tenant").get(pk=row.pk)
    kept.call = row.call
    changeable = writes and kept.state in ("draft", "submitted") and calling.takes(row.call, now)
    # What is handed in is read; it is changed apart from that.
    edits = changeable and (form is not None or kept.state == "draft" or "edit" in request.GET)
    if form is None and edits:
        form, spans = _forms(kept)
    with acting_for(row.call.tenant_id, staff=True):
        handed_in = editions.of(kept) if kept.edition else []
    each = [
        {
            "span": span,
            "hours": span.hours(calling.each),
            "others": (", ".join(span.types[1:]), ", ".join(span.regions[1:])),
        }
        for span in need.read(kept.need)
    ]
    staff = not token and request.internal
    context: dict[str, Any] = {
        "row": kept,
        "call": row.call,
        "here": here,
        "token": token,
        "form": form if edits else None,
        "spans": spans if edits else None,
        "changeable": changeable,
        "writes": writes,
        "editions": handed_in,
        "each": each,
        "total": need.total([one["span"] for one in each], calling.each),
        "withdrawable": writes and kept.state in applying.LIVING,
        "why": asking.WhyForm(prefix="why"),
        "refused": refused,
        "diff": theirs_and_yours(form, refused, need=_("Time profile")) if form is not None and form.is_bound else [],
        "sure_of": question,
        "sure_final": question and bound["decide"].cleaned_data["outcome"] != "waitlisted",
        "answers": _in_words(kept),
        "earlier": queries.earlier(kept) if not token else [],
    }
    if staff:
        context |= _for_reviewers(request, kept, row.call, bound, handed_in)
    elif not token:
        names = actor_names({one["by"] for one in handed_in})
        for one in handed_in:
            one["by"] = names.get(one["by"], _("the applicant"))
    template = "program/application_public.html" if token else "program/application.html"
    return render(request, template, context, status=refused.status if refused else status)


def _in_words(row: Application) -> list[tuple[str, Any]]:
    shown = [name for name in applying.ANSWERS if name != "need"]
    values = {name: getattr(row, name) for name in shown} | {"procure": row.get_procure_display()}
    return [(str(Application._meta.get_field(name).verbose_name), values[name]) for name in shown]


def _for_reviewers(
    request: HttpRequest, row: Application, call: Call, bound: dict[str, Any], handed_in: list[dict[str, Any]]
) -> dict[str, Any]:
    own = selecting.belongs(request.person, row)
    with acting_for(call.tenant_id, staff=True):
        scores = list(
            ApplicationScore.objects.filter(application=row.pk).select_related("reviewer").order_by("created_at", "id")
        )
    names = actor_names({one["by"] for one in handed_in} | {row.decided_by} - {""})
    for one in handed_in:
        # Without an account the link of the mail is who wrote it.
        one["by"] = _("the applicant") if one["by"] == "engine" else names.get(one["by"], one["by"])
    mine = next((one for one in scores if one.reviewer_id == request.person.pk), None)
    waits = row.state in ("submitted", "waitlisted")
    initial = {name: getattr(mine, name) for name in (*selecting.CRITERIA, "reason")} if mine else {}
    newcomer = row.tenant.is_office
    known = list(Tenant.objects.filter(is_office=False).order_by("name")) if newcomer else []
    begun = {"version": row.version, "slug": selecting.short_name(row.organisation, {one.slug for one in known})}
    decide_form = bound.get("decide") or asking.DecideForm(
        newcomer=newcomer, known=known, initial=begun, prefix="decide"
    )
    decides = waits and not own and request.role in roles.PUBLISH
    now = timezone.now()
    cannot = selecting.undecidable(row, call, scored=bool(scores), now=now) if decides else None
    return {
        "undecidable": cannot.sentence if cannot else "",
        "still_open": cannot is not None and cannot.code == "call_open",
        "alike": selecting.alike(row),
        "next": _what_comes_next(request, row),
        "own": own,
        "scored_by_me": mine is not None,
        "scores": [{"row": one, "points": one.performance + one.openness + one.feasibility} for one in scores],
        "decided_by": names.get(row.decided_by, ""),
        "small": selecting.is_small(row, call),
        "score_form": (bound.get("score") or asking.ScoreForm(initial=initial, prefix="score"))
        if waits and not own and request.role in roles.SCORE
        else None,
        "decide_form": decide_form if decides and cannot is None else None,
    }


def _what_comes_next(request: HttpRequest, row: Application) -> dict[str, Any] | None:
    """Of what was selected: its participation, its onboarding, and whether the reader plans one."""
    made = Participation.objects.filter(pk=row.became).first() if row.became else None
    if made is None:
        return None
    there = Onboarding.objects.filter(participation=made).values_list("pk", flat=True).first()
    return {"participation": made, "onboarding": there, "may_plan": request.role in roles.ONBOARD}


@allow(roles.SCORE)
@require_POST
def score(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Give it points."""
    row = _application(pk, drafts=False)
    form = asking.ScoreForm(request.POST, prefix="score")
    refused = None
    if form.is_valid():
        _score, refused = attempt(
            selecting.score, application=row, person=request.person, by=request.actor, **form.cleaned_data
        )
        if refused is None:
            messages.success(request, _("Your score is saved."))
            return see_other(reverse("application", args=[request.tenant.slug, pk]))
    here = reverse("application", args=[request.tenant.slug, pk])
    return _page(request, row, here, refused=refused, writes=False, status=422, score=form)


def _asked_before(row: Application, told: dict[str, Any]) -> str | None:
    """The question before a decision, which goes out by mail; None where it will be refused anyhow."""
    if row.state not in ("submitted", "waitlisted"):
        return None
    with reading_everyone():
        scored = ApplicationScore.objects.filter(application=row.pk).exists()
    if selecting.undecidable(row, row.call, scored=scored, now=timezone.now()) is not None:
        return None
    name = told["organisation"].name if told.get("organisation") else row.organisation
    return {
        "selected": _("Select %(name)s?"),
        "waitlisted": _("Put %(name)s on the waiting list?"),
        "declined": _("Decline %(name)s?"),
    }[told["outcome"]] % {"name": name}


@allow(roles.PUBLISH)
@require_POST
def decide(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Select it, put it on the waiting list, or decline it."""
    row = _application(pk, drafts=False)
    newcomer = row.tenant.is_office
    known = list(Tenant.objects.filter(is_office=False).order_by("name")) if newcomer else []
    form = asking.DecideForm(request.POST, newcomer=newcomer, known=known, prefix="decide")
    refused = None
    here = reverse("application", args=[request.tenant.slug, pk])
    if form.is_valid():
        told = dict(form.cleaned_data)
        if told.pop("sure") != told["outcome"] and (question := _asked_before(row, told)) is not None:
            form.data = form.data.copy()
            form.data[form.add_prefix("sure")] = told["outcome"]
            return _page(request, row, here, writes=False, decide=form, question=question)
        made, refused = attempt(selecting.decide, application=row, person=request.person, by=request.actor, **told)
        if refused is None:
            messages.success(request, _("It is decided, and the applicant is told."))
            return see_other(reverse("application", args=[made.tenant.slug, pk]))
        refused = _into(form, refused)
        theirs_and_yours(form, refused)
    return _page(request, _application(pk), here, refused=refused, writes=False, status=422, decide=form)


@require_safe
@in_the_programmes_time
def open_calls(request: HttpRequest) -> HttpResponse:
    """What anybody may apply to now. No account is needed."""
    return render(request, "program/apply.html", {"rows": applying.open_calls()})


@require_http_methods(["GET", "POST"])
@in_the_programmes_time
def begin(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Begin an application: its link is sent by mail. The answer is the same whether one was begun before or not."""
    row = next((one for one in applying.open_calls() if one.pk == pk), None)
    if row is None:
        return render(request, "program/apply_over.html", {"call_over": True}, status=404)
    form = asking.BeginForm(posted(request))
    refused, status = None, 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            refuse_a_flood(request, "apply", BEGUN_FROM_ONE_PLACE)
            _nothing, refused = attempt(applying.begin_by_mail, call=row, **form.cleaned_data)
            if refused is None:
                return render(
                    request, "program/apply_begin.html", {"row": row, "sent": True, "email": form.cleaned_data["email"]}
                )
            status = refused.status
    return render(request, "program/apply_begin.html", {"row": row, "form": form, "refused": refused}, status=status)
