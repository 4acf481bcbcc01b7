"""One launch of eight clusters during which everything that may die dies, again and again, at random moments."""

from __future__ import annotations

import os
import random
import re
import signal
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from program.demo import launches
from program.devstack import environment
from program.transfer import programme_file
from tests import programmes
from tests.asking import Cloud
from tests.tree import RunningTree

pytestmark = pytest.mark.tree

EACH = 5
PAUSE = (0.2, 1.5)  # seconds between one death and the next
FROZEN = (0.5, 2.5)
# Those that ParallelCluster's program makes have deaths of their own: test_pcluster_kills.
CLUSTERS = {
    cluster["name"]: row
    for row, cluster in launches.launchable(programme_file.read())
    if cluster["orchestrator"].startswith("hyperpod")
}
CREATES = ("CreateStack", "CreateCluster")
CALL = 4.0  # seconds that a call takes which creates something
WORKERS = ("worker-engine", "worker-slow")


def _until(what: str, act: Callable[[], bool], seconds: float = 60) -> None:
    """Try until it works: what is to die may be just being started again."""
    end = time.monotonic() + seconds
    while not act():
        assert time.monotonic() < end, f"{what} did not come back"
        time.sleep(0.1)


def _signal(pid: int, what: int) -> bool:
    try:
        os.kill(pid, what)
    except ProcessLookupError:
        return False
    return True


class Reaper:
    """Kills one thing at a time; says what and when, so that a failure can be read."""

    def __init__(self, tree: RunningTree, cloud: Cloud, chance: random.Random) -> None:
        self.tree, self.cloud, self.chance, self.done = tree, cloud, chance, Counter[str]()
        self.ways: dict[str, Callable[[], None]] = {
            "worker": self._kill_a_worker,
            "pool child": self._kill_a_child,
            "beat": lambda: self._kill("beat"),
            "broker flushed": lambda: _until("the broker", self._flush),
            "broker stopped": lambda: self._kill("valkey"),
            "broker frozen": self._freeze,
        }

    def run(self) -> None:
        """Every way EACH times, in an order drawn by chance."""
        todo = [way for way in self.ways for _ in range(EACH)]
        self.chance.shuffle(todo)
        began = time.monotonic()
        for way in todo:
            time.sleep(self.chance.uniform(*PAUSE))
            self.ways[way]()
            self.done[way] += 1
            print(f"{time.monotonic() - began:6.1f} s  {way}")

    def _kill(self, name: str) -> None:
        _until(name, lambda: _signal(self.tree.pid(name), signal.SIGKILL))

    def _kill_a_worker(self) -> None:
        self._while_something_is_created()
        self._kill(self.chance.choice(WORKERS))

    def _kill_a_child(self) -> None:
        self._while_something_is_created()
        _until("a pool child", self._killed_a_child)

    def _while_something_is_created(self) -> None:
        """A random moment of a call that creates, if one begins soon: between a call and its answer is the worst one."""
        before, end = self.cloud.slow_calls_left(), time.monotonic() + CALL
        while time.monotonic() < end and self.cloud.slow_calls_left() == before:
            time.sleep(0.1)
        time.sleep(self.chance.uniform(0, CALL * 0.8))

    def _killed_a_child(self) -> bool:
        pid = self.tree.pid("worker-engine")
        children = Path(f"/proc/{pid}/task/{pid}/children")
        pids = [int(word) for word in children.read_text().split()] if children.exists() else []
        return bool(pids) and _signal(self.chance.choice(pids), signal.SIGKILL)

    def _flush(self) -> bool:
        try:
            with socket.socket(socket.AF_UNIX) as line:
                line.settimeout(2)
                line.connect(str(environment.sockets(self.tree.var) / "valkey.sock"))
                line.sendall(b"FLUSHALL\r\n")
                return line.recv(16).startswith(b"+OK")
        except OSError:
            return False

    def _freeze(self) -> None:
        _until("the broker", lambda: _signal(self.tree.pid("valkey"), signal.SIGSTOP))
        time.sleep(self.chance.uniform(*FROZEN))
        _signal(self.tree.pid("valkey"), signal.SIGCONT)


@pytest.fixture
def tree(tmp_path: Path) -> Iterator[RunningTree]:
    settings = {"LEASE_SECONDS": "10", "BELL_SECONDS": "1", "SANDBOX_SPEED": "15", "CONSISTENCY_SECONDS": "5"}
    running = RunningTree(tmp_path / "var", None, "--restart", **settings)
    try:
        yield running.wait_until_ready(120)
    finally:
        running.stop()


def test_whatever_dies_during_a_launch_nothing_is_made_twice_and_all_is_ready(tree: RunningTree) -> None:
    seed = int(os.environ.get("COHORT_SEED") or random.randrange(10**6))
    print(f"COHORT_SEED={seed}")
    # Death between a call and its answer is what matters most, so what creates takes its time.
    Cloud(tree).post(
        "faults", [{"fault": "slow", "operation": name, "seconds": CALL, "times": 200} for name in CREATES]
    )
    programme = str(programmes.only(CLUSTERS, tree.var.parent))
    tree.manage("demo", "--file", programme, seconds=180)
    cloud, reaper = Cloud(tree), Reaper(tree, Cloud(tree), random.Random(seed))
    reaper.run()
    still_at_it = "creating" in tree.manage("shell", "-c", STATES)
    cloud.heal()
    cloud.post("speed", {"speed": 1200})
    tree.manage("demo", "--file", programme, "--wait", "--timeout", "600", seconds=700)
    assert min(reaper.done.values()) >= EACH
    assert still_at_it, "the launch was over before the last death: slow the cloud down"
    made = Counter((operation, account, name) for operation, account, _, name in cloud.created())
    assert set(made.values()) == {1}, [call for call, times in made.items() if times > 1]
    bare = [(account, re.sub(r"-[a-z0-9]{10}$", "", name)) for _, account, name in made]
    assert sorted(pair for pair in bare if pair[1] in CLUSTERS) == sorted(
        (row["provider_account"], name) for name, row in CLUSTERS.items()
    )
    eks = sum(cluster["orchestrator"] == "hyperpod-eks" for row in CLUSTERS.values() for cluster in row["clusters"])
    assert len(bare) == 2 * len(CLUSTERS) + eks, "each has a base stack and itself, on EKS another stack"
    assert "stuck:" not in tree.manage("due")
    tree.manage("verify")


STATES = """
from clusters.models import Cluster
from tenants.wall.acting import reading_everyone
with reading_everyone():
    print(*Cluster.objects.values_list("state", flat=True))
"""
