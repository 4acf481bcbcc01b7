"""What a freeze keeps, as plain JSON with one digest: nothing that happens later changes it."""

import hashlib
import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from program.figures import Figures, Item
from program.models import Review
from support import clocks
from tenants.models import Cycle


def snapshot(
    cycle: Cycle,
    number: int,
    last: Review | None,
    cutoff: datetime,
    frozen_at: datetime,
    found: Figures,
    items: Iterable[Item],
) -> dict[str, Any]:
    """All that was frozen, as plain JSON."""
    return {
        "cycle": cycle.code,
        "number": number,
        "previous_cutoff": last.cutoff_at.isoformat() if last else None,
        "cutoff": cutoff.isoformat(),
        "frozen_at": frozen_at.isoformat(),
        "balance": {
            "open_before": found.open_before,
            "opened": found.opened,
            "reopened": found.reopened,
            "resolved": found.resolved,
            "open_now": found.open_now,
            "carried": found.carried,
            "mitigated": found.mitigated,
        },
        "bands": {label: sum(clocks.band(item.age) == label for item in items) for _least, label in clocks.BANDS},
        "items": [_item(item) for item in items],
        "resolved": [
            {
                "case": then.case,
                "tenant": then.tenant,
                "number": then.number,
                "title": then.title,
                "cause": then.cause,
                "lost_hours": then.lost_hours,
            }
            for then in found.resolved_cases
        ],
    }


def _item(item: Item) -> dict[str, Any]:
    then = item.then
    return {
        "case": then.case,
        "tenant": then.tenant,
        "number": then.number,
        "title": then.title,
        "type": then.type,
        "group": item.group,
        "state": then.state,
        "severity": then.severity,
        "opened": then.opened.isoformat() if then.opened else None,
        "reopened": then.reopened.isoformat() if then.reopened else None,
        "age_days": item.age,
        "idle_days": item.idle,
        "times_on_agenda": item.times,
        "carried_over": item.carried,
        "owner": then.owner,
        "next_step": then.next_step,
        "due": then.due.isoformat() if then.due else None,
    }


def digest(frozen: dict[str, Any]) -> str:
    """SHA-256 over the one way to write a snapshot down: sorted keys, no blanks, UTF-8."""
    return hashlib.sha256(
        json.dumps(frozen, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    ).hexdigest()
