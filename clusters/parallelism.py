"""Whether the degrees of a distributed training make as many processes as there are accelerators. Pure.

On GPUs an accelerator runs one process; on Trainium each NeuronCore does, 32 in a trn1.32xlarge. Expert and sequence
parallelism divide what the others count, and multiply nothing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

from django.utils.translation import gettext as _

from clusters import facts
from clusters.jobs.templates.checks import CORES

MULTIPLIED = (
    ("tensor_parallel", "TP"),
    ("pipeline_parallel", "PP"),
    ("context_parallel", "CP"),
    ("data_parallel", "DP"),
    ("fsdp", "FSDP"),
)
OVER_DATA = ("data_parallel", "fsdp")


@dataclass(frozen=True)
class Place:
    """Nodes of one type that train together: a job, or the cluster where none runs."""

    name: str
    instance_type: str
    nodes: int

    @property
    def cores(self) -> bool:
        """Whether it counts NeuronCores and not accelerators."""
        return facts.plain_name(self.instance_type).split(".")[0] in CORES

    @property
    def each(self) -> int:
        """How many processes one node runs; 0 for a type that the catalogue does not know."""
        known = facts.load().instance(self.instance_type)
        if known is None or not known.accelerators:
            return 0
        return known.accelerators * CORES.get(facts.plain_name(self.instance_type).split(".")[0], 1)

    @property
    def processes(self) -> int:
        return self.nodes * self.each


@dataclass(frozen=True)
class Verdict:
    """Whether it fits, and the sentence with its numbers."""

    fits: bool
    sentence: str


def degrees(use: Any) -> dict[str, int]:
    """Short name -> degree, of those that were told and are multiplied; 0, which older records may hold, says nothing."""
    told = {short: getattr(use, field) for field, short in MULTIPLIED}
    return {short: degree for short, degree in told.items() if degree}


def products(told: Mapping[str, int]) -> list[int]:
    """What they may come to: data-parallel and fully sharded degrees are one dimension to some frameworks, two to others."""
    model = prod(degree for short, degree in told.items() if short in ("TP", "PP", "CP"))
    data, sharded = told.get("DP"), told.get("FSDP")
    over = {1} if data is None and sharded is None else {each for each in (data, sharded) if each is not None}
    if data is not None and sharded is not None:
        over.add(data * sharded)
    return sorted(model * each for each in over)


def check(use: Any, places: Iterable[Place]) -> Verdict | None:
    """Compare a framework's degrees with where it trains. None where no degree is told, or nothing is known to train on.

    Without a data-parallel degree the rest is shared out over data: the product then only has to divide the number.
    """
    told, known = degrees(use), [place for place in places if place.processes]
    if not told or not known:
        return None
    found, open_end = products(told), not {"DP", "FSDP"} & told.keys()
    formula = " × ".join(f"{short} {degree}" for short, degree in told.items())
    for place in known:
        if place.processes in found:
            return Verdict(True, _told(formula, place.processes, place, _("it fits")))
        if open_end and place.processes % found[-1] == 0:
            rest = _("which leaves %(n)s for data parallelism") % {"n": place.processes // found[-1]}
            return Verdict(True, _told(formula, found[-1], place, rest))
    nearest = min(known, key=lambda place: abs(place.processes - found[-1]))
    wrong = _("which does not divide it") if open_end else _("which is not the same; change a degree or the nodes")
    return Verdict(False, _told(formula, found[-1], nearest, wrong))


def _told(formula: str, product: int, place: Place, end: Any) -> str:
    values = {
        "formula": formula, "product": product, "name": place.name, "nodes": place.nodes,
        "type": place.instance_type, "each": place.each, "all": place.processes, "end": end,
    }  # fmt: skip
    if place.cores:
        return (
            _(
                "%(formula)s = %(product)s processes; %(name)s has %(nodes)s × %(type)s with %(each)s NeuronCores each = "
                "%(all)s NeuronCores, %(end)s."
            )
            % values
        )
    return (
        _(
            "%(formula)s = %(product)s processes; %(name)s has %(nodes)s × %(type)s with %(each)s accelerators each = "
            "%(all)s accelerators, %(end)s."
        )
        % values
    )
