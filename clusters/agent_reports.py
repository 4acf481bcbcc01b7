"""What a head node's agent sends, read strictly: whatever arrives is bounded and typed, and a bad row names itself. Pure."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar

from django.utils.translation import gettext as _

from tenants.web.bodies import strict_object
from tenants.web.problems import Refused

LARGEST = 2_500_000
MOST_JOBS, MOST_NODES, MOST_RUNS, MOST_LOGS = 2_000, 4_000, 500, 500
LARGEST_PIECE, LARGEST_OFFSET = 70_000, 2**53
MOST_REFUSALS = 50
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")
ORDER = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
IDENTITY = re.compile(r"[0-9a-f]{32}")
DIGEST = re.compile(r"[0-9a-f]{64}")
RUN = re.compile(r"[0-9]{1,10}(_[0-9]{1,10})?")
UNKEEPABLE = re.compile("[\0\ud800-\udfff]")
# A moment is a number of seconds since 1970, between nothing and the year 2100.
LATEST = 4_102_444_800
T = TypeVar("T")


class Bad(ValueError):
    """A field, what it is, and what it has to be."""


@dataclass(frozen=True)
class Hello:
    """Who speaks."""

    version: str
    boot: str
    identity: str  # of the machine's agent, the same after a restart
    host: str
    user: str


@dataclass(frozen=True)
class Listed:
    """A whole list; `rows` None: it is as it was when it had this digest."""

    digest: str
    rows: list[dict[str, Any]] | None


@dataclass(frozen=True)
class Piece:
    """What a job printed from byte `at` on; `turn` counts how often its file was begun anew."""

    name: str
    turn: int
    at: int
    size: int
    text: str


@dataclass(frozen=True)
class Run:
    """One run that ended."""

    external_id: str
    attempt: int
    name: str
    engine_state: str
    started_at: datetime | None
    ended_at: datetime
    nodes: str
    tres: str
    exit_code: int
    signal: int


@dataclass(frozen=True)
class Report:
    """All that one message tells; `refused` are its rows that cannot be taken, each with the reason."""

    hello: Hello
    slurm: str
    trouble: str
    jobs: Listed | None
    nodes: Listed | None
    pieces: list[Piece]
    runs: list[Run]
    accounts: bool | None
    refused: list[dict[str, str]] = field(default_factory=list)


@dataclass(frozen=True)
class Answer:
    """How an order ended."""

    order: str
    went_well: bool
    job: str
    told: str


def read_hello(body: bytes) -> Hello:
    return _hello(_object(body))


def read_answer(body: bytes) -> Answer:
    told = _object(body)
    try:
        return Answer(
            order=_matching(told, "id", ORDER),
            went_well=_flag(told, "ok"),
            job=_matching(told, "job", RUN, optional=True),
            told=_text(told, "told", 2_000, optional=True),
        )
    except Bad as bad:
        raise _refused(bad) from None


def read_report(body: bytes) -> Report:
    """Raises Refused for what is no report at all; rows that are bad are named in it."""
    told = _object(body)
    refused: list[dict[str, str]] = []
    try:
        return Report(
            hello=_hello(told),
            slurm=_text(told, "slurm", 40, optional=True),
            trouble=_text(told, "trouble", 500, optional=True),
            jobs=_listed(told, "jobs", MOST_JOBS, _job, refused),
            nodes=_listed(told, "nodes", MOST_NODES, _node, refused),
            pieces=_rows(told.get("logs", []), "logs", MOST_LOGS, _piece, refused),
            runs=_rows(told.get("ended", []), "ended", MOST_RUNS, _run, refused),
            accounts=None if told.get("accounts") is None else _flag(told, "accounts"),
            refused=refused,
        )
    except Bad as bad:
        raise _refused(bad) from None


def _object(body: bytes) -> dict[str, Any]:
    if len(body) > LARGEST:
        sentence = _("The message has %(n)s bytes; it may have %(most)s.") % {"n": len(body), "most": LARGEST}
        raise Refused("too_large", sentence, status=413)
    return strict_object(body)


def _hello(told: Mapping[str, Any]) -> Hello:
    try:
        return Hello(
            version=_text(told, "version", 20),
            boot=_text(told, "boot", 64, optional=True),
            identity=_matching(told, "identity", IDENTITY),
            host=_text(told, "host", 120, optional=True),
            user=_text(told, "user", 64, optional=True),
        )
    except Bad as bad:
        raise _refused(bad) from None


def _listed(
    told: Mapping[str, Any], name: str, most: int, read: Callable[[Any], dict[str, Any]], refused: list[dict[str, str]]
) -> Listed | None:
    given = told.get(name)
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise Bad(_bad(name, given, _("an object with digest and rows")))
    digest = _matching(given, "digest", DIGEST)
    if given.get("rows") is None:
        return Listed(digest, None)
    return Listed(digest, _rows(given["rows"], name, most, read, refused))


def _rows(given: Any, name: str, most: int, read: Callable[[Any], T], refused: list[dict[str, str]]) -> list[T]:
    if not isinstance(given, list) or len(given) > most:
        raise Bad(_bad(name, given, _("a list of at most %(n)s rows") % {"n": most}))
    found = []
    for number, row in enumerate(given):
        try:
            if not isinstance(row, Mapping):
                raise Bad(_bad("row", row, _("an object")))
            found.append(read(row))
        except Bad as bad:
            if len(refused) < MOST_REFUSALS:
                refused.append({"row": f"{name}[{number}]", "why": str(bad)})
    return found


def _job(row: Mapping[str, Any]) -> dict[str, Any]:
    """In the shape of Slurm's own REST API, so that one reading serves both ways."""
    exit_code = row.get("exit_code")
    if not isinstance(exit_code, Mapping) or not isinstance(exit_code.get("signal"), Mapping):
        raise Bad(_bad("exit_code", exit_code, _("an object with return_code and signal")))
    return {
        "job_id": _number(row, "job_id", 1, 2**32),
        "array_job_id": _number(row, "array_job_id", 0, 2**32),
        "array_task_id": None if row.get("array_task_id") is None else _number(row, "array_task_id", 0, 2**32),
        "array_task_string": _text(row, "array_task_string", 100, optional=True),
        "name": _text(row, "name", 200),
        "user_name": _text(row, "user_name", 64),
        "partition": _text(row, "partition", 64, optional=True),
        "job_state": _words(row, "job_state"),
        "state_reason": _text(row, "state_reason", 200, optional=True),
        "exit_code": {
            "return_code": _number(exit_code, "return_code", 0, 65_535),
            "signal": {"id": _number(exit_code["signal"], "id", 0, 255)},
        },
        "nodes": _text(row, "nodes", 4_000, optional=True),
        "restart_cnt": _number(row, "restart_cnt", 0, 100_000),
        **{name: _number(row, name, 0, LATEST) for name in ("submit_time", "start_time", "end_time", "eligible_time")},
        "time_limit": None if row.get("time_limit") is None else _number(row, "time_limit", 0, 10_000_000),
        "priority": _number(row, "priority", 0, 2**32),
        "tres_alloc_str": _text(row, "tres_alloc_str", 500, optional=True),
    }


def _node(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": _text(row, "name", 120),
        "state": _words(row, "state"),
        "reason": _text(row, "reason", 500, optional=True),
        "reason_changed_at": _number(row, "reason_changed_at", 0, LATEST),
        "gres": _text(row, "gres", 500, optional=True),
        "gres_used": _text(row, "gres_used", 500, optional=True),
    }


def _piece(row: Mapping[str, Any]) -> Piece:
    text = row.get("text")
    if not isinstance(text, str) or len(text) > LARGEST_PIECE:
        raise Bad(
            _bad(
                "text",
                len(text) if isinstance(text, str) else text,
                _("text of at most %(n)s characters") % {"n": LARGEST_PIECE},
            )
        )
    return Piece(
        name=_matching(row, "name", NAME),
        turn=_number(row, "turn", 1, 1_000_000),
        at=_number(row, "at", 0, LARGEST_OFFSET),
        size=_number(row, "bytes", 0, LARGEST_PIECE),
        text=UNKEEPABLE.sub("\ufffd", text),
    )


def _run(row: Mapping[str, Any]) -> Run:
    started = _number(row, "started", 0, LATEST)
    return Run(
        external_id=_matching(row, "job", RUN),
        attempt=_number(row, "attempt", 1, 100_000),
        name=_text(row, "name", 200, optional=True),
        engine_state=_text(row, "state", 40),
        started_at=datetime.fromtimestamp(started, UTC) if started else None,
        ended_at=datetime.fromtimestamp(_number(row, "ended", 1, LATEST), UTC),
        nodes=_text(row, "nodes", 4_000, optional=True),
        tres=_text(row, "tres", 500, optional=True),
        exit_code=_number(row, "exit_code", 0, 65_535),
        signal=_number(row, "signal", 0, 255),
    )


def _text(row: Mapping[str, Any], name: str, most: int, *, optional: bool = False) -> str:
    value = row.get(name, "" if optional else None)
    if not isinstance(value, str) or len(value) > most or (not value and not optional) or UNKEEPABLE.search(value):
        raise Bad(_bad(name, value, _("text of at most %(n)s characters") % {"n": most}))
    return value


def _matching(row: Mapping[str, Any], name: str, pattern: re.Pattern[str], *, optional: bool = False) -> str:
    value = row.get(name, "" if optional else None)
    if optional and value == "":
        return ""
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise Bad(_bad(name, value, pattern.pattern))
    return value


def _words(row: Mapping[str, Any], name: str) -> list[str]:
    value = row.get(name)
    fits = isinstance(value, list) and 0 < len(value) <= 10
    if not fits or not all(isinstance(word, str) and re.fullmatch(r"[A-Z0-9_]{1,40}", word) for word in value or []):
        raise Bad(_bad(name, value, _("one to ten words of Slurm in capitals")))
    return list(value or [])


def _number(row: Mapping[str, Any], name: str, least: int, most: int) -> int:
    value = row.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise Bad(_bad(name, value, _("a whole number from %(least)s to %(most)s") % {"least": least, "most": most}))
    return value


def _flag(row: Mapping[str, Any], name: str) -> bool:
    value = row.get(name)
    if not isinstance(value, bool):
        raise Bad(_bad(name, value, "true, false"))
    return value


def _bad(name: str, value: Any, allowed: str) -> str:
    shown = ascii(value)[:80]
    return _("%(field)s is %(value)s; it has to be: %(allowed)s.") % {"field": name, "value": shown, "allowed": allowed}


def _refused(bad: Bad) -> Refused:
    return Refused("bad_report", str(bad), status=422)
