"""Tables of the clusters layer, gathered for Django."""

from clusters.models.agent import AgentLog, AgentOrder, AgentRun, HeadNodeAgent
from clusters.models.budget import BudgetRow, BudgetWatch, ExchangeRate, PriceList
from clusters.models.capacity import QuotaGrant, QuotaRequest, Reservation, ServiceQuota
from clusters.models.capacity_request import CapacityRequest
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
from clusters.models.job_script import JobScript, JobScriptVersion
from clusters.models.job_watching import JobFault, JobOutput, JobPoint, JobProgress, JobRank, JobReporter
from clusters.models.ledger import LedgerRow, Option
from clusters.models.node import Node, NodeInstance
from clusters.models.operation import Leftover, NodeOrder, Operation
from clusters.models.orphan import Orphan
from clusters.models.preflight import AccountFact, Preflight, PreflightLine, TemplateVerdict
from clusters.models.quarantine import Quarantine
from clusters.models.search import NodeSearch, PairTest, SearchedNode
from clusters.models.software import ContainerImage, InstalledChart, NodeSetup, NodeSetupVersion
from clusters.models.storage import Bucket, FileSystem
from clusters.models.usage import AccountingRead, JobRun, Lending, NodeSpell, UsageDay, UsageDispute
from clusters.models.watching import Alert, AlertIntake

__all__ = [
    "CapacityRequest",
    "AccountFact",
    "AccountingRead",
    "AgentLog",
    "AgentOrder",
    "AgentRun",
    "Alert",
    "AlertIntake",
    "Attempt",
    "Bucket",
    "BudgetRow",
    "BudgetWatch",
    "CloudAccount",
    "Cluster",
    "ClusterAccess",
    "ClusterConfiguration",
    "ConfigurationVersion",
    "ContainerImage",
    "ExternalObject",
    "ExchangeRate",
    "FileSystem",
    "HeadNodeAgent",
    "InstalledChart",
    "Job",
    "JobFault",
    "JobOutput",
    "JobPoint",
    "JobProgress",
    "JobRank",
    "JobReporter",
    "JobRun",
    "Leftover",
    "Lending",
    "Node",
    "NodeInstance",
    "NodeOrder",
    "NodeSearch",
    "JobScript",
    "JobScriptVersion",
    "NodeSetup",
    "NodeSetupVersion",
    "NodeSpell",
    "Operation",
    "Orphan",
    "PairTest",
    "Preflight",
    "PriceList",
    "PreflightLine",
    "Proof",
    "Quarantine",
    "LedgerRow",
    "Option",
    "QuotaGrant",
    "QuotaRequest",
    "Reservation",
    "Revision",
    "SearchedNode",
    "ServiceQuota",
    "TemplateVerdict",
    "UsageDay",
    "UsageDispute",
]
