"""How the owner of an account lets Cohort in, and what is still missing: one stack, one line to run, one link; pure."""

import json
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode

from clusters.providers.account_facts import NEEDED, NEEDED_BY_ENGINE
from clusters.wording import gettext_noop

STACK = "cohort-access"
ENGINES: Mapping[str, str] = {
    "hyperpod": gettext_noop("HyperPod with Slurm"),
    "eks": gettext_noop("HyperPod with Kubernetes"),
    "parallelcluster": gettext_noop("ParallelCluster"),
}
ALSO = {"eks": ("hyperpod", "eks")}  # a cluster with Kubernetes is made of both


def template(permissions: Mapping[str, Any], principal: str) -> dict[str, Any]:
    """A CloudFormation template that makes the role: it trusts nobody but Cohort, and only with the external id."""
    trust = {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Principal": {"AWS": {"Ref": "TrustedPrincipal"}},
                "Action": "sts:AssumeRole",
                "Condition": {"StringEquals": {"sts:ExternalId": {"Ref": "ExternalId"}}},
            }
        ],
    }
    return {
        "AWSTemplateFormatVersion": "2010-09-09",
        "Description": "The role by which Cohort makes and watches clusters in this account.",
        "Parameters": {
            "ExternalId": {"Type": "String", "MinLength": 2, "MaxLength": 64},
            "RoleName": {"Type": "String", "Default": "CohortProvisioner"},
            "RolePath": {"Type": "String", "Default": "/"},
            "TrustedPrincipal": {"Type": "String", "Default": principal},
        },
        "Resources": {
            "Role": {
                "Type": "AWS::IAM::Role",
                "Properties": {
                    "RoleName": {"Ref": "RoleName"},
                    "Path": {"Ref": "RolePath"},
                    "AssumeRolePolicyDocument": trust,
                    "Policies": [{"PolicyName": "cohort", "PolicyDocument": dict(permissions)}],
                },
            }
        },
        "Outputs": {"RoleArn": {"Value": {"Fn::GetAtt": ["Role", "Arn"]}}},
    }


def parameters(role_arn: str, external_id: str) -> dict[str, str]:
    """What the template is told for one account."""
    path, _slash, name = role_arn.partition(":role/")[2].rpartition("/")
    return {"ExternalId": external_id, "RoleName": name, "RolePath": f"/{path}/" if path else "/"}


def one_line(body: Mapping[str, Any], told: Mapping[str, str], region: str) -> str:
    """The command that makes the stack, to be pasted into a shell of the account, CloudShell for instance."""
    words = ["aws", "cloudformation", "create-stack", "--region", region, "--stack-name", STACK]
    words += ["--capabilities", "CAPABILITY_NAMED_IAM", "--parameters"]
    words += [f"ParameterKey={name},ParameterValue={value}" for name, value in told.items()]
    words += ["--template-body", json.dumps(body, separators=(",", ":"))]
    return shlex.join(words)


def quick_create(template_url: str, told: Mapping[str, str], region: str) -> str:
    """The page of the provider's console on which the stack is made with one click; empty without an address of the template.

    The console takes a template only from S3, so the operator lays it there once.
    """
    if not template_url:
        return ""
    query = {
        "templateURL": template_url,
        "stackName": STACK,
        **{f"param_{name}": value for name, value in told.items()},
    }
    address = f"https://{region}.console.aws.amazon.com/cloudformation/home?region={region}#/stacks/quickcreate?"
    return address + urlencode(query, quote_via=quote)


@dataclass(frozen=True)
class Engine:
    """What one engine needs of the role. `missing` None: the account has not told what the role is allowed."""

    words: str
    needed: int
    missing: tuple[str, ...] | None


def engines(denied: Sequence[Collection[str] | None]) -> list[Engine]:
    """`denied`: of each Region what the role is not allowed, None where nobody knows."""
    known = [each for each in denied if each is not None]
    found = []
    for engine, words in ENGINES.items():
        needed = {*NEEDED, *(action for part in ALSO.get(engine, (engine,)) for action in NEEDED_BY_ENGINE[part])}
        missing = tuple(sorted(needed & {action for each in known for action in each})) if known else None
        found.append(Engine(words, len(needed), missing))
    return found


def statement(found: Sequence[Engine]) -> str:
    """What the owner adds to the role's policy so that nothing is missing; empty where nothing is."""
    actions = sorted({action for engine in found for action in engine.missing or ()})
    return json.dumps({"Effect": "Allow", "Action": actions, "Resource": "*"}) if actions else ""


# The line of the trust policy that is missing where everybody whom we act for could use our trust.
CONDITION = '"Condition": {"StringEquals": {"sts:ExternalId": "…"}}'
