"""SageMaker HyperPod: clusters that come node by node, as a function of when they were asked for."""

from clusters.sandbox.hyperpod import api, nodes  # noqa: F401 - they register their calls
from clusters.sandbox.hyperpod.life import addresses_taken, catch_up, instances_on_plan

__all__ = ["addresses_taken", "catch_up", "instances_on_plan"]
