"""The hand-over sheet of a participant: all that whoever takes over has to know, gathered within the reader's own scope.

The scope decides what stands on it: gathered for the participant it holds nothing internal, because nothing internal exists
there. Everything is text, so that the page, the Markdown and the API tell the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from clusters import queries as cluster_queries
from clusters import states as cluster_states
from clusters.models import Job, JobProgress
from program import contacting, home, reports
from program.models import ActionItem, Decision, Report
from support import queries as cases
from support.models import Case
from support.states import SEVERITIES as WORST_FIRST
from tenants import contacts, participating
from tenants.models import (
    Assignment,
    Contact,
    FrameworkUse,
    Membership,
    MonitoringLink,
    Participation,
    Person,
    SoftwareVersion,
    Tenant,
    TrainingModel,
    holding,
)
from tenants.queries import ages_of_blocks, lines
from tenants.record_blocks import BLOCKS, Age
from tenants.software import side_by_side
from tenants.web.templatetags.show import FAMILIES, ROLES, SEVERITIES

AHEAD = timedelta(days=14)
MOST, MOST_CONTACTS, MOST_DECISIONS, MOST_NEXT = 50, 5, 10, 4
SPECIAL = re.compile(r"([\\`*_\[\]<>#|])")


@dataclass(frozen=True)
class Section:
    """A part of the sheet: a table whose first column names the row. Without rows, `empty` says so."""

    code: str
    title: Any
    columns: tuple[Any, ...]
    rows: list[tuple[str, ...]]
    empty: Any
    links: dict[str, str] = field(default_factory=dict)  # text of a cell -> its page, where it has one

    @property
    def cells(self) -> list[list[tuple[Any, str, str]]]:
        """Each row with the column that each of its cells stands in, and the page that it leads to or ""."""
        return [
            [(column, cell, self.links.get(cell, "")) for column, cell in zip(self.columns, row, strict=True)]
            for row in self.rows
        ]


@dataclass(frozen=True)
class Sheet:
    """The whole; `audience` is shared for what the participant may have, internal otherwise."""

    tenant: str
    name: str
    audience: str
    made_at: datetime
    reader: str
    about: str
    sections: list[Section]


@dataclass(frozen=True)
class Reader:
    """For whom it is made, and when."""

    person: Person
    role: str
    now: datetime

    @property
    def zone(self) -> ZoneInfo:
        return ZoneInfo(self.person.timezone)

    @property
    def today(self) -> date:
        return self.now.astimezone(self.zone).date()

    def moment(self, at: datetime | None) -> str:
        return at.astimezone(self.zone).strftime("%Y-%m-%d %H:%M %Z") if at else "–"


def sheet(*, tenant: Tenant, person: Person, role: str, audience: str, now: datetime) -> Sheet:
    """The sheet of a participant for this reader, in the scope that the caller opened; the number of queries is fixed."""
    reader = Reader(person, role, now)
    place = participating.current_first().select_related("cycle").first()
    open_cases = sorted(
        cases.open_cases(role=role, person=person).select_related("owner")[:MOST],
        key=lambda case: (WORST_FIRST.index(case.severity), case.opened_at),
    )
    items = list(
        ActionItem.objects.filter(state="open")
        .select_related("owner").order_by("due", "number")[:MOST]
    )  # fmt: skip
    owed = list(Report.objects.filter(state__in=sorted(reports.OWED)).order_by("due_on")[:MOST])
    by_duty = list(Contact.objects.order_by("duty", "created_at", "id")[:MOST])
    software = list(SoftwareVersion.objects.filter(participation=place).order_by("component", "source"))
    ages = {word: one for (_tenant, word), one in ages_of_blocks(now).items()}
    about = f"{place.code} · {place.project} · {place.cycle.name} · {_word(place.state)}" if place else ""
    links = {
        f"{one.number} {text}": reverse(route, args=[tenant.slug, one.pk])
        for route, rows, name in (("case", open_cases, "title"), ("action_item", items, "text"))
        for one in rows
        if (text := getattr(one, name)) is not None
    }
    links |= {f"{row.get_kind_display()} {row.period}": reverse("report", args=[tenant.slug, row.pk]) for row in owed}
    made = Sheet(
        tenant=tenant.slug,
        name=tenant.name,
        audience=audience,
        made_at=now,
        reader=str(person),
        about=about,
        sections=[
            _contacts(reader),
            _ahead(reader, open_cases, items, owed),
            _stale(reader, tenant, by_duty, software, ages),
            _people(tenant, by_duty, internal=audience != "shared"),
            _cases(reader, open_cases),
            _items(items),
            _clusters(),
            _jobs(reader),
            _capacity(reader),
            _record(reader, place, software, ages),
            _decisions(),
            _links(place),
        ],
    )
    return replace(made, sections=[replace(section, links=links) for section in made.sections])


def _word(state: str) -> str:
    found = FAMILIES.get(state)
    return str(found[1]) if found else state


def _ahead(reader: Reader, open_cases: list[Case], items: list[ActionItem], owed: list[Report]) -> Section:
    until = reader.today + AHEAD
    found: list[tuple[date, str, str]] = []
    found += [
        (case.next_step_due, f"{case.number} {case.title}", case.next_step) for case in open_cases if case.next_step_due
    ]
    found += [(item.due, f"{item.number} {item.text}", str(item.owner)) for item in items]
    found += _dates(reader, owed)
    rows = [(day.isoformat(), what, more) for day, what, more in sorted(found) if day <= until]
    return Section(
        "ahead",
        _("Due in the next two weeks, and overdue"),
        (_("Day"), _("What"), _("More")),
        rows,
        _("Nothing is due."),
    )


def _dates(reader: Reader, owed: list[Report]) -> list[tuple[date, str, str]]:
    """Reports that are owed and days ahead; what only repeats the title is left out."""
    found = [(row.due_on, f"{row.get_kind_display()} {row.period}", _("the report is to be handed in")) for row in owed]
    for one in home.days(reader.today, reader.zone):
        more = str(one.what)
        found.append((one.on, one.title, "" if more.casefold() == one.title.casefold() else more))
    return found


def stands(request: Any) -> dict[str, Any]:
    """Where a participant stands, for whoever looks after it: last contact, next promise, next days. In its scope."""
    now, pk = timezone.now(), request.tenant.pk
    reader = Reader(request.person, request.role, now)
    owed = list(Report.objects.filter(state__in=sorted(reports.OWED)).order_by("due_on")[:MOST_NEXT])
    promise = contacting.promises([pk]).get(pk)
    return {
        "spoken": contacting.last_spoken([pk]).get(pk),
        "promise": promise,
        "overdue": promise is not None and promise.day < reader.today,
        "ahead": sorted(_dates(reader, owed))[:MOST_NEXT],
    }


def _stale(
    reader: Reader, tenant: Tenant, by_duty: list[Contact], software: list[SoftwareVersion], ages: dict[str, Age]
) -> Section:
    rows: list[tuple[str, ...]] = []
    for word, one in ages.items():
        if one.old and one.changed_at:
            days = (reader.now - one.changed_at).days
            told = ngettext("%(n)s day without a change", "%(n)s days without a change", days) % {"n": days}
            rows.append((str(BLOCKS[word].title), told, str(ROLES.get(one.keeper, one.keeper))))
    days = contacts.confirm_days()
    for row in by_duty:
        if contacts.freshness(row.checked_at, reader.now, days) == contacts.STALE:
            rows.append((f"{row.get_duty_display()}: {row.name}", _("contact not confirmed in time"), ""))
    unconfirmed = [
        seat
        for seat in Membership.objects.filter(holding(), tenant=tenant).select_related("person")
        if contacts.freshness(seat.confirmed_at or seat.created_at, reader.now, days) == contacts.STALE
    ]
    if unconfirmed:
        names = ", ".join(str(seat.person) for seat in unconfirmed[:MOST_DECISIONS])
        rows.append((_("Access"), _("not confirmed in time"), names))
    for pair in side_by_side(software):
        if pair.drifts:
            told = _("declared %(declared)s, measured %(measured)s")
            versions = {"declared": pair.declared.software_version, "measured": pair.measured.software_version}
            rows.append((pair.name, told % versions, ""))
    return Section("stale", _("What is stale"), (_("What"), _("Why"), _("Who keeps it")), rows, _("Nothing is stale."))


def _people(tenant: Tenant, by_duty: list[Contact], *, internal: bool) -> Section:
    rows: list[tuple[str, ...]] = []
    team = Assignment.objects.filter(holding(), tenant=tenant).exclude(duty="service").select_related("person")
    order = list(home.DUTIES)
    for one in sorted(team, key=lambda one: (order.index(one.duty), one.person.name)):
        until = one.ends_on.isoformat() if one.ends_on else ""
        reached = one.person.email if internal else ""  # the participant's own door to the programme is a case
        rows.append((str(one.person), str(home.DUTIES[one.duty]), one.person.timezone, reached, until))
    for row in by_duty:
        reached = ", ".join(text for text in (row.email, row.phone, row.hours) if text)
        rows.append((row.name, _("Contact: %(duty)s") % {"duty": row.get_duty_display()}, row.timezone, reached, ""))
    seats = (
        Membership.objects.filter(holding(), tenant=tenant).select_related("person").order_by("role", "person__name")
    )
    for seat in seats[:MOST]:
        until = seat.ends_on.isoformat() if seat.ends_on else ""
        role = str(ROLES.get(seat.role, seat.role))
        rows.append((str(seat.person), role, seat.person.timezone, seat.person.email, until))
    columns = (_("Name"), _("Duty"), _("Time zone"), _("Reached at"), _("Until"))
    return Section("people", _("People and duties"), columns, rows, _("Nobody is written down."))


def _cases(reader: Reader, open_cases: list[Case]) -> Section:
    rows = [
        (
            f"{case.number} {case.title}", str(SEVERITIES.get(case.severity, case.severity)), _word(case.state),
            str(case.owner or "–"), case.next_step or "–", _day(case.next_step_due),
        )
        for case in open_cases
    ]  # fmt: skip
    columns = (_("Case"), _("Severity"), _("State"), _("Owner"), _("Next step"), _("Promised for"))
    return Section("cases", _("Open cases"), columns, rows, _("No case is open."))


def _items(items: list[ActionItem]) -> Section:
    rows = [(f"{item.number} {item.text}", str(item.owner), _day(item.due), _word(item.state)) for item in items]
    columns = (_("Action item"), _("Owner"), _("By"), _("State"))
    return Section("action_items", _("Open action items"), columns, rows, _("No action item is open."))


def _clusters() -> Section:
    rows = [
        (
            row["name"], _word(row["state"]), f"{row['nodes_running']} / {row['nodes_wanted']}",
            row["main_type"], f"{row['region']} {row['az_id']}", row["needs_person"] or "",
        )
        for row in cluster_queries.clusters().order_by("name")[:MOST]
    ]  # fmt: skip
    columns = (_("Cluster"), _("State"), _("Nodes"), _("Instance type"), _("Zone"), _("Needs a person"))
    return Section("clusters", _("Clusters"), columns, rows, _("There is no cluster."))


def _jobs(reader: Reader) -> Section:
    jobs = list(
        Job.objects.filter(purpose=Job.Purpose.TRAINING, state__in=cluster_states.JOB_LIVE)
        .select_related("cluster").order_by("-started_at", "name")[:MOST]
    )  # fmt: skip
    known = {row.job_id: row for row in JobProgress.objects.filter(job__in=[job.pk for job in jobs])}
    rows = []
    for job in jobs:
        progress = known.get(job.pk)
        step = f"{progress.step} / {progress.total_steps or '–'}" if progress and progress.step is not None else "–"
        rows.append(
            (job.name, _word(job.state), job.cluster.name, str(job.nodes), reader.moment(job.started_at), step,
             reader.moment(job.checkpoint_at))
        )  # fmt: skip
    columns = (_("Job"), _("State"), _("Cluster"), _("Nodes"), _("Started"), _("Step"), _("Last checkpoint"))
    return Section("jobs", _("Running jobs"), columns, rows, _("No job runs."))


def _capacity(reader: Reader) -> Section:
    rows: list[tuple[str, ...]] = [
        (
            f"{row.count} × {row.instance_type}", str(row.get_kind_display()), _word(row.state), row.az_id,
            reader.moment(row.starts_at), reader.moment(row.ends_at),
        )
        for row in cluster_queries.reservations().exclude(state="ended")[:MOST]
    ]  # fmt: skip
    for told in cluster_queries.granted_and_used()[:MOST]:
        grant = told["grant"]
        granted = _("unlimited") if grant.unlimited else str(grant.approved_instances)
        used = _("%(used)s of %(granted)s used") % {"used": told["used"], "granted": granted}
        rows.append((grant.instance_type, _("quota"), used, grant.region, "", ""))
    columns = (_("What"), _("Kind"), _("State"), _("Zone"), _("From"), _("Until"))
    return Section("capacity", _("Capacity and when it ends"), columns, rows, _("Nothing is reserved or granted."))


def _record(
    reader: Reader, place: Participation | None, software: list[SoftwareVersion], ages: dict[str, Age]
) -> Section:
    told: list[tuple[str, str, str]] = [
        ("model", model.name, f"{model.get_family_display()}, {_('%(n)s billion parameters') % {'n': _amount(model.total_params_b)}}, "
         f"{model.phase or '–'}, {_amount(model.done_amount)} / {_amount(model.target_amount)} {model.get_amount_unit_display()}")
        for model in TrainingModel.objects.filter(participation=place).order_by("code")[:MOST]
    ]  # fmt: skip
    told += [
        ("framework", use.name, use.core_version or "–")
        for use in FrameworkUse.objects.filter(participation=place).order_by("name")[:MOST]
    ]
    told += [
        ("software", pair.name, (pair.measured or pair.declared).software_version)
        for pair in side_by_side(software)[:MOST]
    ]
    rows = [
        (f"{BLOCKS[word].title}: {name}", text, reader.moment(ages[word].changed_at) if word in ages else "–")
        for word, name, text in told
    ]
    columns = (_("What"), _("What the record says"), _("Last changed or confirmed"))
    return Section("record", _("Tracking record"), columns, rows, _("The record is empty."))


def _decisions() -> Section:
    rows = [
        (f"{one.number} {one.text}", str(one.decided_by), _day(one.decided_on), one.reason)
        for one in Decision.objects.select_related("decided_by").order_by("-decided_on", "-id")[:MOST_DECISIONS]
    ]
    columns = (_("Decision"), _("Decided by"), _("On"), _("Reason"))
    return Section("decisions", _("Decisions"), columns, rows, _("Nothing was decided yet."))


def _contacts(reader: Reader) -> Section:
    rows = [
        (reader.moment(line.at), line.sentence, line.text) for line in lines(list(contacting.spoken()[:MOST_CONTACTS]))
    ]
    columns = (_("When"), _("What it was"), _("What was said"))
    return Section("contacts", _("Last contacts"), columns, rows, _("No meeting, call or message is written down."))


def _links(place: Participation | None) -> Section:
    rows = [
        (one.name, str(one.get_kind_display()), one.link)
        for one in MonitoringLink.objects.filter(participation=place).order_by("kind", "name")[:MOST]
    ]
    columns = (_("Name"), _("Kind"), _("Link"))
    return Section("links", _("Channels and where it is watched"), columns, rows, _("No link is written down."))


def _day(day: date | None) -> str:
    return day.isoformat() if day else "–"


def _amount(number: Any) -> str:
    return "–" if number is None else f"{number.normalize():f}"


def markdown(made: Sheet, stamp: str) -> str:
    """The sheet as Markdown; what people wrote stays text and becomes neither a heading nor a link."""
    return "\n".join(_markdown(made, stamp)) + "\n"


def _markdown(made: Sheet, stamp: str) -> Iterator[str]:
    yield f"# {_plain(made.name)}"
    yield ""
    yield _plain(stamp)
    if made.about:
        yield ""
        yield _plain(made.about)
    for section in made.sections:
        yield ""
        yield f"## {section.title}"
        yield ""
        if not section.rows:
            yield str(section.empty)
            continue
        yield _row(section.columns)
        yield _row(["---"] * len(section.columns), plain=False)
        for row in section.rows:
            yield _row(row)


def _row(cells: Iterable[Any], *, plain: bool = True) -> str:
    return "| " + " | ".join(_plain(str(cell)) if plain else str(cell) for cell in cells) + " |"


def _plain(text: str) -> str:
    return SPECIAL.sub(r"\\\1", " ".join(text.split()))
