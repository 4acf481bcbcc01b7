"""The table of statuses is whole: a status that an engine learns fails here, and the tables agree with what adapters do."""

import subprocess
from pathlib import Path

import botocore.session
import pytest

from clusters import allowed
from clusters.providers import hyperpod, stacks

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / ".pcluster-venv" / "bin" / "python"


def enum(service, shape):
    return set(botocore.session.Session().get_service_model(service).shape_for(shape).enum)


@pytest.mark.parametrize(
    ("table", "service", "shape"),
    [
        ("STACK", "cloudformation", "StackStatus"),
        ("HYPERPOD_CLUSTER", "sagemaker", "ClusterStatus"),
        ("HYPERPOD_GROUP", "sagemaker", "InstanceGroupStatus"),
        ("HYPERPOD_NODE", "sagemaker", "ClusterInstanceStatus"),
        ("HYPERPOD_SOFTWARE", "sagemaker", "SoftwareUpdateStatus"),
        ("FILE_SYSTEM", "fsx", "FileSystemLifecycle"),
    ],
)
def test_every_status_of_the_service_is_known_and_no_other(table, service, shape):
    assert set(getattr(allowed, table)) == enum(service, shape)


@pytest.mark.pcluster
@pytest.mark.parametrize(
    ("table", "module", "name"),
    [("PARALLELCLUSTER", "cluster_status", "ClusterStatus"), ("FLEET", "compute_fleet_status", "ComputeFleetStatus"),
     ("STACK", "cloud_formation_stack_status", "CloudFormationStackStatus")],
)  # fmt: skip
def test_every_word_of_parallelclusters_own_api_is_known(table, module, name):
    code = (
        f"from pcluster.api.models.{module} import {name} as c; print(*[v for k, v in vars(c).items() if k.isupper()])"
    )
    said = subprocess.run([PROGRAM, "-c", code], capture_output=True, text=True, timeout=60, check=True).stdout.split()
    assert said and set(said) <= set(getattr(allowed, table))


def test_the_table_and_the_phases_of_the_adapters_say_the_same():
    meanings = {
        "busy": {"working"},
        "deleting": {"working"},
        "ready": {"good"},
        "failed": {"broken"},
        "absent": {"gone"},
    }
    for table, phases in ((allowed.STACK, stacks.PHASES), (allowed.HYPERPOD_CLUSTER, hyperpod.PHASES)):
        assert set(table) == set(phases)
        for status, phase in phases.items():
            assert table[status].meaning in meanings[phase], status


def test_what_is_gone_or_going_takes_nothing_and_what_is_broken_can_be_deleted():
    for name in ("STACK", "HYPERPOD_CLUSTER", "PARALLELCLUSTER", "FILE_SYSTEM"):
        for status, told in getattr(allowed, name).items():
            if told.meaning == "gone" or status in ("Deleting", "DELETING", "DELETE_IN_PROGRESS"):
                assert not told.may, status
            if told.meaning == "broken":
                assert "delete" in told.may, status


def test_rollback_states_have_a_way_out():
    assert allowed.takes("stack", "ROLLBACK_COMPLETE", "delete") and not allowed.takes(
        "stack", "ROLLBACK_COMPLETE", "update"
    )
    assert allowed.takes("stack", "UPDATE_ROLLBACK_FAILED", "continue")
    assert allowed.takes("stack", "UPDATE_ROLLBACK_COMPLETE", "update")
    assert allowed.takes("stack", "UPDATE_FAILED", "rollback")
    assert allowed.takes("parallelcluster", "UPDATE_COMPLETE, fleet RUNNING", "update")
    assert allowed.takes("stack", "SOMETHING_NEW", "update") is None
