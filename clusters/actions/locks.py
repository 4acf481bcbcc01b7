"""One operation at a time on each cluster: taking hold of it, saying who does, and letting go."""

from typing import Any

from django.db.models.functions import Now
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from clusters import states
from clusters.actions import holding
from clusters.models import Cluster, ExternalObject, NodeOrder, Operation
from tenants.history import timeline
from tenants.history.moves import move
from tenants.queries import actor_names
from tenants.web.problems import Refused


def held(cluster: Cluster) -> Operation | None:
    """The open operation."""
    return Operation.objects.filter(cluster=cluster, state__in=states.OPEN).first()


def refuse_while_held(cluster: Cluster) -> None:
    """Raises Refused("busy") with who holds it, for what, since when. The cluster is locked by the caller."""
    found = held(cluster)
    if found is None:
        return
    who = actor_names({found.asked_by}).get(found.asked_by, found.asked_by)
    since = found.started_at or found.created_at
    values = {
        "who": who,
        "what": found.get_kind_display(),
        "name": cluster.name,
        "since": date_format(timezone.localtime(since), "DATETIME_FORMAT"),
    }
    if found.state == "waiting":
        sentence = _(
            "%(who)s asked for the %(what)s of %(name)s on %(since)s, and it waits for an approval. Have it approved or "
            "withdrawn first."
        )
    else:
        sentence = _(
            "The %(what)s of %(name)s, asked for by %(who)s, is under way since %(since)s. One thing at a time: wait "
            "until it is done, or stop it."
        )
    raise Refused("busy", sentence % values, operation=str(found.pk), kind=found.kind, by=found.asked_by, since=since)


def take(cluster: Cluster, kind: str, *, by: str, reason: str = "", **columns: Any) -> Operation:
    """Hold the cluster for this. Raises Refused("busy"). The cluster is locked by the caller."""
    refuse_while_held(cluster)
    return Operation.objects.create(
        tenant_id=cluster.tenant_id, cluster=cluster, kind=kind, asked_by=by, reason=reason[:300], **columns
    )


def begin(operation: Operation, cluster: Cluster, *, by: str, **columns: Any) -> None:
    """It waits no longer; `columns` say what it leads to."""
    columns = {"started_at": Now(), "body": None, **columns}
    move(operation, "running", by=by, columns=columns, what=operation.kind_word, name=cluster.name)


def end(operation: Operation, cluster: Cluster, to: str, *, by: str, why: str = "") -> None:
    """Let go: done, failed or cancelled. What its parts were when it failed is kept with it."""
    columns: dict[str, Any] = {"ended_at": Now(), "outcome": why}
    if to == "failed":
        columns["evidence"] = evidence(cluster)
    move(operation, to, by=by, columns=columns, what=operation.kind_word, name=cluster.name, why=why)
    NodeOrder.objects.filter(operation=operation, result__in=("wished", "accepted", "away")).update(
        result=NodeOrder.Result.UNCLEAR, message=why
    )
    holding.settle(cluster, by=by, operation=operation, why=why)


def evidence(cluster: Cluster) -> list[dict[str, Any]]:
    """Every part as it is now, with what its rollback stopped at and what its nodes said last: a later try wipes it out."""
    fields = ("role", "name", "external_id", "state", "status", "reason", "stuck", "lines")
    return list(ExternalObject.objects.filter(cluster=cluster).order_by("position").values(*fields))


def asked(operation: Operation, cluster: Cluster, *, by: str, on_behalf_of: str = "") -> None:
    timeline.record(
        states.OPERATION_ASKED,
        about=operation,
        by=by,
        on_behalf_of=on_behalf_of,
        what=operation.kind_word,
        name=cluster.name,
        why=operation.reason,
        plan=operation.plan_digest,
    )
