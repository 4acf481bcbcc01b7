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

from tests.asking import Cloud
from tests.tree import RunningTree

pytestmark = [pytest.mark.tree, pytest.mark.pcluster]

EACH = int(os.environ.get("COHORT_KILLS") or 2)  # deaths while it is made, while it grows, and while it goes
LONGEST = 600.0
NAME = "ember-code"

ASK = """
from django.utils import timezone
from program.demo import accounts, directory, launches, programme_file, record
told = programme_file.read()
told = {**told, "participants": [row for row in told["participants"] if row["slug"] == "emberquill"]}
told["participants"][0]["clusters"][0]["instance_groups"][1]["count"] = 6  # two fewer than it may have, to grow by them
shift = programme_file.shift(told, timezone.now())
who = directory.load(told, shift)
record.load(told, shift, who)
launches.load(told, who, accounts.load(told, who), print)
"""
SHOW = """
from clusters.models import Cluster
from tenants.wall.acting import reading_everyone
with reading_everyone():
    print(*("%s %s %s" % (c.state, c.applied, c.nodes_running) for c in Cluster.objects.all()))
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


def running() -> list[int]:
    """Every living process of ParallelCluster for this test's cluster, by its words."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
            state, _, _, session, *_ = (process / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        mine = any(word.startswith(NAME.encode()) for word in words) and b"--cluster-name" in words
        # Whatever it is about to start carries its words for a moment too, but is not the first of its session.
        if mine and state != "Z" and session == process.name:
            found.append(int(process.name))
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

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.most, self.seen, self.homes, self.over = 0, set[int](), set[bytes](), threading.Event()

    def run(self) -> None:
        while not self.over.wait(0.02):
            now = running()
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

    def __init__(self, tree: RunningTree, chance: random.Random) -> None:
        self.tree, self.chance, self.done = tree, chance, Counter[str]()
        self.ways: dict[str, Callable[[], bool]] = {
            "program": lambda: kill_all(running()),
            "worker": lambda: kill(tree.pid("worker-slow")),
            "pool child": self._pool_child,
            "broker": lambda: kill(tree.pid("valkey")),
        }

    def _pool_child(self) -> bool:
        pid = self.tree.pid("worker-slow")
        children = Path(f"/proc/{pid}/task/{pid}/children")
        pids = [int(word) for word in children.read_text().split()] if children.exists() else []
        return kill_all(pids)

    def during(self, what: str, longest: float, over: Callable[[], bool]) -> None:
        """EACH deaths, unless it is over before. Who comes too late comes earlier the next time."""
        for way in self.chance.choices(list(self.ways), k=EACH):
            patience, end = longest, time.monotonic() + LONGEST
            while True:
                while not running():
                    if over():
                        return
                    assert time.monotonic() < end, f"no program ran while it was to be {what}"
                    time.sleep(0.05)
                time.sleep(self.chance.uniform(0.0, patience))
                if running():
                    break
                patience /= 2
            self.ways[way]()
            self.done[what] += 1
            print(f"killed while {what}: {way}")


@pytest.fixture
def tree(tmp_path: Path) -> Iterator[RunningTree]:
    settings = {"LEASE_SECONDS": "10", "BELL_SECONDS": "1", "SANDBOX_SPEED": "60", "CONSISTENCY_SECONDS": "5"}
    settings["PCLUSTER_LOCK"] = str(tmp_path / "pcluster.lock")
    started = RunningTree(tmp_path / "var", None, "--restart", **settings)
    try:
        yield started.wait_until_ready(120)
    finally:
        started.stop()


def test_whatever_dies_there_is_one_stack_one_program_at_a_time_and_none_is_left(tree: RunningTree) -> None:
    seed = int(os.environ.get("COHORT_SEED") or random.randrange(10**6))
    print(f"COHORT_SEED={seed}")
    cloud, reaper, watch = Cloud(tree), Reaper(tree, random.Random(seed)), Watch()
    # Death between a call and its answer is what matters most, so what makes and changes stacks takes its time.
    slow = [{"fault": "slow", "operation": name, "seconds": 3, "times": 9} for name in ("CreateStack", "UpdateStack")]
    cloud.post("faults", slow)
    watch.start()
    tree.manage("shell", "-c", ASK, seconds=120)
    for what, wish, longest, wanted in (
        ("made", "", 8.0, "ready 1 7"),
        ("grown", GROW, 6.0, "ready 2 9"),
        ("removed", RETIRE, 2.0, "deleted"),
    ):
        if wish:
            tree.manage("shell", "-c", wish)

        def over(wanted: str = wanted) -> bool:
            return wanted in tree.manage("shell", "-c", SHOW)

        reaper.during(what, longest, over)
        end = time.monotonic() + LONGEST
        while not over():
            assert time.monotonic() < end, (what, tree.manage("shell", "-c", SHOW), tree.manage("due"))
            time.sleep(1)
    watch.over.set()
    watch.join()
    print(f"{sum(reaper.done.values())} deaths: {dict(reaper.done)}; {len(watch.seen)} programs")
    assert sum(reaper.done.values()) >= EACH
    made = Counter(name for operation, _, _, name in cloud.created() if operation == "CreateStack")
    assert set(made.values()) == {1}, made
    assert sum(name.startswith(f"{NAME}-") and "-base-" not in name for name in made) == 1
    assert watch.most == 1
    assert watch.homes and left_over(watch.homes) == []
    assert "stuck:" not in tree.manage("due")
