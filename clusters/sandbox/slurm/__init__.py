"""Slurm on the sandbox's HyperPod clusters: jobs that queue, run over time and end, behind a REST server per cluster."""

from clusters.sandbox.slurm.jobs import catch_up

__all__ = ["catch_up"]
