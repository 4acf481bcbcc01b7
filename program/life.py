"""What a participation's next step depends on: its onboarding, clusters, jobs, reservations and final report."""

from typing import Any

from clusters import states as cluster_states
from clusters.models import Cluster, Job, Reservation
from program.models import Onboarding, OnboardingStep, Report
from tenants import participating
from tenants.history.models import Entry
from tenants.models import Participation
from tenants.participating import Facts


def facts_of(row: Participation) -> Facts:
    """As it is now, within the scope of its tenant."""
    onboarding = Onboarding.objects.filter(participation=row).first()
    suspended = Entry.objects.filter(kind="participation.suspended", subject_id=row.pk).order_by("-id").first()
    clusters = list(
        Cluster.objects.filter(participation=row)
        .exclude(state="deleted")
        .order_by("name")
        .values_list("name", flat=True)
    )
    final = Report.objects.filter(participation=row, kind=Report.Kind.FINAL).order_by("-due_on").first()
    return Facts(
        was=str(suspended.facts.get("was", "")) if suspended else "",
        list_laid_out=onboarding is not None,
        steps_open=OnboardingStep.objects.filter(onboarding=onboarding, state="open").count() if onboarding else 0,
        clusters=clusters,
        jobs=Job.objects.filter(cluster__participation=row, state__in=cluster_states.JOB_LIVE).count(),
        reservations=Reservation.objects.filter(participation=row, state__in=("bought", "active")).count(),
        final_report=final.state if final else "",
        cycle_closed=row.cycle.state == "closed",
    )


def go_on(
    *, participation: Participation, to: str, by: str, why: str = "", version: int | None = None
) -> Participation:
    """Move a participation on where nothing keeps it from there. Raises Refused with the sentences, and Stale."""
    locked = Participation.objects.select_for_update(of=("self",)).select_related("cycle").get(pk=participation.pk)
    told: dict[str, Any] = {"to": to, "by": by, "why": why, "version": version}
    return participating.go_on(participation=locked, facts=facts_of(locked), **told)
