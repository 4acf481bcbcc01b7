"""Facts about instance types, quotas and Availability Zones, read from the tables in `clusters/facts`."""

import functools
import gzip
import json
from pathlib import Path

import moto

FOLDER = Path(__file__).parents[1] / "facts"


def _rows(name: str) -> list[dict[str, str]]:
    lines = [line for line in (FOLDER / name).read_text().splitlines() if not line.startswith("#")]
    header = lines[0].split("\t")
    return [dict(zip(header, line.split("\t"), strict=False)) for line in lines[1:]]


def offered(region: str, instance_type: str) -> frozenset[str]:
    """The AZ ids of the Region that offer this type (without `ml.`)."""
    here = _offered_by_table(region)
    return here[instance_type] if instance_type in here else _offered_by_moto(region).get(instance_type, frozenset())


@functools.cache
def _offered_by_table(region: str) -> dict[str, frozenset[str]]:
    return {
        row["instance_type"]: frozenset(row["az_ids"].split(",")) if row["az_ids"] != "-" else frozenset()
        for row in _rows("az-offerings.tsv")
        if row["region"] == region
    }


@functools.cache
def types(region: str) -> tuple[str, ...]:
    """Every instance type of which it is known where the Region offers it."""
    return tuple(sorted(set(_offered_by_table(region)) | set(_offered_by_moto(region))))


@functools.cache
def _offered_by_moto(region: str) -> dict[str, frozenset[str]]:
    path = (
        Path(moto.__file__).parent / "ec2/resources/instance_type_offerings/availability-zone-id" / f"{region}.json.gz"
    )
    if not path.exists():
        return {}
    found: dict[str, set[str]] = {}
    for row in json.loads(gzip.decompress(path.read_bytes())):
        found.setdefault(row["InstanceType"], set()).add(row["Location"])
    return {name: frozenset(zones) for name, zones in found.items()}


@functools.cache
def _instances() -> dict[str, dict[str, str]]:
    return {row["instance_type"]: row for row in _rows("instance-facts.tsv")}


def vcpus(instance_type: str) -> int:
    row = _instances().get(instance_type, {})
    return int(row["vcpus"]) if row.get("vcpus", "").isdigit() else 8


def memory_mib(instance_type: str) -> int:
    row = _instances().get(instance_type, {})
    return int(row["mem_gib"]) * 1024 if row.get("mem_gib", "").isdigit() else 32768


def accelerators(instance_type: str) -> tuple[str, int]:
    """The accelerator's name and how many of them one instance has."""
    row = _instances().get(instance_type, {})
    if row.get("gpu_count", "-").isdigit():
        return row["gpu_name"].lower(), int(row["gpu_count"])
    if row.get("neuron_devices", "-").isdigit():
        return "neuron", int(row["neuron_devices"])
    return "", 0


def efa_interfaces(instance_type: str) -> int:
    row = _instances().get(instance_type, {})
    told = row.get("max_efa_interfaces", "") if row.get("efa_supported") == "True" else ""
    return int(told) if told.isdigit() else 0


def addresses_per_node(instance_type: str, on_eks: bool) -> int:
    """How many addresses of its subnet one HyperPod node of this type takes (type without `ml.`).

    One for each network card; on EKS the first card also holds the addresses of the pods.
    """
    row = _instances().get(instance_type, {})
    cards = int(row["network_cards"]) if row.get("network_cards", "").isdigit() else 1
    on_first = int(row["ipv4_per_eni"]) if row.get("ipv4_per_eni", "").isdigit() else 30
    return cards - 1 + on_first if on_eks else cards


@functools.cache
def quota_codes() -> dict[tuple[str, str], str]:
    """(service, exact quota name) -> code."""
    return {(row["service_code"], row["quota_name"]): row["quota_code"] for row in _rows("quota-codes.tsv")}
