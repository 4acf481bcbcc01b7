"""Writes about a whole cluster: request it, approve it, retire it, try again."""

from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F
from django.db.models.functions import Now
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from clusters import checking, foresight, states
from clusters.actions import agents, changes, holding, locks, software
from clusters.architectures.configuration import Configuration
from clusters.budgets import actions as budgets
from clusters.engine import turns
from clusters.models import Bucket, CloudAccount, Cluster, Job, Operation, Revision
from tenants import participating
from tenants.history import timeline
from tenants.history.moves import move
from tenants.models import ApiToken, Participation, Person
from tenants.web.problems import Refused, rule_broken
from tenants.work import due


def request_cluster(
    *,
    participation: Participation,
    account: CloudAccount,
    name: str,
    body: Any,
    by: str,
    reason: str = "",
    on_behalf_of: str = "",
) -> Cluster:
    """Ask for a cluster. Raises Refused("preflight") with all findings, Refused("name_taken").

    Two requests at once wait for each other at the account, so that a quota is never promised twice.
    """
    participating.refuse_unless_permitted(participation, participating.CLUSTERS)
    account = CloudAccount.objects.select_for_update().get(pk=account.pk)
    checked = checking.check(account=account, name=name, body=body)
    wish = checking.refuse_unless_it_fits(checked)
    if not name:
        raise Refused("name_missing", _("Give the cluster a name."), status=422)
    not_set = holding.refuse_unless_granted(participation.pk, wish)
    budgets.refuse_at_limit(participation, wish)
    cluster, operation = keep_wish(
        participation=participation,
        account=account,
        name=name,
        wish=wish,
        by=by,
        reason=reason,
        on_behalf_of=on_behalf_of,
    )
    if not_set:
        timeline.record(states.GRANT_NOT_SET, about=cluster, by=by, name=name, types=not_set, region=wish.region)
    if not operation.second_person:
        _approved(cluster, operation, by="engine")
    return cluster


def keep_wish(
    *,
    participation: Participation,
    account: CloudAccount,
    name: str,
    wish: Configuration,
    by: str,
    reason: str = "",
    on_behalf_of: str = "",
    at: datetime | None = None,
    **facts: Any,
) -> tuple[Cluster, Operation]:
    """Write down what is wanted, and that it holds its capacity from now on. Whether it fits is the caller's to ask; nothing
    is made of it before it is approved. Raises Refused("name_taken")."""
    cluster = _new_cluster(participation, account, name, wish, by)
    Revision.objects.create(
        tenant_id=cluster.tenant_id, cluster=cluster, number=1, body=wish.document(), author=by, reason=reason[:300]
    )
    if wish.storage.bucket:
        Bucket.objects.create(tenant_id=cluster.tenant_id, cluster=cluster, name=wish.storage.bucket)
    software.follow(cluster, wish, 1, by=by)
    timeline.record(
        states.CLUSTER_WISHED,
        about=cluster,
        by=by,
        at=at,
        on_behalf_of=on_behalf_of,
        name=name,
        summary=summary(wish),
        revision=1,
        **facts,
    )
    operation = changes.hold_for_creation(cluster, by=by, reason=reason)
    holding.settle(cluster, by=by, operation=operation, why=reason)
    return cluster, operation


def _new_cluster(
    participation: Participation, account: CloudAccount, name: str, wish: Configuration, by: str
) -> Cluster:
    try:
        with transaction.atomic():
            return Cluster.objects.create(
                tenant_id=participation.tenant_id,
                participation=participation,
                account=account,
                name=name,
                architecture=wish.architecture,
                architecture_version=wish.version,
                orchestrator=wish.made_of().label,
                region=wish.region,
                az_id=wish.az_id,
                requested_by=by,
                reach=wish.reach,
                **changes.sizes(wish),
            )
    except IntegrityError as error:
        if rule_broken(error) != "cluster_name_per_tenant":
            raise
        raise Refused(
            "name_taken", _("You already have a cluster named '%(name)s'; choose another name.") % {"name": name}
        ) from None


def look_for_leftovers(*, cluster: Cluster, by: str, why: str = "", version: int | None = None) -> None:
    """Look in the account again for what is left of a deleted cluster. While that is awaited, once is enough."""
    cluster = changes.newest(cluster, version)
    changes.refuse_unless_possible(cluster, "look_again")
    timeline.record(states.LEFT_OVER_ASKED, about=cluster, by=by, name=cluster.name, why=why)
    due.wish("leftovers", cluster.pk, tenant=cluster.tenant_id, lane=cluster.lane)


def summary(wish: Configuration) -> str:
    """What was asked for in a few words, e.g. `20 × p5.48xlarge + 1 × m5.8xlarge in ap-northeast-1`."""
    counts = sorted(wish.counts().items(), key=lambda pair: -pair[1])
    return " + ".join(f"{count} × {kind}" for kind, count in counts) + f" in {wish.region}"


def approve_cluster(*, cluster: Cluster, person: Person, by: str, version: int | None = None, plan: str = "") -> None:
    """Agree to what somebody else asked for: a new cluster, or a change of one. `plan` is the digest that was looked at.

    Raises Refused: own_request, not_waiting, plan_changed, jobs_running.
    """
    cluster = changes.newest(cluster, version)
    operation = locks.held(cluster)
    if operation is None and cluster.state == "requested":  # asked for before operations were kept
        operation = changes.hold_for_creation(cluster, by=cluster.requested_by, reason="")
    if operation is None or operation.state != "waiting":
        if _asked_for(cluster, person):
            raise _own_request()
        raise Refused(
            "not_waiting", _("This cluster is not waiting for an approval; it is %(state)s.") % {"state": cluster.state}
        )
    planned = changes.approve_operation(operation=operation, cluster=cluster, person=person, by=by, plan=plan)
    if changes.costs_more(planned):
        wish = foresight.read_configuration(operation.body) if operation.kind == Operation.Kind.CHANGE else None
        budgets.refuse_at_limit(cluster.participation, wish, cluster)
    if operation.kind == Operation.Kind.CREATE:
        _approved(cluster, operation, by=by)
    else:
        changes.start_change(operation, cluster, foresight.read_configuration(operation.body), by=by)


def _own_request() -> Refused:
    return Refused(
        "own_request", _("You asked for this cluster yourself; somebody else has to approve it."), status=403
    )


def _asked_for(cluster: Cluster, person: Person) -> bool:
    """Whether the person asked for it, also by a program with one of the own tokens."""
    word, _sep, pk = cluster.requested_by.partition(":")
    own_token = word == "token" and ApiToken.objects.filter(pk=pk, person=person).exists()
    return own_token or cluster.requested_by == person.actor


def _approved(cluster: Cluster, operation: Operation, *, by: str) -> None:
    move(cluster, "approved", by=by, columns={"approved_by": by, "approved_at": Now()}, name=cluster.name)
    locks.begin(operation, cluster, by=by, generation=cluster.generation)
    agents.equip(cluster, by=by)
    turns.wish(cluster)


def retire_cluster(*, cluster: Cluster, by: str, why: str, version: int | None = None) -> None:
    """Wish that it be gone. The row stays until everything of it is seen gone. It overtakes whatever else is under way."""
    cluster = changes.newest(cluster, version)
    changes.refuse_unless_possible(cluster, "retire")
    running = Job.objects.filter(cluster=cluster, state__in=states.JOB_LIVE, purpose=Job.Purpose.TRAINING).count()
    if running:
        sentence = ngettext(
            "%(n)s job is still running on it. Cancel it first.",
            "%(n)s jobs are still running on it. Cancel them first.",
            running,
        )
        raise Refused("jobs_running", sentence % {"n": running}, jobs=running)
    under_way = locks.held(cluster)
    if under_way is not None:
        locks.end(under_way, cluster, "cancelled", by=by, why=why)
    operation = changes.hold_for_deletion(cluster, by=by, reason=why)
    Cluster.objects.filter(pk=cluster.pk).update(wanted=False, generation=F("generation") + 1, version=F("version") + 1)
    timeline.record(states.CLUSTER_RETIRED, about=cluster, by=by, name=cluster.name, why=why)
    agents.revoke(cluster, why=why, by=by)
    locks.begin(operation, cluster, by=by, generation=cluster.generation + 1)
    if cluster.state == "requested":
        move(cluster, "deleted", by=by, name=cluster.name)
        locks.end(operation, cluster, "done", by=by)
        return
    turns.wish(cluster)


def retry_cluster(*, cluster: Cluster, by: str, why: str = "", version: int | None = None) -> None:
    """Try again: a new generation of the same wish, held by an operation of its own; the failed one stays as it ended."""
    cluster = changes.newest(cluster, version)
    changes.refuse_unless_possible(cluster, "retry")
    changes.try_again(cluster, by=by, why=why)
    timeline.record(states.CLUSTER_RETRIED, about=cluster, by=by, name=cluster.name, why=why)
    turns.wish(cluster)
