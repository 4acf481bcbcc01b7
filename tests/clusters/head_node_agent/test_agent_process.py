"""The agent as a real process on a head node: each order is done once whatever dies, and what is seen is told whole."""

import http.server
import json
import os
import ssl
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import pytest

from tests.clusters.head_node_agent.conftest import AGENT, TOKEN, Head, Scripted, until

KILLED = Path(__file__).with_name("killed.py")


def test_an_order_becomes_one_job_by_a_list_of_words_and_is_answered(head: Head, portal: Scripted):
    secret = "va'l\"ue $(touch /tmp/never) `x`"
    portal.submit(
        "job-1", partition="train", time_limit_minutes=90, environment={"KEY": secret}, array="0-3%2", held=True,
        after=[["afterok", "12"]], begin_at="2026-12-01T04:00:00", processes_per_node=8, comment="run 42",
    )  # fmt: skip
    head.start()
    answer = until(lambda: portal.answers.get("o-1"))
    assert answer["ok"] and answer["job"] == "1"
    [job] = head.jobs()
    assert job["script"] == "#!/bin/bash\nsrun train\n"
    assert job["environment"]["KEY"] == secret and not any("va'l" in word for word in job["words"])
    assert {
        "--parsable", "--job-name=job-1", "--nodes=2-2", "--ntasks=16", "--ntasks-per-node=8", "--exclusive", "--hold",
        "--partition=train", "--time=90", "--array=0-3%2", "--dependency=afterok:12", "--begin=2026-12-01T04:00:00",
        "--requeue", "--comment=run 42", f"--output={head.logs}/%j.out",
    } <= set(job["words"])  # fmt: skip
    assert portal.heads[0]["Authorization"] == f"Bearer {TOKEN}"
    for path in Path(head.settings["state"]).rglob("*"):
        assert path.is_dir() or "va'l" not in path.read_text()  # a secret is on no disk


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": "a b"},
        {"name": "--wrap=reboot"},
        {"name": "x; reboot"},
        {"partition": "train --uid=0"},
        {"array": "0-3;reboot"},
        {"after": [["afterok", "1 --uid=0"]]},
        {"after": [["singleton", "1"]]},
        {"begin_at": "now; reboot"},
        {"nodes": "2; reboot"},
        {"nodes": None},
        {"script": 7},
    ],
)
def test_what_is_no_word_for_slurm_is_refused_before_any_program_runs(head: Head, portal: Scripted, wrong):
    portal.submit()
    portal.orders[0]["arguments"].update(wrong)
    head.start()
    answer = until(lambda: portal.answers.get("o-1"))
    assert not answer["ok"] and answer["told"]
    assert head.jobs() == []


def test_the_verbs_of_a_job_and_of_a_node(head: Head, portal: Scripted):
    portal.submit()
    head.start()
    until(lambda: portal.answers.get("o-1"))
    portal.order("hold", "o-2", job="1")
    portal.order("release", "o-3", job="1")
    portal.order("requeue", "o-4", job="1")
    portal.order("node", "o-5", node="gpu2", state="down", reason="xid 79; $(reboot)")
    portal.order("cancel", "o-6", job="1")
    portal.order("cancel", "o-7", job="999")  # what is not there needs no cancel
    portal.order("cancel", "o-8", job="1; reboot")
    portal.order("dance", "o-9", job="1")
    until(lambda: len(portal.answers) == 9)
    assert [portal.answers[f"o-{n}"]["ok"] for n in range(2, 10)] == [True] * 6 + [False] * 2
    kept = head.kept()
    assert kept["calls"] == [
        ["scontrol", "hold", "1"],
        ["scontrol", "release", "1"],
        ["scontrol", "requeue", "incomplete", "1"],
        ["scancel", "1"],
    ]
    assert kept["nodes"] == {"gpu1": "IDLE", "gpu2": "DOWN"}


def test_what_slurm_refuses_is_answered_in_its_words_and_what_it_does_not_answer_is_looked_up(
    head: Head, portal: Scripted
):
    portal.submit("job-1", partition="nowhere")
    (head.slurm / "sbatch_says").write_text("never read")
    head.start()
    assert "Invalid partition name" in until(lambda: portal.answers.get("o-1"))["told"]
    (head.slurm / "sbatch_says").write_text(
        "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation"
    )
    portal.submit("job-2", "o-2")
    answer = until(lambda: portal.answers.get("o-2"))
    assert answer["ok"] and answer["found"] and [job["name"] for job in head.jobs()] == ["job-2"]


def test_a_job_of_that_name_that_only_the_accounts_still_know_is_found(head: Head, portal: Scripted):
    (head.slurm / "accounts").touch()
    (head.slurm / "sbatch_is_slow_to_answer").write_text("60")
    head.settings["program_seconds"] = 0.5
    portal.submit()
    head.start()
    until(lambda: head.jobs())
    head.become(1, forgotten=True)
    assert until(lambda: portal.answers.get("o-1"))["job"] == "1"
    assert len(head.jobs()) == 1


def test_killed_at_every_step_it_leaves_exactly_one_job(head: Head, portal: Scripted):
    """Before and after each write of the journal, each program and each question, from the first to the last."""
    points = 0
    for nth in range(1, 200):
        name, identity = f"job-{nth}", f"o-{nth}"
        portal.submit(name, identity)
        portal.order("requeue", f"r-{nth}", job=str(nth))
        process, requeue = head.start_killed(nth), f"r-{nth}"
        until(
            partial(lambda process, requeue: process.poll() is not None or requeue in portal.answers, process, requeue)
        )
        if process.poll() is None:
            # It got through all of them: from here on nothing of these orders is left to be killed in.
            head.stop()
            break
        points += 1
        assert process.returncode == -9
        head.start()
        until(partial(portal.answers.get, requeue))
        head.stop()
        [job] = head.jobs(name)
        assert portal.answers[identity]["job"] == str(job["id"])
        assert job["restarts"] == 1, f"requeued {job['restarts']} times when killed at step {nth}"
    assert points > 25
    assert len({job["name"] for job in head.jobs()}) == len(head.jobs())


def test_a_submission_that_outlives_its_agent_is_waited_for(head: Head, portal: Scripted):
    (head.slurm / "sbatch_waits").write_text("1.5")
    portal.submit()
    head.start()
    until(
        lambda: (
            (Path(head.settings["state"]) / "orders" / "o-1.json").exists()
            and not (head.slurm / "sbatch_waits").exists()
        )
    )
    head.kill()
    assert head.jobs() == []
    head.start()
    assert until(lambda: portal.answers.get("o-1"))["ok"]
    assert len(head.jobs("job-1")) == 1


def test_an_answer_that_is_lost_is_given_again_and_nothing_is_done_again(head: Head, portal: Scripted):
    portal.answers_to_lose = 2
    portal.submit()
    head.start()
    assert until(lambda: portal.answers.get("o-1"))["job"] == "1"
    portal.answers.clear()  # as after a restored backup
    assert until(lambda: portal.answers.get("o-1"))["job"] == "1"
    assert len(head.jobs()) == 1


def test_while_the_portal_is_away_it_waits_and_then_tells_everything(head: Head, portal: Scripted):
    portal.submit()
    head.start()
    until(lambda: portal.answers.get("o-1") and portal.reports)
    portal.status = 503
    (head.logs / "1.out").write_text("step 1\n")
    head.become(1, state="COMPLETED", over="2026-12-01T03:50:00")
    until(lambda: "503" in head.said)
    seen = len(portal.reports)
    portal.status = 200
    report = until(lambda: next((r for r in portal.reports[seen:] if r["logs"]), None))
    assert report["logs"][0]["text"] == "step 1\n"
    assert report["jobs"]["rows"][0]["job_state"] == ["COMPLETED"]


def test_jobs_and_nodes_are_told_in_slurms_words_and_only_when_they_changed(head: Head, portal: Scripted):
    portal.submit()
    head.start()
    until(lambda: portal.answers.get("o-1"))
    head.become(1, state="RUNNING", nodes="gpu[1-2]", began="2026-12-01T03:40:00", over="2026-12-01T04:40:00")
    report = until(
        lambda: next(
            (
                r
                for r in portal.reports
                if r["jobs"] and any(x["job_state"] == ["RUNNING"] for x in r["jobs"]["rows"] or [])
            ),
            None,
        )
    )
    [row] = report["jobs"]["rows"]
    assert (row["job_id"], row["name"], row["nodes"], row["restart_cnt"], row["time_limit"]) == (
        1,
        "job-1",
        "gpu[1-2]",
        0,
        60,
    )
    assert row["start_time"] == 1796096400 and row["tres_alloc_str"] == "cpu=8,gres/gpu=16"  # 2026-12-01 03:40 UTC
    assert report["version"] and report["slurm"] == "22.05.8" and report["accounts"] in (False, None)
    after = portal.reports[-1]
    until(lambda: len(portal.reports) > portal.reports.index(after) + 2)
    assert (
        portal.reports[-1]["jobs"]["rows"] is None and portal.reports[-1]["jobs"]["digest"] == report["jobs"]["digest"]
    )
    (head.slurm / "squeue_says").write_text("slurm_load_jobs error: Unable to contact slurm controller")
    assert "Unable to contact" in until(lambda: next((r["trouble"] for r in portal.reports if r["trouble"]), None))


def test_logs_come_in_pieces_of_bytes_and_begin_anew_with_their_file(head: Head, portal: Scripted):
    portal.submit()
    head.start()
    until(lambda: portal.answers.get("o-1"))
    log = head.logs / "1.out"
    log.write_bytes("löss 1\n".encode() + b"\x00\xff\x1b[31m<b>\n")
    pieces = lambda: [piece for report in portal.reports for piece in report["logs"]]
    until(pieces)
    assert pieces()[0] == {"name": "1", "turn": 1, "at": 0, "bytes": 19, "text": "löss 1\n\ufffd\ufffd\x1b[31m<b>\n"}
    with log.open("a") as file:
        file.write("step 2\n")
    until(lambda: len(pieces()) == 2)
    assert (pieces()[1]["at"], pieces()[1]["text"]) == (19, "step 2\n")
    log.write_text("anew\n")  # truncated, as by a requeue
    until(lambda: len(pieces()) == 3)
    assert (pieces()[2]["turn"], pieces()[2]["at"], pieces()[2]["text"]) == (2, 0, "anew\n")
    (head.logs / "next").write_text("x" * 2_000_000)
    (head.logs / "next").replace(log)  # rotated, and far ahead: the end is sent, and how much was left out is told
    until(lambda: len(pieces()) == 4)
    assert pieces()[3]["turn"] == 3 and pieces()[3]["at"] == 2_000_000 - 64_000 and len(pieces()[3]["text"]) == 64_000


def test_a_log_that_is_a_link_or_of_somebody_else_is_not_read(head: Head, portal: Scripted):
    portal.submit()
    secret = head.root / "secret"
    secret.write_text("root's own\n")
    (head.logs / "1.out").symlink_to(secret)
    head.start()
    until(lambda: portal.answers.get("o-1"))
    seen = len(portal.reports)
    until(lambda: len(portal.reports) > seen + 2)
    assert all(not report["logs"] for report in portal.reports)


def test_accounts_are_told_once_with_the_number_of_each_run(head: Head, portal: Scripted):
    (head.slurm / "accounts").touch()
    portal.submit()
    head.start()
    until(lambda: portal.answers.get("o-1"))
    head.stop()
    head.become(
        1,
        state="COMPLETED",
        restarts=1,
        began="2026-12-01T03:00:00",
        over="2026-12-01T03:30:00",
        code="3:0",
        nodes="gpu[1-2]",
    )
    Path(head.settings["state"], "accounts.json").write_text(json.dumps({"since": 1796094000}))  # 03:00
    portal.reports.clear()
    head.start()
    runs = until(lambda: next((r["ended"] for r in portal.reports if r["ended"]), None))
    assert [(run["job"], run["attempt"], run["state"], run["exit_code"], run["ended"]) for run in runs] == [
        ("1", 1, "NODE_FAIL", 3, 1796095800), ("1", 2, "COMPLETED", 3, 1796095800),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("url", "mode", "told"),
    [
        ("http://portal.example.org/agent", 0o600, "is not https"),
        ("ftp://127.0.0.1/agent", 0o600, "is not https"),
        (None, 0o644, "mode 0600"),
    ],
)
def test_a_token_goes_nowhere_in_the_clear_and_is_read_from_no_open_file(head: Head, portal: Scripted, url, mode, told):
    head.write_token(url or portal.url, mode=mode)
    head.start()
    until(lambda: told in head.said)
    assert portal.heads == []


def test_a_portal_whose_certificate_nobody_vouches_for_is_told_nothing(head: Head, tmp_path: Path):
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    make = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-keyout",
        key,
        "-out",
        certificate,
        "-days",
        "2",
    ]
    subprocess.run([*make, *subject], check=True, capture_output=True)
    told: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            told.append(self.headers["Authorization"])
            self.send_response(302)
            self.send_header("Location", "http://127.0.0.1:1/")
            self.end_headers()

        def log_message(self, *_) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    head.write_token(f"https://localhost:{server.server_port}/agent")
    head.start()
    until(lambda: "CERTIFICATE_VERIFY_FAILED" in head.said)
    assert told == []
    head.stop()
    head.settings["ca_file"] = str(certificate)  # now somebody does; and a redirection is not followed
    head.start()
    until(lambda: "pull: 302" in head.said)
    assert told
    server.shutdown()


def test_it_runs_on_the_oldest_python_of_a_head_node():
    """Nothing newer than 3.9 and nothing but the standard library; the real thing where such a Python is installed."""
    import ast

    tree = ast.parse(AGENT.read_text(), feature_version=(3, 9))
    imported = {
        name.name.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names
    }
    imported |= {
        node.module.split(".")[0] for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module
    }
    assert imported <= sys.stdlib_module_names
    assert "shell=True" not in AGENT.read_text() and "os.system" not in AGENT.read_text()


def test_old_orders_and_marks_do_not_fill_the_disk(head: Head, portal: Scripted):
    folder = Path(head.settings["state"]) / "orders"
    folder.mkdir(parents=True)
    for number in range(5_050):
        (folder / f"old-{number}.json").write_text('{"answer": {"ok": true}}')
        os.utime(folder / f"old-{number}.json", (number, number))
    portal.submit()
    head.start()
    until(lambda: portal.answers.get("o-1") and len(list(folder.glob("*.json"))) == 5_000)
    assert (folder / "o-1.json").exists() and not (folder / "old-0.json").exists()
