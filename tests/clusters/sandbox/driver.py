"""Drives a sandbox cloud from outside, as its callers do: a process, boto3 clients, HTTP for the tests' own door."""

import base64
import hmac
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

from program.devstack.embedded import die_with_parent

ROOT = Path(__file__).parents[3]
REGION = "ap-northeast-1"
HUB = ("AKIACOHORTHUB000000A", "cohort-hub")
ROLE = "CohortProvisioner"
SESSION = boto3.Session()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class Process:
    """One sandbox process; `kill` is SIGKILL, `start` goes on from the kept state."""

    state: Path
    programme: Path | None = None
    port: int = field(default_factory=free_port)
    speed: float = 1.0
    running: subprocess.Popen[str] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> "Process":
        words = [sys.executable, "-m", "clusters.sandbox", "--port", str(self.port), "--state", str(self.state)]
        words += ["--speed", str(self.speed), *(["--programme", str(self.programme)] if self.programme else [])]
        log = (self.state.parent / f"{self.state.name}.log").open("a")
        ends_with_us = die_with_parent(signal.SIGKILL)
        self.running = subprocess.Popen(
            words, cwd=ROOT, stdout=subprocess.PIPE, stderr=log, text=True, preexec_fn=ends_with_us
        )
        assert self.running.stdout is not None
        said = self.running.stdout.readline()
        assert "listens on" in said, (self.state.parent / f"{self.state.name}.log").read_text()
        return self

    def kill(self) -> None:
        if self.running is not None:
            os.kill(self.running.pid, signal.SIGKILL)
            self.running.wait()
            assert self.running.stdout is not None
            self.running.stdout.close()
            self.running = None

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(f"{self.url}/_sandbox/{path}", data, method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.loads(answer.read())

    def advance(self, seconds: float, age_sessions: float = 0) -> None:
        self.ask("POST", "clock", {"advance": seconds, "age_sessions": age_sessions})

    def fault(self, kind: str, **more: Any) -> None:
        self.ask("POST", "faults", {"fault": kind, **more})

    def change(self, account: str, **facts: Any) -> None:
        """Facts of one account from now on; without any, as they were."""
        self.ask("POST", "account", {"account": account, "region": REGION, **facts})

    def calls(self, **filters: Any) -> list[dict[str, Any]]:
        query = "&".join(f"{name}={value}" for name, value in filters.items())
        return list(self.ask("GET", f"journal?{query}")["calls"])


_numbers = itertools.count(1)


@dataclass
class Account:
    """A participant's account with the role that lets the hub in; every test has its own."""

    cloud: Process
    id: str = field(default_factory=lambda: f"{next(_numbers):012d}")
    region: str = REGION
    keys: tuple[str, ...] = ()
    clients: dict[tuple[Any, ...], Any] = field(default_factory=dict)

    def client(self, service: str, keys: tuple[str, ...], attempts: int = 1) -> Any:
        wanted = (service, keys, attempts, self.cloud.port)
        if wanted not in self.clients:
            self.clients[wanted] = self._client(service, keys, attempts)
        return self.clients[wanted]

    def _client(self, service: str, keys: tuple[str, ...], attempts: int) -> Any:
        key, secret, *token = keys
        settings = Config(
            retries={"total_max_attempts": attempts, "mode": "standard"},
            connect_timeout=5,
            read_timeout=20,
            parameter_validation=False,
        )  # the sandbox is to refuse by itself
        return SESSION.client(
            service, region_name=self.region, endpoint_url=self.cloud.url, config=settings,
            aws_access_key_id=key, aws_secret_access_key=secret, aws_session_token=token[0] if token else None,
        )  # fmt: skip

    def owner(self, service: str) -> Any:
        return self.client(service, (f"AKIAOWNER{self.id}", "owner"))

    def hub(self, service: str) -> Any:
        return self.client(service, HUB)

    @property
    def external_id(self) -> str:
        return f"external-{self.id}"

    @property
    def role_arn(self) -> str:
        return f"arn:aws:iam::{self.id}:role/{ROLE}"

    def open_for_the_hub(self) -> "Account":
        document = json.dumps({"Version": "2012-10-17", "Statement": [self._trust()]})
        self.owner("iam").create_role(RoleName=ROLE, AssumeRolePolicyDocument=document)
        allow = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
        self.owner("iam").put_role_policy(RoleName=ROLE, PolicyName="all", PolicyDocument=json.dumps(allow))
        return self

    def _trust(self) -> dict[str, Any]:
        return {
            "Effect": "Allow",
            "Principal": {"AWS": "arn:aws:iam::999999999999:root"},
            "Action": "sts:AssumeRole",
            "Condition": {"StringEquals": {"sts:ExternalId": self.external_id}},
        }

    def close(self) -> None:
        """The account's owner takes the hub out of the role's trust."""
        trust = self._trust() | {"Condition": {"StringEquals": {"sts:ExternalId": "somebody else's"}}}
        document = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
        self.owner("iam").update_assume_role_policy(RoleName=ROLE, PolicyDocument=document)

    def open_again(self) -> None:
        document = json.dumps({"Version": "2012-10-17", "Statement": [self._trust()]})
        self.owner("iam").update_assume_role_policy(RoleName=ROLE, PolicyDocument=document)

    def shut_out_the_hub(self) -> None:
        self.owner("iam").delete_role_policy(RoleName=ROLE, PolicyName="all")
        self.owner("iam").delete_role(RoleName=ROLE)

    def assume(self, **more: Any) -> tuple[str, str, str]:
        wish = {"RoleArn": self.role_arn, "RoleSessionName": "test", "ExternalId": self.external_id, **more}
        made = self.hub("sts").assume_role(**{key: value for key, value in wish.items() if value is not None})[
            "Credentials"
        ]
        return made["AccessKeyId"], made["SecretAccessKey"], made["SessionToken"]

    def __call__(self, service: str) -> Any:
        """A client with the provisioning role's session."""
        if not self.keys:
            self.keys = self.assume()
        return self.client(service, self.keys)

    def stack(self, name: str, template: dict[str, Any] | str, **more: Any) -> str:
        body = template if isinstance(template, str) else json.dumps(template)
        wish = {"StackName": name, "TemplateBody": body, "Capabilities": ["CAPABILITY_IAM"], **more}
        return str(self("cloudformation").create_stack(**wish)["StackId"])

    def stack_status(self, name: str) -> str:
        return str(self("cloudformation").describe_stacks(StackName=name)["Stacks"][0]["StackStatus"])

    def outputs(self, name: str) -> dict[str, str]:
        stack = self("cloudformation").describe_stacks(StackName=name)["Stacks"][0]
        return {one["OutputKey"]: one["OutputValue"] for one in stack["Outputs"]}


LOG_TEMPLATE: dict[str, Any] = {"Resources": {"Log": {"Type": "AWS::Logs::LogGroup"}}}
NETWORK: dict[str, Any] = {
    "Parameters": {"Prefix": {"Type": "String", "Default": "21"}, "Zone": {"Type": "String", "Default": "apne1-az4"}},
    "Resources": {
        "Vpc": {"Type": "AWS::EC2::VPC", "Properties": {"CidrBlock": "10.1.0.0/16"}},
        "Nodes": {
            "Type": "AWS::EC2::Subnet",
            "Properties": {
                "VpcId": {"Ref": "Vpc"},
                "CidrBlock": {"Fn::Sub": "10.1.128.0/${Prefix}"},
                "AvailabilityZoneId": {"Ref": "Zone"},
            },
        },
        "Group": {
            "Type": "AWS::EC2::SecurityGroup",
            "Properties": {"GroupDescription": "nodes", "VpcId": {"Ref": "Vpc"}},
        },
        "Role": {
            "Type": "AWS::IAM::Role",
            "Properties": {
                "AssumeRolePolicyDocument": {
                    "Version": "2012-10-17",
                    "Statement": [
                        {
                            "Effect": "Allow",
                            "Principal": {"Service": ["sagemaker.amazonaws.com", "eks.amazonaws.com"]},
                            "Action": "sts:AssumeRole",
                        }
                    ],
                }
            },
        },
        "Bucket": {
            "Type": "AWS::S3::Bucket",
            "Properties": {"BucketName": {"Fn::Sub": "sagemaker-scripts-${AWS::AccountId}"}},
        },
    },
    "Outputs": {
        "Vpc": {"Value": {"Ref": "Vpc"}},
        "Subnet": {"Value": {"Ref": "Nodes"}},
        "Group": {"Value": {"Ref": "Group"}},
        "Role": {"Value": {"Fn::GetAtt": ["Role", "Arn"]}},
        "Bucket": {"Value": {"Ref": "Bucket"}},
    },
}


def network(account: Account, **parameters: str) -> dict[str, str]:
    """A network with a role and a bucket of lifecycle scripts, ready."""
    given = [{"ParameterKey": key, "ParameterValue": value} for key, value in parameters.items()]
    account.stack("net", NETWORK, Parameters=given)
    account.cloud.advance(300)
    made = account.outputs("net")
    told = {"controller_group": "head", "worker_groups": [{"instance_group_name": "work", "partition_name": "train"}]}
    bucket = account("s3")
    bucket.put_object(Bucket=made["Bucket"], Key="run/on_create.sh", Body=b"#!/bin/bash\n")
    bucket.put_object(Bucket=made["Bucket"], Key="run/provisioning_parameters.json", Body=json.dumps(told).encode())
    return made


def group(made: dict[str, str], name: str, instance_type: str, count: int, **more: Any) -> dict[str, Any]:
    return {
        "InstanceGroupName": name,
        "InstanceType": instance_type,
        "InstanceCount": count,
        "ExecutionRole": made["Role"],
        "LifeCycleConfig": {"SourceS3Uri": f"s3://{made['Bucket']}/run", "OnCreate": "on_create.sh"},
        **more,
    }


def slurm_request(made: dict[str, str], name: str = "hoshi", workers: int = 2, **more: Any) -> dict[str, Any]:
    return {
        "ClusterName": name,
        "InstanceGroups": [group(made, "head", "ml.m5.8xlarge", 1), group(made, "work", "ml.p5.48xlarge", workers)],
        "VpcConfig": {"SecurityGroupIds": [made["Group"]], "Subnets": [made["Subnet"]]},
        **more,
    }


@dataclass
class Slurm:
    """A caller of one cluster's REST server, as the parameter and the secret in the account say."""

    url: str
    key: bytes
    log_group: str
    account: Account

    def token(self, seconds: float = 600, key: bytes | None = None, user: str = "cohort") -> str:
        def part(raw: bytes) -> bytes:
            return base64.urlsafe_b64encode(raw).rstrip(b"=")

        claims = json.dumps({"iat": int(time.time()), "exp": int(time.time() + seconds), "sun": user}).encode()
        head = part(b'{"alg":"HS256","typ":"JWT"}') + b"." + part(claims)
        return (head + b"." + part(hmac.digest(key or self.key, head, "sha256"))).decode()

    def ask(self, method: str, path: str, body: Any = None, token: str | None = "") -> tuple[int, Any]:
        headers = {"Content-Type": "application/json", "X-SLURM-USER-NAME": "cohort"}
        if token is not None:
            headers["X-SLURM-USER-TOKEN"] = token or self.token()
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return answer.status, json.loads(answer.read())
        except urllib.error.HTTPError as refused:
            text = refused.read().decode()
            return refused.code, json.loads(text) if text.startswith("{") else text

    def submit(self, script: str, **job: Any) -> int:
        wish = {"name": "train", "nodes": "2", "environment": ["A=b"], "current_working_directory": "/fsx", **job}
        status, said = self.ask("POST", "/slurm/v0.0.40/job/submit", {"script": "#!/bin/bash\n" + script, "job": wish})
        assert status == 200, said
        return int(said["job_id"])

    def job(self, number: int) -> dict[str, Any]:
        return dict(self.ask("GET", f"/slurm/v0.0.40/job/{number}")[1]["jobs"][0])

    def log(self, number: int) -> list[str]:
        said = self.account("logs").get_log_events(
            logGroupName=self.log_group, logStreamName=str(number), startFromHead=True
        )
        return [event["message"] for event in said["events"]]


def slurm_cluster(account: Account, workers: int = 2, **more: Any) -> Slurm:
    """A Slurm cluster in service, and the way to it."""
    made = network(account)
    account("sagemaker").create_cluster(**slurm_request(made, workers=workers, **more))
    account.cloud.advance(1800)
    return slurm_of(account)


def slurm_of(account: Account, name: str = "hoshi") -> Slurm:
    told = json.loads(account("ssm").get_parameter(Name=f"/cohort/clusters/{name}/slurm")["Parameter"]["Value"])
    secret = account("secretsmanager").get_secret_value(SecretId=f"cohort/clusters/{name}/slurm-jwt")["SecretString"]
    return Slurm(told["url"], base64.b64decode(secret), told["log_group"], account)
