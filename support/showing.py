"""How a case is laid out for reading: its clocks in words, what needs attention, its frozen evidence. Pure."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from clusters.showing import log_lines
from support import clocks, states
from support.clocks import Pause
from support.models import Case
from tenants.web.templatetags.show import UNITS

# code of attention -> (tone, words)
ATTENTION: dict[str, tuple[str, Any]] = {
    "response_overdue": ("bad", gettext_lazy("answer overdue")),
    "no_owner": ("warn", gettext_lazy("no owner")),
    "no_next_step": ("warn", gettext_lazy("no next step")),
    "step_overdue": ("bad", gettext_lazy("next step overdue")),
    "over_age": ("bad", gettext_lazy("open longer than its limit")),
}

# What a rule calls the matter; a person's own word is shown as it is.
CATEGORIES: dict[str, Any] = {
    "job": gettext_lazy("the job itself"),
    "provisioning": gettext_lazy("bringing a cluster up"),
    "hardware": gettext_lazy("hardware"),
    "gpu": gettext_lazy("accelerators"),
    "efa": gettext_lazy("network adapter"),
    "neuron": gettext_lazy("Neuron"),
    "nccl": gettext_lazy("collective communication"),
    "memory": gettext_lazy("memory"),
    "storage": gettext_lazy("storage"),
    "training": gettext_lazy("the training itself"),
    "usage": gettext_lazy("the count of hours"),
    "capacity": gettext_lazy("capacity"),
}


def flags(codes: Iterable[str]) -> list[dict[str, Any]]:
    """Codes of attention as tags."""
    return [{"code": code, "tone": ATTENTION[code][0], "words": ATTENTION[code][1]} for code in codes]


def span(length: timedelta) -> str:
    """A length of time in its two largest units."""
    seconds, told = int(length.total_seconds()), []
    for size, words in UNITS:
        amount, seconds = divmod(seconds, size)
        if amount:
            told.append(words % {"n": amount})
    return " ".join(told[:2]) or _("less than a minute")


@dataclass(frozen=True)
class Clock:
    """One clock of a case: how it stands, in words, and the moment it is about."""

    name: str
    tone: str
    why: str
    at: datetime | None = None


def case_clocks(case: Case, pauses: list[Pause], now: datetime) -> list[Clock]:
    """First response, age, idle time, the resolution clock, the next step; an ended case's clocks stand still."""
    ended = case.state in states.ENDED
    until = case.resolved_at if ended and case.resolved_at else now
    found = [_response(case, until, ended), _age(case, until, ended)]
    if not ended:
        found.append(_idle(case, now))
    found.append(_resolution(case, pauses, until))
    if not ended:
        found.append(_step(case, now))
    return found


def _response(case: Case, now: datetime, ended: bool) -> Clock:
    start = clocks.started(case.opened_at, case.reopened_at)
    due = clocks.response_due(case.severity, start, case.severity_raised_at)
    limit = span(clocks.FIRST_RESPONSE[case.severity])
    answered = case.first_response_at
    if answered is not None and answered >= start:
        late = answered > due
        words = (
            _("after %(time)s, late: the target is %(limit)s") if late else _("after %(time)s; the target is %(limit)s")
        )
        return Clock(
            _("First response"),
            "warn" if late else "good",
            words % {"time": span(answered - start), "limit": limit},
            answered,
        )
    if ended:
        return Clock(_("First response"), "neutral", _("ended without one"))
    if now > due:
        words = _("overdue by %(time)s; the target is %(limit)s") % {"time": span(now - due), "limit": limit}
        return Clock(_("First response"), "bad", words, due)
    return Clock(_("First response"), "progress", _("due in %(time)s") % {"time": span(due - now)}, due)


def _age(case: Case, now: datetime, ended: bool) -> Clock:
    start = clocks.started(case.opened_at, case.reopened_at)
    days, limit = clocks.age_days(start, now), clocks.AGE_LIMIT[case.severity]
    words = _("%(time)s; the limit is %(limit)s") % {"time": span(now - start), "limit": span(limit)}
    if start != case.opened_at:
        words += " " + _("(since it was reopened; opened first %(day)s)") % {"day": f"{case.opened_at:%Y-%m-%d}"}
    over = now - start > limit
    return Clock(_("Age"), ("warn" if ended else "bad") if over else "neutral" if days else "good", words, start)


def _idle(case: Case, now: datetime) -> Clock:
    start = clocks.started(case.opened_at, case.reopened_at)
    last = max(start, case.last_shared_at) if case.last_shared_at else start
    days = clocks.idle_days(start, case.last_shared_at, now)
    nobody = case.last_shared_at is None or case.last_shared_at < start
    words = (
        _("nobody has written yet")
        if nobody
        else _("%(time)s since the last shared message") % {"time": span(now - last)}
    )
    return Clock(_("Idle"), "warn" if days >= 5 else "neutral", words, None if nobody else last)


def _resolution(case: Case, pauses: list[Pause], until: datetime) -> Clock:
    start = clocks.started(case.opened_at, case.reopened_at)
    worked = clocks.working_time(start, until, pauses)
    paused = (until - start) - worked
    words = span(worked)
    if paused >= timedelta(minutes=1):
        words = _("%(time)s, without the %(paused)s in which the participant was asked") % {
            "time": words,
            "paused": span(paused),
        }
    running = any(pause.end is None for pause in pauses) and case.state == "waiting_customer"
    if running:
        words += " " + _("(paused now)")
    return Clock(_("Resolution"), "warn" if running else "neutral", words)


def _step(case: Case, now: datetime) -> Clock:
    if not case.next_step or case.next_step_due is None:
        return Clock(_("Next step"), "warn", _("none is planned"))
    days = (now.date() - case.next_step_due).days
    if days > 0:
        words = ngettext("overdue by %(n)s day", "overdue by %(n)s days", days) % {"n": days}
        return Clock(_("Next step"), "bad", words)
    if days == 0:
        return Clock(_("Next step"), "progress", _("due today"))
    return Clock(_("Next step"), "good", ngettext("due in %(n)s day", "due in %(n)s days", -days) % {"n": -days})


def evidence(found: dict[str, Any]) -> dict[str, Any]:
    """The frozen evidence, ready to be shown; empty when nothing was frozen."""
    if not found:
        return {}
    configuration = found.get("configuration") or {}
    nodes = found.get("nodes") or []
    return {
        "told": any(name not in ("log", "entry") for name in found),
        "symptom": found.get("symptom") or "",
        "impact": found.get("impact") or "",
        "component": found.get("component") or "",
        "job": found.get("job"),
        "cluster": found.get("cluster"),
        "reason": found.get("reason") or "",
        "engine_state": found.get("engine_state") or "",
        "exit_code": found.get("exit_code"),
        "signal": found.get("signal"),
        "restarts": found.get("restarts"),
        "started_at": parse_datetime(found.get("started_at") or ""),
        "ended_at": parse_datetime(found.get("ended_at") or ""),
        "node_names": [node for node in nodes if isinstance(node, str)],
        "nodes": [node for node in nodes if isinstance(node, dict)],
        "parts": found.get("parts") or [],
        "log": log_lines(found.get("log") or ""),
        "configuration": configuration.get("number"),
        "body": json.dumps(configuration["body"], indent=2, ensure_ascii=False) if configuration.get("body") else "",
    }
