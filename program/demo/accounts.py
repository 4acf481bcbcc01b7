"""Adds each participant's cloud account and then plays its owner, who lets Cohort in by making the role it asks for."""

from __future__ import annotations

import json
from typing import Any

import boto3
from botocore.exceptions import ClientError

from clusters import actions
from clusters.models import CloudAccount
from program.demo.dates import Row
from program.demo.directory import Directory
from tenants.wall.acting import acting_for

HUB_ACCOUNT = "999999999999"
POLICY = "what-cohort-may-do"
# What the provisioner needs: the services its architectures are made of, and nothing else of the account.
ALLOWED = [
    "autoscaling:*", "cloudformation:*", "cloudwatch:*", "dynamodb:*", "ec2:*", "eks:*", "elasticloadbalancing:*", "fsx:*",
    "iam:*", "kms:DescribeKey", "lambda:*", "logs:*", "rds:*", "route53:*", "s3:*", "sagemaker:*",
    "secretsmanager:CreateSecret", "secretsmanager:DeleteSecret", "secretsmanager:DescribeSecret",
    "secretsmanager:GetRandomPassword", "secretsmanager:GetSecretValue", "secretsmanager:TagResource",
    "servicequotas:Get*", "servicequotas:List*", "ssm:GetParameter*", "sts:AssumeRole", "tag:GetResources",
]  # fmt: skip


def load(told: Row, directory: Directory) -> dict[str, CloudAccount]:
    """Slug of the participant -> its account. The role exists before anybody can look for it."""
    accounts = {}
    for row in told["participants"]:
        tenant = directory.tenants[row["slug"]]
        regions = sorted({cluster["region"] for cluster in row["clusters"]})
        with acting_for(tenant):
            account = CloudAccount.objects.filter(account_id=row["provider_account"]).first()
            if account is None:
                account = actions.add_account(
                    tenant=tenant,
                    account_id=row["provider_account"],
                    name=row["name"],
                    regions=regions,
                    by=directory.actor(row["team"]["contacts"]["platform"]),
                )
            _let_in(account, regions[0])
        accounts[row["slug"]] = account
    return accounts


def _let_in(account: CloudAccount, region: str) -> None:
    """As the account's owner: a role that only Cohort can assume, and only with the id that it made for this account."""
    iam = boto3.client(
        "iam", region_name=region, aws_access_key_id=f"AKIAOWNER{account.account_id}", aws_secret_access_key="owner"
    )
    name, trust = account.role_arn.rpartition("/")[2], _trust(account.external_id)
    try:
        role = iam.get_role(RoleName=name)["Role"]
    except ClientError as error:
        if error.response["Error"]["Code"] != "NoSuchEntity":
            raise
        iam.create_role(RoleName=name, AssumeRolePolicyDocument=json.dumps(trust))
    else:
        if role["AssumeRolePolicyDocument"] == trust:
            return
        iam.update_assume_role_policy(RoleName=name, PolicyDocument=json.dumps(trust))
    statement = {"Effect": "Allow", "Action": ALLOWED, "Resource": "*"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    iam.put_role_policy(RoleName=name, PolicyName=POLICY, PolicyDocument=document)


def _trust(external_id: str) -> dict[str, Any]:
    return {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Effect": "Allow",
                "Principal": {"AWS": f"arn:aws:iam::{HUB_ACCOUNT}:root"},
                "Action": "sts:AssumeRole",
                "Condition": {"StringEquals": {"sts:ExternalId": external_id}},
            }
        ],
    }
