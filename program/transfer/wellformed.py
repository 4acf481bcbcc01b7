"""What any file has to be before its sections are looked at: texts that can be kept, times that are times, lengths that fit."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from typing import Any

from django.core.exceptions import ValidationError
from django.db import models

from clusters.models import CloudAccount, Cluster, Job, QuotaGrant, QuotaRequest, Reservation
from program.models import ActionItem, ChecklistStep, Decision, OnboardingStep, Report, Session
from program.transfer.dates import Row, moment
from program.transfer.words import RULES
from support.models import Article, Case, CaseNote
from tenants.history.models import Note
from tenants.models import (
    Contact,
    Cycle,
    FrameworkUse,
    Participation,
    Person,
    Programme,
    SoftwareVersion,
    Tenant,
    TrainingModel,
)

# Section and field -> the column that has to hold it. A dot leads into the rows of a row.
COLUMNS: dict[str, tuple[type[models.Model], str]] = {
    **{f"programme.{name}": (Programme, name) for name in ("code", "name", "sponsor", "agency", "timezone", "currency")},
    "cycles.code": (Cycle, "code"), "cycles.name": (Cycle, "name"),
    **{f"cycles.checklist.{name}": (ChecklistStep, name) for name in ("text", "help", "measure")},
    "people.email": (Person, "email"), "people.display": (Person, "name"), "people.timezone": (Person, "timezone"),
    "people.language": (Person, "language"),
    "participants.slug": (Tenant, "slug"), "participants.name": (Tenant, "name"), "participants.code": (Participation, "code"),
    "participants.project": (Participation, "project"), "participants.kind": (Participation, "organisation_kind"),
    "participants.sector": (Participation, "sector"), "participants.support_plan": (Participation, "support_plan"),
    "participants.abstract": (Participation, "abstract"), "participants.provider": (Participation, "provider"),
    "participants.gate": (Participation, "gate"), "participants.gate_why": (Participation, "gate_why"),
    "participants.provider_account": (CloudAccount, "account_id"),
    "participants.models.code": (TrainingModel, "code"), "participants.models.name": (TrainingModel, "name"),
    "participants.models.family": (TrainingModel, "architecture"), "participants.models.init": (TrainingModel, "initialisation"),
    "participants.models.precision": (TrainingModel, "precision"), "participants.models.phase": (TrainingModel, "phase"),
    "participants.models.licence_plan": (TrainingModel, "licence_plan"),
    "participants.framework.checkpoint": (FrameworkUse, "checkpoint"), "participants.frameworks.name": (FrameworkUse, "name"),
    "participants.frameworks.core": (FrameworkUse, "core_version"),
    "participants.frameworks.checkpoint": (FrameworkUse, "checkpoint"),
    "participants.software.*": (SoftwareVersion, "software_version"),
    **{f"participants.contact_list.{name}": (Contact, name) for name in ("duty", "name", "email", "phone", "timezone", "hours")},
    "participants.quota.instance_type": (QuotaGrant, "instance_type"), "participants.quota.region": (QuotaGrant, "region"),
    "participants.clusters.name": (Cluster, "name"),
    "quota_requests.id": (QuotaRequest, "number"), "quota_requests.reason": (QuotaRequest, "reason"),
    "quota_requests.region": (QuotaRequest, "region"), "quota_requests.instance_type": (QuotaRequest, "instance_type"),
    "quota_requests.provider_unit": (QuotaRequest, "provider_unit"),
    "reservations.id": (Reservation, "external_id"), "reservations.kind": (Reservation, "kind"),
    "reservations.region": (Reservation, "region"), "reservations.az_id": (Reservation, "az_id"),
    "reservations.instance_type": (Reservation, "instance_type"),
    "onboarding.sessions.checklist": (OnboardingStep, "text"), "onboarding.checklist": (OnboardingStep, "text"),
    **{
        f"onboarding.{place}.{name}": (OnboardingStep, name)
        for place in ("checklist", "sessions.checklist")
        for name in ("text", "help", "measure")
    },
    "enablement_sessions.id": (Session, "code"), "enablement_sessions.title": (Session, "title"),
    "enablement_sessions.kind": (Session, "kind"), "enablement_sessions.format": (Session, "format"),
    "enablement_sessions.recurrence": (Session, "recurrence"), "enablement_sessions.place": (Session, "place"),
    "enablement_sessions.prerequisites": (Session, "prerequisites"),
    "jobs.name": (Job, "name"),
    "cases.title": (Case, "title"), "cases.category": (Case, "category"), "cases.next_step": (Case, "next_step"),
    "cases.signature": (Case, "signature"), "cases.type": (Case, "type"), "cases.timeline.text": (CaseNote, "text"),
    "knowledge_articles.id": (Article, "code"), "knowledge_articles.title": (Article, "title"),
    "knowledge_articles.text": (Article, "body"), "knowledge_articles.category": (Article, "category"),
    "interactions.medium": (Note, "medium"), "interactions.text": (Note, "text"),
    "action_items.id": (ActionItem, "number"), "action_items.text": (ActionItem, "text"),
    "action_items.why": (ActionItem, "ended_why"), "action_items.evidence": (ActionItem, "evidence"),
    "action_items.kind": (ActionItem, "kind"),
    "decisions.id": (Decision, "number"), "decisions.text": (Decision, "text"), "decisions.reason": (Decision, "reason"),
    "decisions.authority": (Decision, "authority"), "decisions.affects": (Decision, "affects"),
    "reports.kind": (Report, "kind"), "reports.period": (Report, "period"), "reports.text": (Report, "text"),
    "reports.answer": (Report, "answer"),
}  # fmt: skip
AS_THEY_ARE = (
    "configuration",
    "evidence",
    "materials",
    "effect",
    "need",
    "answers",
)  # kept as documents, and checked by who reads them
NO_TIMES = ("cases.waiting_on", "programme.rules.budget_warn_at")  # named like one
SHOWN = 60  # characters of a text that is quoted


def problems(told: Row) -> list[str]:
    """Everything that is wrong, with its place."""
    return [*_walk(told, "", ""), *_rules(told["programme"])]


def _walk(value: Any, place: str, path: str) -> Iterator[str]:
    name = path.rpartition(".")[2]
    if isinstance(value, dict):
        for key, inner in value.items():
            if not isinstance(key, str):
                yield f"{place}.{key}: the name of a field is a text; put it into quotes".lstrip(".")
            else:
                yield from _walk(inner, f"{place}.{key}".lstrip("."), f"{path}.{key}".lstrip("."))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _walk(inner, f"{place}[{number}]", path)
    elif isinstance(value, str):
        yield from _text(value, place, path)
    elif value is not None and not any(part in path.split(".") for part in AS_THEY_ARE):
        if name.endswith(("_at", "_on")) and path not in NO_TIMES:
            yield f"{place}: {value!r} is no text; put a time into quotes"
        elif isinstance(value, float) and not abs(value) < 1e15:  # also NaN
            yield f"{place}: {value} is no number that can be kept"
        elif isinstance(value, int) and abs(value) > 2**31 - 1:
            yield f"{place}: {value} is more than {2**31 - 1}"


def _text(value: str, place: str, path: str) -> Iterator[str]:
    if "\x00" in value or any("\ud800" <= letter <= "\udfff" for letter in value):
        yield f"{place}: holds a character that no text has (NUL or half of a pair)"
    path = path.replace("participants.other_participations.", "participants.")  # a record like that of the participant
    parent, _dot, name = path.rpartition(".")
    found = COLUMNS.get(path) or COLUMNS.get(f"{parent}.*")
    if found is not None:
        model, column = found
        field = model._meta.get_field(column)
        if field.max_length and len(value) > field.max_length:
            yield f"{place}: is {len(value)} characters long, {field.max_length} fit ('{value[:SHOWN]}…')"
        words = [word for word, _label in field.choices or ()]
        if words and value not in words:
            yield f"{place}: {value[:SHOWN]} is none of {', '.join(words)}"
    if path in NO_TIMES or any(part in path.split(".") for part in AS_THEY_ARE):
        return
    if name.endswith("_at") and not _is(moment, value):
        yield f"{place}: {value[:SHOWN]} is no time"
    elif name.endswith("_on") and not _is(date.fromisoformat, value):
        yield f"{place}: {value[:SHOWN]} is no day"


def _is(read: Any, text: str) -> bool:
    try:
        read(text)
    except ValueError:
        return False
    return True


def _rules(row: Row) -> Iterator[str]:
    """The rules of a programme by the limits of their columns."""
    rules = row.get("rules", {})
    if not isinstance(rules, dict):
        yield "programme.rules: is not a list of named rules"
        return
    for name, value in rules.items():
        if name not in (*RULES, "cutoff_time"):
            continue
        try:
            Programme._meta.get_field(name).clean(value, None)
        except ValidationError as error:
            yield f"programme.rules.{name}: {' '.join(error.messages)}"
