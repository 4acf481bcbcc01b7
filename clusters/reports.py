"""What a job's reporter posts, read strictly. Pure."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from django.utils.translation import gettext as _

from clusters.jobs.logs import cleaning
from tenants.web.problems import Refused

LARGEST, MOST = 1_000_000, 1_000
KINDS = ("point", "saved", "resumed", "alive", "software")
STEPLESS = ("alive", "software")
MEASURES = (
    "loss",
    "tokens_per_second",
    "samples_per_second",
    "tflops",
    "mfu",
    "learning_rate",
    "grad_norm",
    "step_seconds",
    "consumed_tokens",
    "consumed_samples",
)
MOST_VERSIONS = 40
COMPONENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,39}")
MOST_STEP, MOST_RANK, MOST_ATTEMPT = 2**53, 100_000, 100_000


@dataclass(frozen=True)
class Reported:
    """One report. `values` may be nan or inf for the loss alone; `step` is -1 where its kind has none."""

    kind: str
    at: datetime
    attempt: int
    rank: int
    host: str = ""
    step: int = -1
    values: Mapping[str, float] = field(default_factory=dict)
    path: str = ""
    text: str = ""
    world: int | None = None
    total_steps: int | None = None
    busy: float | None = None  # percent to which its node uses its accelerators
    versions: Mapping[str, str] = field(default_factory=dict)  # component -> version, of the process itself


def read(body: bytes) -> list[Reported]:
    """The reports of a message, or Refused with the field, what it is and what it has to be."""
    if len(body) > LARGEST:
        raise _refused("body", _("%(n)s bytes") % {"n": len(body)}, _("at most %(n)s bytes") % {"n": LARGEST})
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        raise _refused("body", _("no JSON"), _("an object with a list of reports")) from None
    reports = told.get("reports") if isinstance(told, dict) else None
    if not isinstance(reports, list) or len(reports) > MOST:
        raise _refused("reports", _shown(reports), _("a list of at most %(n)s reports") % {"n": MOST})
    return [_one(each, f"reports[{number}]") for number, each in enumerate(reports)]


def _one(told: Any, path: str) -> Reported:
    if not isinstance(told, dict):
        raise _refused(path, _shown(told), _("an object"))
    kind = told.get("kind")
    if kind not in KINDS:
        raise _refused(f"{path}.kind", _shown(kind), ", ".join(KINDS))
    return Reported(
        kind=kind,
        at=_moment(told.get("at"), f"{path}.at"),
        attempt=_whole(told.get("attempt", 1), f"{path}.attempt", 1, MOST_ATTEMPT),
        rank=_whole(told.get("rank", 0), f"{path}.rank", 0, MOST_RANK),
        host=_text(told.get("host", ""), f"{path}.host", 120),
        step=_whole(told.get("step"), f"{path}.step", 0, MOST_STEP) if kind not in STEPLESS else -1,
        values=_values(told, path) if kind == "point" else {},
        path=_text(told.get("path", ""), f"{path}.path", 500),
        text=_text(told.get("text", ""), f"{path}.text", 300),
        world=_whole(told["world"], f"{path}.world", 1, MOST_RANK) if "world" in told else None,
        total_steps=_whole(told["total_steps"], f"{path}.total_steps", 1, MOST_STEP) if "total_steps" in told else None,
        busy=_percent(told["busy"], f"{path}.busy") if "busy" in told else None,
        versions=_versions(told.get("versions"), f"{path}.versions") if kind == "software" else {},
    )


def _versions(told: Any, path: str) -> dict[str, str]:
    if not isinstance(told, dict) or len(told) > MOST_VERSIONS:
        raise _refused(path, _shown(told), _("an object of at most %(n)s versions") % {"n": MOST_VERSIONS})
    found = {}
    for name, version in told.items():
        if not COMPONENT.fullmatch(name):
            raise _refused(path, _shown(name), _("a name of up to 40 letters, digits, - and _"))
        if text := _text(version, f"{path}.{name}", 120).strip():
            found[name] = text
    return found


def _values(told: Mapping[str, Any], path: str) -> dict[str, float]:
    """The measures that it tells; of names that are not known here a newer reporter may know."""
    found: dict[str, float] = {}
    for name in MEASURES:
        if (value := told.get(name)) is None:
            continue
        if name == "loss" and value in ("nan", "inf"):
            found[name] = math.nan if value == "nan" else math.inf
        elif isinstance(value, str) and value in ("nan", "inf"):
            continue
        elif isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= 1e300:
            if not (isinstance(value, float) and not math.isfinite(value) and name == "loss"):
                raise _refused(f"{path}.{name}", _shown(value), _('a number, or "nan" or "inf"'))
            found[name] = value
        else:
            found[name] = float(value)
    return found


def _percent(value: Any, path: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 100:
        raise _refused(path, _shown(value), _("a number from 0 to 100"))
    return float(value)


def _whole(value: Any, path: str, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise _refused(
            path, _shown(value), _("a whole number from %(least)s to %(most)s") % {"least": least, "most": most}
        )
    return value


def _text(value: Any, path: str, most: int) -> str:
    if not isinstance(value, str):
        raise _refused(path, _shown(value), _("text"))
    return cleaning.shown(value)[:most]


def _moment(value: Any, path: str) -> datetime:
    """Seconds since 1970."""
    # From 2000 to 2200.
    if isinstance(value, bool) or not isinstance(value, int | float) or not 946_684_800 <= value <= 7_258_118_400:
        raise _refused(path, _shown(value), _("seconds since 1970"))
    return datetime.fromtimestamp(value, UTC)


def _shown(value: Any) -> str:
    return cleaning.shown(repr(value))[:80]


def _refused(field_name: str, value: str, allowed: str) -> Refused:
    return Refused(
        "bad_report",
        _("%(field)s is %(value)s; it has to be: %(allowed)s.")
        % {"field": field_name, "value": value, "allowed": allowed},
        status=422,
        field=field_name,
    )
