"""How a job's steps, log and forecast are laid out for reading. Pure."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from clusters import node_lists
from clusters.jobs.logs import forecast, thinning
from clusters.models import Attempt, Job, JobPoint
from clusters.showing import tone_of
from clusters.states import JOB_ENDS
from clusters.watching import STALE_AFTER, Watched, measures
from tenants.web.charts import Chart, over_numbers

DRAWN = 240  # points of one curve
RUNS = 3  # runs with a curve of their own; those before are one
CURVES: Mapping[str, tuple[Any, str]] = {
    "loss": (gettext_lazy("Loss"), ""),
    "tokens_per_second": (gettext_lazy("Tokens a second"), ""),
    "samples_per_second": (gettext_lazy("Samples a second"), ""),
    "tflops": (gettext_lazy("TFLOP/s of each accelerator"), ""),
    "grad_norm": (gettext_lazy("Gradient norm"), ""),
}
MOST_CURVES = 4
UNKNOWN: Mapping[str, Any] = {
    "no_steps": gettext_lazy("fewer than two steps were measured."),
    "too_short": gettext_lazy("the measured stretch is shorter than five minutes."),
    "no_progress": gettext_lazy("it has not come forward in what was measured."),
    "no_target": gettext_lazy("neither the output nor the reporter says how many steps there will be."),
    "stale": gettext_lazy("the newest measure is older than an hour."),
}
LIMITS: Mapping[str, Any] = {
    "time_limit": gettext_lazy("Time limit of the job"),
    "reservation": gettext_lazy("End of the reservation"),
    "stage_gate": gettext_lazy("Stage gate"),
    "cycle": gettext_lazy("End of the cycle"),
}
SOURCES: Mapping[str, Any] = {
    "log": gettext_lazy("as the communicator itself says"),
    "script": gettext_lazy("as the script sets it"),
    "framework": gettext_lazy("the default of its framework"),
    "default": gettext_lazy("PyTorch's default"),
}
WHYS: Mapping[str, Any] = {
    "xid_hardware": gettext_lazy("an Xid that only hardware causes"),
    "xid": gettext_lazy("an Xid, which a program may cause too"),
    "node_bad": gettext_lazy("its engine reported it as not well"),
    "device": gettext_lazy("a device error in its output"),
    "first_silent": gettext_lazy("it fell silent before all others"),
    "process_died": gettext_lazy("a process died on it"),
    "out_of_memory": gettext_lazy("it ran out of memory"),
}


def lines(texts: Sequence[str]) -> list[dict[str, str]]:
    """Lines of a log, each with its tone."""
    return [{"text": text, "tone": tone_of(text)} for text in texts]


def charts(points: Sequence[JobPoint]) -> list[tuple[Any, Chart]]:
    """(title, chart) of what was told: a loss twice when it is long, since its beginning hides its end."""
    found: list[tuple[Any, Chart]] = []
    for name, (title, unit) in CURVES.items():
        curves = _by_run(points, name)
        if not any(len(curve) > 1 for curve in curves.values()):
            continue
        found.append((title, over_numbers(curves, unit)))
        if name == "loss" and (late := _late(points)):
            found.append((_("Loss, the last fifth"), over_numbers(late, unit)))
    return found[:MOST_CURVES]


def _by_run(points: Sequence[JobPoint], name: str) -> dict[str, list[tuple[float, float]]]:
    newest = max((point.attempt for point in points), default=1)
    curves: dict[str, list[JobPoint]] = {}
    for point in points:
        if getattr(point, name) is None:
            continue
        label = _("run %(number)s") % {"number": point.attempt} if point.attempt > newest - RUNS else _("earlier runs")
        curves.setdefault(label, []).append(point)
    return {
        label: [
            (float(point.step), getattr(point, name))
            for point in thinning.thin(of, DRAWN, lambda point: getattr(point, name), lambda point: False)
        ]
        for label, of in reversed(curves.items())
    }


def _late(points: Sequence[JobPoint]) -> dict[str, list[tuple[float, float]]]:
    newest = max((point.attempt for point in points), default=1)
    current = [point for point in points if point.attempt == newest and point.loss is not None]
    if len(current) < 50:
        return {}
    return _by_run(current[-len(current) // 5 :], "loss")


def outlook(
    job: Job, told: Watched, limits: Sequence[tuple[str, datetime]], now: datetime, asked: forecast.WhatIf | None
) -> dict[str, Any]:
    """The forecast of its steps with its limits, and the same as it is asked."""
    measured = forecast_of(job, told, now)
    what_if = forecast_of(job, told, now, asked) if asked else None
    return {
        "forecast": measured,
        "unknown": UNKNOWN.get(measured.unknown, ""),
        "limits": [_limit(which, at, measured.ends_at) for which, at in limits],
        "what_if": what_if,
        "what_if_limits": [_limit(which, at, what_if.ends_at) for which, at in limits] if what_if else [],
        "share": _share(told),
    }


def forecast_of(job: Job, told: Watched, now: datetime, asked: forecast.WhatIf | None = None) -> forecast.Forecast:
    """Raises nothing: what cannot be said is said so in it."""
    total = told.progress.total_steps if told.progress else None
    asked = asked or forecast.WhatIf()
    live = job.state == "running"
    return forecast.forecast(measures(told.points), total, now, asked.factor, asked.lost_days, live=live)


def _limit(which: str, at: datetime, ends_at: datetime | None) -> dict[str, Any]:
    return {"which": LIMITS[which], **against(at, ends_at)}


def against(at: datetime, ends_at: datetime | None) -> dict[str, Any]:
    """A limit, whether the end comes after it, and by how much in words; no words where no end is known."""
    if ends_at is None:
        return {"at": at, "late": False, "margin": ""}
    late = ends_at > at
    hours = round(abs((ends_at - at).total_seconds()) / 3600)
    length = _("%(n)s h") % {"n": hours} if hours < 72 else _("%(n)s days") % {"n": round(hours / 24)}
    words = _("%(length)s too late") if late else _("%(length)s to spare")
    return {"at": at, "late": late, "margin": words % {"length": length}}


def _share(told: Watched) -> float | None:
    """How much is done, in percent; None where nobody says how much there is."""
    progress = told.progress
    if progress is None or not progress.total_steps or progress.step is None:
        return None
    return min(100.0, int(progress.step * 1000 / progress.total_steps) / 10)


def measures_now(job: Job, told: Watched, now: datetime) -> list[dict[str, Any]]:
    """What was last measured, each with its value and whether it is old: an old measure is not a present one, nor is one of a
    run that stands."""
    newest = told.newest
    if newest is None:
        return []
    stale = job.state not in JOB_ENDS and (job.state != "running" or now - newest.at > STALE_AFTER)
    rows: list[tuple[Any, str]] = []
    if newest.loss_word:
        rows.append((_("Loss"), {"nan": _("NaN"), "inf": "∞"}[newest.loss_word]))
    for name, label, digits in (
        ("loss", _("Loss"), 4),
        ("tokens_per_second", _("Tokens a second"), None),
        ("samples_per_second", _("Samples a second"), 2),
        ("tflops", _("TFLOP/s each"), 1),
        ("mfu", _("MFU, percent"), 1),
        ("grad_norm", _("Gradient norm"), 3),
        ("learning_rate", _("Learning rate"), None),
    ):
        value = getattr(newest, name)
        if value is not None:
            rows.append((label, _written(name, value, digits)))
    return [{"label": label, "value": value, "stale": stale} for label, value in rows]


def _written(name: str, value: float, digits: int | None) -> str:
    if name == "learning_rate":
        return f"{value:.2e}"
    return f"{value:,.0f}" if digits is None else f"{value:,.{digits}f}"


MEASURED: Mapping[str, Any] = {
    "now": gettext_lazy("measured"),
    "old": gettext_lazy("old: measured"),
    "stopped": gettext_lazy("before it stopped: measured"),
    "ended": gettext_lazy("last measured"),
}


def measured_when(job: Job, measures: Sequence[Mapping[str, Any]]) -> Any:
    """How present what is shown is, in words."""
    if job.state in JOB_ENDS:
        return MEASURED["ended"]
    if job.state != "running":
        return MEASURED["stopped"]
    return MEASURED["old" if measures and measures[0]["stale"] else "now"]


def last_of(points: Sequence[JobPoint]) -> dict[str, str]:
    """The last that was told of each measure, whichever step told it; empty where it never was."""
    names = (("loss", 4), ("tokens_per_second", None), ("samples_per_second", 2), ("mfu", 1))
    found = {}
    for name, digits in names:
        told = [point for point in points if getattr(point, name) is not None]
        newest = max(told, key=lambda point: (point.at, point.step), default=None)
        found[name] = _written(name, getattr(newest, name), digits) if newest else ""
    newest = max(points, key=lambda point: (point.at, point.step), default=None)
    if newest is not None and newest.loss_word:
        found["loss"] = {"nan": _("NaN"), "inf": "∞"}[newest.loss_word]
    return found


def sure(confidence: float) -> tuple[str, Any]:
    """(tone, words) of how sure a suspicion is."""
    if confidence >= 0.85:
        return "bad", _("very likely")
    if confidence >= 0.6:
        return "bad", _("likely")
    if confidence >= 0.3:
        return "warn", _("possible")
    return "neutral", ""


FEW_NODES = 8  # so many are never folded
MOST_TROUBLED = 12


def node_rows(told: Watched) -> list[dict[str, Any]]:
    """The nodes of a job as rows, suspects first."""
    rows = []
    for node in sorted(told.nodes, key=lambda node: (-node.confidence, node_lists.by_number(node.name))):
        tone, words = sure(node.confidence)
        rows.append(
            {
                "name": node.name,
                "seat": told.seats.get(node.name),
                "heard_at": node.heard_at,
                "signs": node.signs[:5],
                "tone": tone,
                "sure": words,
                "percent": round(node.confidence * 100),
                "reasons": [WHYS[why] for why in node.reasons],
            }
        )
    return rows


def nodes_shown(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Of many nodes those that somebody has to look at; the others folded, their names written short."""
    if len(rows) <= FEW_NODES:
        return {"node_rows": rows, "more_nodes": [], "more_names": []}
    troubled = [row for row in rows if row["sure"] or (row["seat"] and row["seat"].state != "running")][:MOST_TROUBLED]
    shown = troubled or list(rows[:3])
    more = [row for row in rows if row not in shown]
    return {
        "node_rows": shown,
        "more_nodes": more,
        "more_names": node_lists.shortened(node_lists.folded(row["name"] for row in more)),
    }


def attempts_shown(attempts: Sequence[Attempt]) -> list[dict[str, Any]]:
    """Each run with its nodes written short, and in full where that differs."""
    found = []
    for one in attempts:
        short = node_lists.shortened(node_lists.folded(sorted(one.node_names, key=node_lists.by_number)))
        found.append({"row": one, "nodes": short, "all": one.node_names if short != one.node_names else []})
    return found
