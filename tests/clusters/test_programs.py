"""A program that is missing, crashes, prints rubbish, hangs or is killed: it is told apart, and none is left over."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from clusters.providers import ProviderError, parallelcluster, programs
from clusters.providers.programs import Ran

KEYS = {"AWS_ACCESS_KEY_ID": "ASIA1", "AWS_SECRET_ACCESS_KEY": "very-secret", "AWS_SESSION_TOKEN": "a-token"}


@pytest.fixture(autouse=True)
def machine(tmp_path, monkeypatch):
    monkeypatch.setenv("PCLUSTER_LOCK", str(tmp_path / "lock"))
    monkeypatch.setenv("SECRET_KEY", "of the portal")


def program(tmp_path: Path, script: str) -> None:
    """Put a program in the place of the real one."""
    path = tmp_path / "pcluster"
    path.write_text(f"#!/bin/bash\n{script}\n")
    path.chmod(0o755)


def run(keep=lambda: True, **files: str) -> Ran:
    # The program of a test lies beside its lock.
    beside = Path(os.environ["PCLUSTER_LOCK"]).with_name("pcluster")
    return programs.run(beside, ("create-cluster",), files=files, environment=KEYS, keep=keep)


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def gone(pid: int, seconds: float = 5) -> bool:
    end = time.monotonic() + seconds
    while alive(pid) and time.monotonic() < end:
        time.sleep(0.02)
    return not alive(pid)


def test_its_answer_its_log_and_what_it_cost_are_kept(tmp_path):
    program(tmp_path, 'mkdir .parallelcluster; echo "asked with $1" > .parallelcluster/pcluster-cli.log; cat asked')
    ran = run(asked='{"message": "well"}')
    assert (ran.code, ran.answer, ran.ended_by_us) == (0, {"message": "well"}, "")
    assert "asked with create-cluster" in ran.log
    assert ran.seconds > 0 and ran.peak_mib > 0


def test_it_sees_the_roles_keys_and_nothing_of_ours(tmp_path):
    program(tmp_path, 'env; echo "${#AWS_SECRET_ACCESS_KEY} letters"; echo $HOME >&2')
    ran = run()
    assert "11 letters" in ran.said
    assert "of the portal" not in ran.said and "DB_HOST" not in ran.said
    assert not Path(ran.log.strip()).exists()  # its scratch home went with it


@pytest.mark.parametrize("where", ["said", "log"])
def test_keys_are_not_kept_wherever_it_tells_them(tmp_path, where):
    said = 'echo "I use $AWS_SECRET_ACCESS_KEY and $AWS_SESSION_TOKEN"'
    program(tmp_path, said if where == "said" else f"{said} >&2")
    told = getattr(run(), where)
    assert "I use" in told and "very-secret" not in told and "a-token" not in told


def test_where_it_is_missing_nothing_happens_and_somebody_may_come_back():
    with pytest.raises(ProviderError) as told:
        run()
    assert (told.value.kind, told.value.code) == ("throttled", "ProgramMissing")
    assert "not installed" in told.value.message


@pytest.mark.parametrize(
    ("script", "code", "word"),
    [
        ("exit 3", 3, "code 3"),
        ("echo '<html>no'; exit 1", 1, "said nothing that can be read"),
        ("echo '[1, 2]'; exit 1", 1, "said nothing that can be read"),
        ("head -c 3000000 /dev/zero; exit 1", 1, "said nothing that can be read"),
        ("kill -9 $$", -9, "killed by signal 9"),
    ],
)
def test_a_crash_or_rubbish_is_unclear_and_says_so(tmp_path, script, code, word):
    program(tmp_path, script)
    ran = run()
    assert (ran.code, ran.answer) == (code, None)
    error = parallelcluster._error(ran)
    # One that was killed is tried again sooner than one that falls over by itself.
    assert (error.kind, error.code) == ("unclear", "ProgramKilled" if code < 0 else "ProgramFailed")
    assert word in error.message


def test_one_that_hangs_is_ended_with_all_that_it_started(tmp_path, monkeypatch):
    monkeypatch.setattr(programs, "LONGEST", 0.5)
    program(tmp_path, f"sleep 100 & echo $! > {tmp_path}/child; echo $$ > {tmp_path}/own; wait")
    ran = run()
    assert ran.code < 0 and "did not end" in ran.ended_by_us
    assert parallelcluster._error(ran).kind == "unclear"
    assert gone(int((tmp_path / "own").read_text())) and gone(int((tmp_path / "child").read_text()))


def test_it_dies_with_its_lease(tmp_path):
    program(tmp_path, f"echo $$ > {tmp_path}/own; exec sleep 100")
    asked = iter([True, True, False])
    ran = run(keep=lambda: next(asked))
    assert "turn" in ran.ended_by_us
    assert gone(int((tmp_path / "own").read_text()))


def test_there_is_one_at_a_time_on_a_machine(tmp_path):
    program(tmp_path, "sleep 1; echo '{}'")
    errors = []

    def keep() -> bool:
        if not errors:
            with pytest.raises(ProviderError) as told:
                run()
            errors.append(told.value)
        return True

    assert run(keep=keep).code == 0
    assert (errors[0].kind, errors[0].code) == ("throttled", "ProgramBusy")
    assert run().code == 0


WORKER = """
import sys
from pathlib import Path
from clusters.providers import programs
programs.run(Path(sys.argv[1]), ("create-cluster",), files={}, environment={}, keep=lambda: True)
"""


def test_it_dies_with_its_worker_and_what_it_left_is_gone_before_the_next_begins(tmp_path):
    # The child of the program closes what it inherited, as a program in Python does for its own.
    program(
        tmp_path,
        f"(exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-; echo $BASHPID > {tmp_path}/child; exec sleep 100) & "
        f"echo $$ > {tmp_path}/own; wait",
    )
    worker = subprocess.Popen([sys.executable, "-c", WORKER, str(tmp_path / "pcluster")], env=dict(os.environ))
    end = time.monotonic() + 20
    while not (tmp_path / "child").exists() or not (tmp_path / "child").read_text():
        assert time.monotonic() < end
        time.sleep(0.02)
    own, child = int((tmp_path / "own").read_text()), int((tmp_path / "child").read_text())
    assert alive(own) and alive(child)
    with pytest.raises(ProviderError, match="another cluster"):
        run()
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    assert gone(own)
    program(tmp_path, f"kill -0 {child} && echo '{{\"alive\": 1}}' || echo '{{\"alive\": 0}}'")
    assert run().answer == {"alive": 0} or gone(child)
    assert gone(child)


def ended(message: str, **more) -> Ran:
    said = programs.json.dumps({"message": message, **more})
    return Ran(("create-cluster",), 1, 1.0, 100, said, "")


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("Cluster train already exists.", "unclear"),
        ("Rate exceeded", "throttled"),
        ("An error occurred (AccessDenied) when calling the AssumeRole operation", "denied"),
        (
            "An error occurred (ExpiredToken) when calling ...: The security token included in the request is expired",
            "expired",
        ),
        ("Could not connect to the endpoint URL: http://127.0.0.1:1/", "unclear"),
        ("Cluster train is in CREATE_IN_PROGRESS state.", "throttled"),
        ("Invalid cluster configuration.", "refused"),
        ("Limits exceeded for the account", "refused"),
    ],
)
def test_its_sentence_says_what_may_be_done_next(message, kind):
    error = parallelcluster._error(ended(message))
    assert (error.kind, error.message) == (kind, message)


def test_errors_of_its_validators_are_told_and_warnings_are_not():
    found = [
        {"level": "WARNING", "type": "KeyPairValidator", "message": "no key pair"},
        {"level": "ERROR", "type": "EfaValidator", "message": "no EFA on c5.large"},
    ]
    error = parallelcluster._error(ended("Invalid cluster configuration.", configurationValidationErrors=found))
    assert error.kind == "refused"
    assert error.message == "Invalid cluster configuration. EfaValidator: no EFA on c5.large"


def test_what_fell_over_before_anything_was_done_may_be_tried_again():
    crashed = Ran(("create-cluster", "--dryrun", "true"), 1, 1.0, 100, "", "")
    assert parallelcluster._without_effect(parallelcluster._error(crashed)).kind == "throttled"
    taken = parallelcluster._without_effect(parallelcluster._error(ended("Cluster train already exists.")))
    assert taken.kind == "unclear"
