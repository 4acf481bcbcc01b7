"""The eight HyperPod clusters as an engineer would launch them without Cohort: boto3, a thread for each, waiters."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import boto3

from clusters import architectures
from clusters.architectures.configuration import Configuration, read_configuration
from clusters.architectures.parts import Wiring, parts
from program.devstack.environment import HUB_KEY, HUB_SECRET

ROLE = "BareProvisioner"
MOST_TRIES = 400


@dataclass
class Launch:
    """One cluster: its stacks one after the other, then itself, then a look whether all of it is there."""

    cloud: str
    account: str
    name: str
    wish: Configuration
    every: float  # seconds between two looks
    outputs: dict[str, dict[str, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, cloud: str, account: str, name: str, document: Mapping[str, Any], every: float) -> Launch:
        return cls(cloud, account, name, read_configuration(document), every)

    def run(self) -> float:
        """From nothing to a cluster in service; the moment at which that was known."""
        session = self._assumed()
        client = lambda service: session.client(service, endpoint_url=self.cloud)
        for spec in self.specs:
            body = spec.body(self.wiring)
            if spec.kind == "stack":
                self._stack(client("cloudformation"), self.wiring.names[spec.role], spec.role, body)
            else:
                self._cluster(client("s3"), client("sagemaker"), self.wiring.names[spec.role], body)
        systems = [self.outputs["base"][name] for name in ("LustreId", "OpenZfsId") if self.outputs["base"].get(name)]
        self._until(
            lambda: (
                {
                    each["Lifecycle"]
                    for each in client("fsx").describe_file_systems(FileSystemIds=systems)["FileSystems"]
                }
                == {"AVAILABLE"}
            )
        )
        return time.time()

    @property
    def specs(self) -> list[Any]:
        return parts(architectures.architecture(self.wish.architecture), self.wish)

    @property
    def wiring(self) -> Wiring:
        names = {role: f"bare-{self.name}-{role}" for role in ("base", "eks", "accounting", "cluster")}
        return Wiring(self.account, f"arn:aws:iam::{self.account}:role/{ROLE}", names, self.outputs)

    def _assumed(self) -> boto3.Session:
        hub = boto3.client(
            "sts", region_name=self.wish.region, endpoint_url=self.cloud,
            aws_access_key_id=HUB_KEY, aws_secret_access_key=HUB_SECRET,
        )  # fmt: skip
        keys = hub.assume_role(
            RoleArn=f"arn:aws:iam::{self.account}:role/{ROLE}", RoleSessionName="bare", ExternalId="bare"
        )["Credentials"]
        return boto3.Session(keys["AccessKeyId"], keys["SecretAccessKey"], keys["SessionToken"], self.wish.region)

    def _stack(self, cloudformation: Any, name: str, role: str, body: Mapping[str, Any]) -> None:
        parameters = [{"ParameterKey": key, "ParameterValue": value} for key, value in body["Parameters"].items()]
        cloudformation.create_stack(
            StackName=name, TemplateBody=body["TemplateBody"], Parameters=parameters, Capabilities=body["Capabilities"]
        )
        waiter = cloudformation.get_waiter("stack_create_complete")
        waiter.wait(StackName=name, WaiterConfig={"Delay": self.every, "MaxAttempts": MOST_TRIES})
        stack = cloudformation.describe_stacks(StackName=name)["Stacks"][0]
        self.outputs[role] = {each["OutputKey"]: each["OutputValue"] for each in stack["Outputs"]}

    def _cluster(self, s3: Any, sagemaker: Any, name: str, body: Mapping[str, Any]) -> None:
        for each in body["objects"]:
            s3.put_object(Bucket=each["bucket"], Key=each["key"], Body=each["text"].encode())
        sagemaker.create_cluster(ClusterName=name, **body["request"])
        self._until(lambda: self._in_service(sagemaker, name))
        self._until(lambda: self._all_run(sagemaker, name))

    def _in_service(self, sagemaker: Any, name: str) -> bool:
        told = sagemaker.describe_cluster(ClusterName=name)
        if told["ClusterStatus"] in ("Failed", "RollingBack"):
            raise RuntimeError(f"{name} is {told['ClusterStatus']}: {told.get('FailureMessage', '')}")
        return bool(told["ClusterStatus"] == "InService")

    def _all_run(self, sagemaker: Any, name: str) -> bool:
        pages = sagemaker.get_paginator("list_cluster_nodes").paginate(ClusterName=name)
        words = [node["InstanceStatus"]["Status"] for page in pages for node in page["ClusterNodeSummaries"]]
        return len(words) == sum(group.count for group in self.wish.instance_groups) and set(words) == {"Running"}

    def _until(self, look: Any) -> None:
        for _ in range(MOST_TRIES):
            if look():
                return
            time.sleep(self.every)
        raise RuntimeError(f"{self.name} did not come up")


def let_in(cloud: str, account: str, region: str) -> None:
    """As the account's owner: a role that may do everything, for the hub and nobody else."""
    owner = boto3.client(
        "iam", region_name=region, endpoint_url=cloud,
        aws_access_key_id=f"AKIAOWNER{account}", aws_secret_access_key="owner",
    )  # fmt: skip
    trust = {
        "Effect": "Allow",
        "Principal": {"AWS": "arn:aws:iam::999999999999:root"},
        "Action": "sts:AssumeRole",
        "Condition": {"StringEquals": {"sts:ExternalId": "bare"}},
    }
    owner.create_role(
        RoleName=ROLE, AssumeRolePolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [trust]})
    )
    allow = {"Effect": "Allow", "Action": "*", "Resource": "*"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [allow]})
    owner.put_role_policy(RoleName=ROLE, PolicyName="all", PolicyDocument=document)


def together(launches: list[Launch]) -> tuple[float, float]:
    """All at once; when it began and when the last was known to be in service."""
    began = time.time()
    with ThreadPoolExecutor(len(launches)) as threads:
        return began, max(threads.map(Launch.run, launches))
