"""Pages of tables as files: what each kind of row looks like, its exports and templates, sending a file, and what it would change."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from tenants import importing
from tenants.import_export import CLEAR, KINDS, LOOKS, Current, Kind, needed_headers
from tenants.models import Cycle, Import, Tenant
from tenants.queries import actor_names
from tenants.sheet_writing import TYPES, cells_of, rows_of, workbook, written
from tenants.sheets import CSV, FORMATS, XLSX
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web import live
from tenants.web.attempt import attempt, see_other
from tenants.web.bodies import nearest
from tenants.web.problems import Refused

NEWEST = 10


class UploadForm(forms.Form):
    """A file with rows."""

    file = forms.FileField(
        label=gettext_lazy("File"),
        max_length=200,
        help_text=gettext_lazy("CSV, XLSX or YAML, up to 20 MiB and 10,000 rows."),
        error_messages={
            "required": gettext_lazy("Choose a file."),
            "empty": gettext_lazy("The file is empty."),
            "max_length": gettext_lazy("The file's name has %(length)d characters; %(max)d are allowed."),
        },
    )


def kind_named(word: str, role: str) -> Kind:
    """The kind of this word, for a role that may read it. Raises Http404 for a word that is none."""
    kind = KINDS.get(word)
    if kind is None:
        raise Http404
    if role not in kind.read:
        raise PermissionDenied
    return kind


@allow(roles.READ)
@require_safe
def tables(request: HttpRequest) -> HttpResponseBase:
    """All kinds of rows that can be taken away as a file, and sent as one; `format=xlsx`: all of them in one workbook."""
    place, cycles = request.tenant, list(Cycle.objects.order_by("-starts_on").values_list("code", flat=True))
    there = importing.readable(place)
    if "format" in request.GET:
        return _whole(request, there, cycles)
    kinds = [
        {"kind": kind, "may_write": request.role in kind.write} for kind in KINDS.values() if request.role in kind.read
    ]
    runs = _newest(request) if request.role in roles.EDIT_RECORD else []
    context = {
        "kinds": kinds, "runs": runs, "formats": FORMATS, "cycles": cycles,
        "participants": there.values() if place.is_office else (),
    }  # fmt: skip
    return render(request, "tenants/tables.html", context)


def _whole(request: HttpRequest, there: dict[str, Tenant], cycles: list[str]) -> StreamingHttpResponse:
    """A workbook of all tables, of chosen participants and a chosen cycle. Raises Refused (400) for what is not there."""
    chosen = {
        "format": (request.GET.getlist("format"), [XLSX]),
        "participant": (request.GET.getlist("participant"), list(there)),
        "cycle": ([code for code in request.GET.getlist("cycle") if code], cycles),
    }
    for name, (asked, known) in chosen.items():
        for word in asked:
            if word not in known:
                sentence = _("There is no '%(text)s' here. %(hint)s")
                told = {"text": _visible(word), "hint": nearest(_visible(word), known)}
                raise Refused(name, sentence % told, status=400, field=name)
    slugs, codes = chosen["participant"][0] or list(there), chosen["cycle"][0]
    tenants = [there[slug] for slug in there if slug in slugs]
    tables = []
    for kind in KINDS.values():
        if request.role in kind.read:
            # A table without cycles, people for instance, is there whole.
            wanted = _filter(kind, {"cycle": codes} if codes and "cycle" in kind.by_name else {})
            tables.append((kind, rows_of(kind, tenants, staff=request.internal, wanted=wanted)))
    return _download(workbook(tables), f"{request.tenant.slug}-tables.{XLSX}", XLSX)


@allow(roles.READ, write=roles.EDIT_RECORD, upload=True)
@require_http_methods(["GET", "POST"])
def table(request: HttpRequest, word: str) -> HttpResponse:
    """One kind of row: its columns, its files to take away, and where to send one."""
    kind = kind_named(word, request.role)
    form, refused, status = UploadForm(), None, 200
    if request.method == "POST":
        if request.role not in kind.write:
            raise PermissionDenied
        form, status = UploadForm(request.POST, request.FILES), 422
        if form.is_valid():
            run, refused = attempt(importing.begin, **sent(request, kind, form.cleaned_data["file"]))
            if run is not None:
                return see_other(reverse("import", args=[request.tenant.slug, run.pk]))
            status = refused.status if refused else 422
    may_write = request.role in kind.write
    asked = request.GET.urlencode()
    context = {
        "kind": kind,
        "form": form,
        "refused": refused,
        "faults": refused.facts.get("problems", ()) if refused else (),
        "may_write": may_write,
        "runs": _newest(request, word) if may_write else [],
        "needed": needed_headers(kind, alone=not request.tenant.is_office),
        "columns": [
            {"column": column, "look": LOOKS[column.look], "key": column.name in kind.key} for column in kind.columns
        ],
        "clear": CLEAR,
        "formats": FORMATS,
        "filters": f"&{asked}" if asked else "",
    }
    return render(request, "tenants/table.html", context, status=status)


def sent(request: HttpRequest, kind: Kind, file: Any) -> dict[str, Any]:
    """An uploaded file as `importing.begin` takes it."""
    return {
        "kind": kind, "place": request.tenant, "name": file.name, "content": file.read(),
        "media_type": file.content_type or "", "person": request.person, "by": request.actor, "role": request.role,
        "staff": request.internal,
    }  # fmt: skip


def _newest(request: HttpRequest, word: str = "") -> list[dict[str, Any]]:
    mine = [kind.word for kind in KINDS.values() if request.role in kind.write]
    rows = list(Import.objects.filter(table__in=[word] if word else mine).order_by("-created_at", "-id")[:NEWEST])
    names = actor_names({row.asked_by for row in rows}) if rows else {}
    return [{"row": row, "by": names.get(row.asked_by, row.asked_by), "kind": KINDS[row.table]} for row in rows]


@allow(roles.READ)
@require_safe
def export(request: HttpRequest, word: str) -> HttpResponse:
    """The rows as a file: `format`, any column as a filter, `template=1` for the columns alone."""
    return exported(request, kind_named(word, request.role))


def exported(request: HttpRequest, kind: Kind) -> StreamingHttpResponse:
    """A download that is read and sent piece by piece. Raises Refused (400) for a format or filter that is none."""
    asked = {name: request.GET.getlist(name) for name in request.GET}
    format = asked.pop("format", [CSV])[-1]
    if format not in FORMATS:
        sentence = _("There is no format '%(asked)s'. Known are: %(known)s.")
        told = {"asked": _visible(format), "known": ", ".join(FORMATS)}
        raise Refused("format", sentence % told, status=400, field="format")
    template = asked.pop("template", ["0"])[-1] == "1"
    filterable = {column.name for column in kind.columns if not column.told}
    for name in asked:
        if name not in filterable:
            sentence = _("There is no column '%(name)s' to filter by. %(hint)s")
            told = {"name": _visible(name), "hint": nearest(name[:60], filterable)}
            raise Refused("filter", sentence % told, status=400, field=_visible(name))
    place = request.tenant
    tenants = list(importing.readable(place).values())
    rows: Iterable[list[str]] = (
        () if template else rows_of(kind, tenants, staff=request.internal, wanted=_filter(kind, asked))
    )
    name = f"{place.slug}-{kind.word}{'-template' if template else ''}.{format}"
    return _download(written(kind, format, rows), name, format)


def _download(pieces: Iterable[bytes], name: str, format: str) -> StreamingHttpResponse:
    response = StreamingHttpResponse(pieces, content_type=TYPES[format])
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    response["X-Content-Type-Options"] = "nosniff"
    response["Cache-Control"] = "private, no-store"
    return response


def _visible(text: str) -> str:
    return text[:60].encode("utf-8", "replace").decode().replace("\x00", "␀")


def _filter(kind: Kind, asked: dict[str, list[str]]) -> Any:
    def wanted(row: Current) -> bool:
        return all(cells_of(kind, row, name) in values for name, values in asked.items())

    return wanted


def run_of(request: HttpRequest, pk: UUID) -> Import:
    """A file that was sent here, for a role that may import such rows."""
    run: Import = get_object_or_404(Import.objects.all(), pk=pk)
    kind = KINDS.get(run.table)
    if kind is None:  # no longer declared
        raise Http404
    if request.role not in kind.write:
        raise PermissionDenied
    return run


@allow(roles.EDIT_RECORD)
@require_safe
def import_page(request: HttpRequest, pk: UUID) -> HttpResponse:
    """What a file would change or what is wrong with it, how far it is, and what became of it."""
    run = run_of(request, pk)
    newest = live.stamp(run.state, run.done, run.version)
    if (answer := live.unchanged(request, newest)) is not None:
        return answer
    return _shown(request, run, newest)


def _shown(request: HttpRequest, run: Import, newest: str, refused: Refused | None = None) -> HttpResponse:
    kind = KINDS[run.table]
    context = {
        "run": run,
        "kind": kind,
        "by": actor_names([run.asked_by]).get(run.asked_by, run.asked_by),
        "at_work": run.state in importing.UNDER_WAY,
        "mine": run.person_id == request.person.pk,
        "differing": run.added + run.changed,
        "percent": min(99, 100 * run.done // run.rows) if run.rows else 0,
        "poll": live.address(request, newest) if request.method == "GET" else "",
        "refused": refused,
        "meanwhile": set(run.meanwhile),
        "fresh": sum(change.get("fresh", False) for change in run.changes),
        "near": [change for change in run.changes if change.get("near")],
    }
    page = "tenants/import.html" + ("#live" if live.asked(request) else "")
    return render(request, page, context, status=refused.status if refused else 200)


@allow(roles.EDIT_RECORD)
@require_POST
def apply_import(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Import what was shown. What differs by now is shown instead, and nothing is imported."""
    run = run_of(request, pk)
    _done, refused = attempt(
        importing.apply, run=run, by=request.actor, person=request.person, role=request.role, staff=request.internal,
        sure=request.POST.get("sure") == "on",
    )  # fmt: skip
    if refused is not None:
        run.refresh_from_db()
        if refused.code == importing.MEANWHILE:
            importing.look_again(run=run, staff=request.internal)
        return _shown(request, run, "", refused)
    if run.state == "imported":
        done = run.added + run.changed
        messages.success(request, ngettext("%(n)s row is imported.", "%(n)s rows are imported.", done) % {"n": done})
    return see_other(reverse("import", args=[request.tenant.slug, run.pk]))


@allow(roles.EDIT_RECORD)
@require_POST
def cancel_import(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Call it off; nothing of it is kept."""
    run = run_of(request, pk)
    _done, refused = attempt(importing.cancel, run=run, by=request.actor)
    if refused is not None:
        messages.warning(request, refused.sentence)
    return see_other(reverse("import", args=[request.tenant.slug, run.pk]))
