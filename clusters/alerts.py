"""What Alertmanager posts, read strictly: its webhook in version 4, each alert by fingerprint and beginning. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from tenants.web.bodies import json_object
from tenants.web.problems import Refused

LARGEST, MOST, LABELS, LONGEST = 1_000_000, 500, 60, 500
# The word of a rule in ours.
SEVERITIES: Mapping[str, str] = {
    "page": "urgent",
    "critical": "urgent",
    "error": "high",
    "high": "high",
    "warning": "normal",
    "info": "low",
}
UNSAID = "normal"
NODE_LABELS = ("instance", "node", "host")


@dataclass(frozen=True)
class AlertTold:
    """One alert of a message."""

    fingerprint: str
    starts_at: datetime
    ends_at: datetime | None  # None: it fires
    name: str
    severity: str
    summary: str
    node: str
    labels: Mapping[str, str] = field(default_factory=dict)


def read(body: bytes) -> list[AlertTold]:
    """The alerts of a message, or Refused with the field, what it is and what it has to be."""
    if len(body) > LARGEST:
        raise _refused("body", _("%(n)s bytes") % {"n": len(body)}, _("at most %(n)s bytes") % {"n": LARGEST})
    told = json_object(body)
    if told.get("version") != "4":
        raise _refused("version", _shown(told.get("version")), "4")
    alerts = told.get("alerts")
    if not isinstance(alerts, list) or len(alerts) > MOST:
        raise _refused("alerts", _shown(alerts), _("a list of at most %(n)s alerts") % {"n": MOST})
    return [_alert(each, f"alerts[{number}]") for number, each in enumerate(alerts)]


def _alert(told: Any, path: str) -> AlertTold:
    if not isinstance(told, dict):
        raise _refused(path, _shown(told), _("an object"))
    status = told.get("status")
    if status not in ("firing", "resolved"):
        raise _refused(f"{path}.status", _shown(status), "firing, resolved")
    labels, annotations = _texts(told, "labels", path), _texts(told, "annotations", path)
    fingerprint = told.get("fingerprint")
    if not isinstance(fingerprint, str) or not fingerprint.isalnum() or len(fingerprint) > 64:
        raise _refused(f"{path}.fingerprint", _shown(fingerprint), _("1 to 64 letters and digits"))
    if not labels.get("alertname", "").strip():
        raise _refused(f"{path}.labels.alertname", _shown(labels.get("alertname")), _("the name of a rule"))
    starts = _moment(told.get("startsAt"), f"{path}.startsAt")
    ends = _moment(told.get("endsAt"), f"{path}.endsAt") if status == "resolved" else None
    return AlertTold(
        fingerprint=fingerprint,
        starts_at=starts,
        ends_at=max(ends, starts) if ends else None,
        name=labels["alertname"][:120],
        severity=SEVERITIES.get(labels.get("severity", "").lower(), UNSAID),
        summary=annotations.get("summary") or annotations.get("description") or "",
        node=next((labels[name][:120] for name in NODE_LABELS if labels.get(name)), ""),
        labels=labels,
    )


def _texts(told: Mapping[str, Any], name: str, path: str) -> dict[str, str]:
    """Labels or annotations: text to text."""
    given = told.get(name, {})
    if not isinstance(given, dict) or len(given) > LABELS:
        raise _refused(f"{path}.{name}", _shown(given), _("at most %(n)s names with their text") % {"n": LABELS})
    for key, value in given.items():
        if not isinstance(value, str):
            raise _refused(f"{path}.{name}.{key[:60]}", _shown(value), _("text"))
    return {key[:120]: value[:LONGEST] for key, value in given.items()}


def _moment(value: Any, path: str) -> datetime:
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        moment = None
    # Beyond these years a zone may move a moment out of what can be kept.
    if moment is None or moment.tzinfo is None or not 2000 <= moment.year <= 9000:
        raise _refused(path, _shown(value), _("a time with its zone, like %(one)s") % {"one": "2026-11-30T22:05:00Z"})
    return moment


def _shown(value: Any) -> str:
    return repr(value)[:80]


def _refused(field_name: str, value: str, allowed: str) -> Refused:
    return Refused(
        "bad_alert",
        _("%(field)s is %(value)s; it has to be: %(allowed)s.")
        % {"field": field_name, "value": value, "allowed": allowed},
        status=422,
        field=field_name,
    )
