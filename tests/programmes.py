"""Smaller demos: the same people, quotas and reservations, no past, and only some of the clusters are asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from pathlib import Path

import yaml

from program.transfer import programme_file
from program.transfer.past import checks

PAST = (*checks.SECTIONS, "launch_day", "onboarding", "usage")
COUNTED = ("cases", "open_cases", "open_case_ids", "reviews", "jobs")
BY_HAND = "by hand"  # no reference architecture does it, so the loader leaves it out


def only(names: Collection[str], folder: Path) -> Path:
    """A programme file without a past, of which only these clusters are launched."""
    whole = programme_file.read()
    told = {section: rows for section, rows in whole.items() if section not in PAST}
    told["totals"] = {name: count for name, count in whole["totals"].items() if name not in COUNTED}
    rows = [cluster for _, _, cluster in programme_file.clusters(told)]
    for cluster in rows:
        if cluster["name"] not in names:
            cluster["orchestrator"] = BY_HAND
    told["totals"]["by_orchestrator"] = dict(Counter(cluster["orchestrator"] for cluster in rows))
    folder.mkdir(exist_ok=True)
    path = folder / "programme.yaml"
    path.write_text(yaml.safe_dump(told, sort_keys=False))
    return path
