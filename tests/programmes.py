"""Smaller launches of the demo: the same people, quotas and reservations, but only some of its clusters are asked for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from pathlib import Path

import yaml

from program.demo import programme_file

BY_HAND = "by hand"  # no reference architecture does it, so the loader leaves it out


def only(names: Collection[str], folder: Path) -> Path:
    """A programme file of which only these clusters are launched."""
    told = programme_file.read()
    rows = [cluster for _, _, cluster in programme_file.clusters(told)]
    for cluster in rows:
        if cluster["name"] not in names:
            cluster["orchestrator"] = BY_HAND
    told["totals"]["by_orchestrator"] = dict(Counter(cluster["orchestrator"] for cluster in rows))
    path = folder / "programme.yaml"
    path.write_text(yaml.safe_dump(told, sort_keys=False))
    return path
