"""A ParallelCluster is made, grown and removed while its program, its worker and all around them are killed at random."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.asking import Cloud, Portal
from tests.tree import RunningTree

pytestmark = [pytest.mark.tree, pytest.mark.pcluster]

# What dies while it is made, while it grows and while it goes; in an order drawn by chance. The program each time, since
# its death is the one that nothing else in this suite brings.
DEATHS = {
    "made": ("program", "worker", "broker"),
    "grown": ("program", "program", "pool child"),
    "removed": ("program", "worker", "pool child"),
}
LONGEST = 600.0
CALL = 3.0  # seconds that a call takes which makes, changes or removes a stack
CALLS = ("CreateStack", "UpdateStack", "DeleteStack")
MANAGER = "hana.pm@nfmp.example"
NAME = "ember-code"
BEGAN = time.monotonic()

ASK = """
from django.utils import timezone
from program.demo import accounts, launches
from program.transfer import directory, programme_file, record
told = programme_file.read()
told = {**told, "participants": [row for row in told["participants"] if row["slug"] == "emberquill"]}
told["participants"][0]["clusters"][0]["instance_groups"][1]["count"] = 6  # two fewer than it may have, to grow by them
shift = programme_file.shift(told, timezone.now())
who = directory.load(told, shift)
record.load(told, shift, who)
launches.load(told, who, accounts.load(told, who), print)
"""
GROW = """
from clusters.engine import turns
from clusters.models import Cluster, Revision
from tenants.models import Tenant
from tenants.wall.acting import acting_for
tenant = Tenant.objects.get(slug="emberquill")
with acting_for(tenant, staff=True):
    cluster = Cluster.objects.select_related("account").get()
    body = Revision.objects.get(cluster=cluster).body
    body["instance_groups"][1]["count"] = 8
    Revision.objects.create(tenant_id=tenant.pk, cluster=cluster, number=2, body=body, author="engine")
    Cluster.objects.filter(pk=cluster.pk).update(generation=2, nodes_wanted=9)
    turns.wish(cluster)
"""
RETIRE = """
from clusters import actions
from clusters.models import Cluster
from tenants.models import Tenant
from tenants.wall.acting import acting_for
with acting_for(Tenant.objects.get(slug="emberquill"), staff=True):
    actions.retire_cluster(cluster=Cluster.objects.get(), by="engine", why="it was enough")
"""


def running(cloud: str) -> list[int]:
    """Every living process of ParallelCluster that works on this test's cloud, which others beside us have not."""
    ours = f"AWS_ENDPOINT_URL={cloud}".encode()
    found = []
    for process in os.listdir("/proc"):
        if not process.isdigit():
            continue
        try:
            words = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
            if b"--cluster-name" not in words or not any(word.startswith(NAME.encode()) for word in words):
                continue
            if ours not in Path(f"/proc/{process}/environ").read_bytes().split(b"\0"):
                continue
            state, _, _, session, *_ = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        # Whatever it is about to start carries its words for a moment too, but is not the first of its session.
        if state != "Z" and session == process:
            found.append(int(process))
    return found


def left_over(homes: set[bytes]) -> list[str]:
    """Living processes in the scratch homes of programs that were seen: they themselves and what they started."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            environment = set((process / "environ").read_bytes().split(b"\0"))
        except OSError:
            continue
        if environment & homes:
            found.append(process.name)
    return found


class Watch(threading.Thread):
    """Looks all the time how many programs there are for the cluster at once."""

    def __init__(self, cloud: str) -> None:
        super().__init__(daemon=True)
        self.cloud = cloud
        self.most, self.seen, self.homes, self.over = 0, set[int](), set[bytes](), threading.Event()

    def run(self) -> None:
        while not self.over.wait(0.15):
            now = running(self.cloud)
            self.most = max(self.most, len(now))
            for pid in set(now) - self.seen:
                self._remember(pid)
            self.seen.update(now)

    def _remember(self, pid: int) -> None:
        try:
            environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except OSError:
            return
        self.homes.update(each for each in environment if each.startswith(b"HOME=") and b"/cohort-pcluster-" in each)


def kill(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def kill_all(pids: list[int]) -> bool:
    """Whether any of them was still there; none is spared because another was."""
    return sum(kill(pid) for pid in pids) > 0


class Reaper:
    """Waits until a program runs, and a random while longer, and then kills something."""

    def __init__(self, tree: RunningTree, cloud: Cloud, chance: random.Random) -> None:
        self.tree, self.cloud, self.chance, self.done = tree, cloud, chance, Counter[tuple[str, str]]()
        self.ways: dict[str, Callable[[], bool]] = {
            "program": lambda: kill_all(self.running()),
            "worker": lambda: kill(tree.pid("worker-slow")),
            "pool child": self._pool_child,
            "broker": lambda: kill(tree.pid("valkey")),
        }

    def running(self) -> list[int]:
        return running(self.cloud.url)

    def _pool_child(self) -> bool:
        pid = self.tree.pid("worker-slow")
        children = Path(f"/proc/{pid}/task/{pid}/children")
        pids = [int(word) for word in children.read_text().split()] if children.exists() else []
        return kill_all(pids)

    def during(self, what: str, early: float) -> None:
        """Every death once: all but the last one early, so that the same has to be begun again, and the last one while
        the call is on its way that changes something, or soon after."""
        order = self.chance.sample(DEATHS[what], k=len(DEATHS[what]))
        for turn, way in enumerate(order, start=1):
            calls, last = self.cloud.slow_calls_left(), turn == len(order)
            while True:
                self._wait(what, lambda: bool(self.running()))
                if last:
                    self._wait(what, lambda before=calls: self.cloud.slow_calls_left() < before or not self.running())
                time.sleep(self.chance.uniform(0.0, CALL if last else early))
                if self.running() and self.ways[way]():
                    break
                assert not last or self.cloud.slow_calls_left() == calls, (
                    f"what was {what} was so before the last death"
                )
            self.done[what, way] += 1
            print(f"{time.monotonic() - BEGAN:6.1f} s  killed while {what}: {way}", flush=True)

    def _wait(self, what: str, so: Callable[[], bool]) -> None:
        end = time.monotonic() + LONGEST
        while not so():
            assert time.monotonic() < end, f"no program ran while it was to be {what}: {self.tree.manage('due')}"
            time.sleep(0.15)


@pytest.fixture
def tree(tmp_path: Path) -> Iterator[RunningTree]:
    settings = {"LEASE_SECONDS": "6", "BELL_SECONDS": "1", "SANDBOX_SPEED": "300", "CONSISTENCY_SECONDS": "5"}
    settings["PCLUSTER_LOCK"] = str(tmp_path / "pcluster.lock")
    started = RunningTree(tmp_path / "var", None, "--restart", **settings)
    try:
        yield started.wait_until_ready(120)
    finally:
        started.stop()


def test_whatever_dies_there_is_one_stack_one_program_at_a_time_and_none_is_left(tree: RunningTree) -> None:
    seed = int(os.environ.get("COHORT_SEED") or random.randrange(10**6))
    print(f"COHORT_SEED={seed}")
    cloud = Cloud(tree)
    watch = Watch(cloud.url)
    reaper = Reaper(tree, cloud, random.Random(seed))
    watch.start()
    tree.manage("shell", "-c", ASK, seconds=120)
    portal = Portal(tree, MANAGER)
    # Death between a call and its answer is what matters most, so what makes, changes and removes stacks takes its time.
    slow = {"fault": "slow", "match": f"{NAME}-*", "seconds": CALL, "times": 99}
    cloud.post("faults", [slow | {"operation": name} for name in CALLS])
    for what, wish, early, wanted in (
        ("made", "", 1.5, ("ready", 1, 7)),
        ("grown", GROW, 1.5, ("ready", 2, 9)),
        ("removed", RETIRE, 0.5, ("deleted", 3, 0)),
    ):
        if wish:
            tree.manage("shell", "-c", wish)
        reaper.during(what, early)
        end = time.monotonic() + LONGEST
        while (seen := now(portal)) != wanted:
            assert time.monotonic() < end, (what, seen, tree.manage("due"))
            time.sleep(0.5)
        print(f"{time.monotonic() - BEGAN:6.1f} s  it is {what}", flush=True)
    watch.over.set()
    watch.join()
    print(f"{sum(reaper.done.values())} deaths: {dict(reaper.done)}; {len(watch.seen)} programs")
    assert reaper.done == Counter((what, way) for what, ways in DEATHS.items() for way in ways)
    made = Counter(name for operation, _, _, name in cloud.created() if operation == "CreateStack")
    assert set(made.values()) == {1}, made
    assert sum(name.startswith(f"{NAME}-") and "-base-" not in name for name in made) == 1
    assert watch.most == 1
    assert watch.homes and left_over(watch.homes) == []
    assert "stuck:" not in tree.manage("due")


def now(portal: Portal) -> tuple[str, int, int]:
    """State, applied generation and running nodes; deleted ones are listed only when asked for."""
    [row] = portal.rows("clusters/") or portal.rows("clusters/", state="deleted")
    return row["state"], row["applied"], row["nodes_running"]
