"""CloudWatch Logs: groups and streams that were written, and the ones that clusters write, computed when they are read."""

import functools
from collections.abc import Callable
from typing import Any

from clusters.sandbox.cloud import Cloud
from clusters.sandbox.errors import AwsError
from clusters.sandbox.services import Call, operation, page

Lines = list[tuple[int, str]]  # (milliseconds of the caller's time, message)
Streams = dict[str, Callable[[], Lines]]
MOST_EVENTS = 10_000


def groups(cloud: Cloud, account: str, region: str) -> dict[str, Streams]:
    """Every log group and its streams, whoever writes them."""
    from clusters.sandbox import headnode
    from clusters.sandbox.hyperpod import life as hyperpod
    from clusters.sandbox.slurm import jobs

    found: dict[str, Streams] = {}
    for name, group in cloud.store.read(f"logs/{account}/{region}").get("groups", {}).items():
        found[name] = {stream: functools.partial(list, lines) for stream, lines in group["streams"].items()}
    for cluster in headnode.clusters(cloud, account, region).values():
        found.setdefault(hyperpod.log_group(cluster.name), {}).update(jobs.streams(cloud, cluster))
    for cluster in hyperpod.clusters(cloud, account, region).values():
        if cluster.jwt_key:
            found.setdefault(hyperpod.log_group(cluster.name), {}).update(jobs.streams(cloud, cluster))
        found.setdefault(f"/aws/sagemaker/Clusters/{cluster.name}/{cluster.id}", {}).update(_lifecycle(cloud, cluster))
    return found


def _lifecycle(cloud: Cloud, cluster: Any) -> Streams:
    """What the scripts say on each node while it is being set up."""

    def lines(node: Any) -> Callable[[], Lines]:
        def read() -> Lines:
            start, now = max(node.began, node.ready - 300.0), cloud.now()
            ended = "completed" if cluster.fails is None else f"failed: {cluster.fails[1]}"
            end = node.ready if cluster.fails is None else cluster.fails[0]
            says = [(end - 1.0, line) for line in cluster.says]
            told = [(start, "[INFO] running OnCreate script"), *says, (end, f"[INFO] lifecycle scripts {ended}")]
            return [(_milliseconds(cloud, at), text) for at, text in told if at <= now]

        return read

    return {
        f"LifecycleConfig/{node.group}/{node.id}": lines(node)
        for node in cluster.nodes
        if node.began <= cloud.now() and node.ready - 300.0 <= cloud.now()
    }


def _milliseconds(cloud: Cloud, at: float) -> int:
    return int(cloud.clock.shown(at).timestamp() * 1000)


@operation("logs", "CreateLogGroup")
def create_log_group(cloud: Cloud, call: Call) -> dict[str, Any]:
    name = call.parameters["logGroupName"]
    kept = cloud.store.change(call.shelf()).setdefault("groups", {})
    if name in kept:
        raise AwsError("ResourceAlreadyExistsException", "The specified log group already exists")
    kept[name] = {"began": call.now, "retention": None, "streams": {}, "tags": call.parameters.get("tags") or {}}
    call.effective = True
    return {}


@operation("logs", "DeleteLogGroup")
def delete_log_group(cloud: Cloud, call: Call) -> dict[str, Any]:
    _kept(cloud, call)
    del cloud.store.change(call.shelf())["groups"][call.parameters["logGroupName"]]
    return {}


@operation("logs", "PutRetentionPolicy")
def put_retention(cloud: Cloud, call: Call) -> dict[str, Any]:
    _kept(cloud, call)["retention"] = call.parameters["retentionInDays"]
    return {}


@operation("logs", "CreateLogStream")
def create_log_stream(cloud: Cloud, call: Call) -> dict[str, Any]:
    streams = _kept(cloud, call)["streams"]
    if call.parameters["logStreamName"] in streams:
        raise AwsError("ResourceAlreadyExistsException", "The specified log stream already exists")
    streams[call.parameters["logStreamName"]] = []
    call.effective = True
    return {}


@operation("logs", "PutLogEvents")
def put_log_events(cloud: Cloud, call: Call) -> dict[str, Any]:
    streams, name = _kept(cloud, call)["streams"], call.parameters["logStreamName"]
    if name not in streams:
        raise AwsError("ResourceNotFoundException", "The specified log stream does not exist.")
    streams[name] += [(int(event["timestamp"]), event["message"]) for event in call.parameters["logEvents"]]
    return {"nextSequenceToken": str(len(streams[name]))}


def _kept(cloud: Cloud, call: Call) -> dict[str, Any]:
    """A group that somebody made, to write on."""
    kept: dict[str, dict[str, Any]] = cloud.store.change(call.shelf()).setdefault("groups", {})
    if call.parameters["logGroupName"] not in kept:
        raise AwsError("ResourceNotFoundException", "The specified log group does not exist.")
    return kept[call.parameters["logGroupName"]]


@operation("logs", "DescribeLogGroups")
def describe_log_groups(cloud: Cloud, call: Call) -> dict[str, Any]:
    prefix = call.parameters.get("logGroupNamePrefix") or ""
    pattern = call.parameters.get("logGroupNamePattern") or ""
    kept = cloud.store.read(call.shelf()).get("groups", {})
    found = []
    for name in sorted(groups(cloud, call.account, call.region)):
        if name.startswith(prefix) and pattern in name:
            shown = {"logGroupName": name, "arn": call.arn("logs", f"log-group:{name}:*"), "storedBytes": 0}
            if name in kept and kept[name]["retention"]:
                shown["retentionInDays"] = kept[name]["retention"]
            found.append(shown)
    items, more = page(found, call.parameters, size="limit", token="nextToken", most=50)
    return {"logGroups": items, **more}


@operation("logs", "DescribeLogStreams")
def describe_log_streams(cloud: Cloud, call: Call) -> dict[str, Any]:
    group, prefix = _group_name(call), call.parameters.get("logStreamNamePrefix") or ""
    found: list[dict[str, Any]] = []
    for name, read in sorted(_streams(cloud, call, group).items()):
        if not name.startswith(prefix):
            continue
        lines = read()
        shown: dict[str, Any] = {
            "logStreamName": name,
            "arn": call.arn("logs", f"log-group:{group}:log-stream:{name}"),
            "storedBytes": 0,
        }
        if lines:
            shown |= {
                "firstEventTimestamp": lines[0][0],
                "lastEventTimestamp": lines[-1][0],
                "creationTime": lines[0][0],
            }
        found.append(shown)
    if call.parameters.get("orderBy") == "LastEventTime":
        found.sort(key=lambda one: int(one.get("lastEventTimestamp", 0)))
    if call.parameters.get("descending"):
        found.reverse()
    items, more = page(found, call.parameters, size="limit", token="nextToken", most=50)
    return {"logStreams": items, **more}


@operation("logs", "GetLogEvents")
def get_log_events(cloud: Cloud, call: Call) -> dict[str, Any]:
    wish = call.parameters
    streams = _streams(cloud, call, _group_name(call))
    if wish["logStreamName"] not in streams:
        raise AwsError("ResourceNotFoundException", "The specified log stream does not exist.")
    lines = _between(streams[wish["logStreamName"]](), wish)
    limit, token = min(int(wish.get("limit") or MOST_EVENTS), MOST_EVENTS), wish.get("nextToken") or ""
    if token.startswith("f/"):
        start = int(token[2:])
    elif token.startswith("b/"):
        start = max(0, int(token[2:]) - limit)
        limit = int(token[2:]) - start
    else:
        start = 0 if wish.get("startFromHead") else max(0, len(lines) - limit)
    shown = lines[start : start + limit]
    return {
        "events": [{"timestamp": at, "message": text, "ingestionTime": at} for at, text in shown],
        "nextForwardToken": f"f/{start + len(shown)}",
        "nextBackwardToken": f"b/{start}",
    }


@operation("logs", "FilterLogEvents")
def filter_log_events(cloud: Cloud, call: Call) -> dict[str, Any]:
    wish = call.parameters
    pattern = (wish.get("filterPattern") or "").strip().strip('"')
    names, prefix = wish.get("logStreamNames"), wish.get("logStreamNamePrefix") or ""
    found: list[dict[str, Any]] = []
    for name, read in _streams(cloud, call, _group_name(call)).items():
        if (names is None or name in names) and name.startswith(prefix):
            for number, (at, text) in enumerate(_between(read(), wish)):
                if pattern in text:
                    identity = f"{name}/{number}"
                    found.append(
                        {
                            "logStreamName": name,
                            "timestamp": at,
                            "message": text,
                            "ingestionTime": at,
                            "eventId": identity,
                        }
                    )
    found.sort(key=lambda event: event["timestamp"])
    items, more = page(found, wish, size="limit", token="nextToken", most=MOST_EVENTS)
    return {"events": items, **more}


def _group_name(call: Call) -> str:
    name = call.parameters.get("logGroupName") or call.parameters.get("logGroupIdentifier") or ""
    return str(name).split(":log-group:")[-1].removesuffix(":*")


def _streams(cloud: Cloud, call: Call, group: str) -> Streams:
    found = groups(cloud, call.account, call.region).get(group)
    if found is None:
        raise AwsError("ResourceNotFoundException", "The specified log group does not exist.")
    return found


def _between(lines: Lines, wish: dict[str, Any]) -> Lines:
    start, end = wish.get("startTime"), wish.get("endTime")
    return [one for one in lines if (start is None or one[0] >= start) and (end is None or one[0] < end)]
