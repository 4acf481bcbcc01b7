"""The reporter in real processes of its own: offline, killed, refused; it never disturbs the training that carries it."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest

from clusters import reports
from clusters.reporter import cohort
from clusters.reporter.cohort import Run
from tenants.web.problems import Refused

FOLDER = Path(__file__).resolve().parents[2] / "clusters" / "reporter"


class Portal:
    """Answers with `status`, and keeps what it took."""

    def __init__(self, port=0, status=200):
        taken, portal = [], self
        self.taken, self.status, self.messages = taken, status, 0

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                portal.messages += 1
                if portal.status == 200 and self.headers["Authorization"] == "Bearer t0ken":
                    taken.extend(body["reports"])
                self.send_response(portal.status)
                self.end_headers()

            def log_message(self, *_args):
                return

        self.server = HTTPServer(("127.0.0.1", port), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/t/x/jobs/1/reports/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def steps(self):
        return [report["step"] for report in self.taken if report["kind"] == "point"]

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def portal():
    running = Portal()
    yield running
    running.close()


def environment(url, spool, **more):
    return {**os.environ, "PYTHONPATH": str(FOLDER), "COHORT_RUN_URL": url, "COHORT_RUN_TOKEN": "t0ken",
            "COHORT_RUN_SPOOL": str(spool), **more}  # fmt: skip


def train(code, env, **kept):
    return subprocess.Popen(
        [sys.executable, "-c", "from cohort import run\n" + textwrap.dedent(code)],
        env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **kept,
    )  # fmt: skip


def test_what_was_reported_offline_by_a_process_that_was_killed_is_sent_by_the_next(portal, tmp_path):
    gone = Portal()
    gone.close()  # nobody listens there
    offline = environment(gone.url, tmp_path)
    first = train(
        """
        import time
        for step in range(1, 4):
            run.log(step, loss=float("nan") if step == 2 else 2.0, tokens_per_second=1e6)
        run.saved(3, "/fsx/3")
        print("trained", flush=True)
        time.sleep(60)
        """,
        offline,
    )
    assert first.stdout.readline() == "trained\n"
    os.kill(first.pid, signal.SIGKILL)
    first.wait()
    (spool,) = tmp_path.iterdir()
    spool.write_bytes(spool.read_bytes() + b'{"kind": "point", "st')  # and a line that the kill cut off
    # The portal is back, at the same address as far as the file's name goes.
    spool.rename(tmp_path / Run(environment(portal.url, tmp_path))._spool.name)
    second = train(
        "run.log(4, loss=2.0)\nprint(run.flush(20))", environment(portal.url, tmp_path, SLURM_RESTART_COUNT="1")
    )
    out, err = second.communicate(timeout=40)
    assert (second.returncode, out, err) == (0, "True\n", "")
    assert portal.steps() == [1, 2, 3, 4]
    assert [report["loss"] for report in portal.taken if report["kind"] == "point"] == [2.0, "nan", 2.0, 2.0]
    assert [report["path"] for report in portal.taken if report["kind"] == "saved"] == ["/fsx/3"]


@pytest.mark.parametrize("status", [401, 404, 410])
def test_a_door_that_does_not_open_is_left_alone(tmp_path, status):
    portal = Portal(status=status)
    try:
        run = Run(environment(portal.url, tmp_path))
        run.log(1, loss=1.0)
        assert run.flush(10)
        asked = portal.messages
        run.log(2, loss=1.0)
        time.sleep(0.3)
        assert portal.messages == asked and not run.on
    finally:
        portal.close()


@pytest.mark.parametrize("trouble", ["no_portal", "no_disk", "no_variables", "bad_address", "odd_values"])
def test_training_goes_on_whatever_is_wrong(tmp_path, trouble):
    env = environment("http://127.0.0.1:1/", tmp_path)
    if trouble == "no_disk":
        (tmp_path / "file").write_text("")
        env["COHORT_RUN_SPOOL"] = str(tmp_path / "file")
    if trouble == "no_variables":
        env = {name: value for name, value in env.items() if not name.startswith("COHORT")}
    if trouble == "bad_address":
        env["COHORT_RUN_URL"] = "gopher://x y"
    code = """
    import time
    began = time.monotonic()
    for step in range(2000):
        run.log(step, loss=object() if step == 5 else 1.0)
    run.saved(step, None)
    run.alive()
    print("done", time.monotonic() - began < 5)
    """
    out, err = train(code, env).communicate(timeout=30)
    assert (out, err) == ("done True\n", "")


def test_only_the_first_rank_tells_steps(portal, tmp_path):
    run = Run(environment(portal.url, tmp_path, RANK="3", WORLD_SIZE="8", LOCAL_RANK="0"))
    run.log(1, loss=1.0)
    run.saved(1)
    run.alive("here")
    assert run.flush(10)
    assert [(report["kind"], report["rank"], report["world"]) for report in portal.taken] == [("alive", 3, 8)]


def test_a_spool_does_not_grow_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr("clusters.reporter.cohort.SPOOL_BYTES", 5000)
    run = Run(environment("http://127.0.0.1:1/", tmp_path))
    for step in range(500):
        run.log(step, loss=1.0)
    (spool,) = tmp_path.iterdir()
    lines = [json.loads(line) for line in spool.read_text().splitlines() if line]
    assert spool.stat().st_size <= 5000 and lines[-1]["step"] == 499


def test_it_needs_nothing_but_the_standard_library():
    done = subprocess.run(
        [sys.executable, "-S", "-I", "-c", f"import sys; sys.path.insert(0, {str(FOLDER)!r}); import cohort; cohort.run.log(1)"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("tool", "busy"),
    [("echo 3; echo 97; echo 12", 97.0), ("echo '[N/A]'", None), ("exit 9", None), (None, None), ("true", None)],
)
def test_how_busy_a_node_is_comes_from_its_own_tool_or_is_not_told(tmp_path, monkeypatch, tool, busy):
    if tool:
        (tmp_path / "nvidia-smi").write_text(f"#!/bin/sh\n{tool}\n")
        (tmp_path / "nvidia-smi").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert cohort._busy() == busy


def test_it_tells_once_which_software_this_is_and_the_portal_reads_it(portal, tmp_path, monkeypatch):
    monkeypatch.setitem(
        sys.modules, "torch", SimpleNamespace(__version__="2.5.1", version=SimpleNamespace(cuda="12.4"))
    )
    run = Run(environment(portal.url, tmp_path))
    run.log(step=1, loss=2.0)
    run.log(step=2, loss=1.9)
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and not any(report["kind"] == "software" for report in portal.taken):
        run.flush(1)
    (told,) = [report for report in portal.taken if report["kind"] == "software"]
    assert told["versions"]["torch"] == "2.5.1" and told["versions"]["cuda"] == "12.4" and told["versions"]["python"]
    (read,) = reports.read(json.dumps({"reports": [told]}).encode())
    assert dict(read.versions) == told["versions"] and read.step == -1


@pytest.mark.parametrize("versions", [None, [], {"a b": "1"}, {"torch": 2}, {f"c{n}": "1" for n in range(41)}])
def test_versions_that_are_none_are_refused_by_their_field(versions):
    report = {"kind": "software", "at": 1_800_000_000, "versions": versions}
    with pytest.raises(Refused) as refused:
        reports.read(json.dumps({"reports": [report]}).encode())
    assert refused.value.facts["field"].startswith("reports[0].versions")
