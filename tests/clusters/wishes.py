"""Configurations for tests: the eight HyperPod clusters of the demo programme, written out in our own words."""

from typing import Any

from clusters.architectures.configuration import Configuration, read_configuration

DEMO: dict[str, tuple[str, str, str, str | None, str, int, str, int, int, int]] = {
    # name: orchestrator, Region, zone, controller, compute type, count, subnet, Lustre GiB, MB/s per TiB, OpenZFS GiB
    "aster-train": ("slurm", "ap-northeast-1", "apne1-az4", "m5.8xlarge", "p5.48xlarge", 20, "/21", 28800, 500, 2048),
    "birch-med": ("eks", "us-east-2", "use2-az3", None, "p5.48xlarge", 8, "/21", 9600, 250, 0),
    "voyage-405": ("slurm", "us-east-1", "use1-az6", "m5.8xlarge", "p5.48xlarge", 24, "/21", 57600, 250, 1024),
    "fern-vla": ("eks", "us-west-2", "usw2-az4", None, "p5.48xlarge", 6, "/22", 7200, 250, 0),
    "jorri-fin": ("slurm", "us-east-1", "use1-az6", "m5.8xlarge", "p5.48xlarge", 12, "/22", 19200, 250, 1024),
    "kest-eo": ("slurm", "us-west-2", "usw2-az4", "m5.8xlarge", "p5.48xlarge", 14, "/22", 28800, 250, 0),
    "kest-trn": ("slurm", "us-east-1", "use1-az6", "m5.4xlarge", "trn1.32xlarge", 8, "/24", 4800, 250, 0),
    "lumen-moe": ("slurm", "ap-northeast-1", "apne1-az4", "m5.8xlarge", "p5.48xlarge", 16, "/22", 24000, 500, 1024),
}


def document(name: str = "aster-train") -> dict[str, Any]:
    """As a person would write it: `ml.` or not, the subnet as a size, defaults left out."""
    kind, region, zone, controller, compute, count, subnet, gib, mbs, zfs = DEMO[name]
    groups = [{"name": "workers", "instance_type": compute, "count": count, "training_plan": f"tp-{name}"}]
    if controller:
        groups.insert(0, {"name": "head", "instance_type": f"ml.{controller}", "count": 1, "role": "controller"})
    return {
        "architecture": f"hyperpod-{kind}",
        "region": region,
        "az_id": zone,
        "subnet_cidr": subnet,
        "instance_groups": groups,
        "storage": {
            "lustre": {"capacity_gib": gib, "mbs_per_tib": mbs},
            "openzfs": {"capacity_gib": zfs} if zfs else None,
            "bucket": f"demo-{name}-data",
        },
    }


def wish(name: str = "aster-train", **changes: Any) -> Configuration:
    return read_configuration({**document(name), **changes})
