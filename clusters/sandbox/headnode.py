"""Head nodes of ParallelClusters: set up, they write the fleet's item, bring the static instances and replace what is lost."""

import json
from datetime import UTC, datetime
from typing import Any

import yaml

from clusters.sandbox import instances, moto_services
from clusters.sandbox.cloud import Cloud
from clusters.sandbox.cloudformation.resources import Place
from clusters.sandbox.cloudformation.stacks import Resource, Stack
from clusters.sandbox.errors import AwsError
from clusters.sandbox.hyperpod import life, model, scripts
from clusters.sandbox.hyperpod.model import Cluster, Node

NAME_TAG = "parallelcluster:cluster-name"
LOOKS_EVERY, AFTER_NO_CAPACITY = 60.0, 600.0
JOINS_AFTER = 90.0  # from running to known by the scheduler
FLEET = "COMPUTE_FLEET"
HOST = "ip-10-0-128-20"  # as the log of a boot that failed names it


def shelf_of(account: str, region: str) -> str:
    return f"headnode/{account}/{region}"


def clusters(cloud: Cloud, account: str, region: str) -> dict[str, Cluster]:
    """Name -> the Slurm cluster of each head node that is set up."""
    found: dict[str, Cluster] = cloud.store.read(shelf_of(account, region)).get("clusters", {})
    return {name: cluster for name, cluster in found.items() if not cluster.gone(cloud.now())}


def catch_up(cloud: Cloud, account: str, region: str) -> None:
    """Let every head node of this account and Region do what it has done until now."""
    stacks: dict[str, Stack] = cloud.store.read(f"cloudformation/{account}/{region}").get("stacks", {})
    for stack in stacks.values():
        head = stack.resources.get("HeadNode")
        if head is not None and head.type == "AWS::EC2::Instance" and stack.deleted is None:
            _play(cloud, stack, head)
    _forget(cloud, account, region, {stack.name for stack in stacks.values() if stack.deleted is None})


def trouble(place: Place) -> str:
    """Why a head node would not get through its set-up; empty when it would."""
    stack = place.cloud.store.read(f"cloudformation/{place.account}/{place.region}")["stacks"][place.stack_id]
    actions = (_configuration(place.cloud, stack)["HeadNode"].get("CustomActions") or {}).get("OnNodeConfigured") or {}
    told = [actions, *(actions.get("Sequence") or [])]
    for script in [one["Script"] for one in told if one.get("Script", "").startswith("s3://")]:
        bucket, _, key = script.removeprefix("s3://").partition("/")
        try:
            place.ask("s3", "HeadObject", Bucket=bucket, Key=key)
        except AwsError:
            return f"Failed to download OnNodeConfigured script {script} using aws s3, return code: 1."
        if _participants_fail(place, stack, bucket, key.rpartition("/")[0]):
            return f"Failed to execute OnNodeConfigured script {script}, return code: 1."
    return ""


def _participants_fail(place: Place, stack: Stack, bucket: str, folder: str) -> bool:
    """A participant's script beside ours that ends badly: the log of the boot has what our wrapper reported of it."""
    try:
        theirs, named = (
            str(place.ask("s3", "GetObject", Bucket=bucket, Key=f"{folder}/{name}")["Body"])
            for name in ("participant.sh", "participant.json")
        )
    except AwsError:
        return False
    # The condition is waited for while the instance still comes, so its name may not be known yet.
    head, group = stack.resources["HeadNode"].physical or "i-0", stack.resources.get("CloudWatchLogGroup")
    says = scripts.reported(theirs, json.loads(named), HOST)
    if says and group is not None and group.physical:
        at = int(datetime.fromtimestamp(place.cloud.clock.callers_now(), UTC).timestamp() * 1000)
        wish = {"logGroupName": group.physical, "logStreamName": f"{HOST}.{head}.cfn-init"}
        text = "\n".join(["Command runpostinstall failed, its output:", *says])
        place.ask("logs", "CreateLogStream", **wish)
        place.ask("logs", "PutLogEvents", **wish, logEvents=[{"timestamp": at, "message": text}])
    return bool(says)


def _configuration(cloud: Cloud, stack: Stack) -> dict[str, Any]:
    """The cluster's configuration as the command line left it in its bucket."""
    key = f"{stack.parameters['ArtifactS3RootDirectory']}/configs/cluster-config-with-implied-values.yaml"
    bucket = stack.parameters["ResourcesS3Bucket"]
    body = cloud.ask(stack.account, stack.region, "s3", "GetObject", Bucket=bucket, Key=key)["Body"]
    return dict(yaml.safe_load(body))


def _play(cloud: Cloud, stack: Stack, head: Resource) -> None:
    shelf = shelf_of(stack.account, stack.region)
    known: dict[str, Any] = cloud.store.read(shelf)
    cluster: Cluster | None = known.get("clusters", {}).get(stack.name)
    if cluster is not None and cluster.id != stack.id:
        cluster = None
    if stack.status.startswith(("DELETE_", "ROLLBACK_")):
        if cluster is not None and cluster.deleting is None:
            cloud.store.change(shelf)
            cluster.deleting = cloud.now()
        return
    signal = next((one for one in stack.resources.values() if one.type == "AWS::CloudFormation::WaitCondition"), None)
    if cluster is None:
        if signal is None or signal.status not in ("CREATE_COMPLETE", "UPDATE_COMPLETE"):
            return
        cluster = _set_up(cloud, stack, head, signal.changed)
    known = cloud.store.read(shelf)
    if cluster.announced_at != cloud.address:
        cloud.store.change(shelf)
        life.announce(cloud, cluster)
    version = stack.parameters.get("ConfigVersion", "")
    if known["versions"].get(stack.name) != version and stack.status in ("CREATE_COMPLETE", "UPDATE_COMPLETE"):
        cloud.store.change(shelf)["versions"][stack.name] = version
        _read_groups(cloud, stack, cluster)
        known["due"][stack.name] = cloud.now()
    _notice_the_lost(cloud, cluster)
    while known["due"][stack.name] <= cloud.now():
        at = known["due"][stack.name]
        with cloud.at(at):
            wait = _tend(cloud, cluster)
        # A quiet hour is not played minute by minute.
        cloud.store.change(shelf)["due"][stack.name] = at + wait if wait > 0 else cloud.now() + LOOKS_EVERY


def _set_up(cloud: Cloud, stack: Stack, head: Resource, at: float) -> Cluster:
    cluster = Cluster(
        name=stack.name, id=stack.id, account=stack.account, region=stack.region, wish={}, began=stack.began,
        in_service=at, groups={},
    )  # fmt: skip
    cluster.nodes.append(_node(cluster, "HeadNode", head.physical, stack.began, at))
    shelf = cloud.store.change(shelf_of(stack.account, stack.region))
    for name in ("clusters", "versions", "due"):
        shelf.setdefault(name, {})
    shelf["clusters"][stack.name] = cluster
    shelf["versions"][stack.name] = stack.parameters.get("ConfigVersion", "")
    shelf["due"][stack.name] = at
    _read_groups(cloud, stack, cluster)
    _write_fleet(cloud, cluster, "RUNNING")
    return cluster


def _read_groups(cloud: Cloud, stack: Stack, cluster: Cluster) -> None:
    """A queue is a partition; each of its compute resources has as many static instances as its least count."""
    cluster.groups, cluster.partitions = {"HeadNode": {"InstanceCount": 1}}, {}
    for queue in _configuration(cloud, stack)["Scheduling"]["SlurmQueues"]:
        for resource in queue["ComputeResources"]:
            group = f"{queue['Name']}/{resource['Name']}"
            cluster.groups[group] = {
                "InstanceCount": int(resource["MinCount"]),
                "Template": f"{cluster.name}-{queue['Name']}-{resource['Name']}",
            }
            cluster.partitions.setdefault(queue["Name"], []).append(group)


def _node(cluster: Cluster, group: str, identity: str, began: float, ready: float) -> Node:
    made = moto_services.backend("ec2", cluster.account, cluster.region).get_instance(identity)
    zone = made.placement
    return Node(
        id=identity, logical_id=identity, group=group, type=made.instance_type, subnet=made.subnet_id, az_id="",
        zone=str(getattr(zone, "zone", zone)), ip=made.private_ip, addresses=0, began=began, ready=ready,
    )  # fmt: skip


def _notice_the_lost(cloud: Cloud, cluster: Cluster) -> None:
    store = moto_services.backend("ec2", cluster.account, cluster.region)
    alive = {one.id for one in store.all_instances() if one.state in ("pending", "running")}
    for node in cluster.nodes:
        if node.gone == model.NEVER and node.id not in alive:
            cloud.store.change(shelf_of(cluster.account, cluster.region))
            node.gone = cloud.now()


def _tend(cloud: Cloud, cluster: Cluster) -> float:
    """One look of the cluster's own daemon: bring what is missing; seconds until it has to look again, 0 for at leisure."""
    fleet = _fleet(cloud, cluster)
    if fleet in ("STOP_REQUESTED", "STOPPING"):
        for group in list(cluster.groups)[1:]:
            _shrink(cloud, cluster, group, 0)
        _write_fleet(cloud, cluster, "STOPPED")
        return 0.0
    if fleet in ("START_REQUESTED", "STARTING"):
        _write_fleet(cloud, cluster, "RUNNING")
    elif fleet != "RUNNING":
        return 0.0
    waits = [_fill(cloud, cluster, group) for group in list(cluster.groups)[1:]]
    return max([*waits, 0.0])


def _fill(cloud: Cloud, cluster: Cluster, group: str) -> float:
    now, wanted = cloud.now(), int(cluster.groups[group]["InstanceCount"])
    present = [node for node in cluster.nodes if node.group == group and node.gone == model.NEVER]
    if len(present) > wanted:
        _shrink(cloud, cluster, group, wanted)
    missing = wanted - len(present)
    if missing <= 0:
        return 0.0
    wish = {"LaunchTemplate": {"LaunchTemplateName": cluster.groups[group]["Template"], "Version": "$Latest"}}
    try:
        made = cloud.ask(
            cluster.account, cluster.region, "ec2", "RunInstances", MinCount=missing, MaxCount=missing, **wish
        )["Instances"]  # fmt: skip
    except AwsError as error:
        cluster.groups[group]["Trouble"] = f"{error.code}: {error.message}"
        return AFTER_NO_CAPACITY if "Capacity" in error.code else LOOKS_EVERY
    cluster.groups[group].pop("Trouble", None)
    coming = cloud.store.read(instances.shelf_of(cluster.account, cluster.region))
    for one in made:
        runs = coming.get(one["InstanceId"], now)
        cluster.nodes.append(_node(cluster, group, one["InstanceId"], now, runs + JOINS_AFTER))
    return 0.0


def _shrink(cloud: Cloud, cluster: Cluster, group: str, wanted: int) -> None:
    present = [node for node in cluster.nodes if node.group == group and node.gone == model.NEVER]
    surplus = present[wanted:]
    if surplus:
        cloud.ask(
            cluster.account, cluster.region, "ec2", "TerminateInstances", InstanceIds=[node.id for node in surplus]
        )  # fmt: skip
        for node in surplus:
            node.gone = cloud.now()


def _fleet(cloud: Cloud, cluster: Cluster) -> str:
    item = cloud.ask(
        cluster.account, cluster.region, "dynamodb", "GetItem", TableName=f"parallelcluster-{cluster.name}",
        Key={"Id": {"S": FLEET}},
    ).get("Item")  # fmt: skip
    return str(item["Data"]["M"]["status"]["S"]) if item else ""


def _write_fleet(cloud: Cloud, cluster: Cluster, status: str) -> None:
    at = datetime.fromtimestamp(cloud.clock.callers_now(), UTC).isoformat()
    data = {"status": {"S": status}, "lastStatusUpdatedTime": {"S": at}}
    cloud.ask(
        cluster.account, cluster.region, "dynamodb", "PutItem", TableName=f"parallelcluster-{cluster.name}",
        Item={"Id": {"S": FLEET}, "Data": {"M": data}},
    )  # fmt: skip


def _forget(cloud: Cloud, account: str, region: str, present: set[str]) -> None:
    shelf = shelf_of(account, region)
    for name, cluster in list(cloud.store.read(shelf).get("clusters", {}).items()):
        if name not in present:
            kept = cloud.store.change(shelf)
            life.take_back(cloud, cluster)
            for one in ("clusters", "versions", "due"):
                kept[one].pop(name, None)
