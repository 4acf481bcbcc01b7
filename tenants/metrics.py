"""What is counted for operators: answers, turns of the engine, providers' errors. Each process counts for itself.

With PROMETHEUS_MULTIPROC_DIR every process writes into a file of that folder, and `manage.py metrics` adds them up.
"""

import fcntl
import os
from collections.abc import Callable
from itertools import count
from pathlib import Path

from django.http import HttpRequest, HttpResponse
from prometheus_client import Counter, Histogram, values

from tenants.web.problems import is_api

FOLDER = os.environ.get("PROMETHEUS_MULTIPROC_DIR", "")
_mine: dict[str, int] = {"process": 0, "slot": -1, "lock": -1}


def slot() -> int:
    """A number that no other living process counts under; a dead one's is taken over, and its counts go on.

    Numbers of processes would leave a file for each of the thousands that workers recycle, and they are the same in two
    containers.
    """
    if _mine["process"] == os.getpid():
        return _mine["slot"]
    if _mine["lock"] >= 0:
        os.close(_mine["lock"])  # the parent's: it keeps its own hold
    for number in count():
        lock = os.open(Path(FOLDER) / f"slot-{number}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
            continue
        _mine.update(process=os.getpid(), slot=number, lock=lock)
        break
    return _mine["slot"]


if FOLDER:
    Path(FOLDER).mkdir(parents=True, exist_ok=True)
    values.ValueClass = values.MultiProcessValue(slot)

ANSWERS = Counter("cohort_answers", "Answers of the web, by door and class of status.", ["door", "status"])
TURNS = Histogram(
    "cohort_turn_seconds",
    "How long the handling of one due row took, by kind and how it ended.",
    ["kind", "outcome"],
    buckets=(0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 600),
)
PROVIDER_ERRORS = Counter(
    "cohort_provider_errors",
    "Errors that a provider answered to the engine, by kind of thing and of error.",
    ["of", "kind"],
)
# A rate over what was never counted is nothing at all, and looks like a server that cannot fail.
for door in ("page", "api"):
    ANSWERS.labels(door, "5xx")


def provider_error(of: str, kind: str) -> None:
    """Count an error of a provider: of a stack, a cluster, a scheduler, an account."""
    PROVIDER_ERRORS.labels(of, kind).inc()


class CountAnswersMiddleware:
    """Counts every answer, also those that no view gave; stands outside of all that may fail."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        ANSWERS.labels("api" if is_api(request) else "page", f"{response.status_code // 100}xx").inc()
        return response
