"""What only Kubernetes has to keep, on the stand-in; what all launchers keep is in `test_launchers.py`."""

import base64
import dataclasses
import json
import threading
import time
from pathlib import Path
from typing import Any

import jinja2
import pytest
import yaml
from kubernetes import client, watch

from clusters.access import kubernetes_endpoint
from clusters.launchers import kubernetes_logs, manifests
from clusters.launchers.log_pages import next_page
from clusters.launchers.manifests import Place, Work
from clusters.sandbox.kubernetes import schemas
from clusters.sandbox.kubernetes.kinds import BY_PLURAL
from tests.contracts import benches
from tests.contracts.benches import EKS_ACCOUNT as ACCOUNT
from tests.contracts.benches import ENDS, IMAGE, REGION, KubeBench
from tests.contracts.conftest import Sandbox, let_in
from tests.contracts.test_launchers import raised


@pytest.fixture
def bench(cloud: Sandbox) -> KubeBench:
    """The same cluster for all tests, with nothing running on it and a fresh token."""
    made = benches.on_kubernetes(cloud)
    made.clean()
    return made


def refused(call: Any) -> client.ApiException:
    with pytest.raises(client.ApiException) as told:
        call()
    return told.value


@pytest.mark.parametrize(
    ("kind", "script", "state", "code"),
    [("TrainJob", "exit 3", "failed", 3), ("HyperPodPyTorchJob", "exit 0", "succeeded", 0)],
)
def test_each_other_kind_tells_its_end_in_our_word(bench, kind, script, state, code):
    spec = bench.spec(f"echo begun\nsleep 20\n{script}", nodes=2, kind=kind)
    bench.launcher.submit(bench.endpoint, spec)
    ended = bench.end(spec.name)
    assert (ended.state, ended.exit_code, len(ended.nodes)) == (state, code, 2)
    assert ended.submitted_at <= ended.started_at <= ended.ended_at
    assert bench.launcher.tail(bench.account, bench.endpoint, ended.external_id).startswith("begun")


def test_a_log_is_read_page_by_page_until_nothing_more_comes(bench, monkeypatch):
    monkeypatch.setattr(kubernetes_logs, "MOST_BYTES", 20_000)  # some 450 lines
    lines = [f"line {n}" for n in range(600)]
    steps = ("\n".join(f"echo {line}" for line in lines[n : n + 300]) for n in (0, 300))
    told = bench.launcher.submit(bench.endpoint, bench.spec("\nsleep 3600\n".join(steps)))
    position, read = "", []
    for minutes, expected in ((20, 300), (90, 600)):
        bench.cloud.later(minutes)
        while (page := next_page(bench.launcher, bench.account, bench.endpoint, told, position)).lines:
            position, read = page.position, [*read, *page.lines]
        assert len(read) == expected
    assert [text for _, text in read] == lines
    assert all(at is not None for at, _ in read)


def test_a_job_that_waits_says_what_the_nodes_lack(bench):
    first, second = bench.spec("sleep 900", nodes=2), bench.spec("sleep 10", nodes=2)
    bench.launcher.submit(bench.endpoint, first)
    bench.launcher.submit(bench.endpoint, second)
    bench.until(first.name, lambda job: job.state == "running")
    waiting = bench.seen(second.name)
    assert (waiting.state, waiting.started_at) == ("queued", None)
    assert "Unschedulable: 0/2 nodes are available: 2 Insufficient cpu" in waiting.reason
    assert bench.end(second.name).state == "succeeded"


def test_a_world_that_is_short_does_not_run(bench):
    first, second = bench.spec("sleep 300"), bench.spec("sleep 10", nodes=2)
    bench.launcher.submit(bench.endpoint, first)
    bench.until(first.name, lambda job: job.state == "running")
    bench.launcher.submit(bench.endpoint, second)
    bench.wait()
    short = bench.seen(second.name)
    assert short.state == "starting" and short.reason.startswith("1 of 2 pods run.")


def test_a_cancelled_job_is_gone_with_its_pods(bench):
    spec = bench.spec("sleep 600", nodes=2)
    told = bench.launcher.submit(bench.endpoint, spec)
    bench.until(spec.name, lambda job: job.state == "running")
    bench.launcher.cancel(bench.endpoint, told)
    left = bench.seen(spec.name)  # its pods hold their nodes still
    assert left is None or left.engine_state == "Terminating"
    bench.wait()
    assert bench.seen(spec.name) is None
    assert not bench.core().list_namespaced_pod("default", label_selector=f"cohort/job={spec.name}").items


def test_what_somebody_else_made_is_not_taken_over(bench):
    spec = bench.spec()
    foreign = dict(spec.manifest)
    bench.custom().create_namespaced_custom_object("kubeflow.org", "v1", "default", "pytorchjobs", foreign)
    told = raised(lambda: bench.launcher.submit(bench.endpoint, spec))
    assert (told.kind, told.code) == ("refused", "Foreign")
    assert bench.seen(spec.name) is None  # what is not ours is not listed either


@pytest.mark.parametrize(
    ("fault", "more", "state", "said"),
    [
        ("job_fails", {"state": "OOMKilled"}, "failed", "OOMKilled: pod"),
        ("image_pull", {"message": "Back-off pulling image"}, "starting", "ImagePullBackOff on hyperpod-i-"),
    ],
)
def test_what_went_wrong_is_said_with_pod_and_node(bench, fault, more, state, said):
    spec = bench.spec("sleep 60", nodes=2)
    bench.fault(fault, **more)
    bench.launcher.submit(bench.endpoint, spec)
    seen = bench.until(spec.name, lambda job: said in job.reason)
    assert (seen.state, seen.exit_code) == (state, 137 if state == "failed" else None)


def test_a_lost_node_begins_the_job_again_where_that_was_asked_and_fails_it_where_not(bench):
    again, over = bench.spec("sleep 1200", resume=True), bench.spec("sleep 1200")
    for spec in (again, over):
        bench.launcher.submit(bench.endpoint, spec)
        bench.until(spec.name, lambda job: job.state == "running")
    bench.cloud.fault("node_failure", service="sagemaker", account=ACCOUNT, match=f"{bench.cluster}/workers", times=2)
    bench.until(again.name, lambda job: job.state == "recovering" or "unresponsive" in job.reason)
    failed = bench.until(over.name, lambda job: job.state in ENDS)
    assert (failed.state, failed.engine_state) == ("failed", "NodeLost") and "hyperpod-i-" in failed.reason
    assert {node.state for node in bench.launcher.nodes(bench.endpoint)} <= {"down", "draining", "idle", "busy"}
    bench.until(again.name, lambda job: job.state == "running", tries=60)


def test_kueue_says_why_not_and_a_stuck_admission_is_said_after_five_minutes(bench):
    queue = {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "LocalQueue", "metadata": {"name": "team"},
             "spec": {"clusterQueue": "all"}}  # fmt: skip
    flavor = {"name": "any", "resources": [{"name": "cpu", "nominalQuota": "60"}]}
    whole = {"apiVersion": "kueue.x-k8s.io/v1beta1", "kind": "ClusterQueue", "metadata": {"name": "all"},
             "spec": {"resourceGroups": [{"coveredResources": ["cpu"], "flavors": [flavor]}]}}  # fmt: skip
    lost = bench.spec(queue="team")
    bench.launcher.submit(bench.endpoint, lost)
    missing = bench.until(lost.name, lambda job: "doesn't exist" in job.reason)
    assert (missing.state, missing.engine_state) == ("queued", "Suspended")
    bench.custom().create_cluster_custom_object("kueue.x-k8s.io", "v1beta1", "clusterqueues", whole)
    bench.custom().create_namespaced_custom_object("kueue.x-k8s.io", "v1beta1", "default", "localqueues", queue)
    assert bench.end(lost.name).state == "succeeded"
    large = bench.spec(nodes=4, queue="team")
    bench.launcher.submit(bench.endpoint, large)
    told = bench.until(large.name, lambda job: "insufficient quota for cpu" in job.reason)
    assert told.reason.startswith("Not admitted to the queue team")
    bench.fault("kueue_stuck")
    stuck = bench.spec(queue="team")
    bench.launcher.submit(bench.endpoint, stuck)
    bench.until(stuck.name, lambda job: job.reason.startswith("Kueue admitted it; it is about"))
    held = bench.spec("sleep 600", queue="team")
    identifier = bench.launcher.submit(bench.endpoint, held)
    bench.until(held.name, lambda job: job.state == "running")
    bench.launcher.hold(bench.endpoint, identifier)
    assert bench.until(held.name, lambda job: job.state == "queued").held
    bench.launcher.release(bench.endpoint, identifier)
    bench.until(held.name, lambda job: job.state == "running")


def test_what_an_ended_job_still_holds_is_taken_away(bench):
    spec = bench.spec("sleep 1200", nodes=2)
    spec.manifest["spec"]["runPolicy"]["cleanPodPolicy"] = "None"
    told = bench.launcher.submit(bench.endpoint, spec)
    bench.until(spec.name, lambda job: job.state == "running")
    bench.cloud.fault("node_failure", service="sagemaker", account=ACCOUNT, match=f"{bench.cluster}/workers")
    assert bench.end(spec.name).engine_state == "NodeLost"
    assert bench.launcher.tidy(bench.endpoint, told) == 1
    assert bench.launcher.tidy(bench.endpoint, told) == 0


def test_only_hyperpods_operator_begins_a_job_again(bench):
    plain, hyperpod = bench.spec("sleep 600"), bench.spec("sleep 600", kind="HyperPodPyTorchJob", resume=True)
    told = [bench.launcher.submit(bench.endpoint, spec) for spec in (plain, hyperpod)]
    error = raised(lambda: bench.launcher.requeue(bench.endpoint, told[0]))
    assert (error.kind, error.code) == ("refused", "NoRequeue")
    bench.launcher.requeue(bench.endpoint, "999999")


def test_a_throttled_call_is_throttled(bench):
    bench.fault("throttling", "list")
    assert raised(lambda: bench.launcher.observe(bench.endpoint)).kind == "throttled"


def test_a_token_made_for_another_cluster_opens_nothing(bench):
    from clusters.access import kubernetes_token

    stranger = dataclasses.replace(bench.endpoint, token=kubernetes_token(bench.account, "another"))
    assert raised(lambda: bench.launcher.observe(stranger)).kind == "denied"


def test_secrets_of_the_environment_lie_in_a_secret_that_goes_with_the_job(bench):
    spec = bench.spec("sleep 600", environment={"HF_TOKEN": "hf_secret"})
    told = bench.launcher.submit(bench.endpoint, spec)
    there = bench.custom().get_namespaced_custom_object("kubeflow.org", "v1", "default", "pytorchjobs", spec.name)
    assert "hf_secret" not in json.dumps(there)
    secret = bench.core().read_namespaced_secret(f"{spec.name}-env", "default")
    assert base64.b64decode(secret.data["HF_TOKEN"]) == b"hf_secret"
    bench.launcher.cancel(bench.endpoint, told)
    bench.wait()
    assert refused(lambda: bench.core().read_namespaced_secret(f"{spec.name}-env", "default")).status == 404


def test_a_jobs_own_token_and_its_reporter_reach_every_pod_by_the_secret(bench):
    spec = bench.spec("sleep 600", environment={"COHORT_RUN_TOKEN": "t0ken"}, nodes=2)
    spec = dataclasses.replace(spec, files={"cohort.py": "run = 1"})
    bench.launcher.submit(bench.endpoint, spec)
    there = bench.custom().get_namespaced_custom_object("kubeflow.org", "v1", "default", "pytorchjobs", spec.name)
    assert "t0ken" not in json.dumps(there)
    kept = bench.core().read_namespaced_secret(f"{spec.name}-env", "default").data
    assert {name: base64.b64decode(value) for name, value in kept.items()} == {
        "COHORT_RUN_TOKEN": b"t0ken", "cohort.py": b"run = 1",
    }  # fmt: skip
    pods = bench.core().list_namespaced_pod("default", label_selector=f"{manifests.JOB}={spec.name}").items
    assert len(pods) == 2
    for pod in pods:
        (container,) = pod.spec.containers
        assert "/opt/cohort/python" in {mount.mount_path for mount in container.volume_mounts}
        (token,) = [one for one in container.env if one.name == "COHORT_RUN_TOKEN"]
        assert (token.value, token.value_from.secret_key_ref.name) == (None, f"{spec.name}-env")
    assert {one.state for one in bench.launcher.observe(bench.endpoint) if one.name == spec.name} <= {
        "starting",
        "running",
    }


def test_the_api_refuses_as_the_api_server_does(bench):
    custom, spec = bench.custom(), bench.spec()
    path = ("kubeflow.org", "v1", "default", "pytorchjobs")
    broken = json.loads(json.dumps(spec.manifest))
    broken["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]["containers"][0]["resources"] = {
        "requests": {"nvidia.com/gpu": "eight"}
    }
    told = refused(lambda: custom.create_namespaced_custom_object(*path, broken))
    status = json.loads(told.body)
    assert (told.status, status["reason"], status["kind"]) == (422, "Invalid", "Status")
    assert "quantities must match" in status["details"]["causes"][0]["message"]
    strange = json.loads(json.dumps(spec.manifest))
    strange["spec"]["surprise"] = 1
    assert (
        refused(lambda: custom.create_namespaced_custom_object(*path, strange, field_validation="Strict")).status == 400
    )
    custom.create_namespaced_custom_object(*path, dict(spec.manifest))
    again = refused(lambda: custom.create_namespaced_custom_object(*path, dict(spec.manifest)))
    assert (again.status, json.loads(again.body)["reason"]) == (409, "AlreadyExists")
    stale = {"metadata": {"resourceVersion": "1", "labels": {"a": "b"}}}
    late = refused(lambda: custom.patch_namespaced_custom_object(*path, spec.name, stale))
    assert (late.status, json.loads(late.body)["reason"]) == (409, "Conflict")
    assert refused(lambda: custom.get_namespaced_custom_object(*path, "nobody")).status == 404
    custom.delete_namespaced_custom_object(*path, spec.name, propagation_policy="Foreground")


def test_lists_come_in_pages_and_a_watch_tells_what_changes_until_it_is_too_old(bench):
    core = bench.core()
    bench.launcher.submit(bench.endpoint, bench.spec("sleep 600", nodes=2))
    page = core.list_namespaced_pod("default", limit=1)
    rest = core.list_namespaced_pod("default", limit=500, _continue=page.metadata._continue)
    assert len(page.items) == 1 and len(rest.items) >= 1
    names: list[str] = []

    def see() -> None:
        for event in watch.Watch().stream(core.list_namespaced_pod, "default", timeout_seconds=1,
                                          resource_version=rest.metadata.resource_version):  # fmt: skip
            names.append(f"{event['type']} {event['object'].metadata.name}")

    watching = threading.Thread(target=see)
    watching.start()
    time.sleep(0.3)
    spec = bench.spec("sleep 5")
    bench.launcher.submit(bench.endpoint, spec)
    watching.join(15)
    assert f"ADDED {spec.name}-master-0" in names
    bench.fault("gone", "watch")
    with pytest.raises(client.ApiException) as told:
        list(watch.Watch().stream(core.list_namespaced_pod, "default", resource_version="1", timeout_seconds=1))
    assert told.value.status == 410


def test_a_log_is_followed_to_its_end(bench):
    spec = bench.spec("echo one\nsleep 60\necho two\nsleep 5")
    bench.launcher.submit(bench.endpoint, spec)
    bench.until(spec.name, lambda job: job.state == "running")
    lines = list(watch.Watch().stream(bench.core().read_namespaced_pod_log, f"{spec.name}-master-0", "default"))
    assert lines == ["one", "two"]
    assert bench.core().read_namespaced_pod_log(f"{spec.name}-master-0", "default", tail_lines=1) == "two\n"


@pytest.mark.parametrize("kind", manifests.KINDS)
@pytest.mark.parametrize("instance_type", ["p5.48xlarge", "p4d.24xlarge", "trn1.32xlarge", "m5.8xlarge"])
def test_what_we_render_is_valid_by_the_published_schema_of_its_kind(kind, instance_type):
    place = Place("team", instance_type, "queue", "high", {"/fsx": "fsx-claim"}, checked_nodes_only=True)
    work = Work(
        "train", IMAGE, 4, "sleep 1", processes_per_node=8, environment={"A": "b"}, time_limit_minutes=60, retries=2
    )
    made = manifests.RENDERERS[kind](place, work)
    sent = manifests.marked(
        made, "team", manifests.Mark("train", "token", "train-env", ("TOKEN",), only=("node-2",), without=("node-1",))
    )
    known = BY_PLURAL[manifests.KINDS[kind][2]]
    assert schemas.problems(known, sent) == [] and schemas.unknown(known, sent) == []
    assert (manifests.pods(sent), sent["metadata"]["labels"][manifests.QUEUE]) == (4, "queue")
    wanted = {"p5.48xlarge": 32, "p4d.24xlarge": 32, "trn1.32xlarge": 64, "m5.8xlarge": 0}
    assert manifests.accelerators(sent) == wanted[instance_type]


def test_devices_of_a_node_are_those_of_the_published_table():
    assert manifests.devices("p5.48xlarge") == {"nvidia.com/gpu": "8", "vpc.amazonaws.com/efa": "32"}
    assert manifests.devices("p5en.48xlarge")["vpc.amazonaws.com/efa"] == "16"
    assert manifests.devices("trn1.32xlarge") == {"aws.amazon.com/neuron": "16", "vpc.amazonaws.com/efa": "8"}


def test_hyperpods_kind_has_the_fields_that_its_own_command_line_fills():
    """Held against the template that the package of AWS ships, which has no schema of its own."""
    import importlib.util

    origin = importlib.util.find_spec("hyperpod_pytorch_job_template")
    assert origin and origin.submodule_search_locations
    source = Path(origin.submodule_search_locations[0]) / "v1_1" / "template.py"
    space: dict[str, Any] = {}
    exec(compile(source.read_text(), str(source), "exec"), space)
    volume = {"name": "fsx", "type": "pvc", "mount_path": "/fsx", "claim_name": "fsx-claim", "read_only": "false"}
    theirs = yaml.safe_load(
        jinja2.Template(space["TEMPLATE_CONTENT"]).render(
            job_name="train", image=IMAGE, namespace="team", command=["sleep"], instance_type="ml.p5.48xlarge",
            tasks_per_node="8", replica_count=4, accelerators=8, accelerators_limit=8, efa=32, efa_limit=32, max_retry=2,
            queue_name="queue", priority="high", volume=[volume], environment={"A": "b"},
        )
    )  # fmt: skip
    known = BY_PLURAL["hyperpodpytorchjobs"]
    assert schemas.problems(known, theirs) == [] and schemas.unknown(known, theirs) == []
    mine = manifests.hyperpod_pytorch_job(
        Place("team", "p5.48xlarge", "queue", "high", {"/fsx": "fsx-claim"}),
        Work("train", IMAGE, 4, command=("sleep",), retries=2),
    )
    assert {key: mine[key] for key in ("apiVersion", "kind")} == {key: theirs[key] for key in ("apiVersion", "kind")}
    pod, their_pod = (thing["spec"]["replicaSpecs"][0]["template"]["spec"] for thing in (mine, theirs))
    ask = lambda spec: {name: str(value) for name, value in spec["containers"][0]["resources"]["limits"].items()}
    assert ask(pod) == ask(their_pod)
    assert pod["nodeSelector"] == their_pod["nodeSelector"]
    assert mine["metadata"]["labels"] == theirs["metadata"]["labels"]
    assert mine["spec"]["runPolicy"]["jobMaxRetryCount"] == theirs["spec"]["runPolicy"]["jobMaxRetryCount"]


def test_an_endpoint_is_not_there_for_a_cluster_nobody_made(cloud):
    assert kubernetes_endpoint(let_in(cloud, ACCOUNT, REGION), "nobody", "nobody", "default") is None


def test_the_namespace_of_others_is_forbidden_to_who_may_only_edit_ones_own(bench):
    """As EKS's own access entries scope it; the journal of the sandbox has the refusal."""
    import botocore.session

    owner = botocore.session.Session().create_client(
        "eks", region_name=REGION, endpoint_url=bench.cloud.url,
        aws_access_key_id=f"AKIAOWNER{ACCOUNT}", aws_secret_access_key="owner",
    )  # fmt: skip
    name, arn = f"cohort-{ACCOUNT}-eks", bench.account.role_arn
    before = owner.list_associated_access_policies(clusterName=name, principalArn=arn)["associatedAccessPolicies"]
    owner.delete_access_entry(clusterName=name, principalArn=arn)
    assert raised(lambda: bench.launcher.observe(bench.endpoint)).kind == "denied"
    owner.create_access_entry(clusterName=name, principalArn=arn)
    edit = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSEditPolicy"
    scope = {"type": "namespace", "namespaces": ["default"]}
    owner.associate_access_policy(clusterName=name, principalArn=arn, policyArn=edit, accessScope=scope)
    try:
        assert isinstance(bench.launcher.observe(bench.endpoint), list)
        other = dataclasses.replace(bench.endpoint, namespace="kube-system")
        told = raised(lambda: bench.launcher.observe(other))
        assert (told.kind, told.code) == ("denied", "Forbidden") and 'in the namespace "kube-system"' in told.message
    finally:
        for one in before:
            owner.associate_access_policy(
                clusterName=name, principalArn=arn, policyArn=one["policyArn"], accessScope=one["accessScope"]
            )
