"""What a cycle will need week by week, as it was applied for and selected, beside what is reserved."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.utils.translation import gettext as _

from clusters.models import Reservation
from program.calls import calling, need
from program.models import Application
from tenants.models import Cycle
from tenants.web import charts

UNDECIDED = ("submitted", "waitlisted")
HELD = ("bought", "active")
MOST_WEEKS = 156


@dataclass(frozen=True)
class Amount:
    """Instances at the peak of the week, and accelerator-hours within it."""

    instances: int = 0
    hours: int = 0


@dataclass(frozen=True)
class Row:
    """One week, type and Region."""

    week: date
    instance_type: str
    region: str
    applied: Amount
    selected: Amount
    reserved: Amount

    @property
    def missing(self) -> int:
        """Instances that are selected and not reserved."""
        return max(0, self.selected.instances - self.reserved.instances)


def table(
    applied: Sequence[need.Span], selected: Sequence[need.Span], reserved: Sequence[need.Span], each: need.Accelerators
) -> list[Row]:
    """Rows in order of time, of the types and Regions that somebody asks for."""
    sides = [need.by_week(spans, each) for spans in (applied, selected, reserved)]
    asked = {*sides[0][0], *sides[1][0]}
    kinds = {(kind, region) for _week, kind, region in asked}
    weeks = {week for week, _kind, _region in asked}
    # Between the first and the last week also where only something is reserved: what is free then is worth knowing.
    keys = asked | {key for key in sides[2][0] if key[1:] in kinds and min(weeks) <= key[0] <= max(weeks)}
    return [
        Row(*key, *(Amount(instances.get(key, 0), hours[key]) for instances, hours in sides)) for key in sorted(keys)
    ]


def chart(rows: Sequence[Row], weeks: Iterable[date]) -> charts.Chart:
    """Accelerator-hours of each week: undecided, selected, reserved."""
    weeks = list(weeks)
    sums: dict[str, dict[date, int]] = {_("Applied for"): {}, _("Selected"): {}, _("Reserved"): {}}
    for row in rows:
        for name, amount in zip(sums, (row.applied, row.selected, row.reserved), strict=True):
            sums[name][row.week] = sums[name].get(row.week, 0) + amount.hours
    lines = {name: [values.get(week, 0) for week in weeks] for name, values in sums.items()}
    return charts.by_step([f"{week:%m-%d}" for week in weeks], lines)


def weeks_of(rows: Sequence[Row]) -> list[date]:
    """Every Monday from the first to the last row."""
    if not rows:
        return []
    count = (rows[-1].week - rows[0].week).days // 7 + 1
    return [rows[0].week + timedelta(days=7 * number) for number in range(min(count, MOST_WEEKS))]


def spans_of(cycle: Cycle, states: Iterable[str]) -> list[need.Span]:
    """The need of all applications of a cycle in these states, within the scope."""
    needs = Application.objects.filter(call__cycle=cycle, state__in=list(states)).values_list("need", flat=True)
    return [span for rows in needs for span in need.read(rows)]


def reserved_spans(first: date, last: date) -> list[need.Span]:
    """What is reserved between two days, of whichever participation and cycle, within the scope."""
    # Days are those of UTC here, whatever zone the reader's pages are in.
    begins, ends = datetime.combine(first, time.min, UTC), datetime.combine(last, time.max, UTC)
    rows = Reservation.objects.filter(state__in=HELD, starts_at__lte=ends, ends_at__gte=begins)
    return [
        need.Span(max(starts.date(), first), min(ends.date(), last), (kind,), (region,), count, count)
        for starts, ends, kind, region, count in rows.values_list(
            "starts_at", "ends_at", "instance_type", "region", "count"
        )
    ]


def reserved_hours(cycle: Cycle) -> int:
    """Accelerator-hours that are reserved within the days of a cycle."""
    last = cycle.ends_on or cycle.starts_on + timedelta(days=365)
    return need.total(reserved_spans(cycle.starts_on, last), calling.each).hours


def forecast(cycle: Cycle) -> list[Row]:
    """The table of a cycle: three statements, whatever its size."""
    applied, selected = spans_of(cycle, UNDECIDED), spans_of(cycle, ("selected",))
    asked = [*applied, *selected]
    if not asked:
        return []
    first, last = min(span.starts_on for span in asked), max(span.ends_on for span in asked)
    return table(applied, selected, reserved_spans(need.monday(first), last), calling.each)


HEADER = (
    "week", "instance_type", "region", "applied_instances", "applied_accelerator_hours", "selected_instances",
    "selected_accelerator_hours", "reserved_instances", "reserved_accelerator_hours",
)  # fmt: skip


def cells(row: Row) -> list[Any]:
    """A row as it stands in the file and in the API, in the order of HEADER."""
    return [
        row.week.isoformat(), row.instance_type, row.region, row.applied.instances, row.applied.hours,
        row.selected.instances, row.selected.hours, row.reserved.instances, row.reserved.hours,
    ]  # fmt: skip
