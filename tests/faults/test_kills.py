"""One launch of eight clusters during which everything that may die dies, again and again, at random moments."""

from __future__ import annotations

import os
import random
import signal
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from program.demo import launches, programme_file
from program.devstack import environment
from tests.asking import Cloud
from tests.tree import RunningTree

pytestmark = pytest.mark.tree

EACH = 5
PAUSE = (0.2, 3.0)  # seconds between one death and the next
FROZEN = (1.0, 4.0)
CLUSTERS = {cluster["name"]: row for row, cluster in launches.launchable(programme_file.read())}
CREATES = ("CreateStack", "CreateCluster")
WORKERS = ("worker-engine", "worker-slow")


def _children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return  # it is just being started again: a death all the same


class Reaper:
    """Kills one thing at a time; says what and when, so that a failure can be read."""

    def __init__(self, tree: RunningTree, chance: random.Random) -> None:
        self.tree, self.chance, self.done = tree, chance, Counter[str]()
        self.ways: dict[str, Callable[[], object]] = {
            "worker": lambda: _kill(tree.pid(chance.choice(WORKERS))),
            "pool child": self._pool_child,
            "beat": lambda: _kill(tree.pid("beat")),
            "broker flushed": self._flush,
            "broker stopped": lambda: _kill(tree.pid("valkey")),
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

    def _pool_child(self) -> None:
        """A child that works, when there is one: those of the engine come first."""
        deadline = time.monotonic() + 15
        while time.monotonic() < deadline:
            try:
                children = _children(self.tree.pid("worker-engine"))
            except FileNotFoundError:
                children = []
            if children:
                return _kill(self.chance.choice(children))
            time.sleep(0.2)
        raise AssertionError("the worker has no children")

    def _flush(self) -> None:
        """FLUSHALL, as soon as the broker is there to be flushed."""
        path = str(environment.sockets(self.tree.var) / "valkey.sock")
        deadline = time.monotonic() + 15
        while True:
            try:
                with socket.socket(socket.AF_UNIX) as line:
                    line.settimeout(2)
                    line.connect(path)
                    line.sendall(b"FLUSHALL\r\n")
                    assert line.recv(16).startswith(b"+OK")
                    return
            except OSError:
                assert time.monotonic() < deadline, "the broker did not come back"
                time.sleep(0.2)

    def _freeze(self) -> None:
        pid = self.tree.pid("valkey")
        try:
            os.kill(pid, signal.SIGSTOP)
            time.sleep(self.chance.uniform(*FROZEN))
            os.kill(pid, signal.SIGCONT)
        except ProcessLookupError:
            self._freeze()


@pytest.fixture
def tree(tmp_path: Path) -> Iterator[RunningTree]:
    settings = {"LEASE_SECONDS": "10", "BELL_SECONDS": "1", "SANDBOX_SPEED": "60", "CONSISTENCY_SECONDS": "5"}
    running = RunningTree(tmp_path / "var", None, "--restart", **settings)
    try:
        yield running.wait_until_ready(120)
    finally:
        running.stop()


def test_whatever_dies_during_a_launch_nothing_is_made_twice_and_all_is_ready(tree: RunningTree) -> None:
    seed = int(os.environ.get("COHORT_SEED") or random.randrange(10**6))
    print(f"COHORT_SEED={seed}")
    # Death between a call and its answer is what matters most, so what creates takes its time.
    Cloud(tree).post("faults", [{"fault": "slow", "operation": name, "seconds": 3, "times": 30} for name in CREATES])
    tree.manage("demo", seconds=180)
    cloud, reaper = Cloud(tree), Reaper(tree, random.Random(seed))
    reaper.run()
    still_at_it = "ready" not in tree.manage("shell", "-c", STATES)
    cloud.post("speed", {"speed": 1200})
    tree.manage("demo", "--wait", "--timeout", "240", seconds=300)
    assert min(reaper.done.values()) >= EACH
    assert still_at_it, "the launch was over before the last death: slow the cloud down"
    made = Counter((operation, account, name) for operation, account, _, name in cloud.created())
    assert set(made.values()) == {1}, [call for call, times in made.items() if times > 1]
    accounts = Counter(row["provider_account"] for row in CLUSTERS.values())
    assert Counter(account for operation, account, _ in made if operation == "CreateCluster") == accounts
    assert sum(operation == "CreateStack" for operation, _, _ in made) == 10
    assert "stuck:" not in tree.manage("due")
    tree.manage("verify")


STATES = """
from clusters.models import Cluster
from tenants.wall.acting import reading_everyone
with reading_everyone():
    print(*Cluster.objects.values_list("state", flat=True))
"""
