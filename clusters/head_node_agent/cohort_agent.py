"""Runs on a head node: fetches what Cohort wants of Slurm, does each thing once, and tells what it sees.

It only ever asks: nothing listens. One file for Python 3.9 and later, without dependencies:
    cohort_agent.py /etc/cohort/agent.json
"""

import contextlib
import fcntl
import hashlib
import ipaddress
import json
import os
import pwd
import random
import re
import signal
import ssl
import stat
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
from datetime import datetime, timezone
from pathlib import Path
from urllib.parse import urlsplit

VERSION = "1.0"
SEPARATOR = "\x1f"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")
JOB_ID = re.compile(r"[0-9]{1,10}(_[0-9]{1,10})?")
FOLDER = re.compile(r"/[A-Za-z0-9_./-]{0,200}")
NODE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,119}")
NODE_STATES = {"down", "drain", "resume"}
# `incomplete` keeps Slurm from beginning again what has ended in the meantime.
VERBS = {"hold": ["hold"], "release": ["release"], "requeue": ["requeue", "incomplete"],
         "requeuehold": ["requeuehold", "incomplete"]}  # fmt: skip
NOT_THERE = re.compile(r"invalid job id|already (completing|completed|finished)|job/step already", re.I)
# Nothing is decided by these: it may have been done all the same.
NO_ANSWER = re.compile(
    r"unable to contact|socket timed out|zero bytes|connection refused|connection reset|in standby|try again", re.I
)
NO_ACCOUNTS = re.compile(r"accounting storage is disabled|accounting_storage/none", re.I)
MOST_JOBS, MOST_NODES, MOST_RUNS = 2_000, 4_000, 500
LARGEST_REPORT = 2_300_000
MOST_OUTPUT = 32_000_000
LOG_PUSH, LOGS_PUSH, LOG_BEHIND = 64_000, 256_000, 1_000_000
LOGS_KEPT, LOG_KEPT_SECONDS = 2_000, 86_400
KEPT_ORDERS = 5_000
TOKEN_TRIES = 3
LARGEST_ANSWER = 8_000_000
WHOLE_REPORT_SECONDS, ACCOUNTS_SECONDS = 60, 60
LATE_SECONDS = 3_600  # so long after its end a run may still be written into the accounts
ENDS = {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "BOOT_FAIL", "DEADLINE", "PREEMPTED", "REVOKED"}  # fmt: skip
RUN_ENDS = ENDS | {"REQUEUED"}  # a run that was ended so that its job begins again held its nodes all the same


class Unknown(Exception):
    """A program gave no answer in time, or was ended: what it did is not known."""


class Refused(Exception):
    """Slurm, or this agent, does not do it; the text says why."""


class Away(Exception):
    """The portal was not reached, or wants us later."""

    def __init__(self, why, wait=0.0, code=0):
        super().__init__(why)
        self.wait, self.code = wait, code


def say(text):
    print(f"cohort-agent: {text}", file=sys.stderr, flush=True)


class Settings:
    """What /etc/cohort/agent.json says. Raises ValueError with a sentence."""

    def __init__(self, path):
        told = json.loads(Path(path).read_text("utf-8"))
        self.token_file = Path(told["token_file"])
        self.state = Path(told.get("state", "/var/lib/cohort-agent"))
        self.logs = Path(told.get("logs", "/fsx/cohort/logs"))
        self.work_folder = told.get("work_folder", "/fsx")
        self.user = told.get("user", "")
        self.search_path = told.get("search_path", "/opt/slurm/bin:/usr/local/bin:/usr/bin:/bin")
        self.ca_file = told.get("ca_file") or None
        self.poll = float(told.get("poll_seconds", 5))
        self.program_seconds = float(told.get("program_seconds", 60))
        self.settle = float(told.get("settle_seconds", 10))
        self.longest_wait = float(told.get("longest_wait_seconds", 60))

    def secret(self):
        """(address, token). The file is ours alone, or it is not read."""
        with open(self.token_file, encoding="utf-8") as file:
            mode = os.fstat(file.fileno())
            if stat.S_IMODE(mode.st_mode) & 0o077 or mode.st_uid != os.geteuid():
                raise ValueError(f"{self.token_file} must belong to this user with mode 0600; it is not read")
            told = json.load(file)
        address, token = told["url"].rstrip("/"), told["token"]
        parts = urlsplit(address)
        if parts.scheme != "https" and not (parts.scheme == "http" and of_this_machine(parts.hostname or "")):
            raise ValueError(f"{address} is not https; nothing is sent there")
        return address, token


def of_this_machine(host):
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *args, **kwargs):
        return None  # the token goes where it was meant to go, and nowhere else


class Portal:
    """Cohort, as this cluster may speak to it."""

    def __init__(self, settings):
        self.settings = settings
        context = ssl.create_default_context(cafile=settings.ca_file)
        self.opener = urllib.request.build_opener(NoRedirect, urllib.request.HTTPSHandler(context=context))

    def ask(self, verb, body):
        """The answer to one question. Raises Away."""
        try:
            address, token = self.settings.secret()
        except (OSError, ValueError, KeyError) as error:
            raise Away(f"no token: {error}", 30) from error
        request = urllib.request.Request(
            f"{address}/{verb}/",
            data=json.dumps(body).encode(),
            headers={
                "Authorization": f"Bearer {token}",
                "Content-Type": "application/json",
                "User-Agent": f"cohort-agent/{VERSION}",
            },
        )
        try:
            with self.opener.open(request, timeout=20) as answer:
                told = json.loads(answer.read(LARGEST_ANSWER))
        except urllib.error.HTTPError as error:
            with error:
                told = error.read(2_000).decode("utf-8", "replace")
            later = error.headers.get("Retry-After", "")
            wait = float(later) if later.isdigit() else (300.0 if error.code in (401, 403, 409, 410) else 0.0)
            raise Away(f"{verb}: {error.code} {told[:300]}", wait, error.code) from error
        except (OSError, ValueError) as error:
            raise Away(f"{verb}: {error}") from error
        if not isinstance(told, dict):
            raise Away(f"{verb}: the answer is no object")
        return told


def write_whole(path, value):
    """The file is the old one or the new one, also after a power loss."""
    beside = path.with_name(f".{path.name}.new")
    with open(beside, "w", encoding="utf-8") as file:
        json.dump(value, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def read_whole(path, otherwise):
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return otherwise


class Programs:
    """Slurm's own programs, by lists of words and never through a shell."""

    def __init__(self, settings):
        self.settings = settings
        self.identity = {}
        if settings.user and os.geteuid() == 0:
            who = pwd.getpwnam(settings.user)
            self.identity = {"user": who.pw_uid, "group": who.pw_gid, "extra_groups": []}
        self.uid = pwd.getpwnam(settings.user).pw_uid if settings.user else os.geteuid()
        self.user = settings.user or pwd.getpwuid(os.geteuid()).pw_name
        # Times in one zone, words in one language.
        self.environment = {"PATH": settings.search_path, "LC_ALL": "C.UTF-8", "TZ": "UTC"}
        if "SLURM_CONF" in os.environ:
            self.environment["SLURM_CONF"] = os.environ["SLURM_CONF"]

    def run(self, *words, as_user=False, text="", keep=()):
        """What it printed. Raises Refused with its own words, Unknown when it had to be ended."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, tempfile.TemporaryFile() as given:
            given.write(text.encode())
            given.seek(0)
            try:
                child = subprocess.Popen(
                    list(words), stdin=given, stdout=out, stderr=err, env=self.environment, pass_fds=keep, cwd="/",
                    **(self.identity if as_user else {}),
                )  # fmt: skip
            except OSError as error:
                raise Refused(f"{words[0]} cannot be run: {error}") from error
            try:
                code = child.wait(self.settings.program_seconds)
            except subprocess.TimeoutExpired as error:
                child.kill()
                child.wait()
                raise Unknown(f"{words[0]} gave no answer within {self.settings.program_seconds:.0f} s") from error
            told, complaint = read_start(out), read_start(err, 4_000).strip()
        if code < 0:
            raise Unknown(f"{words[0]} was ended by signal {-code}")
        if code and NO_ANSWER.search(complaint):
            raise Unknown(complaint[:300])
        if code:
            raise Refused(complaint or told.strip()[:4_000] or f"{words[0]} ended with {code}")
        return told


def read_start(file, most=MOST_OUTPUT):
    file.seek(0)
    return file.read(most).decode("utf-8", "replace")


class Orders:
    """What the portal wants done. Each order has a file that is written before and after it is carried out."""

    def __init__(self, settings, programs):
        self.settings, self.programs = settings, programs
        self.folder = settings.state / "orders"
        self.folder.mkdir(parents=True, exist_ok=True)

    def carry_out(self, order):
        """The answer, or None while nobody can know it. An order that was carried out is answered from its file."""
        identity = str(order["id"])
        if not NAME.fullmatch(identity):
            return {"ok": False, "told": "an order's id has letters, digits and hyphens"}
        path = self.folder / f"{identity}.json"
        with open(self.folder / f"{identity}.lock", "a", encoding="utf-8") as lock:
            # The programs that we start hold it too: one that outlived us is waited for, not overtaken.
            if not self._locked(lock):
                return None
            known = read_whole(path, None)
            if known is None and order.get("again"):
                # Another head node had it before, and did not say how it ended.
                known = {"at": time.time()}
            if known and "answer" in known:
                return known["answer"]
            try:
                answer = self._again(order, known) if known else self._first(order, path, lock)
                if answer is None:
                    answer = self._do(order, lock)
            except Unknown as error:
                say(f"order {identity}: {error}; it is looked up before anything is repeated")
                return None
            except Refused as error:
                answer = {"ok": False, "told": str(error)[:2_000]}
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                answer = {"ok": False, "told": f"the order cannot be read: {error!r}"[:2_000]}
            write_whole(path, {"kind": order["kind"], "at": time.time(), "answer": answer})
        return answer

    def _locked(self, lock):
        for _ in range(20):
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except OSError:
                time.sleep(0.1)
        return False

    def _first(self, order, path, lock):
        before = {"kind": order["kind"], "at": time.time()}
        if order["kind"] in ("requeue", "requeuehold"):
            before["restarts"] = self._restarts(order["arguments"]["job"])
        write_whole(path, before)

    def _again(self, order, known):
        """Begun before, and how it ended is not known: looked up. None: it was not done, so it may be."""
        if order["kind"] == "submit":
            rest = known["at"] + self.settings.settle - time.time()
            if rest > 0:
                # What was sent just before may still be on its way into the controller.
                time.sleep(min(rest, self.settings.settle))
            found = self.find(checked(NAME, order["arguments"]["name"]))
            return {"ok": True, "job": found, "found": True} if found else None
        if order["kind"] in ("requeue", "requeuehold"):
            restarts = self._restarts(order["arguments"]["job"])
            if restarts is not None and known.get("restarts") is None:
                raise Refused("It may have been begun again before; nobody can tell, so it is not done twice.")
            done = restarts is not None and restarts > known["restarts"]
            return {"ok": True, "found": True} if done else None
        return None  # to hold, release, cancel or set a node twice is to do it once

    def find(self, name):
        """The id of our job of that name, in the controller's memory or in the accounts; empty when there is none."""
        columns = SEPARATOR.join(["%F", "%u", "%j"])
        for line in self.programs.run(
            "squeue", "--noheader", "--states=all", f"--name={name}", f"--format={columns}"
        ).splitlines():
            identity, user, found = (line.split(SEPARATOR, 2) + ["", ""])[:3]
            if found == name and user == self.programs.user:
                return identity.strip()
        words = ["sacct", "--allocations", "--noheader", "--parsable2", f"--delimiter={SEPARATOR}", f"--name={name}",
                 f"--user={self.programs.user}", "--starttime=2020-01-01", "--format=JobID,JobName"]  # fmt: skip
        try:
            rows = self.programs.run(*words).splitlines()
        except Refused as error:
            if NO_ACCOUNTS.search(str(error)):
                return ""
            raise Unknown(f"the accounts give no answer: {error}") from error
        for row in rows:
            identity, found = (row.split(SEPARATOR, 1) + [""])[:2]
            if found == name:
                return identity.split("_")[0]
        return ""

    def _restarts(self, job):
        try:
            told = self.programs.run("scontrol", "show", "job", "--oneliner", checked(JOB_ID, job))
        except Refused:
            return None
        found = re.findall(r" Restarts=(\d+) ", told)
        return int(found[-1]) if found else None

    def _do(self, order, lock):
        kind, asked, keep = order["kind"], order["arguments"], (lock.fileno(),)
        if kind == "submit":
            return self._submit(asked, lock)
        if kind == "node":
            name, state = checked(NODE_NAME, asked["node"]), asked["state"]
            if state not in NODE_STATES:
                raise Refused(f"a node can be set {', '.join(sorted(NODE_STATES))}")
            words = ["scontrol", "update", f"NodeName={name}", f"State={state}"]
            words += [f"Reason={plain(asked.get('reason') or 'Cohort')}"] if state != "resume" else []
            self.programs.run(*words, keep=keep)
            return {"ok": True}
        job = checked(JOB_ID, asked["job"])
        words = ["scancel", job] if kind == "cancel" else ["scontrol", *VERBS[kind], job] if kind in VERBS else None
        if words is None:
            raise Refused(f"this agent ({VERSION}) does not know the order '{kind}'")
        try:
            self.programs.run(*words, as_user=True, keep=keep)
        except Refused as error:
            if not NOT_THERE.search(str(error)):
                raise
        return {"ok": True}

    def _submit(self, asked, lock):
        variables = {"PATH": self.settings.search_path, **asked.get("environment", {})}
        words = ["sbatch", "--parsable", *self._words(asked)]
        # Variables may be secrets: they go through memory, and neither onto a command line nor onto a disk.
        secret = os.memfd_create("environment")
        try:
            with open(secret, "wb", closefd=False) as file:
                file.write(b"".join(f"{name}={value}\0".encode() for name, value in variables.items()))
            os.lseek(secret, 0, os.SEEK_SET)
            keep = (secret, lock.fileno())
            told = self.programs.run(*words, f"--export-file={secret}", as_user=True, text=asked["script"], keep=keep)
        finally:
            os.close(secret)
        identity = told.strip().splitlines()[-1].split(";")[0] if told.strip() else ""
        if not identity.isdigit():
            raise Unknown(f"sbatch said {told[:200]!r}")
        return {"ok": True, "job": identity}

    def _words(self, asked):
        per_node = int(asked.get("processes_per_node") or 1)
        nodes = int(asked["nodes"])
        yield f"--job-name={checked(NAME, asked['name'])}"
        yield f"--nodes={nodes}-{nodes}"
        yield f"--ntasks={nodes * per_node}"
        yield f"--ntasks-per-node={per_node}"
        yield "--exclusive"
        yield "--open-mode=append"
        # The command line counts more than the script's own lines, so what those say of the folder comes beside them.
        folder = asked.get("folder")
        yield f"--chdir={checked(FOLDER, folder) if folder else self.settings.work_folder}"
        yield f"--output={self.settings.logs}/%j.out"  # as what ships logs to the account expects it
        yield "--requeue" if asked.get("requeue", True) else "--no-requeue"
        if asked.get("held"):
            yield "--hold"
        for word, nodes_named in (("nodelist", asked.get("only")), ("exclude", asked.get("without"))):
            if nodes_named:
                yield f"--{word}={','.join(checked(NODE_NAME, name) for name in nodes_named)}"
        if asked.get("partition"):
            yield f"--partition={checked(NAME, asked['partition'])}"
        if asked.get("time_limit_minutes") is not None:
            yield f"--time={int(asked['time_limit_minutes'])}"
        if asked.get("comment"):
            yield f"--comment={plain(asked['comment'])}"
        if asked.get("array"):
            yield f"--array={checked(re.compile(r'[0-9,:%-]{1,200}'), asked['array'])}"
        if asked.get("begin_at"):
            yield f"--begin={checked(re.compile(r'[0-9T:-]{19}'), asked['begin_at'])}"
        after = [
            f"{checked(re.compile(r'after(ok|any|notok)'), how)}:{checked(JOB_ID, job)}"
            for how, job in asked.get("after", [])
        ]
        if after:
            yield f"--dependency={','.join(after)}"

    def tidy(self):
        """The answers of the newest orders are kept, so that none is ever done again; disks are not endless."""
        done = sorted(self.folder.glob("*.json"), key=lambda path: path.stat().st_mtime)
        for path in done[:-KEPT_ORDERS]:
            path.unlink()
        for path in self.folder.glob("*.lock"):
            if not path.with_suffix(".json").exists() or "answer" in read_whole(path.with_suffix(".json"), {}):
                path.unlink()


def checked(pattern, value):
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise Refused(f"{str(value)[:80]!r} is not what Slurm is given here")
    return value


def plain(text):
    return re.sub(r"[^\x20-\x7e]", "?", str(text))[:200]


class Eyes:
    """What Slurm says of jobs, nodes and runs, and what jobs have printed."""

    def __init__(self, settings, programs):
        self.settings, self.programs = settings, programs

    def jobs(self):
        """Ours first: when there are too many, others' jobs are left out."""
        columns = SEPARATOR.join(["%A", "%F", "%K", "%T", "%r", "%N", "%V", "%S", "%e", "%l", "%Q", "%P", "%u", "%j"])
        lines = self.programs.run("squeue", "--noheader", "--states=all", f"--format={columns}").splitlines()
        # Asked after the states: what ended in between would be told as an end without its code.
        more = {}
        for line in self.programs.run("scontrol", "show", "job", "--oneliner").splitlines():
            found = re.match(r"JobId=(\d+)", line)
            if found:
                more[found[1]] = line
        rows = []
        for line in lines:
            cells = line.split(SEPARATOR, 13)
            if len(cells) == 14:
                rows.append(self._job(cells, more.get(cells[0].strip(), "")))
        rows.sort(key=lambda row: (row["user_name"] != self.programs.user, row["job_state"][0] in ENDS, -row["job_id"]))
        return rows[:MOST_JOBS]

    def _job(self, cells, line):
        (
            identity,
            array,
            task,
            state,
            reason,
            nodes,
            submitted,
            started,
            ends,
            limit,
            priority,
            partition,
            user,
            name,
        ) = cells
        code, signal_id = (int(word) for word in (re.findall(r" ExitCode=(\d+:\d+) ", line) or ["0:0"])[-1].split(":"))
        restarts = re.findall(r" Restarts=(\d+) ", line)
        eligible = re.findall(r" EligibleTime=(\S+)", line)
        tres = re.findall(r" TRES=(\S+)", line)
        of_array = task.strip() not in ("", "N/A")
        words = [state.strip()]
        if reason.strip() in ("JobRequeued", "job_requeued_in_held_state"):
            words.append("REQUEUE_HOLD")
        return {
            "job_id": int(identity),
            "array_job_id": int(array) if of_array else 0,
            "array_task_id": int(task) if task.strip().isdigit() else None,
            "array_task_string": "" if task.strip().isdigit() or not of_array else task.strip()[:100],
            "name": name[:200],
            "user_name": user.strip()[:64],
            "partition": partition.strip()[:64],
            "job_state": words,
            "state_reason": reason.strip()[:200],
            "exit_code": {"return_code": code, "signal": {"id": signal_id}},
            "nodes": nodes.strip()[:4_000],
            "restart_cnt": int(restarts[-1]) if restarts else 0,
            "submit_time": seconds(submitted),
            "start_time": seconds(started),
            "end_time": seconds(ends),
            "eligible_time": seconds(eligible[-1]) if eligible else 0,
            "time_limit": minutes(limit.strip()),
            "priority": int(priority) if priority.strip().isdigit() else 0,
            "tres_alloc_str": tres[-1][:500] if tres else "",
        }

    def nodes(self):
        rows = []
        for line in self.programs.run("scontrol", "show", "node", "--details", "--oneliner").splitlines()[:MOST_NODES]:
            found = dict(re.findall(r"(?:^| )(NodeName|State|Gres|GresUsed)=(\S*)", line))
            if not found.get("NodeName"):
                continue
            state = found.get("State", "UNKNOWN")
            words = re.sub(r"[*~#!%$@^+-]+", "+", state).strip("+").split("+")
            words += ["NOT_RESPONDING"] if "*" in state else []
            reason = re.search(r" Reason=(.*?) \[[^\]@]*@([^\]]*)\]", line)
            rows.append(
                {
                    "name": found["NodeName"][:120],
                    "state": [word[:40] for word in words[:10]],
                    "reason": reason[1][:500] if reason else "",
                    "reason_changed_at": seconds(reason[2]) if reason else 0,
                    "gres": found.get("Gres", "")[:500].replace("(null)", ""),
                    "gres_used": found.get("GresUsed", "")[:500],
                }
            )
        return rows

    def runs(self, since, told=()):
        """Runs of jobs that ended since and are not told yet, oldest first, each with its number; None where nobody keeps
        accounts. What writes accounts down is not in order: a run may be there later than one that ended after it."""
        since = max(since - LATE_SECONDS, 0)
        begin = datetime.fromtimestamp(max(since - 3_600, 0), timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")
        columns = "JobID,State,ExitCode,Start,End,NodeList,AllocTRES,Partition,User,JobName"
        words = ["sacct", "--allusers", "--allocations", "--duplicates", "--noheader", "--parsable2", f"--delimiter={SEPARATOR}",
                 f"--format={columns}", "--endtime=now"]  # fmt: skip
        try:
            lines = self.programs.run(*words, f"--starttime={begin}").splitlines()
        except Refused as error:
            if NO_ACCOUNTS.search(str(error)):
                return None
            raise
        cells = [line.split(SEPARATOR, 9) for line in lines]
        new = [one[0].split("_")[0] for one in cells if len(one) > 9 and run_of(one[0], seconds(one[3])) not in told]
        jobs = [job for job in dict.fromkeys(new) if job.isdigit()][:MOST_RUNS]
        if not jobs:
            return []
        # All runs of these jobs, also the earlier ones: a run's number is its place among them.
        whole = self.programs.run(*words, "--starttime=2020-01-01", f"--jobs={','.join(jobs)}")
        rows, counts = [], {}
        for line in whole.splitlines():
            cells = line.split(SEPARATOR, 9)
            if len(cells) < 10:
                continue
            identity, state, code, start, end, nodes, tres, partition, user, name = cells
            counts[identity] = counts.get(identity, 0) + 1
            word = state.split(" ")[0]
            if word in RUN_ENDS and seconds(end) >= since and run_of(identity, seconds(start)) not in told:
                rows.append(
                    {
                        "job": identity[:60], "attempt": counts[identity], "name": name[:200], "state": word[:40],
                        "exit_code": int(code.split(":")[0] or 0), "signal": int((code.split(":") + ["0"])[1] or 0),
                        "started": seconds(start), "ended": seconds(end), "nodes": nodes[:4_000], "tres": tres[:500],
                        "partition": partition[:64], "user": user[:64],
                    }
                )  # fmt: skip
        rows.sort(key=lambda row: row["ended"])
        return rows[:MOST_RUNS]


def run_of(job, started):
    """How a run is remembered that was told."""
    return f"{job[:60]} {started}"


def seconds(text):
    """2026-12-01T03:50:18 in UTC, as the programs are told to speak; 0 for Unknown and N/A."""
    try:
        return int(datetime.strptime(text.strip(), "%Y-%m-%dT%H:%M:%S").replace(tzinfo=timezone.utc).timestamp())
    except ValueError:
        return 0


def minutes(text):
    """1-02:03:04, 02:03:04 or 03:04 as minutes; None for UNLIMITED."""
    found = re.fullmatch(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)", text)
    return int(found[1] or 0) * 1440 + int(found[2] or 0) * 60 + int(found[3]) if found else None


class Logs:
    """What jobs have printed, from where the portal has it. How far that is, is kept on disk and corrected by the portal."""

    def __init__(self, settings, uid):
        self.settings, self.uid = settings, uid
        self.path = settings.state / "logs.json"
        self.marks = read_whole(self.path, {})

    def news(self, names):
        """The next pieces, few enough for one message. Names are ids of jobs that are known now; others were lately."""
        now = time.time()
        for name in names:
            self.marks.setdefault(name, {"turn": 1, "file": 0, "at": 0})["seen"] = now
        for name in [n for n, mark in self.marks.items() if now - mark.get("seen", 0) > LOG_KEPT_SECONDS]:
            del self.marks[name]
        for name in sorted(self.marks, key=lambda n: self.marks[n].get("seen", 0))[:-LOGS_KEPT]:
            del self.marks[name]
        pieces, room = [], LOGS_PUSH
        for name in sorted(self.marks, key=lambda n: self.marks[n].get("sent", 0)):
            piece = self._piece(name, self.marks[name]) if room > 0 else None
            if piece:
                pieces.append(piece)
                room -= piece["bytes"]
        return pieces

    def _piece(self, name, mark):
        try:
            # Whoever runs jobs may lay a link there: only a plain file of that user is read.
            handle = os.open(self.settings.logs / f"{name}.out", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except OSError:
            return None
        with open(handle, "rb") as file:
            about = os.fstat(handle)
            if not stat.S_ISREG(about.st_mode) or about.st_uid != self.uid:
                return None
            if (mark["file"] and mark["file"] != about.st_ino) or about.st_size < mark["at"]:
                mark["turn"], mark["at"] = mark["turn"] + 1, 0  # begun anew
            mark["file"] = about.st_ino
            start = mark["at"]
            if about.st_size - start > LOG_BEHIND:
                start = about.st_size - LOG_PUSH
            if about.st_size <= start:
                return None
            file.seek(start)
            chunk = file.read(LOG_PUSH)
        if len(chunk) == LOG_PUSH and start + len(chunk) < about.st_size:
            chunk = chunk[: chunk.rfind(b"\n") + 1] or chunk
        text = chunk.decode("utf-8", "replace").replace("\0", "\ufffd")
        return {"name": name, "turn": mark["turn"], "at": start, "bytes": len(chunk), "text": text}

    def taken(self, ends):
        """What the portal has now: {name: [turn, offset]}."""
        now = time.time()
        for name, told in ends.items():
            mark = self.marks.get(name)
            if mark and isinstance(told, list) and len(told) == 2:
                mark["turn"], mark["at"], mark["sent"] = int(told[0]), int(told[1]), now
        write_whole(self.path, self.marks)


def digest(rows):
    return hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()


class Agent:
    """One loop: fetch orders, carry them out, answer, tell."""

    def __init__(self, settings):
        self.settings = settings
        settings.state.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.portal, self.programs = Portal(settings), Programs(settings)
        self.orders, self.eyes = Orders(settings, self.programs), Eyes(settings, self.programs)
        self.logs = Logs(settings, self.programs.uid)
        self.accounts_path = settings.state / "accounts.json"
        self.boot, self.identity = read_boot(), self._identity()
        self.sent, self.sent_at, self.accounts_at = {}, 0.0, 0.0
        self.slurm = ""
        self.stopping = threading.Event()

    def hello(self):
        return {
            "version": VERSION, "boot": self.boot, "identity": self.identity,
            "host": os.uname().nodename[:120], "user": self.programs.user,
        }  # fmt: skip

    def _identity(self):
        """Of two head nodes one speaks at a time; this is how the portal tells them apart."""
        path = self.settings.state / "identity.json"
        known = read_whole(path, None)
        if not known:
            known = {"identity": os.urandom(16).hex()}
            write_whole(path, known)
        return known["identity"]

    def turn(self):
        """Seconds until the next turn. Raises Away."""
        told = self.portal.ask("pull", self.hello())
        for order in told.get("orders", []):
            answer = self.orders.carry_out(order)
            if answer is not None:
                self.portal.ask("answer", {"id": order["id"], **answer})
        self.report()
        return min(max(float(told.get("again_in", self.settings.poll)), 0.2), 60)

    def report(self):
        body = {**self.hello(), "slurm": self._slurm(), "trouble": "", "jobs": None, "nodes": None, "ended": []}
        rows = {}
        try:
            rows = {"jobs": self.eyes.jobs(), "nodes": self.eyes.nodes()}
        except (Refused, Unknown) as error:
            body["trouble"] = str(error)[:500]
        whole = time.time() - self.sent_at > WHOLE_REPORT_SECONDS
        for what, found in rows.items():
            mark = digest(found)
            body[what] = {"digest": mark, "rows": found if whole or self.sent.get(what) != mark else None}
        ours = [str(row["job_id"]) for row in rows.get("jobs", []) if row["user_name"] == self.programs.user]
        body["logs"] = self.logs.news(ours)
        accounts = self._accounts(body)
        if len(json.dumps(body)) > LARGEST_REPORT:
            body["logs"] = []
        told = self.portal.ask("report", body)
        for what in rows:
            self.sent[what] = "" if what in told.get("send", []) else body[what]["digest"]
        if whole:
            self.sent_at = time.time()
        for refused in told.get("refused", [])[:20]:
            say(f"the portal does not take {str(refused)[:300]}")
        self.logs.taken(told.get("logs", {}))
        if body["ended"]:
            write_whole(self.accounts_path, accounts)

    def _slurm(self):
        if not self.slurm:
            with contextlib.suppress(Refused, Unknown):
                self.slurm = self.programs.run("sinfo", "--version").strip().split(" ")[-1][:40]
        return self.slurm

    def _accounts(self, body):
        """Adds the runs that ended; how far they go, and which were told, once the portal has them."""
        known = {"since": int(time.time()) - 30 * 86_400, "told": {}, **(read_whole(self.accounts_path, None) or {})}
        body["accounts"] = None  # not looked at
        if time.time() - self.accounts_at < ACCOUNTS_SECONDS:
            return known
        try:
            rows = self.eyes.runs(known["since"], known["told"])
        except (Refused, Unknown) as error:
            say(f"sacct: {error}")
            return known
        body["accounts"] = rows is not None
        body["ended"] = rows or []
        if not rows or len(rows) < MOST_RUNS:
            self.accounts_at = time.time()
        since = max([known["since"], *(row["ended"] for row in rows or [])])
        told = {**known["told"], **{run_of(row["job"], row["started"]): row["ended"] for row in rows or []}}
        return {"since": since, "told": {run: ended for run, ended in told.items() if ended >= since - LATE_SECONDS}}

    def run(self):
        say(f"version {VERSION}, boot {self.boot}")
        failures = unknown = 0
        while not self.stopping.is_set():
            try:
                wait, failures, unknown = self.turn(), 0, 0
            except Away as error:
                failures += 1
                unknown = unknown + 1 if error.code == 401 else 0
                if unknown == TOKEN_TRIES:
                    say("the token opens no more; whoever starts this again fetches the newest")
                    return
                wait = error.wait or min(self.settings.longest_wait, 2.0 ** min(failures, 10))
                wait = min(wait, max(self.settings.longest_wait, 1)) * random.uniform(0.5, 1.0)
                say(f"{error}; again in {wait:.0f} s")
            self.orders.tidy()
            self.stopping.wait(wait)


def read_boot():
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()[:64]
    except OSError:
        return ""


def main(path):
    agent = Agent(Settings(path))
    signal.signal(signal.SIGTERM, lambda *_: agent.stopping.set())
    agent.run()


if __name__ == "__main__":
    main(sys.argv[1])
