"""The catalogue of reference architectures as people choose from it: what runs where, its files, whether it was proven lately."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from django.utils.translation import gettext_lazy

from clusters import facts
from clusters.architectures import Architecture, architectures
from clusters.architectures.parts import node_scripts
from clusters.facts import Instance
from clusters.providers import aws

LEAST_ACCELERATORS = 8  # a node with fewer is for trying things out, not for training on many
TRAINING_FAMILIES = ("p", "trn")  # g5 and g6 are for graphics and inference
MOSTLY = {"NVIDIA": gettext_lazy("NVIDIA GPU"), "Neuron": gettext_lazy("AWS Trainium")}
AGAINST = {"sandbox": gettext_lazy("the sandbox cloud"), "account": gettext_lazy("an account of AWS")}
EFFECTS = {
    "none": gettext_lazy("Nothing changes on a running cluster."),
    "in_place": gettext_lazy("A running cluster takes it without stopping jobs."),
    "drain": gettext_lazy("A running cluster takes it group by group: nodes are replaced once their jobs have ended."),
    "rebuild": gettext_lazy("A running cluster cannot take it: make a new one beside it. The file systems stay."),
}


@dataclass(frozen=True)
class Fit:
    """The training types of an architecture in one Region, with the zones that offer each."""

    region: str
    types: tuple[tuple[str, tuple[str, ...]], ...]
    control: tuple[str, ...] = ()  # the zones in which the Kubernetes API can stand


@dataclass(frozen=True)
class File:
    """One file of an architecture, as it is used and exported."""

    path: str
    text: str

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def lines(self) -> int:
        return len(self.text.splitlines())

    @property
    def anchor(self) -> str:
        return "f-" + self.path.replace("/", "-").replace(".", "-")


@lru_cache(maxsize=1)
def _of_hyperpod() -> frozenset[str]:
    return frozenset(aws.model("sagemaker").shape_for("ClusterInstanceType").enum)


def training_types(architecture: Architecture) -> list[Instance]:
    """Instance types that its compute groups are meant for: the engine takes them, and they carry many accelerators."""
    return [
        each
        for each in facts.load().instances.values()
        if each.accelerators >= LEAST_ACCELERATORS
        and each.efa
        and each.family.startswith(TRAINING_FAMILIES)
        and (not architecture.families or each.family in architecture.families)
        and (architecture.on_ec2 or each.ml_name in _of_hyperpod())
    ]


def accelerators(architecture: Architecture) -> list[str]:
    """Keys of MOSTLY: what its compute groups can be made of."""
    found = {"Neuron" if each.accelerator == "Neuron" else "NVIDIA" for each in training_types(architecture)}
    return [kind for kind in MOSTLY if kind in found]


def fits(architecture: Architecture) -> list[Fit]:
    """Region by Region where its training types are offered, as our dated snapshot says."""
    known = facts.load()
    found = []
    for region in architecture.regions:
        offered = [(each.name, known.offered(region, each.name)) for each in training_types(architecture)]
        types = tuple((name, zones) for name, zones in offered if zones)
        found.append(Fit(region, types, architecture.control_zones.get(region, ())))
    return found


def files(architecture: Architecture) -> list[File]:
    """Its templates and scripts in the order of their paths."""
    found = [File(f"templates/{name}", text) for name, text in architecture.templates().items()]
    found += [File(f"lifecycle/{name}", text) for name, text in node_scripts(architecture).items()]
    return sorted(found, key=lambda each: each.path)


def matching(
    today: date,
    *,
    q: str = "",
    engine: str = "",
    region: str = "",
    accelerator: str = "",
    proof: str = "",
    among: Iterable[Architecture] | None = None,
) -> list[Architecture]:
    """The newest versions that fit every filter that is given."""
    shelf = architectures() if among is None else among
    return [each for each in shelf if _matches(each, today, q, engine, region, accelerator, proof)]


def _matches(each: Architecture, today: date, q: str, engine: str, region: str, accelerator: str, proof: str) -> bool:
    return (
        (not q or q.lower() in f"{each.slug} {each.title} {each.summary}".lower())
        and (not engine or each.label == engine)
        and (not region or any(fit.region == region and fit.types for fit in fits(each)))
        and (not accelerator or accelerator in accelerators(each))
        and (not proof or (proof == "fresh") == each.proof.fresh(today))
    )


def engines() -> list[str]:
    """The labels of the engines that the catalogue knows."""
    return list(dict.fromkeys(each.label for each in architectures()))


def regions() -> list[str]:
    return sorted(set(_all_regions()))


def _all_regions() -> Iterable[str]:
    return (region for each in architectures() for region in each.regions)
