"""When the operation that holds a cluster is over, and what is written when it is."""

from datetime import datetime, timedelta
from typing import Any

from django.db.models.functions import Now

from clusters import foresight, possible, states
from clusters.actions import changes, locks
from clusters.engine import orders, turns
from clusters.engine.facts import ENGINE, Known
from clusters.models import Cluster, ExternalObject, NodeOrder, Operation, Revision
from tenants.history import timeline
from tenants.work import due

TOO_LONG, LEAST_BUDGET = 4, timedelta(hours=1)  # so many times the usual time, and never less than that
LEADS_TO_READY = frozenset({"create", "change", "software"})
RESCUES = frozenset({"continue", "rollback"})
ROLLED_BACK = ("ROLLBACK_COMPLETE", "UPDATE_ROLLBACK_COMPLETE")


def close(
    cluster: Cluster, known: Known, looked: Any, todo: Any, verdict: Any, outcome: Any, progress: orders.Progress
) -> None:
    """In the transaction of the step, after everything else was written."""
    operation = known.operation
    if operation is None:
        return
    operation = Operation.objects.select_for_update().get(pk=operation.pk)
    if operation.state != "running" or operation.generation > cluster.generation:
        return
    known.operation = operation
    _wait_for_the_owner(cluster, operation, _denied(looked, outcome))
    if outcome is not None and (outcome.call.verb == "order" or outcome.call.verb in RESCUES):
        _answered(cluster, known, operation, outcome)
        return
    orders.follow(known, looked.seen)
    if operation.kind == "delete":
        if verdict.state == "deleted":
            locks.end(operation, cluster, "done", by=ENGINE)
    elif verdict.lost:
        return
    elif operation.kind in RESCUES:
        _after_a_rescue(cluster, operation, looked)
    elif operation.kind in orders.ORDERS - LEADS_TO_READY:
        _after_an_order(cluster, operation, progress)
    elif progress.failed:
        locks.end(operation, cluster, "failed", by=ENGINE, why=progress.failed)
    elif _put_back(looked) and operation.cancel_wished_at:
        changes.go_back(operation, cluster, by=operation.asked_by, why=operation.reason)
        turns.wish(cluster)
    elif verdict.state == "failed" or (verdict.needs_person and not _may_pass(operation, outcome)):
        locks.end(operation, cluster, "failed", by=ENGINE, why=verdict.needs_person or verdict.why)
    elif verdict.state == "ready":
        locks.end(operation, cluster, "done", by=ENGINE)
    elif too_long(operation, known.now) and not verdict.waits:
        _stop(cluster, operation, known.now)


def too_long(operation: Operation, now: datetime) -> bool:
    """Several times what such a thing takes. Not while the account's owner is waited for."""
    if (
        operation.started_at is None
        or operation.denied_since
        or operation.cancel_wished_at
        or not operation.usual_minutes
    ):
        return False
    budget = max(timedelta(minutes=operation.usual_minutes * TOO_LONG), LEAST_BUDGET)
    return now - operation.started_at > budget


def _stop(cluster: Cluster, operation: Operation, now: datetime) -> None:
    """What the engine can stop is told to stop; of the rest the cluster is let go, so that somebody can do something else."""
    minutes = int((now - (operation.started_at or now)).total_seconds() // 60)
    why = f"It has taken {minutes} minutes, where {operation.usual_minutes} are usual."
    if possible.refusal(possible.of(cluster), "give_up") is None:
        changes.give_up(cluster=cluster, by=ENGINE, why=f"{why} Cohort stops it.")
        return
    way = "Retire the cluster, or wait on your own account: Cohort goes on looking."
    locks.end(operation, cluster, "failed", by=ENGINE, why=f"{why} Cohort counts it as failed. {way}")


def _may_pass(operation: Operation, outcome: Any) -> bool:
    """A creation goes on as long as it has not failed; a closed door may open without anybody asking again."""
    denied = outcome is not None and outcome.error is not None and outcome.error.kind == "denied"
    return denied or operation.kind == "create"


def _denied(looked: Any, outcome: Any) -> str:
    """The provider's sentence when the account did not let us in, or not do what was to be done."""
    errors = [*looked.errors.values(), *([outcome.error] if outcome is not None and outcome.error else [])]
    return next((error.message for error in errors if error.kind == "denied"), "")


def _wait_for_the_owner(cluster: Cluster, operation: Operation, denied: str) -> None:
    """A closed door is no failure of the change: it is told once, and once that it opened again."""
    if bool(denied) == (operation.denied_since is not None):
        return
    Operation.objects.filter(pk=operation.pk).update(denied_since=Now() if denied else None)
    told = {"what": operation.kind_word, "name": cluster.name, "account": cluster.account.account_id}
    if denied:
        timeline.record(states.OPERATION_WAITS, about=operation, by=ENGINE, why=denied, **told)
        # The account's own page is to say the same, and not only after its next turn.
        due.wish("account", cluster.account_id, tenant=cluster.tenant_id, lane=cluster.account.lane())
    else:
        timeline.record(states.OPERATION_GOES_ON, about=operation, by=ENGINE, **told)


def _after_a_rescue(cluster: Cluster, operation: Operation, looked: Any) -> None:
    """It is over when the part came to rest: rolled back, or stopped once more, which is another failed try."""
    seen = looked.seen.get((operation.body or {}).get("part", "base"))
    if seen is None or seen.phase in ("busy", "deleting"):
        return
    if seen.phase == "ready" or seen.status in ROLLED_BACK:
        locks.end(operation, cluster, "done", by=ENGINE)
    elif operation.sent_at is not None:
        locks.end(operation, cluster, "failed", by=ENGINE, why=seen.reason)


def _put_back(looked: Any) -> bool:
    return any(seen.put_back for seen in looked.seen.values())


def _answered(cluster: Cluster, known: Known, operation: Operation, outcome: Any) -> None:
    """What the provider said to an order. Where nothing happened it may be sent again; where that is unclear: never."""
    error = outcome.error
    if error is not None and error.kind in ("throttled", "expired", "denied"):
        Operation.objects.filter(pk=operation.pk).update(sent_at=None)
        return
    if error is not None and error.kind == "unclear" and operation.kind in ("software", *RESCUES):
        return  # the next look tells whether it was taken
    if error is not None:
        locks.end(operation, cluster, "failed", by=ENGINE, why=error.message)
        return
    if operation.kind in RESCUES:
        return
    orders.answered(cluster, known, outcome.ordered)
    if operation.kind == "remove":
        _fewer(cluster, known, operation)
    if operation.kind != "software" and not any(order.result in orders.OPEN for order in known.orders):
        locks.end(operation, cluster, "failed", by=ENGINE, why="The provider took none of the nodes.")


def _fewer(cluster: Cluster, known: Known, operation: Operation) -> None:
    """Nodes that were taken away for good are taken out of the configuration too, or the next update would bring them back."""
    gone = orders.gone_by_order(known)
    if not gone:
        return
    document = known.configuration.document()
    document["instance_groups"] = [
        {**group, "count": group["count"] - gone.get(group["name"], 0)} for group in document["instance_groups"]
    ]
    wish = foresight.read_configuration(document)
    number = known.revision + 1
    Revision.objects.create(
        tenant_id=cluster.tenant_id, cluster=cluster, number=number, body=wish.document(), author=operation.asked_by,
        reason=operation.reason,
    )  # fmt: skip
    changes.next_generation(cluster, **changes.sizes(wish))
    cluster.refresh_from_db()
    Operation.objects.filter(pk=operation.pk).update(revision=number, generation=cluster.generation)
    # The provider's own count went down with the nodes, so there is nothing left to ask for.
    fresh = known.wished_digest_of(wish, "cluster")
    ExternalObject.objects.filter(cluster=cluster, role="cluster").update(body_sha256=fresh)


def _after_an_order(cluster: Cluster, operation: Operation, progress: orders.Progress) -> None:
    if progress.sentence or operation.sent_at is None:
        return
    refused = NodeOrder.objects.filter(operation=operation, result__in=("refused", "unclear")).count()
    why = f"{refused} of {progress.of} nodes were not taken." if refused else ""
    locks.end(operation, cluster, "done", by=ENGINE, why=why)
