"""Writes of the clusters layer: what people wish. The engine makes it so; nothing here talks to a cloud."""

from clusters.actions.clusters import (
    approve_cluster,
    keep_wish,
    look_for_leftovers,
    request_cluster,
    retire_cluster,
    retry_cluster,
)
from clusters.actions.fleet import start_fleet, stop_fleet
from clusters.actions.jobs import (
    LARGEST_SCRIPT,
    LONGEST_MINUTES,
    cancel_job,
    hold_job,
    launch_job,
    release_job,
    requeue_job,
    resubmit_job,
)

__all__ = [
    "LARGEST_SCRIPT",
    "LONGEST_MINUTES",
    "approve_cluster",
    "cancel_job",
    "hold_job",
    "release_job",
    "requeue_job",
    "resubmit_job",
    "keep_wish",
    "launch_job",
    "look_for_leftovers",
    "request_cluster",
    "retire_cluster",
    "retry_cluster",
    "start_fleet",
    "stop_fleet",
]
