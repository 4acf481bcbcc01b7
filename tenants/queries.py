"""Reads of the tenants layer: the history with its filters, names of actors, the record."""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from tenants.field_labels import field_label
from tenants.history import timeline
from tenants.history.models import Entry, Note
from tenants.models import ApiToken, Person, Tenant
from tenants.wall.acting import scope


def tenants() -> QuerySet[Tenant]:
    """The organisations of the scope. The directory is not row-secured, so this is the only way to list it."""
    seen = scope()
    return Tenant.objects.all() if seen.everyone else Tenant.objects.filter(pk__in=seen.tenants)


def history(
    *,
    kinds: Iterable[str] = (),
    prefix: str = "",
    cluster: uuid.UUID | None = None,
    subject: tuple[str, uuid.UUID] | None = None,
    severity: str = "",
    actor: str = "",
    audience: str = "",
    after: datetime | None = None,
    before: datetime | None = None,
) -> QuerySet[Entry]:
    """Entries of the scope, to be paged newest first; `prefix` takes all kinds of a subject, e.g. "case."."""
    rows = Entry.objects.all()
    wanted = list(kinds) or [name for name in timeline.KINDS if prefix and name.startswith(prefix)]
    if wanted:
        rows = rows.filter(kind__in=wanted)
    if cluster:
        rows = rows.filter(cluster=cluster)
    if subject:
        rows = rows.filter(subject=subject[0], subject_id=subject[1])
    for field, value in {"severity": severity, "actor": actor, "audience": audience}.items():
        if value:
            rows = rows.filter(**{field: value})
    if after:
        rows = rows.filter(occurred_at__gte=after)
    if before:
        rows = rows.filter(occurred_at__lt=before)
    return rows


@dataclass(frozen=True)
class Line:
    """An entry as it is shown: in words, with names and the text that somebody wrote."""

    id: int
    at: datetime
    recorded_at: datetime
    sentence: str
    kind: str
    icon: str
    actor: str
    actor_name: str
    audience: str
    severity: str
    source: str
    subject: str
    subject_id: uuid.UUID
    cluster: uuid.UUID | None
    text: str
    late: bool
    changes: dict[str, list[Any]]


def lines(entries: list[Entry]) -> list[Line]:
    """Entries in words: two queries a page for names, one for the texts, whatever its length."""
    names = actor_names(entry.actor for entry in entries)
    texts = _texts(entries)
    return [_line(entry, names.get(entry.actor, entry.actor), texts.get(entry.facts.get("note", ""), "")) for entry in entries]


def _line(entry: Entry, name: str, text: str) -> Line:
    declared = timeline.KINDS.get(entry.kind)
    facts = entry.facts
    if "changes" in facts:
        facts = facts | {
            "changes": {field_label(entry.subject, field): pair for field, pair in facts["changes"].items()},
            "fields": [field_label(entry.subject, field) for field in facts["changes"]],
        }
    return Line(
        id=entry.pk,
        at=entry.occurred_at,
        recorded_at=entry.recorded_at,
        sentence=timeline.sentence(entry.kind, name, facts),
        kind=entry.kind,
        icon=declared.icon if declared else "point",
        actor=entry.actor,
        actor_name=name,
        audience=entry.audience,
        severity=entry.severity,
        source=entry.source,
        subject=entry.subject,
        subject_id=entry.subject_id,
        cluster=entry.cluster,
        text=text,
        late=(entry.recorded_at - entry.occurred_at).total_seconds() > 3600,
        changes=facts.get("changes", {}),
    )


def _texts(entries: list[Entry]) -> dict[str, str]:
    wanted = [entry.facts["note"] for entry in entries if "note" in entry.facts]
    return {str(pk): text for pk, text in Note.objects.filter(pk__in=wanted).values_list("pk", "text")} if wanted else {}


def actor_names(actors: Iterable[str]) -> dict[str, str]:
    """The names behind actor ids; an erased person is "a former member"."""
    wanted = set(actors)
    people = _ids(wanted, "person")
    tokens = _ids(wanted, "token")
    names = {f"person:{p.pk}": p.name or p.email or _("a former member") for p in Person.objects.filter(pk__in=people)} if people else {}
    if tokens:
        rows = ApiToken.objects.filter(pk__in=tokens).select_related("person")
        names |= {f"token:{t.pk}": _("%(token)s of %(person)s") % {"token": t.name, "person": t.person} for t in rows}
    names["engine"] = _("Cohort")
    return names | {actor: actor.partition(":")[2] for actor in wanted if actor.startswith("provider:")}


def _ids(actors: set[str], word: str) -> list[str]:
    return [actor.partition(":")[2] for actor in actors if actor.startswith(f"{word}:")]
