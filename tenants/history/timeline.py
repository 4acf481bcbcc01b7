"""The history's one writer: declare a kind of entry, record one in the transaction of its change, say it in words."""

import re
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import structlog
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from tenants.history.models import Entry
from tenants.wall.acting import scope
from tenants.work import due


@dataclass(frozen=True)
class Kind:
    """A declared kind: the sentence that shows it, who is called when one is recorded, and how it looks."""

    name: str
    sentence: Any  # str or lazy translation
    audience: str = "shared"
    reacts: tuple[str, ...] = ()
    icon: str = "point"
    severity: str = ""


KINDS: dict[str, Kind] = {}
WORDS = frozenset(
    {"was", "to", "medium", "role", "duty", "cause", "outcome", "what", "result", "how", "verdict", "report", "wish"}
)  # facts that hold a word of ours, to be translated
SAID: dict[tuple[str, str], Any] = {}  # (fact, value) -> what is said for it, where that is another word
MOMENT = re.compile(
    r"\d{4}-\d\d-\d\dT\d\d:\d\d.*(Z|[+-]\d\d:\d\d)"
)  # as facts hold it; people read it in their own zone
IMPORT = "import"  # the source of what happened before the portal knew: nobody reacts to it any more


def kind(
    name: str,
    sentence: Any,
    *,
    audience: str = "shared",
    reacts: Iterable[str] = (),
    icon: str = "point",
    severity: str = "",
) -> str:
    """Declare a kind beside the states it belongs to; `reacts` names the handlers wished for with each entry."""
    KINDS[name] = Kind(name, sentence, audience, tuple(reacts), icon, severity)
    return name


def say(fact: str, **words: Any) -> None:
    """Declare beside the kinds what a sentence says for these values of a fact."""
    SAID.update({(fact, value): word for value, word in words.items()})


def record(
    what: str,
    /,
    *,
    about: Any,
    by: str,
    at: datetime | None = None,
    audience: str | None = None,
    source: str = "portal",
    severity: str | None = None,
    on_behalf_of: str = "",
    corrects: Entry | None = None,
    action_id: uuid.UUID | None = None,
    **facts: Any,
) -> Entry:
    """Write one entry in the transaction of the change it describes, and wish for whoever reacts to it; not when imported.

    Raises NoScope outside a scope and LookupError for an undeclared kind.
    """
    entry = _entry(what, about, by, audience, source, severity, on_behalf_of, corrects, action_id, facts)
    if at is not None:
        entry.occurred_at = at
    entry.save(force_insert=True)
    for handler in KINDS[what].reacts if source != IMPORT else ():
        due.wish(handler, entry.pk, tenant=entry.tenant_id)
    return entry


def record_many(what: str, told: Iterable[tuple[Any, dict[str, Any]]], *, by: str) -> list[Entry]:
    """One entry for each (about, facts), as `record` writes it, in one statement; they are one action."""
    action = _current_action()
    entries = [_entry(what, about, by, None, "portal", None, "", None, action, facts) for about, facts in told]
    Entry.objects.bulk_create(entries)
    for entry in entries:
        for handler in KINDS[what].reacts:
            due.wish(handler, entry.pk, tenant=entry.tenant_id)
    return entries


def _entry(
    what: str, about: Any, by: str, audience: str | None, source: str, severity: str | None, on_behalf_of: str,
    corrects: Entry | None, action_id: uuid.UUID | None, facts: dict[str, Any],
) -> Entry:  # fmt: skip
    scope()
    if what not in KINDS:
        raise LookupError(f"undeclared kind of entry: {what!r}")
    declared = KINDS[what]
    is_tenant = about._meta.model_name == "tenant"
    return Entry(
        tenant_id=about.pk if is_tenant else about.tenant_id,
        participation=_id_of(about, "participation"),
        audience=audience or declared.audience,
        kind=what,
        subject=getattr(about, "SUBJECT", about._meta.model_name),
        subject_id=about.pk,
        cluster=_id_of(about, "cluster"),
        severity=declared.severity if severity is None else severity,
        source=source,
        actor=by,
        on_behalf_of=on_behalf_of,
        action_id=action_id or _current_action(),
        corrects=corrects,
        facts=facts,
    )


def _id_of(about: Any, noun: str) -> uuid.UUID | None:
    """The participation or cluster an entry belongs to: the subject itself, or what its key names."""
    if getattr(about, "SUBJECT", about._meta.model_name) == noun:
        return about.pk
    return getattr(about, f"{noun}_id", None)


def _current_action() -> uuid.UUID:
    bound = structlog.contextvars.get_contextvars().get("request_id")
    return uuid.UUID(bound) if bound else uuid.uuid4()


def sentence(kind_name: str, actor_name: str, facts: dict[str, Any]) -> str:
    """The entry in the reader's language."""
    declared = KINDS.get(kind_name)
    if declared is None:
        return _("%(kind)s (a kind of entry that is no longer declared)") % {"kind": kind_name}
    text = str(declared.sentence)
    shown = {"actor": actor_name, **{name: _shown(name, value) for name, value in facts.items()}}
    return re.sub(r"\{(\w+)\}", lambda match: str(shown.get(match[1], "…")), text)


def _shown(name: str, value: Any) -> Any:
    if name in WORDS and isinstance(value, str) and value:
        return SAID.get((name, value)) or _(value)
    if isinstance(value, str) and MOMENT.fullmatch(value) and (moment := parse_datetime(value)):
        return date_format(timezone.localtime(moment), "SHORT_DATETIME_FORMAT")
    if isinstance(value, list):
        return ", ".join(str(item) for item in value)
    return "–" if value in (None, "") else value
