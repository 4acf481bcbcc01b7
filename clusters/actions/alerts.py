"""Writes about what a cluster tells from inside: the token of its alerts, and each alert from beginning to end."""

import hmac
import secrets
from datetime import timedelta
from typing import Any

from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _

from clusters import states
from clusters.actions import changes
from clusters.alerts import AlertTold
from clusters.engine import turns
from clusters.models import Alert, AlertIntake, Cluster
from tenants.history import timeline
from tenants.history.moves import move
from tenants.web.problems import Refused

BYTES = 32
OVERLAP = timedelta(days=1)  # for so long the token before is good too: the account has it until its stack was changed
EARLY = timedelta(minutes=10)  # a clock may be wrong by as much


def renew_token(*, cluster: Cluster, by: str, version: int | None = None) -> None:
    """Another token. The engine brings it into the account; until it is there, the old one opens too, for a day at most."""
    cluster = changes.newest(cluster, version)
    intake = AlertIntake.objects.select_for_update().filter(cluster=cluster).first()
    if intake is None:
        raise Refused("not_watched", _("%(name)s sends no alerts to Cohort.") % {"name": cluster.name})
    changes.refuse_unless_possible(cluster, "change")
    AlertIntake.objects.filter(pk=intake.pk).update(
        before=intake.token,
        before_until=timezone.now() + OVERLAP,
        token=secrets.token_urlsafe(BYTES),
        made_by=by,
        made_at=Now(),
    )
    timeline.record(states.ALERT_TOKEN, about=intake, by=by, cluster_name=cluster.name)
    changes.next_generation(cluster)
    turns.wish(cluster)


def opens(intake: AlertIntake, token: str) -> bool:
    """Whether this token is the intake's, or was until lately."""
    good = [intake.token]
    if intake.before and intake.before_until and intake.before_until > timezone.now():
        good.append(intake.before)
    return any(hmac.compare_digest(each.encode(), token.encode()) for each in good)


def take_alerts(*, intake: AlertIntake, cluster: Cluster, told: list[AlertTold]) -> dict[str, int]:
    """Write down what a message says. The same message again changes nothing but how often it came."""
    counted = {"new": 0, "again": 0, "over": 0}
    now = timezone.now()
    for each in sorted(told, key=lambda one: one.starts_at):
        if each.starts_at > now + EARLY:
            raise Refused(
                "bad_alert",
                _("%(name)s begins on %(at)s, which is yet to come; look at the clock of Alertmanager.")
                % {"name": each.name, "at": each.starts_at.isoformat()},
                status=422,
                field="startsAt",
            )
        counted[_take(cluster, each)] += 1
    AlertIntake.objects.filter(pk=intake.pk).update(used_at=Now())
    if counted["new"]:
        turns.wish_for_judgement(cluster)
    return counted


def _take(cluster: Cluster, told: AlertTold) -> str:
    row, made = Alert.objects.get_or_create(
        tenant_id=cluster.tenant_id,
        cluster=cluster,
        fingerprint=told.fingerprint,
        starts_at=told.starts_at,
        defaults={
            "name": told.name,
            "severity": told.severity,
            "summary": told.summary,
            "node": told.node,
            "labels": dict(told.labels),
            "last_told_at": Now(),
        },
    )
    row = Alert.objects.select_for_update().get(pk=row.pk)
    facts: dict[str, Any] = {"name": row.name, "cluster_name": cluster.name, "summary": row.summary or row.node}
    if made:
        at = min(told.starts_at, timezone.now())
        timeline.record(
            states.ALERT_FIRING,
            about=row,
            by="provider:alerts",
            at=at,
            source="provider",
            severity=row.severity,
            **facts,
        )
    else:
        Alert.objects.filter(pk=row.pk).update(told=F("told") + 1, last_told_at=Now())
    if told.ends_at is not None and row.state == "firing":
        at = min(told.ends_at, timezone.now())
        move(row, "resolved", by="provider:alerts", at=at, columns={"ends_at": told.ends_at}, **facts)
        return "over"
    return "new" if made else "again"
