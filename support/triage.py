"""What opens a case by itself: an entry that somebody should look at becomes a case, or evidence of a similar open one."""

from collections.abc import Callable, Mapping

from django.utils.translation import override

from clusters.models import Alert
from support import states
from support.actions import open_case
from support.endings import resolve_case
from support.evidence import Found, of_alert, of_cluster, of_dispute, of_facts, of_job
from support.models import Case
from support.rules import RULES, Rule
from support.writing import write
from tenants.files import attach, name_from
from tenants.history import timeline
from tenants.history.models import Entry
from tenants.models import Tenant
from tenants.wall.acting import acting_for
from tenants.work import due
from tenants.work.loop import handler

ENGINE = "engine"

LOOKS: Mapping[str, Callable[[Entry], Found | None]] = {
    "job": of_job,
    "cluster": of_cluster,
    "part": of_cluster,
    "alert": of_alert,
    "usage_dispute": of_dispute,
    "participation": of_facts,
    "account": of_facts,
    "reservation": of_facts,
}


@handler("triage")
def triage(held: due.Held) -> None:
    """Open or feed a case for one entry, in the transaction that removes the wish; a second run finds it done."""
    with acting_for(held.tenant_id, staff=True), override(None):
        # One at a time per tenant, or two alike failures would open two cases.
        tenant = Tenant.objects.select_for_update(no_key=True).get(pk=held.tenant_id)
        entry = Entry.objects.filter(pk=held.ref).first()
        rule = RULES.get(entry.kind) if entry else None
        found = LOOKS[entry.subject](entry) if entry and rule else None
        if entry is None or rule is None or found is None or _is_a_proof(found):
            due.remove(held)
            return
        _open_or_attach(tenant, entry, rule, found)
        due.remove(held)


@handler("alert_over")
def alert_over(held: due.Held) -> None:
    """An alert has ended: its case hears of it, and one that nobody has taken yet is resolved with the last of them."""
    with acting_for(held.tenant_id, staff=True), override(None):
        Tenant.objects.select_for_update(no_key=True).get(pk=held.tenant_id)
        entry = Entry.objects.filter(pk=held.ref).first()
        alert = Alert.objects.filter(pk=entry.subject_id).first() if entry else None
        if entry is not None and alert is not None:
            _end_of(alert, entry)
        due.remove(held)


def _end_of(alert: Alert, entry: Entry) -> None:
    signature = RULES["alert.firing"].signature.format(cluster=alert.cluster_id, name=alert.name)[:120]
    case = similar(signature)
    if case is None:
        return
    what = f"{alert.name}: {alert.summary or alert.node}"[:300]
    timeline.record(states.CASE_EVIDENCE, about=case, by=ENGINE, number=case.number, what=what, entry=entry.pk)
    still = Alert.objects.filter(cluster_id=alert.cluster_id, name=alert.name, state="firing").exists()
    if case.state == "new" and not still:
        resolve_case(case=case, cause=Case.Cause.UNKNOWN, cause_text="", by=ENGINE)
    else:
        write(case)


def _is_a_proof(found: Found) -> bool:
    """A failed proof keeps its cluster from being ready, which is what somebody should look at."""
    return found.job is not None and found.job.purpose != "training"


def similar(signature: str) -> Case | None:
    """The open case with the same signature, held."""
    rows = Case.objects.select_for_update(of=("self",)).filter(signature=signature, state__in=states.OPEN)
    return rows.order_by("opened_at").first()


def _open_or_attach(tenant: Tenant, entry: Entry, rule: Rule, found: Found) -> None:
    facts = {"cluster": str(found.cluster.pk) if found.cluster else "", **found.facts}
    signature = rule.signature.format(**facts)[:120]
    title = str(rule.title).format(**facts)
    if _already(signature, entry):
        return
    case = similar(signature)
    if case is None:
        case = open_case(
            tenant=tenant,
            title=title if len(title) <= 200 else f"{title[:199]}…",
            severity=found.severity or rule.severity,
            by=ENGINE,
            cluster=found.cluster,
            job=found.job,
            category=found.category or rule.category,
            signature=signature,
            evidence=found.evidence,
            entry=entry.pk,
        )
    else:
        timeline.record(
            states.CASE_EVIDENCE, about=case, by=ENGINE, number=case.number, what=title[:300], entry=entry.pk
        )
        write(case)
    if found.log and found.job:
        name = name_from(f"{found.job.name}.log")
        attach(about=case, name=name, content=found.log.encode(), media_type="text/plain", by=ENGINE)


def _already(signature: str, entry: Entry) -> bool:
    """Whether this very entry opened or fed a case before: somebody may wish for it again."""
    cases = Case.objects.filter(signature=signature).values_list("pk", flat=True)
    told = Entry.objects.filter(subject=Case.SUBJECT, subject_id__in=list(cases), recorded_at__gte=entry.recorded_at)
    return told.filter(kind__in=(states.CASE_OPENED, states.CASE_EVIDENCE), facts__entry=entry.pk).exists()
