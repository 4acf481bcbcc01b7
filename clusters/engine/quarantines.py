"""Whether the nodes of one cluster have failed so often that jobs should be kept away: read what was seen, decide, write."""

from collections import defaultdict
from collections.abc import Iterator
from datetime import timedelta
from uuid import UUID

from django.utils import timezone

from clusters.actions import quarantine as acting
from clusters.engine.facts import ENGINE
from clusters.engine.usage_facts import by_name, found_by, scheduler_name
from clusters.jobs import quarantining
from clusters.jobs.quarantining import Fault
from clusters.models import Alert, Cluster, JobRun, Node, NodeInstance, NodeSpell, Quarantine
from tenants import programme_settings
from tenants.wall.acting import acting_for
from tenants.work import due

NODE_FAIL = "NODE_FAIL"


def step(held: due.Held) -> None:
    with acting_for(held.tenant_id, staff=True):
        row = Cluster.objects.select_for_update(of=("self",)).filter(pk=held.ref).first()
        due.finish(held, again_in=None)
        if row is not None and row.wanted:
            judge(row)


def judge(row: Cluster) -> list[Quarantine]:
    """Hold what failed too often, and let go of seats in which another instance sits; within the scope."""
    nodes = list(Node.objects.filter(cluster=row, role="compute").exclude(instance_id=""))
    held = {one.node_id: one for one in Quarantine.objects.filter(cluster=row, lifted_at=None)}
    for node in nodes:
        before = held.get(node.pk)
        if before is not None and before.instance_id != node.instance_id:
            acting.lift(held=before, by=ENGINE, reason=acting.REPLACED)
            del held[node.pk]
    now, rule = timezone.now(), rule_now()
    found = []
    for node, faults in faults_of(row, nodes, rule.window).items():
        evidence = quarantining.condemned(faults, now, rule)
        there = node.pk not in held and node.state not in ("gone", "replacing", "pending")
        if evidence and there and not _forgiven(node, evidence):
            found.append(acting.hold_node(node=node, by=ENGINE, reason=acting.FAILED_OFTEN, evidence=evidence))
    return found


def kept_away(row: Cluster) -> tuple[str, ...]:
    """The names under which the cluster's scheduler knows the nodes that no new job should meet."""
    rows = Quarantine.objects.filter(cluster=row, lifted_at=None).select_related("node")
    return tuple(sorted(scheduler_name(one.node) for one in rows if one.node.instance_id == one.instance_id))


def _forgiven(node: Node, evidence: list[Fault]) -> bool:
    """Somebody let it back after these very faults: it takes a new one to hold it again."""
    last = Quarantine.objects.filter(node=node, instance_id=node.instance_id).exclude(lifted_at=None)
    lifted = last.order_by("-lifted_at").values_list("lifted_at", flat=True).first()
    return lifted is not None and evidence[-1].at <= lifted


def rule_now() -> quarantining.Rule:
    """As the programme's office has it."""
    told = programme_settings.programme()
    days, minutes = timedelta(days=told.quarantine_days), timedelta(minutes=told.quarantine_event_minutes)
    return quarantining.Rule(told.quarantine_strikes, days, minutes)


def faults_of(row: Cluster, nodes: list[Node], window: timedelta) -> dict[Node, list[Fault]]:
    """What was seen of each instance since it sits in its seat, within the window."""
    since = timezone.now() - window - timedelta(days=1)
    stays = NodeInstance.objects.filter(node__in=nodes, sat_until=None).values_list(
        "node_id", "instance_id", "sat_from"
    )
    sat_from = {(node, instance): at for node, instance, at in stays}
    found: dict[Node, list[Fault]] = defaultdict(list)
    names, by_id = by_name(nodes), {node.pk: node for node in nodes}
    told = [*_impaired(by_id, since), *_alerts(row, names, since), *_lost(row, names, since)]
    for node, fault in told:
        if fault.at >= sat_from.get((node.pk, node.instance_id), fault.at):
            found[node].append(fault)
    return found


def _impaired(nodes: dict[UUID, Node], since: object) -> Iterator[tuple[Node, Fault]]:
    rows = NodeSpell.objects.filter(node__in=list(nodes), word="impaired", began_at__gte=since)
    for pk, at in rows.values_list("node_id", "began_at"):
        yield nodes[pk], Fault(at, "impaired", nodes[pk].engine_status)


def _alerts(row: Cluster, names: dict[str, Node], since: object) -> Iterator[tuple[Node, Fault]]:
    rows = Alert.objects.filter(cluster=row, name__in=sorted(quarantining.ALERTS), starts_at__gte=since).exclude(
        node=""
    )
    for alert in rows:
        for node in found_by([alert.node.rpartition(":")[0] or alert.node, alert.node], names)[:1]:
            yield node, Fault(alert.starts_at, "alert", f"{alert.name}: {alert.summary}"[:200])


def _lost(row: Cluster, names: dict[str, Node], since: object) -> Iterator[tuple[Node, Fault]]:
    """Runs that their scheduler ended because a node failed: of several nodes it does not say which, so one must be all."""
    rows = JobRun.objects.filter(cluster=row, engine_state__contains=NODE_FAIL, counted_until__gte=since)
    for run in rows:
        if len(run.node_names) == 1 and run.counted_until is not None:
            for node in found_by(run.node_names, names):
                yield node, Fault(run.counted_until, "job", f"{run.name} {run.engine_state}"[:200])
