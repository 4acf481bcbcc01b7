"""Orders to nodes of a cluster: reboot, replace, take away; refused where a job would stop, unless somebody says so."""

from collections.abc import Sequence
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from clusters import endings, foresight, possible, states
from clusters.actions import changes, locks
from clusters.engine import turns
from clusters.models import Cluster, Job, Node, NodeOrder, Operation
from clusters.plans.planning import RunningJob
from tenants.web.problems import Refused

# What one call of the provider takes: BatchReboot and BatchReplace, BatchDelete; EC2 has no such limit.
MOST = {"reboot": 25, "replace": 25, "remove": 99}
WORKING = frozenset({"starting", "running", "recovering"})


def order_nodes(
    *,
    cluster: Cluster,
    nodes: Sequence[UUID | str],
    order: str,
    by: str,
    reason: str,
    version: int | None = None,
    stop_jobs: bool = False,
) -> Operation:
    """Reboot, replace or remove these nodes. Raises Refused: busy, not_changeable, not_offered, no_nodes, too_many,
    nobody_there, controller, last_of_group, jobs_running."""
    cluster = changes.newest(cluster, version)
    _refuse_unless_offered(cluster, order)
    changes.refuse_unless_possible(cluster, "order")
    chosen = list(Node.objects.filter(cluster=cluster, pk__in=list(nodes)).order_by("group", "seat"))
    _refuse_unless_there(cluster, chosen, order, asked=len(set(nodes)))
    if order == "replace":
        endings.refuse_while_it_ends(endings.of_cluster(cluster), {node.group for node in chosen}, timezone.now())
    stopped = would_stop(cluster, chosen)
    _refuse_if_jobs_stop(stopped, stop_jobs=stop_jobs)
    operation = locks.take(
        cluster,
        order,
        by=by,
        reason=reason,
        may_stop_jobs=stop_jobs,
        generation=cluster.generation,
        usual_minutes=foresight.minutes(cluster.orchestrator, order).usual,
    )
    NodeOrder.objects.bulk_create(
        NodeOrder(tenant_id=cluster.tenant_id, operation=operation, node=node, instance_id=node.instance_id)
        for node in chosen
    )
    locks.asked(operation, cluster, by=by)
    locks.begin(operation, cluster, by=by)
    turns.wish(cluster)
    return operation


def _refuse_unless_offered(cluster: Cluster, order: str) -> None:
    if order not in MOST:
        raise Refused("unknown_order", _("An order is one of: %(known)s.") % {"known": ", ".join(MOST)}, status=422)
    if cluster.orchestrator != "parallelcluster" or order == "replace":
        return
    sentences = {
        "reboot": _(
            "ParallelCluster has no call that reboots a node, and one that is rebooted behind its back is replaced. "
            "Replace it instead."
        ),
        "remove": _("ParallelCluster takes nodes away only by their number. Change the number of nodes of the queue."),
    }
    raise Refused("not_offered", sentences[order], status=422)


def _refuse_unless_there(cluster: Cluster, chosen: list[Node], order: str, *, asked: int) -> None:
    if not chosen or len(chosen) < asked:
        raise Refused(
            "no_nodes",
            _("Choose nodes of this cluster; %(n)s of those you named are none.") % {"n": asked - len(chosen)},
            status=422,
        )
    if len(chosen) > MOST[order]:
        raise Refused(
            "too_many",
            _("You chose %(n)s nodes; the provider takes at most %(most)s at a time.")
            % {"n": len(chosen), "most": MOST[order]},
            status=422,
            asked=len(chosen),
            allowed=MOST[order],
        )
    empty = [node.name for node in chosen if not node.instance_id or node.state in ("gone", "pending", "replacing")]
    if empty:
        raise Refused(
            "nobody_there",
            _("There is no instance in %(nodes)s now; it is on its way or gone.") % {"nodes": ", ".join(empty[:5])},
            status=422,
        )
    if cluster.orchestrator != "parallelcluster":
        moving = next((told for node in chosen if (told := possible.of_node(node.name, node.engine_status))), None)
        if moving is not None:
            raise moving
    _refuse_controllers(cluster, chosen, order)
    if order == "remove":
        _refuse_to_empty(cluster, chosen)


def _refuse_controllers(cluster: Cluster, chosen: list[Node], order: str) -> None:
    heads = [node.name for node in chosen if node.role == "controller"]
    if heads and (order == "remove" or (order == "replace" and cluster.orchestrator == "parallelcluster")):
        raise Refused(
            "controller",
            _("%(node)s runs Slurm itself; the provider does not take it away from a cluster.") % {"node": heads[0]},
            status=422,
        )


def _refuse_to_empty(cluster: Cluster, chosen: list[Node]) -> None:
    for group in sorted({node.group for node in chosen}):
        there = Node.objects.filter(cluster=cluster, group=group).exclude(state="gone").count()
        if sum(node.group == group for node in chosen) >= there:
            raise Refused(
                "last_of_group",
                _("These are all %(n)s nodes of the group %(group)s. Leave the group out of the configuration instead.")
                % {"n": there, "group": group},
                status=422,
            )


def would_stop(cluster: Cluster, chosen: Sequence[Node]) -> list[RunningJob]:
    """Jobs on these nodes: by the names that their scheduler told, or by partition where it told none."""
    live = Job.objects.filter(cluster=cluster, state__in=WORKING & states.JOB_LIVE, purpose=Job.Purpose.TRAINING)
    instances = {host(node.private_ip) for node in chosen if node.private_ip}
    groups = {node.group for node in chosen}
    heads = any(node.role == "controller" for node in chosen)
    found = []
    for job in live.order_by("name", "pk"):
        if job.state == "recovering" and not job.node_names and job.started_at is None:
            continue  # back in the queue: it holds no node, and may wait for this very order
        on_them = bool(instances & set(job.node_names)) if job.node_names else job.partition in groups
        if on_them or heads:
            found.append(RunningJob(str(job.pk), job.name, job.nodes, job.partition))
    return found


def host(address: str) -> str:
    """The name under which a scheduler knows the node with this address."""
    return "ip-" + address.replace(".", "-")


def _refuse_if_jobs_stop(stopped: list[RunningJob], *, stop_jobs: bool) -> None:
    if not stopped or stop_jobs:
        return
    sentence = ngettext(
        "It would stop %(n)s job on %(nodes)s nodes: %(jobs)s. Cancel it first, or say that it may be stopped.",
        "It would stop %(n)s jobs on %(nodes)s nodes: %(jobs)s. Cancel them first, or say that they may be stopped.",
        len(stopped),
    )
    nodes = sum(job.nodes for job in stopped)
    values = {"n": len(stopped), "nodes": nodes, "jobs": ", ".join(job.name for job in stopped[:5])}
    raise Refused("jobs_running", sentence % values, jobs=len(stopped), nodes=nodes)
