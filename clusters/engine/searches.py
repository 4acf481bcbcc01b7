"""One step of a search: read what the pairs of this round came to, plan the next round, or say what is known."""

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone

from clusters import states
from clusters.actions import quarantine
from clusters.actions.searches import busy_nodes, image_for_pairs
from clusters.engine import names, turns
from clusters.engine.facts import ENGINE
from clusters.engine.usage_facts import scheduler_name
from clusters.jobs import pair_scripts, pairs
from clusters.jobs.pairs import Told
from clusters.jobs.quarantining import Fault
from clusters.models import Job, Node, NodeSearch, PairTest, Quarantine, Revision, SearchedNode
from tenants.history.moves import move
from tenants.wall.acting import acting_for
from tenants.work import due

LOOK = timedelta(seconds=5)
# So long a pair may wait for its nodes and run; a node that takes no job, drained or down, gives no answer.
PATIENCE = timedelta(minutes=pair_scripts.MINUTES + 5)


def step(held: due.Held) -> None:
    """Never touches a node on which a job runs: whoever got one meanwhile is left out of the next round."""
    with acting_for(held.tenant_id, staff=True):
        search = (
            NodeSearch.objects.select_for_update(of=("self",))
            .select_related("cluster__account")
            .filter(pk=held.ref, state="running")
            .first()
        )
        if search is None:
            due.finish(held, again_in=None)
            return
        waiting = _read_answers(search)
        over = not waiting and not _next_round(search)
        due.finish(held, again_in=None if over else LOOK)
        if over:
            _conclude(search)


def _read_answers(search: NodeSearch) -> bool:
    """Write down what has ended; whether something is still awaited."""
    waiting = False
    late = timezone.now() - PATIENCE
    for test in PairTest.objects.filter(search=search, result="waiting").select_related("job"):
        result = _result(test.job)
        if not result and test.created_at < late:
            result = "missing"
            Job.objects.filter(pk=test.job_id, cancel_wished_at=None).update(cancel_wished_at=Now())
            turns.wish_for_jobs(search.cluster)
        if result:
            told = test.job.reason or test.job.engine_state
            PairTest.objects.filter(pk=test.pk).update(result=result, told=told[:200])
        waiting = waiting or not result
    return waiting


def _result(job: Job) -> str:
    """What the end of its job says of a pair; empty while it has none. Only a test that ran says anything."""
    if job.state not in states.JOB_ENDS:
        return ""
    if job.state == "succeeded":
        return "passed"
    ran = job.started_at is not None and job.state in ("failed", "timed_out")
    return "failed" if ran and job.exit_code != pair_scripts.NOT_HERE else "missing"


def _told(search: NodeSearch) -> tuple[list[str], list[Told]]:
    nodes = [
        str(pk)
        for pk in SearchedNode.objects.filter(search=search).order_by("node__seat").values_list("node_id", flat=True)
    ]
    tests = PairTest.objects.filter(search=search).exclude(result="waiting").order_by("round", "created_at", "pk")
    return nodes, [
        Told((str(left), str(right)), result)  # type: ignore[arg-type]
        for left, right, result in tests.values_list("left_id", "right_id", "result")
    ]


def _next_round(search: NodeSearch) -> bool:
    """Launch the pairs of the next round; whether there were any."""
    everybody, told = _told(search)
    rows = {str(node.pk): node for node in Node.objects.filter(pk__in=everybody)}
    busy = {str(pk) for pk in busy_nodes(search.cluster)}
    seats = dict(SearchedNode.objects.filter(search=search).values_list("node_id", "instance_id"))
    same = {key for key, node in rows.items() if node.instance_id == seats[node.pk]}
    free = [key for key in everybody if key in same - busy]
    planned = pairs.next_round(free, told, search.rounds)
    for left, right in planned:
        _launch(search, rows[left], rows[right])
    if planned:
        NodeSearch.objects.filter(pk=search.pk).update(rounds=F("rounds") + 1)
        turns.wish_for_jobs(search.cluster)
    return bool(planned)


def _launch(search: NodeSearch, left: Node, right: Node) -> None:
    row = search.cluster
    on_kubernetes, image = row.orchestrator == "hyperpod-eks", image_for_pairs(row)
    job = Job(
        tenant_id=row.tenant_id,
        cluster=row,
        name=f"pair {left.name} {right.name}"[:120],
        purpose=Job.Purpose.PROBE,
        script=(
            pair_scripts.in_pods(left.instance_type)
            if on_kubernetes
            else pair_scripts.script(left.instance_type, left.accelerators)
        ),
        nodes=2,
        partition=left.group,
        time_limit_minutes=pair_scripts.MINUTES,
        accelerators=left.accelerators + right.accelerators,
        pinned=[scheduler_name(left, row.orchestrator), scheduler_name(right, row.orchestrator)],
        image_digest=image.digest if on_kubernetes and image else "",
        configuration=Revision.objects.filter(cluster=row).order_by("-number").values_list("number", flat=True)[0],
        launched_by=ENGINE,
    )
    job.engine_name = names.job_name(settings.INSTALLATION_ID, job.pk, "pair")
    job.save(force_insert=True)
    PairTest.objects.create(
        tenant_id=row.tenant_id, search=search, job=job, round=search.rounds + 1, left=left, right=right
    )


def _conclude(search: NodeSearch) -> None:
    """Write each node's verdict; hold whom the pairs name for certain, let back whom they clear."""
    everybody, told = _told(search)
    rows = {str(one.node_id): one for one in SearchedNode.objects.filter(search=search).select_related("node")}
    words = {key: one.node.name for key, one in rows.items()}
    found = {key: pairs.verdict(key, told) for key in everybody}
    for key, one in found.items():
        failed, passed = ([words[other] for other in others] for others in (one.failed_with, one.passed_with))
        SearchedNode.objects.filter(pk=rows[key].pk).update(
            verdict=one.word, sure=one.sure, failed_with=failed, passed_with=passed
        )
        _act(rows[key], one, failed)
    chosen = pairs.named(everybody, told)
    columns: dict[str, Any] = {"ended_at": Now(), "outcome": ", ".join(words[key] for key in chosen)[:300]}
    move(
        search, "done", by=ENGINE, columns=columns, cluster_name=search.cluster.name, count=len(chosen),
        nodes=[f"{words[key]} ({found[key].sure})" for key in chosen] or None,
    )  # fmt: skip


def _act(one: SearchedNode, verdict: pairs.Verdict, failed: list[str]) -> None:
    node = one.node
    if node.instance_id != one.instance_id:
        return
    held = Quarantine.objects.filter(node=node, lifted_at=None).first()
    if verdict.word == "named" and verdict.sure == "certain" and held is None:
        evidence = [Fault(timezone.now(), "pairs", other) for other in failed]
        quarantine.hold_node(node=node, by=ENGINE, reason=quarantine.FAILED_PAIRS, evidence=evidence)
    if verdict.word == "cleared" and held is not None:
        quarantine.lift(held=held, by=ENGINE, reason=quarantine.PASSED)
