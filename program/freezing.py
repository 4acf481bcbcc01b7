"""Freezing a review: the state of everything at a past moment, computed from history and never from current fields."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, connection, transaction
from django.db.models import Count, Q, QuerySet
from django.utils.translation import gettext as _

from program import inputs, states
from program.changes import changes
from program.figures import Broken, Event, Figures, Item, agenda, figures, state_at
from program.measures import measures
from program.models import Review, ReviewItem
from program.snapshots import digest, snapshot
from support.models import Case
from tenants.history import timeline
from tenants.history.models import Entry
from tenants.history.seals import settled_until
from tenants.models import Cycle, Participation, Tenant
from tenants.wall.acting import acting_for, reading_everyone
from tenants.web.problems import Refused

CHUNK = 2_000


def freeze(
    *,
    cycle: Cycle,
    cutoff: datetime,
    by: str,
    regular: bool = True,
    frozen_at: datetime | None = None,
    at: datetime | None = None,
    **facts: Any,
) -> Review:
    """Freeze the next review of a cycle as of `cutoff`, a past moment after the last review's.

    `frozen_at` is for who imports a past that nobody else writes: it need not wait until that has settled.
    Raises Refused when the moment lies ahead, has not settled, or was reviewed; or names the cases that do not add up.
    """
    office = Tenant.objects.get(is_office=True)
    with acting_for(office, staff=True):
        _alone(cycle)
        frozen_at = frozen_at or settled_until()
        _refuse_the_wrong_moment(cutoff, frozen_at)
        last = Review.objects.filter(cycle=cycle).order_by("-cutoff_at").first()
        if last and cutoff <= last.cutoff_at:
            raise Refused(
                "cutoff_before_last",
                _("Review %(number)s already covers everything until %(last)s. Choose a later moment.")
                % {"number": last.number, "last": _shown(last.cutoff_at)},
                last=last.cutoff_at.isoformat(),
                number=last.number,
            )
        with reading_everyone():
            taking_part = _taking_part(cycle, frozen_at)
            joined = _joined_since(taking_part, last)
            window = inputs.Window(cycle, {part.tenant: part.slug for part in taking_part}, last, cutoff, frozen_at)
            events = _events(taking_part, joined, cutoff, frozen_at, last)
            found = figures(events, lambda event: was_counted(event, last, joined))
            _refuse_what_does_not_add_up(found, last)
            items = agenda(found.open_cases, cutoff, _times(cycle, found), found.carried_cases)
            beside = _beside(window, events, found, joined)
        review = _write(cycle, office, last, cutoff, frozen_at, found, items, beside, by, regular)
        _write_items(review, items)
        timeline.record(
            states.REVIEW_FROZEN,
            about=review,
            by=by,
            at=at,
            number=review.number,
            cutoff=cutoff.isoformat(),
            open_now=found.open_now,
            sha256=review.sha256,
            **facts,
        )
    return review


@dataclass(frozen=True)
class TakingPart:
    """A tenant that takes part in the cycle, and since when we know it."""

    participation: UUID
    tenant: UUID
    slug: str
    since: datetime


def _taking_part(cycle: Cycle, frozen_at: datetime) -> list[TakingPart]:
    """Who had joined when the freeze reads its last entry: the next freeze must be able to tell who came after."""
    columns = ("pk", "tenant_id", "tenant__slug", "created_at")
    everybody = [TakingPart(*row) for row in Participation.objects.filter(cycle=cycle).values_list(*columns)]
    if not everybody:
        raise Refused(
            "empty_cycle", _("Nobody takes part in %(cycle)s yet: there is nothing to review.") % {"cycle": cycle}
        )
    return [part for part in everybody if part.since <= frozen_at]


def _joined_since(taking_part: list[TakingPart], last: Review | None) -> frozenset[str]:
    """Whom the last review could not see. A tenant is joined from its first participation in the cycle on."""
    if last is None:
        return frozenset()
    known = {part.slug for part in taking_part if part.since <= last.frozen_at}
    return frozenset(part.slug for part in taking_part) - known


def _beside(window: inputs.Window, events: list[Event], found: Figures, joined: frozenset[str]) -> dict[str, Any]:
    """What is frozen beside the cases: the other inputs, the difference to the last review, how well the work went."""
    last = window.last
    actions = inputs.actions(window)

    def before(event: Event) -> bool:
        return was_counted(event, last, joined)

    return {
        "inputs": inputs.inputs(window, found.open_cases, actions),
        "changes": changes(events, inputs.others(window), before, window.slugs.values(), window.cutoff),
        "measures": measures(events, actions, before, window.since, window.cutoff, inputs.surveys(window)),
    }


def _alone(cycle: Cycle) -> None:
    """Two freezes at once would count the same entries twice; the second is told so instead of waiting."""
    with connection.cursor() as cursor:
        cursor.execute("select pg_try_advisory_xact_lock(hashtextextended(%s, 0))", [f"freeze {cycle.pk}"])
        if not cursor.fetchone()[0]:
            raise _frozen_meanwhile()


def _frozen_meanwhile() -> Refused:
    return Refused(
        "frozen_meanwhile", _("Somebody else froze a review of this cycle at the same moment. Look at that one.")
    )


def _refuse_the_wrong_moment(cutoff: datetime, frozen_at: datetime) -> None:
    if cutoff.tzinfo is None:
        raise Refused("cutoff", _("Say the moment with its time zone."), status=422, field="cutoff")
    margin = timedelta(seconds=settings.SETTLE_SECONDS)
    if cutoff > frozen_at + margin:
        raise Refused(
            "cutoff_ahead",
            _("%(cutoff)s lies ahead; a review looks back.") % {"cutoff": _shown(cutoff)},
            field="cutoff",
        )
    if cutoff > frozen_at:
        ready = cutoff + margin
        raise Refused(
            "not_settled",
            _("Entries up to %(cutoff)s may still arrive; it can be frozen from %(ready)s on.")
            % {"cutoff": _shown(cutoff), "ready": _shown(ready)},
            field="cutoff",
            ready_at=ready.isoformat(),
        )


def _shown(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d %H:%M:%S %Z")


def _events(
    taking_part: list[TakingPart], joined: frozenset[str], cutoff: datetime, frozen_at: datetime, last: Review | None
) -> list[Event]:
    """Every counted entry about the cases that were open at the last review or have been heard of since."""
    slugs = {part.tenant: part.slug for part in taking_part}
    # A case of a tenant with no single participation belongs to every cycle the tenant takes part in.
    ours = Q(participation__in=[part.participation for part in taking_part]) | Q(
        participation=None, tenant__in=list(slugs)
    )
    counted = Entry.objects.filter(ours, subject=Case.SUBJECT, occurred_at__lte=cutoff, recorded_at__lte=frozen_at)
    if last is not None:
        heard = counted.filter(Q(occurred_at__gt=last.cutoff_at) | Q(recorded_at__gt=last.frozen_at))
        cases = {str(case) for case in heard.values_list("subject_id", flat=True).distinct()}
        cases |= {item["case"] for item in last.snapshot["items"]}
        newcomers = [part.tenant for part in taking_part if part.slug in joined]
        cases |= _brought_along(_told(counted.filter(tenant__in=newcomers), slugs)) if newcomers else set()
        counted = counted.filter(subject_id__in=cases)
    return _told(counted, slugs)


def _told(entries: QuerySet[Entry], slugs: Mapping[UUID, str]) -> list[Event]:
    columns = ("id", "subject_id", "tenant_id", "kind", "occurred_at", "recorded_at", "facts")
    return [
        Event(pk, str(case), slugs[tenant], kind, at, recorded, facts)
        for pk, case, tenant, kind, at, recorded, facts in entries.values_list(*columns).iterator(chunk_size=CHUNK)
    ]


def _brought_along(events: list[Event]) -> set[str]:
    """Cases that a newcomer brings: open ones. What ended before it joined never was this cycle's work."""
    histories: dict[str, list[Event]] = {}
    for event in events:
        histories.setdefault(event.case, []).append(event)
    return {case for case, history in histories.items() if state_at(history).open}


def was_counted(event: Event, last: Review | None, joined: frozenset[str] = frozenset()) -> bool:
    """Whether the last review counted this entry: what came in later counts now, whenever it happened.

    Of who `joined` since, it counted nothing: those cases come into the balance as opened in this window.
    """
    if last is None or event.tenant in joined:
        return False
    return event.at <= last.cutoff_at and event.recorded_at <= last.frozen_at


def _refuse_what_does_not_add_up(found: Figures, last: Review | None) -> None:
    if last is not None and found.open_before != last.open_now:
        raise Refused(
            "balance",
            _("Review %(number)s left %(then)s cases open; its own entries now tell of %(now)s.")
            % {"number": last.number, "then": last.open_now, "now": found.open_before},
        )
    if not found.balanced:
        broken = ", ".join(f"{case.tenant} {case.number or case.case}" for case in found.broken)
        sentence = _("The history of %(cases)s does not add up: correct it, then freeze again.") % {"cases": broken}
        told = [vars(case) | {"explanation": explained(case)} for case in found.broken]
        raise Refused("balance", " ".join([sentence, *(case["explanation"] for case in told[:5])]), cases=told)


def explained(case: Broken) -> str:
    """The sum of one case, in words: where its history and its state part."""
    return _(
        "%(number)s was %(before)s before, was opened %(opened)s, reopened %(reopened)s and resolved %(resolved)s times, "
        "and is %(now)s."
    ) % {
        "number": case.number or case.case,
        "before": _("open") if case.before else _("not open"),
        "opened": case.opened,
        "reopened": case.reopened,
        "resolved": case.resolved,
        "now": _("open") if case.now else _("not open"),
    }


def _times(cycle: Cycle, found: Figures) -> dict[str, int]:
    """On how many agendas of this cycle each open case was before."""
    reviews = list(Review.objects.filter(cycle=cycle).values_list("pk", flat=True))
    rows = ReviewItem.objects.filter(review_id__in=reviews, case__in=[then.case for then in found.open_cases])
    return {str(row["case_id"]): row["times"] for row in rows.values("case_id").annotate(times=Count("id"))}


def _write(
    cycle: Cycle,
    office: Tenant,
    last: Review | None,
    cutoff: datetime,
    frozen_at: datetime,
    found: Figures,
    items: list[Item],
    beside: dict[str, Any],
    by: str,
    regular: bool,
) -> Review:
    number = last.number + 1 if last else 1
    frozen = snapshot(cycle, number, last, cutoff, frozen_at, found, items) | beside
    counts = ("open_before", "opened", "reopened", "resolved", "open_now", "carried", "mitigated")
    try:
        with transaction.atomic():
            return Review.objects.create(
                tenant=office,
                cycle=cycle,
                number=number,
                regular=regular,
                previous_cutoff_at=last.cutoff_at if last else None,
                cutoff_at=cutoff,
                frozen_at=frozen_at,
                snapshot=frozen,
                sha256=digest(frozen),
                held_by=by,
                **{name: getattr(found, name) for name in counts},
            )
    except IntegrityError as error:
        raise _frozen_meanwhile() from error


def _write_items(review: Review, items: list[Item]) -> None:
    """Each participant's items are its own rows, written while acting for it."""
    tenants = {tenant.slug: tenant for tenant in Tenant.objects.filter(slug__in={item.then.tenant for item in items})}
    for slug, tenant in tenants.items():
        with acting_for(tenant, staff=True):
            ReviewItem.objects.bulk_create(
                ReviewItem(
                    tenant=tenant,
                    review_id=review.pk,
                    case_id=item.then.case,
                    position=position,
                    agenda_group=item.group,
                    state_then=item.then.state,
                    severity_then=item.then.severity,
                    age_days=item.age,
                    idle_days=item.idle,
                    times_on_agenda=item.times,
                    carried_over=item.carried,
                    owner_id=item.then.owner,
                    next_step=item.then.next_step,
                    next_step_due=item.then.due,
                )
                for position, item in enumerate(items, start=1)
                if item.then.tenant == slug
            )
