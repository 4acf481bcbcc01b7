"""Degrees of parallelism against where it trains, with the numbers in the sentence; versions that output tells."""

from types import SimpleNamespace
from typing import Any

import pytest

from clusters.jobs.logs.versions import told
from clusters.measured_software import keep_of_job
from clusters.models import Cluster, Job
from clusters.parallelism import MULTIPLIED, Place, check
from tenants.history.models import Entry
from tenants.models import SoftwareVersion
from tenants.wall.acting import acting_for
from tests.clusters.test_pages import hoshi, signed_in
from tests.conftest import World
from tests.examples import Examples

__all__ = ["hoshi"]

P5, TRN = "p5.48xlarge", "trn1.32xlarge"


def use(**degrees: int) -> Any:
    return SimpleNamespace(**dict.fromkeys((field for field, _short in MULTIPLIED), None) | degrees)


@pytest.mark.parametrize(
    ("degrees", "places", "fits", "numbers"),
    [
        ({"tensor_parallel": 8, "pipeline_parallel": 4, "data_parallel": 4}, [(P5, 16)], True, "= 128 processes"),
        ({"tensor_parallel": 8, "pipeline_parallel": 4, "data_parallel": 5}, [(P5, 16)], False, "= 128 accelerators"),
        ({"tensor_parallel": 8, "context_parallel": 2}, [(P5, 16)], True, "leaves 8 for data parallelism"),
        ({"tensor_parallel": 24}, [(P5, 16)], False, "does not divide it"),
        ({"tensor_parallel": 32, "data_parallel": 16}, [(TRN, 16)], True, "32 NeuronCores each = 512 NeuronCores"),
        ({"tensor_parallel": 16, "data_parallel": 16}, [(TRN, 16)], False, "32 NeuronCores each = 512 NeuronCores"),
        ({"data_parallel": 4, "fsdp": 32}, [(P5, 16)], True, "DP 4 × FSDP 32"),
        ({"fsdp": 128}, [("ml.p5.48xlarge", 16)], True, "FSDP 128 ="),
        ({"tensor_parallel": 8, "data_parallel": 2}, [(P5, 16), (P5, 2)], True, "place 1"),
        ({}, [(P5, 16)], None, ""),
        ({"tensor_parallel": 0}, [(P5, 16)], None, ""),
        ({"tensor_parallel": 8}, [], None, ""),
        ({"tensor_parallel": 8}, [("m5.large", 3)], None, ""),
    ],
)
def test_the_product_is_told_with_its_numbers(
    degrees: dict[str, int], places: list[tuple[str, int]], fits: bool | None, numbers: str
) -> None:
    verdict = check(use(**degrees), [Place(f"place {n}", *each) for n, each in enumerate(places)])
    assert (verdict.fits if verdict else None) is fits
    assert verdict is None or numbers in verdict.sentence, verdict


@pytest.mark.parametrize(
    ("line", "versions"),
    [
        ("ip-10-0-0-1:71:71 [0] NCCL INFO NCCL version 2.23.4+cuda12.4", {"nccl": "2.23.4+cuda12.4"}),
        ("n1:9:9 [0] NCCL INFO NET/OFI Initializing aws-ofi-nccl 1.13.2-aws", {"aws_ofi_nccl": "1.13.2-aws"}),
        ("NCCL INFO NET/OFI Using Libfabric version 1.22", {"libfabric": "1.22"}),
        ("2026-Jan-01 NRT version: 2.23.9.0 (3e70920f2)", {"neuron_runtime": "2.23.9.0"}),
        ("iteration 100 | loss 2.31", {}),
    ],
)
def test_output_tells_versions(line: str, versions: dict[str, str]) -> None:
    assert told(line) == versions


def test_what_was_measured_stands_beside_what_is_declared_and_drift_is_found(world: World, hoshi: Examples) -> None:
    with acting_for(world.hoshi, staff=True):
        keep_of_job(hoshi["jobs"], {"cuda": "12.6", "nccl": "2.23.4"})
        keep_of_job(hoshi["jobs"], {"cuda": "12.6", "nccl": "2.25.1"})
        rows = SoftwareVersion.objects.filter(source="measured").order_by("component")
        assert list(rows.values_list("component", "software_version")) == [("cuda", "12.6"), ("nccl", "2.25.1")]
        kinds = Entry.objects.filter(subject="software", actor="engine").order_by("id").values_list("kind", flat=True)
        assert list(kinds) == ["record.added", "record.added", "record.changed"]
        Cluster.objects.update(accelerated_wanted=4, main_type="p5.48xlarge")
        Job.objects.update(state="succeeded")
    client = signed_in(world.person("programme_manager"))
    page = client.get("/t/hoshi/").content.decode()
    assert "differs" in page and "12.6" in page and "12.8" in page
    assert "TP 8 = 8 processes; lab-hoshi has 4 × p5.48xlarge with 8 accelerators each = 32" in page
    for query, slugs in {
        "?software=drift": {"hoshi"},
        "?framework=Megatron-LM": {"hoshi"},
        "?framework=None": set(),
        "": {"hoshi", "umi"},
    }.items():
        found = client.get(f"/api/v1/participations/{query}").json()["results"]
        assert {row["tenant"] for row in found} == slugs, query
        if query != "?framework=None":
            rows = client.get(f"/{query}").context["rows"]
            assert {row.tenant for row in rows} == slugs, query
    record = client.get(f"/api/v1/records/{hoshi['participations'].pk}/").json()
    assert record["drift"] == ["CUDA"] and [one["fits"] for one in record["parallelism"]] == [True]
    assert "8 accelerators each = 32" in record["parallelism"][0]["sentence"]
    assert client.get("/api/v1/participations/?software=none").status_code == 400
    own = client.get("/?framework=%E8%87%AA%E4%BD%9C")
    assert own.status_code == 400 and "Select a valid choice" in own.content.decode()


def test_a_participation_is_edited_with_its_version_and_a_stale_form_shows_both(world: World, hoshi: Examples) -> None:
    client, place = signed_in(world.person("account_team")), hoshi["participations"]
    address = f"/t/hoshi/participations/{place.pk}/edit/"
    body = {"project": "Bigger", "organisation_kind": "", "sector": "language", "staff_size": "40", "support_plan": ""}
    assert client.post(address, body | {"version": "1", "why": "as agreed"}).status_code == 303
    stale = client.post(address, body | {"version": "1", "project": "Smaller"})
    assert stale.status_code == 409 and "Bigger" in stale.content.decode() and "Smaller" in stale.content.decode()
    api = f"/api/v1/t/hoshi{address.removeprefix('/t/hoshi').removesuffix('edit/')}"
    sent = {"content_type": "application/json"}
    assert client.patch(api, '{"sector": "speech"}', **sent).status_code == 428
    assert client.patch(api, '{"sector": "speech"}', **sent, headers={"If-Match": '"1"'}).status_code == 412
    changed = client.patch(api, '{"sector": "speech"}', **sent, headers={"If-Match": '"2"'})
    assert changed.status_code == 200 and changed.json()["sector"] == "speech" and changed["ETag"] == '"3"'
    assert signed_in(world.person("ml_engineer")).get(address).status_code == 403
    with acting_for(world.hoshi, staff=True):
        first = Entry.objects.filter(kind="record.changed", subject="participation").order_by("id").first()
    assert (
        first is not None and first.facts["changes"]["staff_size"] == [None, 40] and first.facts["why"] == "as agreed"
    )
