"""Writes about quarantine: keep jobs away from a node, let it back."""

from collections.abc import Sequence

from django.db.models.functions import Now
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from clusters import states
from clusters.engine import turns
from clusters.jobs.quarantining import Fault
from clusters.models import Node, Quarantine
from tenants.history import timeline
from tenants.web.problems import Refused

REPLACED = gettext_noop("another instance sits there now")
FAILED_OFTEN = gettext_noop("it failed again and again")
FAILED_PAIRS = gettext_noop("it failed with nodes that are well")
PASSED = gettext_noop("it passed the pair tests")


def hold_node(*, node: Node, by: str, reason: str, evidence: Sequence[Fault] = ()) -> Quarantine:
    """Keep new jobs away from what sits in this seat now; jobs that run on it are left alone."""
    row = Node.objects.select_for_update(of=("self",)).select_related("cluster").get(pk=node.pk)
    reason = reason.strip()
    if not reason:
        raise Refused("untold", _("Say why in a few words; it stands in the history."), status=422, field="why")
    if row.role != "compute" or not row.instance_id or row.state == "gone":
        raise Refused(
            "nobody_there",
            _("%(node)s is no compute node with an instance in it now; jobs do not go there.") % {"node": row.name},
            status=422,
        )
    if Quarantine.objects.filter(node=row, lifted_at=None).exists():
        raise Refused("held", _("%(node)s is in quarantine already.") % {"node": row.name})
    held = Quarantine.objects.create(
        tenant_id=row.tenant_id,
        cluster_id=row.cluster_id,
        node=row,
        instance_id=row.instance_id,
        began_at=Now(),
        reason=reason[:300],
        evidence=[fault.kept() for fault in evidence],
        strikes=len(evidence),
        held_by=by,
    )
    timeline.record(
        states.QUARANTINED, about=held, by=by, node=row.name, instance=row.instance_id, what=reason[:300],
        strikes=len(evidence), evidence=[fault.kept() for fault in evidence],
    )  # fmt: skip
    turns.wish_for_count(row.cluster)
    return held


def lift(*, held: Quarantine, by: str, reason: str) -> None:
    """Let jobs go there again."""
    row = Quarantine.objects.select_for_update(of=("self",)).select_related("node", "cluster").get(pk=held.pk)
    reason = reason.strip()
    if not reason:
        raise Refused("untold", _("Say why in a few words; it stands in the history."), status=422, field="why")
    if row.lifted_at is not None:
        raise Refused("lifted", _("%(node)s is not in quarantine any more.") % {"node": row.node.name})
    Quarantine.objects.filter(pk=row.pk).update(lifted_at=Now(), lifted_by=by, lifted_because=reason[:300])
    timeline.record(states.LET_BACK, about=row, by=by, node=row.node.name, instance=row.instance_id, what=reason[:300])
    turns.wish_for_count(row.cluster)
