"""Pages about scripts of jobs that are kept, and two runs side by side."""

from typing import Any
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from clusters import queries, watching
from clusters.configuring import side_by_side
from clusters.jobs import lint as job_lint
from clusters.jobs import showing as job_showing
from clusters.models import Cluster, Job, JobScript, JobScriptVersion
from tenants.queries import actor_names, tenants
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web import pages
from tenants.web.templatetags.show import words

NEWEST_VERSIONS = 50
LONGEST_COMPARED = 3000
NEWEST_JOBS = 60


@allow(roles.READ)
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """Every script that one may see, by name."""
    everybody = list(tenants().filter(is_office=False).order_by("name"))
    page = pages.by_name(JobScript.objects.select_related("tenant"), request)
    return render(
        request,
        "clusters/job_scripts.html",
        {"rows": page.rows, "older": page.next, "several": len(everybody) > 1},
    )


@allow(roles.READ)
@require_safe
def one(request: HttpRequest, pk: UUID) -> HttpResponse:
    """One script: a version of it, what differs from the one before, what is wrong with it, and where it can be launched."""
    row = JobScript.objects.filter(pk=pk).first()
    if row is None:
        raise Http404
    versions = list(JobScriptVersion.objects.filter(script=row).order_by("-number")[:NEWEST_VERSIONS])
    asked = request.GET.get("version", "")
    chosen = next((each for each in versions if str(each.number) == asked), versions[0] if versions else None)
    before = next((each for each in versions if chosen and each.number == chosen.number - 1), None)
    names = actor_names({each.author for each in versions})
    found = job_lint.lint(chosen.text).found if chosen else ()
    clusters = Cluster.objects.filter(state="ready", wanted=True).order_by("name")[:20]
    context = {
        "row": row,
        "chosen": chosen,
        "versions": [(each, names.get(each.author, each.author)) for each in versions],
        "found": [
            {"error": each.severity == "error", "line": each.line, "reason": each.reason(_), "fix": each.fix(_)}
            for each in found
        ],
        "diff": _differing(before.text, chosen.text) if before and chosen else None,
        "before": before,
        "clusters": list(clusters) if request.role in roles.LAUNCH else [],
    }
    return render(request, "clusters/job_script.html", context)


def _differing(old: str, new: str) -> list[Any] | None:
    left, right = old.splitlines(), new.splitlines()
    if max(len(left), len(right)) > LONGEST_COMPARED:
        return None
    return [line for line in side_by_side(left, right) if not line.same]


@allow(roles.READ)
@require_safe
def compare(request: HttpRequest) -> HttpResponse:
    """Two runs: what was asked for, how they went, and what differs in their scripts."""
    old, new = (_job(request.GET.get(side, "")) for side in ("old", "new"))
    both = old is not None and new is not None
    context = {
        "old": old,
        "new": new,
        "facts": _facts(old, new) if both else [],
        "lines": _differing(old.script, new.script) if old and new else None,
        "others": list(queries.jobs().order_by("-created_at", "-id")[:NEWEST_JOBS]),
    }
    return render(request, "clusters/compare_jobs.html", context)


def _job(pk: str) -> Job | None:
    try:
        return Job.objects.select_related("cluster", "tenant").filter(pk=UUID(pk)).first() if pk else None
    except ValueError:
        return None


def _facts(old: Job | None, new: Job | None) -> list[dict[str, Any]]:
    """What is worth comparing, with both values and whether they differ."""
    if old is None or new is None:
        return []
    named = [
        (_("Cluster"), old.cluster.name, new.cluster.name),
        (_("Nodes"), old.nodes, new.nodes),
        (_("Accelerators"), old.accelerators, new.accelerators),
        (_("Partition"), old.partition, new.partition),
        (_("Time limit"), _minutes(old.time_limit_minutes), _minutes(new.time_limit_minutes)),
        (
            _("Template"),
            f"{old.template} {old.template_version}".strip(),
            f"{new.template} {new.template_version}".strip(),
        ),
        (_("Image"), old.image, new.image),
        (_("State"), words(old.state), words(new.state)),
        (_("How it ended"), _end(old), _end(new)),
        (_("Ran for"), _ran(old), _ran(new)),
        (_("Started again"), old.restarts, new.restarts),
        (_("Last checkpoint"), _step(old), _step(new)),
        *_measured(old, new),
    ]
    parameters = sorted({*old.template_parameters, *new.template_parameters})
    named += [
        (name, str(old.template_parameters.get(name, "")), str(new.template_parameters.get(name, "")))
        for name in parameters
    ]
    return [
        {"name": name, "old": before or "–", "new": after or "–", "differs": str(before) != str(after)}
        for name, before, after in named
    ]


def _measured(old: Job, new: Job) -> list[tuple[str, str, str]]:
    """What each was last measured to do; a dash is not measured."""
    before, after = (job_showing.last_of(watching.points(job)) for job in (old, new))
    names = {
        "loss": _("Last loss"),
        "tokens_per_second": _("Tokens a second"),
        "samples_per_second": _("Samples a second"),
        "mfu": _("MFU, percent"),
    }
    always = ("loss", "tokens_per_second")
    return [
        (label, before.get(name, ""), after.get(name, ""))
        for name, label in names.items()
        if name in always or before.get(name) or after.get(name)
    ]


def _minutes(count: int | None) -> str:
    return "" if count is None else _("%(n)s minutes") % {"n": count}


def _end(job: Job) -> str:
    code = "" if job.exit_code is None else _("exit code %(code)s") % {"code": job.exit_code}
    return ", ".join(filter(None, (code, job.reason[:120])))


def _ran(job: Job) -> str:
    if job.started_at is None or job.ended_at is None:
        return ""
    minutes = int((job.ended_at - job.started_at).total_seconds() // 60)
    return _("%(hours)s h %(minutes)s min") % {"hours": minutes // 60, "minutes": minutes % 60}


def _step(job: Job) -> str:
    return "" if job.checkpoint_step is None else _("step %(n)s") % {"n": job.checkpoint_step}
