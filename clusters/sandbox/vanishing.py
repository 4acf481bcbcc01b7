"""Faults that happen at once: a resource is gone that nobody deleted, a node fails."""

from fnmatch import fnmatchcase
from typing import Any

from clusters.sandbox.cloud import Cloud
from clusters.sandbox.faults import Fault
from clusters.sandbox.hyperpod import life

AT_ONCE = ("vanished", "node_failure")
XID = "NvidiaErrorReplace: Xid 79, GPU has fallen off the bus"


def happen(cloud: Cloud, fault: Fault) -> None:
    """Do it to the first things that match; nothing that matches is an error of the caller."""
    act = _vanish if fault.fault == "vanished" else _fail_nodes
    if not act(cloud, fault):
        raise LookupError(f"nothing matches {fault.service} {fault.account} {fault.match}")


def _places(cloud: Cloud, service: str, account: str) -> list[tuple[str, Any]]:
    found = []
    for name in cloud.store.named(f"{service}/{account}"):
        found.append((name, cloud.store.read(name)))
    return found


def _vanish(cloud: Cloud, fault: Fault) -> int:
    """A stack, file system, EKS or HyperPod cluster or job disappears without a trace."""
    kinds = {
        "cloudformation": ("cloudformation", "stacks"),
        "fsx": ("fsx", "systems"),
        "eks": ("eks", "clusters"),
        "sagemaker": ("hyperpod", "clusters"),
    }
    if fault.service == "slurm":
        return _vanish_jobs(cloud, fault)
    if fault.service not in kinds:
        raise ValueError(f"vanished knows {', '.join([*kinds, 'slurm'])}")
    shelf, kind = kinds[fault.service]
    done = 0
    for name, shelves in _places(cloud, shelf, fault.account):
        for key, thing in list(shelves.get(kind, {}).items()):
            called = (key, getattr(thing, "name", key))
            if done < fault.times and any(fnmatchcase(one, fault.match or "*") for one in called):
                del cloud.store.change(name)[kind][key]
                done += 1
    return done


def _vanish_jobs(cloud: Cloud, fault: Fault) -> int:
    done = 0
    for name, queues in _places(cloud, "slurm", fault.account):
        for queue in queues.values():
            for number, job in list(queue.jobs.items()):
                if done < fault.times and any(fnmatchcase(one, fault.match or "*") for one in (str(number), job.name)):
                    cloud.store.change(name)
                    del queue.jobs[number]
                    done += 1
    return done


def _fail_nodes(cloud: Cloud, fault: Fault) -> int:
    """`match` names a cluster, cluster/group or an instance."""
    done, now = 0, cloud.now()
    for name, shelves in _places(cloud, "hyperpod", fault.account):
        for cluster in shelves.get("clusters", {}).values():
            for node in cluster.present(now)[::-1]:
                called = (cluster.name, f"{cluster.name}/{node.group}", node.id)
                fits = any(fnmatchcase(one, fault.match or "*") for one in called)
                controller = node.group == next(iter(cluster.groups)) and len(cluster.groups) > 1
                if controller and node.id != fault.match and fault.match != f"{cluster.name}/{node.group}":
                    continue
                if done < fault.times and fits and node.status(now) == "Running":
                    cloud.store.change(name)
                    life.fail_node(cloud, cluster, node, fault.message or XID, now)
                    done += 1
    return done
