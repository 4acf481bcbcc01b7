"""What every provider adapter keeps: one list of statements, each run on each adapter against the sandbox cloud."""

import dataclasses
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from clusters.architectures.configuration import Configuration, read_configuration
from clusters.architectures.parts import Wiring, parts
from clusters.providers import Account, Part, Provider, ProviderError, Seen, adapter
from tests.clusters.sandbox.test_coverage import ROWS
from tests.contracts.conftest import Sandbox, let_in

REGION, ZONE = "ap-northeast-1", "apne1-az4"
TAGS = {
    "cohort:installation": "contract",
    "cohort:tenant": "hoshi",
    "cohort:resource": "cluster-1",
    "cohort:incarnation": "1",
}
FAILS_TOO = "error_after_success"
_numbers = itertools.count(200_000_000_001)


@dataclass(frozen=True)
class Kind:
    """What differs between the adapters: which part of the architecture, which calls, which faults."""

    role: str
    kind: str
    service: str
    creates: str
    deletes: str
    changed: dict[str, Any]  # of the configuration, for an update that the engine applies in place
    shows: Callable[[Seen], Any]  # what of it a look tells
    fails: str  # the switch that makes a creation fail
    why: str  # words of the provider's own sentence then
    architecture: str = "hyperpod-slurm"
    worker: str = "m5.8xlarge"
    own_tries: int = 1  # of the program behind it, at one call, before it gives up
    first_call: str = ""  # of a creation, when it is another than the one that creates
    runs_programs: bool = False  # for most of a minute: what is made is made once for several statements


KINDS = {
    "stack": Kind(
        role="base",
        kind="stack",
        service="cloudformation",
        creates="CreateStack",
        deletes="DeleteStack",
        changed={"storage": {"lustre": {"mbs_per_tib": 500}}},
        shows=lambda seen: seen.body["Parameters"]["LustreMbsPerTib"],
        fails="resource_fails",
        why="could not be created",
    ),
    "hyperpod": Kind(
        role="cluster",
        kind="hyperpod",
        service="sagemaker",
        creates="CreateCluster",
        deletes="DeleteCluster",
        changed={"workers": 2},
        shows=lambda seen: seen.body["groups"]["workers"]["target"],
        fails="no_capacity",
        why="sufficient capacity",
    ),
    "parallelcluster": Kind(
        role="cluster",
        kind="parallelcluster",
        service="cloudformation",
        creates="CreateStack",
        deletes="DeleteStack",
        changed={"workers": 2},
        shows=lambda seen: seen.external_id and len(seen.nodes),
        fails="resource_fails",
        why="could not be created",
        architecture="parallelcluster-p5",
        worker="m5.4xlarge",
        own_tries=10,
        first_call="DescribeStacks",
        runs_programs=True,
    ),
}


def configuration(kind: Kind, workers: int = 1, **changes: Any) -> Configuration:
    groups = [
        {"name": "head", "instance_type": "m5.4xlarge", "count": 1, "role": "controller"},
        {"name": "workers", "instance_type": kind.worker, "count": workers},
    ]
    told = {"architecture": kind.architecture, "region": REGION, "az_id": ZONE, "instance_groups": groups}
    return read_configuration(told | changes)


@dataclass
class Bench:
    """One adapter, one account of its own, and the part that is made there."""

    cloud: Sandbox
    account: Account
    kind: Kind
    names: dict[str, str]
    outputs: dict[str, dict[str, str]]

    @property
    def adapter(self) -> Provider:
        return adapter(self.kind.kind)

    def make_site(self) -> None:
        """What a cluster needs first, once."""
        if self.kind.role != "base" and not self.outputs:
            site = dataclasses.replace(
                self, kind=dataclasses.replace(KINDS["stack"], architecture=self.kind.architecture)
            )
            site.create()
            self.outputs["base"] = dict(site.until("ready").outputs)

    def part(self, role: str = "", token: str = "create-1", tags: dict[str, str] = TAGS, **changes: Any) -> Part:
        role = role or self.kind.role
        self.make_site()
        wish = configuration(self.kind, **changes)
        spec = next(each for each in parts(wish.made_of(), wish) if each.role == role)
        body = spec.body(Wiring(self.account.account_id, self.account.role_arn, self.names, self.outputs))
        return Part(spec.kind, self.names[role], token, tags, body)

    def create(self, part: Part | None = None) -> str:
        return self.adapter.create(self.account, part or self.part())

    def look(self, part: Part | None = None) -> Seen:
        return self.adapter.look(self.account, part or self.known())

    def delete(self) -> None:
        self.adapter.delete(self.account, self.known(token="delete-1"))

    def known(self, token: str = "create-1", tags: dict[str, str] = TAGS) -> Part:
        """A look and a deletion know a part by name and tags alone."""
        return Part(self.kind.kind, self.names[self.kind.role], token, tags, {})

    def until(self, phase: str, minutes: float = 120) -> Seen:
        for _ in range(int(minutes / 4)):
            seen = self.look()
            if seen.phase == phase:
                return seen
            self.cloud.later(4)
        raise AssertionError(f"still {seen.phase}: {seen.status} {seen.reason}")

    def made(self) -> int:
        """How many creations had an effect in this account."""
        calls = self.cloud.journal(self.kind.creates, self.account.account_id, effective=True)
        return sum(self.names[self.kind.role] in call["parameters"].values() for call in calls)

    def fault(self, fault: str, operation: str, times: int = 1) -> None:
        self.cloud.fault(
            fault,
            service=self.kind.service,
            operation=operation,
            account=self.account.account_id,
            times=times * (self.kind.own_tries if operation == self.kind.creates else 1),
        )


NEEDS = {"parallelcluster": [pytest.mark.pcluster]}  # a part of the suite that not every machine can run


@pytest.fixture(params=[pytest.param(name, id=name, marks=NEEDS.get(name, ())) for name in KINDS])
def bench(
    request: pytest.FixtureRequest,
    cloud: Sandbox,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Bench:
    kind, number = KINDS[request.param], str(next(_numbers))
    monkeypatch.setenv("PCLUSTER_LOCK", str(tmp_path / "lock"))
    names = {"base": f"cohort-{number}-base", "cluster": f"cohort-{number}"}
    return Bench(cloud, let_in(cloud, number, REGION), kind, names, {})


@pytest.fixture(scope="module")
def shared() -> dict[str, Any]:
    return {}


def once(shared: dict[str, Any], bench: Bench, make: Callable[[Bench], Any]) -> Any:
    """Made anew for every statement; where that runs programs, once for all of them."""
    if not bench.kind.runs_programs:
        return make(bench)
    name = str(make.keywords) if isinstance(make, partial) else make.__name__
    if name not in shared:
        shared[name] = make(bench)
    return shared[name]


@dataclass(frozen=True)
class Begun:
    """A creation: what it told, the look right after it, and what came of an update while it was in motion."""

    bench: Bench
    told: str
    first: Seen
    early: ProviderError


def begin(bench: Bench) -> Begun:
    if bench.kind.runs_programs:
        # Its credentials are over at the first call of all: what has to hold then is stated below.
        bench.look()
        bench.cloud.fault("expired_token", operation=bench.kind.first_call, account=bench.account.account_id)
    with bench.cloud.slowly():
        told = bench.create()
        first = bench.look()
        change = bench.part(token="update-1", **bench.kind.changed)
        early = raised(lambda: bench.adapter.update(bench.account, change))
    return Begun(bench, told, first, early)


@pytest.fixture
def begun(bench: Bench, shared: dict[str, Any]) -> Begun:
    """Something whose creation was asked for a moment or some statements ago."""
    return once(shared, bench, begin)


@pytest.fixture
def made(begun: Begun) -> Bench:
    """Something that was made, to look at."""
    return begun.bench


def lose(bench: Bench, fault: str) -> tuple[Bench, Seen]:
    """A creation whose answer is lost. Where each is dear, the one that ends in an error will not succeed either."""
    bench.make_site()
    bench.fault(fault, bench.kind.creates, times=2)
    if bench.kind.runs_programs and fault == FAILS_TOO:
        bench.fault(bench.kind.fails, bench.kind.creates)
    with bench.cloud.slowly():
        try:
            bench.create()
        except ProviderError as error:
            assert error.kind == "unclear"
        seen = bench.look()
    bench.cloud.heal()
    return bench, seen


@pytest.fixture
def failed(bench: Bench, shared: dict[str, Any]) -> Bench:
    """Something whose creation does not go well."""
    if bench.kind.runs_programs:
        return once(shared, bench, partial(lose, fault=FAILS_TOO))[0]
    bench.make_site()
    bench.fault(bench.kind.fails, bench.kind.creates)
    bench.create()
    return bench


@pytest.fixture
def spare(bench: Bench, shared: dict[str, Any]) -> Bench:
    """Something that nobody needs any more. ParallelCluster takes back its files when an answer is lost, so its stack
    would fail."""
    if bench.kind.runs_programs:
        return once(shared, bench, partial(lose, fault="timeout_after_success"))[0]
    bench.create()
    return bench


def raised(call: Callable[[], object]) -> ProviderError:
    with pytest.raises(ProviderError) as told:
        call()
    return told.value


def test_what_nobody_made_is_absent(bench):
    seen = bench.look()
    assert (seen.phase, seen.nodes, seen.outputs) == ("absent", (), {})


def test_a_creation_is_busy_and_then_ready_with_its_identity_and_its_outputs(begun):
    bench, first = begun.bench, begun.first
    assert first.phase == "busy" and first.status
    ready = bench.until("ready")
    assert ready.external_id == first.external_id == begun.told
    assert ready.outputs
    assert ready.ours
    assert bench.made() == 1


def test_an_update_while_it_is_being_made_is_refused_for_now_and_not_lost(begun):
    assert begun.early.kind in ("throttled", "unclear")
    assert begun.bench.until("ready").ours


def test_to_create_twice_is_to_create_once(begun):
    bench = begun.bench
    try:
        again = bench.create()
    except ProviderError as error:
        assert error.kind == "unclear"
    else:
        assert again == begun.told
    assert bench.look().external_id == begun.told
    assert bench.made() == 1


def test_another_creation_of_that_name_is_for_a_look_to_decide(made):
    assert raised(lambda: made.create(made.part(token="another"))).kind == "unclear"
    assert made.made() == 1


def test_what_carries_the_tags_of_another_is_not_ours(made):
    assert made.look().ours
    for tags in (TAGS | {"cohort:incarnation": "2"}, TAGS | {"cohort:tenant": "umi"}, {}):
        assert not made.look(made.known(tags=tags)).ours


@pytest.mark.parametrize("fault", ["timeout_after_success", FAILS_TOO])
def test_a_creation_whose_answer_is_lost_is_unclear_and_found_by_looking(bench, shared, fault):
    bench, seen = once(shared, bench, partial(lose, fault=fault))
    assert seen.phase == "busy" and seen.ours
    assert bench.made() == 1


def test_a_throttled_creation_made_nothing(bench):
    bench.make_site()
    bench.fault("throttling", bench.kind.creates, times=2)
    assert raised(bench.create).kind == "throttled"
    assert bench.look().phase == "absent"
    assert bench.made() == 0


def test_credentials_that_expired_are_renewed_and_the_call_is_made(bench, shared):
    if bench.kind.runs_programs:
        bench = once(shared, bench, begin).bench  # its credentials were over when it was made
    else:
        bench.make_site()
        bench.look()
        bench.fault("expired_token", bench.kind.creates)
        bench.create()
    # Whatever was refused for its token was asked once more, and only then.
    refused = [call for call in bench.cloud.journal("", bench.account.account_id) if "Expired" in call["error"]]
    assert len(refused) == 1
    assert bench.look().phase in ("busy", "ready")
    assert bench.made() == 1


def test_a_role_that_does_not_know_our_id_is_denied_and_nothing_is_asked(bench):
    bench.make_site()
    stranger = dataclasses.replace(bench, account=dataclasses.replace(bench.account, external_id="somebody-elses"))
    for act in (stranger.look, stranger.create, stranger.delete):
        error = raised(act)
        assert error.kind == "denied" and error.message
    assert bench.made() == 0


def test_lost_contact_is_no_absence(made, monkeypatch):
    made.look()
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    from clusters.providers import aws

    aws._start_again()
    assert raised(made.look).kind == "unclear"


@pytest.mark.parametrize("fault", ["throttling", "error_after_success"])
def test_a_look_that_fails_says_so_and_tells_no_state(made, fault):
    describes = {"cloudformation": "DescribeStacks", "sagemaker": "DescribeCluster"}[made.kind.service]
    made.fault(fault, describes, times=2)
    assert raised(made.look).kind == ("throttled" if fault == "throttling" else "unclear")
    assert made.look().phase in ("busy", "ready")


def test_a_look_never_writes(made):
    before = len(made.cloud.ask(f"journal?account={made.account.account_id}&effective=1")["calls"])
    for _ in range(3):
        made.look()
        made.cloud.later(10)
    calls = made.cloud.ask(f"journal?account={made.account.account_id}&effective=1")["calls"]
    assert [call["operation"] for call in calls[before:] if call["operation"] != "AssumeRole"] == []


def test_an_update_that_is_already_so_is_no_error(made):
    made.until("ready")
    made.adapter.update(made.account, made.part(token="update-1"))
    assert made.until("ready").ours


def test_an_update_changes_what_was_wished_and_nothing_is_made_anew(made):
    before = made.until("ready")
    with made.cloud.slowly():
        made.adapter.update(made.account, made.part(token="update-2", **made.kind.changed))
        assert made.look().phase == "busy"
    after = made.until("ready")
    for _ in range(5):  # what the cluster's own daemon brings comes after the update
        if made.kind.shows(before) != made.kind.shows(after):
            break
        made.cloud.later(4)
        after = made.look()
    assert made.kind.shows(before) != made.kind.shows(after)
    assert after.external_id == before.external_id
    assert made.made() == 1


def test_a_fleet_stops_and_starts_where_there_is_one(made):
    if not made.until("ready").fleet:
        assert made.kind.kind != "parallelcluster" and not hasattr(made.adapter, "move_fleet")
        return
    running = len(made.look().nodes)
    for verb, word, nodes in (("stop", "STOPPED", 1), ("start", "RUNNING", running)):
        made.adapter.move_fleet(made.account, made.known(), verb)
        for _ in range(10):
            made.cloud.later(4)
            seen = made.look()
            if seen.fleet == word and len(seen.nodes) == nodes:
                break
        assert (seen.fleet, len(seen.nodes), seen.phase) == (word, nodes, "ready")
    assert made.made() == 1


def test_a_creation_that_fails_says_why_in_the_providers_words(failed):
    seen = failed.until("failed")
    assert failed.kind.why in seen.reason
    assert seen.ours


def test_what_failed_can_be_deleted(failed):
    failed.until("failed")
    failed.delete()
    assert failed.until("absent").phase == "absent"


def test_what_vanished_is_absent(spare):
    assert spare.look().phase != "absent"
    name = spare.names[spare.kind.role]
    spare.cloud.fault("vanished", service=spare.kind.service, account=spare.account.account_id, match=name)
    assert spare.look().phase == "absent"


def test_two_accounts_may_use_one_name_and_do_not_see_each_other(made):
    number = str(next(_numbers))
    other = dataclasses.replace(made, account=let_in(made.cloud, number, REGION))
    assert other.look().phase == "absent"


def test_a_deletion_is_deleting_and_then_absent_and_may_be_repeated(made):
    # The last statement about what is shared: nothing of it is left.
    made.until("ready")
    made.delete()
    assert made.look().phase == "deleting"
    try:
        made.delete()
    except ProviderError as error:
        assert error.kind == "throttled"
    made.until("absent")
    made.delete()
    assert made.look().phase == "absent"
    assert len(made.cloud.journal(made.kind.deletes, made.account.account_id, effective=True)) == 1
    called = {(call["service"], call["operation"]) for call in made.cloud.journal("", made.account.account_id)}
    # Its owner's own calls to let us in are not ours.
    assert called - {(row.service, row.operation) for row in ROWS} <= {("iam", "CreateRole"), ("iam", "PutRolePolicy")}


@pytest.mark.parametrize("bench", ["stack"], indirect=True)  # HyperPod's own come with Kubernetes only: below
def test_events_keep_their_keys_and_are_told_once(bench):
    bench.create()
    bench.until("ready")
    events = bench.look().events
    assert events and len({event.key for event in events}) == len(events)
    assert [event.at for event in events] == sorted(event.at for event in events)
    assert [event.key for event in bench.look().events] == [event.key for event in events]
    known = dataclasses.replace(bench.known(), body={"seen": events[-3].key})
    assert [event.key for event in bench.adapter.look(bench.account, known).events] == [
        event.key for event in events[-2:]
    ]


@pytest.fixture
def slurm_cluster(cloud: Sandbox) -> Bench:
    number = str(next(_numbers))
    names = {"base": f"cohort-{number}-base", "cluster": f"cohort-{number}"}
    bench = Bench(cloud, let_in(cloud, number, REGION), KINDS["stack"], names, {})
    bench.create()
    bench.outputs["base"] = dict(bench.until("ready").outputs)
    return dataclasses.replace(bench, kind=KINDS["hyperpod"])


def test_the_nodes_of_a_cluster_come_one_by_one_and_end_up_running(slurm_cluster):
    slurm_cluster.create()
    seen = slurm_cluster.until("ready")
    assert sorted((node.group, node.instance_type, node.status) for node in seen.nodes) == [
        ("head", "m5.4xlarge", "Running"),
        ("workers", "m5.8xlarge", "Running"),
    ]
    assert all(node.instance_id.startswith("i-") for node in seen.nodes)


def test_a_failed_node_is_told_with_its_reason_and_another_takes_its_seat(slurm_cluster):
    slurm_cluster.create()
    before = slurm_cluster.until("ready")
    worker = next(node for node in before.nodes if node.group == "workers")
    number = slurm_cluster.account.account_id
    slurm_cluster.cloud.fault("node_failure", service="sagemaker", account=number, match=worker.instance_id)
    failed = next(node for node in slurm_cluster.look().nodes if node.instance_id == worker.instance_id)
    assert failed.status == "Failure" and failed.message
    for _ in range(30):
        workers = [node for node in slurm_cluster.look().nodes if node.group == "workers"]
        if [node.status for node in workers] == ["Running"] and workers[0].instance_id != worker.instance_id:
            return
        slurm_cluster.cloud.later(4)
    raise AssertionError(workers)


def test_a_cluster_without_its_quota_is_refused_with_the_numbers(slurm_cluster):
    error = raised(lambda: slurm_cluster.create(slurm_cluster.part(workers=9)))
    assert (error.kind, error.code) == ("refused", "ResourceLimitExceeded")
    assert "9" in error.message
    assert slurm_cluster.look().phase == "absent"


def test_a_kubernetes_cluster_comes_up_part_by_part_and_reports_its_events_once(cloud):
    told = {
        "architecture": "hyperpod-eks",
        "region": "us-east-2",
        "az_id": "use2-az3",
        "instance_groups": [{"name": "workers", "instance_type": "m5.8xlarge", "count": 2}],
    }
    wish, number = read_configuration(told), str(next(_numbers))
    account = let_in(cloud, number, "us-east-2")
    names = {role: f"cohort-{number}-{role}" for role in ("base", "eks", "cluster")}
    outputs: dict[str, dict[str, str]] = {}
    for spec in parts(wish.made_of(), wish):
        body = spec.body(Wiring(number, account.role_arn, names, outputs))
        part = Part(spec.kind, names[spec.role], f"create-{spec.role}", TAGS, body)
        adapter(spec.kind).create(account, part)
        for _ in range(40):
            seen = adapter(spec.kind).look(account, dataclasses.replace(part, body={}))
            if seen.phase != "busy":
                break
            cloud.later(4)
        assert seen.phase == "ready", (spec.role, seen)
        outputs[spec.role] = dict(seen.outputs)
    assert [node.status for node in seen.nodes] == ["Running", "Running"]
    assert seen.events and len({event.key for event in seen.events}) == len(seen.events)
    known = Part("hyperpod", names["cluster"], "t", TAGS, {"seen": seen.events[-2].key})
    assert [event.key for event in adapter("hyperpod").look(account, known).events] == [seen.events[-1].key]
