"""A small Slurm of one file for the agent's tests: sbatch, squeue, sacct, scancel, scontrol and sinfo by their own words.

It keeps its jobs in the folder FAKE_SLURM in one JSON file under a lock. Jobs do not run: a test says what becomes of them.
What real programs print was taken from Slurm 22.05; the same agent is run against the real one where it is installed.
"""

import fcntl
import json
import os
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parent  # it is copied beside its own state
SEPARATOR = "\x1f"


class Kept:
    def __enter__(self):
        self.lock = open(ROOT / "lock", "a")
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        path = ROOT / "jobs.json"
        self.all = (
            json.loads(path.read_text())
            if path.exists()
            else {"jobs": [], "nodes": {"gpu1": "IDLE", "gpu2": "IDLE"}, "calls": []}
        )
        return self.all

    def __exit__(self, *_):
        (ROOT / "jobs.json.new").write_text(json.dumps(self.all))
        os.replace(ROOT / "jobs.json.new", ROOT / "jobs.json")
        self.lock.close()


def plan(name):
    """What a test wants to go wrong: a file of that name, used up once."""
    path = ROOT / name
    if not path.exists():
        return None
    text = path.read_text()
    path.unlink()
    return text


def options(words):
    return {word.split("=", 1)[0]: word.partition("=")[2] for word in words if word.startswith("--")}


def sbatch(words):
    if (wait := plan("sbatch_waits")) is not None:
        time.sleep(float(wait))
    asked = options(words)
    script = sys.stdin.read()
    environment = {}
    if "--export-file" in asked:
        with open(int(asked["--export-file"]), "rb") as file:
            environment = dict(pair.split("=", 1) for pair in file.read().decode().split("\0") if pair)
    if asked.get("--partition") == "nowhere":
        sys.exit("sbatch: error: Batch job submission failed: Invalid partition name specified")
    with Kept() as kept:
        number = len(kept["jobs"]) + 1
        kept["jobs"].append(
            {
                "id": number, "name": asked["--job-name"], "state": "PENDING", "reason": "None", "nodes": "", "restarts": 0,
                "code": "0:0", "words": words, "script": script, "environment": environment, "user": os.environ.get("USER") or user(),
                "began": "Unknown", "over": "Unknown",
            }
        )  # fmt: skip
    if (wait := plan("sbatch_is_slow_to_answer")) is not None:
        time.sleep(float(wait))
    if (told := plan("sbatch_says")) is not None:
        sys.exit(told)
    print(number)


def user():
    import pwd

    return pwd.getpwuid(os.geteuid()).pw_name


def squeue(words):
    asked = options(words)
    if (told := plan("squeue_says")) is not None:
        sys.exit(told)
    with Kept() as kept:
        for job in kept["jobs"]:
            if job.get("forgotten") or asked.get("--name", job["name"]) != job["name"]:
                continue
            cells = {
                "%A": job["id"], "%F": job["id"], "%K": "N/A", "%T": job["state"], "%r": job["reason"], "%N": job["nodes"],
                "%V": "2026-12-01T03:00:00", "%S": job["began"], "%e": job["over"], "%l": "1:00:00", "%Q": 100 - job["id"],
                "%P": "train", "%u": job["user"], "%j": job["name"],
            }  # fmt: skip
            print(SEPARATOR.join(str(cells[word]) for word in asked["--format"].split(SEPARATOR)))


def sacct(words):
    asked = options(words)
    if not (ROOT / "accounts").exists():
        sys.exit("Slurm accounting storage is disabled")
    with Kept() as kept:
        for job in kept["jobs"]:
            if asked.get("--name", job["name"]) != job["name"]:
                continue
            if asked["--format"] == "JobID,JobName":
                print(SEPARATOR.join([str(job["id"]), job["name"]]))
                continue
            for attempt in range(job["restarts"] + 1):
                last = attempt == job["restarts"]
                row = [job["id"], job["state"] if last else "NODE_FAIL", job["code"], job["began"], job["over"], job["nodes"],
                       "cpu=8,gres/gpu=16,node=2", "train", job["user"], job["name"]]  # fmt: skip
                print(SEPARATOR.join(map(str, row)))


def scancel(words):
    change(words[0], state="CANCELLED")


def scontrol(words):
    if words[:2] == ["show", "job"]:
        with Kept() as kept:
            rows = [job for job in kept["jobs"] if len(words) < 4 or str(job["id"]) == words[3]]
            if len(words) > 3 and not rows:
                sys.exit("slurm_load_jobs error: Invalid job id specified")
            for job in rows:
                print(
                    f"JobId={job['id']} JobName={job['name']} UserId={job['user']}(1001) JobState={job['state']} "
                    f"Reason={job['reason']} Restarts={job['restarts']} BatchFlag=1 ExitCode={job['code']} RunTime=00:00:01 "
                    f"EligibleTime=2026-12-01T03:00:00 TRES=cpu=8,gres/gpu=16 Power="
                )
    elif words[:2] == ["show", "node"]:
        with Kept() as kept:
            for name, state in kept["nodes"].items():
                reason = "" if state == "IDLE" else "Reason=xid 79 [root@2026-12-01T03:30:00] "
                print(
                    f"NodeName={name} Arch=x86_64 Gres=gpu:h100:8 GresUsed=gpu:h100:0(IDX:N/A) State={state} {reason}Weight=1"
                )
    elif words[0] == "update":
        asked = dict(word.split("=", 1) for word in words[1:])
        with Kept() as kept:
            kept["nodes"][asked["NodeName"]] = {"down": "DOWN", "drain": "IDLE+DRAIN", "resume": "IDLE"}[asked["State"]]
    elif words[0] == "requeue":
        change(words[-1], state="PENDING", reason="BeginTime", more=1)
    elif words[0] == "hold":
        change(words[1], reason="JobHeldUser")
    elif words[0] == "release":
        change(words[1], reason="Priority")


def change(number, more=0, **columns):
    with Kept() as kept:
        found = [job for job in kept["jobs"] if str(job["id"]) == number]
        if not found:
            sys.exit(f"scontrol: error: Invalid job id specified for job {number}")
        found[0].update(columns)
        found[0]["restarts"] += more
        kept["calls"].append([Path(sys.argv[0]).name, *sys.argv[1:]])


def sinfo(words):
    print("slurm 22.05.8")


if __name__ == "__main__":
    globals()[Path(sys.argv[0]).name](sys.argv[1:])
