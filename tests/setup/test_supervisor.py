"""The process tree in the small: order, ends, restarts, and nobody left behind."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from program.devstack.supervisor import Ended, Process, Stopped, Tree

SLEEP = [sys.executable, "-c", "import time; time.sleep(60)"]
STUBBORN = """
import signal, sys, time
for number in (signal.SIGTERM, signal.SIGINT):
    signal.signal(number, lambda n, f: print("no,", n, flush=True))
print("up", flush=True)
while True: time.sleep(1)
"""


@pytest.fixture
def tree(tmp_path: Path) -> Iterator[Tree]:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    made = Tree(tmp_path)
    yield made
    made.stop()
    for number, handler in before.items():
        signal.signal(number, handler)


def wrote(path: Path, words: str) -> bool:
    return path.exists() and words in path.read_text()


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def wait_until_gone(*pids: int) -> None:
    end = time.monotonic() + 5
    while not all(gone(pid) for pid in pids):
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_process_that_ends_is_told_with_its_last_words(tree: Tree) -> None:
    code = "import sys; print('the port is taken'); sys.exit(3)"
    with pytest.raises(Ended, match=r"web ended with code 3(.|\n)*the port is taken"):
        tree.start(Process("web", [sys.executable, "-c", code], ready=lambda: False))


def test_a_process_that_is_killed_is_told_by_the_signal(tree: Tree) -> None:
    member = Process("worker", SLEEP)
    tree.start(member)
    assert member.child is not None
    member.child.kill()
    with pytest.raises(Ended, match="worker was ended by SIGKILL"):
        tree.watch()


def test_a_process_may_be_started_again(tree: Tree, capsys: pytest.CaptureFixture[str]) -> None:
    member = Process("worker", SLEEP, restarts=True)
    tree.start(member)
    assert member.child is not None
    first = member.child.pid
    member.child.kill()
    member.child.wait()
    tree.wait_for(member)
    assert member.child.pid != first
    assert member.alive()
    assert "starting it again" in capsys.readouterr().out


def test_a_stubborn_process_is_killed_after_its_goodbyes(tree: Tree, tmp_path: Path) -> None:
    log = tmp_path / "stubborn.log"
    member = Process(
        "stubborn",
        [sys.executable, "-c", STUBBORN],
        ready=lambda: wrote(log, "up"),
        goodbyes=(signal.SIGTERM, signal.SIGINT),
        patience=0.3,
    )
    tree.start(member)
    began = time.monotonic()
    tree.stop()
    assert not member.alive()
    assert time.monotonic() - began < 3
    assert log.read_text().split() == ["up", "no,", "15", "no,", "2"]


def test_groups_end_in_reverse_order(tree: Tree, tmp_path: Path) -> None:
    note = tmp_path / "note"
    code = "import signal, sys, time\ndef bye(*_):\n open({note!r}, 'a').write({name!r} + ' ')\n sys.exit()\nsignal.signal(signal.SIGTERM, bye)\nprint('up', flush=True)\ntime.sleep(60)"

    def member(name: str) -> Process:
        words = [sys.executable, "-c", code.format(note=str(note), name=name)]
        return Process(name, words, ready=lambda: wrote(tmp_path / f"{name}.log", "up"))

    tree.start(member("database"))
    tree.start(member("broker"))
    tree.start(member("web"))
    tree.stop()
    assert note.read_text().split() == ["web", "broker", "database"]


def test_children_of_a_process_end_with_it(tree: Tree, tmp_path: Path) -> None:
    code = "import subprocess, sys, time\nc = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\nprint(c.pid, flush=True)\ntime.sleep(60)"
    tree.start(Process("pool", [sys.executable, "-c", code], ready=lambda: wrote(tmp_path / "pool.log", "\n")))
    grandchild = int((tmp_path / "pool.log").read_text())
    tree.stop()
    wait_until_gone(grandchild)


def test_a_signal_during_the_start_is_not_lost(tree: Tree) -> None:
    slow = Process("slow", SLEEP, ready=lambda: bool(os.kill(os.getpid(), signal.SIGINT)))
    with pytest.raises(Stopped):
        tree.start(slow)


def test_a_program_beside_the_tree_is_run_to_its_end(tree: Tree, capsys: pytest.CaptureFixture[str]) -> None:
    code = "print('one'); print('two'); raise SystemExit(4)"
    assert tree.run("demo", [sys.executable, "-c", code], shown=True) == 4
    assert capsys.readouterr().out == "cohort |   one\ncohort |   two\n"


def test_when_the_supervisor_is_killed_its_children_end_by_themselves(tmp_path: Path) -> None:
    code = textwrap.dedent(f"""
        import sys, time
        from pathlib import Path
        from program.devstack.supervisor import Process, Tree
        tree = Tree(Path({str(tmp_path)!r}))
        tree.start(Process("one", {SLEEP!r}), Process("two", {SLEEP!r}))
        print("up", flush=True)
        time.sleep(60)
    """)
    supervisor = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, cwd=Path(__file__).parents[2])
    assert supervisor.stdout is not None
    assert supervisor.stdout.readline() == b"up\n"
    children = [int((tmp_path / f"{name}.pid").read_text()) for name in ("one", "two")]
    assert not any(gone(child) for child in children)
    supervisor.kill()
    supervisor.wait()
    wait_until_gone(*children)
