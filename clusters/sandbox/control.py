"""The tests' own door under /_sandbox/: health, journal, faults, facts of an account, clock and speed."""

import json
from typing import Any
from urllib.parse import parse_qsl

from clusters.sandbox import credentials, looked_at, vanishing
from clusters.sandbox.cloud import Cloud
from clusters.sandbox.faults import KINDS, Fault
from clusters.sandbox.wire import Answer


def answer(cloud: Cloud, method: str, path: str, query: str, body: bytes) -> Answer:
    name = path.removeprefix("/_sandbox/").strip("/")
    if name == "health":
        return _json({"ok": True})
    handler = {
        ("GET", "journal"): _journal,
        ("GET", "faults"): _faults,
        ("POST", "faults"): _switch_on,
        ("DELETE", "faults"): _switch_off,
        ("POST", "account"): looked_at.change,
        ("GET", "clock"): _clock,
        ("POST", "clock"): _advance,
        ("POST", "speed"): _speed,
    }.get((method, name))
    if handler is None:
        return _json({"error": f"no such thing: {method} {path}"}, 404)
    try:
        wish = json.loads(body) if body else {}
    except ValueError:
        return _json({"error": "the body is not JSON"}, 400)
    with cloud.lock:
        try:
            said = handler(cloud, wish or dict(parse_qsl(query)))
        except (TypeError, ValueError, LookupError) as wrong:
            return _json({"error": str(wrong)}, 400)
        cloud.commit()
        return _json(said)


def _journal(cloud: Cloud, wish: dict[str, Any]) -> Any:
    filters = {name: wish.get(name, "") for name in ("operation", "service", "account", "effective")}
    return {
        "calls": cloud.journal.listed(**filters, after=int(wish.get("after", 0)), limit=int(wish.get("limit", 10_000)))
    }


def _faults(cloud: Cloud, _: dict[str, Any]) -> Any:
    return {"faults": cloud.faults.switched_on()}


def _switch_on(cloud: Cloud, wish: Any) -> Any:
    for one in wish if isinstance(wish, list) else [wish]:
        fault = Fault(**one)
        if fault.fault not in KINDS:
            raise ValueError(f"unknown fault {fault.fault!r}; known: {', '.join(KINDS)}")
        if fault.fault in vanishing.AT_ONCE:
            vanishing.happen(cloud, fault)
        else:
            cloud.faults.switch_on(fault)
    return _faults(cloud, {})


def _switch_off(cloud: Cloud, _: dict[str, Any]) -> Any:
    cloud.faults.clear()
    return _faults(cloud, {})


def _clock(cloud: Cloud, _: dict[str, Any]) -> Any:
    return {"now": cloud.clock.now(), "speed": cloud.clock.speed}


def _advance(cloud: Cloud, wish: dict[str, Any]) -> Any:
    seconds = float(wish.get("advance", 0))
    if seconds < 0:
        raise ValueError("time does not go back")
    cloud.clock.advance(seconds)
    # A test that looks at work in the cloud rarely wants its own credentials to end: that is said separately.
    credentials.age_sessions(cloud.store, float(wish.get("age_sessions", 0)))
    cloud.store.put("clock", cloud.clock)
    return _clock(cloud, {})


def _speed(cloud: Cloud, wish: dict[str, Any]) -> Any:
    speed = float(wish["speed"])
    if speed <= 0:
        raise ValueError("the speed is a positive number")
    cloud.clock.run_at(speed)
    cloud.store.put("clock", cloud.clock)
    return _clock(cloud, {})


def _json(said: Any, status: int = 200) -> Answer:
    return Answer(status, json.dumps(said).encode(), {"Content-Type": "application/json"})
