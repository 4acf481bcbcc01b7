"""Writes about usage: a month is said to be counted wrong, that is settled; nodes are lent and taken back."""

from datetime import date
from decimal import Decimal
from typing import Any

from django.db.models.functions import Now
from django.utils.translation import gettext as _

from clusters import states
from clusters.accounting import accelerator_hours, usage
from clusters.actions import changes
from clusters.engine import turns
from clusters.models import Cluster, Lending, Node, UsageDispute
from tenants.history import timeline
from tenants.history.moves import move
from tenants.web.problems import Refused, Stale


def dispute_usage(
    *, cluster: Cluster, month: date, reason: str, by: str, claimed_hours: Decimal | None = None
) -> UsageDispute:
    """Say that a month is counted wrong. What was shown then is kept, and somebody of the office gets a case."""
    cluster = changes.newest(cluster, None)
    reason = _told(reason, "reason")
    shown = usage.month_of_cluster(cluster, month)
    if shown is None:
        raise Refused(
            "nothing_counted",
            _("Nothing is counted for %(name)s in %(month)s, so there is nothing to dispute. Choose another month.")
            % {"name": cluster.name, "month": f"{month:%Y-%m}"},
            status=422,
            field="month",
        )
    if UsageDispute.objects.filter(cluster=cluster, month=shown.month, state="open").exists():
        raise Refused("disputed", _("This month is disputed already; its case says what is being done about it."))
    row = UsageDispute.objects.create(
        tenant_id=cluster.tenant_id,
        cluster=cluster,
        month=shown.month,
        reason=reason,
        claimed_hours=claimed_hours,
        reserved_then=shown.reserved,
        used_then=shown.used,
        disputed_by=by,
        disputed_at=Now(),
    )
    timeline.record(
        states.USAGE_DISPUTED, about=row, by=by, why=reason, cluster_name=cluster.name, month=f"{shown.month:%Y-%m}",
        used=_hours(shown.used), reserved=_hours(shown.reserved), claimed=None if claimed_hours is None else str(claimed_hours),
    )  # fmt: skip
    return row


def settle_dispute(
    *, dispute: UsageDispute, answer: str, settled_hours: Decimal, by: str, version: int | None = None
) -> UsageDispute:
    """Say which hours hold, and why. What was counted before stays beside it."""
    row = UsageDispute.objects.select_for_update(of=("self",)).select_related("cluster").get(pk=dispute.pk)
    if version is not None and row.version != version:
        raise Stale("stale", _("Somebody changed this meanwhile. Look at it again."), status=409, version=row.version)
    if row.state != "open":
        raise Refused("settled", _("This is settled already: %(hours)s hours hold.") % {"hours": row.settled_hours})
    answer = _told(answer, "answer")
    move(
        row, "settled", by=by,
        columns={"answer": answer, "settled_hours": settled_hours, "answered_by": by, "answered_at": Now()},
        why=answer, cluster_name=row.cluster.name, month=f"{row.month:%Y-%m}", before=_hours(row.used_then),
        after=str(settled_hours),
    )  # fmt: skip
    return UsageDispute.objects.get(pk=row.pk)


def lend_nodes(*, cluster: Cluster, nodes: int, borrower: str, reason: str, by: str) -> Lending:
    """From now on so many nodes are somebody else's, until they are taken back."""
    cluster = changes.newest(cluster, None)
    borrower, reason = _told(borrower, "borrower"), _told(reason, "reason")
    there = Node.objects.filter(cluster=cluster, role="compute", accelerators__gt=0).exclude(state="gone").count()
    if not 1 <= nodes <= there:
        raise Refused(
            "lend_nodes",
            _("You asked to lend %(asked)s nodes; %(name)s has %(there)s with accelerators. Lend 1 to %(there)s.")
            % {"asked": nodes, "name": cluster.name, "there": there},
            status=422,
            field="nodes",
            asked=nodes,
            allowed=there,
        )
    if (before := Lending.objects.filter(cluster=cluster, ends_at=None).first()) is not None:
        raise Refused("lent", _("Nodes are lent to %(who)s already; take them back first.") % {"who": before.borrower})
    row = Lending.objects.create(
        tenant_id=cluster.tenant_id, cluster=cluster, nodes=nodes, borrower=borrower, reason=reason, begins_at=Now(),
        lent_by=by,
    )  # fmt: skip
    timeline.record(
        states.LENT, about=row, by=by, nodes=nodes, borrower=borrower, cluster_name=cluster.name, why=reason
    )
    turns.wish_for_count(cluster)
    return row


def take_back(*, cluster: Cluster, by: str, why: str = "") -> Lending:
    """The nodes that were lent are the cluster's own again."""
    cluster = changes.newest(cluster, None)
    row = Lending.objects.select_for_update().filter(cluster=cluster, ends_at=None).first()
    if row is None:
        raise Refused("not_lent", _("No node of %(name)s is lent.") % {"name": cluster.name})
    Lending.objects.filter(pk=row.pk).update(ends_at=Now(), taken_back_by=by)
    timeline.record(
        states.TAKEN_BACK, about=row, by=by, nodes=row.nodes, borrower=row.borrower, cluster_name=cluster.name, why=why
    )
    turns.wish_for_count(cluster)
    return row


def _told(text: str, field: str) -> str:
    cleaned = text.strip()
    if not cleaned:
        raise Refused("untold", _("Say why in a few words; it stands in the history."), status=422, field=field)
    return cleaned


def _hours(seconds: int | None) -> Any:
    found = accelerator_hours.hours(seconds)
    return None if found is None else str(found)
