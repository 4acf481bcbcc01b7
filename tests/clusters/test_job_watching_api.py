"""How a job goes, over the API."""

import pytest

from tenants.wall.identity import issue_token
from tests.clusters.test_job_page import job, step, told

__all__ = ["job"]


@pytest.fixture
def ask(world, client, job):
    _row, token = issue_token(person=world.person("ml_engineer"), name="t")

    def get(what):
        return client.get(f"/api/v1/t/hoshi/jobs/{job.pk}/{what}", headers={"authorization": f"Bearer {token}"})

    return get


def test_points_output_and_faults_are_lists_and_progress_is_one(ask, job):
    told(job, step(1, "NAN"), step(2), "[rank1]: RuntimeError: CUDA error: an illegal memory access was encountered")
    points = ask("points/").json()["results"]
    assert {(row["step"], row["loss"], row["loss_word"]) for row in points} == {(1, None, "nan"), (2, 2.5, "")}
    (stretch,) = ask("output/").json()["results"]
    assert stretch["lines"] == 3
    assert ask("output/1/").json()["text"].count("\n") == 2 and ask("output/2/").status_code == 404
    (fault,) = ask("faults/").json()["results"]
    assert (fault["kind"], fault["rank"]) == ("device", 1)
    goes = ask("progress/").json()
    assert goes["format"] == "Megatron-LM" and goes["step"] == 2 and goes["total_steps"] == 500_000
    assert goes["at_risk"]["accelerator_hours"] == pytest.approx(16, rel=0.05) and not goes["at_risk"]["saved"]
    assert goes["forecast"]["unknown"] == "too_short" and goes["forecast"]["ends_at"] is None
    assert [row["name"] for row in goes["nodes"]] == ["ip-10-0-0-1", "ip-10-0-0-2"]


@pytest.mark.parametrize("value", ["0", "x", "-1", "9" * 40, ""])
def test_a_number_of_nodes_that_is_none_is_refused(ask, value):
    assert ask(f"progress/?nodes={value}").status_code == 422
