"""The objects of one cluster's API: versions that only grow, and the history that a watch reads."""

import copy
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from clusters.sandbox.kubernetes.kinds import KINDS, Kind
from clusters.sandbox.kubernetes.runs import Run

KEPT = 400  # changes that a watch can go back; what is older is compacted away
NAMESPACES = ("default", "kube-system", "kube-public")

Key = tuple[str, str, str]  # plural, namespace ("" for none), name
Change = tuple[int, str, dict[str, Any], str]  # version, ADDED/MODIFIED/DELETED, object, plural


def rfc3339(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass
class World:
    """Everything that one API server keeps. `settled`: until when its controllers have been played."""

    cluster: str  # marks which EKS cluster of that name it belongs to
    settled: float
    version: int = 100
    objects: dict[Key, dict[str, Any]] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)
    compacted: int = 0
    runs: dict[str, Run] = field(default_factory=dict)  # uid of the job -> what its controller does

    def listed(self, kind: Kind, namespace: str = "") -> Iterator[dict[str, Any]]:
        for (plural, where, _), thing in sorted(self.objects.items(), key=lambda item: item[0]):
            if plural == kind.plural and namespace in ("", where):
                yield thing

    def find(self, kind: Kind, namespace: str, name: str) -> dict[str, Any] | None:
        return self.objects.get((kind.plural, namespace if kind.namespaced else "", name))

    def put(self, kind: Kind, thing: dict[str, Any], at: datetime) -> dict[str, Any]:
        """Store an object that is new or differs from what is there; its version and its line in the history follow."""
        meta = thing["metadata"]
        key = (kind.plural, meta.get("namespace", "") if kind.namespaced else "", meta["name"])
        before = self.objects.get(key)
        if before is not None and _same(before, thing):
            return before
        meta.setdefault("uid", str(uuid.uuid4()))
        meta.setdefault("creationTimestamp", rfc3339(at))
        thing = {"apiVersion": kind.api_version, "kind": kind.name, **thing}
        self.version += 1
        meta["resourceVersion"] = str(self.version)
        self.objects[key] = thing
        self._note("ADDED" if before is None else "MODIFIED", thing, kind.plural)
        return thing

    def drop(self, kind: Kind, namespace: str, name: str) -> None:
        gone = self.objects.pop((kind.plural, namespace if kind.namespaced else "", name), None)
        if gone is not None:
            self.version += 1
            last = copy.deepcopy(gone)
            last["metadata"]["resourceVersion"] = str(self.version)
            self._note("DELETED", last, kind.plural)

    def since(self, kind: Kind, version: int) -> list[Change]:
        return [change for change in self.changes if change[0] > version and change[3] == kind.plural]

    def _note(self, what: str, thing: dict[str, Any], plural: str) -> None:
        self.changes.append((self.version, what, copy.deepcopy(thing), plural))
        while len(self.changes) > KEPT:
            self.compacted = self.changes.pop(0)[0]


def _same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    def plain(thing: dict[str, Any]) -> dict[str, Any]:
        meta = {k: v for k, v in thing["metadata"].items() if k not in ("resourceVersion", "uid", "creationTimestamp")}
        return {**thing, "apiVersion": "", "kind": "", "metadata": meta}

    return plain(one) == plain(other)


def made(cluster: str, now: float, at: datetime) -> World:
    """An API server as EKS hands it over, with the runtime that the trainer's chart installs."""
    world = World(cluster, now)
    by_name = {kind.name: kind for kind in KINDS}
    for name in NAMESPACES:
        world.put(by_name["Namespace"], {"metadata": {"name": name}, "status": {"phase": "Active"}}, at)
    runtime = {
        "metadata": {"name": "torch-distributed", "labels": {"trainer.kubeflow.org/framework": "torch"}},
        "spec": {
            "mlPolicy": {"numNodes": 1, "torch": {}},
            "template": {"spec": {"replicatedJobs": [{"name": "node"}]}},
        },
    }
    world.put(by_name["ClusterTrainingRuntime"], runtime, at)
    return world
