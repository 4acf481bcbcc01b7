"""Tables of the clusters layer, gathered for Django."""

from clusters.models.capacity import QuotaGrant, QuotaRequest, Reservation, ServiceQuota
from clusters.models.cluster import (
    CloudAccount,
    Cluster,
    ClusterAccess,
    Proof,
    Revision,
)
from clusters.models.configuration import ClusterConfiguration, ConfigurationVersion
from clusters.models.external import ExternalObject
from clusters.models.job import Attempt, Job
from clusters.models.node import Node, NodeInstance
from clusters.models.operation import Leftover, NodeOrder, Operation
from clusters.models.storage import Bucket, FileSystem

__all__ = [
    "Attempt",
    "Bucket",
    "CloudAccount",
    "Cluster",
    "ClusterAccess",
    "ClusterConfiguration",
    "ConfigurationVersion",
    "ExternalObject",
    "FileSystem",
    "Job",
    "Leftover",
    "Node",
    "NodeInstance",
    "NodeOrder",
    "Operation",
    "Proof",
    "QuotaGrant",
    "QuotaRequest",
    "Reservation",
    "Revision",
    "ServiceQuota",
]
