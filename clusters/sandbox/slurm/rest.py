"""slurmrestd of each cluster, as Slurm 24.11 answers with the data parser v0.0.40."""

import base64
import binascii
import hashlib
import hmac
import json
import re
import time
from typing import Any
from urllib.parse import parse_qsl

from clusters.sandbox.cloud import Cloud
from clusters.sandbox.errors import NoAnswer
from clusters.sandbox.hyperpod import life
from clusters.sandbox.hyperpod.model import Cluster
from clusters.sandbox.services import Call
from clusters.sandbox.slurm import jobs, places, shapes
from clusters.sandbox.slurm.jobs import NEVER, Job, Queue
from clusters.sandbox.wire import Answer

PATH = re.compile(r"/slurm/(?P<account>\d{12})/(?P<region>[a-z0-9-]+)/(?P<cluster>[^/]+)(?P<rest>/.*)?")
VERSION = "v0.0.40"
NO_JOB, NO_PARTITION, NODES_NOT_AVAILABLE, NO_ENVIRONMENT, NO_SCRIPT, NO_FOLDER = 2017, 2000, 2014, 2127, 2030, 2012
OVER, HELD, NO_TIME, BAD_ARRAY, BAD_DEPENDENCY, ANOTHERS = 2021, 2042, 2054, 2081, 2038, 2002
LONGEST_ARRAY = 1001  # MaxArraySize as it comes
WORDS = {
    NO_JOB: "Invalid job id specified",
    NO_PARTITION: "Invalid partition name specified",
    NODES_NOT_AVAILABLE: "Requested node configuration is not available",
    NO_ENVIRONMENT: "Batch job environment empty",
    NO_SCRIPT: "Batch job script empty or missing",
    NO_FOLDER: "Job working directory is missing",
    OVER: "Job/step already completing or completed",
    HELD: "Job is in held state, pending scheduler release",
    NO_TIME: "Unable to parse time",
    BAD_ARRAY: "Invalid job array specification",
    BAD_DEPENDENCY: "Job dependency problem",
    ANOTHERS: "Access/permission denied",
}


class Refused(Exception):
    """An error of Slurm's own, by its number."""


def answer(cloud: Cloud, method: str, path: str, query: str, headers: dict[str, str], body: bytes) -> Answer:
    found = PATH.fullmatch(path)
    if found is None:
        raise NoAnswer()
    account, region, name, rest = found["account"], found["region"], found["cluster"], found["rest"] or "/"
    what = re.sub(r"^/slurm/v[0-9.]+/", "", rest).strip("/")
    call = Call(
        account, region, "slurm", f"{method} {re.sub('[0-9]+$', 'ID', what)}", {"ClusterName": name, "Path": rest}, 0.0
    )
    with cloud.lock:
        call.now = cloud.now()
        slow = cloud.faults.take_for_call(("slow",), account, "slurm", call.operation, call.parameters)
    if slow:
        time.sleep(slow.seconds)
    with cloud.lock:
        call.now = cloud.now()
        cloud.catch_up(account, region)
        cluster = places.clusters(cloud, account, region).get(name)
        silent = cloud.faults.take_for_call(("no_answer",), account, "slurm", call.operation, call.parameters)
        # Nothing listens before the controller runs; where a cluster is gone, nothing listens either.
        if silent or cluster is None or not cluster.jwt_key or cluster.status(call.now) == "Deleting":
            cloud.note(call, Answer(0), "no_answer")
            cloud.commit()
            raise NoAnswer(silent.seconds if silent else 0)
        said = _authorised(cloud, cluster, headers) or _routed(cloud, call, cluster, rest, query, headers, body)
        after = None
        if said.status < 300:
            kinds = ("timeout_after_success", "error_after_success")
            after = cloud.faults.take_for_call(kinds, account, "slurm", call.operation, call.parameters)
        cloud.note(call, said, f"lost: {after.fault}" if after else said.error)
        cloud.commit()
    if after and after.fault == "timeout_after_success":
        raise NoAnswer(after.seconds)
    if after:
        return _json({"errors": [_error(-1, "Unspecified error")]}, cluster.name, 500)
    return said


def _authorised(cloud: Cloud, cluster: Cluster, headers: dict[str, str]) -> Answer | None:
    """None for a good token; else the refusal."""
    given = {name.lower(): value for name, value in headers.items()}
    token = given.get("x-slurm-user-token") or given.get("authorization", "").removeprefix("Bearer ").strip()
    if not token:
        return Answer(401, b"Authentication failure", {"Content-Type": "text/plain"}, "unauthorised")
    claims = _claims(token, cluster.jwt_key)
    user = given.get("x-slurm-user-name", claims.get("sun") if claims else None)
    good = (
        claims is not None and float(claims.get("exp") or 0) > cloud.clock.callers_now() and claims.get("sun") == user
    )
    if good:
        return None
    return Answer(511, b"Authentication failure", {"Content-Type": "text/plain"}, "unauthorised")


def _claims(token: str, key: bytes) -> dict[str, Any] | None:
    """The claims of an HS256 token that was signed with this key."""
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        header, claims, signature = (base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)) for part in parts)
        read = json.loads(header), json.loads(claims)
    except (ValueError, binascii.Error):
        return None
    wanted = hmac.digest(key, f"{parts[0]}.{parts[1]}".encode(), hashlib.sha256)
    if not all(isinstance(one, dict) for one in read) or read[0].get("alg") != "HS256":
        return None
    return dict(read[1]) if hmac.compare_digest(wanted, signature) else None


def _routed(cloud: Cloud, call: Call, cluster: Cluster, rest: str, query: str, headers: dict[str, str],
            body: bytes) -> Answer:  # fmt: skip
    method = call.operation.split(" ")[0]
    if rest.rstrip("/") in ("/openapi", "/openapi/v3"):
        return _json(shapes.openapi(VERSION), "", 200, bare=True)
    if not rest.startswith(f"/slurm/{VERSION}/"):
        return Answer(404, b"Unable to find requested URL", {"Content-Type": "text/plain"}, "not found")
    queue, what = jobs.queue_of(cloud, cluster), rest.removeprefix(f"/slurm/{VERSION}/").strip("/")
    job = re.fullmatch(r"job/(\d+)", what)
    node = re.fullmatch(r"node/(.+)", what)
    try:
        if (method, what) == ("GET", "ping"):
            return _json({"pings": [shapes.ping(cluster)]}, cluster.name)
        if (method, what) == ("GET", "jobs"):
            return _json(_jobs(cloud, cluster, list(queue.jobs.values())), cluster.name)
        if (method, what) == ("POST", "job/submit"):
            return _submit(cloud, call, cluster, queue, _body(body), headers)
        if job and method == "GET":
            return _json(_jobs(cloud, cluster, [_job(queue, int(job[1]))]), cluster.name)
        if job and method == "DELETE":
            signal = dict(parse_qsl(query)).get("signal", "")
            wanted = _job(queue, int(job[1]))
            if signal not in ("SIGUSR1", "SIGUSR2", "SIGCONT", "SIGSTOP"):
                for one in _tasks(queue, wanted):
                    jobs.cancel(cloud, cluster, queue, one)
            return _json({}, cluster.name)
        if job and method == "POST":
            return _update(cloud, cluster, _tasks(queue, _job(queue, int(job[1]))), _body(body))
        if method == "GET" and (what == "nodes" or node):
            found = shapes.nodes(cloud, cluster, queue, node[1] if node else "")
            return _json({"nodes": found, "last_update": shapes.number(int(cloud.clock.callers_now()))}, cluster.name)
        if (method, what) == ("GET", "partitions"):
            return _json({"partitions": shapes.partitions(cluster, call.now)}, cluster.name)
    except Refused as refusal:
        number = int(refusal.args[0])
        words = WORDS[number]
        refused = _json(
            {"errors": [_error(number, refusal.args[1] if len(refusal.args) > 1 else words)]}, cluster.name, 500
        )
        refused.error = str(number)
        return refused
    return Answer(404, b"Unable to find requested URL", {"Content-Type": "text/plain"}, "not found")


def _body(body: bytes) -> dict[str, Any]:
    try:
        read = json.loads(body)
    except ValueError:
        raise Refused(NO_SCRIPT, "The body is not JSON") from None
    return read if isinstance(read, dict) else {}


def _job(queue: Queue, number: int) -> Job:
    if number not in queue.jobs:
        raise Refused(NO_JOB)
    return queue.jobs[number]


def _tasks(queue: Queue, job: Job) -> list[Job]:
    """The jobs that an id speaks of: an array's own id speaks of all its tasks."""
    return [one for one in queue.jobs.values() if one.array_id == job.id] or [job]


def _update(cloud: Cloud, cluster: Cluster, found: list[Job], wish: dict[str, Any]) -> Answer:
    """Of all that Slurm lets one change, holding and releasing."""
    if not any(one.state in jobs.LIVE for one in found):
        raise Refused(OVER)
    for one in found:
        if isinstance(wish.get("hold"), bool) and one.state in jobs.LIVE:
            jobs.hold(cloud, cluster, one, wish["hold"])
    return _json({"results": []}, cluster.name)


def _jobs(cloud: Cloud, cluster: Cluster, found: list[Job]) -> dict[str, Any]:
    now = shapes.number(int(cloud.clock.callers_now()))
    return {"jobs": [shapes.job(cloud, cluster, one) for one in found], "last_backfill": now, "last_update": now}


def _submit(
    cloud: Cloud, call: Call, cluster: Cluster, queue: Queue, wish: dict[str, Any], headers: dict[str, str]
) -> Answer:
    given = {name.lower(): value for name, value in headers.items()}
    job = _read_job(cloud, cluster, queue, wish, given.get("x-slurm-user-name", life.SLURM_USER), call.now)
    # A node that breaks collectives fails whichever pair it is in.
    names = {"name": job.name, "ClusterName": cluster.name, **{f"node-{host}": host for host in job.only}}
    fault = cloud.faults.take(("job_fails",), call.account, "slurm", call.operation, names)
    if fault:
        job.doomed = {"state": fault.state, "exit_code": fault.exit_code, "message": fault.message}
    jobs.submit(cloud, cluster, queue, job, _array(job.array))
    call.effective = True
    call.parameters |= {"name": job.name, "job_id": str(job.id)}
    said = {"job_id": job.id, "step_id": "batch", "error_code": 0, "error": "", "job_submit_user_msg": ""}
    told: dict[str, Any] = {"result": said, "job_id": job.id, "step_id": "batch", "job_submit_user_msg": ""}
    return _json(told | ({"errors": [_error(HELD, WORDS[HELD])]} if job.held else {}), cluster.name)


def _array(text: str) -> list[int]:
    """`0-3,7%2` -> 0, 1, 2, 3, 7."""
    if not text:
        return []
    found = re.fullmatch(r"([0-9,\-]+)(?:%[1-9]\d*)?", text)
    tasks: list[int] = []
    for piece in (found[1] if found else "").split(","):
        ends = re.fullmatch(r"(\d{1,7})(?:-(\d{1,7}))?", piece)
        last = int(ends[2] or ends[1]) if ends else -1
        if ends is None or not int(ends[1]) <= last < LONGEST_ARRAY:
            raise Refused(BAD_ARRAY)
        tasks += range(int(ends[1]), last + 1)
    return tasks


def _after(queue: Queue, text: str) -> tuple[tuple[str, int], ...]:
    found = []
    for piece in filter(None, text.split(",")):
        one = re.fullmatch(r"(afterok|afterany|afternotok):(\d+)", piece)
        if one is None:
            raise Refused(BAD_DEPENDENCY)
        found.append((one[1], int(one[2])))
    return tuple(found)


def _moment(cloud: Cloud, asked: Any, otherwise: float) -> float:
    """Seconds since 1970 by the callers' clock -> the cloud's own time, which may run faster."""
    if asked is None:
        return otherwise
    seconds = shapes.plain(asked)
    if seconds is None:
        raise Refused(NO_TIME)
    return cloud.now() + (seconds - cloud.clock.callers_now()) * cloud.clock.speed


def _read_job(cloud: Cloud, cluster: Cluster, queue: Queue, wish: dict[str, Any], user: str, now: float) -> Job:
    """Options count in `job` only: lines with #SBATCH are sbatch's own, which a REST server does not read."""
    named = wish.get("job")
    asked: dict[str, Any] = named if isinstance(named, dict) else {}
    script = str(asked.get("script") or wish.get("script") or "")
    environment, partition = asked.get("environment"), asked.get("partition") or next(iter(cluster.partitions), "")
    if not script.strip():
        raise Refused(NO_SCRIPT)
    if not isinstance(environment, list) or not environment:
        raise Refused(NO_ENVIRONMENT)
    if not asked.get("current_working_directory"):
        raise Refused(NO_FOLDER)
    if partition not in cluster.partitions:
        raise Refused(NO_PARTITION)
    nodes = _nodes(asked)
    if not 1 <= nodes <= _seats(cluster, partition):
        raise Refused(NODES_NOT_AVAILABLE)
    minutes = shapes.plain(asked.get("time_limit"))
    return Job(
        id=queue.next_id,
        name=str(asked.get("name") or "job"),
        user=user,
        partition=partition,
        nodes=nodes,
        script=script,
        environment=dict(str(one).split("=", 1) for one in environment if "=" in str(one)),
        comment=str(asked.get("comment") or ""),
        limit=minutes * 60.0 if minutes is not None else NEVER,
        requeue=bool(asked.get("requeue", True)),
        submitted=now,
        output=str(asked.get("standard_output") or ""),
        folder=str(asked["current_working_directory"]),
        eligible=_moment(cloud, asked.get("begin_time"), now),
        array=str(asked.get("array") or ""),
        after=_after(queue, str(asked.get("dependency") or "")),
        deadline=_moment(cloud, asked.get("deadline"), NEVER),
        held=asked.get("hold") is True,
        only=_hosts(asked.get("required_nodes")),
        without=_hosts(asked.get("excluded_nodes")),
    )


def _hosts(asked: Any) -> tuple[str, ...]:
    """A list, or text with commas: the dialect takes both."""
    return tuple(asked.split(",") if isinstance(asked, str) else [str(one) for one in asked or []])


def _seats(cluster: Cluster, partition: str) -> int:
    groups = [cluster.groups[name] for name in cluster.partitions[partition] if name in cluster.groups]
    return sum(int(group["InstanceCount"]) for group in groups)


def _nodes(asked: dict[str, Any]) -> int:
    """`nodes` is text in this dialect ("4" or "4-4"); the numbers have names of their own."""
    text = asked.get("nodes")
    least = shapes.plain(asked.get("minimum_nodes"))
    if isinstance(text, str) and re.fullmatch(r"\d+(-\d+)?", text):
        return int(text.split("-")[0])
    return int(least) if least is not None else 1


def _error(number: int, words: str) -> dict[str, Any]:
    return {"description": words, "error_number": number, "error": words, "source": "slurmrestd"}


def _json(said: dict[str, Any], cluster: str, status: int = 200, bare: bool = False) -> Answer:
    whole = said if bare else {**said, "meta": shapes.meta(cluster), "errors": said.get("errors", []), "warnings": []}
    return Answer(status, json.dumps(whole).encode(), {"Content-Type": "application/json"})
