"""What a meeting leaves behind: decisions, which never change, and action items, each with one owner and one date."""

import uuid
from collections.abc import Iterable
from datetime import date, datetime
from typing import Any

from django.db import connection
from django.db.models import F
from django.db.models.functions import Length
from django.utils.translation import gettext as _

from program import states
from program.models import ActionItem, Decision, Review
from support.models import Case
from support.writing import moment, one_of, refuse_an_owner_from_elsewhere, text_of
from tenants.history import timeline
from tenants.history.moves import move
from tenants.models import Person, Tenant
from tenants.wall.acting import acting_for, reading_everyone
from tenants.web.problems import Refused, Stale

OFTEN_MOVED = 3  # from this change of date on, the programme's page shows the item


def record_decision(
    *,
    tenants: Iterable[Tenant],
    text: str,
    decided_by: Person,
    by: str,
    reason: str = "",
    authority: str = "",
    decided_on: date | None = None,
    affects: str = "",
    supersedes: Decision | None = None,
    case: Case | None = None,
    review: Review | None = None,
    audience: str = "internal",
    number: str = "",
    at: datetime | None = None,
    **facts: Any,
) -> list[Decision]:
    """Keep a decision at each tenant it concerns, under one number; the office's own when it concerns nobody in particular."""
    text = text_of(text, _("what was decided"), 500)
    one_of(audience, ("shared", "internal"), "audience")
    at, action = moment(at), uuid.uuid4()
    if supersedes is not None and case is None:
        case = supersedes.case
    number = number or _next_number(Decision, "DEC")
    made = []
    for tenant in tenants:
        with acting_for(tenant, staff=True):
            row = Decision.objects.create(
                tenant=tenant,
                audience=audience,
                number=number,
                text=text,
                reason=reason.strip()[:2_000],
                decided_by=decided_by,
                authority=authority.strip()[:80],
                decided_on=decided_on or at.date(),
                affects=affects.strip()[:200],
                supersedes=_of(tenant, supersedes),
                case=_of(tenant, case),
                review_id=review.pk if review else None,
                recorded_by=by,
            )
            told = {"number": number, "text": text, "case": row.case.number if row.case else "", **facts}
            timeline.record(states.DECIDED, about=row, by=by, at=at, audience=audience, action_id=action, **told)
        made.append(row)
    return made


def _of(tenant: Tenant, thing: Any) -> Any:
    """What a decision names, at the tenant it belongs to; the other tenants' rows cannot name it."""
    return thing if thing is not None and thing.tenant_id == tenant.pk else None


def _next_number(model: type[Decision] | type[ActionItem], word: str) -> str:
    """One sequence for the programme, so that a number is unmistakable in a meeting."""
    with connection.cursor() as cursor:
        cursor.execute("select pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"number {word}"])
    with reading_everyone():
        # AI-10000 sorts before AI-9999: the longest number comes first, then the greatest.
        known = model.objects.filter(number__regex=rf"^{word}-[0-9]+$")
        last = known.order_by(Length("number").desc(), "-number").values_list("number", flat=True).first()
    return f"{word}-{int((last or f'{word}-0').partition('-')[2]) + 1:04d}"


def give_action_item(
    *,
    tenant: Tenant,
    text: str,
    owner: Person,
    due: date,
    by: str,
    kind: str = "prevent",
    case: Case | None = None,
    decision: Decision | None = None,
    review: Review | None = None,
    audience: str = "internal",
    evidence: str = "",
    number: str = "",
    at: datetime | None = None,
    **facts: Any,
) -> ActionItem:
    """Give somebody something to do by a day. `tenant` is the participant it concerns, or the office."""
    text = text_of(text, _("what is to be done, beginning with a verb"), 300)
    one_of(audience, ("shared", "internal"), "audience")
    one_of(kind, tuple(ActionItem.Kind.values), "kind")
    at = moment(at)
    number = number or _next_number(ActionItem, "AI")
    with acting_for(tenant, staff=True):
        refuse_an_owner_from_elsewhere(owner, tenant, at)
        item = ActionItem.objects.create(
            tenant=tenant,
            audience=audience,
            number=number,
            text=text,
            owner=owner,
            due=due,
            due_at_first=due,
            kind=kind,
            evidence=evidence,
            case=_of(tenant, case),
            decision=_of(tenant, decision),
            review_id=review.pk if review else None,
            created_at=at,
        )
        told = {
            "number": number,
            "text": text,
            "owner": str(owner.pk),
            "due": due.isoformat(),
        }
        timeline.record(states.GIVEN, about=item, by=by, at=at, audience=audience, **told, **facts)
    return item


def move_due(
    *,
    item: ActionItem,
    due: date,
    why: str,
    by: str,
    version: int | None = None,
    at: datetime | None = None,
    **facts: Any,
) -> ActionItem:
    """Another date, with the reason: no date moves in silence."""
    why = text_of(why, _("why the date moves"), 300, "why")
    with acting_for(item.tenant_id, staff=True):
        _hold(item, version, due=due)
        _refuse_ended(item)
        was = item.due
        if was == due:
            return item
        _write(item, due=due, due_changes=F("due_changes") + 1)
        told = {"number": item.number, "was_due": was.isoformat(), "due": due.isoformat(), "why": why}
        timeline.record(states.DUE_MOVED, about=item, by=by, at=at, audience=item.audience, **told, **facts)
    return item


def end_action_item(
    *,
    item: ActionItem,
    outcome: str,
    by: str,
    why: str = "",
    evidence: str = "",
    ended_on: date | None = None,
    version: int | None = None,
    at: datetime | None = None,
    **facts: Any,
) -> ActionItem:
    """Done, with the evidence if there is any; or dropped, with the reason."""
    one_of(outcome, ("done", "dropped"), "outcome")
    why = text_of(why, _("why it is dropped"), 300, "why") if outcome == "dropped" else why.strip()[:300]
    if evidence and not evidence.startswith(("https://", "http://")):
        raise Refused("evidence", _("The evidence is a link; it begins with https://."), status=422, field="evidence")
    at = moment(at)
    with acting_for(item.tenant_id, staff=True):
        _hold(item, version)
        _refuse_ended(item)
        ended_on = ended_on or at.date()
        columns = {"ended_on": ended_on, "ended_why": why, "evidence": evidence or item.evidence}
        told = {"number": item.number, "why": why, "due": item.due.isoformat(), "ended_on": ended_on.isoformat()}
        move(item, outcome, by=by, at=at, columns=columns, audience=item.audience, **told, **facts)
        item.refresh_from_db()
    return item


def reopen_action_item(
    *, item: ActionItem, why: str, by: str, version: int | None = None, at: datetime | None = None
) -> ActionItem:
    """It was not done after all."""
    why = text_of(why, _("why"), 300, "why")
    with acting_for(item.tenant_id, staff=True):
        _hold(item, version)
        columns = {"ended_on": None, "ended_why": ""}
        move(item, "open", by=by, at=at, columns=columns, audience=item.audience, number=item.number, why=why)
        item.refresh_from_db()
    return item


def carry_open_items(*, cutoff: datetime, review: Review) -> int:
    """Count one more review for every item that was given before it and is still open. Returns how many."""
    with reading_everyone():
        found = ActionItem.objects.filter(state="open", created_at__lte=cutoff).exclude(review_id=review.pk)
        tenants: dict[Any, list[Any]] = {}
        for pk, tenant in found.values_list("pk", "tenant_id"):
            tenants.setdefault(tenant, []).append(pk)
    for tenant, ids in tenants.items():
        with acting_for(tenant, staff=True):
            ActionItem.objects.filter(pk__in=ids).update(times_carried=F("times_carried") + 1)
    return sum(len(ids) for ids in tenants.values())


def _hold(item: ActionItem, version: int | None, **typed: Any) -> None:
    item.refresh_from_db(from_queryset=ActionItem.objects.select_for_update(of=("self",)))
    if version is not None and item.version != version:
        changes = {name: [str(getattr(item, name)), str(value)] for name, value in typed.items()}
        raise Stale(
            "stale",
            _("Somebody changed %(number)s meanwhile. Compare, and save again.") % {"number": item.number},
            version=item.version,
            changes={name: pair for name, pair in changes.items() if pair[0] != pair[1]},
        )


def _refuse_ended(item: ActionItem) -> None:
    if item.state != "open":
        raise Refused(
            "action_item_ended",
            _("%(number)s is %(state)s.") % {"number": item.number, "state": item.state},
            state=item.state,
        )


def _write(item: ActionItem, **columns: Any) -> None:
    ActionItem.objects.filter(pk=item.pk).update(version=F("version") + 1, **columns)
    item.refresh_from_db()
