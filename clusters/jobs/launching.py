"""What a launch is held against: the partitions of a cluster with their nodes and images, and when their capacity ends."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from clusters import endings
from clusters.engine import reaching
from clusters.jobs import lint as job_lint
from clusters.jobs import templates as job_templates
from clusters.jobs.templates import Template, checks, manifest, rendering
from clusters.jobs.templates.checks import Place, Wrong
from clusters.launchers import slurm_options
from clusters.models import Cluster, ContainerImage, Node, Quarantine
from clusters.wording import gettext_noop
from tenants.web.problems import Refused

IMAGES = "/fsx/cohort/images"
NOT_SAID = "–"


def places(cluster: Cluster) -> dict[str, Place]:
    """Compute groups with the nodes that jobs may have, the largest first; each is a partition of its name."""
    away = Quarantine.objects.filter(cluster=cluster, lifted_at=None).values("node_id")
    seats_of = Node.objects.filter(cluster=cluster, role="compute").exclude(state="gone")
    rows = seats_of.exclude(pk__in=away).order_by("seat")
    seats: dict[str, list[str]] = {}
    for group, instance_type in rows.values_list("group", "instance_type"):
        seats.setdefault(group, []).append(instance_type)
    if not seats:
        return {}
    ends, images, now = endings.of_cluster(cluster), _images(cluster), timezone.now()
    left = {group: one.minutes_left(now) for one in reversed(ends) if one.taken_away for group in one.groups}
    kubernetes = cluster.orchestrator == "hyperpod-eks"
    where = reaching.on_kubernetes(cluster)
    made = {
        group: Place(
            cluster.orchestrator,
            types[0],
            len(types),
            group,
            left.get(group),
            images,
            ("/fsx",) if kubernetes else ("/fsx", "/home"),
            where.namespace if kubernetes else "",
            where.queue,
            where.priority,
        )
        for group, types in seats.items()
    }
    return dict(sorted(made.items(), key=lambda pair: -pair[1].nodes))


def _images(cluster: Cluster) -> tuple[tuple[str, str], ...]:
    rows = ContainerImage.objects.filter(cluster=cluster, until_revision=None).order_by("name")
    if cluster.orchestrator == "hyperpod-eks":
        return tuple((row.name, f"{row.registry}/{row.repository}@{row.digest}") for row in rows)
    return tuple(
        (row.name, f"{IMAGES}/{row.name}-{row.digest.removeprefix('sha256:')[:12]}.sqsh") for row in rows
    )  # fmt: skip


def around(
    cluster: Cluster, place: Place | None, *, nodes: int | None, minutes: int | None, environment: Iterable[str] = ()
) -> job_lint.Around:
    """What a script or manifest is held against on this cluster."""
    return job_lint.Around(
        engine=cluster.orchestrator,
        instance_type=place.instance_type if place else "",
        nodes=nodes,
        minutes=minutes,
        partition=place.partition if place else "",
        minutes_left=place.minutes_left if place else None,
        cloud_account=cluster.account.account_id,
        namespace=place.namespace if place else "",
        sends=slurm_options.SENT | slurm_options.SAID if _by_rest(cluster) else frozenset(),
        environment=tuple(environment),
    )


def _by_rest(cluster: Cluster) -> bool:
    """Whether its scheduler gets jobs through a server that does not read their scripts."""
    return cluster.orchestrator != "hyperpod-eks" and cluster.reach == Cluster.Reach.DIRECT


@dataclass(frozen=True)
class Made:
    """A script that was made of a template; or why it could not be."""

    text: str = ""
    parameters: Mapping[str, Any] | None = None
    wrong: tuple[Wrong, ...] = ()


def template_of(slug: str) -> Template:
    """Raises Refused: no_template."""
    try:
        return job_templates.template(slug)
    except LookupError:
        known = ", ".join(each.slug for each in job_templates.templates())
        raise Refused(
            "no_template",
            _("There is no template “%(slug)s”; there are: %(known)s.") % {"slug": slug[:40], "known": known},
            status=422,
            field="template",
        ) from None


def made(
    template: Template,
    told: Mapping[str, Any],
    place: Place,
    *,
    name: str,
    nodes: int,
    minutes: int | None,
    image: str = "",
) -> Made:
    """The script of a template, with the image of that name. `told` may leave out what has a default."""
    found = checks.wrong(template, told, place, nodes=nodes, minutes=minutes)
    files = dict(place.images)
    if image and image not in files:
        known = ", ".join(files) or NOT_SAID
        found.append(Wrong("image", gettext_noop("There is no image “%(asked)s” on this cluster; there are: %(known)s."),
                           {"asked": image[:60], "known": known}))  # fmt: skip
    if place.kubernetes and not image and not found:
        found.append(Wrong("image", gettext_noop("On Kubernetes a job runs in an image; choose one."), {}))
    if found:
        return Made(wrong=tuple(found))
    values = checks.settled(template, told, place)
    file = files.get(image, "")
    if place.kubernetes:
        job = manifest.manifest(template, values, place, name=name, nodes=nodes, minutes=minutes, image=file)
        text = manifest.written(job)
    else:
        text = rendering.script(template, values, place, name=name, nodes=nodes, minutes=minutes, image=file)
    kept = {key: told.get(key, template.parameters[key].default) for key in template.parameters}
    return Made(text, kept)


def place_of(cluster: Cluster, partition: str) -> Place | None:
    """The partition, or the largest where none is named; None when there is none."""
    known = places(cluster)
    return known.get(partition) if partition else next(iter(known.values()), None)
