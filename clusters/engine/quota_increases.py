"""One request for more quota: looked for, asked for once, and followed until the provider has decided."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

import structlog
from django.conf import settings
from django.db.models.functions import Now

from clusters.engine.facts import ENGINE, account_of
from clusters.models import CloudAccount, QuotaGrant, QuotaRequest
from clusters.providers import Account, ProviderError, aws
from clusters.states import QUOTA_ENDS
from tenants import metrics
from tenants.actions import edit_record
from tenants.history.moves import move
from tenants.programme_day import programme_today
from tenants.wall.acting import acting_for
from tenants.work import due

log = structlog.get_logger(__name__)

SOON, WATCH, DENIED = timedelta(seconds=10), timedelta(minutes=2), timedelta(minutes=5)
OPEN = ("PENDING", "CASE_OPENED")
# The provider's words -> ours. A case that was closed without a word of approval gave nothing.
STATES = {
    "PENDING": "pending",
    "CASE_OPENED": "case_opened",
    "APPROVED": "approved",
    "DENIED": "denied",
    "NOT_APPROVED": "denied",
    "CASE_CLOSED": "denied",
    "INVALID_REQUEST": "denied",
}


@dataclass(frozen=True)
class Asked:
    """One request as the provider lists it."""

    engine_id: str
    status: str
    value: float


@dataclass(frozen=True)
class Next:
    """What follows: at most one call, the state to show, and why."""

    state: str
    call: Literal["", "ask"] = ""
    found: Asked | None = None
    why: str = ""


def follow(state: str, wanted: float, engine_id: str, seen: Sequence[Asked], *, sent: bool, waited: bool) -> Next:
    """The next step, given what the provider lists of this quota, newest first. Pure.

    `sent`: it was asked for once, perhaps in vain; `waited`: so long ago that a list without it proves something.
    """
    mine = next((each for each in seen if each.engine_id == engine_id), None) if engine_id else None
    if engine_id:
        return Next(_moved(state, mine.status) if mine else state, found=mine)
    open_one = next((each for each in seen if each.status in OPEN), None)
    if open_one and open_one.value == wanted:
        return Next(_moved(state, open_one.status), found=open_one)
    if open_one:
        why = f"Another request for {open_one.value:g} is open with the provider; it takes one at a time."
        return Next("denied", why=why)
    return Next(state, call="" if sent and not waited else "ask")


def _moved(state: str, word: str) -> str:
    """A word that is not known here changes nothing, and nothing goes back."""
    to = STATES.get(word, state)
    return to if to == state or to in QuotaRequest.MOVES[state] else state


def step(held: due.Held) -> None:
    """Handle one due request."""
    with acting_for(held.tenant_id, staff=True):
        row = QuotaRequest.objects.select_related("account").annotate(now=Now()).filter(pk=held.ref).first()
        if row is None or row.account is None or row.state in QUOTA_ENDS:
            due.finish(held, again_in=None)
            return
    account = account_of(row.account, row.region)
    try:
        todo = follow(
            row.state, float(row.provider_value), row.engine_id, _seen(account, row),
            sent=row.sent_at is not None, waited=_waited(row.sent_at, row.now),
        )  # fmt: skip
        if todo.call:
            todo = _ask(held, account, row)
    except ProviderError as error:
        _failed(held, row, error)
        return
    _write(held, row, todo)


def _waited(sent: datetime | None, now: datetime) -> bool:
    return sent is not None and (now - sent).total_seconds() >= settings.CONSISTENCY_SECONDS


def _seen(account: Account, row: QuotaRequest) -> list[Asked]:
    if row.engine_id:
        call = aws.call(account, "service-quotas", "GetRequestedServiceQuotaChange", RequestId=row.engine_id)
        return [_asked(call["RequestedQuota"])]
    found = aws.pages(
        account, "service-quotas", "ListRequestedServiceQuotaChangeHistory", "RequestedQuotas", ServiceCode=row.service
    )
    return [_asked(each) for each in found if each["QuotaCode"] == row.code]


def _asked(told: dict[str, Any]) -> Asked:
    return Asked(told["Id"], told["Status"], float(told["DesiredValue"]))


def _ask(held: due.Held, account: Account, row: QuotaRequest) -> Next:
    """That it is about to be asked is committed first; the provider itself takes only one open request of a quota."""
    with acting_for(held.tenant_id, staff=True):
        QuotaRequest.objects.filter(pk=row.pk).update(sent_at=Now())
        if not due.renew(held):
            raise due.LostLease(f"{held.kind} {held.ref}")
    told = aws.call(
        account, "service-quotas", "RequestServiceQuotaIncrease",
        ServiceCode=row.service, QuotaCode=row.code, DesiredValue=float(row.provider_value),
    )  # fmt: skip
    asked = _asked(told["RequestedQuota"])
    return Next(_moved(row.state, asked.status), found=asked)


def _failed(held: due.Held, row: QuotaRequest, error: ProviderError) -> None:
    metrics.provider_error("quota", error.kind)
    log.warning("quota_not_asked", request=row.number, kind=error.kind, code=error.code, message=error.message)
    if error.kind == "refused" and error.code != "ResourceAlreadyExistsException":
        _write(held, row, Next("denied", why=error.message))
        return
    with acting_for(held.tenant_id, staff=True):
        QuotaRequest.objects.select_for_update().get(pk=row.pk)
        due.finish(held, again_in=DENIED if error.kind == "denied" else SOON, give_back=error.kind == "throttled")
        if error.kind == "throttled":
            due.cool(held.lane, 20)
            QuotaRequest.objects.filter(pk=row.pk).update(sent_at=row.sent_at)  # nothing was asked
        QuotaRequest.objects.filter(pk=row.pk).update(told=error.message)


def _write(held: due.Held, row: QuotaRequest, todo: Next) -> None:
    ended = todo.state in QUOTA_ENDS
    with acting_for(held.tenant_id, staff=True):
        now = QuotaRequest.objects.select_for_update().get(pk=row.pk)
        due.finish(held, again_in=None if ended else WATCH if todo.found else SOON)
        columns: dict[str, Any] = {"told": todo.why}
        if todo.found:
            columns |= {"engine_id": todo.found.engine_id, "engine_status": todo.found.status}
        if now.state == todo.state or now.state in QUOTA_ENDS:
            QuotaRequest.objects.filter(pk=row.pk).update(**columns)
            return
        columns |= {"decided_on": programme_today()} if ended else {}
        facts = {"number": row.number, "region": row.region, "value": row.provider_value, "unit": row.provider_unit}
        reason = todo.why or f"The provider says {todo.found.status if todo.found else 'no'}."
        move(now, todo.state, by=ENGINE, columns=columns, reason=reason, name=row.name, **facts)
        if todo.state == "approved":
            _granted(row)


def _granted(row: QuotaRequest) -> None:
    """The line of the record shows it at once; what the account itself says is read anew."""
    lines = QuotaGrant.objects.select_for_update().filter(
        participation=row.participation_id, instance_type=row.instance_type, region=row.region
    )
    for line in lines:
        change = {"provider_value": row.provider_value}
        edit_record(block=line, changes=change, version=line.version, by=ENGINE, why=row.number)
    account = CloudAccount.objects.get(pk=row.account_id)
    due.wish("account", account.pk, tenant=account.tenant_id, lane=account.lane())
