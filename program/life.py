"""What a participation's next step depends on: its onboarding, clusters, jobs, reservations and final report."""

from datetime import date
from typing import Any

from django.db.models import F
from django.urls import reverse
from django.utils.translation import gettext as _

from clusters import states as cluster_states
from clusters.models import Cluster, Job, Reservation
from program import life_telling, states
from program.models import Onboarding, OnboardingStep, Report
from program.onboarding import latest_today
from support.writing import moment, one_of, text_of
from tenants import participating
from tenants.actions import plain, stale
from tenants.history import timeline
from tenants.history.models import Entry
from tenants.models import Participation
from tenants.participating import Facts
from tenants.wall import roles
from tenants.web.problems import Refused


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


GATED = ("onboarding", "active", "suspended", "closing")
LONGEST_GATE_WHY = 500


def gate_is_due(row: Participation, today: date) -> bool:
    """Whether the stage gate of its cycle has come and nobody has decided it."""
    gate = row.cycle.stage_gate_on
    return row.state in GATED and not row.gate and gate is not None and gate <= today


def gate_address(row: Participation, role: str) -> str:
    """Where the stage gate is decided, for whoever decides it and as long as nobody has."""
    if role not in roles.PUBLISH or row.state not in GATED or row.gate:
        return ""
    return reverse("decide_gate", args=[row.tenant.slug, row.pk])


def decide_gate(
    *, participation: Participation, outcome: str, why: str, by: str, on: date | None = None, version: int | None = None
) -> Participation:
    """Say whether a participation passed its stage gate, with the reason that it reads; saying it again corrects it.

    `on` is the day of the decision, today unless said. Raises Refused and Stale.
    """
    row = Participation.objects.select_for_update(of=("self",)).select_related("cycle").get(pk=participation.pk)
    why, on = text_of(why, _("why"), LONGEST_GATE_WHY, "why"), on or latest_today(moment(None), row.pk)
    one_of(outcome, tuple(Participation.Gate.values), "outcome")
    if version is not None and row.version != version:
        raise stale(row, {"gate": outcome, "gate_why": why})
    if row.state not in GATED:
        sentence = _("%(code)s takes no part now that a stage gate could end: begin its onboarding first.")
        raise Refused("not_gated", sentence % {"code": row.code}, state=row.state)
    if on > latest_today(moment(None), row.pk) or on < row.cycle.starts_on:
        told = {"day": on.isoformat(), "first": row.cycle.starts_on.isoformat()}
        sentence = _("%(day)s is no day of the cycle so far; choose one from %(first)s until today.") % told
        raise Refused("on", sentence, status=422, field="on")
    if (row.gate, row.gate_why, row.gate_on) == (outcome, why, on):
        return row
    told = {"gate": [row.gate, outcome], "gate_on": [plain(row.gate_on), plain(on)], "gate_why": [row.gate_why, why]}
    values = {"gate": outcome, "gate_on": on, "gate_why": why, "version": F("version") + 1}
    Participation.objects.filter(pk=row.pk).update(**values)
    changes = {name: pair for name, pair in told.items() if pair[0] != pair[1] and name != "gate_why"}
    timeline.record(states.GATE_DECIDED, about=row, by=by, gate_outcome=outcome, why=why, changes=changes)
    row.refresh_from_db()
    life_telling.tell(row, life_telling.GATE, by)
    return row


def go_on(
    *, participation: Participation, to: str, by: str, why: str = "", version: int | None = None
) -> Participation:
    """Move a participation on where nothing keeps it from there. Raises Refused with the sentences, and Stale."""
    locked = Participation.objects.select_for_update(of=("self",)).select_related("cycle").get(pk=participation.pk)
    told: dict[str, Any] = {"to": to, "by": by, "why": why, "version": version}
    row = participating.go_on(participation=locked, facts=facts_of(locked), **told)
    row.refresh_from_db()
    life_telling.tell(row, life_telling.STATE, by)
    return row
