"""Each launcher with a cluster of two workers to launch on: the sandbox's Slurm, a real one, Kubernetes, a head node's agent."""

import dataclasses
import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

from kubernetes import client

from clusters.access import kubernetes_endpoint, slurm_endpoint
from clusters.architectures.configuration import read_configuration
from clusters.architectures.parts import Wiring, parts
from clusters.launchers import JobSeen, Launcher, LaunchSpec, SlurmEndpoint, launcher, manifests
from clusters.launchers import kubernetes as ours
from clusters.launchers.manifests import Place, Work
from clusters.models import AgentOrder, HeadNodeAgent
from clusters.providers import Account, Part, ProviderError, adapter
from tenants.wall.acting import acting_for
from tests.clusters.head_node_agent import place as places
from tests.clusters.head_node_agent.conftest import Head
from tests.contracts.conftest import SPEED, Sandbox, let_in
from tests.slurm.cluster import RealSlurm
from tests.slurm.cutting import CuttingLine
from tests.slurm.shipping import Shipper

REGION = "ap-northeast-1"
TAGS = {"cohort:installation": "contract", "cohort:tenant": "hoshi"}
ENDS = ("succeeded", "failed", "cancelled", "timed_out")
WORKERS = 2
EKS_ACCOUNT, TYPE, IMAGE = "300000000008", "m5.8xlarge", "registry/training@sha256:" + "0" * 64
OUTLIVES = LaunchSpec("outlives-its-limit", "#!/bin/bash\nsleep 3600\n", 1, "workers", time_limit_minutes=1)
LONG_AGO, FRESH = datetime(2020, 1, 1, tzinfo=UTC), timedelta(seconds=10)
_names = itertools.count(1)


@dataclass
class Bench:
    """One launcher and its cluster. Times are those of the sandbox, whose clock we move."""

    cloud: Sandbox
    account: Account
    endpoint: Any
    cluster: str
    launcher: Launcher[Any]
    real = False
    denied = "denied"
    nobody = "999999"  # the id of no job
    well, badly, stopped, waits = "COMPLETED", "FAILED", "TIMEOUT", "PENDING"  # the scheduler's own words
    operations = {"submit": "POST job/submit", "list": "GET jobs"}
    service = "slurm"
    begun_again: tuple[str, datetime] | None = field(default=None, init=False)  # a job that was, and since when it ran
    next_in_line: ClassVar[int | None] = 1
    gone_on = ("recovering", "running", "queued", "starting")

    def spec(self, script: str = "sleep 60", nodes: int = 1, **more: Any) -> LaunchSpec:
        text = f"#!/bin/bash\n{script}\n"
        return LaunchSpec(f"job-{next(_names)}", text, nodes, "workers", **more)

    def impossible(self) -> list[LaunchSpec]:
        """What this scheduler refuses."""
        return [self.spec(nodes=50), dataclasses.replace(self.spec(), partition="nowhere")]

    def outlives(self) -> LaunchSpec:
        """A job that runs longer than its limit."""
        self.submit(OUTLIVES)
        return OUTLIVES

    def sleep(self, seconds: float) -> str:
        return f"sleep {seconds:g}"

    def in_a_while(self) -> datetime:
        """Ten minutes later in the cloud, which runs faster than our own clock."""
        return datetime.now(UTC) + timedelta(seconds=600 / SPEED)

    def submit(self, spec: LaunchSpec) -> str:
        """Asked until it is answered, as the engine does."""
        return self.launcher.submit(self.endpoint, spec)

    def do(self, verb: str, external_id: str) -> None:
        """cancel, hold, release or requeue."""
        getattr(self.launcher, verb)(self.endpoint, external_id)

    def carried_out(self) -> None:
        """All that was asked for is done."""

    def twice_at_once(self, verb: str, external_id: str) -> None:
        """Asked again before anything of it was done."""
        self.do(verb, external_id)
        self.do(verb, external_id)

    def seen(self, name: str) -> JobSeen | None:
        found = [job for job in self.launcher.observe(self.endpoint) if job.name == name]
        assert len(found) <= 1, "one name is one job"
        return found[0] if found else None

    def until(self, name: str, wanted: Callable[[JobSeen], object], tries: int = 40) -> JobSeen:
        for _ in range(tries):
            job = self.seen(name)
            if job and wanted(job):
                return job
            self.wait()
        raise AssertionError(f"{name} is still {job}")

    def over(self, name: str) -> JobSeen | None:
        """A job that was cancelled; None where its scheduler forgets it with that."""
        for _ in range(150):
            job = self.seen(name)
            if job is None or job.state in ENDS:
                return job
            self.wait()
        raise AssertionError(f"{name} is still {job}")

    def idle_node(self) -> str:
        return self.idle(1)[0]

    def idle(self, count: int) -> list[str]:
        for _ in range(150):
            found = [node.name for node in self.launcher.nodes(self.endpoint) if node.state == "idle"]
            if len(found) >= count:
                return found
            self.wait()
        raise AssertionError(f"{len(found)} nodes are idle")

    def wait(self) -> None:
        self.cloud.later(1)

    def end(self, name: str) -> JobSeen:
        return self.until(name, lambda job: job.state in ENDS)

    def clean(self) -> None:
        """Nothing runs but what is to outlive its limit, and both workers are free."""
        for job in self.launcher.observe(self.endpoint):
            if job.state not in ENDS and job.name != OUTLIVES.name:
                self.launcher.cancel(self.endpoint, job.external_id)
        self.idle(WORKERS)

    def fault(self, fault: str, what: str = "submit", **more: Any) -> None:
        where = {"service": self.service, "operation": self.operations[what], "account": self.account.account_id}
        self.cloud.fault(fault, **where, times=1, **more)

    def mend(self) -> None:
        """What was cut is whole again; faults of the cloud are over when they have happened."""

    def strangers(self) -> list[Any]:
        """Endpoints that a stranger would speak to."""
        return [dataclasses.replace(self.endpoint, jwt_key=b"x" * 32)]

    def calls_of_a_list(self) -> list[str]:
        """Each is asked once for a list of all jobs."""
        return [self.operations["list"]]

    def asked(self, operation: str) -> int:
        return len(self.cloud.journal(operation, self.account.account_id))

    def submissions(self, name: str) -> int:
        calls = self.cloud.journal(self.operations["submit"], self.account.account_id, effective=True)
        return sum(call["parameters"].get("name") == name for call in calls)

    def lose_a_node_of(self, job: JobSeen, times: int = 1) -> None:
        match = f"{self.cluster}/workers"
        self.cloud.fault("node_failure", service="sagemaker", account=self.account.account_id, match=match, times=times)

    def forget(self, spec: LaunchSpec) -> None:
        """The scheduler's memory of ended jobs is short."""
        self.cloud.fault("vanished", service="slurm", account=self.account.account_id, match=spec.name)

    def ship(self) -> None:
        """What the cluster does by itself all the time: ship output to the log group."""

    def account_now(self) -> None:
        """What it does by itself every few minutes: tell of runs that ended."""

    def said(self) -> str:
        """What helps whoever looks for why something did not come."""
        return ""


@dataclass(kw_only=True)
class RealBench(Bench):
    """A real Slurm behind a line that can be cut; minutes of the sandbox are moments here."""

    slurm: RealSlurm
    line: CuttingLine
    shipper: Shipper
    real = True

    @property
    def denied(self) -> str:  # type: ignore[override]
        """An old server tells a bad token and a controller that is down in the same words."""
        return "unclear" if self.slurm.old else "denied"

    def sleep(self, seconds: float) -> str:
        return f"sleep {seconds if seconds >= 600 else min(seconds / 75, 1.2):g}"

    def outlives(self) -> LaunchSpec:
        return OUTLIVES  # since the cluster began: limits are counted in minutes

    def in_a_while(self) -> datetime:
        return datetime.now(UTC) + timedelta(seconds=2)

    def until(self, name: str, wanted: Callable[[JobSeen], object], tries: int = 200) -> JobSeen:
        return super().until(name, wanted, tries)

    def wait(self) -> None:
        time.sleep(0.1)

    def clean(self) -> None:
        self.mend()
        super().clean()

    def fault(self, fault: str, what: str = "submit", **more: Any) -> None:
        self.line.fault(fault, self.operations[what])

    def mend(self) -> None:
        self.line.heal()

    def asked(self, operation: str) -> int:
        return sum(asked.operation == operation for asked in self.line.asked)

    def submissions(self, name: str) -> int:
        """How many jobs of that name Slurm has."""
        return self.slurm.ask("squeue", "-h", "-t", "all", "-o", "%j").splitlines().count(name)

    def lose_a_node_of(self, job: JobSeen, times: int = 1) -> None:
        self.slurm.set_down(job.nodes[0])

    def forget(self, spec: LaunchSpec) -> None:
        self.slurm.forget_ended_jobs(lambda: self.seen(spec.name) is None)

    def ship(self) -> None:
        self.shipper.once()


@dataclass(kw_only=True)
class AgentBench(RealBench):
    """The agent's own file as a process beside a real Slurm, over the portal's tables, by a line that can be cut."""

    head: Head
    place: places.Place

    def submit(self, spec: LaunchSpec) -> str:
        for _ in range(200):
            try:
                return self.launcher.submit(self.endpoint, spec)
            except ProviderError as error:
                if error.kind != "unclear":
                    raise
            self.wait()
        raise AssertionError(f"the agent does not answer: {self.head.said}")

    def carried_out(self) -> None:
        with acting_for(self.place.tenant, staff=True):
            orders = AgentOrder.objects.filter(cluster=self.place.cluster)
            for _ in range(200):
                if not orders.filter(answered_at=None).exists():
                    refused = orders.exclude(kind=AgentOrder.Kind.SUBMIT).filter(went_well=False).first()
                    assert refused is None, refused
                    return
                self.wait()
        raise AssertionError(f"the agent does not answer: {self.head.said}")

    def twice_at_once(self, verb: str, external_id: str) -> None:
        self._cut("pull")
        super().twice_at_once(verb, external_id)
        self.mend()

    def clean(self) -> None:
        self.mend()
        for _ in range(100):
            agent = self.place.agent
            if min(filter(None, (agent.jobs_at, agent.nodes_at)), default=LONG_AGO) > datetime.now(UTC) - FRESH:
                break
            self.wait()
        # What others submitted since its last report is not in it yet.
        rows = [row.split(maxsplit=1) for row in self.slurm.ask("squeue", "-h", "-o", "%A %j").splitlines()]
        if live := [number for number, name in rows if name != OUTLIVES.name]:
            self.slurm.ask("scancel", *live, check=False)
        self.idle(WORKERS)

    def fault(self, fault: str, what: str = "submit", **more: Any) -> None:
        """Its submission is an order that it fetches; its list is what it reports."""
        if what == "list":
            self._cut("pull", "report")
            with acting_for(self.place.tenant, staff=True):
                HeadNodeAgent.objects.update(jobs_at=LONG_AGO, nodes_at=LONG_AGO, last_seen_at=LONG_AGO)
        elif fault == "no_answer":
            self._cut("pull")
        else:
            self.line.fault(fault, f"POST {self.place.path}/answer/")

    def _cut(self, *verbs: str) -> None:
        for verb in verbs:
            for _ in range(1000):
                self.line.fault("no_answer", f"POST {self.place.path}/{verb}/")
        time.sleep(0.3)  # whoever had just been let through is heard

    def ship(self) -> None:
        """The agent brings output by itself, some moments later."""

    def said(self) -> str:
        words = ("sacct", "-a", "-D", "-X", "-P", "-S", "2020-01-01", "-o", "JobID,JobName,State,Start,End")
        return f"{self.head.said[-3000:]}\n{self.slurm.ask(*words)[-3000:]}"

    def account_now(self) -> None:
        """The agent looks when it begins, and then every minute."""
        told = self.place.agent.last_seen_at
        self.head.stop()
        self.head.start()
        for _ in range(100):
            if self.place.agent.last_seen_at != told and self.place.agent.accounts is not None:
                break
            self.wait()
        time.sleep(0.3)


@dataclass
class KubeBench(Bench):
    """Two workers under an EKS cluster."""

    well, badly, stopped, waits = "Succeeded", "Error", "DeadlineExceeded", "Pending"
    next_in_line = None
    nobody = "ptj/nobody"
    operations = {"submit": "POST pytorchjobs", "list": "GET pytorchjobs", "watch": "WATCH pods"}
    service = "kubernetes"

    def spec(self, script: str = "sleep 60", nodes: int = 1, kind: str = "PyTorchJob", **more: Any) -> LaunchSpec:
        name = f"job-{next(_names)}"
        limit, resume, queue = more.pop("limit", None), more.pop("resume", False), more.pop("queue", "")
        work = Work(name, IMAGE, nodes, script, time_limit_minutes=limit, auto_resume=resume)
        made = manifests.RENDERERS[kind](Place("default", TYPE, queue), work)
        return LaunchSpec(name, script, nodes, manifest=made, **more)

    def impossible(self) -> list[LaunchSpec]:
        return [dataclasses.replace(self.spec(), name="a" * 64), dataclasses.replace(self.spec(), manifest=None)]

    def outlives(self) -> LaunchSpec:
        spec = self.spec("sleep 3600", limit=1)
        self.submit(spec)
        return spec

    def clean(self) -> None:
        """Also with a fresh token: it is good for minutes, of which the cloud has many."""
        eks = f"cohort-{EKS_ACCOUNT}-eks"
        self.endpoint = kubernetes_endpoint(self.account, eks, self.cluster, "default")
        super().clean()

    def strangers(self) -> list[Any]:
        tokens = ("k8s-aws-v1.none", "", self.endpoint.token[:-12])
        return [dataclasses.replace(self.endpoint, token=token) for token in tokens]

    def calls_of_a_list(self) -> list[str]:
        return [f"GET {plural}" for _, _, plural in manifests.KINDS.values()] + ["GET pods"]

    def forget(self, spec: LaunchSpec) -> None:
        """Somebody else deletes it."""
        self.do("cancel", f"ptj/{spec.name}")
        for _ in range(10):
            if self.seen(spec.name) is None:
                return
            self.wait()

    def core(self) -> client.CoreV1Api:
        return client.CoreV1Api(ours._clients.client(self.endpoint))

    def custom(self) -> client.CustomObjectsApi:
        return client.CustomObjectsApi(ours._clients.client(self.endpoint))


def _brought_up(
    cloud: Sandbox, account: Account, told: dict[str, Any], names: dict[str, str], before: Callable[[str], object]
) -> None:
    """All parts of a cluster, one after the other; `before` is asked when a part's creation has begun."""
    wish = read_configuration(told)
    outputs: dict[str, dict[str, str]] = {}
    for spec in parts(wish.made_of(), wish):
        body = spec.body(Wiring(account.account_id, account.role_arn, names, outputs))
        part = Part(spec.kind, names[spec.role], f"create-{spec.role}", TAGS, body)
        adapter(spec.kind).create(account, part)
        assert before(spec.role) is None
        for _ in range(40):
            seen = adapter(spec.kind).look(account, part)
            if seen.phase != "busy":
                break
            cloud.later(4)
        assert seen.phase == "ready", seen
        outputs[spec.role] = dict(seen.outputs)


def on_slurm(cloud: Sandbox, number: str = "300000000001") -> Bench:
    told = {
        "architecture": "hyperpod-slurm",
        "region": REGION,
        "az_id": "apne1-az4",
        "instance_groups": [
            {"name": "head", "instance_type": "m5.4xlarge", "count": 1, "role": "controller"},
            {"name": "workers", "instance_type": "m5.8xlarge", "count": WORKERS},
        ],
    }
    account, names = let_in(cloud, number, REGION), {"base": f"cohort-{number}-base", "cluster": f"cohort-{number}"}
    look = lambda: slurm_endpoint(account, names["cluster"])
    _brought_up(cloud, account, told, names, lambda role: look() if role == "cluster" else None)
    endpoint = look()
    assert endpoint
    return Bench(cloud, account, endpoint, names["cluster"], launcher("hyperpod-slurm"))


_kubernetes: dict[str, KubeBench] = {}


def on_kubernetes(cloud: Sandbox) -> KubeBench:
    """One for the statements of all launchers and for its own."""
    if cloud.url not in _kubernetes:
        _kubernetes[cloud.url] = _on_kubernetes(cloud)
    return _kubernetes[cloud.url]


def _on_kubernetes(cloud: Sandbox) -> KubeBench:
    told = {
        "architecture": "hyperpod-eks",
        "region": REGION,
        "az_id": "apne1-az4",
        "instance_groups": [{"name": "workers", "instance_type": TYPE, "count": WORKERS}],
    }
    account = let_in(cloud, EKS_ACCOUNT, REGION)
    names = {role: f"cohort-{EKS_ACCOUNT}-{role}" for role in ("base", "eks", "cluster")}
    look = lambda: kubernetes_endpoint(account, names["eks"], names["cluster"], "default")
    _brought_up(cloud, account, told, names, lambda role: look() if role == "eks" else None)
    return KubeBench(cloud, account, look(), names["cluster"], launcher("hyperpod-eks"))


def on_a_real_slurm(cloud: Sandbox, slurm: RealSlurm) -> RealBench:
    account, line = let_in(cloud, "300000000009", REGION), CuttingLine(slurm.ports["slurmrestd"])
    group = "/cohort/clusters/real/jobs"
    endpoint = SlurmEndpoint(line.url, slurm.versions, slurm.user, slurm.key, group)
    shipper = Shipper(slurm.logs, group, cloud.url, account.account_id, REGION)
    # The third node is kept busy by what shows time limits: they are counted in minutes.
    made = RealBench(cloud, account, endpoint, "real", launcher("hyperpod-slurm"), slurm=slurm, line=line,
                     shipper=shipper)  # fmt: skip
    made.submit(OUTLIVES)
    return made


def by_an_agent(beside: RealBench, place: places.Place, head: Head, line: CuttingLine) -> AgentBench:
    """On the same Slurm as the launcher that asks its REST server."""
    told = (beside.cloud, beside.account, place.endpoint, "real", launcher("hyperpod-slurm", by_agent=True))
    more = {"slurm": beside.slurm, "line": line, "shipper": beside.shipper, "head": head, "place": place}
    return AgentBench(*told, **more)
