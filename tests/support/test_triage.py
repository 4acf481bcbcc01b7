"""What opens a case by itself: one case per failure, evidence frozen, nothing twice."""

import pytest

from support import actions
from support.models import Case
from support.rules import failure_of
from support.triage import triage
from tenants.history import timeline
from tenants.history.models import Entry
from tenants.models import Attachment, Due
from tenants.wall.acting import acting_for
from tenants.work import due, loop
from tests.support.conftest import cluster_of


def fail(job, kind="job.failed"):
    """What the engine writes when it has seen the end."""
    with acting_for(job.tenant_id, staff=True):
        return timeline.record(kind, about=job, by="engine", name=job.name, why=job.reason)


def work_off():
    """Handle what is due for triage, as a worker does."""
    turns = 0
    while held := due.claim(["triage"]):
        triage(held)
        turns += 1
    return turns


def cases(tenant):
    with acting_for(tenant, staff=True):
        return list(Case.objects.order_by("opened_at", "id"))


def test_triage_is_a_handler():
    assert loop.HANDLERS["triage"][1] is triage


def test_a_failed_job_opens_one_case_with_its_evidence_frozen(world, cluster, failed_job):
    job = failed_job(exit_code=137, signal=None)
    entry = fail(job)
    assert work_off() == 1
    (case,) = cases(world.hoshi)
    assert case.title == "pretrain failed: a host ran out of memory"
    assert (case.severity, case.category, case.state) == ("high", "memory", "new")
    assert (case.job_id, case.cluster_id, case.participation_id) == (job.pk, cluster.pk, cluster.participation_id)
    evidence = case.evidence
    assert evidence["nodes"] == ["lab-1", "lab-2"]
    assert (evidence["exit_code"], evidence["reason"], evidence["engine_state"]) == (137, "NonZeroExitCode", "FAILED")
    assert evidence["log"].splitlines()[0] == "step 100"
    assert len(evidence["log"].splitlines()) == 200
    assert evidence["configuration"] == {"number": 1, "body": {"groups": [{"count": 4}]}}
    assert evidence["cluster"]["name"] == "lab"
    with acting_for(world.hoshi):
        assert Entry.objects.get(kind="case.opened").facts["entry"] == entry.pk
        attached = Attachment.objects.get()
        assert (attached.subject, attached.subject_id, attached.audience) == ("case", case.pk, "shared")
    assert not Due.objects.filter(kind="triage").exists()


def test_later_changes_do_not_blur_the_evidence(world, failed_job):
    job = failed_job()
    fail(job)
    work_off()
    with acting_for(world.hoshi):
        type(job).objects.filter(pk=job.pk).update(log_tail="", reason="rewritten")
    assert cases(world.hoshi)[0].evidence["reason"] == "NonZeroExitCode"


def test_a_second_run_does_nothing(world, failed_job):
    entry = fail(failed_job())
    held = due.claim(["triage"])
    triage(held)
    with pytest.raises(due.LostLease):
        triage(held)
    due.wish("triage", entry.pk, tenant=world.hoshi)
    assert work_off() == 1
    assert len(cases(world.hoshi)) == 1
    with acting_for(world.hoshi):
        assert not Entry.objects.filter(kind="case.evidence").exists()


def test_an_alike_failure_becomes_evidence_of_the_open_case(world, failed_job):
    for name in ("pretrain", "pretrain"):
        fail(failed_job(name))
    work_off()
    assert len(cases(world.hoshi)) == 1
    with acting_for(world.hoshi):
        assert Entry.objects.filter(kind="case.evidence").count() == 1
        assert Attachment.objects.count() == 2


def test_another_job_that_dies_of_its_own_code_opens_its_own_case(world, failed_job):
    fail(failed_job("pretrain"))
    fail(failed_job("evaluate"))
    work_off()
    assert len(cases(world.hoshi)) == 2


def test_two_jobs_that_die_of_the_clusters_trouble_share_a_case(world, failed_job):
    fail(failed_job("pretrain", log_tail="NVRM: Xid (PCI:0000:53:00): 79, GPU has fallen off the bus"))
    fail(failed_job("evaluate", log_tail="Xid 79 again"))
    work_off()
    (case,) = cases(world.hoshi)
    assert case.category == "gpu"


def test_an_alike_failure_after_the_case_was_resolved_opens_a_new_one(world, failed_job):
    fail(failed_job())
    work_off()
    with acting_for(world.hoshi, staff=True):
        actions.resolve_case(case=Case.objects.get(), cause="software", by="engine")
    fail(failed_job())
    work_off()
    assert [case.number for case in cases(world.hoshi)] == ["CASE-0001", "CASE-0002"]


def test_alike_failures_of_two_participants_never_meet(world, cluster, failed_job):
    other = cluster_of(world, world.umi)
    fail(failed_job())
    with acting_for(world.umi, staff=True):
        timeline.record("cluster.failed", about=other, by="engine", name=other.name, why="no capacity")
    work_off()
    assert [case.tenant for case in cases(world.hoshi)] == [world.hoshi]
    assert [case.title for case in cases(world.umi)] == ["The cluster lab failed: no capacity"]


def test_a_failed_proof_opens_no_case_of_its_own(world, failed_job):
    fail(failed_job(purpose="proof"))
    assert work_off() == 1
    assert cases(world.hoshi) == []
    assert not Due.objects.filter(kind="triage").exists()


def test_a_job_that_ran_out_of_time_opens_a_normal_case(world, failed_job):
    fail(failed_job(state="timed_out", engine_state="TIMEOUT", exit_code=None), "job.timed_out")
    work_off()
    assert [(case.severity, case.title) for case in cases(world.hoshi)] == [("normal", "pretrain ran out of time")]


@pytest.mark.parametrize(("kind", "severity"), [("cluster.failed", "urgent"), ("cluster.degraded", "high")])
def test_a_broken_cluster_opens_a_case(world, cluster, kind, severity):
    with acting_for(world.hoshi, staff=True):
        timeline.record(kind, about=cluster, by="engine", name="lab", why="2 of 4 nodes are impaired")
    work_off()
    (case,) = cases(world.hoshi)
    assert case.severity == severity
    assert case.cluster_id == cluster.pk
    assert "2 of 4 nodes" in case.title
    assert case.evidence["configuration"]["number"] == 1


def test_a_job_whose_log_could_not_be_read_still_gets_its_case(world, failed_job):
    fail(failed_job(log_tail=""))
    work_off()
    assert cases(world.hoshi)[0].evidence["log"] is None
    with acting_for(world.hoshi):
        assert not Attachment.objects.exists()


@pytest.mark.parametrize(
    ("told", "code"),
    [
        ({"engine_state": "NODE_FAIL"}, "node"),
        ({"engine_state": "NODE_FAIL", "exit_code": 137}, "node"),
        ({"engine_state": "OUT_OF_MEMORY"}, "host_memory"),
        ({"exit_code": 137}, "host_memory"),
        ({"signal": 9}, "host_memory"),
        ({"log": "torch.OutOfMemoryError: CUDA out of memory."}, "accelerator_memory"),
        ({"log": "Watchdog caught collective operation timeout"}, "nccl"),
        ({"log": "NET/OFI Using TCP"}, "efa"),
        ({"log": "[NCC_EOOM001] compiler"}, "neuron"),
        ({"log": "OSError: [Errno 28] No space left on device"}, "storage"),
        ({"log": "loss: nan at 41870"}, "numbers"),
        ({"log": "loss: 2.31, no nanometres"}, None),
        ({"exit_code": 1, "log": "Traceback"}, None),
        ({"exit_code": 0}, None),
    ],
)
def test_what_a_job_died_of(told, code):
    facts = {"engine_state": "FAILED", "reason": "", "exit_code": None, "signal": None, "log": "", **told}
    found = failure_of(**facts)
    assert (found.code if found else None) == code
