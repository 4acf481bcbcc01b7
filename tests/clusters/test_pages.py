"""The pages about clusters and jobs: what they show, refuse and keep."""

import pytest
from django.test import Client

from clusters.models import Cluster
from tenants.models import Person
from tests import examples
from tests.conftest import World
from tests.examples import Examples

BACKEND = "allauth.account.auth_backends.AuthenticationBackend"


@pytest.fixture
def hoshi(world: World) -> Examples:
    return examples.make(world, world.hoshi, 1)


def signed_in(person: Person) -> Client:
    client = Client()
    client.force_login(person, BACKEND)
    return client


def page_of(cluster: Cluster) -> str:
    return f"/t/hoshi/clusters/{cluster.pk}/"


def test_every_page_answers(world: World, hoshi: Examples) -> None:
    for role in ("lead_architect", "platform_engineer"):
        client = signed_in(world.person(role))
        cluster, job = hoshi["clusters"], hoshi["jobs"]
        for address in (
            "/", "/clusters/", "/clusters/?sort=name", "/jobs/", page_of(cluster), f"{page_of(cluster)}launch/", f"{page_of(cluster)}retire/",
            f"{page_of(cluster)}retry/", f"/t/hoshi/jobs/{job.pk}/", f"/t/hoshi/jobs/{job.pk}/cancel/", "/t/hoshi/", "/t/hoshi/history/",
            "/t/hoshi/clusters/request/", "/t/hoshi/clusters/request/?mode=paste", "/t/hoshi/clusters/request/?architecture=hyperpod-eks",
            f"/t/hoshi/record/model/{hoshi['models'].pk}/edit/", "/t/hoshi/record/model/add/",
        ):  # fmt: skip
            answer = client.get(address)
            assert answer.status_code == 200, (role, address, answer.content[:500])
