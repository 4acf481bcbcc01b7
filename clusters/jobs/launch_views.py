"""Pages of a launch: choose a template or bring a script, see what it becomes and what is wrong with it, launch it."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from clusters import actions, queries
from clusters.configuring import side_by_side
from clusters.engine.job_specs import starting_manifest
from clusters.jobs import launching
from clusters.jobs import lint as job_lint
from clusters.jobs import scripts as job_scripts
from clusters.jobs import templates as job_templates
from clusters.jobs.launch_forms import PREFIX, STARTING_SCRIPT, WHEN, LaunchForm, TemplateForm
from clusters.jobs.templates import checks
from clusters.models import Cluster, Job, JobScriptVersion
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web.attempt import attempt, posted, see_other
from tenants.web.problems import Refused

SHOWN_SCRIPTS = 30
DAY = 24 * 60
KUBERNETES = "hyperpod-eks"
LONGEST_DIFF = 3000


@allow(roles.LAUNCH, upload=True)
@require_http_methods(["GET", "POST"])
def launch(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Launch a job on a cluster: a template, or a script of one's own. `do`: look while it is typed, keep, or launch."""
    row = queries.cluster(pk)
    places = launching.places(row)
    again = _again(request.POST.get("again") or request.GET.get("again", ""))
    form = LaunchForm(
        posted(request),
        request.FILES or None,
        places=places,
        others=queries.jobs_to_wait_for(row),
        initial=_initial(request, row, places, again),
    )
    do, refused, status = request.POST.get("do", "launch") if request.method == "POST" else "", None, 200
    if do == "look":
        return render(request, "clusters/launch.html#findings", _looked(row, places, form, again))
    if do:
        status = 422
        if form.is_valid():
            done, refused = attempt(
                _keep if do == "keep" else _launch, request=request, row=row, form=form, again=again
            )
            if refused is None:
                return see_other(str(done))
            status = refused.status
            refused = _blame(form, refused)
    place = next(iter(places.values()), None)
    context = {
        "row": row,
        "form": form,
        "refused": refused,
        "places": places,
        "templates": _cards(place) if place else [],
        "scripts": list(
            JobScriptVersion.objects.select_related("script").order_by("-created_at", "-id")[:SHOWN_SCRIPTS]
        ),
        "again": again,
        **_looked(row, places, form, again),
    }
    return render(request, "clusters/launch.html", context, status=status)


def _again(pk: str) -> Job | None:
    """The job that is to run again."""
    try:
        return Job.objects.filter(pk=UUID(pk)).first() if pk else None
    except ValueError:
        return None


def _initial(request: HttpRequest, row: Cluster, places: Mapping[str, Any], again: Job | None) -> dict[str, Any]:
    most = max((place.nodes for place in places.values()), default=1)
    nodes = min(2, most)
    script = starting_manifest(row, nodes) if row.orchestrator == KUBERNETES else STARTING_SCRIPT
    initial: dict[str, Any] = {"script": script, "nodes": nodes, "time_limit_minutes": _a_day(places)}
    if again is not None:
        initial = _as_before(again)
        initial["script"] = again.script
    if kept := _kept(request.GET.get("script", "")):
        facts = job_lint.lint(kept.text).facts
        initial |= {"script": kept.text, "keep_as": kept.script.name, "name": facts.get("job_name", kept.script.name)}
        initial |= {"nodes": facts["nodes"]} if facts.get("nodes") else {}
        initial |= {"time_limit_minutes": facts["time_limit_minutes"]} if facts.get("time_limit_minutes") else {}
    return initial


def _a_day(places: Mapping[str, checks.Place]) -> int:
    """A limit to begin with: a day, or what is left of the reservation."""
    left = [place.minutes_left for place in places.values() if place.minutes_left is not None]
    return max(1, min([DAY, *left]))


def _as_before(job: Job) -> dict[str, Any]:
    initial: dict[str, Any] = {
        "name": job.name,
        "partition": job.partition,
        "nodes": job.nodes,
        "time_limit_minutes": job.time_limit_minutes,
        "image": job.image,
        "array": job.array,
        "idle_minutes": job.idle_minutes,
        "idle_cancels": job.idle_cancels,
        "again": job.pk,
    }
    if job.script_version_id:
        initial["keep_as"] = JobScriptVersion.objects.select_related("script").get(pk=job.script_version_id).script.name
    return initial


def _kept(pk: str) -> JobScriptVersion | None:
    try:
        return JobScriptVersion.objects.select_related("script").filter(pk=UUID(pk)).first() if pk else None
    except ValueError:
        return None


def _cards(place: checks.Place) -> list[dict[str, Any]]:
    """Every template: first those that fit, and of the others why they do not."""
    told = [(each, checks.misfit(each, place)) for each in job_templates.templates()]
    told.sort(key=lambda pair: pair[1] is not None)
    return [{"template": each, "why": away.sentence(_) if away else ""} for each, away in told]


def _looked(row: Cluster, places: Mapping[str, checks.Place], form: LaunchForm, again: Job | None) -> dict[str, Any]:
    """What the lint says of the script as it stands in the form."""
    text = form["script"].value() or ""
    if form.is_bound and form.is_valid():
        text = form.cleaned_data["script"]
    return _judged(row, places, form, str(text).replace("\r\n", "\n"), again)


def _judged(
    row: Cluster, places: Mapping[str, checks.Place], form: Any, text: str, again: Job | None
) -> dict[str, Any]:
    place = places.get(str(form["partition"].value() or "")) or next(iter(places.values()), None)
    named = [line.partition("=")[0].strip() for line in str(form["environment"].value() or "").splitlines()]
    around = launching.around(
        row, place, nodes=_number(form, "nodes"), minutes=_number(form, "time_limit_minutes"), environment=named
    )
    linted = job_lint.lint(text, around) if text.strip() else None
    found = linted.found if linted else ()
    return {
        "linted": linted,
        "found": [
            {"error": each.severity == "error", "line": each.line, "reason": each.reason(_), "fix": each.fix(_)}
            for each in found
        ],
        "heals": bool(linted and linted.heals),
        "requeues": row.orchestrator == "parallelcluster",
        "diff": _diff(again, text) if again is not None else None,
    }


def _diff(again: Job, text: str) -> list[Any] | None:
    """Only the lines that differ; None when the texts are too long to be compared."""
    before, after = again.script.splitlines(), text.splitlines()
    if max(len(before), len(after)) > LONGEST_DIFF:
        return None
    return [line for line in side_by_side(before, after) if not line.same]


def _number(form: Any, name: str) -> int | None:
    told = str(form[name].value() or "")
    return int(told) if told.isdigit() and len(told) < 10 else None


def _blame(form: Any, refused: Refused) -> Refused | None:
    """Say it at its field; what has none is given back, to be said above the form."""
    field = refused.facts.get("field")
    if field not in form.fields:
        return refused
    form.add_error(field, refused.sentence)
    return None


def _keep(*, request: HttpRequest, row: Cluster, form: LaunchForm, again: Job | None) -> str:
    kept = _version(request, form, form.cleaned_data["script"])
    if kept is None:
        raise Refused("script_name", _("Say under which name the script is to be saved."), status=422, field="keep_as")
    messages.success(request, _("Saved as version %(number)s.") % {"number": kept.number})
    return reverse("job_script", args=[request.tenant.slug, kept.script_id])


def _version(request: HttpRequest, form: Any, text: str, **made_of: Any) -> JobScriptVersion | None:
    """The script as a version under the name that was given; None where none was."""
    if not form.cleaned_data["keep_as"].strip():
        return None
    name = form.cleaned_data["keep_as"]
    return job_scripts.keep(tenant=request.tenant, name=name, text=text, by=request.actor, **made_of)


def _launch(*, request: HttpRequest, row: Cluster, form: LaunchForm, again: Job | None) -> str:
    told = form.cleaned_data
    return _launched(request, row, form, told["script"], again)


def _launched(request: HttpRequest, row: Cluster, form: Any, script: str, again: Job | None, **made_of: Any) -> str:
    told = form.cleaned_data
    kept = {"parameters" if key == "template_parameters" else key: value for key, value in made_of.items()}
    version = _version(request, form, script, **kept)
    job = actions.launch_job(
        cluster=row,
        name=told["name"],
        script=script,
        nodes=told["nodes"],
        partition=told["partition"],
        time_limit_minutes=told["time_limit_minutes"],
        environment=told["environment"],
        accepted=told["accept"],
        script_version=version,
        again_of=again,
        by=request.actor,
        **form.options(),
        **made_of,
    )
    messages.success(request, _("Launched. The scheduler gets it within seconds."))
    return reverse("job", args=[request.tenant.slug, job.pk])


@allow(roles.LAUNCH)
@require_http_methods(["GET", "POST"])
def from_template(request: HttpRequest, pk: UUID, slug: str) -> HttpResponse:
    """Fill in a template, see the script that it becomes, launch it, or go on with it by hand."""
    row = queries.cluster(pk)
    try:
        template = job_templates.template(slug)
    except LookupError:
        raise Http404 from None
    places = launching.places(row)
    again = _again(request.POST.get("again") or request.GET.get("again", ""))
    partition = request.POST.get("partition", "")
    place = places.get(partition) or next(iter(places.values()), None)
    initial: dict[str, Any] = {"name": template.slug, "nodes": min(2, place.nodes if place else 1)}
    initial["time_limit_minutes"] = _a_day(places)
    starting = checks.starting(template, place) if place else {}
    if again is not None and again.template == template.slug:
        initial, starting = _as_before(again), starting | dict(again.template_parameters)
    form = TemplateForm(
        posted(request),
        template=template,
        starting=starting,
        places=places,
        others=queries.jobs_to_wait_for(row),
        initial=initial,
    )
    do, refused, status = request.POST.get("do", "launch") if request.method == "POST" else "", None, 200
    made = _made(template, form, place, again)
    if do == "edit" and made.text:
        return _by_hand(request, row, places, form, made)
    if do == "launch":
        status = 422
        if form.is_valid() and made.text:
            done, refused = attempt(_launch_template, request=request, row=row, form=form, made=made, again=again)
            if refused is None:
                return see_other(str(done))
            status = refused.status
            refused = _blame(form, refused)
        elif form.is_valid():
            for each in made.wrong:
                name = each.field if each.field in form.fields else PREFIX + each.field
                form.add_error(name if name in form.fields else None, each.sentence(_))
    context = {
        "row": row,
        "template": template,
        "form": form,
        "places": places,
        "refused": refused,
        "script": made.text,
        "wrong": [each.sentence(_) for each in made.wrong],
        "again": again,
        "processes": checks.processes(template, place) if place else 0,
        "world": checks.processes(template, place) * (_number(form, "nodes") or 0) if place else 0,
        **_judged(row, places, form, made.text, again),
    }
    part = "#made" if do == "look" and request.headers.get("HX-Request") else ""
    return render(request, f"clusters/launch_template.html{part}", context, status=status)


def _made(
    template: job_templates.Template, form: TemplateForm, place: checks.Place | None, again: Job | None
) -> launching.Made:
    """The script as the form stands; nothing while the form cannot be read."""
    if place is None:
        return launching.Made()
    told = {name: form[PREFIX + name].value() for name in template.parameters}
    name, nodes = str(form["name"].value() or template.slug), _number(form, "nodes") or 0
    minutes, image = _number(form, "time_limit_minutes"), str(form["image"].value() or "")
    return launching.made(template, told, place, name=name, nodes=nodes, minutes=minutes, image=image)


def _by_hand(
    request: HttpRequest, row: Cluster, places: Mapping[str, checks.Place], form: TemplateForm, made: launching.Made
) -> HttpResponse:
    """The rendered script in the form for scripts, with what was filled in beside it."""
    names = ("name", "partition", "nodes", "time_limit_minutes", "environment", "keep_as", "again", *WHEN)
    initial = {name: form[name].value() for name in names if name in form.fields} | {"script": made.text}
    own = LaunchForm(None, places=places, others=queries.jobs_to_wait_for(row), initial=initial)
    again = _again(str(initial["again"] or ""))
    context = {
        "row": row,
        "form": own,
        "places": places,
        "by_hand": form.template,
        "templates": [],
        "scripts": [],
        "again": again,
        **_judged(row, places, own, made.text, again),
    }
    return render(request, "clusters/launch.html", context)


def _launch_template(
    *, request: HttpRequest, row: Cluster, form: TemplateForm, made: launching.Made, again: Job | None
) -> str:
    return _launched(
        request,
        row,
        form,
        made.text,
        again,
        template=form.template.slug,
        template_version=form.template.version,
        template_parameters=made.parameters,
    )
