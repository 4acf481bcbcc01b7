"""One loop for every worker: claim what is due, hand it to its handler, back off when that fails, until none is due."""

import random
import time
import traceback
import uuid
from collections.abc import Callable
from datetime import timedelta

import structlog
from django.db import close_old_connections, connection

from tenants import metrics
from tenants.work import due

log = structlog.get_logger(__name__)

# A handler that begins last must still end before the soft time limit of 60 s.
LOOP_SECONDS = 25
LAYERS = ("tenants", "clusters", "support", "program")
SLOWEST_BACK_OFF = timedelta(minutes=10)

Handle = Callable[[due.Held], None]
HANDLERS: dict[str, tuple[str, Handle]] = {}


def handler(kind: str, queue: str = "engine") -> Callable[[Handle], Handle]:
    """Declare who handles a kind of waiting thing, and on which queue."""

    def register(handle: Handle) -> Handle:
        HANDLERS[kind] = (queue, handle)
        return handle

    return register


def kinds_of(queue: str) -> list[str]:
    return sorted(kind for kind, (its_queue, _) in HANDLERS.items() if its_queue == queue)


def queues() -> list[str]:
    return sorted({queue for queue, _ in HANDLERS.values()})


def back_off(attempt: int) -> timedelta:
    """5 s doubled for each attempt, at most 10 min, with jitter so that a herd spreads out."""
    longest = min(timedelta(seconds=5) * 2 ** min(attempt - 1, 10), SLOWEST_BACK_OFF)
    return longest * random.uniform(0.5, 1)


def work_off(queue: str, seconds: float = LOOP_SECONDS) -> int:
    """Handle what is due on this queue until nothing is or the time is over; how many were handled."""
    end, handled = time.monotonic() + seconds, 0
    kinds = kinds_of(queue)
    while time.monotonic() < end:
        close_old_connections()
        held = due.claim(kinds)
        if held is None:
            break
        handle(held)
        handled += 1
    return handled


def handle(held: due.Held) -> None:
    """Run one handler. Whatever it raises is recorded here and nowhere else, and tried again later, eight times."""
    # One id for all that this turn does: its entries, its log lines, the session name of its calls.
    began, outcome = time.monotonic(), "done"
    structlog.contextvars.bind_contextvars(due=held.kind, ref=held.ref, epoch=held.epoch, request_id=str(uuid.uuid4()))
    try:
        if held.attempt > due.MOST_ATTEMPTS:
            # Its process died in the middle every time, or it failed every time: no work before a person has looked.
            outcome = "stuck"
            due.finish(held, again_in=None, progress=False, stuck=f"No progress in {due.MOST_ATTEMPTS} attempts.")
            return
        HANDLERS[held.kind][1](held)
    except due.LostLease:
        outcome = "lost"
        log.warning("lost_lease", kind=held.kind, ref=held.ref)
    except Exception as error:
        outcome = "failed"
        log.exception("handler_failed", kind=held.kind, ref=held.ref, attempt=held.attempt)
        _give_up_for_now(held, error)
    finally:
        metrics.TURNS.labels(held.kind, outcome).observe(time.monotonic() - began)
        structlog.contextvars.unbind_contextvars("due", "ref", "epoch", "request_id")


def told(error: Exception) -> str:
    """What the page and the history may keep of an error: its class, where it arose, and where to read on.

    Never its text: that holds whatever the code had in its hands, a participant's words or a secret. The log has it.
    """
    frames = [frame for frame, _line in traceback.walk_tb(error.__traceback__)]
    ours = [frame for frame in frames if frame.f_globals.get("__name__", "").split(".")[0] in LAYERS]
    place = f" in {ours[-1].f_globals['__name__']}.{ours[-1].f_code.co_name}" if ours else ""
    request = structlog.contextvars.get_contextvars().get("request_id", "")
    return f"{type(error).__name__}{place}. The log has the whole of it{f' under {request}' if request else ''}."


def _give_up_for_now(held: due.Held, error: Exception) -> None:
    if connection.in_atomic_block:
        raise error  # only a test's outer transaction gets here; it must see the real failure
    last = held.attempt >= due.MOST_ATTEMPTS
    try:
        due.finish(
            held,
            again_in=back_off(held.attempt),
            progress=False,
            stuck=told(error) if last else "",
        )
    except due.LostLease:
        log.warning("lost_lease", kind=held.kind, ref=held.ref)
