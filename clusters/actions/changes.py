"""Writes about clusters that are there: change them, agree to a change, give it up; one at a time, each by its plan."""

from typing import Any

from django.db.models import F
from django.db.models.functions import Now
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from clusters import checking, facts, foresight, possible, states
from clusters.actions import holding, locks, software
from clusters.architectures.configuration import Configuration
from clusters.budgets import actions as budgets
from clusters.engine import turns
from clusters.models import Bucket, CloudAccount, Cluster, ExternalObject, FileSystem, Operation, Revision
from clusters.plans.planning import ChangePlan
from tenants import participating
from tenants.history import timeline
from tenants.models import ApiToken, Person, Programme
from tenants.web.problems import Refused, Stale


def newest(cluster: Cluster, version: int | None = None) -> Cluster:
    """The locked row. Raises Stale when the form was made for an older one."""
    locked = Cluster.objects.select_for_update(of=("self",)).select_related("account").get(pk=cluster.pk)
    if version is not None and locked.version != version:
        raise Stale(
            "stale", _("This cluster was changed meanwhile. Look at it again, and repeat."), version=locked.version
        )
    return locked


def free_of_approval() -> int:
    programme = Programme.objects.first()
    return programme.approval_over_instances if programme else 0


def sizes(wish: Configuration) -> dict[str, Any]:
    """What lists, quotas and boards count of a configuration, as columns of its cluster."""
    known = facts.load()
    counts = wish.counts()
    accelerators = {kind: instance.accelerators for kind in counts if (instance := known.instance(kind))}
    accelerated = {kind: count for kind, count in counts.items() if accelerators.get(kind)}
    largest = max(accelerated or counts, key=lambda kind: (counts[kind], kind))
    return {
        "main_type": largest,
        "nodes_wanted": sum(counts.values()),
        "accelerated_wanted": sum(accelerated.values()),
        "accelerators_wanted": sum(accelerators[kind] * count for kind, count in accelerated.items()),
    }


def change_cluster(
    *,
    cluster: Cluster,
    body: Any,
    by: str,
    reason: str,
    version: int | None = None,
    plan: str = "",
    stop_jobs: bool = False,
    on_behalf_of: str = "",
    second_person: str = "",
) -> Operation:
    """Change what was applied. `plan` is the digest of the plan that the asker saw; with another one it is refused.
    `second_person`: why somebody has to agree to it, whatever it does.

    Raises Refused: busy, preflight, nothing_changes, not_possible, plan_changed, jobs_running, not_changeable.
    """
    cluster = newest(cluster, version)
    participating.refuse_unless_permitted(cluster.participation, participating.CLUSTERS)
    refuse_unless_possible(cluster, "change")
    CloudAccount.objects.select_for_update().get(pk=cluster.account_id)  # a quota is never promised twice
    checked = foresight.check_change(cluster, body)
    wish = checking.refuse_unless_it_fits(checked)
    _refuse_unless_storage_takes_it(cluster, wish)
    _refuse_another_place(cluster, wish)
    planned = foresight.of_change(cluster, checked)
    assert planned is not None
    if planned.empty and not planned.changes and wish == foresight.current(cluster):
        raise Refused("nothing_changes", _("Nothing is different from what the cluster is."), status=422)
    _refuse_unless_doable(planned, seen=plan, stop_jobs=stop_jobs)
    holding.refuse_unless_granted(cluster.participation_id, wish, cluster)
    if costs_more(planned):
        budgets.refuse_at_limit(cluster.participation, wish, cluster)
    second = second_person or planned.second_person(free_of_approval())
    operation = _taken(
        cluster, Operation.Kind.CHANGE, planned, by=by, reason=reason, stop_jobs=stop_jobs, body=wish.document(),
        second_person=second,
    )  # fmt: skip
    locks.asked(operation, cluster, by=by, on_behalf_of=on_behalf_of)
    if not operation.second_person:
        start_change(operation, cluster, wish, by=by)
    holding.settle(cluster, by=by, operation=operation, why=reason)
    return operation


def costs_more(planned: ChangePlan) -> bool:
    """Whether an hour of it costs more than before; of what is new it does."""
    return planned.before is None or planned.after.per_hour > planned.before.per_hour


def refuse_unless_possible(cluster: Cluster, deed: possible.Deed) -> possible.Situation:
    """Raises Refused with why it cannot be done now and what to do; who holds it is named. The cluster is locked."""
    now = possible.of(cluster)
    refused = possible.refusal(now, deed)
    if refused is not None and refused.code == "busy":
        locks.refuse_while_held(cluster)
    if refused is not None:
        raise refused
    return now


def _refuse_another_place(cluster: Cluster, wish: Configuration) -> None:
    """The way to the scheduler is no part of what is made, and never held up by an approval; in another namespace nobody
    would see the jobs that are there."""
    now = foresight.current(cluster)
    if now.kubernetes and wish.kubernetes and now.kubernetes.namespace != wish.kubernetes.namespace:
        sentence = _(
            "Jobs of %(name)s run in the namespace “%(old)s”, and it stays so (kubernetes.namespace: %(new)s): in another "
            "one nobody would see them. Name it as it is."
        ) % {"name": cluster.name, "old": now.kubernetes.namespace, "new": wish.kubernetes.namespace}
        raise Refused("namespace_stays", sentence, status=422, field="kubernetes.namespace")
    if wish.reach != now.reach:
        sentence = _(
            "How the scheduler is reached (reach: %(asked)s) is not changed with the configuration. Choose it on the "
            "cluster's page, or with POST …/reach/ in the API: it holds at once."
        )
        raise Refused("reach_elsewhere", sentence % {"asked": wish.reach}, status=422, field="reach")


def _refuse_unless_storage_takes_it(cluster: Cluster, wish: Configuration) -> None:
    """Only what is to be changed has to take it."""
    before = foresight.current(cluster).storage
    changed = {"lustre": before.lustre != wish.storage.lustre, "openzfs": before.openzfs != wish.storage.openzfs}
    for kind, mount, status in FileSystem.objects.filter(cluster=cluster).values_list("kind", "mount", "engine_status"):
        refused = possible.of_file_system(mount, status) if changed.get(kind) else None
        if refused is not None:
            raise refused


def _refuse_unless_doable(planned: ChangePlan, *, seen: str, stop_jobs: bool) -> None:
    if planned.refusals:
        raise Refused(
            "not_possible",
            planned.refusals[0].sentence(_),
            status=422,
            effects=[effect.sentence(_) for effect in planned.refusals],
        )
    if seen and seen != planned.digest:
        raise plan_changed(planned)
    refuse_if_it_stops_jobs(planned, stop_jobs=stop_jobs)


def plan_changed(planned: ChangePlan) -> Refused:
    return Refused(
        "plan_changed",
        _("What would happen is no longer what you looked at. Look at the plan again, and repeat."),
        plan=planned.digest,
    )


def refuse_if_it_stops_jobs(planned: ChangePlan, *, stop_jobs: bool) -> None:
    """Jobs are stopped only when somebody said so."""
    if not planned.stopped or stop_jobs:
        return
    nodes = sum(job.nodes for job in planned.stopped)
    sentence = ngettext(
        "It would stop %(n)s job on %(nodes)s nodes: %(jobs)s. Cancel it first, or say that it may be stopped.",
        "It would stop %(n)s jobs on %(nodes)s nodes: %(jobs)s. Cancel them first, or say that they may be stopped.",
        len(planned.stopped),
    ) % {
        "n": len(planned.stopped),
        "nodes": nodes,
        "jobs": ", ".join(job.name for job in planned.stopped[:5]),
    }
    raise Refused("jobs_running", sentence, jobs=len(planned.stopped), nodes=nodes)


def _taken(
    cluster: Cluster, kind: str, planned: ChangePlan, *, by: str, reason: str, stop_jobs: bool = False, **columns: Any
) -> Operation:
    columns.setdefault("second_person", planned.second_person(free_of_approval()))
    return locks.take(
        cluster,
        kind,
        by=by,
        reason=reason,
        plan=foresight.kept(planned),
        plan_digest=planned.digest,
        may_stop_jobs=stop_jobs,
        removes_nodes=any(effect.code == "terminated" for effect in planned.effects),
        usual_minutes=planned.minutes.usual,
        **columns,
    )


def hold_for_creation(cluster: Cluster, *, by: str, reason: str) -> Operation:
    """A new cluster is held by its creation, with the plan that whoever approves it agrees to."""
    return _taken(cluster, Operation.Kind.CREATE, foresight.of_creation(cluster), by=by, reason=reason, revision=1)


def update_software(
    *,
    cluster: Cluster,
    groups: list[str],
    by: str,
    reason: str,
    version: int | None = None,
    plan: str = "",
    stop_jobs: bool = False,
) -> Operation:
    """Give these groups (all of them when none is named) the newest machine image, some nodes at a time."""
    cluster = newest(cluster, version)
    _refuse_unless_hyperpod(
        cluster, _("ParallelCluster has no software update; its image changes with the configuration.")
    )
    refuse_unless_possible(cluster, "software")
    known = [group.name for group in foresight.current(cluster).instance_groups]
    unknown = [name for name in groups if name not in known]
    if unknown:
        raise Refused(
            "unknown_group",
            _("There is no group '%(asked)s'; there are: %(known)s.")
            % {"asked": unknown[0][:63], "known": ", ".join(known)},
            status=422,
            field="groups",
        )
    planned = foresight.of_software(cluster, groups)
    _refuse_unless_doable(planned, seen=plan, stop_jobs=stop_jobs)
    chosen = [name for name in known if not groups or name in groups]
    operation = _taken(cluster, Operation.Kind.SOFTWARE, planned, by=by, reason=reason, stop_jobs=stop_jobs)
    locks.asked(operation, cluster, by=by)
    next_generation(cluster)
    locks.begin(operation, cluster, by=by, generation=cluster.generation + 1, body={"groups": chosen})
    turns.wish(cluster)
    return operation


def _refuse_unless_hyperpod(cluster: Cluster, sentence: str) -> None:
    if cluster.orchestrator == "parallelcluster":
        raise Refused("not_offered", sentence, status=422)


def hold_for_deletion(cluster: Cluster, *, by: str, reason: str) -> Operation:
    return _taken(cluster, Operation.Kind.DELETE, foresight.of_deletion(cluster), by=by, reason=reason)


def try_again(cluster: Cluster, *, by: str, why: str) -> None:
    """A new generation. What is under way goes on, asked anew; what failed is begun again as another operation."""
    under_way = locks.held(cluster)
    next_generation(cluster)
    if under_way is not None:
        if under_way.state == "running":
            # Whoever asks again to delete what could not be deleted agrees to leave that where it is.
            leave = {"body": {"retain": True}} if under_way.kind == Operation.Kind.DELETE else {}
            Operation.objects.filter(pk=under_way.pk).update(generation=cluster.generation + 1, **leave)
        return
    last = Operation.objects.filter(cluster=cluster).order_by("-created_at", "-id").first()
    kind = Operation.Kind.CHANGE if cluster.proven else Operation.Kind.CREATE
    operation = locks.take(
        cluster,
        kind if cluster.wanted else Operation.Kind.DELETE,
        by=by,
        reason=why,
        plan=last.plan if last else {},
        plan_digest=last.plan_digest if last else "",
        usual_minutes=last.usual_minutes if last else None,
        removes_nodes=last.removes_nodes if last else False,
        revision=last.revision if last else None,
    )
    if not cluster.wanted:
        locks.begin(operation, cluster, by=by, generation=cluster.generation + 1, body={"retain": True})
        return
    locks.begin(operation, cluster, by=by, generation=cluster.generation + 1)


def start_change(operation: Operation, cluster: Cluster, wish: Configuration, *, by: str) -> None:
    """The configuration becomes the one that is wished; the engine does the rest."""
    number = _next_revision(cluster)
    Revision.objects.create(
        tenant_id=cluster.tenant_id,
        cluster=cluster,
        number=number,
        body=wish.document(),
        author=operation.asked_by,
        reason=operation.reason,
    )
    if wish.storage.bucket:
        Bucket.objects.get_or_create(tenant_id=cluster.tenant_id, cluster=cluster, name=wish.storage.bucket)
    software.follow(cluster, wish, number, by=operation.asked_by)
    next_generation(cluster, architecture_version=wish.version, **sizes(wish))
    locks.begin(operation, cluster, by=by, revision=number, generation=cluster.generation + 1)
    turns.wish(cluster)


def _next_revision(cluster: Cluster) -> int:
    return Revision.objects.filter(cluster=cluster).count() + 1


def next_generation(cluster: Cluster, **columns: Any) -> None:
    """A new wish: what a person had to do is asked anew, and the time of its first call is still to come."""
    Cluster.objects.filter(pk=cluster.pk).update(
        generation=F("generation") + 1, version=F("version") + 1, needs_person="", first_call_at=None, **columns
    )
    ExternalObject.objects.filter(cluster=cluster).update(refused_since=None, deletes=0)


def approve_operation(*, operation: Operation, cluster: Cluster, person: Person, by: str, plan: str = "") -> ChangePlan:
    """Agree to what waits. The cluster is locked by the caller. The plan is made anew: agreeing is to what is true now.

    `plan` is the digest that the approver saw; without one it is what was shown when it was asked for.
    """
    if asked_for(operation, person):
        raise Refused(
            "own_request", _("You asked for this cluster yourself; somebody else has to approve it."), status=403
        )
    if operation.kind != Operation.Kind.DELETE:
        participating.refuse_unless_permitted(cluster.participation, participating.CLUSTERS)
    planned = plan_of_what_waits(operation, cluster)
    if planned is None or planned.digest != (plan or operation.plan_digest):
        raise (
            plan_changed(planned) if planned else Refused("preflight", _("Its configuration cannot be read any more."))
        )
    if operation.kind == Operation.Kind.CHANGE:
        refuse_if_it_stops_jobs(planned, stop_jobs=operation.may_stop_jobs)
    Operation.objects.filter(pk=operation.pk).update(
        approved_by=by, approved_at=Now(), plan=foresight.kept(planned), plan_digest=planned.digest
    )
    timeline.record(
        states.OPERATION_AGREED,
        about=operation,
        by=by,
        what=operation.kind_word,
        name=cluster.name,
        plan=planned.digest,
    )
    return planned


def plan_of_what_waits(operation: Operation, cluster: Cluster) -> ChangePlan | None:
    """By what is known now."""
    if operation.kind == Operation.Kind.CREATE:
        return foresight.of_creation(cluster)
    return foresight.of_change(cluster, foresight.check_change(cluster, operation.body))


def asked_for(operation: Operation, person: Person) -> bool:
    """Whether the person asked for it, also by a program with one of the own tokens."""
    word, _sep, pk = operation.asked_by.partition(":")
    own_token = word == "token" and ApiToken.objects.filter(pk=pk, person=person).exists()
    return own_token or operation.asked_by == person.actor


def give_up(*, cluster: Cluster, by: str, why: str = "", version: int | None = None) -> None:
    """Withdraw what waits, or stop what is under way where the engine can stop it.

    A change of which nothing was asked yet goes back at once. A stack in the middle of an update is told to stop and
    puts everything back. What HyperPod or ParallelCluster have begun cannot be stopped. While the account does not let
    us in nothing can be told to anybody: the cluster is let go, and what is wished again is what it was before.
    """
    cluster = newest(cluster, version)
    now = refuse_unless_possible(cluster, "give_up")
    operation = locks.held(cluster)
    assert operation is not None  # or it would not be possible
    if operation.state == "waiting":
        locks.end(operation, cluster, "cancelled", by=by, why=why)
        Cluster.objects.filter(pk=cluster.pk).update(version=F("version") + 1)
        return
    timeline.record(
        states.OPERATION_CANCEL, about=operation, by=by, what=operation.kind_word, name=cluster.name, why=why
    )
    Operation.objects.filter(pk=operation.pk).update(cancel_wished_at=Now())
    if now.denied and operation.kind != Operation.Kind.CHANGE:
        locks.end(operation, cluster, "cancelled", by=by, why=why)
        Cluster.objects.filter(pk=cluster.pk).update(version=F("version") + 1)
    elif now.denied or cluster.first_call_at is None:
        go_back(operation, cluster, by=by, why=why)
    turns.wish(cluster)


def go_back(operation: Operation, cluster: Cluster, *, by: str, why: str, to: str = "cancelled") -> None:
    """The configuration before the change becomes the wished one again, as a new version."""
    found = Revision.objects.filter(cluster=cluster, number__lt=operation.revision or 0).order_by("-number").first()
    if found is not None:
        body = foresight.read_configuration(found.body)
        Revision.objects.create(
            tenant_id=cluster.tenant_id,
            cluster=cluster,
            number=_next_revision(cluster),
            body=body.document(),
            author=by,
            reason=(_("back to version %(number)s: %(why)s") % {"number": found.number, "why": why or "–"})[:300],
        )
        next_generation(cluster, **sizes(body))
    locks.end(operation, cluster, to, by=by, why=why)
