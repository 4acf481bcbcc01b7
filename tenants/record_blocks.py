"""The blocks of the tracking record whose lines people write: which rows and fields each has, and after how long it is old."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from django.utils.formats import date_format
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from tenants.models import (
    DataIngest,
    Evaluation,
    FrameworkUse,
    Milestone,
    MonitoringLink,
    Result,
    SoftwareVersion,
    TrainingModel,
)
from tenants.models.record import RecordBlock
from tenants.wall import roles


@dataclass(frozen=True)
class Block:
    """A part of the record. `fresh_days`: after so many days without a change or a confirmation it counts as old;
    None: what it says does not age."""

    model: type[RecordBlock]
    title: Any
    adding: Any
    fields: tuple[str, ...]
    keeper: str  # the role that keeps it fresh
    fresh_days: int | None = None
    minded: "Callable[[Any, date], Mind | None] | None" = None  # (line, today): what may not be meant in it


@dataclass(frozen=True)
class Mind:
    """Something that was saved all the same and may not be meant."""

    code: str
    sentence: str


# A milestone that is open so long after its day is more often a slip of the pen than a plan.
LONG_PAST = timedelta(days=30)


def long_past(due_on: date, done_on: date | None, today: date) -> bool:
    """Whether a milestone's day lies so far back, unreached, that it may not be meant."""
    return done_on is None and today - due_on > LONG_PAST


def _milestone_minded(row: Any, today: date) -> Mind | None:
    if not long_past(row.due_on, row.done_on, today):
        return None
    sentence = gettext(
        "“%(title)s” is due on %(day)s, which lies %(days)s days back, and it is not done. "
        "Change the day if it is another one, or say on which day it was done."
    )
    told = {"title": row.title, "day": date_format(row.due_on, "DATE_FORMAT"), "days": (today - row.due_on).days}
    return Mind("due_long_past", sentence % told)


ENGINEERS, PLATFORM, BUSINESS = roles.ML_ENGINEER, roles.PLATFORM_ENGINEER, roles.BUSINESS_LEAD
BLOCKS: dict[str, Block] = {
    "model": Block(
        TrainingModel,
        _("Models in training"),
        _("Add a model"),
        (
            *("code", "name", "family", "layers", "architecture", "initialisation", "total_params_b"),
            *("active_params_b", "modalities", "context_length", "amount_unit", "target_amount", "done_amount"),
            *("precision", "phase", "licence_plan", "evaluation_plan"),
        ),
        ENGINEERS,
        14,
    ),
    "framework": Block(
        FrameworkUse,
        _("Framework"),
        _("Add a framework"),
        (
            *("name", "core_version", "tensor_parallel", "pipeline_parallel", "data_parallel", "context_parallel"),
            *("expert_parallel", "sequence_parallel", "fsdp", "zero_stage", "checkpoint"),
        ),
        ENGINEERS,
        60,
    ),
    "software": Block(
        SoftwareVersion, _("Software"), _("Add a component"), ("component", "software_version", "source"), PLATFORM, 60
    ),
    "ingest": Block(
        DataIngest,
        _("Data"),
        _("Add data"),
        (
            *("name", "method", "engine_id", "engine_state", "planned_tb", "arrived_tb", "prefix", "read_by"),
            *("due_on", "ready_on"),
        ),
        PLATFORM,
        14,
    ),
    "milestone": Block(
        Milestone,
        _("Milestones"),
        _("Add a milestone"),
        ("title", "kind", "due_on", "done_on", "remark"),
        BUSINESS,
        30,
        minded=_milestone_minded,
    ),
    "evaluation": Block(
        Evaluation,
        _("Evaluations"),
        _("Add an evaluation"),
        ("model_code", "benchmark", "score", "unit", "higher_is_better", "measured_on", "at_amount", "link"),
        ENGINEERS,
    ),
    "result": Block(
        Result,
        _("Results"),
        _("Add a result"),
        ("kind", "title", "openness", "licence", "link", "published_on"),
        BUSINESS,
    ),
    "monitoring": Block(
        MonitoringLink,
        _("Where it is watched"),
        _("Add a link"),
        ("kind", "name", "link", "exporters", "alert_tested_on"),
        PLATFORM,
        90,
    ),
}


# What the office and the account team write of a participation itself; its state moves, and its Regions have a page.
PARTICIPATION_FIELDS = (
    *("project", "abstract", "starts_on", "ends_on", "provider"),
    *("organisation_kind", "sector", "staff_size", "support_plan"),
)


@dataclass(frozen=True)
class Age:
    """How old a block is: when its newest line was changed or all of it confirmed, and whether that is too long ago."""

    changed_at: datetime | None
    keeper: str
    fresh_days: int | None
    old: bool


def age(block: Block, changed_at: datetime | None, now: datetime) -> Age:
    """A block without any line is not old but empty."""
    limit = block.fresh_days
    old = limit is not None and changed_at is not None and now - changed_at > timedelta(days=limit)
    return Age(changed_at, block.keeper, limit, old)


def milestone_word(due_on: date, done_on: date | None, today: date) -> str:
    """done, late (done after its day), overdue, soon (within 14 days) or ahead."""
    if done_on is not None:
        return "late" if done_on > due_on else "done"
    if due_on < today:
        return "overdue"
    return "soon" if due_on - today <= timedelta(days=14) else "ahead"
