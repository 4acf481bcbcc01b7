"""The lifecycle scripts of a cluster: whether they are in the bucket, and which group they make what in Slurm."""

import json
import re
from typing import Any

from clusters.sandbox.cloud import Cloud
from clusters.sandbox.errors import AwsError
from clusters.sandbox.services import Call

DEFAULT_PARTITION = "dev"


PARTICIPANTS = re.compile(r"^exit ([1-9]\d{0,2})\s*$", re.M)  # a script of theirs that says so ends badly


class ScriptsFail(Exception):
    """The scripts will end with an error on the nodes; the text is what the cluster's failure message says, `says` what
    they print before."""

    def __init__(self, message: str, says: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.says = says


def _object(cloud: Cloud, call: Call, uri: str, name: str) -> str:
    bucket, _, folder = uri.removeprefix("s3://").partition("/")
    key = "/".join(part for part in (folder.strip("/"), name) if part)
    try:
        body = cloud.ask(call.account, call.region, "s3", "GetObject", Bucket=bucket, Key=key)["Body"]
    except AwsError as error:
        raise ScriptsFail(f"Unable to retrieve s3://{bucket}/{key}: {error.message}") from None
    return str(body)


def partitions(cloud: Cloud, call: Call, groups: dict[str, dict[str, Any]], on_eks: bool) -> dict[str, list[str]]:
    """Slurm partition -> groups of its nodes; empty on EKS."""
    for group in groups.values():
        configuration = group["LifeCycleConfig"]
        name = configuration.get("OnCreate") or configuration.get("OnInitComplete")
        if name:
            _object(cloud, call, configuration["SourceS3Uri"], name)
    _participants(cloud, call, next(iter(groups.values()))["LifeCycleConfig"]["SourceS3Uri"])
    if on_eks:
        return {}
    if any(group.get("SlurmConfig") for group in groups.values()):
        return _from_request(groups)
    return _from_parameters(cloud, call, groups)


def _participants(cloud: Cloud, call: Call, uri: str) -> None:
    try:
        theirs = _object(cloud, call, uri, "participant.sh")
        named = json.loads(_object(cloud, call, uri, "participant.json"))
    except (ScriptsFail, ValueError):
        return
    if says := reported(theirs, named):
        raise ScriptsFail("OnCreate ended with exit code 1", says)


def reported(theirs: str, named: dict[str, Any], host: str = "ip-10-0-128-20") -> tuple[str, ...]:
    """What our wrapper reports when the participant's own script ends badly; empty when it ends well."""
    ended = PARTICIPANTS.search(theirs)
    if not ended:
        return ()
    report = {**named, "code": int(ended[1]), "host": host}
    said = [f"cohort-participant-said {line}" for line in theirs[: ended.start()].splitlines()[-2:]]
    return (*said, f"cohort-participant-setup {json.dumps(report)}")


def _from_request(groups: dict[str, dict[str, Any]]) -> dict[str, list[str]]:
    kinds = {name: (group.get("SlurmConfig") or {}).get("NodeType", "Compute") for name, group in groups.items()}
    if list(kinds.values()).count("Controller") != 1:
        raise ScriptsFail("A Slurm cluster needs exactly one controller group.")
    found: dict[str, list[str]] = {}
    for name, group in groups.items():
        if kinds[name] == "Compute":
            named = (group.get("SlurmConfig") or {}).get("PartitionNames") or [DEFAULT_PARTITION]
            found.setdefault(named[0], []).append(name)
    return found


def _from_parameters(cloud: Cloud, call: Call, groups: dict[str, dict[str, Any]]) -> dict[str, list[str]]:
    uri = next(iter(groups.values()))["LifeCycleConfig"]["SourceS3Uri"]
    try:
        told = json.loads(_object(cloud, call, uri, "provisioning_parameters.json"))
    except ValueError:
        raise ScriptsFail("provisioning_parameters.json is not JSON.") from None
    controller, login = told.get("controller_group"), told.get("login_group")
    if controller not in groups:
        raise ScriptsFail(
            f"provisioning_parameters.json names the controller group {controller!r}, which does not exist."
        )
    shared = (told.get("slurm_configurations") or {}).get("slurm_shared_directory")
    if int(groups[controller]["InstanceCount"]) != 1 and not shared:
        raise ScriptsFail(f"The controller group {controller} must have exactly one instance.")
    found: dict[str, list[str]] = {}
    for worker in told.get("worker_groups") or []:
        name = worker.get("instance_group_name")
        if name not in groups or name == controller:
            raise ScriptsFail(f"provisioning_parameters.json names the worker group {name!r}, which does not exist.")
        found.setdefault(worker.get("partition_name") or DEFAULT_PARTITION, []).append(name)
    if login and login not in groups:
        raise ScriptsFail(f"provisioning_parameters.json names the login group {login!r}, which does not exist.")
    named = {controller, login, *(name for names in found.values() for name in names)}
    for name in groups:
        if name not in named:  # a group that is named nowhere becomes a compute group without a word
            found.setdefault(DEFAULT_PARTITION, []).append(name)
    return found
