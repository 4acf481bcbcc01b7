"""Adds each participant's cloud account and then plays its owner, who lets Cohort in by making the role it asks for."""

from __future__ import annotations

import json

import boto3
from botocore.exceptions import ClientError

from clusters.accounts import add_account, permissions, trust_policy
from clusters.models import CloudAccount
from program.transfer.dates import Row
from program.transfer.directory import Directory
from tenants.wall.acting import acting_for

POLICY = "what-cohort-may-do"


def load(told: Row, directory: Directory) -> dict[str, CloudAccount]:
    """Slug of the participant -> its account. The role exists before anybody can look for it."""
    accounts = {}
    for row in told["participants"]:
        tenant = directory.tenants[row["slug"]]
        regions = sorted({cluster["region"] for cluster in row["clusters"]})
        with acting_for(tenant):
            account = CloudAccount.objects.filter(account_id=row["provider_account"]).first()
            if account is None:
                account = add_account(
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
    name, trust = account.role_arn.rpartition("/")[2], trust_policy(account)
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
    iam.put_role_policy(RoleName=name, PolicyName=POLICY, PolicyDocument=json.dumps(permissions()))
