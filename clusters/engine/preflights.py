"""The full preflight: before the first call of a creation or a change the account is asked afresh, and what does not fit stops it."""

from dataclasses import dataclass
from typing import Any

import structlog
from django.utils.translation import override

from clusters import checking, linting, states
from clusters.actions import changes, locks
from clusters.engine import asking, rehearsal, turns
from clusters.engine.facts import ENGINE, Known
from clusters.findings import Finding, in_order
from clusters.models import CloudAccount, Cluster, Operation, Preflight, PreflightLine
from clusters.providers import ProviderError
from tenants import metrics
from tenants.history import timeline
from tenants.wall.acting import acting_for
from tenants.work import due

log = structlog.get_logger(__name__)

APPLIES = frozenset({"create", "change"})  # operations that begin with it


@dataclass(frozen=True)
class Gate:
    """Whether something may be made or changed now; `held` says why not, and `for_good` that only another wish opens it."""

    held: str = ""
    for_good: bool = False
    over: bool = False  # the operation was ended here: this turn has nothing more to do


OPEN = Gate()


def gate(held: due.Held, known: Known) -> Gate:
    """Open, or why not. Runs the preflight of this generation when it has not been run. In no transaction."""
    cluster, operation = known.cluster, known.operation
    if not cluster.wanted or known.configuration is None:
        return OPEN
    with acting_for(held.tenant_id, staff=True):
        newest = Preflight.objects.filter(cluster=cluster, generation=cluster.generation).first()
        applies = operation is not None and operation.kind in APPLIES
        if newest is not None and newest.verdict == Preflight.Verdict.FAIL:
            return Gate(newest.why, for_good=True)
        if newest is not None or not applies:
            return OPEN
        about = asking.question(cluster.account, cluster.region)
    try:
        answer = asking.ask(cluster.account, cluster.region, about)
    except ProviderError as error:
        metrics.provider_error("preflight", error.kind)
        log.info("preflight_waits", cluster=cluster.name, kind=error.kind, message=error.message)
        if error.kind == "throttled":
            with acting_for(held.tenant_id, staff=True):
                due.cool(held.lane, 20)
        return Gate(error.message or "The account could not be asked.")
    said = rehearsal.findings(held, known)
    if turns.kind_of(cluster) == turns.SLOW_TURN:
        linting.keep(linting.templates(known.configuration).values(), cluster.region)
    with acting_for(held.tenant_id, staff=True):
        return _decide(held, known, answer, said)


def _decide(held: due.Held, known: Known, answer: asking.Answer, said: list[Finding]) -> Gate:
    """Hold what was told against what is wished, write every line down, and end the operation when one of them fails."""
    cluster = Cluster.objects.select_for_update(of=("self",)).select_related("account").get(pk=known.cluster.pk)
    account = CloudAccount.objects.select_for_update().get(pk=cluster.account_id)
    if not due.renew(held):
        raise due.LostLease(f"{held.kind} {held.ref}")
    if cluster.generation != known.cluster.generation or not cluster.wanted:
        return Gate("Something else is wished meanwhile.")
    operation = known.operation
    assert operation is not None and known.configuration is not None
    asking.keep(account, answer)
    linting.wish_for(known.configuration)
    checked = checking.check(
        account=account, name=cluster.name, body=known.configuration.document(), other_than=cluster
    )
    row = keep(cluster, operation, in_order([*checked.findings, *said]), began=known.now)
    if row.verdict == Preflight.Verdict.PASS:
        return OPEN
    _end(cluster, operation, row)
    return Gate(row.why, for_good=True, over=True)


def keep(cluster: Cluster, operation: Operation | None, found: list[Finding], *, began: Any) -> Preflight:
    """Write down every line of it, and in the history what came of it."""
    counts = {name: sum(each.verdict == name for each in found) for name in ("pass", "fail", "unknown", "mind")}
    against = next((each for each in found if each.verdict == "fail"), None)
    verdict = Preflight.Verdict.FAIL if against else Preflight.Verdict.PASS
    row = Preflight.objects.create(
        tenant_id=cluster.tenant_id,
        cluster=cluster,
        operation=operation,
        generation=cluster.generation,
        began_at=began,
        verdict=verdict,
        passed=counts["pass"],
        failed=counts["fail"],
        unknown=counts["unknown"],
        minded=counts["mind"],
        why=" ".join(filter(None, [against.sentence(), against.advice()])) if against else "",
    )
    PreflightLine.objects.bulk_create(line_of(row, position, each) for position, each in enumerate(found))
    with override(None):
        timeline.record(
            states.PREFLIGHT_PASSED if verdict == Preflight.Verdict.PASS else states.PREFLIGHT_FAILED,
            about=row, by=ENGINE, name=cluster.name, why=row.why,
            passed=row.passed, failed=row.failed, unknown=row.unknown,
        )  # fmt: skip
    return row


def line_of(row: Preflight, position: int, finding: Finding) -> PreflightLine:
    return PreflightLine(
        tenant_id=row.tenant_id,
        preflight=row,
        position=position,
        code=finding.code,
        verdict=finding.verdict,
        who=finding.who,
        field=finding.field[:200],
        unit=finding.unit,
        known_at=finding.known_at,
        told={
            "level": finding.level,
            "asked": finding.asked,
            "allowed": finding.allowed,
            "suggestion": finding.suggestion,
            "values": dict(finding.values),
        },
    )


def _end(cluster: Cluster, operation: Operation, row: Preflight) -> None:
    """It stops before the first call. A cluster that works keeps what it has: the configuration before is wished again."""
    operation = Operation.objects.select_for_update().get(pk=operation.pk)
    if operation.state != "running":
        return
    if cluster.proven and operation.kind == Operation.Kind.CHANGE:
        changes.go_back(operation, cluster, by=ENGINE, why=row.why, to="failed")
    else:
        locks.end(operation, cluster, "failed", by=ENGINE, why=row.why)
    turns.wish(cluster)


def engine_said(cluster: Cluster, generation: int, refused: str) -> None:
    """ParallelCluster's validators spoke when its network was there: the line that waited for them is answered."""
    row = Preflight.objects.filter(cluster=cluster, generation=generation).first()
    line = PreflightLine.objects.filter(preflight=row, code="engine_later").first() if row else None
    if row is None or line is None:
        return
    finding = rehearsal.verdict(refused)
    fresh = line_of(row, line.position, finding)
    PreflightLine.objects.filter(pk=line.pk).update(
        code=fresh.code, verdict=fresh.verdict, told=fresh.told, known_at=row.ended_at
    )
    passed, failed = int(not refused), int(bool(refused))
    columns: dict[str, Any] = {
        "unknown": row.unknown - 1,
        "passed": row.passed + passed,
        "failed": row.failed + failed,
    }
    if refused:
        columns |= {"verdict": Preflight.Verdict.FAIL, "why": finding.sentence()}
    Preflight.objects.filter(pk=row.pk).update(**columns)
