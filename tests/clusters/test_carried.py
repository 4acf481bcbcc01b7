"""What a cluster carries beside its engine: charts recorded as installed, and the digest of the image that a job runs in."""

from datetime import timedelta

import pytest
from django.utils import timezone

from clusters.actions import software
from clusters.models import Cluster, ContainerImage, InstalledChart, Job
from tenants.history.models import Entry
from tenants.wall.acting import acting_for
from tenants.web.problems import Refused
from tests.clusters.test_pages import hoshi, page_of, signed_in
from tests.conftest import World
from tests.examples import Examples

__all__ = ["hoshi"]
DIGEST, OTHER = "sha256:" + "ab" * 32, "sha256:" + "cd" * 32
REGISTRY = "111122223333.dkr.ecr.ap-northeast-1.amazonaws.com/train"


@pytest.fixture
def kubernetes(world: World, hoshi: Examples) -> Cluster:
    cluster = hoshi["clusters"]
    with acting_for(world.hoshi, staff=True):
        InstalledChart.objects.filter(cluster=cluster).delete()
        Cluster.objects.filter(pk=cluster.pk).update(orchestrator="hyperpod-eks", state="ready")
        return Cluster.objects.get(pk=cluster.pk)


def test_a_chart_is_recorded_once_and_shown_with_its_release(world: World, kubernetes: Cluster) -> None:
    client, here = signed_in(world.person("platform_engineer")), page_of(kubernetes)
    sent = {"name": "hyperpod-dependencies", "chart_version": "1.4.0", "namespace": "kube-system", "sha256": "ef" * 32}
    answer = client.post(f"{here}chart/", sent)
    assert answer.status_code == 303, answer.content.decode()
    with acting_for(world.hoshi):
        [row] = InstalledChart.objects.filter(cluster=kubernetes)
        assert (row.name, row.chart_version, row.namespace, row.sha256) == tuple(sent.values())
        assert row.recorded_by == world.person("platform_engineer").actor
        [entry] = Entry.objects.filter(kind="chart.installed")
        assert (entry.facts["chart"], entry.facts["chart_version"]) == ("hyperpod-dependencies", "1.4.0")
        # Told twice of the same moment, as a pipeline does that tries again, it is one.
        for _ in range(2):
            software.record_chart(
                cluster=kubernetes, name="kueue", chart_version="0.9.1", by="engine", installed_at=row.installed_at
            )
        assert InstalledChart.objects.filter(cluster=kubernetes).count() == 2
    page = client.get(here).content.decode()
    assert "hyperpod-dependencies" in page and "1.4.0" in page and "kueue" in page


@pytest.mark.parametrize(
    ("change", "field", "says"),
    [
        ({"name": "Hyper Pod"}, "name", "like hyperpod-dependencies"),
        ({"chart_version": "latest"}, "chart_version", "a release like 1.4.0"),
        ({"namespace": "kube/system"}, "namespace", "like kube-system"),
        ({"sha256": "abc"}, "sha256", "64 digits"),
        ({"installed_at": timezone.now() + timedelta(days=1)}, "installed_at", "in the future"),
    ],
)
def test_what_is_no_chart_is_refused(world: World, kubernetes: Cluster, change, field: str, says: str) -> None:  # type: ignore[no-untyped-def]
    sent = {"name": "kueue", "chart_version": "0.9.1", "by": "engine", **change}
    with acting_for(world.hoshi), pytest.raises(Refused) as refused:
        software.record_chart(cluster=kubernetes, **sent)
    assert refused.value.facts["field"] == field and says in refused.value.sentence


def test_a_cluster_of_slurm_has_no_charts(world: World, hoshi: Examples) -> None:
    with acting_for(world.hoshi), pytest.raises(Refused, match="Charts are installed on Kubernetes"):
        software.record_chart(cluster=hoshi["clusters"], name="kueue", chart_version="0.9.1", by="engine")


@pytest.mark.parametrize(
    ("named", "image", "digest"),
    [
        ("/fsx/images/train-abababababab.sqsh", "train", DIGEST),
        (f"{REGISTRY}@{DIGEST}", "train", DIGEST),
        (f"'{REGISTRY}@{DIGEST}'", "train", DIGEST),
        (f"{REGISTRY}@{OTHER}", "", OTHER),  # none of the cluster's, yet told
        (f"{REGISTRY}:latest", "", ""),
        ("/fsx/images/old-121212121212.sqsh", "", ""),  # the configuration carries it no more
    ],
)
def test_a_job_says_the_digest_of_the_image_that_it_runs_in(
    world: World, hoshi: Examples, named: str, image: str, digest: str
) -> None:
    cluster = hoshi["clusters"]
    with acting_for(world.hoshi, staff=True):
        ContainerImage.objects.filter(cluster=cluster).delete()
        for name, value, until in (("train", DIGEST, None), ("old", "sha256:" + "12" * 32, 1)):
            ContainerImage.objects.create(
                tenant=world.hoshi, cluster=cluster, revision=1, name=name, registry=REGISTRY.partition("/")[0],
                repository="train", digest=value, until_revision=until,
            )  # fmt: skip
        for option in (f"--container-image={named}", f"--container-image {named}"):
            script = f"#!/bin/bash\nsrun {option} --container-mounts=/fsx python train.py\n"
            assert software.image_of(cluster, script) == (image, digest)
        job = Job.objects.filter(cluster=cluster).first()
        assert job is not None
        Job.objects.filter(pk=job.pk).update(image=image, image_digest=digest)
    page = signed_in(world.person("platform_engineer")).get(f"/t/hoshi/jobs/{job.pk}/").content.decode()
    assert (digest in page) == bool(digest) or not digest
