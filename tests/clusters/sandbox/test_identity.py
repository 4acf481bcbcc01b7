"""Who is let in, for how long, and what everybody else hears."""

import json
import time
import urllib.request

import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from tests.clusters.sandbox.driver import HUB, ROLE, SESSION, Account, Process


def code(refused: "pytest.ExceptionInfo[ClientError]") -> str:
    return str(refused.value.response["Error"]["Code"])


def test_the_hub_and_an_owner_are_who_they_say(account: Account) -> None:
    assert account.hub("sts").get_caller_identity()["Account"] == "999999999999"
    assert account.owner("sts").get_caller_identity()["Arn"] == f"arn:aws:iam::{account.id}:root"
    assert account("sts").get_caller_identity()["Arn"] == f"arn:aws:sts::{account.id}:assumed-role/{ROLE}/test"


@pytest.mark.parametrize(
    "wish",
    [
        {"ExternalId": None},
        {"ExternalId": "another-one"},
        {"RoleArn": "arn:aws:iam::000000000299:role/CohortProvisioner"},
        {"RoleArn": "arn:aws:iam::{id}:role/Nobody"},
        {"RoleArn": "arn:aws:iam::{id}:user/CohortProvisioner"},
    ],
)
def test_a_role_is_refused_without_the_right_external_id_or_where_it_does_not_exist(
    account: Account, wish: dict
) -> None:
    wish = {key: value and value.replace("{id}", account.id) for key, value in wish.items()}
    with pytest.raises(ClientError) as refused:
        account.assume(**wish)
    assert code(refused) == "AccessDenied"
    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 403


def test_another_account_is_not_trusted_even_with_the_external_id(account: Account) -> None:
    stranger = Account(account.cloud).owner("sts")
    with pytest.raises(ClientError) as refused:
        stranger.assume_role(RoleArn=account.role_arn, RoleSessionName="test", ExternalId=account.external_id)
    assert code(refused) == "AccessDenied"


@pytest.mark.parametrize(
    ("seconds", "error"), [(600, "ValidationError"), (3601, "ValidationError"), (3600, None), (900, None)]
)
def test_a_session_lasts_no_longer_than_the_role_allows(account: Account, seconds: int, error: str | None) -> None:
    if error is None:
        account.assume(DurationSeconds=seconds)
        return
    with pytest.raises(ClientError) as refused:
        account.client("sts", HUB).assume_role(
            RoleArn=account.role_arn, RoleSessionName="test", ExternalId=account.external_id, DurationSeconds=seconds
        )
    assert code(refused) == error


def test_a_chained_session_ends_within_the_hour_whatever_the_role_allows(account: Account) -> None:
    trust = {"Effect": "Allow", "Principal": {"AWS": account.id}, "Action": "sts:AssumeRole"}
    account.owner("iam").create_role(
        RoleName="Second", AssumeRolePolicyDocument=json.dumps({"Statement": [trust]}), MaxSessionDuration=43200
    )
    wish = {"RoleArn": f"arn:aws:iam::{account.id}:role/Second", "RoleSessionName": "test"}
    assert account("sts").assume_role(**wish, DurationSeconds=3600)["Credentials"]
    with pytest.raises(ClientError, match="role chaining"):
        account("sts").assume_role(**wish, DurationSeconds=7200)


SERVICES = [
    ("sts", "get_caller_identity", {}, "ExpiredToken"),
    ("iam", "list_roles", {}, "ExpiredToken"),
    ("cloudformation", "describe_stacks", {}, "ExpiredToken"),
    ("s3", "list_buckets", {}, "ExpiredToken"),
    ("ec2", "describe_vpcs", {}, "RequestExpired"),
    ("sagemaker", "list_clusters", {}, "ExpiredTokenException"),
    ("fsx", "describe_file_systems", {}, "ExpiredTokenException"),
    ("eks", "list_clusters", {}, "ExpiredTokenException"),
    ("ssm", "get_parameter", {"Name": "x"}, "ExpiredTokenException"),
    ("secretsmanager", "list_secrets", {}, "ExpiredTokenException"),
    ("logs", "describe_log_groups", {}, "ExpiredTokenException"),
    ("service-quotas", "list_services", {}, "ExpiredTokenException"),
]


def test_an_expired_session_is_told_so_by_every_service_in_its_own_words(own_cloud: Process) -> None:
    account = Account(own_cloud).open_for_the_hub()
    account.keys = account.assume(DurationSeconds=900)
    assert account("sts").get_caller_identity()
    own_cloud.advance(0, age_sessions=901)
    heard = {}
    for service, operation, wish, _ in SERVICES:
        with pytest.raises(ClientError) as refused:
            getattr(account(service), operation)(**wish)
        heard[service] = code(refused)
    assert heard == {service: word for service, _, _, word in SERVICES}


@pytest.mark.parametrize(
    ("keys", "error"),
    [
        (("AKIAUNKNOWN00000000", "x"), "InvalidClientTokenId"),
        (("AKIAOWNER00000000001", "owner"), "InvalidClientTokenId"),
        ((HUB[0], "not-the-secret"), "SignatureDoesNotMatch"),
    ],
)
def test_an_unknown_key_or_a_wrong_secret_is_refused(account: Account, keys: tuple[str, str], error: str) -> None:
    with pytest.raises(ClientError) as refused:
        account.client("sts", keys).get_caller_identity()
    assert code(refused) == error


def test_a_session_key_without_its_token_is_refused(account: Account) -> None:
    key, secret, _ = account.assume()
    with pytest.raises(ClientError) as refused:
        account.client("sts", (key, secret)).get_caller_identity()
    assert code(refused) == "InvalidClientTokenId"


def test_no_header_lets_anybody_choose_an_account(account: Account) -> None:
    client = account.hub("ec2")
    other = Account(account.cloud)
    vpc = other.owner("ec2").create_vpc(CidrBlock="10.9.0.0/16")["Vpc"]["VpcId"]

    def choose(request: object, **_: object) -> None:
        request.headers["x-moto-account-id"] = other.id  # type: ignore[attr-defined]

    client.meta.events.register("before-sign.ec2", choose)
    assert vpc not in [one["VpcId"] for one in client.describe_vpcs()["Vpcs"]]


def test_two_accounts_share_nothing_but_the_names_of_buckets(account: Account) -> None:
    other = Account(account.cloud).open_for_the_hub()
    for one in (account, other):
        one("ssm").put_parameter(Name="/same", Value=one.id, Type="String")
        one.stack("same", {"Resources": {"Log": {"Type": "AWS::Logs::LogGroup"}}})
    assert account("ssm").get_parameter(Name="/same")["Parameter"]["Value"] == account.id
    assert len(other("cloudformation").describe_stacks()["Stacks"]) == 1
    account("s3").create_bucket(
        Bucket=f"mine-{account.id}", CreateBucketConfiguration={"LocationConstraint": account.region}
    )
    with pytest.raises(ClientError):
        other("s3").list_objects_v2(Bucket=f"mine-{account.id}")
    with pytest.raises(ClientError) as taken:
        other("s3").create_bucket(
            Bucket=f"mine-{account.id}", CreateBucketConfiguration={"LocationConstraint": account.region}
        )
    assert code(taken) == "BucketAlreadyExists"


@pytest.mark.parametrize(
    ("service", "operation", "wish"),
    [
        ("sagemaker", "list_domains", {}),
        ("ec2", "describe_scheduled_instances", {}),
        ("iam", "simulate_custom_policy", {"PolicyInputList": ["{}"], "ActionNames": ["a:b"]}),
        ("eks", "list_nodegroups", {"clusterName": "x"}),
        ("pricing", "describe_services", {}),
        ("cloudformation", "list_types", {}),
        ("fsx", "describe_snapshots", {}),
    ],
)
def test_a_call_that_is_not_played_is_an_error_and_no_page(
    account: Account, service: str, operation: str, wish: dict
) -> None:
    with pytest.raises(ClientError) as refused:
        getattr(account(service), operation)(**wish)
    assert code(refused) == "NotImplemented"
    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400


def test_a_presigned_address_is_good_for_its_time_and_for_nothing_else(account: Account) -> None:
    bucket = account("s3")
    bucket.create_bucket(Bucket=f"files-{account.id}", CreateBucketConfiguration={"LocationConstraint": account.region})
    bucket.put_object(Bucket=f"files-{account.id}", Key="a b/c", Body=b"read me")
    wish = {"Params": {"Bucket": f"files-{account.id}", "Key": "a b/c"}, "ExpiresIn": 1}
    key, secret, token = account.keys
    signer = SESSION.client(  # without this setting the library signs addresses in the oldest way
        "s3", region_name=account.region, endpoint_url=account.cloud.url, config=Config(signature_version="s3v4"),
        aws_access_key_id=key, aws_secret_access_key=secret, aws_session_token=token,
    )  # fmt: skip
    address = signer.generate_presigned_url("get_object", **wish)
    lasting = signer.generate_presigned_url("get_object", **{**wish, "ExpiresIn": 60})
    with urllib.request.urlopen(lasting, timeout=10) as answer:
        assert answer.read() == b"read me"
    for changed in (address.replace("/c?", "/d?"), address.replace("X-Amz-Expires=1", "X-Amz-Expires=6000")):
        with pytest.raises(OSError, match="403"):
            urllib.request.urlopen(changed, timeout=10)
    time.sleep(2)
    with pytest.raises(OSError, match="403"):
        urllib.request.urlopen(address, timeout=10)


def test_a_bucket_that_denies_all_but_tls_is_open_to_its_account(account: Account) -> None:
    name = f"tls-{account.id}"
    deny = {
        "Effect": "Deny",
        "Principal": "*",
        "Action": "s3:*",
        "Resource": [f"arn:aws:s3:::{name}", f"arn:aws:s3:::{name}/*"],
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    }
    bucket = account("s3")
    bucket.create_bucket(Bucket=name, CreateBucketConfiguration={"LocationConstraint": account.region})
    bucket.put_bucket_policy(Bucket=name, Policy=json.dumps({"Version": "2012-10-17", "Statement": [deny]}))
    bucket.put_object(Bucket=name, Key="k", Body=b"in")
    assert bucket.get_object(Bucket=name, Key="k")["Body"].read() == b"in"
