"""From a configuration to the requests: which parts a cluster has, in their order, and the body of each."""

import hashlib
import ipaddress
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache, partial
from types import MappingProxyType
from typing import Any, Literal

from clusters import facts
from clusters.architectures import FOLDER, Architecture, PartKind
from clusters.architectures.configuration import Configuration, Group
from clusters.architectures.engine_settings import laid_over

BUCKET_LENGTH = 63
STANDBY = 5  # the place of its subnet among the small ones
OBSERVABILITY, SUMS = FOLDER / "observability", "CHECKSUMS.sha256"
ROOT_GIB, COMPUTE_ROOT_GIB = 500, 200
IMAGE = "ubuntu2204"
DATABASE_UNITS = "4"  # of Aurora: enough for the accounts of a few hundred nodes, and close to nothing while idle
# Before anything is asked of a cloud nobody needs the true ones.
ALERTS_TO, NO_TOKEN = "https://portal.invalid/alerts/", "token-that-nobody-has-yet"
PLAIN_ROLES = frozenset({"controller", "login"})  # they run services, where hyper-threading helps


@dataclass(frozen=True)
class Wiring:
    """What a body needs beside the configuration: where it goes, what its parts are called, what earlier ones gave."""

    account_id: str
    role_arn: str  # the role that we act in, which is to administer what is made
    names: Mapping[str, str]  # role of a part -> its name
    outputs: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # role of a part -> what it gave
    scripts: Mapping[str, str] = field(default_factory=dict)  # SHA-256 of a participant's script -> its text
    alerts: tuple[str, str] = (ALERTS_TO, NO_TOKEN)  # where alerts go, and what they show to be let in


class MissingOutput(LookupError):
    """An earlier part did not give what a later one needs."""

    def __init__(self, role: str, name: str) -> None:
        super().__init__(f"The part {role!r} has no output {name!r}.")
        self.role, self.name = role, name


@dataclass(frozen=True)
class PartSpec:
    """One part: `body(wiring)` is the body of its request, once the parts it `needs` are ready."""

    kind: str
    role: str
    belongs_to: Literal["site", "cluster"]
    needs: tuple[str, ...]
    body: Callable[[Wiring], dict[str, Any]]


def parts(architecture: Architecture, wish: Configuration) -> list[PartSpec]:
    """The parts of a cluster, in the order in which they are made; they go in the opposite order."""
    made = [part for part in architecture.parts if not part.when or getattr(wish, part.when)]
    roles = {part.role for part in made}
    return [
        PartSpec(
            part.kind,
            part.role,
            part.belongs_to,
            tuple(each for each in part.needs if each in roles),
            partial(_body, architecture, wish, part),
        )
        for part in made
    ]


def _body(architecture: Architecture, wish: Configuration, part: PartKind, wiring: Wiring) -> dict[str, Any]:
    if part.kind == "hyperpod":
        return hyperpod(architecture, wish, wiring)
    if part.kind == "parallelcluster":
        return parallelcluster(architecture, wish, wiring)
    if part.role == "observability":
        return observability(architecture, wish, part, wiring)
    parameters = _PARAMETERS[part.role]
    return {
        "TemplateBody": architecture.text(part.template),
        "Parameters": parameters(architecture, wish, wiring),
        "Capabilities": ["CAPABILITY_IAM"],
    }


def base_parameters(architecture: Architecture, wish: Configuration, wiring: Wiring) -> dict[str, str]:
    """Network, storage, buckets and the nodes' role."""
    lower = next(ipaddress.IPv4Network(wish.vpc_cidr).subnets(1))
    blocks = list(lower.subnets(new_prefix=28))
    buckets = wish.storage
    parameters = {
        "ZoneId": wish.az_id,
        "VpcCidr": wish.vpc_cidr,
        "NodeCidr": wish.subnet_cidr,
        "PublicCidr": str(blocks[0]),
        "LustreGib": str(buckets.lustre.capacity_gib),
        "LustreMbsPerTib": str(buckets.lustre.mbs_per_tib),
        "LifecycleBucketName": bucket_name("sagemaker-" if architecture.engine == "hyperpod" else "cohort-", wiring),
        "DataBucketName": buckets.bucket or bucket_name("cohort-data-", wiring),
        "MakeDataBucket": "no" if buckets.bucket and buckets.bucket_exists else "yes",
    }
    if architecture.orchestrator == "slurm":
        openzfs = buckets.openzfs
        parameters["OpenZfsGib"] = str(openzfs.capacity_gib if openzfs else 0)
        parameters["OpenZfsMbs"] = str(openzfs.mbs if openzfs else 0)
        if "storage.openzfs.deployment" in architecture.parameters:
            parameters |= {
                "OpenZfsDeployment": (openzfs and openzfs.deployment) or "SINGLE_AZ_1",
                "StandbyZoneId": _other_zone(wish),
                "StandbyCidr": str(blocks[STANDBY]),
            }
    else:
        first, second = control_zones(architecture, wish)
        parameters |= {
            "ControlZoneA": first,
            "ControlZoneB": second,
            "ControlCidrA": str(blocks[1]),
            "ControlCidrB": str(blocks[2]),
        }
    return parameters


def _other_zone(wish: Configuration) -> str:
    """A second zone of the Region, for what has to lie in two; empty where we know of one only."""
    return next((zone for zone in facts.load().zones.get(wish.region, ()) if zone != wish.az_id), "")


def control_zones(architecture: Architecture, wish: Configuration) -> tuple[str, str]:
    """Two zones for the Kubernetes API: the nodes' own where EKS is offered in it, and another."""
    zones = architecture.control_zones[wish.region]
    ordered = sorted(zones, key=lambda zone: (zone != wish.az_id, zone))
    return ordered[0], ordered[1]


def accounting_parameters(architecture: Architecture, wish: Configuration, wiring: Wiring) -> dict[str, str]:
    """The database of Slurm's accounts: beside the small subnets, in the nodes' zone and another."""
    lower = next(ipaddress.IPv4Network(wish.vpc_cidr).subnets(1))
    blocks = list(lower.subnets(new_prefix=28))
    return {
        "ZoneA": wish.az_id,
        "ZoneB": _other_zone(wish),
        "CidrA": str(blocks[3]),
        "CidrB": str(blocks[4]),
        "VpcId": _output(wiring, "base", "VpcId"),
        "NodeSecurityGroupId": _output(wiring, "base", "SecurityGroupId"),
        "SecretName": f"cohort/clusters/{wiring.names['cluster']}/accounting",
        "MostCapacity": DATABASE_UNITS,
    }


def eks_parameters(architecture: Architecture, wish: Configuration, wiring: Wiring) -> dict[str, str]:
    """The Kubernetes API that HyperPod's nodes join."""
    return {
        "ClusterName": wiring.names["eks"],
        "KubernetesVersion": wish.software["kubernetes"],
        "OperatorRoleArn": wiring.role_arn,
        **({"EditorRoleArn": wish.editor_role} if "editor_role" in architecture.parameters else {}),
        "ControlSubnetA": _output(wiring, "base", "ControlSubnetA"),
        "ControlSubnetB": _output(wiring, "base", "ControlSubnetB"),
        "SecurityGroupId": _output(wiring, "base", "SecurityGroupId"),
    }


def grafana_parameters(architecture: Architecture, wish: Configuration, wiring: Wiring) -> dict[str, str]:
    """Amazon Managed Grafana."""
    name = wiring.names["cluster"]
    return {"ClusterName": name, "WorkspaceName": name}


def observability(architecture: Architecture, wish: Configuration, part: PartKind, wiring: Wiring) -> dict[str, Any]:
    """What the cluster is watched with, and the files of the machine that collects."""
    name, bucket = wiring.names["cluster"], _output(wiring, "base", "LifecycleBucketName")
    files = monitor_files()
    folder = f"monitor/{digest(files)}"
    parameters = {
        "ClusterName": name,
        "NodeSubnetId": _output(wiring, "base", "NodeSubnetId"),
        "NodeSecurityGroupId": _output(wiring, "base", "SecurityGroupId"),
        "FilesBucket": bucket,
        "FilesFolder": folder,
        "GrafanaKind": wish.observability,
        "GrafanaWorkspaceId": _output(wiring, "grafana", "GrafanaWorkspaceId") if wish.managed_grafana else "",
        "SecretPrefix": f"cohort/monitoring/{name}",
        "AlertAddress": wiring.alerts[0],
        "AlertToken": wiring.alerts[1],
        "AlertRules": (OBSERVABILITY / "alerts.yaml").read_text("utf-8"),
    }
    return {
        "TemplateBody": architecture.text(part.template),
        "Parameters": parameters,
        "Capabilities": ["CAPABILITY_IAM"],
        "objects": [
            {"bucket": bucket, "key": f"{folder}/{each}", "text": text} for each, text in sorted(files.items())
        ],
    }


@lru_cache(maxsize=1)
def monitor_files() -> dict[str, str]:
    """The set-up of the collector and the dashboards, with their checksums."""
    files = {path.name: path.read_text("utf-8") for path in sorted((OBSERVABILITY / "monitor").iterdir())}
    boards = sorted((OBSERVABILITY / "dashboards").glob("*.json"))
    files |= {f"dashboard-{path.name}": path.read_text("utf-8") for path in boards}
    return files | {SUMS: _sums(files)}


_PARAMETERS = {
    "base": base_parameters,
    "eks": eks_parameters,
    "accounting": accounting_parameters,
    "grafana": grafana_parameters,
}


def hyperpod(architecture: Architecture, wish: Configuration, wiring: Wiring) -> dict[str, Any]:
    """The CreateCluster request without name and tags, and the lifecycle scripts that it points at."""
    scripts = node_scripts(architecture, of_participant(wish, wiring))
    if architecture.orchestrator == "slurm":
        scripts["provisioning_parameters.json"] = json.dumps(provisioning_parameters(wish, wiring), indent=2) + "\n"
    bucket = _output(wiring, "base", "LifecycleBucketName")
    folder = f"lifecycle/{digest(scripts)}"
    request: dict[str, Any] = {
        "InstanceGroups": [_group(group, wish, wiring, f"s3://{bucket}/{folder}") for group in wish.instance_groups],
        "VpcConfig": {
            "SecurityGroupIds": [_output(wiring, "base", "SecurityGroupId")],
            "Subnets": [_output(wiring, "base", "NodeSubnetId")],
        },
        "NodeRecovery": wish.node_recovery,
    }
    if architecture.orchestrator == "eks":
        request["Orchestrator"] = {"Eks": {"ClusterArn": _output(wiring, "eks", "ClusterArn")}}
        request["NodeProvisioningMode"] = "Continuous"
    if wish.tiered_storage:
        request["TieredStorageConfig"] = {
            "Mode": "Enable",
            "InstanceMemoryAllocationPercentage": wish.tiered_storage,
        }
    objects = [{"bucket": bucket, "key": f"{folder}/{name}", "text": text} for name, text in sorted(scripts.items())]
    return {"request": request, "objects": objects}


def _group(group: Group, wish: Configuration, wiring: Wiring, source: str) -> dict[str, Any]:
    request: dict[str, Any] = {
        "InstanceGroupName": group.name,
        "InstanceType": facts.ml_name(group.instance_type),
        "InstanceCount": group.count,
        "ExecutionRole": _output(wiring, "base", "ExecutionRoleArn"),
        "ThreadsPerCore": 2 if group.role in PLAIN_ROLES else 1,
        "LifeCycleConfig": {"SourceS3Uri": source, "OnCreate": "on_create.sh"},
        "InstanceStorageConfigs": [{"EbsVolumeConfig": {"VolumeSizeInGB": ROOT_GIB}}],
    }
    if wish.deep_health_checks and group.role == "compute":
        request["OnStartDeepHealthChecks"] = list(wish.deep_health_checks)
    if group.training_plan:
        plan = f"training-plan/{group.training_plan}"
        request["TrainingPlanArn"] = f"arn:aws:sagemaker:{wish.region}:{wiring.account_id}:{plan}"
    return request


def of_participant(wish: Configuration, wiring: Wiring) -> dict[str, str]:
    """What the participant brings to every node: which images, and a script that runs after ours."""
    files = {}
    if wish.images:
        images = [{**asdict(image), "file": image.file} for image in wish.images]
        files["images.json"] = json.dumps({"images": images}, indent=1) + "\n"
    if wish.node_setup:
        setup = wish.node_setup
        if setup.sha256 not in wiring.scripts:
            raise MissingOutput("node_setup", f"{setup.name}, version {setup.version}")
        files["participant.json"] = json.dumps({"name": setup.name, "version": setup.version}) + "\n"
        files["participant.sh"] = wiring.scripts[setup.sha256]
    return files


def node_scripts(architecture: Architecture, more: Mapping[str, str] = MappingProxyType({})) -> dict[str, str]:
    """The scripts as nodes get them: with their checksums, and with what each instance type should have."""
    scripts = architecture.scripts() | dict(more)
    if architecture.checks_nodes:
        scripts["expected.json"] = json.dumps(_expected(), indent=1, sort_keys=True) + "\n"
        scripts[SUMS] = _sums(scripts)
    return scripts


def _sums(files: Mapping[str, str]) -> str:
    return "".join(f"{hashlib.sha256(text.encode()).hexdigest()}  {name}\n" for name, text in sorted(files.items()))


def _expected() -> dict[str, dict[str, Any]]:
    return {
        each.name: {"accelerator": each.accelerator, "accelerators": each.accelerators, "efa": each.efa or 0}
        for each in facts.load().instances.values()
        if each.accelerators
    }


def parallelcluster(architecture: Architecture, wish: Configuration, wiring: Wiring) -> dict[str, Any]:
    """The configuration file of ParallelCluster without tags, and the scripts that its nodes run."""
    scripts = node_scripts(architecture, of_participant(wish, wiring))
    bucket = _output(wiring, "base", "LifecycleBucketName")
    key = f"lifecycle/{digest(scripts)}"
    folder, name = f"s3://{bucket}/{key}", wiring.names["cluster"]
    head = next(group for group in wish.instance_groups if group.role == "controller")
    access = [
        {"BucketName": bucket},
        {"BucketName": _output(wiring, "base", "DataBucketName"), "EnableWriteAccess": True},
    ]
    told = [name, wish.region, folder]
    configuration: dict[str, Any] = {
        "Region": wish.region,
        "Image": {"Os": IMAGE},
        "Imds": {"ImdsSupport": "v2.0"},
        "HeadNode": {
            "InstanceType": head.instance_type,
            "Networking": _networking(wiring, "SubnetId", _output(wiring, "base", "NodeSubnetId")),
            "LocalStorage": {"RootVolume": {"Size": ROOT_GIB, "Encrypted": True}},
            "Iam": {
                "AdditionalIamPolicies": [
                    {"Policy": _output(wiring, "base", "HeadNodePolicyArn")},
                    {"Policy": "arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore"},
                ],
                "S3Access": access,
            },
            "CustomActions": {
                "OnNodeConfigured": {
                    "Script": f"{folder}/head_node.sh",
                    "Args": told,
                }
            },
        },
        "Scheduling": {
            "Scheduler": "slurm",
            "SlurmSettings": {"QueueUpdateStrategy": "DRAIN"},
            "SlurmQueues": [
                _queue(group, wish, wiring, access, folder) for group in wish.instance_groups if group.role == "compute"
            ],
        },
        "SharedStorage": _shared_storage(wish, wiring),
    }
    if login := [group for group in wish.instance_groups if group.role == "login"]:
        configuration["LoginNodes"] = {"Pools": [_login(group, wish, wiring, folder) for group in login]}
    if wish.accounting:
        configuration["Scheduling"]["SlurmSettings"]["Database"] = {
            "Uri": f"{_output(wiring, 'accounting', 'Host')}:{_output(wiring, 'accounting', 'Port')}",
            "UserName": _output(wiring, "accounting", "User"),
            "PasswordSecretArn": _output(wiring, "accounting", "SecretArn"),
            "DatabaseName": "slurm_acct_db",
        }
    objects = [{"bucket": bucket, "key": f"{key}/{name}", "text": text} for name, text in sorted(scripts.items())]
    whole = laid_over(configuration, wish.engine_settings)
    return {"configuration": whole, "objects": objects, "head": head.name}


def specimen(wish: Configuration) -> dict[str, Any]:
    """The configuration file of ParallelCluster before anything is made: what the base stack will give is invented."""
    empty = "0" * 17
    base = {
        "LifecycleBucketName": "cohort-lifecycle",
        "DataBucketName": wish.storage.bucket or "cohort-data",
        "NodeSubnetId": f"subnet-{empty}",
        "SecurityGroupId": f"sg-{empty}",
        "HeadNodePolicyArn": "arn:aws:iam::000000000000:policy/cohort",
        "LoginNodePolicyArn": "arn:aws:iam::000000000000:policy/cohort-login",
        "LustreId": f"fs-{empty}",
        "OpenZfsVolumeId": f"fsvol-{empty}",
    }
    accounting = {
        "Host": "database.example.com",
        "Port": "3306",
        "User": "slurm",
        "SecretArn": f"arn:aws:secretsmanager:{wish.region}:000000000000:secret:accounting-000000",
    }
    scripts = {wish.node_setup.sha256: ""} if wish.node_setup else {}
    outputs = {"base": base, "accounting": accounting}
    wiring = Wiring("0" * 12, "", {"base": "base", "cluster": "cluster"}, outputs, scripts)
    return dict(parallelcluster(wish.made_of(), wish, wiring)["configuration"])


def _networking(wiring: Wiring, field_name: str, subnets: Any) -> dict[str, Any]:
    return {field_name: subnets, "AdditionalSecurityGroups": [_output(wiring, "base", "SecurityGroupId")]}


def _login(group: Group, wish: Configuration, wiring: Wiring, folder: str) -> dict[str, Any]:
    """Where people log in; it is taken away only after those who are on it had an hour to leave."""
    return {
        "Name": group.name,
        "InstanceType": group.instance_type,
        "Count": group.count,
        "GracetimePeriod": 60,
        "Networking": _networking(wiring, "SubnetIds", [_output(wiring, "base", "NodeSubnetId")]),
        "Iam": {
            "AdditionalIamPolicies": [
                {"Policy": _output(wiring, "base", "LoginNodePolicyArn")},
                {"Policy": "arn:aws:iam::aws:policy/AmazonSSMManagedInstanceCore"},
            ]
        },
        "CustomActions": _every_node(wish, folder, "login"),
    }


def _every_node(wish: Configuration, folder: str, role: str = "") -> dict[str, Any]:
    action: dict[str, Any] = {"Script": f"{folder}/every_node.sh"}
    if wish.made_of().checks_nodes:
        # What runs the participant's script and has containers is told what it is for.
        named = [role] if role and "images" in wish.made_of().parameters else []
        action["Args"] = [wish.region, folder, *named]
    return {"OnNodeConfigured": action}


def _queue(
    group: Group, wish: Configuration, wiring: Wiring, access: list[dict[str, Any]], folder: str
) -> dict[str, Any]:
    resource: dict[str, Any] = {
        "Name": group.name,
        "InstanceType": group.instance_type,
        # As many at least as at most: instances for training are static, they do not come and go with jobs.
        "MinCount": group.count,
        "MaxCount": group.count,
        "Efa": {"Enabled": _speaks_efa(group.instance_type)},
    }
    if group.reservation:
        resource["CapacityReservationTarget"] = {"CapacityReservationId": group.reservation}
    queue: dict[str, Any] = {
        "Name": group.name,
        "CapacityType": "CAPACITY_BLOCK" if group.capacity == "capacity-block" else "ONDEMAND",
        "Networking": {
            **_networking(wiring, "SubnetIds", [_output(wiring, "base", "NodeSubnetId")]),
            "PlacementGroup": {"Enabled": group.placement_group},
        },
        "ComputeSettings": {"LocalStorage": {"RootVolume": {"Size": COMPUTE_ROOT_GIB}}},
        "Iam": {"S3Access": access},
        "CustomActions": _every_node(wish, folder),
        "ComputeResources": [resource],
    }
    known = facts.load().instance(group.instance_type)
    if wish.made_of().checks_nodes and known and known.accelerator not in ("", "Neuron"):
        # Before each job, by NVIDIA's own tool; a node that fails is drained and the job starts elsewhere.
        queue["HealthChecks"] = {"Gpu": {"Enabled": True}}
    return queue


def _speaks_efa(instance_type: str) -> bool:
    known = facts.load().instance(instance_type)
    return bool(known and known.efa)


def _shared_storage(wish: Configuration, wiring: Wiring) -> list[dict[str, Any]]:
    lustre = {"FileSystemId": _output(wiring, "base", "LustreId")}
    mounts = [{"MountDir": "/fsx", "Name": "fsx", "StorageType": "FsxLustre", "FsxLustreSettings": lustre}]
    if wish.storage.openzfs:
        volume = {"VolumeId": _output(wiring, "base", "OpenZfsVolumeId")}
        mounts.append({"MountDir": "/home", "Name": "home", "StorageType": "FsxOpenZfs", "FsxOpenZfsSettings": volume})
    return mounts


def provisioning_parameters(wish: Configuration, wiring: Wiring) -> dict[str, Any]:
    """Which group does what in Slurm; a group that were named nowhere would silently become a compute group."""
    by_role: dict[str, list[str]] = {}
    for group in wish.instance_groups:
        by_role.setdefault(group.role, []).append(group.name)
    told: dict[str, Any] = {
        "version": "1.0.0",
        "workload_manager": "slurm",
        "controller_group": by_role["controller"][0],
        "worker_groups": [{"instance_group_name": name, "partition_name": name} for name in by_role["compute"]],
        "fsx_dns_name": _output(wiring, "base", "LustreDnsName"),
        "fsx_mountname": _output(wiring, "base", "LustreMountName"),
    }
    if "login" in by_role:
        told["login_group"] = by_role["login"][0]
    if wish.storage.openzfs:
        told["fsx_openzfs_dns_name"] = _output(wiring, "base", "OpenZfsDnsName")
    if wish.accounting:
        told["slurm_configurations"] = {
            "slurm_database_endpoint": _output(wiring, "accounting", "Host"),
            "slurm_database_user": _output(wiring, "accounting", "User"),
            "slurm_database_secret_arn": _output(wiring, "accounting", "SecretArn"),
            "slurm_shared_directory": "/fsx",
        }
    return told


def digest(scripts: Mapping[str, str]) -> str:
    """The same scripts lie under the same key, others under another: a node never reads half of each."""
    return hashlib.sha256(json.dumps(scripts, sort_keys=True).encode()).hexdigest()[:16]


def bucket_name(prefix: str, wiring: Wiring) -> str:
    """Buckets share one namespace with the whole world, so the account is in the name; HyperPod wants `sagemaker-`."""
    name = f"{prefix}{wiring.names['base'].lower()}-{wiring.account_id}"
    if len(name) <= BUCKET_LENGTH:
        return name
    mark = hashlib.sha256(name.encode()).hexdigest()[:10]
    return f"{name[: BUCKET_LENGTH - 11].rstrip('-')}-{mark}"


def _output(wiring: Wiring, role: str, name: str) -> str:
    value = wiring.outputs.get(role, {}).get(name, "")
    if not value:
        raise MissingOutput(role, name)
    return value
