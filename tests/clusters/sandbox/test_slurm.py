"""Slurm on the clusters: who is let in, how jobs queue, run, log and end."""

import json

import pytest
from botocore.exceptions import ClientError

from tests.clusters.sandbox.driver import Account, Slurm, network, slurm_cluster, slurm_of, slurm_request

V = "/slurm/v0.0.40"


@pytest.fixture(scope="module")
def cluster(shared: Account) -> Slurm:
    return slurm_cluster(shared)


@pytest.fixture
def slurm(cluster: Slurm) -> Slurm:
    """The module's cluster with an empty queue."""
    if cluster.ask("GET", f"{V}/jobs")[1]["jobs"]:
        cluster.account.cloud.fault("vanished", service="slurm", account=cluster.account.id, times=1000)
    return cluster


def state(slurm: Slurm, number: int) -> tuple[str, str]:
    job = slurm.job(number)
    return job["job_state"][0], job["state_reason"]


def test_how_it_is_reached_is_left_in_the_account_when_the_cluster_is_in_service(account: Account) -> None:
    account("sagemaker").create_cluster(**slurm_request(network(account)))
    with pytest.raises(ClientError):
        account("ssm").get_parameter(Name="/cohort/clusters/hoshi/slurm")
    account.cloud.advance(1800)
    slurm = slurm_of(account)
    status, said = slurm.ask("GET", "/openapi/v3")
    assert status == 200 and any(path.startswith(f"{V}/job/submit") for path in said["paths"])
    account("sagemaker").delete_cluster(ClusterName="hoshi")
    account.cloud.advance(400)
    assert account("ssm").get_parameters(Names=["/cohort/clusters/hoshi/slurm"])["Parameters"] == []
    with pytest.raises(ConnectionError):
        slurm.ask("GET", f"{V}/ping")


@pytest.mark.parametrize(("seconds", "key", "user", "status"), [(-5, None, "cohort", 511), (60, b"x" * 32, "cohort", 511),
                                                                (60, None, "root", 511), (60, None, "cohort", 200)])  # fmt: skip
def test_only_a_fresh_token_with_the_right_key_and_name_is_good(
    slurm: Slurm, seconds: float, key: bytes | None, user: str, status: int
) -> None:
    assert slurm.ask("GET", f"{V}/ping", token=slurm.token(seconds, key, user))[0] == status
    assert slurm.ask("GET", f"{V}/ping", token=None) == (401, "Authentication failure")
    assert slurm.ask("GET", f"{V}/ping", token="nonsense")[0] == 511


def test_another_version_is_not_there(slurm: Slurm) -> None:
    assert slurm.ask("GET", "/slurm/v0.0.38/jobs")[0] == 404


def test_jobs_wait_for_nodes_in_the_order_they_came(slurm: Slurm) -> None:
    first, second, third = (slurm.submit("sleep 100", nodes=nodes) for nodes in ("2", "2", "1"))
    assert [state(slurm, number) for number in (first, second, third)] == [
        ("RUNNING", "None"), ("PENDING", "Resources"), ("PENDING", "Priority")]  # fmt: skip
    slurm.account.cloud.advance(120)
    assert [state(slurm, number)[0] for number in (first, second, third)] == ["COMPLETED", "RUNNING", "PENDING"]
    slurm.account.cloud.advance(200)
    assert {state(slurm, number)[0] for number in (first, second, third)} == {"COMPLETED"}
    done = slurm.job(third)
    assert done["submit_time"]["number"] <= done["start_time"]["number"] <= done["end_time"]["number"]


@pytest.mark.parametrize(
    ("script", "options", "ends", "reason", "code", "signal"),
    [
        ("echo a\nsleep 5", {}, "COMPLETED", "None", 0, 0),
        ("echo a\nsleep 5\nexit 3\necho never", {}, "FAILED", "NonZeroExitCode", 3, 0),
        ("sleep 5\nkill -9 $$", {}, "FAILED", "NonZeroExitCode", 0, 9),
        ("sleep 2h", {"time_limit": {"set": True, "infinite": False, "number": 30}}, "TIMEOUT", "TimeLimit", 0, 15),
        ("srun python train.py", {"environment": ["STEPS=5"]}, "COMPLETED", "None", 0, 0),
        ("#SBATCH --nodes=99 --time=0:01\nsleep 300", {}, "COMPLETED", "None", 0, 0),
    ],
)
def test_a_job_ends_as_its_script_says(
    slurm: Slurm, script: str, options: dict, ends: str, reason: str, code: int, signal: int
) -> None:
    number = slurm.submit(script, **options)
    assert state(slurm, number)[0] == "RUNNING"
    slurm.account.cloud.advance(3600)
    job = slurm.job(number)
    assert (job["job_state"], job["state_reason"]) == ([ends], reason)
    assert (job["exit_code"]["return_code"]["number"], job["exit_code"]["signal"]["id"]["number"]) == (code, signal)


def test_the_log_grows_with_the_job(slurm: Slurm) -> None:
    number = slurm.submit(
        'echo "nodes $SLURM_NNODES on ${WHERE:-here}"\nsrun python train.py\necho done', environment=["STEPS=100"]
    )
    assert slurm.log(number) == ["nodes 2 on here"]
    slurm.account.cloud.advance(300)
    some = slurm.log(number)
    assert 20 <= len(some) <= 30
    assert "lm loss" in some[1]
    slurm.account.cloud.advance(1000)
    whole = slurm.log(number)
    assert whole[: len(some)] == some
    assert whole[-1] == "done"
    assert sum("iteration" in line and "/" in line for line in whole) == 102  # a hundred steps, two checkpoints
    losses = [float(line.split("lm loss: ")[1].split(" |")[0]) for line in whole if "lm loss" in line]
    assert losses[0] > losses[-1] + 2


def test_the_log_is_read_by_its_end_in_pages_and_by_word(slurm: Slurm) -> None:
    number = slurm.submit("\n".join(f"echo line {n}" for n in range(30)) + "\necho NCCL error")
    logs, wish = slurm.account("logs"), {"logGroupName": slurm.log_group, "logStreamName": str(number)}
    last = logs.get_log_events(**wish, limit=10)
    assert [event["message"] for event in last["events"]][-1] == "NCCL error"
    before = logs.get_log_events(**wish, limit=10, nextToken=last["nextBackwardToken"])
    assert before["events"][-1]["message"] == "line 20"
    after = logs.get_log_events(**wish, nextToken=last["nextForwardToken"])
    assert (after["events"], after["nextForwardToken"]) == ([], last["nextForwardToken"])
    found = logs.filter_log_events(logGroupName=slurm.log_group, filterPattern="NCCL")["events"]
    assert [event["logStreamName"] for event in found] == [str(number)]
    assert [one["logStreamName"] for one in logs.describe_log_streams(logGroupName=slurm.log_group)["logStreams"]] == [
        str(number)
    ]
    with pytest.raises(ClientError) as missing:
        logs.get_log_events(logGroupName=slurm.log_group, logStreamName="99")
    assert missing.value.response["Error"]["Code"] == "ResourceNotFoundException"


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"nodes": "3"}, 2014),
        ({"nodes": "0"}, 2014),
        ({"partition": "nope"}, 2000),
        ({"environment": []}, 2127),
        ({"current_working_directory": ""}, 2012),
    ],
)
def test_a_submit_that_cannot_run_is_refused(slurm: Slurm, options: dict, error: int) -> None:
    wish = {"name": "x", "nodes": "1", "environment": ["A=b"], "current_working_directory": "/fsx", **options}
    status, said = slurm.ask("POST", f"{V}/job/submit", {"script": "#!/bin/bash\ntrue", "job": wish})
    assert (status, said["errors"][0]["error_number"]) == (500, error)
    assert "job_id" not in said
    assert slurm.ask("GET", f"{V}/jobs")[1]["jobs"] == []


def test_two_jobs_may_have_one_name(slurm: Slurm) -> None:
    assert slurm.submit("true", name="same") != slurm.submit("true", name="same")
    assert [job["name"] for job in slurm.ask("GET", f"{V}/jobs")[1]["jobs"]] == ["same", "same"]


def test_a_cancel_ends_a_job_and_lets_the_next_begin(slurm: Slurm) -> None:
    first, second = slurm.submit("sleep 1h"), slurm.submit("sleep 1h")
    assert slurm.ask("DELETE", f"{V}/job/{first}")[0] == 200
    assert state(slurm, first)[0] == "CANCELLED"
    assert state(slurm, second)[0] == "RUNNING"
    assert slurm.ask("DELETE", f"{V}/job/{first}")[0] == 200
    status, said = slurm.ask("DELETE", f"{V}/job/99")
    assert (status, said["errors"][0]["error_number"]) == (500, 2017)
    assert slurm.ask("GET", f"{V}/job/99")[1]["errors"][0]["error_number"] == 2017


@pytest.mark.parametrize("requeue", [False, True])
def test_a_node_failure_ends_a_job_or_sends_it_back_to_the_queue(account: Account, requeue: bool) -> None:
    slurm = slurm_cluster(account)
    number = slurm.submit("echo start $SLURM_RESTART_COUNT\nsleep 1h", requeue=requeue)
    before = slurm.job(number)["nodes"]
    account.cloud.fault("node_failure", account=account.id, match="hoshi")
    assert {node["state"][0] for node in slurm.ask("GET", f"{V}/nodes")[1]["nodes"]} >= {"DOWN"}
    if not requeue:
        assert state(slurm, number) == ("NODE_FAIL", "NodeDown")
        assert "NODE FAILURE" in slurm.log(number)[-1]
        return
    assert state(slurm, number)[0] == "PENDING"
    account.cloud.advance(2500)  # the seat has a new instance
    job = slurm.job(number)
    assert (job["job_state"], job["restart_cnt"]) == (["RUNNING"], 1)
    assert job["nodes"] != before
    assert slurm.log(number) == ["start 0", "start 1"]


def test_a_job_begun_again_goes_on_from_its_checkpoint_where_its_script_speaks_of_one(account: Account) -> None:
    slurm = slurm_cluster(account)
    number = slurm.submit("# checkpoints are on shared storage\nsrun train --steps 400")
    account.cloud.advance(130 * 12)
    account.cloud.fault("node_failure", account=account.id, match="hoshi")
    account.cloud.advance(2500)
    assert state(slurm, number)[0] == "RUNNING"
    account.cloud.advance(24)
    log = slurm.log(number)
    again = next(n for n, line in enumerate(log) if "loaded checkpoint" in line)
    assert log[again].endswith("from /fsx/checkpoints at iteration 100")
    assert "iteration      130/" in log[again - 1] and "iteration      101/" in log[again + 1]


@pytest.mark.parametrize(("ends", "code"), [("", 1), ("OUT_OF_MEMORY", 0)])
def test_a_job_fails_when_it_is_told_to(slurm: Slurm, ends: str, code: int) -> None:
    slurm.account.cloud.fault("job_fails", account=slurm.account.id, match="doomed", state=ends)
    spared, number = (
        slurm.submit("sleep 600", name="spared", nodes="1"),
        slurm.submit("sleep 600", name="doomed", nodes="1"),
    )
    slurm.account.cloud.advance(700)
    assert state(slurm, spared)[0] == "COMPLETED"
    job = slurm.job(number)
    assert job["job_state"] == [ends or "FAILED"]
    assert job["exit_code"]["return_code"]["number"] == code
    assert "NCCL error" in " ".join(slurm.log(number))


def test_nodes_and_partitions_are_those_of_the_cluster(slurm: Slurm) -> None:
    slurm.submit("sleep 1h", nodes="1")
    nodes = slurm.ask("GET", f"{V}/nodes")[1]["nodes"]
    assert sorted(node["state"][0] for node in nodes) == ["ALLOCATED", "IDLE"]
    known = {
        node["InstanceId"]
        for node in slurm.account("sagemaker").list_cluster_nodes(ClusterName="hoshi")["ClusterNodeSummaries"]
    }
    assert {node["instance_id"] for node in nodes} < known
    assert {node["gres"] for node in nodes} == {"gpu:h100:8"}
    partition = slurm.ask("GET", f"{V}/partitions")[1]["partitions"][0]
    assert (partition["name"], partition["nodes"]["total"]) == ("train", 2)


def test_answers_look_like_those_of_the_real_server(slurm: Slurm) -> None:
    said = slurm.ask("GET", f"{V}/job/{slurm.submit('sleep 1h', time_limit=90)}")[1]
    assert said["meta"]["slurm"]["release"] == "24.11.5"
    assert (said["errors"], said["warnings"]) == ([], [])
    job = said["jobs"][0]
    assert job["time_limit"] == {"set": True, "infinite": False, "number": 90}
    assert set(job["exit_code"]) == {"status", "return_code", "signal"}
    assert json.dumps(job["start_time"]).startswith('{"set": true')
