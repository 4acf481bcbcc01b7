"""What is known of instance types, zones and quota names: dated snapshots with their source, read from the files beside."""

import difflib
import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Literal

Orchestrator = Literal["slurm", "eks"]

FOLDER = Path(__file__).parent

PER_CLUSTER = "Maximum number instances allowed per SageMaker HyperPod cluster"
ACROSS_CLUSTERS = "Total number of instances allowed across SageMaker HyperPod clusters"
DISK = "Maximum size of EBS volume in GB for a SageMaker HyperPod cluster instance"
LUSTRE_CAPACITY = "Lustre Persistent_2 storage capacity"


CHIPS = {
    "trn1": "Trainium", "trn1n": "Trainium", "trn2": "Trainium2", "trn2u": "Trainium2", "inf2": "Inferentia2",
}  # fmt: skip


@dataclass(frozen=True)
class Instance:
    """One instance type. `None` says that our source does not know it."""

    name: str  # plain, e.g. p5.48xlarge
    vcpus: int | None
    memory_gib: int | None
    accelerator: str  # "" for machines without one
    accelerators: int
    efa: int | None
    addresses_per_card: int | None = None

    @property
    def ml_name(self) -> str:
        return ml_name(self.name)

    @property
    def chip(self) -> str:
        """The accelerator as people call it: `H100`, `Trainium2`. Neuron is the name of what drives the provider's own."""
        return CHIPS.get(self.name.partition(".")[0], "Neuron") if self.accelerator == "Neuron" else self.accelerator

    @property
    def family(self) -> str:
        return self.name.split(".")[0]

    def addresses(self, orchestrator: Orchestrator) -> int:
        """How many addresses of its subnet one node takes: on Slurm one for each EFA card; on EKS the first card also
        holds one for every pod it can carry (P5: 32 and 81, Trn1: 8 and 57, as measured by others)."""
        cards = max(self.efa or 1, 1)
        return cards if orchestrator == "slurm" else (self.addresses_per_card or 50) + cards - 1


@dataclass(frozen=True)
class QuotaName:
    """A quota by its exact name; the code is only what our source saw, the account's own list decides."""

    service: str
    name: str
    code: str


@dataclass(frozen=True)
class StorageOffer:
    """What was reported of a deployment type of FSx in a zone: no, or doubted."""

    offered: str
    source: str


def storage_offer(region: str, az_id: str, kind: str, deployment: str) -> StorageOffer | None:
    """What is reported of it; None where nobody said anything, which is the rule."""
    return _storage_offers().get((region, az_id, kind, deployment)) or _storage_offers().get(
        (region, "-", kind, deployment)
    )


@lru_cache(maxsize=1)
def _storage_offers() -> dict[tuple[str, str, str, str], StorageOffer]:
    return {
        (row["region"], row["az_id"], row["type"], row["deployment"]): StorageOffer(row["offered"], row["source"])
        for row in table("fsx-offers.tsv")
    }


def plain_name(instance_type: str) -> str:
    """`ml.p5.48xlarge` -> `p5.48xlarge`."""
    return instance_type.removeprefix("ml.")


def ml_name(instance_type: str) -> str:
    """`p5.48xlarge` -> `ml.p5.48xlarge`."""
    return instance_type if instance_type.startswith("ml.") else f"ml.{instance_type}"


def cluster_usage(instance_type: str) -> str:
    """The exact name of the quota that counts instances of a type in HyperPod clusters."""
    return f"{ml_name(instance_type)} for cluster usage"


# The first that fits says which quota of EC2 counts the vCPUs of an instance type.
EC2_QUOTAS = (
    ("p", "Running On-Demand P instances"),
    ("trn", "Running On-Demand Trn instances"),
    ("inf", "Running On-Demand Inf instances"),
    ("g", "Running On-Demand G and VT instances"),
    ("vt", "Running On-Demand G and VT instances"),
    ("dl", "Running On-Demand DL instances"),
    ("hpc", "Running On-Demand HPC instances"),
    ("x", "Running On-Demand X instances"),
)
EC2_STANDARD = "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances"


def ec2_quota(instance_type: str) -> str:
    """The exact name of the quota that counts the vCPUs of a type on EC2; the account's own list gives the code."""
    letters = "".join(itertools.takewhile(str.isalpha, plain_name(instance_type)))
    return next((name for prefix, name in EC2_QUOTAS if letters == prefix), EC2_STANDARD)


@dataclass(frozen=True)
class Facts:
    """Look-ups over the three tables; a test may build one of its own."""

    instances: Mapping[str, Instance]
    offerings: Mapping[tuple[str, str], tuple[str, ...]]  # (Region, plain type) -> zone ids; no key: not known
    quotas: tuple[QuotaName, ...]

    def instance(self, instance_type: str) -> Instance | None:
        return self.instances.get(plain_name(instance_type))

    def offered(self, region: str, instance_type: str) -> tuple[str, ...] | None:
        """Zone ids of the Region that offer the type; empty: none does; None: our snapshot does not say."""
        return self.offerings.get((region, plain_name(instance_type)))

    def close_matches(self, instance_type: str) -> list[str]:
        """Known types that a misspelt one may have meant, likeliest first."""
        return difflib.get_close_matches(plain_name(instance_type).strip().lower(), self.instances, n=3, cutoff=0.6)

    @cached_property
    def zones(self) -> Mapping[str, tuple[str, ...]]:
        """Region -> the zone ids that occur in our snapshot."""
        found: dict[str, set[str]] = {}
        for (region, _), zones in self.offerings.items():
            found.setdefault(region, set()).update(zones)
        return {region: tuple(sorted(zones)) for region, zones in sorted(found.items())}

    def region_of(self, az_id: str) -> str | None:
        """The Region of a zone id such as `apne1-az4`, also for zones that our snapshot does not list."""
        prefix = az_id.split("-")[0]
        return next(
            (region for region, zones in self.zones.items() if zones and zones[0].split("-")[0] == prefix), None
        )

    def quota(self, service: str, name: str) -> QuotaName | None:
        return next((quota for quota in self.quotas if (quota.service, quota.name) == (service, name)), None)


@lru_cache(maxsize=32)
def openzfs(region: str) -> dict[str, tuple[int, ...]]:
    """Deployment types of OpenZFS in a Region with their throughputs, the safest first; one that we do not know has one."""
    rates = {
        row["deployment"]: tuple(int(rate) for rate in row["mbs"].split(",")) for row in table("openzfs-throughput.tsv")
    }
    named = {row["region"]: row["deployments"].split(",") for row in table("openzfs-regions.tsv")}
    return {kind: rates[kind] for kind in named.get(region, ["SINGLE_AZ_1"])}


@lru_cache(maxsize=1)
def grafana_regions() -> tuple[str, ...]:
    """Where Amazon Managed Grafana is offered."""
    return tuple(row["region"] for row in table("managed-grafana-regions.tsv"))


def table(file: str) -> list[dict[str, str]]:
    """The rows of one of the files beside, by their heads; lines that begin with # say where it is from."""
    lines = [line for line in (FOLDER / file).read_text("utf-8").splitlines() if line and not line.startswith("#")]
    head = lines[0].split("\t")
    return [dict(zip(head, line.split("\t"), strict=False)) for line in lines[1:]]


def _number(text: str | None) -> int | None:
    return int(text) if text and text.isdigit() else None


def _instance(row: dict[str, str]) -> Instance:
    neuron = _number(row.get("neuron_devices"))
    gpu = row.get("gpu_name", "-")
    return Instance(
        name=row["instance_type"],
        vcpus=_number(row["vcpus"]),
        memory_gib=_number(row.get("mem_gib")),
        accelerator="Neuron" if neuron else "" if gpu == "-" else gpu,
        accelerators=neuron or _number(row.get("gpu_count")) or 0,
        efa=None if "efa_supported" not in row else _number(row.get("max_efa_interfaces")) or 0,
        addresses_per_card=_number(row.get("ipv4_per_eni")),
    )


@lru_cache(maxsize=1)
def load() -> Facts:
    """The facts that ship with this version."""
    offerings = {
        (row["region"], row["instance_type"]): tuple(zone for zone in row["az_ids"].split(",") if zone != "-")
        for row in table("az-offerings.tsv")
    }
    return Facts(
        instances={row["instance_type"]: _instance(row) for row in table("instance-facts.tsv")},
        offerings=offerings,
        quotas=tuple(
            QuotaName(row["service_code"], row["quota_name"], row["quota_code"]) for row in table("quota-codes.tsv")
        ),
    )
