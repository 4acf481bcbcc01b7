"""A stack that stopped on its way: go on with its rollback, without what cannot be mended, or roll it back."""

from collections.abc import Sequence

from django.utils.translation import gettext as _

from clusters import foresight, possible
from clusters.actions import changes, locks
from clusters.engine import turns
from clusters.models import Cluster, ExternalObject, Operation
from tenants.web.problems import Refused

MOST_SKIPPED = 100


def continue_rollback(
    *, cluster: Cluster, by: str, why: str, skip: Sequence[str] = (), version: int | None = None
) -> Operation:
    """Let the provider try again to put back what it could not, leaving out `skip`. Raises Refused: busy, nothing_stopped,
    not_stuck."""
    cluster = changes.newest(cluster, version)
    part = _stopped(cluster, "continue")
    known = [each["resource"] for each in part.stuck]
    strange = [name for name in skip if name not in known]
    if strange or len(skip) > MOST_SKIPPED:
        sentence = _("'%(asked)s' is none of what the rollback stopped at: %(known)s. Only those can be skipped.")
        values = {"asked": strange[0][:80] if strange else len(skip), "known": ", ".join(known) or "–"}
        raise Refused("not_stuck", sentence % values, status=422, field="skip")
    return _begun(cluster, Operation.Kind.CONTINUE, part, by=by, why=why, body={"skip": sorted(set(skip))})


def roll_back(*, cluster: Cluster, by: str, why: str, version: int | None = None) -> Operation:
    """Put back a creation or an update that stopped half-way. Raises Refused: busy, nothing_stopped."""
    cluster = changes.newest(cluster, version)
    part = _stopped(cluster, "rollback")
    return _begun(cluster, Operation.Kind.ROLLBACK, part, by=by, why=why, body={})


def _stopped(cluster: Cluster, call: possible.Rescue) -> ExternalObject:
    now = changes.refuse_unless_possible(cluster, call)
    found = possible.stopped(now, call)
    assert found is not None  # or it would not be possible
    return ExternalObject.objects.get(cluster=cluster, role=found.role)


def _begun(
    cluster: Cluster, kind: Operation.Kind, part: ExternalObject, *, by: str, why: str, body: dict[str, object]
) -> Operation:
    planned = foresight.of_rollback(cluster)
    plan = {"plan": foresight.kept(planned), "plan_digest": planned.digest} if planned else {}
    usual = foresight.minutes(cluster.orchestrator, "change").usual
    operation = locks.take(cluster, kind, by=by, reason=why, generation=cluster.generation, usual_minutes=usual, **plan)
    locks.asked(operation, cluster, by=by)
    told = {"part": part.role, "stuck": part.stuck, **body}
    locks.begin(operation, cluster, by=by, body=told)
    Cluster.objects.filter(pk=cluster.pk).update(needs_person="")
    turns.wish(cluster)
    return operation
