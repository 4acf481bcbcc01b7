"""What a participant's page shows of data, milestones, evaluations and results, and how old each block of the record is."""

from collections.abc import Iterable
from datetime import date, datetime
from typing import Any

from tenants.models import DataIngest, Evaluation, Milestone, MonitoringLink, Result
from tenants.queries import confirmed_blocks
from tenants.record_blocks import BLOCKS, age, milestone_word


def shown(now: datetime, today: date, **others: Iterable[Any]) -> dict[str, Any]:
    """The blocks in the order of their page, and the age of each; `others` are blocks that were read already."""
    ingests = list(DataIngest.objects.order_by("name"))
    milestones = list(Milestone.objects.order_by("due_on", "title"))
    monitoring = list(MonitoringLink.objects.order_by("kind", "name"))
    confirmed = {word: at for (_tenant, word), at in confirmed_blocks().items()}
    aged = {**others, "ingest": ingests, "milestone": milestones, "monitoring": monitoring}
    return {
        "ingests": ingests,
        "milestones": [(one, milestone_word(one.due_on, one.done_on, today)) for one in milestones],
        "evaluations": list(Evaluation.objects.order_by("model_code", "benchmark", "-measured_on")),
        "results": list(Result.objects.order_by("kind", "title")),
        "monitoring": monitoring,
        "ages": {
            word: age(BLOCKS[word], _newest([row.updated_at for row in rows], confirmed.get(word)), now)
            for word, rows in aged.items()
        },
    }


def _newest(changed: list[datetime], confirmed: datetime | None) -> datetime | None:
    """Nothing makes a block without a line fresh."""
    return max([*changed, *([confirmed] if confirmed else [])]) if changed else None
