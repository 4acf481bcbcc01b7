"""The catalogue on pages and in the API: narrowed, read whole, taken away, and what it says of clusters that are behind."""

import dataclasses
import io
import json
import zipfile
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from django.test import Client

from clusters import architectures, catalogue
from clusters.models import Cluster
from tenants.models import Person
from tenants.wall.acting import acting_for
from tests import examples
from tests.conftest import World
from tests.examples import Examples

BACKEND = "allauth.account.auth_backends.AuthenticationBackend"
SHELF = architectures.architectures()
NEWEST = architectures.newest()


@pytest.fixture
def hoshi(world: World) -> Examples:
    made = examples.make(world, world.hoshi, 1)
    _change(world, made, architecture_version=NEWEST["hyperpod-slurm"])
    return made


@pytest.fixture
def behind(world: World, hoshi: Examples, monkeypatch: pytest.MonkeyPatch) -> Examples:
    """Hoshi's cluster was made from a version that a newer one has followed."""
    newest = architectures.architecture("hyperpod-slurm")
    change = architectures.Change("2099.1", date(2026, 11, 30), "drain", "First version.")
    later = dataclasses.replace(newest, version="2099.1", changelog=(change, *newest.changelog))
    shelf = (*architectures._shelf(), later)
    monkeypatch.setattr(architectures, "_shelf", lambda: shelf)
    return hoshi


def _change(world: World, made: Examples, **columns: Any) -> None:
    with acting_for(world.hoshi):
        Cluster.objects.filter(pk=made["clusters"].pk).update(**columns)


def client(person: Person) -> Client:
    found = Client()
    found.force_login(person, BACKEND)
    return found


def shown(world: World, address: str, role: str = "platform_engineer", status: int = 200) -> str:
    answer = client(world.person(role)).get(address)
    assert answer.status_code == status, answer.content[:300]
    return answer.content.decode()


def listed(page: str) -> set[str]:
    return {each.slug for each in SHELF if f'id="a-{each.slug}"' in page}


@pytest.mark.parametrize("filters", ["", "?q=", "?engine=", "?proof=fresh"])
def test_everybody_sees_the_newest_of_each(world, filters):
    for role in ("viewer", "auditor", "programme_manager"):
        assert listed(shown(world, f"/catalogue/{filters}", role)) == set(NEWEST)


@pytest.mark.parametrize(
    ("filters", "fit"),
    [
        ("?engine=parallelcluster", lambda each: each.engine == "parallelcluster"),
        ("?engine=hyperpod-eks", lambda each: each.orchestrator == "eks"),
        ("?accelerator=Neuron", lambda each: "Neuron" in catalogue.accelerators(each)),
        # Trn1 is offered nowhere in Tokyo; from the fact sheet on zones.
        ("?region=ap-northeast-1", lambda each: not each.slug.endswith("trn1")),
        ("?q=kubernetes", lambda each: "kubernetes" in each.summary.lower()),
        ("?proof=expired", lambda each: False),
    ],
)
def test_filters_narrow_it_and_the_api_agrees(world, filters, fit):
    wanted = {each.slug for each in SHELF if fit(each)}
    assert listed(shown(world, f"/catalogue/{filters}")) == wanted
    if "q=" not in filters:
        told = json.loads(shown(world, f"/api/v1/architectures/{filters}"))
        assert {each["slug"] for each in told["results"]} == wanted


def test_what_matches_nothing_says_so_and_nonsense_is_a_400(world):
    assert "No architecture matches" in shown(world, "/catalogue/?q=mainframe")
    shown(world, "/catalogue/?engine=mainframe", status=400)
    told = json.loads(shown(world, "/api/v1/architectures/?engine=mainframe", status=400))
    assert "hyperpod-slurm" in told["detail"]


def test_a_proof_that_is_too_old_is_told_in_both(world, monkeypatch):
    old = datetime.now(UTC).date() - timedelta(days=400)
    shelf = tuple(
        dataclasses.replace(each, proof=dataclasses.replace(each.proof, on=old)) if "eks" in each.slug else each
        for each in architectures._shelf()
    )
    monkeypatch.setattr(architectures, "_shelf", lambda: shelf)
    assert listed(shown(world, "/catalogue/?proof=expired")) == {"hyperpod-eks"}
    assert "too old to be relied on" in shown(world, "/catalogue/hyperpod-eks/")
    assert json.loads(shown(world, "/api/v1/architectures/hyperpod-eks/"))["proof"]["fresh"] is False


@pytest.mark.parametrize("each", SHELF, ids=lambda each: each.slug)
def test_an_entry_shows_pin_proof_limits_parameters_and_every_file(world, each):
    page = shown(world, f"/catalogue/{each.slug}/")
    page = page.replace("<wbr>", "")
    for word in (each.made_by.pin, each.version, *each.parameters):
        assert word in page
    for file in catalogue.files(each):
        assert file.path in page and file.sha256[:12] in page
    told = json.loads(shown(world, f"/api/v1/architectures/{each.slug}/"))
    assert [file["path"] for file in told["files"]] == [file.path for file in catalogue.files(each)]
    assert {parameter["field"] for parameter in told["parameters"]} == set(each.parameters)
    assert told["proof"]["expires"] == str(each.proof.expires)


def test_an_entry_or_version_that_does_not_exist_is_a_404(world):
    for address in ("mainframe/", "hyperpod-slurm/?version=1999.1", "mainframe/export/"):
        shown(world, f"/catalogue/{address}", status=404)
        shown(world, f"/api/v1/architectures/{address}", status=404)


def test_a_cluster_of_the_newest_version_is_told_nothing_about_updates(world, hoshi):
    assert 'id="update"' not in shown(world, f"/t/hoshi/clusters/{hoshi['clusters'].pk}/")
    assert 'id="c-' not in shown(world, "/clusters/?update=available")
    assert 'id="c-' in shown(world, "/clusters/?update=newest")
    assert json.loads(shown(world, "/api/v1/clusters/"))["results"][0]["update_available"] == ""


def test_a_cluster_that_is_behind_says_what_an_update_would_mean_for_it(world, behind):
    page = shown(world, f"/t/hoshi/clusters/{behind['clusters'].pk}/")
    notice = page[page.index('id="update"') :][:1500]
    assert "2099.1" in notice and "nodes are replaced once their jobs have ended" in notice
    assert 'id="c-' in shown(world, "/clusters/?update=available")
    assert 'id="c-' not in shown(world, "/clusters/?update=newest")
    [told] = json.loads(shown(world, "/api/v1/clusters/?update_available=2099.1"))["results"]
    assert told["update_available"] == "2099.1"
    assert json.loads(shown(world, "/api/v1/clusters/?update_available=2098.1"))["results"] == []
    assert "one is behind" in shown(world, "/catalogue/")


def test_a_customer_sees_only_its_own_clusters_of_an_architecture(world, hoshi):
    assert f'id="c-{hoshi["clusters"].pk}"' in shown(world, "/catalogue/hyperpod-slurm/")
    umi = client(world.person("platform_engineer", world.umi)).get("/catalogue/hyperpod-slurm/").content.decode()
    assert f'id="c-{hoshi["clusters"].pk}"' not in umi and "No cluster was made from it yet" in umi


@pytest.mark.parametrize("door", ["/catalogue", "/api/v1/architectures"])
def test_it_can_be_taken_away_whole_and_one_by_one(world, door):
    for address, name in ((f"{door}/export/", "README.md"), (f"{door}/hyperpod-slurm/export/", "deploy.sh")):
        answer = client(world.person("viewer")).get(address)
        assert answer["Content-Type"] == "application/zip" and "attachment" in answer["Content-Disposition"]
        with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
            assert any(path.endswith(f"/{name}") for path in archive.namelist())


def test_a_type_is_only_told_in_zones_that_offer_it():
    tokyo = next(
        fit for fit in catalogue.fits(architectures.architecture("parallelcluster-p5")) if "north" in fit.region
    )
    assert dict(tokyo.types) == {"p5.48xlarge": ("apne1-az1", "apne1-az4"), "p5en.48xlarge": ("apne1-az4",)}
