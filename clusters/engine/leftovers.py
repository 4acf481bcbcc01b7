"""What of a deleted cluster is still in its account: looked for before the cluster counts as deleted, and kept as rows."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import structlog
from django.utils import timezone

from clusters import foresight, states
from clusters.access import agent_secret, slurm_parameter, slurm_secret
from clusters.architectures.parts import MissingOutput
from clusters.engine import facts
from clusters.engine.facts import ENGINE, Known
from clusters.models import Cluster, Leftover
from clusters.plans.prices import CENT, Prices
from clusters.plans.templates import resources
from clusters.providers import Account, ProviderError, aws
from tenants.history import timeline
from tenants.wall.acting import acting_for
from tenants.web.problems import Refused
from tenants.work import due

log = structlog.get_logger(__name__)

FILE_SYSTEM, BACKUP, BUCKET, VPC, INTERFACE, VOLUME, SNAPSHOT, LOGS, REGISTRY, DATABASE_SNAPSHOT = (
    "AWS::FSx::FileSystem",
    "AWS::FSx::Backup",
    "AWS::S3::Bucket",
    "AWS::EC2::VPC",
    "AWS::EC2::NetworkInterface",
    "AWS::EC2::Volume",
    "AWS::EC2::Snapshot",
    "AWS::Logs::LogGroup",
    "AWS::ECR::Repository",
    "AWS::RDS::DBClusterSnapshot",
)
FREE = frozenset(
    {VPC, INTERFACE, "AWS::EC2::Subnet", "AWS::EC2::SecurityGroup", "AWS::IAM::Role", "AWS::EC2::RouteTable"}
)
ABSENT = frozenset(
    {"ParameterNotFound", "ResourceNotFoundException", "FileSystemNotFound", "RepositoryNotFoundException"}
)
TOLD, GIB = 12, 1024**3
AGAIN = timedelta(minutes=1)
SHARED_BUCKET = re.compile(r"parallelcluster-[0-9a-f]{16}-v1-do-not-delete")
LOG_GROUPS = (
    "/aws/sagemaker/Clusters/{}/",
    "/cohort/clusters/{}/",
    "/aws/parallelcluster/{}-",
)


@dataclass(frozen=True)
class Found:
    kind: str
    external_id: str
    why: str
    name: str = ""
    reason: str = ""
    size_gib: int | None = None
    price: str = ""  # the line of the price file that it costs by


def gather(known: Known) -> list[Found]:
    """Ask the account, part by part; raises ProviderError when it does not answer, since a list with gaps is none."""
    found: dict[tuple[str, str], Found] = {}
    for row in known.rows.values():
        if row.external_id and row.kind in ("stack", "parallelcluster"):
            meant = _meant_to_stay(known, row.role) if row.kind == "stack" else None
            for one in _of_stack(known.account, row.external_id, meant):
                found[one.kind, one.external_id] = one
    for one in list(found.values()):
        if one.kind in LOOKED_AT:
            seen = LOOKED_AT[one.kind](known.account, one)
            del found[one.kind, one.external_id]
            found |= {(one.kind, one.external_id): seen} if seen else {}
    for one in [
        *_backups(known, found),
        *_database_snapshots(known),
        *_by_network(known.account, found),
        *_disks(known),
        *_told_of_itself(known),
        *_of_the_engine(known),
    ]:
        found.setdefault((one.kind, one.external_id), one)
        if one.size_gib is not None:
            found[one.kind, one.external_id] = one
    return sorted(found.values(), key=lambda one: (one.why != "stuck", one.kind, one.external_id))


def _meant_to_stay(known: Known, role: str) -> set[str] | None:
    """Resources that the template itself keeps; None where the template cannot be told any more."""
    try:
        body = next(spec for spec in known.specs if spec.role == role).body(known.wiring())
    except MissingOutput:
        return None
    made = resources(body["TemplateBody"], body["Parameters"])
    return {name for name, each in made.items() if each.kept_when_deleted}


def _of_stack(account: Account, stack_id: str, meant: set[str] | None) -> Iterator[Found]:
    """A deleted stack still tells, by its id, which of its resources it left: on purpose, or because it could not."""
    resources = aws.pages(account, "cloudformation", "ListStackResources", "StackResourceSummaries", StackName=stack_id)
    for each in resources:
        why = {"DELETE_SKIPPED": "kept", "DELETE_FAILED": "stuck"}.get(each["ResourceStatus"])
        if why == "kept" and meant is not None and each["LogicalResourceId"] not in meant:
            why = "stuck"
        if why and each.get("PhysicalResourceId"):
            yield Found(
                each["ResourceType"],
                each["PhysicalResourceId"],
                why,
                each["LogicalResourceId"],
                each.get("ResourceStatusReason", ""),
            )


def _file_system(account: Account, one: Found) -> Found | None:
    """How large it is; None where a person has deleted it meanwhile."""
    try:
        [system] = aws.call(account, "fsx", "DescribeFileSystems", FileSystemIds=[one.external_id])["FileSystems"]
    except ProviderError as error:
        if error.code in ABSENT:
            return None
        raise
    rate = (system.get("LustreConfiguration") or {}).get("PerUnitStorageThroughput")
    size = int(system.get("StorageCapacity") or 0)
    return replace(one, size_gib=size, price=f"lustre-{rate}" if rate else "openzfs")


def _registry(account: Account, one: Found) -> Found | None:
    """How many images it holds; None where a person has deleted it meanwhile."""
    try:
        aws.call(account, "ecr", "DescribeRepositories", repositoryNames=[one.external_id])
        images = {
            each["imageDigest"]
            for each in aws.pages(account, "ecr", "ListImages", "imageIds", repositoryName=one.external_id)
        }
    except ProviderError as error:
        if error.code in ABSENT:
            return None
        raise
    return replace(one, reason=one.reason or f"images: {len(images)}")


LOOKED_AT: dict[str, Callable[[Account, Found], Found | None]] = {FILE_SYSTEM: _file_system, REGISTRY: _registry}


def _backups(known: Known, found: dict[tuple[str, str], Found]) -> Iterator[Found]:
    """Backups of its file systems: of those that stayed, and those that outlived theirs."""
    told = {row.outputs.get(name, "") for row in known.rows.values() for name in ("LustreId", "OpenZfsId")}
    systems = sorted({name for kind, name in found if kind == FILE_SYSTEM} | (told - {""}))
    if not systems:
        return
    where = [{"Name": "file-system-id", "Values": systems}]
    for each in aws.pages(known.account, "fsx", "DescribeBackups", "Backups", Filters=where):
        size = -(-int(each.get("SizeInBytes") or 0) // GIB)
        of = each.get("FileSystem", {}).get("FileSystemId", "")
        why = f"{each.get('Type', '').lower()} of {of}"
        yield Found(BACKUP, each["BackupId"], "found", reason=why, size_gib=size or None, price="backup")


def _database_snapshots(known: Known) -> Iterator[Found]:
    """What the database of its accounts was when it was deleted, and what people kept of it."""
    hosts = {row.outputs.get("Host", "") for row in known.rows.values() if row.role == "accounting"} - {""}
    for host in sorted(hosts):
        name = host.partition(".")[0]
        for each in aws.pages(
            known.account, "rds", "DescribeDBClusterSnapshots", "DBClusterSnapshots",
            DBClusterIdentifier=name, SnapshotType="manual",
        ):  # fmt: skip
            identity, size = each["DBClusterSnapshotIdentifier"], int(each.get("AllocatedStorage") or 0)
            yield Found(DATABASE_SNAPSHOT, identity, "kept", reason=f"of {name}", size_gib=size, price="backup")


def _disks(known: Known) -> Iterator[Found]:
    """Volumes that no instance holds any more, and snapshots, by our tags and by ParallelCluster's."""
    seen: set[str] = set()
    for row in known.rows.values():
        ours = [{"Name": "tag:cohort:resource", "Values": [str(known.cluster.pk)]}]
        theirs = [{"Name": "tag:parallelcluster:cluster-name", "Values": [row.name]}]
        for where in (ours, theirs) if row.kind == "parallelcluster" else (ours,):
            yield from _disks_where(known.account, where, seen)


def _disks_where(account: Account, where: list[dict[str, Any]], seen: set[str]) -> Iterator[Found]:
    free = [{"Name": "status", "Values": ["available", "error"]}]
    for each in aws.pages(account, "ec2", "DescribeVolumes", "Volumes", Filters=[*where, *free]):
        if each["VolumeId"] not in seen:
            seen.add(each["VolumeId"])
            yield Found(VOLUME, each["VolumeId"], "found", size_gib=each["Size"], price="disk")
    for each in aws.pages(account, "ec2", "DescribeSnapshots", "Snapshots", OwnerIds=["self"], Filters=where):
        if each["SnapshotId"] not in seen:
            seen.add(each["SnapshotId"])
            told = each.get("Description", "")
            yield Found(
                SNAPSHOT, each["SnapshotId"], "found", reason=told, size_gib=each["VolumeSize"], price="snapshot"
            )


def _of_the_engine(known: Known) -> Iterator[Found]:
    """The bucket that ParallelCluster makes once for all clusters of an account's Region."""
    if not any(row.kind == "parallelcluster" for row in known.rows.values()):
        return
    for each in aws.call(known.account, "s3", "ListBuckets").get("Buckets", []):
        if SHARED_BUCKET.fullmatch(each["Name"]):
            yield Found(
                BUCKET, each["Name"], "shared", reason="ParallelCluster keeps its files of every cluster there."
            )


def _by_network(account: Account, found: dict[tuple[str, str], Found]) -> Iterator[Found]:
    """What else lives in a network that stayed: interfaces of file systems, and what nobody knows of."""
    for kind, vpc in list(found):
        if kind != VPC:
            continue
        where = [{"Name": "vpc-id", "Values": [vpc]}]
        for each in aws.pages(account, "ec2", "DescribeNetworkInterfaces", "NetworkInterfaces", Filters=where):
            yield Found(INTERFACE, each["NetworkInterfaceId"], "found", reason=each.get("Description", ""))
        for each in aws.pages(account, "ec2", "DescribeSecurityGroups", "SecurityGroups", Filters=where):
            if each["GroupName"] != "default":
                yield Found("AWS::EC2::SecurityGroup", each["GroupId"], "found", each["GroupName"])


def _told_of_itself(known: Known) -> Iterator[Found]:
    """What the cluster's own scripts left to say how it was reached, and its logs."""
    if "cluster" not in known.rows:
        return
    account, name = known.account, known.rows["cluster"].name
    if _there(account, "ssm", "GetParameter", Name=slurm_parameter(name)):
        yield Found("AWS::SSM::Parameter", slurm_parameter(name), "found")
    if _there(account, "secretsmanager", "DescribeSecret", SecretId=slurm_secret(name)):
        yield Found("AWS::SecretsManager::Secret", slurm_secret(name), "found")
    if _there(account, "secretsmanager", "DescribeSecret", SecretId=agent_secret(name)):
        yield Found("AWS::SecretsManager::Secret", agent_secret(name), "found")
    eks = known.rows["eks"].outputs.get("ClusterName", "") if "eks" in known.rows else ""
    prefixes = [template.format(name) for template in LOG_GROUPS] + ([f"/aws/eks/{eks}/"] if eks else [])
    for prefix in prefixes:
        for each in aws.pages(account, "logs", "DescribeLogGroups", "logGroups", logGroupNamePrefix=prefix):
            size = -(-int(each.get("storedBytes") or 0) // GIB)
            yield Found(LOGS, each["logGroupName"], "found", size_gib=size, price="logs")


def _there(account: Account, service: str, operation: str, **names: Any) -> bool:
    try:
        told = aws.call(account, service, operation, **names)
    except ProviderError as error:
        if error.code in ABSENT:
            return False
        raise
    return not told.get("DeletedDate")


def write(cluster: Cluster, found: list[Found]) -> None:
    """Rows with what each costs, and one line of the history; what is no longer found has gone."""
    try:
        known: Prices | None = foresight.price_list()
    except Refused:
        known = None
    now = timezone.now()
    for one in found:
        Leftover.objects.update_or_create(
            tenant_id=cluster.tenant_id,
            cluster=cluster,
            kind=one.kind[:60],
            external_id=one.external_id[:300],
            defaults={
                "name": one.name[:200],
                "why": one.why,
                "reason": one.reason,
                "size_gib": one.size_gib,
                "monthly": monthly(one, known, cluster.region),
                "found_at": now,
                "gone_at": None,
            },
        )
    Leftover.objects.filter(cluster=cluster, gone_at=None).exclude(found_at=now).update(gone_at=now)
    told = [f"{one.kind.split('::', 1)[-1]} {one.external_id}" for one in found]
    more = [f"+{len(told) - TOLD}"] if len(told) > TOLD else []
    timeline.record(
        states.LEFT_OVER, about=cluster, by=ENGINE, name=cluster.name, count=len(told), things=[*told[:TOLD], *more]
    )


def look_again(held: due.Held) -> None:
    """Of a cluster that is gone: a person may have deleted some of it since."""
    with acting_for(held.tenant_id, staff=True):
        known = facts.read(held.ref)
        if known is None or known.cluster.state != "deleted":
            due.finish(held, again_in=None)
            return
    try:
        found = gather(known)
    except ProviderError as error:
        log.warning("leftovers_not_seen", cluster=known.cluster.name, kind=error.kind, message=error.message)
        with acting_for(held.tenant_id, staff=True):
            due.finish(held, again_in=AGAIN, progress=False, give_back=error.kind == "throttled", stuck=error.message)
        return
    with acting_for(held.tenant_id, staff=True):
        cluster = Cluster.objects.select_for_update(of=("self",)).select_related("account").get(pk=known.cluster.pk)
        due.finish(held, again_in=None)
        write(cluster, found)


def monthly(one: Found, known: Prices | None, region: str) -> Decimal | None:
    """What it costs a month; None where that is not known, for instance how full a bucket is."""
    if one.kind in FREE:
        return Decimal(0)
    rate = known.gib_month(one.price, region) if known and one.price else None
    return None if rate is None or one.size_gib is None else (rate * one.size_gib).quantize(CENT)
