"""Pages about a participant's history and record: reading and filtering it, noting, correcting, editing a block."""

import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode
from uuid import UUID
from zoneinfo import ZoneInfo

from django import forms
from django.contrib import messages
from django.db import IntegrityError
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from tenants import actions, participating
from tenants.forms import (
    BROKEN_RULE,
    BlockForm,
    CorrectionForm,
    HistoryFilters,
    NoteForm,
    ParticipationForm,
    block_form,
)
from tenants.history import timeline
from tenants.history.models import Entry
from tenants.models import Participation
from tenants.queries import Line, actions_of, history, lines
from tenants.record_blocks import Block
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web import pages
from tenants.web.attempt import attempt, posted, see_other
from tenants.web.choosing import chosen
from tenants.web.problems import Refused, Stale
from tenants.web.tables import as_csv

MOST_CLUSTERS = 200
MOST_EXPORTED = 5000
LONGEST_ACTION = timedelta(minutes=1)


@allow(roles.READ)
@require_safe
def history_page(request: HttpRequest) -> HttpResponse:
    """The history of a participant, newest first, with filters; `entry` begins at one of its lines."""
    form = _filters(request)
    rows = _filtered(form)
    page = pages.newest_first(_until_day(request, form, _from_entry(request, rows)), request)
    found = lines(page.rows)
    context = {
        "form": form,
        "chosen": [name for name in form.fields if name != "day" and request.GET.get(name)],
        "entries": found,
        "told": actions_of(found),
        "asked": _asked(request),
        "corrected": _corrections(page.rows),
        "older": page.next,
        "file": f"{reverse('history_file', args=[request.tenant.slug])}?{request.GET.urlencode()}",
        "newer": _newer(request, rows, page.rows),
        "may_note": request.role in roles.NOTE,
        "may_correct": request.role in roles.NOTE,
        "note_form": NoteForm(),
    }
    return render(request, "tenants/history.html", context, status=200 if form.is_valid() else 400)


def _filtered(form: HistoryFilters) -> QuerySet[Entry]:
    chosen = form.chosen()
    prefixes = tuple(chosen.pop("prefixes", ()))
    kinds = [name for name in timeline.KINDS if name.startswith(prefixes)] if prefixes else []
    # A word of the form for which no kind is declared means nothing, and not everything.
    return history(kinds=kinds, **chosen) if kinds or not prefixes else Entry.objects.none()


@allow(roles.READ)
@require_safe
def history_file(request: HttpRequest) -> HttpResponse:
    """The newest 5,000 entries of the same filters as a CSV file: a line for each entry, and one for each field it changed."""
    form = _filters(request)
    if not form.is_valid():
        field, sentences = next(iter(form.errors.items()))
        raise Refused("filter", f"{field}: {sentences[0]}", status=400, field=field)
    rows = list(_filtered(form).order_by("-occurred_at", "-id")[:MOST_EXPORTED])
    header = [
        *(_("Entry"), _("When"), _("Written down"), _("What"), _("Who"), _("Audience"), _("Severity")),
        *(_("Field"), _("Before"), _("After"), _("Why")),
    ]
    return as_csv(f"history-{request.tenant.slug}.csv", header, _as_rows(lines(rows)))


def _as_rows(found: list[Line]) -> Iterator[list[Any]]:
    for line in found:
        told = [line.id, line.at.isoformat(), line.recorded_at.isoformat(), line.sentence, line.actor_name]
        told += [line.audience, line.severity]
        for field, (before, after) in line.changes.items() or [("", ("", ""))]:
            yield [*told, field, _one_cell(before), _one_cell(after), line.text]


def _one_cell(value: Any) -> Any:
    return ", ".join(map(str, value)) if isinstance(value, list) else value


def _filters(request: HttpRequest) -> HistoryFilters:
    # The history itself names every cluster there ever was, also those that are gone.
    rows = Entry.objects.filter(kind="cluster.requested").order_by("-occurred_at", "-id")
    clusters = [(pk, name or str(pk)) for pk, name in rows.values_list("subject_id", "facts__name")[:MOST_CLUSTERS]]
    return HistoryFilters(request.GET, clusters=clusters, internal=request.internal, zone=request.person.timezone)


def _from_entry(request: HttpRequest, rows: QuerySet[Entry]) -> QuerySet[Entry]:
    asked = request.GET.get("entry", "")
    if not asked or request.GET.keys() & {"cursor", "day"}:
        return rows
    if not asked.isascii() or not asked.isdigit() or len(asked) > 18:
        raise Refused("entry", _("There is no entry '%(asked)s'.") % {"asked": asked[:40]}, status=400)
    entry = get_object_or_404(Entry.objects.all(), pk=int(asked))
    # What the same action wrote after it belongs to it; an action is shorter than a transaction may be.
    window = (entry.occurred_at, entry.occurred_at + LONGEST_ACTION)
    whole = Entry.objects.filter(occurred_at__range=window, action_id=entry.action_id)
    entry = whole.order_by("-occurred_at", "-id").first() or entry
    return rows.filter(occurred_at__lte=entry.occurred_at).exclude(occurred_at=entry.occurred_at, id__gt=entry.pk)


def _asked(request: HttpRequest) -> int:
    """The entry that the address leads to, 0 when it leads to none."""
    asked = request.GET.get("entry", "")
    return int(asked) if asked.isascii() and asked.isdigit() else 0


def _until_day(request: HttpRequest, form: HistoryFilters, rows: QuerySet[Entry]) -> QuerySet[Entry]:
    """The page that begins with a day; what came later is one step back, and no filter."""
    until = form.day_ends() if "cursor" not in request.GET else None
    return rows.filter(occurred_at__lt=until) if until else rows


def _newer(request: HttpRequest, rows: QuerySet[Entry], shown: list[Entry]) -> str | None:
    """The way back; only a page with a beginning of its own has something before it."""
    if not shown or not request.GET.keys() & {"cursor", "entry", "day"}:
        return None
    found = pages.newer(rows, request, shown[0])
    return re.sub(r"([?&])(?:entry=\d+|day=[\d-]*)(?=&|$)&?", r"\1", found) if found else None


def _corrections(entries: list[Entry]) -> set[int]:
    """Which of these entries a later one corrects; a correction keeps the number of what it corrects."""
    wanted = [entry.pk for entry in entries]
    rows = Entry.objects.filter(kind="entry.corrected", corrects_id__in=wanted) if wanted else Entry.objects.none()
    return set(rows.values_list("corrects_id", flat=True))


@allow(roles.NOTE)
@require_http_methods(["GET", "POST"])
def correct(request: HttpRequest, pk: int) -> HttpResponse:
    """Correct an entry by a new one."""
    entry = get_object_or_404(Entry.objects.all(), pk=pk)
    form = CorrectionForm(posted(request))
    if request.method == "POST" and form.is_valid():
        actions.correct_entry(entry=entry, text=form.cleaned_data["text"], by=request.actor)
        messages.success(request, _("The correction stands in the history, beside what it corrects."))
        return see_other(reverse("history", args=[request.tenant.slug]))
    context = {
        "form": form,
        "told": actions_of(lines([entry])),
        "title": _("Correct an entry"),
        "submit": _("Add the correction"),
    }
    return render(request, "tenants/write.html", context, status=422 if request.method == "POST" else 200)


class RemovalForm(forms.Form):
    """Why a line of the record is taken off."""

    version = forms.IntegerField(
        label=gettext_lazy("Version"), widget=forms.HiddenInput, min_value=0, max_value=2_147_483_647
    )
    why = forms.CharField(
        label=gettext_lazy("Why"), max_length=300, required=False, help_text=gettext_lazy("It stands in the history.")
    )


def removing(block: Block) -> Callable[..., HttpResponse]:
    """The page that takes a line off a block of the record; it shows first what it holds."""

    @allow(roles.EDIT_RECORD)
    @require_http_methods(["GET", "POST"])
    def remove(request: HttpRequest, pk: UUID) -> HttpResponse:
        return _remove_line(request, block, pk)

    return remove


def _remove_line(request: HttpRequest, block: Block, pk: UUID) -> HttpResponse:
    row = get_object_or_404(block.model.objects.all(), pk=pk)  # type: ignore[attr-defined]
    form, refused = RemovalForm(posted(request), initial={"version": row.version}), None
    if request.method == "POST" and form.is_valid():
        _none, refused = attempt(actions.remove_record, block=row, by=request.actor, **form.cleaned_data)
        if refused is None:
            messages.success(request, _("Removed. The history keeps what it was."))
            return see_other(_record_page(request, row.participation_id))
        if isinstance(refused, Stale):
            row.refresh_from_db()
            data = request.POST.copy()
            data["version"] = str(row.version)
            form = RemovalForm(data)
    held = {name: getattr(row, f"get_{name}_display", lambda name=name: getattr(row, name))() for name in block.fields}
    context = {
        "form": form,
        "refused": refused,
        "title": _("Remove %(what)s") % {"what": row},
        "held": [
            (
                row._meta.get_field(name).verbose_name,
                _one_cell(actions.plain(value) if isinstance(value, Decimal) else value),
            )
            for name, value in held.items()
            if value not in (None, "", [])
        ],
    }
    status = 200 if request.method == "GET" else refused.status if refused else 422
    return render(request, "tenants/remove_line.html", context, status=status)


def editing(word: str, block: Block) -> Callable[..., HttpResponse]:
    """The page that changes a line of a block of the record."""
    form_class = block_form(block)

    @allow(roles.EDIT_RECORD)
    @require_http_methods(["GET", "POST"])
    def edit(request: HttpRequest, pk: UUID) -> HttpResponse:
        return edit_block(request, block.model, form_class, pk, minded=block.minded, remove=f"remove_{word}")

    return edit


def adding(block: Block) -> Callable[..., HttpResponse]:
    """The page that adds a line to a block of the record."""
    form_class = block_form(block)

    @allow(roles.EDIT_RECORD)
    @require_http_methods(["GET", "POST"])
    def add(request: HttpRequest) -> HttpResponse:
        return _add_block(request, block, form_class)

    return add


@allow(roles.EDIT_QUOTAS)
@require_http_methods(["GET", "POST"])
def edit_participation(request: HttpRequest, pk: UUID) -> HttpResponse:
    """Change what a participation says of its project and its organisation."""
    return edit_block(request, Participation, ParticipationForm, pk)


@allow(roles.EDIT_RECORD)
@require_POST
def confirm_block(request: HttpRequest) -> HttpResponse:
    """Say that a block of the record is still right."""
    participation = _participation(request)
    actions.confirm_block(participation=participation, block=request.POST.get("block", ""), by=request.actor)
    messages.success(request, _("It counts as fresh again."))
    return see_other(_record_page(request, participation.pk))


def _participation(request: HttpRequest) -> Participation:
    """The participation that the address speaks of. Raises Http404 where there is none."""
    found = chosen(request).place
    if found is None:
        raise Http404
    return found


def _record_page(request: HttpRequest, participation: UUID | None) -> str:
    """Where the record of a participation is read; an earlier cycle's says which."""
    rows = list(participating.current_first().values_list("pk", "code"))
    code = next((code for pk, code in rows[1:] if pk == participation), "")
    of = f"?{urlencode({'of': code})}" if code else ""
    return f"{reverse('participant', args=[request.tenant.slug])}{of}#record"


def _mind(request: HttpRequest, row: Any, minded: Any) -> None:
    """Say beside that it is saved what in it may not be meant."""
    found = minded(row, timezone.localdate(timezone=ZoneInfo(request.person.timezone))) if minded else None
    if found:
        messages.warning(request, found.sentence)


def edit_block(
    request: HttpRequest, model: Any, form_class: type[BlockForm], pk: UUID, *, minded: Any = None, remove: str = ""
) -> HttpResponse:
    """Change one block of the record. Somebody else's newer version is shown beside what was typed, and nothing is lost.

    `remove` is the name of the page that takes the line off, where there is one."""
    block = get_object_or_404(model.objects.all(), pk=pk)
    title = _("Edit %(what)s") % {"what": block}
    form = form_class(posted(request), instance=block, initial={"version": block.version})
    refused, status = None, 422 if request.method == "POST" else 200
    if request.method == "POST" and form.is_valid():
        version, why = form.cleaned_data["version"], form.cleaned_data["why"]
        values = {"block": block, "changes": form.columns(), "version": version, "by": request.actor, "why": why}
        refused = _kept(form, actions.edit_record, merge=True, **values)
        if refused is None and not form.errors:
            alone = version == block.version
            messages.success(
                request,
                _("Saved. The history keeps what it was before.")
                if alone
                else _("Saved beside what somebody else changed meanwhile. The history keeps both."),
            )
            _mind(request, model.objects.get(pk=pk), minded)
            place = (
                pk if model is Participation else getattr(block, "participation_id", None)
            )  # a bucket is the tenant's
            return see_other(_record_page(request, place))
        status = refused.status if refused else 422
        if isinstance(refused, Stale):
            # What was typed stays in the form, and what only they changed comes in; sent again, it is a change of the newest.
            block.refresh_from_db()
            fresh, data = form_class(instance=block), request.POST.copy()
            data["version"] = refused.facts["version"]
            for name in refused.facts["kept"]:
                data[name] = _as_typed(fresh, name)
            form = form_class(data, instance=block)
    context = {
        "form": form,
        "title": title,
        "refused": refused,
        "diff": _side_by_side(form, refused),
        "submit": _("Save"),
        "remove_at": reverse(remove, args=[request.tenant.slug, pk]) if remove else "",
    }
    return render(request, "tenants/edit.html", context, status=status)


def _as_typed(form: forms.BaseForm, name: str) -> Any:
    """A field's value as its widget would send it."""
    value = form[name].value()
    return "" if value is None else form.fields[name].prepare_value(value)


def _add_block(request: HttpRequest, block: Block, form_class: type[forms.ModelForm]) -> HttpResponse:
    model, title = block.model, block.adding
    participation = _participation(request)
    data = request.POST.copy() if request.method == "POST" else None
    if data is not None:
        data["version"] = "1"
    form = form_class(
        data, instance=model(tenant_id=participation.tenant_id, participation=participation), initial={"version": 1}
    )
    del form.fields["why"]
    refused = None
    if request.method == "POST" and form.is_valid():
        form.instance.version = 1
        refused = _kept(form, actions.add_record, block=form.instance, by=request.actor)
        if refused is None and not form.errors:
            messages.success(request, _("Added."))
            _mind(request, form.instance, block.minded)
            return see_other(_record_page(request, participation.pk))
    status = 200 if request.method == "GET" else refused.status if refused else 422
    return render(
        request,
        "tenants/edit.html",
        {"form": form, "title": title, "refused": refused, "submit": _("Add")},
        status=status,
    )


def _kept(form: forms.BaseForm, action: Any, **values: Any) -> Refused | None:
    """Try it; what the rules of the data refuse becomes an error of the form."""
    try:
        refused: Refused | None = attempt(action, **values)[1]
    except IntegrityError:
        form.add_error(None, BROKEN_RULE)
        return None
    if refused is None or refused.code != "invalid":
        return refused
    for name, texts in refused.facts["fields"].items():
        known = name in form.fields
        form.add_error(name if known else None, texts if known else BROKEN_RULE)
    return None


def _side_by_side(form: forms.BaseForm, refused: Refused | None) -> list[dict[str, Any]]:
    changes = refused.facts.get("changes", {}) if isinstance(refused, Stale) else {}
    return [
        {"label": form.fields[name].label, "theirs": theirs, "yours": yours}
        for name, (theirs, yours) in changes.items()
    ]
