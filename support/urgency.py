"""The order in which cases ask for somebody, as one text that the database can sort and a page can go on from."""

from datetime import datetime

from django.db.models import BigIntegerField, Case, CharField, DateTimeField, Q, QuerySet, Value, When
from django.db.models.functions import Cast, Extract, Greatest

from support import states
from support.clocks import FIRST_RESPONSE

LATE, OPEN, ENDED = 1, 2, 3
RANK, STEP = 10**12, 10**11  # the same number of digits for every case, so that text and number sort alike


def by_urgency(rows: QuerySet, now: datetime) -> QuerySet:
    """Annotates `urgency`: unanswered past its time first, then by severity, then the oldest; ended ones last, newest first."""
    return rows.annotate(urgency=Cast(_rank(now), CharField()))


def _rank(now: datetime) -> Case:
    worst_first = Case(
        *(When(severity=word, then=Value(place)) for place, word in enumerate(states.SEVERITIES)), default=Value(9)
    )
    living = worst_first * Value(STEP, BigIntegerField()) + _epoch(_began())
    newest_first = Value(STEP, BigIntegerField()) - _epoch(Greatest("opened_at", "resolved_at"))
    return Case(
        When(state__in=states.ENDED, then=Value(ENDED * RANK, BigIntegerField()) + newest_first),
        When(_late(now), then=Value(LATE * RANK, BigIntegerField()) + living),
        default=Value(OPEN * RANK, BigIntegerField()) + living,
        output_field=BigIntegerField(),
    )


def _began() -> Greatest:
    """Postgres leaves nulls out of the greatest."""
    return Greatest("opened_at", "reopened_at", output_field=DateTimeField())


def _epoch(moment: Greatest) -> Cast:
    return Cast(Extract(moment, "epoch"), BigIntegerField())


def _late(now: datetime) -> Q:
    """What support.clocks.response_overdue says, in SQL."""
    unanswered = Q(first_response_at=None) | Q(first_response_at__lt=_began())
    over = Q()
    for word, limit in FIRST_RESPONSE.items():
        before: datetime = now - limit
        over |= (
            Q(severity=word, opened_at__lt=before)
            & _null_or_before("reopened_at", before)
            & _null_or_before("severity_raised_at", before)
        )
    return unanswered & over


def _null_or_before(column: str, moment: datetime) -> Q:
    return Q(**{column: None}) | Q(**{f"{column}__lt": moment})
