"""One reservation, at its next moment: it begins, it is warned of, it ends."""

from datetime import timedelta

from django.db.models.functions import Now

from clusters import reservation_telling, states
from clusters.actions import reservations as acting
from clusters.engine.facts import ENGINE
from clusters.models import Reservation
from clusters.reserving import Next, follow
from tenants.history import timeline
from tenants.history.moves import move
from tenants.wall.acting import acting_for
from tenants.work import due


def step(held: due.Held) -> None:
    with acting_for(held.tenant_id, staff=True):
        row = Reservation.objects.select_for_update().annotate(now=Now()).filter(pk=held.ref).first()
        todo = follow(row.state, row.starts_at, row.ends_at, row.engine_status, row.warned, row.now) if row else None
        wait = max(todo.again - row.now, timedelta(0)) if row is not None and todo is not None and todo.again else None
        due.finish(held, again_in=wait)
        if row is not None and todo is not None:
            _write(row, todo)


def _write(row: Reservation, todo: Next) -> None:
    if todo.state == "ended" and row.state != "ended":
        acting.over(row, by=ENGINE, why=row.engine_status or "its time is over")
        return
    if todo.state != row.state:
        move(row, todo.state, by=ENGINE, what=row.in_words())
    if todo.warned != row.warned:
        Reservation.objects.filter(pk=row.pk).update(warned=todo.warned)
    if todo.warn is not None:
        entry = timeline.record(
            states.RESERVATION_ENDS_SOON if todo.warn <= 3 else states.RESERVATION_ENDS, about=row, by=ENGINE,
            what=row.in_words(), key=str(row.pk), days=todo.warn, ends=row.ends_at.isoformat(timespec="minutes"),
        )  # fmt: skip
        reservation_telling.tell(row, entry)
