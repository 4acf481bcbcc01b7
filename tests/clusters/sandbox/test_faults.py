"""Faults by switch: each happens to the calls it names, as often as it says, and to nobody else."""

import json
import time

import pytest
from botocore.exceptions import ClientError, ConnectionClosedError, ReadTimeoutError

from tests.clusters.sandbox.driver import Account, Process, network, slurm_cluster, slurm_request

LOG = {"Resources": {"Log": {"Type": "AWS::Logs::LogGroup"}}}


@pytest.mark.parametrize(
    ("service", "operation", "code"),
    [
        ("cloudformation", "describe_stacks", "Throttling"),
        ("sagemaker", "list_clusters", "ThrottlingException"),
        ("ec2", "describe_vpcs", "RequestLimitExceeded"),
        ("s3", "list_buckets", "SlowDown"),
        ("sts", "get_caller_identity", "Throttling"),
        ("iam", "list_roles", "Throttling"),
        ("service-quotas", "list_services", "TooManyRequestsException"),
    ],
)
def test_throttling_speaks_the_words_of_the_service(account: Account, service: str, operation: str, code: str) -> None:
    client = account(service)
    account.cloud.fault("throttling", service=service, account=account.id, times=2)
    for _ in range(2):
        with pytest.raises(ClientError) as refused:
            getattr(client, operation)()
        assert refused.value.response["Error"]["Code"] == code
    getattr(client, operation)()


def test_a_fault_is_for_one_account_one_operation_and_one_name(account: Account) -> None:
    other = Account(account.cloud).open_for_the_hub()
    account.cloud.fault(
        "throttling", service="cloudformation", operation="CreateStack", account=account.id, match="two"
    )
    assert other.stack("two", LOG)
    assert account.stack("one", LOG)
    with pytest.raises(ClientError, match="Throttling"):
        account.stack("two", LOG)
    assert account.stack("two", LOG)


def test_a_timeout_after_success_has_done_the_work(account: Account) -> None:
    made = network(account)
    account.cloud.fault("timeout_after_success", service="sagemaker", operation="CreateCluster", account=account.id)
    with pytest.raises((ConnectionClosedError, ReadTimeoutError)):
        account("sagemaker").create_cluster(**slurm_request(made))
    assert account("sagemaker").describe_cluster(ClusterName="hoshi")["ClusterStatus"] == "Creating"
    lost = account.cloud.calls(operation="CreateCluster", account=account.id)
    assert [(call["error"], call["effective"]) for call in lost] == [("lost: timeout_after_success", True)]


def test_a_retry_after_a_lost_answer_meets_its_own_work(account: Account) -> None:
    made = network(account)
    account.cloud.fault("timeout_after_success", service="sagemaker", operation="CreateCluster", account=account.id)
    retrying = account.client("sagemaker", account.assume(), attempts=2)
    with pytest.raises(ClientError) as taken:
        retrying.create_cluster(**slurm_request(made))
    assert taken.value.response["Error"]["Code"] == "ResourceInUse"
    assert len(account.cloud.calls(operation="CreateCluster", account=account.id, effective=1)) == 1


@pytest.mark.parametrize("service", ["cloudformation", "s3", "iam", "ssm"])
def test_an_error_after_success_has_done_the_work(account: Account, service: str) -> None:
    client = account(service)
    act, look = {
        "cloudformation": (lambda: account.stack("one", LOG), lambda: account.stack_status("one")),
        "s3": (
            lambda: client.create_bucket(Bucket=f"x-{account.id}",
                                         CreateBucketConfiguration={"LocationConstraint": account.region}),
            lambda: client.head_bucket(Bucket=f"x-{account.id}"),
        ),
        "iam": (
            lambda: client.create_role(RoleName="x", AssumeRolePolicyDocument=json.dumps({"Statement": []})),
            lambda: client.get_role(RoleName="x"),
        ),
        "ssm": (lambda: client.put_parameter(Name="/x", Value="1", Type="String"), lambda: client.get_parameter(Name="/x")),
    }[service]  # fmt: skip
    account.cloud.fault("error_after_success", service=service, account=account.id)
    with pytest.raises(ClientError) as lost:
        act()
    assert lost.value.response["ResponseMetadata"]["HTTPStatusCode"] == 500
    look()


def test_an_expired_token_is_said_once(account: Account) -> None:
    account.cloud.fault("expired_token", service="cloudformation", account=account.id)
    with pytest.raises(ClientError, match="ExpiredToken"):
        account("cloudformation").describe_stacks()
    account("cloudformation").describe_stacks()


def test_a_slow_call_is_slow_and_holds_nobody_up(account: Account) -> None:
    account("sts").get_caller_identity()
    account.cloud.fault("slow", service="sts", account=account.id, seconds=0.5)
    start = time.monotonic()
    account("sts").get_caller_identity()
    assert time.monotonic() - start > 0.5


@pytest.mark.parametrize("service", ["cloudformation", "sagemaker", "fsx", pytest.param("slurm", id="job")])
def test_what_has_vanished_is_not_found(account: Account, service: str) -> None:
    slurm = slurm_cluster(account)
    number = slurm.submit("sleep 1h", name="lost")
    system = account("fsx").create_file_system(
        FileSystemType="LUSTRE", StorageCapacity=1200, SubnetIds=[account.outputs("net")["Subnet"]],
        LustreConfiguration={"DeploymentType": "PERSISTENT_2", "PerUnitStorageThroughput": 250},
    )["FileSystem"]["FileSystemId"]  # fmt: skip
    match = {"cloudformation": "net", "sagemaker": "hoshi", "fsx": system, "slurm": "lost"}[service]
    account.cloud.fault("vanished", service=service, account=account.id, match=match)
    if service == "slurm":
        assert slurm.ask("GET", f"/slurm/v0.0.40/job/{number}")[1]["errors"][0]["error_number"] == 2017
        return
    looks = {
        "cloudformation": lambda: account.stack_status("net"),
        "sagemaker": lambda: account("sagemaker").describe_cluster(ClusterName="hoshi"),
        "fsx": lambda: account("fsx").describe_file_systems(FileSystemIds=[system]),
    }
    with pytest.raises(ClientError):
        looks[service]()


def test_a_slurm_server_that_is_down_closes_the_line(account: Account) -> None:
    slurm = slurm_cluster(account)
    account.cloud.fault("no_answer", service="slurm", account=account.id, match="hoshi")
    with pytest.raises(ConnectionError):
        slurm.ask("GET", "/slurm/v0.0.40/jobs")
    assert slurm.ask("GET", "/slurm/v0.0.40/jobs")[0] == 200


def test_a_submit_whose_answer_is_lost_is_in_the_queue(account: Account) -> None:
    slurm = slurm_cluster(account)
    account.cloud.fault("timeout_after_success", service="slurm", operation="POST job/submit", account=account.id)
    with pytest.raises(ConnectionError):
        slurm.submit("sleep 60", name="lost")
    assert [job["name"] for job in slurm.ask("GET", "/slurm/v0.0.40/jobs")[1]["jobs"]] == ["lost"]


def test_a_fault_that_does_not_exist_is_refused(cloud: Process) -> None:
    for body in (
        {"fault": "earthquake"},
        {"fault": "throttling", "colour": "red"},
        {"fault": "vanished", "service": "x"},
    ):
        with pytest.raises(OSError, match="400"):
            cloud.ask("POST", "faults", body)


def test_faults_survive_a_restart(own_cloud: Process) -> None:
    own_cloud.fault("throttling", service="sts", times=3)
    own_cloud.kill()
    own_cloud.start()
    assert [(one["fault"], one["times"]) for one in own_cloud.ask("GET", "faults")["faults"]] == [("throttling", 3)]
