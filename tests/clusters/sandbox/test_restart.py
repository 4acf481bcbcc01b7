"""A killed cloud goes on where it was; many callers at once leave one consistent cloud."""

import itertools
import socket
import subprocess
import sys
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import pytest
from botocore.exceptions import ClientError

from tests.clusters.sandbox.driver import (
    NETWORK,
    ROOT,
    Account,
    Process,
    network,
    slurm_cluster,
    slurm_of,
    slurm_request,
)
from tests.clusters.sandbox.test_stacks import lustre


def restart(cloud: Process) -> None:
    cloud.kill()
    cloud.start()


def test_a_stack_goes_on_after_a_kill(own_cloud: Process) -> None:
    account = Account(own_cloud).open_for_the_hub()
    stack = account.stack("net", lustre(), ClientRequestToken="once")
    own_cloud.advance(13)
    assert account.stack_status("net") == "CREATE_IN_PROGRESS"
    restart(own_cloud)
    own_cloud.advance(700)
    assert account.stack_status("net") == "CREATE_COMPLETE"
    assert account.stack("net", lustre(), ClientRequestToken="once") == stack
    made = account.outputs("net")
    assert account("ec2").describe_subnets(SubnetIds=[made["Subnet"]])["Subnets"][0]["VpcId"] == made["Vpc"]
    account("s3").put_object(Bucket=made["Bucket"], Key="k", Body=b"kept")
    restart(own_cloud)
    assert account("s3").get_object(Bucket=made["Bucket"], Key="k")["Body"].read() == b"kept"
    account("s3").delete_object(Bucket=made["Bucket"], Key="k")
    account("cloudformation").delete_stack(StackName="net")
    own_cloud.advance(400)
    assert account.stack_status(stack) == "DELETE_COMPLETE"
    assert len(own_cloud.calls(operation="CreateStack", account=account.id, effective=1)) == 1


def test_a_cluster_and_its_jobs_go_on_after_a_kill_at_another_address(own_cloud: Process) -> None:
    account = Account(own_cloud).open_for_the_hub()
    account("sagemaker").create_cluster(**slurm_request(network(account)))
    before = account("sagemaker").list_cluster_nodes(ClusterName="hoshi")["ClusterNodeSummaries"]
    own_cloud.advance(600)
    restart(own_cloud)
    assert account("sagemaker").describe_cluster(ClusterName="hoshi")["ClusterStatus"] == "Creating"
    own_cloud.advance(1200)
    after = account("sagemaker").list_cluster_nodes(ClusterName="hoshi")["ClusterNodeSummaries"]
    assert [node["InstanceId"] for node in after] == [node["InstanceId"] for node in before]
    number = slurm_of(account).submit("echo begun\nsleep 500\nexit 7")
    own_cloud.kill()
    own_cloud.port = Process(own_cloud.state).port
    own_cloud.start()
    slurm = slurm_of(account)
    assert str(own_cloud.port) in slurm.url
    assert slurm.job(number)["job_state"] == ["RUNNING"]
    own_cloud.advance(600)
    assert slurm.job(number)["exit_code"]["return_code"]["number"] == 7
    assert slurm.log(number) == ["begun"]


def test_roles_parameters_secrets_and_sessions_survive(own_cloud: Process) -> None:
    account = Account(own_cloud).open_for_the_hub()
    account("ssm").put_parameter(Name="/a", Value="1", Type="String", Tags=[{"Key": "k", "Value": "v"}])
    account("secretsmanager").create_secret(Name="s", SecretString="x")
    account("iam").attach_role_policy(RoleName="CohortProvisioner", PolicyArn="arn:aws:iam::aws:policy/ReadOnlyAccess")
    restart(own_cloud)
    assert account("ssm").get_parameter(Name="/a")["Parameter"]["Value"] == "1"
    assert account("ssm").list_tags_for_resource(ResourceType="Parameter", ResourceId="/a")["TagList"]
    assert account("secretsmanager").get_secret_value(SecretId="s")["SecretString"] == "x"
    attached = account("iam").list_attached_role_policies(RoleName="CohortProvisioner")["AttachedPolicies"]
    assert [policy["PolicyName"] for policy in attached] == ["ReadOnlyAccess"]


def test_time_never_goes_back_over_a_restart(own_cloud: Process) -> None:
    seen = []
    for speed in (50, 1, 200):
        own_cloud.ask("POST", "speed", {"speed": speed})
        time.sleep(0.05)
        seen.append(own_cloud.ask("GET", "clock")["now"])
    own_cloud.speed = 3
    restart(own_cloud)
    seen.append(own_cloud.ask("GET", "clock")["now"])
    assert seen == sorted(seen)
    assert seen[-1] - seen[-2] > 10  # it went on at its old speed while it was stopped
    assert own_cloud.ask("GET", "clock")["speed"] == 3


def test_what_has_happened_is_never_shown_as_yet_to_come(own_cloud: Process) -> None:
    account = Account(own_cloud).open_for_the_hub()
    own_cloud.ask("POST", "speed", {"speed": 600})
    own_cloud.advance(100_000)
    account.stack("net", NETWORK)
    time.sleep(0.2)
    assert account.stack_status("net") == "CREATE_COMPLETE"
    own_cloud.ask("POST", "speed", {"speed": 1})
    account.stack("later", {"Resources": {"Log": {"Type": "AWS::Logs::LogGroup"}}})
    own_cloud.advance(500)  # what happens in the leap is shown at the moment of the leap
    for stack in ("net", "later"):
        events = account("cloudformation").describe_stack_events(StackName=stack)["StackEvents"]
        times, now = [event["Timestamp"].timestamp() for event in events], time.time()
        assert times == sorted(times, reverse=True)
        assert all(now - 60 < at <= now + 0.01 for at in times)


def test_sixteen_callers_at_once_get_one_cluster_and_one_stack_of_a_name(account: Account) -> None:
    made = network(account)
    account.keys = account.assume()
    clients = [(account("sagemaker"), account("cloudformation")) for _ in range(16)]

    def create(pair: tuple) -> tuple[str, str]:
        sagemaker, cloudformation = pair
        said = []
        for act in (
            lambda: sagemaker.create_cluster(**slurm_request(made)),
            lambda: cloudformation.create_stack(
                StackName="one", TemplateBody='{"Resources":{"L":{"Type":"AWS::Logs::LogGroup"}}}'
            ),
        ):
            try:
                act()
                said.append("made")
            except ClientError as refused:
                said.append(refused.response["Error"]["Code"])
        return said[0], said[1]

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(create, clients))
    assert sorted(answer[0] for answer in answers) == ["ResourceInUse"] * 15 + ["made"]
    assert sorted(answer[1] for answer in answers) == ["AlreadyExistsException"] * 15 + ["made"]
    for operation in ("CreateCluster", "CreateStack"):
        calls = account.cloud.calls(operation=operation, account=account.id)
        assert sum(call["effective"] for call in calls if "net" not in call["parameters"].values()) == 1


def test_eight_clusters_of_many_nodes_are_polled_quickly(cloud: Process) -> None:
    accounts = [Account(cloud).open_for_the_hub() for _ in range(8)]
    for account in accounts:
        account("sagemaker").create_cluster(**slurm_request(network(account), workers=15))
    clients = [account("sagemaker") for account in accounts]

    def poll(client: object) -> float:
        start = time.monotonic()
        client.describe_cluster(ClusterName="hoshi")  # type: ignore[attr-defined]
        client.list_cluster_nodes(ClusterName="hoshi")  # type: ignore[attr-defined]
        return (time.monotonic() - start) / 2

    took = sorted(poll(client) for client, _ in itertools.product(clients, range(5)))
    assert took[len(took) // 2] < 0.1  # some 5 ms on a quiet machine


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "example.org"])
def test_it_listens_on_loopback_only(host: str) -> None:
    words = [sys.executable, "-m", "clusters.sandbox", "--port", "1", "--state", "x", "--host", host]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (done.returncode, "loopback" in done.stderr) == (2, True)


def test_a_port_in_use_is_said_in_a_sentence(tmp_path: object) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        words = [sys.executable, "-m", "clusters.sandbox", "--port", port, "--state", f"{tmp_path}/s"]
        done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert f"cannot start on port {port}" in done.stderr


def test_the_tests_door_answers_and_nonsense_is_not_a_traceback(cloud: Process) -> None:
    assert cloud.ask("GET", "health") == {"ok": True}
    for path, data in (
        ("/", b"x"),
        ("/nothing", b""),
        ("/_sandbox/none", b""),
        ("/_sandbox/clock", b"{"),
        ("/_sandbox/speed", b"{}"),
    ):
        request = urllib.request.Request(cloud.url + path, data, method="POST")
        with pytest.raises(OSError, match="40[0-9]"):
            urllib.request.urlopen(request, timeout=10)


def test_the_product_never_imports_the_sandbox() -> None:
    sources = [
        path for folder in ("tenants", "clusters", "support", "program") for path in (ROOT / folder).rglob("*.py")
    ]
    guilty = [
        str(path)
        for path in sources
        if "clusters/sandbox/" not in str(path)
        and any(
            words in path.read_text()
            for words in ("import clusters.sandbox", "from clusters.sandbox", "clusters import sandbox")
        )
    ]
    assert guilty == []


def test_a_slurm_cluster_is_reached_while_another_account_has_the_same_name(cloud: Process) -> None:
    one, other = (slurm_cluster(Account(cloud).open_for_the_hub()) for _ in range(2))
    number = one.submit("sleep 1h")
    assert one.job(number)["name"] == "train"
    assert other.ask("GET", "/slurm/v0.0.40/jobs")[1]["jobs"] == []
    assert other.ask("GET", "/slurm/v0.0.40/jobs", token=one.token())[0] == 511
