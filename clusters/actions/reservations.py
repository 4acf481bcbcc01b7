"""Writes about reservations: want one, say that it is bought, change it, end it; warnings of its end."""

from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _

from clusters import facts, states
from clusters.models import LedgerRow, Reservation
from tenants.history import timeline
from tenants.history.moves import move
from tenants.models import Participation
from tenants.web.problems import Refused, Stale, rule_broken
from tenants.work import due

MOST = 10_000
KIND = "reservation"  # of the work that follows one


def want(
    *, participation: Participation, kind: str, instance_type: str, region: str, az_id: str, count: int,
    starts_at: datetime, ends_at: datetime, reason: str, by: str,
) -> Reservation:  # fmt: skip
    """Say that one is wanted, so that somebody buys it. Raises Refused with the field."""
    row = Reservation(
        tenant_id=participation.tenant_id, participation=participation, kind=kind, region=region,
        instance_type=instance_type.removeprefix("ml."), az_id=az_id, count=count, starts_at=starts_at, ends_at=ends_at,
    )  # fmt: skip
    _refuse_nonsense(row)
    row.save(force_insert=True)
    timeline.record(states.RESERVATION_WANTED, about=row, by=by, what=row.in_words(), why=_told(reason))
    return row


def _refuse_nonsense(row: Reservation) -> None:
    known = facts.load()
    if row.kind not in Reservation.Kind.values:
        _refuse("kind", row.kind, _("It has to be one of %(words)s.") % {"words": ", ".join(Reservation.Kind.values)})
    if known.instance(row.instance_type) is None:
        types = ", ".join(sorted(known.instances))
        _refuse("instance_type", row.instance_type, _("It has to be one of %(types)s.") % {"types": types})
    zones = known.zones.get(row.region) or [zone for zones in known.zones.values() for zone in zones]
    if row.az_id not in zones:
        hint = _("Zones are told by their ids: it has to be one of %(words)s.") % {"words": ", ".join(zones)}
        _refuse("az_id", row.az_id, hint)
    if not 1 <= row.count <= MOST:
        _refuse("count", row.count, _("Say a number from 1 to %(most)s.") % {"most": MOST})
    if row.ends_at <= row.starts_at:
        _refuse("ends_at", row.ends_at, _("It has to be later than its beginning, %(first)s.")
                % {"first": row.starts_at.isoformat()})  # fmt: skip
    if row.ends_at <= timezone.now():
        _refuse("ends_at", row.ends_at, _("It is over already: say a later time."))


def _refuse(field: str, value: Any, hint: str) -> None:
    sentence = _("'%(value)s' cannot be taken for %(field)s. %(hint)s")
    values = {"value": str(value)[:60], "field": field, "hint": hint}
    raise Refused("invalid", sentence % values, status=422, field=field)


def _told(reason: str) -> str:
    reason = reason.strip()[:300]
    if not reason:
        _refuse("why", reason, _("Say why in a few words; it stands in the history."))
    return reason


def _newest(held: Reservation, version: int | None) -> Reservation:
    row = Reservation.objects.select_for_update().get(pk=held.pk)
    if version is not None and row.version != version:
        raise Stale("stale", _("Somebody changed this meanwhile. Look at it again."), status=409, version=row.version)
    if row.state == "ended":
        raise Refused("ended", _("%(name)s is over; make another one.") % {"name": row.external_id or row.in_words()})
    return row


def bought(*, held: Reservation, external_id: str, why: str, by: str, version: int | None = None) -> Reservation:
    """The provider holds it under this id. Raises Refused: ended, bought, name_taken."""
    row, external_id = _newest(held, version), external_id.strip()
    if row.state != "wanted":
        raise Refused("bought", _("It is bought already, as %(name)s.") % {"name": row.external_id})
    if not external_id and row.kind != Reservation.Kind.ON_DEMAND:
        _refuse("external_id", external_id, _("Give the id that the provider calls it by."))
    row.external_id = external_id[:200]
    try:
        with transaction.atomic():
            move(row, "bought", by=by, columns={"external_id": row.external_id}, what=row.in_words(), why=_told(why))
    except IntegrityError as error:
        if rule_broken(error) != "reservation_once":
            raise
        sentence = _("'%(name)s' stands in the record already; each reservation stands there once.")
        raise Refused("name_taken", sentence % {"name": external_id}, field="external_id") from None
    _write_down(row, row.count, by=by, why=why)
    wish(row)
    return Reservation.objects.get(pk=row.pk)


def change(
    *,
    held: Reservation,
    count: int,
    starts_at: datetime,
    ends_at: datetime,
    why: str,
    by: str,
    version: int | None = None,
) -> Reservation:
    """Another number, or other times: an extension. Warnings that lie ahead again are given again."""
    row = _newest(held, version)
    before = {name: getattr(row, name) for name in ("count", "starts_at", "ends_at")}
    row.count, row.starts_at, row.ends_at = count, starts_at, ends_at
    _refuse_nonsense(row)
    changed = {
        name: [_plain(was), _plain(getattr(row, name))] for name, was in before.items() if was != getattr(row, name)
    }
    if not changed:
        raise Refused("nothing_changes", _("Nothing is different from what it is."), status=422)
    Reservation.objects.filter(pk=row.pk).update(
        count=count, starts_at=starts_at, ends_at=ends_at, version=F("version") + 1
    )
    timeline.record(
        states.RESERVATION_CHANGED,
        about=row,
        by=by,
        what=row.in_words(),
        why=_told(why),
        fields=sorted(changed),
        changes=changed,
    )
    if row.state != "wanted" and count != before["count"]:
        _write_down(row, count - before["count"], by=by, why=why)
    wish(row)
    return Reservation.objects.get(pk=row.pk)


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


def end(*, held: Reservation, why: str, by: str, version: int | None = None) -> Reservation:
    """It is not wanted any more, was given back, or the provider took it away: it holds no longer from now on."""
    row = _newest(held, version)
    over(row, by=by, why=_told(why))
    return Reservation.objects.get(pk=row.pk)


def over(row: Reservation, *, by: str, why: str) -> None:
    """It ended, by its time, by the provider, or because somebody said so; the row is locked by the caller."""
    now = timezone.now()
    # What is over early holds nothing any more: usage and warnings go by its times.
    columns: dict[str, Any] = {}
    if now < row.ends_at:
        columns = {"ends_at": now} if now > row.starts_at else {"starts_at": now, "ends_at": now}
    was = row.state
    move(row, "ended", by=by, columns=columns, what=row.in_words(), why=why)
    if was != "wanted":
        _write_down(row, -row.count, by=by, why=why)


def _write_down(row: Reservation, delta: int, *, by: str, why: str) -> None:
    LedgerRow.objects.create(
        tenant_id=row.tenant_id, ledger=LedgerRow.Ledger.RESERVATION, participation_id=row.participation_id,
        region=row.region, instance_type=row.instance_type, option=row.kind, delta=delta, reservation=row, by=by,
        why=why.strip()[:300],
    )  # fmt: skip


def wish(row: Reservation) -> None:
    """Have its times looked at."""
    due.wish(KIND, row.pk, tenant=row.tenant_id)
