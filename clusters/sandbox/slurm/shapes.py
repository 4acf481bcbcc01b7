"""How Slurm's REST server writes jobs, nodes and partitions with the data parser v0.0.40."""

from typing import Any

from clusters.sandbox import facts
from clusters.sandbox.cloud import Cloud
from clusters.sandbox.hyperpod.model import Cluster, Node
from clusters.sandbox.slurm.jobs import NEVER, Job, Queue

RELEASE = {"version": {"major": "24", "minor": "11", "micro": "5"}, "release": "24.11.5"}
SIGNALS = {9: "SIGKILL", 15: "SIGTERM", 125: ""}


def number(value: float | None, infinite: bool = False) -> dict[str, Any]:
    """A number that may be absent or without end."""
    return {
        "set": value is not None and not infinite,
        "infinite": infinite,
        "number": int(value) if value is not None else 0,
    }


def plain(value: Any) -> float | None:
    """The other way round: a request may write a number either way."""
    if isinstance(value, dict):
        return float(value["number"]) if value.get("set") and not value.get("infinite") and "number" in value else None
    try:
        return float(value) if value is not None else None
    except (TypeError, ValueError):
        return None


def meta(cluster: str) -> dict[str, Any]:
    return {
        "plugin": {
            "type": "openapi/slurmctld",
            "name": "Slurm OpenAPI slurmctld",
            "data_parser": "data_parser/v0.0.40",
            "accounting_storage": "",
        },
        "client": {"source": "", "user": "", "group": ""},
        "command": [],
        "slurm": {**RELEASE, "cluster": cluster},
    }


def openapi(version: str) -> dict[str, Any]:
    """Only what a client needs to see which versions are spoken."""
    verbs = {
        "ping": ["get"],
        "jobs": ["get"],
        "job/submit": ["post"],
        "job/{job_id}": ["get", "post", "delete"],
        "nodes": ["get"],
        "node/{node_name}": ["get"],
        "partitions": ["get"],
    }
    nothing: dict[str, Any] = {"responses": {}}
    paths = {f"/slurm/{version}/{name}/": dict.fromkeys(known, nothing) for name, known in verbs.items()}
    return {"openapi": "3.0.3", "info": {"title": "Slurm REST API", "version": "Slurm-24.11.5"}, "paths": paths}


def ping(cluster: Cluster) -> dict[str, Any]:
    return {
        "hostname": cluster.nodes[0].host if cluster.nodes else "",
        "pinged": "UP",
        "latency": 500,
        "mode": "primary",
    }


def job(cloud: Cloud, cluster: Cluster, one: Job) -> dict[str, Any]:
    hosts = _hosts(cluster, one.hosts)
    end = one.ended if one.ended is not None else one.ends if one.ends != NEVER else None
    return {
        "job_id": one.id,
        "name": one.name,
        "user_name": one.user,
        "user_id": 1000,
        "group_name": one.user,
        "partition": one.partition,
        "cluster": cluster.name,
        "comment": one.comment,
        "job_state": [one.state],
        "state_reason": one.reason,
        "state_description": "",
        "exit_code": _exit_code(one),
        "derived_exit_code": _exit_code(one),
        "nodes": ",".join(hosts),
        "node_count": number(len(hosts) or one.nodes),
        "job_resources": {"nodes": ",".join(hosts), "allocated_hosts": len(hosts)} if hosts else {},
        "batch_host": hosts[0] if hosts else "",
        "submit_time": number(_epoch(cloud, one.submitted)),
        "eligible_time": number(_epoch(cloud, min(one.eligible, cloud.now()))),
        "start_time": number(_epoch(cloud, one.started)),
        "end_time": number(_epoch(cloud, end)),
        "time_limit": number(None if one.limit == NEVER else one.limit / 60, infinite=one.limit == NEVER),
        "restart_cnt": one.restarts,
        "requeue": one.requeue,
        "priority": number(0 if one.held else 4294901760 - one.id),
        "standard_output": one.output.replace("%j", str(one.id)).replace("%x", one.name),
        "standard_error": one.output.replace("%j", str(one.id)).replace("%x", one.name),
        "current_working_directory": one.folder,
        "array_job_id": number(one.array_id),
        "array_task_id": number(one.task),
        "array_task_string": "",
        "dependency": ",".join(f"{how}:{number}" for how, number in one.after),
        "flags": [],
        "hold": one.held,
        "tres_req_str": f"node={one.nodes}",
    }


def _exit_code(one: Job) -> dict[str, Any]:
    status = "PENDING" if one.ended is None else "SIGNALED" if one.signal else "ERROR" if one.exit_code else "SUCCESS"
    ended = one.ended is not None
    return {
        "status": [status],
        "return_code": number(one.exit_code if ended else None),
        "signal": {"id": number(one.signal or None), "name": SIGNALS.get(one.signal, "")},
    }


def _epoch(cloud: Cloud, at: float | None) -> float | None:
    return cloud.clock.shown(at).timestamp() if at is not None else 0


def _hosts(cluster: Cluster, instances: list[str]) -> list[str]:
    known = {node.id: node.host for node in cluster.nodes}
    return [known[instance] for instance in instances if instance in known]


def nodes(cloud: Cloud, cluster: Cluster, queue: Queue, only: str) -> list[dict[str, Any]]:
    """The compute nodes that Slurm knows: an instance that is still being set up is not known yet."""
    now = cloud.now()
    busy = {host for one in queue.jobs.values() if one.state == "RUNNING" for host in one.hosts}
    compute = {name for names in cluster.partitions.values() for name in names}
    known = [node for node in cluster.present(now) if node.group in compute and now >= node.ready]
    return [_node(cluster, node, node.id in busy, now) for node in known if only in ("", node.host)]


def _node(cluster: Cluster, node: Node, busy: bool, now: float) -> dict[str, Any]:
    plain_type = node.type.removeprefix("ml.")
    accelerator, count = facts.accelerators(plain_type)
    gres = f"gpu:{accelerator}:{count}" if count and accelerator != "neuron" else ""
    status = node.status(now)
    state = (
        ["DOWN"]
        if status == "Failure"
        else ["DOWN", "NOT_RESPONDING"]
        if status != "Running"
        else ["ALLOCATED"]
        if busy
        else ["IDLE"]
    )
    return {
        "name": node.host,
        "hostname": node.host,
        "address": node.ip,
        "state": state,
        "reason": node.why if status == "Failure" else "" if status == "Running" else "Not responding",
        "partitions": [name for name, groups in cluster.partitions.items() if node.group in groups],
        "cpus": facts.vcpus(plain_type),
        "real_memory": facts.memory_mib(plain_type),
        "gres": gres,
        "gres_used": f"{gres.rsplit(':', 1)[0]}:{count if busy else 0}" if gres else "",
        "instance_id": node.id,
        "instance_type": plain_type,
        "version": "24.11.5",
        "features": [],
        "active_features": [],
    }


def partitions(cluster: Cluster, now: float) -> list[dict[str, Any]]:
    found = []
    for position, (name, groups) in enumerate(cluster.partitions.items()):
        hosts = [node.host for node in cluster.present(now) if node.group in groups]
        found.append(
            {
                "name": name,
                "nodes": {"configured": ",".join(hosts), "total": len(hosts), "allowed_allocation": ""},
                "partition": {"state": ["UP"]},
                "defaults": {"time": number(None)},
                "maximums": {"time": number(None, infinite=True), "nodes": number(None, infinite=True)},
                "flags": ["DEFAULT"] if position == 0 else [],
            }
        )
    return found
