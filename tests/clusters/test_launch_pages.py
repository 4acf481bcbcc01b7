"""A job is launched from a template or a script: what is wrong is refused with its line, what is kept keeps its versions."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.utils import timezone

from clusters import actions
from clusters.models import Cluster, ContainerImage, Job, JobScript, JobScriptVersion, Reservation, Revision
from tenants.wall.acting import acting_for
from tenants.web.problems import Refused
from tests import examples
from tests.conftest import World
from tests.examples import Examples

BACKEND = "allauth.account.auth_backends.AuthenticationBackend"
GOOD = """#!/bin/bash
#SBATCH --open-mode=append
set -euo pipefail
export FI_PROVIDER=efa
srun --auto-resume=1 torchrun --nproc_per_node=8 /fsx/train.py
"""
LAUNCH = {"name": "train", "partition": "gpu", "nodes": "1", "time_limit_minutes": "60", "script": GOOD}
TEMPLATE = {
    "name": "llama", "partition": "gpu", "nodes": "1", "time_limit_minutes": "600", "p-program": "/fsx/code/train.py",
    "p-checkpoints": "/fsx/checkpoints/llama", "p-arguments": "--steps 5",
}  # fmt: skip


@pytest.fixture
def hoshi(world: World) -> Examples:
    made = examples.make(world, world.hoshi, 1)
    with acting_for(world.hoshi):
        for seat in (12, 13, 14):
            examples.node(made["clusters"], seat)
    return made


@pytest.fixture
def client(world: World) -> Client:
    client = Client()
    client.force_login(world.person("ml_engineer"), BACKEND)
    return client


def at(hoshi: Examples, slug: str = "") -> str:
    return f"/t/hoshi/clusters/{hoshi['clusters'].pk}/launch/{slug and f'from/{slug}'}"


def newest(world: World) -> Job:
    with acting_for(world.hoshi):
        return Job.objects.select_related("script_version").latest("created_at")


def reserve(world: World, cluster: Cluster, minutes: int) -> None:
    with acting_for(world.hoshi):
        row = Revision.objects.filter(cluster=cluster).latest("number")
        body = row.body | {"instance_groups": [{"name": "gpu", "training_plan": "plan-1"}]}
        Revision.objects.filter(pk=row.pk).delete()
        Revision.objects.create(tenant=world.hoshi, cluster=cluster, number=row.number, body=body, author="engine")
        now = timezone.now()
        Reservation.objects.create(state="bought",
            tenant=world.hoshi, participation=cluster.participation, kind="training_plan", external_id="plan-1",
            region=cluster.region, az_id=cluster.az_id, instance_type="p5.48xlarge", count=4, starts_at=now,
            ends_at=now + timedelta(minutes=minutes, seconds=30),
        )  # fmt: skip


def test_the_page_says_which_templates_fit_and_why_others_do_not(client: Client, hoshi: Examples) -> None:
    shown = client.get(at(hoshi)).content.decode()
    assert f'href="{at(hoshi, "megatron-lm/")}"' in shown
    assert "NeuronX Distributed needs Trainium; the nodes here are" in shown
    assert f'href="{at(hoshi, "neuronx-distributed/")}"' not in shown
    assert client.get(at(hoshi, "no-such/")).status_code == 404
    away = client.get(at(hoshi, "neuronx-distributed/")).content.decode()
    assert "NeuronX Distributed needs Trainium" in away


def test_a_template_becomes_a_script_as_it_is_filled_in_and_says_what_does_not_fit(
    client: Client, hoshi: Examples
) -> None:
    page = at(hoshi, "torchrun/")
    shown = client.get(page).content.decode()
    assert "#SBATCH --nodes=" in shown and 'data-heals="on"' in shown and "processes in all" in shown
    htmx: dict[str, Any] = {"headers": {"HX-Request": "true"}}
    part = client.post(page, TEMPLATE | {"do": "look", "nodes": "3"}, **htmx).content.decode()
    assert "<html" not in part and "24 processes in all" in part and "#SBATCH --nodes=3" in part
    part = client.post(page, TEMPLATE | {"do": "look", "p-checkpoints": "/tmp/x"}, **htmx).content.decode()
    assert "has to lie on shared storage" in part and "#SBATCH" not in part
    answer = client.post(page, TEMPLATE | {"do": "launch", "p-checkpoints": "/tmp/x"})
    assert answer.status_code == 422 and "has to lie on shared storage" in answer.content.decode()


def test_a_job_from_a_template_keeps_what_it_was_made_of(client: Client, world: World, hoshi: Examples) -> None:
    answer = client.post(at(hoshi, "torchrun/"), TEMPLATE | {"do": "launch", "keep_as": "llama run"})
    assert answer.status_code == 303
    job = newest(world)
    assert (job.template, job.heals, job.processes_per_node, job.nodes) == ("torchrun", True, 8, 1)
    assert job.template_version and job.template_parameters["arguments"] == "--steps 5"
    assert job.script_version is not None and job.script_version.text == job.script
    assert job.script_version.template == "torchrun" and job.script_version.parameters == job.template_parameters
    shown = client.get(answer["Location"]).content.decode()
    assert "torchrun" in shown and f"launch/from/torchrun/?again={job.pk}" in shown

    again = client.get(f"{at(hoshi, 'torchrun/')}?again={job.pk}").content.decode()
    assert "--steps 5" in again and f'value="{job.pk}"' in again
    changed = TEMPLATE | {"do": "launch", "keep_as": "llama run", "again": str(job.pk), "p-arguments": "--steps 6"}
    assert client.post(at(hoshi, "torchrun/"), changed).status_code == 303
    second = newest(world)
    assert second.again_of_id == job.pk and second.script_version is not None and second.script_version.number == 2
    compared = client.get(f"/jobs/compare/?old={job.pk}&new={second.pk}").content.decode()
    assert "ARGUMENTS=(--steps 5)" in compared and "ARGUMENTS=(--steps 6)" in compared
    assert "set -euo pipefail" not in compared, "lines that are the same are left out"
    kept = client.get(f"/t/hoshi/job-scripts/{second.script_version.script_id}/").content.decode()
    assert "What differs from version 1" in kept and "llama run" in client.get("/job-scripts/").content.decode()


def test_the_script_of_a_template_can_be_edited_before_it_is_launched(client: Client, hoshi: Examples) -> None:
    shown = client.post(at(hoshi, "torchrun/"), TEMPLATE | {"do": "edit"}).content.decode()
    assert f'action="{at(hoshi)}"' in shown and "TORCHRUN=(--nnodes" in shown and 'value="llama"' in shown


def test_errors_are_refused_with_their_lines_and_warnings_may_be_accepted(
    client: Client, world: World, hoshi: Examples
) -> None:
    before = newest(world).pk
    wrong = LAUNCH | {"script": GOOD + "#SBATCH --gpus-per-node=8\n".join(["", ""]) + "export HF_TOKEN=abc\n"}
    answer = client.post(at(hoshi), wrong | {"accept": "on"})
    shown = answer.content.decode()
    assert answer.status_code == 422 and "HF_TOKEN is written out" in shown and "line 7" in shown
    warned = LAUNCH | {"script": GOOD.replace(" --auto-resume=1", "")}
    answer = client.post(at(hoshi), warned)
    assert answer.status_code == 422 and "Without auto-resume" in answer.content.decode()
    assert newest(world).pk == before
    assert client.post(at(hoshi), warned | {"accept": "on"}).status_code == 303
    assert newest(world).heals is False
    assert client.post(at(hoshi), LAUNCH).status_code == 303
    assert newest(world).heals is True


def test_a_script_is_looked_at_while_it_is_typed_and_kept_without_a_launch(
    client: Client, world: World, hoshi: Examples
) -> None:
    part = client.post(at(hoshi), {"do": "look", "script": "echo\n"}, headers={"HX-Request": "true"}).content.decode()
    assert "<html" not in part and "It does not begin with #!" in part and 'data-heals="off"' in part
    before = newest(world).pk
    assert client.post(at(hoshi), LAUNCH | {"do": "keep"}).status_code == 422
    answer = client.post(at(hoshi), LAUNCH | {"do": "keep", "keep_as": "nightly"})
    assert answer.status_code == 303 and newest(world).pk == before
    same = client.post(at(hoshi), LAUNCH | {"do": "keep", "keep_as": "nightly"})
    assert same["Location"] == answer["Location"]
    with acting_for(world.hoshi):
        version = JobScriptVersion.objects.get(script__name="nightly")
        assert version.number == 1 and JobScript.objects.get(name="nightly").newest == 1
    shown = client.get(f"{at(hoshi)}?script={version.pk}").content.decode()
    assert "/fsx/train.py" in shown and 'value="nightly"' in shown


def test_a_file_is_taken_as_it_is(client: Client, world: World, hoshi: Examples) -> None:
    def sent(content: bytes) -> Any:
        return client.post(at(hoshi), LAUNCH | {"script": "", "file": SimpleUploadedFile("a.sbatch", content)})

    assert sent(GOOD.encode()).status_code == 303 and newest(world).script == GOOD
    for content, words in (
        (GOOD.replace("\n", "\r\n").encode(), "It ends lines as Windows does"),
        (b"#!/bin/bash\n" + b"x" * 10_000_000, "10,000,012 bytes; it may have 1,000,000"),
        (b"#!/bin/bash\n\xff\xfe", "no text in UTF-8"),
    ):
        answer = sent(content)
        assert answer.status_code == 422 and words in answer.content.decode(), words


def test_a_job_may_not_outlive_the_reservation_of_its_nodes(client: Client, world: World, hoshi: Examples) -> None:
    reserve(world, hoshi["clusters"], 120)  # nodes are taken away half an hour before the end
    answer = client.post(at(hoshi), LAUNCH | {"time_limit_minutes": "91"})
    assert answer.status_code == 422
    assert "The time limit of 91 minutes passes the end" in answer.content.decode()
    saves = {
        "script": "#!/bin/bash\n#SBATCH --time=120\nsrun python train.py --checkpoint-dir /fsx/c\n",
        "accepted": "on",
    }
    for minutes in ("91", ""):  # whether it saves checkpoints or not, and whoever sets the limit
        answer = client.post(at(hoshi), LAUNCH | saves | {"time_limit_minutes": minutes})
        assert answer.status_code == 422 and "90" in answer.content.decode()
    answer = client.post(at(hoshi, "torchrun/"), TEMPLATE | {"do": "launch"})
    assert answer.status_code == 422
    assert "You asked for 600 minutes; the reservation of these nodes ends in 90." in answer.content.decode()
    assert client.post(at(hoshi), LAUNCH | {"time_limit_minutes": "90"}).status_code == 303


def test_a_cluster_that_is_not_ready_takes_no_job(client: Client, world: World, hoshi: Examples) -> None:
    with acting_for(world.hoshi):
        Cluster.objects.filter(pk=hoshi["clusters"].pk).update(state="creating")
    for page, sent in ((at(hoshi), LAUNCH), (at(hoshi, "torchrun/"), TEMPLATE | {"do": "launch"})):
        answer = client.post(page, sent)
        assert answer.status_code in (409, 422) and "jobs can be launched when it is ready" in answer.content.decode()


NASTY = "$(touch /tmp/pwned); `id` \"x\" 'y' | & > \\ \x7f"


def test_what_looks_like_shell_in_any_field_reaches_no_shell(client: Client, world: World, hoshi: Examples) -> None:
    for field in ("name", "p-program", "p-checkpoints", "p-arguments", "partition", "keep_as", "environment", "image"):
        answer = client.post(at(hoshi, "torchrun/"), TEMPLATE | {"do": "launch", field: f"/fsx/{NASTY}"})
        assert answer.status_code == 422, field
    nasty = "/fsx/$(touch x); `id` 'y'"
    answer = client.post(at(hoshi, "torchrun/"), TEMPLATE | {"do": "launch", "name": nasty, "p-program": nasty})
    assert answer.status_code == 303
    job = newest(world)
    assert job.name == nasty and "PROGRAM='/fsx/$(touch x); `id` '\"'\"'y'\"'\"''" in job.script
    assert "#SBATCH --job-name=fsx-touch-x-id-y\n" in job.script


def api(client: Client, hoshi: Examples, path: str, body: Any, key: str = "1") -> Any:
    return client.post(
        f"/api/v1/t/hoshi/{path}", json.dumps(body), content_type="application/json", headers={"Idempotency-Key": key}
    )


def test_the_api_lists_renders_lints_keeps_and_launches(client: Client, world: World, hoshi: Examples) -> None:
    cluster = hoshi["clusters"]
    listed = client.get("/api/v1/job-templates/").json()["results"]
    assert {"torchrun", "megatron-lm"} <= {each["slug"] for each in listed}
    one = client.get("/api/v1/job-templates/torchrun/").json()
    assert {each["name"] for each in one["parameters"]} == {"program", "checkpoints", "arguments"}
    wish = {"template": "torchrun", "nodes": 1, "parameters": {"arguments": "--x 1"}, "time_limit_minutes": 60}
    rendered = api(client, hoshi, f"clusters/{cluster.pk}/render/", wish).json()
    assert rendered["heals"] is True and rendered["findings"] == [] and "ARGUMENTS=(--x 1)" in rendered["script"]
    refused = api(client, hoshi, f"clusters/{cluster.pk}/render/", wish | {"parameters": {"program": "x"}})
    assert refused.status_code == 422 and "beginning with /" in refused.json()["detail"]
    refused = api(client, hoshi, f"clusters/{cluster.pk}/render/", wish | {"template": "no"})
    assert refused.status_code == 422 and refused.json()["code"] == "no_template"

    linted = api(client, hoshi, "job-lint/", {"text": "#!/bin/bash\nsrun x\n", "cluster": str(cluster.pk)}).json()
    assert {"auto_resume_missing", "efa_settings_missing"} <= {each["code"] for each in linted["findings"]}
    kept = api(client, hoshi, "job-scripts/", {"name": "from api", "text": GOOD}).json()
    version = kept["versions"][0]["id"]

    launch = {"cluster": str(cluster.pk), "name": "by api", "nodes": 1}
    made = api(
        client, hoshi, "jobs/", launch | {"template": "torchrun", "refuse_warnings": True, "time_limit_minutes": 9}, "a"
    )
    assert made.status_code == 202 and made.json()["template"] == "torchrun" and made.json()["heals"] is True
    made = api(client, hoshi, "jobs/", launch | {"script_version": version, "again_of": made.json()["id"]}, "b")
    assert made.status_code == 202 and made.json()["script_version"] == version and made.json()["again_of"]
    both = api(client, hoshi, "jobs/", launch | {"script": GOOD, "template": "torchrun"}, "c")
    assert both.status_code == 422
    assert api(client, hoshi, "jobs/", launch, "d").status_code == 422
    refused = api(client, hoshi, "jobs/", launch | {"script": "#!/bin/bash\nsrun x\n", "refuse_warnings": True}, "e")
    assert refused.status_code == 422 and refused.json()["code"] == "job_warnings"
    refused = api(client, hoshi, "jobs/", launch | {"script": GOOD + "X=<YOUR_BUCKET>\n"}, "f")
    assert refused.status_code == 422 and refused.json()["findings"][0]["line"] == 6
    with acting_for(world.hoshi), pytest.raises(Refused):
        actions.launch_job(cluster=cluster, name="x", script=GOOD, nodes=1, by="engine", time_limit_minutes=0)


def test_the_image_of_a_template_is_the_cluster_s_own_by_digest(client: Client, world: World, hoshi: Examples) -> None:
    with acting_for(world.hoshi):
        image = ContainerImage.objects.get(cluster=hoshi["clusters"])
    answer = client.post(at(hoshi, "torchrun/"), TEMPLATE | {"do": "launch", "image": image.name})
    assert answer.status_code == 303
    job = newest(world)
    assert (job.image, job.image_digest) == (image.name, image.digest)
    assert f"/fsx/cohort/images/{image.name}-{image.digest[7:19]}.sqsh" in job.script
    answer = client.post(at(hoshi, "torchrun/"), TEMPLATE | {"do": "launch", "image": "other"})
    assert answer.status_code == 422


def test_scripts_and_runs_of_others_are_not_there(world: World, hoshi: Examples) -> None:
    client = Client()
    client.force_login(world.person("ml_engineer", world.umi), BACKEND)
    script, job = hoshi.by_noun["job-scripts"], hoshi["jobs"]
    assert client.get(f"/t/hoshi/job-scripts/{script.pk}/").status_code == 404
    shown = client.get(f"/jobs/compare/?old={job.pk}&new={job.pk}").content.decode()
    assert 'id="facts"' not in shown and f">{job.name}<" not in shown


def test_when_and_after_what_and_for_how_long_silent_is_asked_on_the_page(
    client: Client, world: World, hoshi: Examples
) -> None:
    client.post(at(hoshi), LAUNCH)
    first = newest(world)
    later = (timezone.localtime() + timedelta(days=1)).strftime("%Y-%m-%dT%H:%M")
    asked = {"begin_at": later, "after": first.pk, "after_how": "afterany", "array": "0-3%2", "idle_minutes": 30}
    answer = client.post(at(hoshi), LAUNCH | asked | {"name": "sweep", "idle_cancels": "on"})
    assert answer.status_code == 303, answer.content.decode()
    job = newest(world)
    assert (job.name, job.after_id, job.after_how, job.array) == ("sweep", first.pk, "afterany", "0-3%2")
    assert (job.idle_minutes, job.idle_cancels) == (30, True)
    assert timezone.localtime(job.begin_at).strftime("%Y-%m-%dT%H:%M") == later
    refused = client.post(at(hoshi), LAUNCH | {"name": "sweep", "array": "9-1"})
    assert refused.status_code == 422 and "from low to high" in refused.content.decode()
