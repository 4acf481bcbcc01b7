"""The pages about clusters and jobs: what they show, refuse and keep."""

import json
import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from clusters.actions import request_cluster
from clusters.architectures import architectures
from clusters.models import Bucket, Cluster, Job, ServiceQuota
from clusters.showing import tone_of
from tenants.history.models import Entry
from tenants.models import Person
from tenants.wall.acting import acting_for
from tests import examples
from tests.conftest import World
from tests.examples import Examples

BACKEND = "allauth.account.auth_backends.AuthenticationBackend"
FORM = {
    "do": "request",
    "mode": "form",
    "architecture": "hyperpod-slurm",
    "name": "fresh",
    "reason": "for the long run",
    "az_id": "apne1-az4",
    "subnet": "/22",
    "lustre_gib": "1200",
    "lustre_mbs": "250",
    "openzfs_mbs": "256",
    "node_recovery": "Automatic",
    "groups-TOTAL_FORMS": "2",
    "groups-INITIAL_FORMS": "0",
    "groups-0-name": "head",
    "groups-0-instance_type": "m5.8xlarge",
    "groups-0-count": "1",
    "groups-0-role": "controller",
    "groups-1-name": "workers",
    "groups-1-instance_type": "p5.48xlarge",
    "groups-1-count": "2",
    "groups-1-role": "compute",
}
REQUEST = "/t/hoshi/clusters/request/"


@pytest.fixture
def hoshi(world: World) -> Examples:
    made = examples.make(world, world.hoshi, 1)
    with acting_for(world.hoshi):
        for name, value in {
            "ml.m5.8xlarge for cluster usage": 4,
            "Maximum number instances allowed per SageMaker HyperPod cluster": 50,
            "Total number of instances allowed across SageMaker HyperPod clusters": 50,
        }.items():
            ServiceQuota.objects.create(
                tenant=world.hoshi, account=made["accounts"], region="ap-northeast-1", service="sagemaker", name=name, value=value, read_at=timezone.now()
            )  # fmt: skip
    return made


def signed_in(person: Person, **more: Any) -> Client:
    client = Client(**more)
    client.force_login(person, BACKEND)
    return client


def page_of(cluster: Cluster) -> str:
    return f"/t/hoshi/clusters/{cluster.pk}/"


def told(hoshi: Examples, **changes: str) -> dict[str, str]:
    return FORM | {"account": str(hoshi["accounts"].pk)} | changes


def poll_of(page: str) -> str:
    found = re.search(r'id="(?:live|rows)"[^>]* hx-get="([^"]+)"', page)
    assert found, "the page does not poll"
    return found[1].replace("&amp;", "&")


def newest(world: World, name: str) -> Cluster:
    with acting_for(world.hoshi):
        return Cluster.objects.get(name=name)


def test_every_page_answers_staff_and_customers(world: World, hoshi: Examples) -> None:
    cluster, job = hoshi["clusters"], hoshi["jobs"]
    addresses = [
        "/", "/clusters/", "/clusters/?sort=name", "/jobs/", "/t/hoshi/", "/t/hoshi/history/", REQUEST, f"{REQUEST}?mode=paste",
        *(f"{REQUEST}?architecture={each.slug}" for each in architectures()), f"/t/hoshi/jobs/{job.pk}/", f"/t/hoshi/jobs/{job.pk}/cancel/",
        *(f"{page_of(cluster)}{what}" for what in ("", "launch/", "retire/", "retry/")),
    ]  # fmt: skip
    for role in ("lead_architect", "platform_engineer"):
        client = signed_in(world.person(role))
        for address in addresses:
            assert client.get(address).status_code == 200, (role, address)


def test_a_request_by_the_form_is_a_cluster_with_its_configuration_and_history(world: World, hoshi: Examples) -> None:
    answer = signed_in(world.person("platform_engineer")).post(REQUEST, told(hoshi))
    assert answer.status_code == 303, answer.content.decode()
    made = newest(world, "fresh")
    assert answer["Location"] == page_of(made)
    assert (made.state, made.accelerated_wanted, made.region) == ("requested", 2, "ap-northeast-1")
    with acting_for(world.hoshi):
        assert Entry.objects.filter(kind="cluster.requested", subject_id=made.pk).count() == 1


def test_what_does_not_fit_is_told_with_numbers_and_nothing_typed_is_lost(world: World, hoshi: Examples) -> None:
    answer = signed_in(world.person("platform_engineer")).post(REQUEST, told(hoshi, **{"groups-1-count": "99"}))
    page = answer.content.decode()
    assert answer.status_code == 422
    assert "You asked for 99 ml.p5.48xlarge instances" in page
    assert 'value="99"' in page and 'value="fresh"' in page and 'value="for the long run"' in page
    with acting_for(world.hoshi):
        assert not Cluster.objects.filter(name="fresh").exists()


def test_a_check_tells_everything_at_once_and_asks_for_nothing(world: World, hoshi: Examples) -> None:
    client = signed_in(world.person("platform_engineer"))
    wrong = told(hoshi, do="check", lustre_gib="1300", **{"groups-1-count": "0"})
    answer = client.post(REQUEST, wrong, headers={"HX-Request": "true"})
    page = answer.content.decode()
    assert answer.status_code == 200
    assert page.strip().startswith('<div id="findings"')
    assert "in Lustre" in page and "group 2, Nodes" in page
    with acting_for(world.hoshi):
        assert not Cluster.objects.filter(name="fresh").exists()


def test_a_check_of_what_fits_says_so_and_requests_nothing(world: World, hoshi: Examples) -> None:
    answer = signed_in(world.person("platform_engineer")).post(REQUEST, told(hoshi, do="check"))
    assert answer.status_code == 200
    assert "It fits" in answer.content.decode()
    with acting_for(world.hoshi):
        assert not Cluster.objects.filter(name="fresh").exists()


def test_a_text_that_would_unfold_is_not_read(world: World, hoshi: Examples) -> None:
    pasted = {
        "do": "check",
        "mode": "paste",
        "name": "x",
        "account": str(hoshi["accounts"].pk),
        "document_text": "a: &x [1]\nb: *x",
    }
    page = signed_in(world.person("platform_engineer")).post(REQUEST, pasted).content.decode()
    assert "Line 2: *x repeats another part of the file; write it out instead." in page


def test_choosing_another_architecture_or_adding_a_group_keeps_what_was_typed(world: World, hoshi: Examples) -> None:
    client = signed_in(world.person("platform_engineer"))
    added = client.post(REQUEST, told(hoshi, do="add")).content.decode()
    assert "groups-2-name" in added and 'value="fresh"' in added and "Please look at this again" not in added
    shaped = client.post(REQUEST, told(hoshi, do="shape", architecture="hyperpod-eks")).content.decode()
    assert 'name="kubernetes"' in shaped and 'value="fresh"' in shaped and 'value="workers"' in shaped
    assert 'name="openzfs_gib"' not in shaped


@pytest.mark.parametrize(
    "written", [json.dumps(examples.BODY), "\n".join(f"{k}: {json.dumps(v)}" for k, v in examples.BODY.items())]
)
def test_a_configuration_can_be_pasted_as_json_or_yaml(world: World, hoshi: Examples, written: str) -> None:
    written = written.replace("m5.4xlarge", "m5.8xlarge")
    pasted = {
        "do": "request",
        "mode": "paste",
        "name": "pasted",
        "account": str(hoshi["accounts"].pk),
        "document_text": written,
    }
    answer = signed_in(world.person("platform_engineer")).post(REQUEST, pasted)
    assert answer.status_code == 303, answer.content.decode()


@pytest.mark.parametrize("text", ["{", "a: &x [1]\nb: *x", "- " * 3000, "\x00", "[1, 2]", "2024-01-01"])
def test_what_cannot_be_read_is_told_and_kept(world: World, hoshi: Examples, text: str) -> None:
    pasted = {
        "do": "request",
        "mode": "paste",
        "name": "pasted",
        "account": str(hoshi["accounts"].pk),
        "document_text": text,
    }
    assert signed_in(world.person("platform_engineer")).post(REQUEST, pasted).status_code == 422


@pytest.mark.parametrize("broken", [
    {"groups-TOTAL_FORMS": "1000000000"}, {"groups-TOTAL_FORMS": "x"}, {"account": "not-a-uuid"}, {"do": "shape", "groups-TOTAL_FORMS": "-1"},
    {"name": "a\x00b"}, {"groups-1-count": "1e9"}, {"lustre_gib": "9" * 30}, {"architecture": "nothing"}, {"az_id": "../"}, {"do": "add", "groups-TOTAL_FORMS": "999"},
])  # fmt: skip
def test_a_broken_form_is_answered_and_never_an_error_of_ours(
    world: World, hoshi: Examples, broken: dict[str, str]
) -> None:
    answer = signed_in(world.person("platform_engineer")).post(REQUEST, told(hoshi, **broken))
    assert answer.status_code in (200, 303, 422)


def test_the_account_of_another_tenant_cannot_be_named(world: World, hoshi: Examples) -> None:
    foreign = examples.make(world, world.umi, 2)["accounts"]
    answer = signed_in(world.person("platform_engineer")).post(REQUEST, told(hoshi, account=str(foreign.pk)))
    assert answer.status_code == 422
    assert foreign.account_id not in answer.content.decode()


def test_an_architect_approves_and_whoever_asked_cannot(world: World, hoshi: Examples) -> None:
    lead, manager = signed_in(world.person("lead_architect")), signed_in(world.person("programme_manager"))
    assert lead.post(REQUEST, told(hoshi)).status_code == 303
    made = newest(world, "fresh")
    own = lead.get(page_of(made)).content.decode()
    assert "somebody else has to approve it" in own and "/approve/" not in own
    assert lead.post(f"{page_of(made)}approve/", {"version": made.version}).status_code == 403
    assert "/approve/" in manager.get(page_of(made)).content.decode()
    assert manager.post(f"{page_of(made)}approve/", {"version": made.version}).status_code == 303
    assert newest(world, "fresh").state == "approved"


def test_a_decision_on_an_older_version_is_refused_with_its_reason_kept(world: World, hoshi: Examples) -> None:
    cluster = hoshi["clusters"]
    client = signed_in(world.person("platform_engineer"))
    with acting_for(world.hoshi):
        Job.objects.filter(cluster=cluster).update(state="succeeded")
    old = {"retire-why": "the run is over", "retire-version": cluster.version - 1}
    answer = client.post(f"{page_of(cluster)}retire/", old)
    assert answer.status_code == 409
    assert "the run is over" in answer.content.decode() and "was changed meanwhile" in answer.content.decode()
    assert (
        client.post(f"{page_of(cluster)}retire/", {"retire-why": "", "retire-version": cluster.version}).status_code
        == 422
    )
    assert (
        client.post(f"{page_of(cluster)}retire/", {"retire-why": "over", "retire-version": cluster.version}).status_code
        == 303
    )
    with acting_for(world.hoshi):
        assert Cluster.objects.get(pk=cluster.pk).wanted is False


def test_a_cluster_with_running_jobs_is_not_retired_and_the_page_says_why(world: World, hoshi: Examples) -> None:
    cluster = hoshi["clusters"]
    answer = signed_in(world.person("platform_engineer")).post(f"{page_of(cluster)}retire/", {"retire-why": "over"})
    assert answer.status_code == 409
    assert "still running on it" in answer.content.decode()


@pytest.mark.parametrize(
    ("role", "sees"), [("viewer", False), ("business_lead", False), ("auditor", False), ("platform_engineer", True)]
)
def test_a_button_exists_only_where_the_role_may_use_it(world: World, hoshi: Examples, role: str, sees: bool) -> None:
    page = signed_in(world.person(role)).get(page_of(hoshi["clusters"])).content.decode()
    assert [f"{page_of(hoshi['clusters'])}{what}/" in page for what in ("retire", "launch")] == [sees, sees]


def test_a_page_with_something_unsettled_polls_and_gets_nothing_while_nothing_changed(
    world: World, hoshi: Examples
) -> None:
    client = signed_in(world.person("platform_engineer"))
    cluster = hoshi["clusters"]
    for address in (page_of(cluster), f"/t/hoshi/jobs/{hoshi['jobs'].pk}/", "/jobs/"):
        poll = poll_of(client.get(address).content.decode())
        assert client.get(poll, headers={"HX-Request": "true"}).status_code == 204, address
    poll = poll_of(client.get(page_of(cluster)).content.decode())
    with acting_for(world.hoshi):
        Job.objects.filter(pk=hoshi["jobs"].pk).update(state="succeeded")
    answer = client.get(poll, headers={"HX-Request": "true"})
    part = answer.content.decode()
    assert answer.status_code == 200
    assert "<html" not in part and 'hx-swap-oob="true"' in part
    assert "hx-get" not in part, "everything is settled, so it no longer polls"


def test_a_script_keeps_its_text_when_the_launch_is_refused(world: World, hoshi: Examples) -> None:
    client = signed_in(world.person("ml_engineer"))
    launch = f"{page_of(hoshi['clusters'])}launch/"
    job = {
        "name": "train",
        "partition": "gpu",
        "nodes": "1",
        "script": "echo no-first-line",
        "environment": "A=1",
        "accept": "on",
    }
    answer = client.post(launch, job)
    assert answer.status_code == 422
    assert "echo no-first-line" in answer.content.decode() and "A script begins with" in answer.content.decode()
    assert client.post(launch, job | {"nodes": "1000000000"}).status_code == 422
    assert client.post(launch, job | {"environment": "no sign"}).status_code == 422
    answer = client.post(launch, job | {"script": "#!/bin/bash\necho yes"})
    assert answer.status_code == 303
    with acting_for(world.hoshi):
        made = Job.objects.get(name="train")
    assert (made.environment["A"], made.state) == ("1", "requested")
    assert answer["Location"] == f"/t/hoshi/jobs/{made.pk}/"


def test_a_job_that_ended_cannot_be_cancelled_and_a_running_one_once(world: World, hoshi: Examples) -> None:
    client, job = signed_in(world.person("ml_engineer")), hoshi["jobs"]
    assert client.post(f"/t/hoshi/jobs/{job.pk}/cancel/", {}).status_code == 303
    page = client.get(f"/t/hoshi/jobs/{job.pk}/").content.decode()
    assert "Somebody asked to cancel this job" in page and "data-dialog" not in page
    with acting_for(world.hoshi):
        Job.objects.filter(pk=job.pk).update(state="cancelled")
    assert client.post(f"/t/hoshi/jobs/{job.pk}/cancel/", {}).status_code == 409


def test_a_job_leads_to_the_case_that_it_opened(world: World, hoshi: Examples) -> None:
    page = signed_in(world.person("ml_engineer")).get(f"/t/hoshi/jobs/{hoshi['jobs'].pk}/").content.decode()
    assert f"/t/hoshi/cases/{hoshi['cases'].pk}/" in page


def test_lost_contact_is_said_beside_the_state(world: World, hoshi: Examples) -> None:
    with acting_for(world.hoshi):
        Cluster.objects.filter(pk=hoshi["clusters"].pk).update(
            unknown_since=timezone.now() - timedelta(minutes=3),
            unknown_reason="The call timed out.",
            needs_person="Renew the role.",
        )
    page = signed_in(world.person("platform_engineer")).get(page_of(hoshi["clusters"])).content.decode()
    assert "Lost contact with account" in page and "The call timed out." in page and "Renew the role." in page
    assert 'data-state="ready"' in page


def test_what_needs_attention_comes_first_in_the_list(world: World, hoshi: Examples) -> None:
    with acting_for(world.hoshi):
        examples.cluster(world.hoshi, world.participations["hoshi"], hoshi["accounts"], "aaa-fine")
        examples.cluster(world.hoshi, world.participations["hoshi"], hoshi["accounts"], "zzz-failed", state="failed")
    page = signed_in(world.person("platform_engineer")).get("/clusters/").content.decode()
    assert page.index("zzz-failed") < page.index("aaa-fine")
    filtered = signed_in(world.person("platform_engineer")).get("/clusters/?state=failed").content.decode()
    assert "zzz-failed" in filtered and "aaa-fine" not in filtered


@pytest.mark.parametrize(
    "address",
    ["/clusters/?state=nothing", "/clusters/?q=%00", "/jobs/?state=x", "/clusters/?tenant=x", "/jobs/?cursor=x"],
)
def test_a_filter_that_means_nothing_is_told(world: World, hoshi: Examples, address: str) -> None:
    answer = signed_in(world.person("lead_architect")).get(address)
    assert answer.status_code in (200, 400)
    assert address != "/clusters/?state=nothing" or answer.status_code == 400


def test_the_number_of_queries_does_not_grow_with_the_rows(world: World, hoshi: Examples) -> None:
    client = signed_in(world.person("lead_architect"))

    def asked(address: str) -> int:
        client.get(address)
        with CaptureQueriesContext(
            connection,
        ) as queries:
            client.get(address)
        return len(queries)

    addresses = ["/clusters/", "/jobs/", "/t/hoshi/", page_of(hoshi["clusters"]), "/"]
    before = {address: asked(address) for address in addresses}
    with acting_for(world.hoshi):
        for number in range(30):
            examples.cluster(world.hoshi, world.participations["hoshi"], hoshi["accounts"], f"more-{number}")
            examples.job(hoshi["clusters"], f"job-{number}")
            examples.node(hoshi["clusters"], number + 10)
    assert {address: asked(address) for address in addresses} == before


def test_a_request_that_needs_nobody_shows_who_approved_it(world: World, hoshi: Examples) -> None:
    from tenants.models import Programme

    Programme.objects.update(approval_over_instances=8)
    with acting_for(world.hoshi):
        made = request_cluster(
            participation=world.participations["hoshi"], account=hoshi["accounts"], name="small", by=world.person("platform_engineer").actor,
            body=examples.BODY | {"instance_groups": [examples.BODY["instance_groups"][0] | {"instance_type": "m5.8xlarge"}, examples.BODY["instance_groups"][1] | {"count": 2}]},
        )  # fmt: skip
    page = signed_in(world.person("platform_engineer")).get(page_of(made)).content.decode()
    assert "without a person: it is small enough" in page


@pytest.mark.parametrize(
    ("line", "tone"),
    [
        ("step 41200 | loss 2.08", ""),
        ("srun: error: worker-7: task 56: Killed", "bad"),
        ("torch.distributed.DistBackendError: NCCL communicator was aborted", "bad"),
        ("Watchdog caught collective operation timeout", "warn"),
        ("terror of the deep", ""),
    ],
)
def test_a_line_of_output_is_coloured_by_what_it_says(line: str, tone: str) -> None:
    assert tone_of(line) == tone


def test_a_customer_says_how_much_of_a_bucket_is_used_and_the_history_keeps_both(world: World, hoshi: Examples) -> None:
    with acting_for(world.hoshi):
        bucket = Bucket.objects.get()
    page = f"/t/hoshi/record/bucket/{bucket.pk}/edit/"
    browser = signed_in(world.person("platform_engineer"))
    assert browser.post(page, {"used_tib": "310.5", "version": bucket.version}).status_code == 303
    with acting_for(world.hoshi):
        entry = Entry.objects.filter(kind="record.changed", subject="bucket").get()
        assert entry.facts["changes"] == {"used_tib": [None, "310.5"]}
    assert browser.post(page, {"used_tib": "-1", "version": 2}).status_code == 422
    assert browser.post(page, {"used_tib": "1", "version": bucket.version}).status_code == 409  # an older page
    assert signed_in(world.person("viewer")).get(page).status_code == 403
    assert signed_in(world.person("platform_engineer", world.umi)).get(page).status_code == 404


def test_a_request_is_watched_until_somebody_approves_it(world: World, hoshi: Examples) -> None:
    """Approval comes from somebody else's page, so each page that shows a request has to ask for it."""
    cluster, client = hoshi["clusters"], signed_in(world.person("platform_engineer"))
    for state, watched in (("requested", True), ("failed", False)):
        with acting_for(hoshi.tenant):
            Job.objects.filter(cluster=cluster).update(state="failed")
            Cluster.objects.filter(pk=cluster.pk).update(state=state)
        for page in (page_of(cluster), "/clusters/", "/t/hoshi/", "/"):
            assert ("data-poll" in client.get(page).content.decode()) == watched, (state, page)
