"""Where Slurm runs: on HyperPod clusters and on ParallelClusters."""

from clusters.sandbox import headnode
from clusters.sandbox.cloud import Cloud
from clusters.sandbox.hyperpod import life
from clusters.sandbox.hyperpod.model import Cluster


def clusters(cloud: Cloud, account: str, region: str) -> dict[str, Cluster]:
    """Name -> cluster with a scheduler."""
    return {**life.clusters(cloud, account, region), **headnode.clusters(cloud, account, region)}
