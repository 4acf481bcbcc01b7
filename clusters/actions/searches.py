"""Writes about the search for a node that breaks collectives: begin one, stop it."""

from collections.abc import Sequence
from uuid import UUID

from django.db.models.functions import Now
from django.utils.translation import gettext as _

from clusters import states
from clusters.actions import changes
from clusters.actions.node_orders import WORKING
from clusters.engine import turns
from clusters.engine.usage_facts import by_name, found_by
from clusters.models import Cluster, ContainerImage, Job, Node, NodeSearch, PairTest, Quarantine, SearchedNode
from tenants.history import timeline
from tenants.history.moves import move
from tenants.web.problems import Refused

MOST = 64  # nodes of a search: half as many jobs wait in the scheduler's queue at a time
PARTNERS = 3  # of a node that is checked again: one of them may be ill itself
# Schedulers that are told on which nodes a job runs.
PINS = frozenset({"hyperpod-slurm", "parallelcluster", "hyperpod-eks"})
THERE = frozenset({"running", "impaired", "checking"})


def candidates(row: Cluster) -> list[Node]:
    """Nodes that can be tested: an instance with accelerators sits there and no job runs on it, as far as anybody knows."""
    nodes = list(
        Node.objects.filter(cluster=row, role="compute", accelerators__gt=0, state__in=sorted(THERE))
        .exclude(instance_id="")
        .order_by("group", "seat")
    )
    busy = busy_nodes(row)
    return [node for node in nodes if node.pk not in busy]


def partners(free: Sequence[Node], node: Node) -> list[Node]:
    """With whom a node is checked again: nodes of its group, those that run well and sit nearest first."""
    held = set(Quarantine.objects.filter(cluster_id=node.cluster_id, lifted_at=None).values_list("node_id", flat=True))
    others = [one for one in free if one.group == node.group and one.pk != node.pk]
    ranked = sorted(others, key=lambda one: (one.pk in held, one.state != "running", abs(one.seat - node.seat)))
    return ranked[:PARTNERS]


def busy_nodes(row: Cluster) -> set[UUID]:
    """Nodes with a job on them; of a job whose nodes nobody told, all of its partition."""
    nodes = list(Node.objects.filter(cluster=row))
    live = Job.objects.filter(cluster=row, state__in=WORKING & states.JOB_LIVE).exclude(purpose=Job.Purpose.PROBE)
    names, found = by_name(nodes), set[UUID]()
    for told, partition in live.values_list("node_names", "partition"):
        hits = found_by(told, names)
        if told and len(hits) == len(told):
            found |= {node.pk for node in hits}
        else:
            found |= {node.pk for node in nodes if not partition or node.group == partition}
    return found


def image_for_pairs(row: Cluster) -> ContainerImage | None:
    """The image that pair tests run in on Kubernetes: the participant's own, by its digest."""
    return ContainerImage.objects.filter(cluster=row, until_revision=None).order_by("name").first()


def begin_search(
    *, cluster: Cluster, by: str, reason: str = "", nodes: Sequence[UUID | str] | None = None
) -> NodeSearch:
    """Test idle nodes in pairs until a bad one is named or nobody can tell; one node alone is checked again with partners
    of its group. Jobs are never touched."""
    cluster = changes.newest(cluster, None)
    changes.refuse_unless_possible(cluster, "launch")
    if cluster.orchestrator == "hyperpod-eks" and image_for_pairs(cluster) is None:
        sentence = _(
            "%(name)s runs Kubernetes and no image is named for it, and the pair tests run in one. Name an image with "
            "PyTorch in its configuration."
        )
        raise Refused("no_pairs", sentence % {"name": cluster.name}, status=422)
    if NodeSearch.objects.filter(cluster=cluster, state="running").exists():
        raise Refused("searching", _("A search is under way on %(name)s; wait for its end.") % {"name": cluster.name})
    free = candidates(cluster)
    if nodes is not None:
        wanted = {str(one) for one in nodes}
        chosen = [node for node in free if str(node.pk) in wanted]
        free = [*chosen, *partners(free, chosen[0])] if len(wanted) == 1 and chosen else chosen
    groups = {node.group for node in free}
    if len(free) < 2 or len(free) > MOST or len(groups) > 1:
        raise Refused(
            "search_nodes",
            _(
                "A search takes 2 to %(most)s nodes of one group on which no job runs; you chose %(found)s of %(groups)s "
                "groups. Choose others, or wait until jobs have ended."
            )
            % {"most": MOST, "found": len(free), "groups": len(groups)},
            status=422,
            field="nodes",
            found=len(free),
            allowed=MOST,
        )
    search = NodeSearch.objects.create(
        tenant_id=cluster.tenant_id, cluster=cluster, asked_by=by, reason=reason.strip()[:300], began_at=Now()
    )
    SearchedNode.objects.bulk_create(
        SearchedNode(tenant_id=cluster.tenant_id, search=search, node=node, instance_id=node.instance_id)
        for node in free
    )
    timeline.record(
        states.SEARCH_BEGAN, about=search, by=by, count=len(free), cluster_name=cluster.name, why=reason.strip()[:300]
    )
    turns.wish_for_search(search)
    return search


def stop_search(*, search: NodeSearch, by: str) -> None:
    """End it without a verdict; what it has in the queue is cancelled."""
    row = NodeSearch.objects.select_for_update(of=("self",)).select_related("cluster__account").get(pk=search.pk)
    if row.state != "running":
        raise Refused("search_over", _("This search has ended already."))
    waiting = PairTest.objects.filter(search=row, result=PairTest.Result.WAITING)
    jobs = Job.objects.filter(pk__in=waiting.values("job"), state__in=states.JOB_LIVE, cancel_wished_at=None)
    if jobs.update(cancel_wished_at=Now()):
        turns.wish_for_jobs(row.cluster)
    waiting.update(result=PairTest.Result.MISSING)
    move(row, "cancelled", by=by, columns={"ended_at": Now()}, cluster_name=row.cluster.name)
