"""Names and tokens of external objects: functions of stored facts, so that a crash is healed by looking."""

import base64
import hashlib
import json
from collections.abc import Mapping
from typing import Any
from uuid import UUID

LONGEST = 60  # ParallelCluster's limit for a cluster's name, the tightest of all


def _digest(*facts: object) -> str:
    told = "|".join(str(fact) for fact in facts).encode()
    return base64.b32encode(hashlib.sha256(told).digest()).decode().lower().rstrip("=")


def part_name(installation: str, cluster: UUID, label: str, role: str, incarnation: int) -> str:
    """The name of a part: readable in front, unique behind. The same for the same facts, for ever."""
    mark = _digest(installation, cluster, role, incarnation)[:10]
    front = label if role == "cluster" else f"{label}-{role}"
    return f"{front[: LONGEST - 11].strip('-')}-{mark}"


def token(name: str, verb: str, generation: int) -> str:
    """The client token of one action on one part; a repeated call carries the same."""
    return _digest(name, verb, generation)[:32]


def tags(installation: str, tenant: UUID, cluster: UUID, incarnation: int) -> dict[str, str]:
    """What says that an object is ours. Nothing without these tags is ever changed or deleted."""
    return {
        "cohort:installation": installation,
        "cohort:tenant": str(tenant),
        "cohort:resource": str(cluster),
        "cohort:incarnation": str(incarnation),
    }


def job_name(installation: str, job: UUID, label: str) -> str:
    """A job's name at its scheduler: the key by which it is found before any second submission."""
    safe = "".join(letter if letter.isascii() and (letter.isalnum() or letter in "-_.") else "-" for letter in label)
    return f"{safe[:40].strip('-')}-{_digest(installation, job)[:10]}"


def kubernetes_job_name(installation: str, job: UUID, label: str) -> str:
    """The same for Kubernetes, where it names pods and their hosts too: small letters, digits and dashes, a letter first."""
    lower = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in label.lower())
    front = lower[:36].strip("-") or "job"
    return f"{front if front[0].isalpha() else f'j-{front}'}-{_digest(installation, job)[:10]}"


def body_digest(body: Mapping[str, Any]) -> str:
    """Tells whether a request is the one that was accepted."""
    return hashlib.sha256(json.dumps(body, sort_keys=True, default=str).encode()).hexdigest()
