"""docker-compose.yml cannot be run here, so its form and its names are checked."""

import re
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import yaml

from tests.setup.test_settings import PRODUCTION

CHECKOUT = Path(__file__).parents[2]
# Read by boto3 itself, in every service that calls a cloud.
BOTO = {"AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}


@cache
def compose() -> dict[str, Any]:
    return yaml.safe_load((CHECKOUT / "docker-compose.yml").read_text())


SCHEMA = "pcluster-schema"  # runs ParallelCluster's own code on what people type, and none of ours


def ours() -> dict[str, dict[str, Any]]:
    """The services that run our own code."""
    services = compose()["services"].items()
    return {name: service for name, service in services if service["image"] == "cohort" and name != SCHEMA}


def known() -> set[str]:
    """Every name that the settings read."""
    names = re.findall(r"(?:env|listed)\(\s*\"([A-Z_]+)\"", (CHECKOUT / "program" / "settings.py").read_text())
    return {*names, "DEBUG"}


def test_it_follows_the_schema_of_compose_files() -> None:
    import json

    schema = files("check_jsonschema.builtin_schemas.vendor").joinpath("compose-spec.json").read_text()
    jsonschema.validate(compose(), json.loads(schema))


def test_every_variable_is_a_setting() -> None:
    for name, service in ours().items():
        asked = {variable.removesuffix("_FILE") for variable in service["environment"]}
        assert asked - known() - BOTO == set(), name


def test_every_setting_that_production_needs_is_given() -> None:
    needed = set(PRODUCTION) - {"DJANGO_SETTINGS_MODULE"}
    for name, service in ours().items():
        given = {variable.removesuffix("_FILE") for variable in service["environment"]}
        assert needed - given == set(), name


def test_the_image_collects_its_files_with_every_needed_setting() -> None:
    text = compose()["x-app"]["build"]["dockerfile_inline"]
    assert {name for name in PRODUCTION if name != "DJANGO_SETTINGS_MODULE"} <= set(re.findall(r"([A-Z_]+)=", text))


def test_every_secret_is_declared_and_mounted_where_it_is_read() -> None:
    for name, service in compose()["services"].items():
        for variable, value in service.get("environment", {}).items():
            if variable.endswith("_FILE"):
                assert Path(value).name in service["secrets"], name
        assert set(service.get("secrets", [])) <= set(compose()["secrets"])


def test_every_queue_has_a_worker() -> None:
    from program.celery import QUEUES

    listened = " ".join(str(service["command"]) for name, service in ours().items() if "profiles" not in service)
    assert [queue for queue in QUEUES if not re.search(rf"-Q \S*\b{queue}\b", listened)] == []


def test_no_service_of_production_sees_the_sandbox() -> None:
    for service in ours().values():
        if "profiles" not in service:
            assert "AWS_ENDPOINT_URL" not in service["environment"]
            assert "DEBUG" not in service["environment"]


def test_what_reads_typed_configurations_has_no_network_no_secrets_and_little_memory() -> None:
    service = compose()["services"][SCHEMA]
    assert service["network_mode"] == "none"
    assert not service["environment"] and not service["secrets"] and not service["depends_on"]
    assert service["volumes"] == ["sockets:/srv/sockets"] and service["mem_limit"]
    asked = compose()["services"]["web"]
    assert asked["environment"]["PCLUSTER_SCHEMA"] in service["command"] and "sockets:/srv/sockets" in asked["volumes"]
    assert SCHEMA not in asked["depends_on"]
