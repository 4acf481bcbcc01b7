"""The trend of a cycle's last reviews, read from what each froze: nothing is counted anew, so old weeks never change."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from django.db.models import Exists, OuterRef

from program.measures import shares
from program.models import Review
from support import clocks
from support.models import Case
from tenants.models import Cycle
from tenants.web.charts import Chart, by_step

WEEKS = 12


def shown_cycle() -> Cycle | None:
    """The cycle that a trend is about unless somebody names another: the newest that has been reviewed."""
    reviewed = Cycle.objects.filter(Exists(Review.objects.filter(cycle=OuterRef("pk"))))
    return reviewed.order_by("-starts_on").first() or Cycle.objects.order_by("-starts_on").first()


def trend(cycle: Cycle, weeks: int = WEEKS) -> list[dict[str, Any]]:
    """One row for each of the last reviews, the oldest first. They exist only for staff."""
    newest = Review.objects.filter(cycle=cycle).order_by("-cutoff_at")[:weeks]
    columns = (
        "id",
        "number",
        "cutoff_at",
        "regular",
        "open_before",
        "opened",
        "reopened",
        "resolved",
        "open_now",
        "carried",
        "mitigated",
    )
    rows = newest.values(*columns, "snapshot__bands", "snapshot__measures")
    return [_week(row) for row in reversed(list(rows))]


def _week(row: dict[str, Any]) -> dict[str, Any]:
    bands, told = row.pop("snapshot__bands") or {}, row.pop("snapshot__measures") or {}
    shared = shares(told)
    resolve, mitigate = told.get("resolve_hours", {}), told.get("mitigate_hours", {})
    return {
        **row,
        "cutoff_at": row["cutoff_at"].isoformat(),
        "bands": {label: int(bands.get(label, 0)) for _least, label in clocks.BANDS},
        "carry_over_rate": _share(row["carried"], row["open_before"]),
        "reopened_rate": _share(row["reopened"], row["resolved"]),
        "response_within_target": shared["response"],
        "response_percent": _percent(shared["response"]),
        "actions_percent": _percent(shared["actions"]),
        "responses_due": told.get("response", {}).get("due", 0),
        "resolve_hours_median": resolve.get("median"),
        "resolve_hours_p90": resolve.get("p90"),
        "mitigate_hours_median": mitigate.get("median"),
        "actions_on_time": shared["actions"],
        "actions_overdue": told.get("actions", {}).get("overdue", 0),
        "articles_share": shared["articles"],
        "articles_percent": _percent(shared["articles"]),
        "satisfaction": _mean(told),
        "survey_answers": told.get("satisfaction", {}).get("answers", 0),
        "lost_hours": {cause: float(Decimal(hours)) for cause, hours in told.get("lost_hours", {}).items()},
    }


def _mean(told: dict[str, Any]) -> float | None:
    mean = told.get("satisfaction", {}).get("mean")
    return None if mean is None else float(mean)


def _share(part: int, whole: int) -> float | None:
    """None, not zero, where there was nothing to have a share of."""
    return part / whole if whole else None


def _percent(share: float | None) -> int | None:
    return None if share is None else round(100 * share)


def charts(weeks: Sequence[dict[str, Any]]) -> dict[str, Chart]:
    """The trend as drawings, by the name of each."""
    steps = [str(week["number"]) for week in weeks]

    def percent(name: str) -> list[float | None]:
        return [None if week[name] is None else round(100 * week[name], 1) for week in weeks]

    def plain(name: str) -> list[float | None]:
        return [week[name] for week in weeks]

    causes = sorted({cause for week in weeks for cause in week["lost_hours"]})
    words = dict(Case.Cause.choices)
    return {
        "bands": by_step(
            steps, {label: [week["bands"][label] for week in weeks] for _least, label in clocks.BANDS}, least=1
        ),
        "carried": by_step(
            steps, {"carried": percent("carry_over_rate"), "reopened": percent("reopened_rate")}, "%", 100
        ),
        "within": by_step(
            steps, {"response": percent("response_within_target"), "actions": percent("actions_on_time")}, "%", 100
        ),
        "hours": by_step(steps, {"median": plain("resolve_hours_median"), "p90": plain("resolve_hours_p90")}, least=1),
        "articles": by_step(steps, {"articles": percent("articles_share")}, "%", 100),
        "satisfaction": by_step(steps, {"satisfaction": plain("satisfaction")}, least=5),
        "lost": by_step(
            steps,
            {str(words.get(cause, cause)): [week["lost_hours"].get(cause, 0) for week in weeks] for cause in causes},
            least=1,
        ),
    }
