"""Reads of the tenants layer: the history with its filters, names of actors, the record."""

import re
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any
from uuid import UUID

from django.db.models import Max, QuerySet
from django.utils.translation import gettext as _

from tenants.entries import RECORD_CONFIRMED
from tenants.field_labels import field_label
from tenants.history import timeline
from tenants.history.models import Entry, Note
from tenants.models import ApiToken, Contact, FrameworkUse, Participation, Person, SoftwareVersion, Tenant
from tenants.record_blocks import BLOCKS, Age, age
from tenants.software import side_by_side
from tenants.wall.acting import scope
from tenants.web.templatetags.show import DUTY_WORDS, ROLES

# A fact that names what somebody wrote -> where the text lies; a layer adds its own.
WRITTEN: dict[str, Any] = {"note": Note}
PEOPLE = ("person", "owner", "from_person")  # facts that are the id of a person
A_ROLE = ("role", "was_role")
# What kinds of entries say why somebody did it only beside their sentence.
WITH_WHY = ("record.", "member.", "contact.", "duty.", "join_request.")
UUID_TEXT = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
WORST = ("critical", "urgent", "high")


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
    imported: bool
    action: uuid.UUID
    changes: dict[str, list[Any]]


def lines(entries: list[Entry]) -> list[Line]:
    """Entries in words: two queries a page for names, one for the texts, whatever its length."""
    names = actor_names(
        {entry.actor for entry in entries} | {who for entry in entries for who in _meant(entry).values()}
    )
    texts = _texts(entries)
    return [_line(entry, names, texts.get(entry.pk, "")) for entry in entries]


def _meant(entry: Entry) -> dict[str, str]:
    """Facts that mean a person, as actors. The history keeps ids and never names: a person can be erased."""
    told = {fact: str(entry.facts[fact]) for fact in PEOPLE if entry.facts.get(fact)}
    return {fact: f"person:{pk}" for fact, pk in told.items() if UUID_TEXT.fullmatch(pk)}


def _line(entry: Entry, names: Mapping[str, str], text: str) -> Line:
    declared = timeline.KINDS.get(entry.kind)
    name = names.get(entry.actor, entry.actor)
    facts = entry.facts | {fact: names.get(who, _("a former member")) for fact, who in _meant(entry).items()}
    if facts.get("record_block") in BLOCKS:
        facts = facts | {"record_block": BLOCKS[facts["record_block"]].title}
    if "contact_duty" in facts:
        facts = facts | {"contact_duty": dict(Contact.Duty.choices).get(facts["contact_duty"], facts["contact_duty"])}
    facts = facts | {fact: ROLES.get(facts[fact], facts[fact]) for fact in A_ROLE if fact in facts}
    if "gate_outcome" in facts:
        facts = facts | {"gate_outcome": str(dict(Participation.Gate.choices).get(facts["gate_outcome"], ""))}
    if "duty" in facts:
        facts = facts | {"duty": str(DUTY_WORDS.get(facts["duty"], facts["duty"]))}
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
        text=text or (str(facts.get("why", "")) if entry.kind.startswith(WITH_WHY) else ""),
        late=(entry.recorded_at - entry.occurred_at).total_seconds() > 3600,
        imported=entry.source == timeline.IMPORT,
        action=entry.action_id,
        changes=facts.get("changes", {}),
    )


def _texts(entries: list[Entry]) -> dict[int, str]:
    """What people wrote, by entry; who may not read a text does not find it."""
    found: dict[int, str] = {}
    for fact, model in WRITTEN.items():
        wanted = {str(entry.facts[fact]): entry.pk for entry in entries if entry.facts.get(fact)}
        rows = model.objects.filter(pk__in=list(wanted)).values_list("pk", "text") if wanted else ()
        found |= {wanted[str(pk)]: text for pk, text in rows}
    return found


@dataclass(frozen=True)
class Action:
    """What one request, or one step of the engine, wrote: the line that says most, and the others with it."""

    head: Line
    more: list[Line]
    text: str  # what was written with it, shown with the head
    at: datetime

    @property
    def ids(self) -> list[int]:
        return [self.head.id, *(line.id for line in self.more)]


def actions_of(found: list[Line]) -> list[Action]:
    """Neighbouring lines of one action, gathered; the order of the page stays."""
    return [_action(list(group)) for _key, group in groupby(found, key=lambda line: (line.action, line.at.date()))]


def _action(group: list[Line]) -> Action:
    # That somebody wrote comes with nearly everything; what came of it says more, and the words belong to that.
    head = min(
        group, key=lambda line: (_rank(line.severity), _follows(line.kind), line.kind.endswith(".noted"), line.id)
    )
    more = sorted((line for line in group if line is not head), key=lambda line: line.id)
    written = [line.text for line in group if line.text and line.audience == head.audience]
    text = head.text or next(iter(written), "")
    return Action(head, more, "" if text in head.sentence else text, group[0].at)


def _follows(kind: str) -> bool:
    """Whether the line tells what came of an action, and not who did what."""
    return kind in timeline.KINDS and "{actor}" not in str(timeline.KINDS[kind].sentence)


def _rank(severity: str) -> int:
    return WORST.index(severity) if severity in WORST else len(WORST)


def actor_names(actors: Iterable[str]) -> dict[str, str]:
    """The names behind actor ids; an erased person is "a former member"."""
    wanted = set(actors)
    people = _ids(wanted, "person")
    tokens = _ids(wanted, "token")
    names = (
        {f"person:{p.pk}": str(p) or _("a former member") for p in Person.objects.filter(pk__in=people)}
        if people
        else {}
    )
    if tokens:
        rows = ApiToken.objects.filter(pk__in=tokens).select_related("person")
        names |= {f"token:{t.pk}": _("%(token)s of %(person)s") % {"token": t.name, "person": t.person} for t in rows}
    names["engine"] = _("Cohort")
    return names | {actor: actor.partition(":")[2] for actor in wanted if actor.startswith("provider:")}


def _ids(actors: set[str], word: str) -> list[str]:
    return [actor.partition(":")[2] for actor in actors if actor.startswith(f"{word}:")]


def with_framework(name: str) -> set[UUID]:
    """The participations of the scope that use a framework of this name; case does not count."""
    return set(FrameworkUse.objects.filter(name__iexact=name).values_list("participation_id", flat=True))


def framework_names() -> list[str]:
    """Every name that the scope's records hold: the vocabulary is theirs."""
    return sorted(set(FrameworkUse.objects.values_list("name", flat=True)), key=str.casefold)


def with_drift() -> set[UUID]:
    """The participations of the scope where a measured version is another than the declared one; one query."""
    rows = SoftwareVersion.objects.order_by("participation_id").only(
        "participation_id", "component", "software_version", "source"
    )
    grouped = groupby(rows, key=lambda row: row.participation_id)
    return {place for place, lines_of in grouped if any(pair.drifts for pair in side_by_side(lines_of))}


def confirmed_blocks() -> dict[tuple[UUID, str], datetime]:
    """(participation, block of the record) -> when somebody last confirmed it, within the scope."""
    rows = (
        Entry.objects.filter(kind=RECORD_CONFIRMED)
        .values_list("participation", "facts__record_block")
        .annotate(at=Max("occurred_at"))
    )
    return {(participation, block): at for participation, block, at in rows}


def ages_of_blocks(now: datetime) -> dict[tuple[UUID, str], Age]:
    """(tenant, block) -> how old it is, of the blocks that have lines and of those that take part; a query for each block.

    Of two participations of one organisation the one that was looked at longer ago counts."""
    confirmed = confirmed_blocks()
    found: dict[tuple[UUID, str], Age] = {}
    for word, block in BLOCKS.items():
        if block.fresh_days is None:
            continue
        lines_of = block.model.objects.exclude(participation__state__in=("closed", "withdrawn"))  # type: ignore[attr-defined]
        newest = lines_of.values_list("tenant_id", "participation_id").annotate(at=Max("updated_at"))
        for tenant, participation, changed in newest:
            one = age(block, max(changed, confirmed.get((participation, word), changed)), now)
            there = found.get((tenant, word))
            if there is None or there.changed_at is None or (one.changed_at and one.changed_at < there.changed_at):
                found[tenant, word] = one
    return found
