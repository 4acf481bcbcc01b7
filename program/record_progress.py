"""What a participant's page shows of data, milestones, evaluations and results, and how old each block of the record is."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from uuid import UUID

from django.utils.translation import gettext_lazy

from tenants.models import DataIngest, Evaluation, Milestone, MonitoringLink, Result
from tenants.queries import confirmed_blocks
from tenants.record_blocks import BLOCKS, age, milestone_word


def shown(now: datetime, today: date, participation: UUID | None, **others: Iterable[Any]) -> dict[str, Any]:
    """The blocks of one participation in the order of their page, and the age of each; `others` were read already."""
    of = {"participation": participation}
    ingests = list(DataIngest.objects.filter(**of).order_by("name"))
    milestones = list(Milestone.objects.filter(**of).order_by("due_on", "title"))
    monitoring = list(MonitoringLink.objects.filter(**of).order_by("kind", "name"))
    confirmed = {word: at for (place, word), at in confirmed_blocks().items() if place == participation}
    aged = {**others, "ingest": ingests, "milestone": milestones, "monitoring": monitoring}
    return {
        "ingests": ingests,
        "milestones": [(one, milestone_word(one.due_on, one.done_on, today)) for one in milestones],
        "evaluations": list(Evaluation.objects.filter(**of).order_by("model_code", "benchmark", "-measured_on")),
        "results": list(Result.objects.filter(**of).order_by("kind", "title")),
        "monitoring": monitoring,
        "ages": {
            word: age(BLOCKS[word], _newest([row.updated_at for row in rows], confirmed.get(word)), now)
            for word, rows in aged.items()
        },
    }


@dataclass(frozen=True)
class Jump:
    """A part of the page to go to: how many lines it has, and when they were changed."""

    place: str
    title: Any
    count: int
    changed_at: datetime | None = None
    old: bool = False


# (its place, its title, where its lines are in what the page shows, the block whose age it is)
PLACES: tuple[tuple[str, Any, tuple[str, ...], str], ...] = (
    ("clusters", gettext_lazy("Clusters"), ("clusters",), ""),
    ("cases", gettext_lazy("Open cases"), ("cases_in_all",), ""),
    ("models", gettext_lazy("Models in training"), ("models",), "model"),
    ("quotas", gettext_lazy("Quotas"), ("quotas",), ""),
    ("ingests", gettext_lazy("Data"), ("ingests",), "ingest"),
    ("evaluations", gettext_lazy("Evaluations"), ("evaluations",), ""),
    ("monitoring", gettext_lazy("Where it is watched"), ("monitoring",), "monitoring"),
    ("frameworks", gettext_lazy("Framework"), ("frameworks",), "framework"),
    ("storage", gettext_lazy("Storage"), ("file_systems", "buckets"), ""),
    ("reservations", gettext_lazy("Reservations"), ("reservations",), ""),
    ("accounts", gettext_lazy("Cloud accounts"), ("accounts",), ""),
    ("milestones", gettext_lazy("Milestones"), ("milestones",), "milestone"),
    ("results", gettext_lazy("Results"), ("results",), ""),
    ("software", gettext_lazy("Software"), ("software",), "software"),
    ("people", gettext_lazy("People"), ("members", "team"), ""),
)


def jumps(shown: Mapping[str, Any]) -> list[Jump]:
    """The parts of a participant's page, each with its number of lines and their age; `shown` is what the page shows."""
    found = []
    for place, title, names, block in PLACES:
        told = shown["ages"].get(block)
        count = sum(value if isinstance(value := shown[name], int) else len(value) for name in names)
        found.append(Jump(place, title, count, told.changed_at if told else None, bool(told and told.old)))
    return found


def _newest(changed: list[datetime], confirmed: datetime | None) -> datetime | None:
    """Nothing makes a block without a line fresh."""
    return max([*changed, *([confirmed] if confirmed else [])]) if changed else None
