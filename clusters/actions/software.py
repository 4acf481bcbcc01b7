"""Writes about what a cluster carries beside its engine: which images a configuration names, which charts were installed."""

import re
import secrets
from datetime import datetime

from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _

from clusters import states
from clusters.actions import locks
from clusters.architectures.configuration import Configuration
from clusters.models import AlertIntake, Cluster, ContainerImage, InstalledChart, Operation
from tenants.history import timeline
from tenants.web.problems import Refused

CHART = re.compile(r"[a-z0-9](?:[a-z0-9.-]{0,61}[a-z0-9])?")
RELEASE = re.compile(r"v?\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]{1,25})?")
SHA256 = re.compile(r"[0-9a-f]{64}")
TOKEN_BYTES = 32


def follow(cluster: Cluster, wish: Configuration, revision: int, *, by: str) -> None:
    """Write down in rows what a configuration that is now wished for carries."""
    if wish.watched:
        open_intake(cluster, by=by)
    rows = ContainerImage.objects.filter(cluster=cluster, until_revision=None)
    before = {(row.name, row.uri): row for row in rows}
    now = {(image.name, image.uri): image for image in wish.images}
    gone = [row.pk for key, row in before.items() if key not in now]
    ContainerImage.objects.filter(pk__in=gone).update(until_revision=revision)
    ContainerImage.objects.bulk_create(
        ContainerImage(
            tenant_id=cluster.tenant_id,
            cluster=cluster,
            revision=revision,
            name=image.name,
            registry=image.registry,
            repository=image.repository,
            digest=image.digest,
        )
        for key, image in now.items()
        if key not in before
    )


def open_intake(cluster: Cluster, *, by: str) -> AlertIntake:
    """The door of a cluster's alerts; made with its first configuration that is watched."""
    intake, _made = AlertIntake.objects.get_or_create(
        tenant_id=cluster.tenant_id,
        cluster=cluster,
        defaults={"token": secrets.token_urlsafe(TOKEN_BYTES), "made_by": by, "made_at": Now()},
    )
    return intake


def record_chart(
    *,
    cluster: Cluster,
    name: str,
    chart_version: str,
    by: str,
    namespace: str = "kube-system",
    sha256: str = "",
    installed_at: datetime | None = None,
) -> InstalledChart:
    """Record a Helm chart as installed. Raises Refused for what is no chart, no release, or no cluster of Kubernetes."""
    if cluster.orchestrator != "hyperpod-eks":
        raise Refused(
            "no_charts",
            _("Charts are installed on Kubernetes; %(name)s runs %(what)s.")
            % {"name": cluster.name, "what": cluster.orchestrator},
            status=422,
        )
    checked = (
        ("name", name, CHART, _("the name of a chart, like hyperpod-dependencies")),
        ("chart_version", chart_version, RELEASE, _("a release like 1.4.0")),
        ("namespace", namespace, CHART, _("a namespace, like kube-system")),
        ("sha256", sha256 or "0" * 64, SHA256, _("64 digits of a SHA-256, or nothing")),
    )
    for field, value, pattern, words in checked:
        if not pattern.fullmatch(value):
            raise Refused(
                "bad_chart",
                _("%(field)s is “%(value)s”; it has to be %(words)s.")
                % {"field": field, "value": value[:60], "words": words},
                status=422,
                field=field,
            )
    now = timezone.now()
    installed_at = installed_at or now
    if installed_at > now:
        raise Refused(
            "bad_chart",
            _("A chart that is installed was not installed in the future."),
            status=422,
            field="installed_at",
        )
    operation = (
        locks.held(cluster)
        or Operation.objects.filter(cluster=cluster, created_at__lte=installed_at)
        .order_by("-created_at", "-id")
        .first()
    )
    row, made = InstalledChart.objects.get_or_create(
        tenant_id=cluster.tenant_id,
        cluster=cluster,
        name=name,
        installed_at=installed_at,
        defaults={
            "operation": operation,
            "chart_version": chart_version,
            "namespace": namespace,
            "sha256": sha256,
            "recorded_by": by,
        },
    )
    if made:
        timeline.record(
            states.CHART_INSTALLED, about=row, by=by, chart=name, chart_version=chart_version, cluster_name=cluster.name
        )
    return row


IMAGE_OF_A_SCRIPT = re.compile(r"--container-image[= ]+[\"']?([^\s\"']+)")
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


def image_of(cluster: Cluster, script: str) -> tuple[str, str]:
    """Name and digest of the image that a job's script names; empty where it names none, or none that is known."""
    named = IMAGE_OF_A_SCRIPT.search(script)
    if named is None:
        return "", ""
    for row in ContainerImage.objects.filter(cluster=cluster, until_revision=None).order_by("name"):
        file = f"{row.name}-{row.digest.removeprefix('sha256:')[:12]}.sqsh"
        if row.digest in named[1] or named[1].rpartition("/")[2] == file:
            return row.name, row.digest
    digest = DIGEST.search(named[1])
    return "", digest[0] if digest else ""
