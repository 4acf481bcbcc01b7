"""What one step knows of each live job of a cluster, and of the cluster's nodes, which are asked for once at most."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import structlog

from clusters.engine.follow import Followed
from clusters.launchers import JobSeen, NodeSeen
from clusters.providers import ProviderError
from tenants import metrics

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Turn:
    """One live job in one step: its row, what its scheduler says of it (None: nothing), and what follows."""

    job: Any  # clusters.models.Job; the decisions about it want only some of its columns
    seen: JobSeen | None
    step: Followed


class Nodes:
    """The nodes as the scheduler tells of them, asked for when first somebody wants to know. None: it gave no answer."""

    def __init__(self, ask: Callable[[], Sequence[NodeSeen]]) -> None:
        self._ask, self._asked = ask, False
        self._told: Sequence[NodeSeen] | None = None

    def told(self) -> Sequence[NodeSeen] | None:
        if not self._asked:
            self._asked = True
            try:
                self._told = self._ask()
            except ProviderError as error:
                metrics.provider_error("scheduler", error.kind)
                log.warning("nodes_not_seen", kind=error.kind, message=error.message)
        return self._told
