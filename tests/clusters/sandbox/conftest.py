"""One sandbox cloud for the session, with quotas and plans for many small accounts."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clusters.sandbox.driver import REGION, Account, Process

ACCOUNTS = 300
PLANNED = range(290, 296)  # accounts that hold a training plan


def programme() -> dict[str, Any]:
    quotas = [
        {"service": "sagemaker", "name": "ml.p5.48xlarge for cluster usage", "unit": "instances", "value": 16},
        {"service": "sagemaker", "name": "ml.m5.4xlarge for cluster usage", "unit": "instances", "value": 4},
        {"service": "sagemaker", "name": "ml.trn1.32xlarge for cluster usage", "unit": "instances", "value": 4},
        {"service": "sagemaker", "name": "ml.p5en.48xlarge for cluster usage", "unit": "instances", "value": 40},
        {
            "service": "sagemaker",
            "name": "Maximum number instances allowed per SageMaker HyperPod cluster",
            "unit": "instances",
            "value": 20,
        },
        {
            "service": "sagemaker",
            "name": "Total number of instances allowed across SageMaker HyperPod clusters",
            "unit": "instances",
            "value": 24,
        },
    ]
    quotas += [
        {"service": "ec2", "name": "Running On-Demand P instances", "unit": "vCPU", "value": 1536},
        {
            "service": "ec2",
            "name": "Running On-Demand Standard (A, C, D, H, I, M, R, T, Z) instances",
            "unit": "vCPU",
            "value": 256,
        },
    ]
    plan = {"kind": "training_plan", "region": REGION, "instance_type": "p5.48xlarge", "count": 4, "state": "active"}
    times = {"starts_at": "2025-01-15T00:00:00Z", "ends_at": "2025-07-04T00:00:00Z"}
    return {
        "meta": {"as_of": "2025-03-26T09:00:00Z"},
        "sandbox_quotas": [{"account": f"{n:012d}", "region": REGION, "quotas": quotas} for n in range(1, ACCOUNTS)],
        "participants": [{"slug": f"p{n}", "provider_account": f"{n:012d}"} for n in PLANNED],
        "reservations": [
            {**plan, **times, "id": f"tp-{n}", "participant": f"p{n}", "az_id": "apne1-az4"} for n in PLANNED
        ]
        + [
            {**plan, "id": f"tp-old-{n}", "participant": f"p{n}", "az_id": "apne1-az4",
             "starts_at": "2024-01-15T00:00:00Z", "ends_at": "2024-07-04T00:00:00Z"}
            for n in PLANNED
        ],
    }  # fmt: skip


@pytest.fixture(scope="session")
def programme_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("programme") / "programme.yaml"
    path.write_text(json.dumps(programme()))  # JSON is YAML
    return path


@pytest.fixture(scope="session")
def cloud(tmp_path_factory: pytest.TempPathFactory, programme_file: Path) -> Iterator[Process]:
    process = Process(tmp_path_factory.mktemp("cloud") / "state", programme_file).start()
    yield process
    process.kill()


@pytest.fixture
def account(cloud: Process) -> Iterator[Account]:
    yield Account(cloud).open_for_the_hub()
    cloud.ask("DELETE", "faults")


@pytest.fixture(scope="module")
def shared(cloud: Process) -> Account:
    """One account for the tests of a module that leave nothing behind: new clients are what costs time."""
    return Account(cloud).open_for_the_hub()


@pytest.fixture(scope="session")
def mortal(tmp_path_factory: pytest.TempPathFactory, programme_file: Path) -> Iterator[Process]:
    process = Process(tmp_path_factory.mktemp("mortal") / "state", programme_file).start()
    yield process
    process.kill()


@pytest.fixture
def own_cloud(mortal: Process) -> Iterator[Process]:
    """A cloud that a test may kill, hurry and age, as long as its account is its own."""
    if mortal.running is None:
        mortal.start()
    yield mortal
    mortal.speed = 1.0
    if mortal.running is not None:
        mortal.ask("POST", "speed", {"speed": 1})
        mortal.ask("DELETE", "faults")
