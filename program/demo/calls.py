"""The demo's call for its next cycle: open now, with two newcomers and a participant that applies again, scored by two."""

from __future__ import annotations

from datetime import date, timedelta

from django.db import transaction
from django.utils import timezone

from program.calls import applying, calling, cycles, need, selecting
from program.models import Application, Call
from program.transfer.dates import Row
from program.transfer.directory import Directory
from tenants.models import Cycle, Membership
from tenants.wall.acting import reading_everyone

OPEN_FOR = timedelta(days=21)
LASTS_DAYS = timedelta(days=26 * 7 - 1)  # of a cycle, as the one before it
LARGE, SMALL = "p5.48xlarge", "trn1.32xlarge"
TEXT = """For organisations that train foundation models and give them to others.

Judged are performance, openness and feasibility. Whoever is selected reports every month, passes a stage gate, and \
publishes what it trained."""
GIVES = """Instances with H100 and H200 GPUs or Trainium2, in the Region that you ask for; a lead architect who helps to begin; \
and sessions on training at scale."""
LASTS = "From the beginning of the cycle to its end; longer where capacity is left."
PAID_BY = "The programme pays for the accelerators that it grants. You pay for storage that stays, and for your people."
# Organisation, address, kind, sector, project, models, can procure, openness, licence, spans as (from, days, type, minimum, peak).
NEWCOMERS = (
    (
        "Kumo Speech", "apply@kumo-speech.example", "start-up", "media", "Speech for every dialect", "A 7B and a 32B model.",
        "no", "Weights, and the data without names.", "Apache-2.0", ((0, 112, LARGE, 2, 4), (112, 56, LARGE, 6, 12)),
    ),
    (
        "Institute for Sea and Weather", "compute@sea-weather.example", "institute", "environment",
        "A model of coastal weather", "A 13B model of gridded data.", "partly", "Everything, with a paper.", "CC BY 4.0",
        ((14, 140, SMALL, 4, 8),),
    ),
)  # fmt: skip
POINTS = ((4, 4, 3), (3, 5, 4), (5, 3, 4))


def open_one(told: Row, who: Directory) -> int:
    """Open the call of the cycle that is prepared, once; how many applications are handed in."""
    cycle = Cycle.objects.filter(state="preparing").order_by("starts_on").first()
    manager = who.manager.actor
    if cycle is None:
        return 0
    with reading_everyone():
        known = Call.objects.filter(cycle=cycle).first()
        if known is not None:
            return Application.objects.filter(call=known).exclude(state="draft").count()
    now = timezone.now()
    begins = max(cycle.starts_on, (now + OPEN_FOR).date())
    if cycle.ends_on is None:
        with transaction.atomic():
            cycle = cycles.change(cycle=cycle, values={"ends_on": begins + LASTS_DAYS}, by=manager)
    call = calling.open_call(
        call=calling.draft(
            by=manager, cycle=cycle, title=f"Applications to {cycle.name}", text=TEXT, most_instances=64, small_hours=5000,
            gives=GIVES, lasts=LASTS, paid_by=PAID_BY, ask=f"{who.manager.name}, {who.manager.email}",
            opens_at=now - timedelta(days=7), closes_at=now + OPEN_FOR,
        ),
        by=manager,
    )  # fmt: skip
    rows = [_newcomer(call, begins, *one) for one in NEWCOMERS]
    again = _again(call, begins, told, who)
    _score([*rows, *([again] if again else [])], who)
    return len(rows) + bool(again)


def _spans(begins: date, parts: tuple[tuple[int, int, str, int, int], ...]) -> list[Row]:
    found = []
    for first, days, kind, minimum, peak in parts:
        starts = begins + timedelta(days=first)
        span = need.Span(starts, starts + timedelta(days=days - 1), (kind,), ("ap-northeast-1",), minimum, peak)
        found.append(span.kept())
    return found


def _newcomer(
    call: Call, begins: date, name: str, email: str, kind: str, sector: str, project: str, intended: str, procure: str,
    openness: str, licence: str, spans: tuple[tuple[int, int, str, int, int], ...],
) -> Application:  # fmt: skip
    applying.begin_by_mail(call=call, email=email, organisation=name)
    with reading_everyone():
        row = Application.objects.get(call=call, contact_email=email)
    applying.confirm(row)
    return applying.save(
        application=row, by="engine", hands_in=True, organisation_kind=kind, sector=sector, contact_name=f"Office of {name}",
        project=project, summary=f"{project}, trained in the open.", intended=intended, procure=procure, openness=openness,
        licence=licence, need=_spans(begins, spans),
    )  # fmt: skip


def _again(call: Call, begins: date, told: Row, who: Directory) -> Application | None:
    """The first participant applies for more."""
    tenant = who.tenants[told["participants"][0]["slug"]]
    lead = Membership.objects.filter(tenant=tenant, role="business_lead").select_related("person").first()
    if lead is None:
        return None
    row = applying.begin(call=call, tenant=tenant, person=lead.person, by=lead.person.actor)
    return applying.save(
        application=row, by=lead.person.actor, hands_in=True, project="The next generation", procure="no",
        summary="What was learned, at four times the size.", intended="A 300B mixture of experts.",
        openness="Weights and evaluations.", licence="Apache-2.0", need=_spans(begins, ((0, 168, LARGE, 16, 32),)),
    )  # fmt: skip


def _score(rows: list[Application], who: Directory) -> None:
    for row, points in zip(rows, POINTS, strict=False):
        given = dict(zip(selecting.CRITERIA, points, strict=True))
        selecting.score(
            application=row, person=who.manager, by=who.manager.actor, reason="By what is written, as far as it goes.",
            **given,
        )  # fmt: skip
