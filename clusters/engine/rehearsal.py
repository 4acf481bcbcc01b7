"""ParallelCluster's own validators, run over a change before it is made: the real program, told to do nothing."""

from dataclasses import replace

from django.conf import settings
from django.utils import timezone

from clusters.architectures.parts import MissingOutput
from clusters.engine import turns
from clusters.engine.facts import Known
from clusters.findings import Finding
from clusters.providers import Part, ProviderError, Rehearses, adapter
from tenants.work import due


def findings(held: due.Held, known: Known) -> list[Finding]:
    """One line for a ParallelCluster, none for others. Before its network is there the validators can say nothing."""
    spec = next((each for each in known.specs if each.kind == "parallelcluster"), None)
    if spec is None:
        return []
    row = known.rows[spec.role]
    if not row.existed:
        return [_later()]
    try:
        part = with_leave(known, known.part(spec.role, verb="update"))
    except MissingOutput:
        return [_later()]
    provider = adapter(row.kind, turns.keeper(held), program=settings.PCLUSTER)
    assert isinstance(provider, Rehearses)
    try:
        refused = provider.rehearse(known.account, part)
    except ProviderError as error:
        values = {"says": error.message}
        return [Finding("engine_unknown", "warning", "configuration", who="architect", values=values)]
    if refused is None:
        return [_later()]
    known.rehearsed = not refused
    return [verdict(refused)]


def with_leave(known: Known, part: Part) -> Part:
    """A change of a ParallelCluster that takes nodes away needs leave to, in the rehearsal as in the deed."""
    if part.kind != "parallelcluster" or known.operation is None or not known.operation.removes_nodes:
        return part
    wish = part.body["configuration"]
    scheduling = wish["Scheduling"]
    settled = {**scheduling, "SlurmSettings": {**scheduling["SlurmSettings"], "QueueUpdateStrategy": "TERMINATE"}}
    return replace(part, body={**part.body, "configuration": {**wish, "Scheduling": settled}})


def _later() -> Finding:
    return Finding("engine_later", "warning", "configuration", who="cohort")


def verdict(refused: str) -> Finding:
    """What they said, as a line."""
    code = "engine_refused" if refused else "engine"
    return Finding(
        code, "refused" if refused else "ok", "configuration", values={"says": refused[:2000]}, known_at=timezone.now()
    )
