"""One of everything per tenant, and which of it an address speaks of: for the checks that walk every route."""

import itertools
import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from django.apps import apps
from django.db import connection
from django.db.models import NOT_PROVIDED, CharField, Model, TextField
from django.test import override_settings
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone

from clusters import models as c
from clusters import node_setups
from clusters.actions import holding
from clusters.actions.capacity import ask as ask_for_capacity
from clusters.configuring import keep
from clusters.jobs import scripts as job_scripts
from program.models import (
    ActionItem,
    Addendum,
    Application,
    ApplicationScore,
    ApplicationVersion,
    Call,
    ChecklistStep,
    Decision,
    Launch,
    LaunchCluster,
    LaunchWave,
    Minutes,
    Onboarding,
    OnboardingStep,
    Registration,
    Report,
    Review,
    ReviewItem,
    Session,
)
from program.reviews import freeze, open_session, publish, settle_item
from support.actions import note_case, open_case, plan_case
from support.models import Article, ArticleUse, ArticleVersion, Case
from tenants import entries
from tenants.actions import note_interaction
from tenants.files import attach
from tenants.history import seals, timeline
from tenants.history.moves import move
from tenants.inviting import invite
from tenants.models import (
    Assignment,
    Contact,
    DataIngest,
    Delivery,
    DutyShift,
    Erasure,
    Evaluation,
    FrameworkUse,
    IdempotencyKey,
    Import,
    JoinRequest,
    Membership,
    Milestone,
    MonitoringLink,
    Participation,
    Person,
    Result,
    SoftwareVersion,
    Tenant,
    TrainingModel,
)
from tenants.programme_day import programme_today
from tenants.wall.acting import acting_for, reading_everyone
from tenants.work import due, loop
from tests.conftest import World

COMPONENT = "hyperpod"
NUMBERS = itertools.count(1)
# Rows of these hold ids and words of a closed list.
NO_TEXT = {"due", "apitoken", "membership", "assignment", "attendance"}
# Addresses of these belong to the office, whoever's the objects in them are.
OFFICES = {
    "rules", "programme-file", "erasures", "shifts", "reviews", "launches", "sessions", "articles", "exchange-rates", "asked-reports",
    "calls", "cycles",
}  # fmt: skip
# What these speak of is everybody's: the same for all who may read at all.
EVERYBODYS = {
    "tables", "catalogue", "architectures", "job-templates", "sessions", "enrolments", "articles", "calls", "apply-to",
    "apply", "cycles", "checklist",
}  # fmt: skip
NEED = {
    "starts_on": "2026-03-02", "ends_on": "2026-03-29", "types": ["p5.48xlarge"], "regions": ["ap-northeast-1"],
    "minimum": 2, "peak": 4,
}  # fmt: skip
BODY = {
    "architecture": "hyperpod-slurm",
    "version": "2026.11",
    "region": "ap-northeast-1",
    "az_id": "apne1-az4",
    "instance_groups": [
        {"name": "head", "instance_type": "m5.4xlarge", "count": 1, "role": "controller", "training_plan": ""},
        {"name": "gpu", "instance_type": "p5.48xlarge", "count": 4, "role": "compute", "training_plan": ""},
    ],
    "storage": {
        "lustre": {"capacity_gib": 1200, "mbs_per_tib": 250},
        "openzfs": None,
        "bucket": "",
        "bucket_exists": False,
    },
    "software": {},
}


@dataclass(frozen=True)
class Named:
    """Something that is no row and is called by its name."""

    slug: str

    @property
    def pk(self) -> str:
        return self.slug


@dataclass
class Examples:
    """The objects of one tenant, by the word that stands before their id in an address."""

    tenant: Tenant
    by_noun: dict[str, Any] = field(default_factory=dict)

    def __getitem__(self, noun: str) -> Any:
        return self.by_noun[noun]

    @property
    def account_id(self) -> str:
        return str(self["accounts"].account_id)


def make(world: World, tenant: Tenant, number: int) -> Examples:
    """One of everything that this tenant can own. `number` keeps what must differ between tenants apart."""
    made = Examples(tenant)
    participation = world.participations[tenant.slug]
    made.by_noun["participations"] = made.by_noun["records"] = made.by_noun["participants"] = participation
    with acting_for(tenant, staff=True):
        _record(made, participation)
        _cloud(made, participation, number)
        _work(made)
        _history(made, participation, world)
    made.by_noun |= {noun: Named("hyperpod-slurm") for noun in EVERYBODYS}
    made.by_noun["tables"] = Named("model")
    made.by_noun |= {noun: Named("torchrun") for noun in ("from", "job-templates")}
    # Pages speak of one thing in the singular, and of entries where they show the history.
    same = {"model": "models", "quota": "quotas", "history": "entries"}
    same |= {f"{word}s": word for word in ("ingest", "milestone", "evaluation", "result")}
    made.by_noun |= {word: made.by_noun[noun] for word, noun in same.items()}
    return made


def _record(made: Examples, participation: Participation) -> None:
    owned = {"tenant": made.tenant, "participation": participation}
    model = TrainingModel.objects.create(
        **owned, code="M1", name="Language", family="dense", total_params_b=70, active_params_b=70, modalities=["text"]
    )
    made.by_noun |= {
        "models": model,
        "framework": FrameworkUse.objects.create(**owned, name="Megatron-LM", tensor_parallel=8, zero_stage=1),
        "ingest": DataIngest.objects.create(
            **owned, name="Crawl", method="snowball", engine_id="JID1", engine_state="WithAWS", planned_tb=40,
            arrived_tb=12, prefix="s3://hoshi-data/crawl/", read_by="spark-1",
        ),
        "milestone": Milestone.objects.create(**owned, title="Half way", kind="training", due_on=date(2030, 1, 1), remark="hm"),
        "evaluation": Evaluation.objects.create(
            **owned, model_code="M1", benchmark="Exam", score=Decimal(71), unit="points", measured_on=date(2026, 1, 7),
            link="https://scores.example/1",
        ),
        "result": Result.objects.create(
            **owned, kind="paper", title="How it learned", openness="open", licence="CC BY", link="https://papers.example/1"
        ),
        "monitoring": MonitoringLink.objects.create(
            **owned, kind="grafana", name="Boards", link="https://boards.example/", exporters=["dcgm"]
        ),
        "software": SoftwareVersion.objects.create(**owned, component="CUDA", software_version="12.8"),
    }  # fmt: skip
    made.by_noun["quotas"] = c.QuotaGrant.objects.create(
        **owned, instance_type="p5.48xlarge", region="ap-northeast-1", approved_instances=20, provider_value=20,
        provider_service="sagemaker", provider_limit="ml.p5.48xlarge for cluster usage", provider_unit="instances",
    )  # fmt: skip
    made.by_noun["quotas"].kept(by="engine")
    made.by_noun["capacity-requests"] = ask_for_capacity(
        participation=participation, kind="more", instance_type="p5.48xlarge", region="ap-northeast-1", instances=4,
        starts_on=programme_today(), ends_on=programme_today() + timedelta(days=30), reason="the larger model",
        by="engine",
    )  # fmt: skip
    c.BudgetRow.objects.create(
        **owned, line=f"compute of {made.tenant.slug}", delta=Decimal(9_000_000), currency="USD", why="the plan",
        reference="D-1", by="engine",
    )  # fmt: skip
    c.BudgetWatch.objects.create(**owned, paused_until=timezone.now(), paused_why="the gate", paused_by="engine")
    made.by_noun["reservations"] = c.Reservation.objects.create(
        **owned,
        kind="training_plan",
        state="bought",
        external_id=f"tp-{made.tenant.slug}",
        region="ap-northeast-1",
        az_id="apne1-az4",
        instance_type="p5.48xlarge",
        count=20,
        starts_at=timezone.now(),
        ends_at=timezone.now() + timedelta(days=90),
    )


def _cloud(made: Examples, participation: Participation, number: int) -> None:
    tenant, account_id = made.tenant, f"{200_000_000_000 + number}"
    account = c.CloudAccount.objects.create(
        tenant=tenant,
        account_id=account_id,
        name="training",
        role_arn=f"arn:aws:iam::{account_id}:role/CohortProvisioner",
        external_id=uuid.uuid4().hex,
        regions=["ap-northeast-1"],
    )
    c.ServiceQuota.objects.create(
        tenant=tenant,
        account=account,
        region="ap-northeast-1",
        service="sagemaker",
        name="ml.p5.48xlarge for cluster usage",
        value=20,
        read_at=timezone.now(),
    )
    made.by_noun |= {"accounts": account, "clusters": cluster(tenant, participation, account, f"lab-{tenant.slug}")}
    mine = {"tenant": tenant, "cluster": made["clusters"]}
    now = timezone.now()
    made.by_noun["revisions"] = c.Revision.objects.create(**mine, number=1, body=BODY, author="engine", reason="first")
    holding.settle(made["clusters"], by="engine", why="first")
    c.ExternalObject.objects.create(
        **mine,
        role="cluster",
        position=2,
        kind="hyperpod",
        account_number=account_id,
        region="ap-northeast-1",
        name=f"cohort-{tenant.slug}",
        state="exists",
        outputs={"SubnetId": "subnet-1"},
        intended_at=now,
    )
    kept = keep(tenant=tenant, text=json.dumps(BODY), name=f"base-{tenant.slug}", by="engine", reason="first")
    made.by_noun["configurations"] = made.by_noun["compare"] = kept.configuration
    c.Proof.objects.create(**mine, generation=1, kind="nodes_running", passed=True, evidence="5 of 5", taken_at=now)
    c.ClusterAccess.objects.create(
        **mine, url="http://127.0.0.1:1/", username="cohort", jwt_key="c2VjcmV0", log_group="/cohort/jobs", read_at=now
    )
    c.FileSystem.objects.create(**mine, kind="lustre", capacity_gib=1200, mbs_per_tib=250, mount="/fsx")
    made.by_noun["bucket"] = c.Bucket.objects.create(**mine, name=f"data-{tenant.slug}")
    made.by_noun["operations"] = c.Operation.objects.create(
        **mine,
        kind="change",
        state="done",
        asked_by="engine",
        reason="more",
        started_at=now,
        ended_at=now,
        outcome="fine",
    )
    checked = c.Preflight.objects.create(
        **mine, operation=made["operations"], generation=1, began_at=now, verdict="fail", passed=1, failed=1, unknown=1,
        minded=1, why=f"{tenant.slug} is full",
    )  # fmt: skip
    for position, (code, verdict, level, who) in enumerate(
        (
            ("bucket_missing", "fail", "refused", "you"),
            ("way_out_unknown", "unknown", "warning", "architect"),
            ("plan_absent", "mind", "warning", "account_team"),
            ("bucket", "pass", "ok", "you"),
        )
    ):
        told = {"level": level, "asked": f"data-{tenant.slug}", "allowed": "", "suggestion": ""}
        values = {"group": "workers", "type": "ml.p5.48xlarge"}
        c.PreflightLine.objects.create(
            tenant=tenant, preflight=checked, position=position, code=code, verdict=verdict, who=who, field="storage.bucket",
            told=told | {"values": values}, known_at=now,
        )  # fmt: skip
    made.by_noun["nodes"] = node(made["clusters"], 1)
    c.NodeOrder.objects.create(
        tenant=tenant, operation=made["operations"], node=made["nodes"], instance_id="i-0123456789", result="done"
    )
    c.Orphan.objects.create(
        tenant=tenant, account=made["clusters"].account, region="us-east-1", kind="stack", name=f"by-hand-{tenant.slug}",
        external_id=f"arn:aws:cloudformation:us-east-1:{made.account_id}:stack/by-hand/1", found_at=now,
    )  # fmt: skip
    c.Leftover.objects.create(
        **mine, kind="AWS::S3::Bucket", external_id=f"kept-{tenant.slug}", why="kept", found_at=now, reason="data"
    )
    firing = {
        "fingerprint": "3fa1c0de",
        "starts_at": now,
        "last_told_at": now,
        "name": "GpuNotWell",
        "node": "gpu-0001",
    }
    c.Alert.objects.create(**mine, **firing, severity="urgent", summary="GPU 3 reported Xid 79")
    c.AlertIntake.objects.create(**mine, token=f"token-of-{tenant.slug}", made_by="engine", made_at=now)
    _usage(made, mine)
    made.by_noun["quarantines"] = c.Quarantine.objects.create(
        **mine, node=made["nodes"], instance_id="i-00000000000000001", began_at=now, reason="seen by a person",
        held_by="engine", lifted_because="", evidence=[{"at": now.isoformat(), "what": "alert", "told": "GpuNotWell"}],
    )  # fmt: skip
    c.HeadNodeAgent.objects.create(
        **mine, digest="ab" * 32, made_by="engine", made_at=now, last_seen_at=now, connected_at=now, host="head-1",
        agent_version="1.0", slurm_version="24.11.5", boot="b", username="cohort",
    )  # fmt: skip
    c.AgentOrder.objects.create(**mine, number=1, kind="hold", key="hold:7:1", target="7", arguments='{"job": "7"}')
    c.AgentLog.objects.create(**mine, name="7", text="step 1\n", ends_at=7, received_at=now)
    c.AgentRun.objects.create(**mine, external_id="7", attempt=1, name="job-1", engine_state="COMPLETED", ended_at=now)
    c.ContainerImage.objects.create(
        **mine, revision=1, name="train", registry="111122223333.dkr.ecr.us-east-1.amazonaws.com", repository="train",
        digest="sha256:" + "ab" * 32,
    )  # fmt: skip
    c.InstalledChart.objects.create(
        **mine, name="hyperpod-dependencies", chart_version="1.4.0", namespace="kube-system", installed_at=now,
        recorded_by="engine",
    )  # fmt: skip
    kept = node_setups.keep(tenant=tenant, name="drivers", text="#!/bin/bash\nset -euo pipefail\n", by="engine")
    made.by_noun["node-setups"] = kept.setup
    written = job_scripts.keep(tenant=tenant, name="train", text="#!/bin/bash\nset -euo pipefail\n", by="engine")
    made.by_noun["job-scripts"] = written.script
    c.NodeInstance.objects.create(
        tenant=tenant, node=made["nodes"], instance_id="i-0123456789", sat_from=now, left_because=""
    )


def _usage(made: Examples, mine: dict[str, Any]) -> None:
    now = timezone.now()
    today = now.astimezone(ZoneInfo("Asia/Tokyo")).date()
    c.UsageDay.objects.create(
        **mine, day=today, zone="Asia/Tokyo", reserved=7200, training=3600, idle=3600, used=3600, runs=1,
        source="watched", computed_at=now,
    )  # fmt: skip
    made.by_noun["usage-disputes"] = c.UsageDispute.objects.create(
        **mine, month=today.replace(day=1), reason="Too many", reserved_then=7200, used_then=3600,
        disputed_by="engine", disputed_at=now, answer="",
    )  # fmt: skip
    c.AccountingRead.objects.create(**mine, kept="no", told="No slurmdbd", asked_at=now)
    c.JobRun.objects.create(
        **mine, external_id="17", attempt=1, name="pretrain", source="watched", started_at=now - timedelta(hours=1),
        counted_until=now, nodes=1, accelerators=8, node_names=["ip-10-0-0-1"], told_at=now,
    )  # fmt: skip
    c.Lending.objects.create(**mine, nodes=1, borrower="Serving", reason="Nights", begins_at=now, lent_by="engine")


def cluster(tenant: Tenant, participation: Participation, account: c.CloudAccount, name: str, **more: Any) -> c.Cluster:
    """A ready cluster as the engine would have left it."""
    return c.Cluster.objects.create(
        **{
            "tenant": tenant,
            "participation": participation,
            "account": account,
            "name": name,
            "architecture": "hyperpod-slurm",
            "architecture_version": "2026.11",
            "orchestrator": "hyperpod-slurm",
            "region": "ap-northeast-1",
            "az_id": "apne1-az4",
            "state": "ready",
            "applied": 1,
            "main_type": "p5.48xlarge",
            "nodes_wanted": 5,
            "nodes_running": 5,
            "accelerated_wanted": 4,
            "accelerators_wanted": 32,
            "requested_by": "engine",
            "observed_at": timezone.now(),
            "conditions": [
                {"type": "Healthy", "status": "yes", "reason": "", "sentence": "All nodes run.", "since": None}
            ],
            **more,
        }
    )


def node(of: c.Cluster, seat: int, group: str = "gpu", role: str = "compute") -> c.Node:
    return c.Node.objects.create(
        tenant_id=of.tenant_id,
        cluster=of,
        group=group,
        seat=seat,
        name=f"{of.name}-{group}-{seat:04d}",
        role=role,
        instance_type="p5.48xlarge",
        accelerators=8,
        state="running",
        instance_id=f"i-{seat:017d}",
        since=timezone.now(),
    )


def job(of: c.Cluster, name: str, **more: Any) -> c.Job:
    return c.Job.objects.create(
        **{
            "tenant_id": of.tenant_id,
            "cluster": of,
            "name": name,
            "engine_name": f"cohort-{uuid.uuid4().hex[:20]}",
            "script": "#!/bin/bash\necho script-body",
            "nodes": 1,
            "environment": {"HF_TOKEN": "environment-value"},
            "launched_by": "engine",
            "state": "running",
            "external_id": "17",
            "log_tail": "step 1\nstep 2",
            "log_read_at": timezone.now(),
            **more,
        }
    )


def _work(made: Examples) -> None:
    made.by_noun["jobs"] = running = job(made["clusters"], "pretrain")
    made.by_noun["searches"] = search = c.NodeSearch.objects.create(
        tenant=made.tenant,
        cluster=made["clusters"],
        asked_by="engine",
        reason="it hung",
        began_at=timezone.now(),
        outcome="",
    )
    c.SearchedNode.objects.create(
        tenant=made.tenant, search=search, node=made["nodes"], instance_id="i-00000000000000001"
    )
    other = node(made["clusters"], 2)
    probe = job(made["clusters"], "pair", purpose="probe", state="succeeded", pinned=["ip-10-0-0-1"])
    c.PairTest.objects.create(
        tenant=made.tenant, search=search, job=probe, round=1, left=made["nodes"], right=other, told=""
    )
    c.Attempt.objects.create(tenant=made.tenant, job=running, number=1, external_id="17", reason="")
    made.by_noun["output"] = _watched(running)
    case = open_case(
        tenant=made.tenant,
        title="Loss is not a number",
        severity="high",
        by="engine",
        text="It began at step 41,200.",
        cluster=made["clusters"],
        job=running,
        evidence={"log": "Traceback"},
    )
    Case.objects.filter(pk=case.pk).update(component=COMPONENT, signature="nan", category="numerics")
    made.by_noun["cases"] = Case.objects.get(pk=case.pk)


def _watched(of: c.Job) -> c.JobOutput:
    """What a job told of itself."""
    mine, now = {"tenant": of.tenant, "job": of}, timezone.now()
    c.JobProgress.objects.create(
        **mine, log_position=f"f/{of.tenant.slug}", log_lines=2, log_format="Megatron-LM", last_line_at=now, step=20, step_at=now,
        total_steps=90, world=8, checkpoint_path=f"/fsx/{of.tenant.slug}", resumed_step=5, resumed_at=now, resumed_attempt=1,
        drilled_at=now, loss_word="nan", loss_word_step=7,
    )  # fmt: skip
    for step in (10, 20):
        at = now - timedelta(minutes=30 - step)
        c.JobPoint.objects.create(**mine, attempt=1, step=step, at=at, loss=2.5, tokens_per_second=1000.0, tflops=400.0)
    output = c.JobOutput.objects.create(
        **mine, number=1, first_line=0, lines=2, size=13, text="step 1\nstep 2", until=now
    )
    c.JobRank.objects.create(**mine, rank=0, host="ip-10-0-0-1", attempt=1, heard_at=now, text="rank says")
    c.JobFault.objects.create(
        **mine, attempt=1, at=now, fault_kind="xid", rank=0, host="ip-10-0-0-1", xid=79, text="NVRM: Xid 79"
    )
    c.JobReporter.objects.create(**mine, token=f"reports-of-{of.tenant.slug}", made_at=now)
    return output


def _history(made: Examples, participation: Participation, world: World) -> None:
    lead = world.person("lead_architect")
    for audience in ("internal", "shared"):
        note_case(case=made["cases"], text=f"A {audience} note.", audience=audience, by=lead.actor)
        note_interaction(
            participation=participation, medium="call", text=f"A {audience} call.", audience=audience, by=lead.actor
        )
        made.by_noun["files"] = attach(
            about=made["cases"],
            name=f"{audience}.log",
            content=f"{audience} {made.tenant.slug}".encode(),
            media_type="text/plain",
            by="engine",
            audience=audience,
        )
    person = world.person("ml_engineer", made.tenant)
    made.by_noun["imports"] = Import.objects.create(
        tenant=made.tenant, table="model", name="models.csv", format="csv", state="checked", person=person, role="ml_engineer",
        asked_by=person.actor, rows=2, added=1, same=1, marks=[[2, "0a1b2c3d4e5f"]], meanwhile=[2],
        problems=[{"line": 3, "column": "name", "sentence": "It is empty."}], problem_count=1,
        changes=[{"line": 2, "what": "new", "name": "M9", "cells": [["name", "", "Nine"]]}],
    )  # fmt: skip
    text = (
        b"participant,code,name,family,total_params_b,active_params_b\n,M9,Nine,dense,7,7\n,M1,Language,dense,70,70\n"
    )
    attach(about=made.by_noun["imports"], name="models.csv", content=text, media_type="text/csv", by=person.actor)
    _people(made, lead)
    made.by_noun["deliveries"] = Delivery.objects.create(
        tenant=made.tenant, person=lead, kind="case-given", about=made["cases"].pk, key="0", error="Mailbox full"
    )
    plan_case(case=made["cases"], owner=lead, next_step="Read the log", due=date(2030, 1, 1), by=lead.actor)
    made.by_noun["cases"].refresh_from_db()
    made.by_noun["entries"] = timeline.record(
        entries.RECORD_CHANGED, about=made["models"], by=lead.actor, what="x", fields=["phase"]
    )
    seals.seal(made.tenant, until=timezone.now() + timedelta(minutes=1))
    IdempotencyKey.objects.create(
        tenant=made.tenant, actor=lead.actor, key="once", request_sha256="0" * 64, status=202, body={"a": "b"}
    )


def _people(made: Examples, by: Person) -> None:
    """Who is invited, who asks to join, whom to call."""
    slug = made.tenant.slug
    viewer = Membership.objects.get(tenant=made.tenant, role="viewer")
    made.by_noun |= {"members": viewer, "people": viewer}
    helper = Person.objects.get(email="frameworks_specialist@example.org")
    helping = Assignment.objects.create(
        person=helper, tenant=made.tenant, duty="frameworks", starts_on=date(2020, 1, 1)
    )
    made.by_noun |= {"team": helping, "assignments": helping}
    made.by_noun["contacts"] = Contact.objects.create(
        tenant=made.tenant, duty="security", name=f"Duty of {slug}", email=f"duty@{slug}.example", phone="+81 3 0000 0000",
        hours="Mon to Fri", checked_by="engine",
    )  # fmt: skip
    made.by_noun["join-requests"] = JoinRequest.objects.create(
        tenant=made.tenant, email=f"asks@{slug}.example", name="Asks To Join", message=f"I work at {slug}"
    )
    made.by_noun["invitations"] = invite(
        tenant=made.tenant, email=f"invited@{slug}.example", role="viewer", by=by.actor, giver="programme_manager",
        team=f"team-{slug}",
    )  # fmt: skip


def review_of(world: World, everybody: list[Examples]) -> Review:
    """A review held and published through the real actions, with an item and minutes of each of these tenants."""
    lead = world.person("lead_architect")
    with override_settings(SETTLE_SECONDS=0), acting_for(world.office, staff=True):
        review = freeze(cycle=world.cycle, cutoff=_now(), by=lead.actor)
        open_session(review=review, by=lead.actor)
        for made in everybody:
            with reading_everyone():
                item = ReviewItem.objects.get(tenant=made.tenant, review_id=review.pk)
            settle_item(item=item, owner=lead, next_step="Read the log", due=date(2030, 1, 1), by=lead.actor)
            made.by_noun["items"] = item
        publish(review=review, by=lead.actor)
        make_all_minutes()
        review.refresh_from_db()
    for made in everybody:
        with acting_for(made.tenant):
            made.by_noun |= {"reviews": review, "minutes": Minutes.objects.get(review_id=review.pk)}
    return review


def make_all_minutes() -> None:
    """Handle whatever waits for the minutes of a published review, as a worker does."""
    while held := due.claim(["minutes"]):
        loop.HANDLERS["minutes"][1](held)


def meetings_of(world: World, everybody: list[Examples]) -> None:
    """What a meeting leaves behind besides its minutes, for each of these tenants and for the office itself."""
    lead, today = world.person("lead_architect"), date(2026, 1, 7)
    with acting_for(world.office, staff=True):
        launch = Launch.objects.create(
            tenant=world.office, cycle=world.cycle, name="First", day=today, planned_by=lead.actor
        )
        wave = LaunchWave.objects.create(tenant=world.office, launch=launch, number=1)
        _decided(world.office, lead, "0")
    for number, made in enumerate(everybody, start=1):
        mine = {"tenant": made.tenant}
        with acting_for(made.tenant, staff=True):
            made.by_noun["action-items"] = given = _decided(made.tenant, lead, str(number))
            made.by_noun["decisions"] = given.decision
            Addendum.objects.create(**mine, minutes=made["minutes"], text="One thing more.", author=lead.actor)
            made.by_noun["lines"] = LaunchCluster.objects.create(
                **mine,
                launch_id=launch.pk,
                launch_name=launch.name,
                day=today,
                participation=made["participations"],
                name="next",
                region="ap-northeast-1",
                instance_type="p5.48xlarge",
                planned=4,
                accelerators=32,
                account=made["accounts"],
                body=BODY,
                findings=[],
            )
        made.by_noun |= {"launches": launch, "launch": launch, "waves": wave}


def enablement_of(world: World, everybody: list[Examples]) -> None:
    """An announced session and a published article that all may read, and what each of these tenants has to do with them."""
    lead, now = world.person("lead_architect"), timezone.now()
    with acting_for(world.office, staff=True):
        session = Session.objects.create(
            tenant=world.office,
            cycle=world.cycle,
            code="ES-01",
            kind="workshop",
            title="Opening",
            starts_at=now + timedelta(days=7),
            minutes=60,
            announced_at=now,
            registered=len(everybody),
        )
        article = Article.objects.create(
            tenant=world.office, code="KB-001", title="Not a number", body="Look at the loss.", audience="shared"
        )
        move(article, "published", by=lead.actor, code=article.code, title=article.title)
        ArticleVersion.objects.create(
            tenant=world.office, article=article, number=1, title="Not a number", body="Look.", author=lead.actor
        )
        gone = Person.objects.create(email="gone@example.org", name="Gone")
        tomorrow = now + timedelta(days=1)
        shift = DutyShift.objects.create(
            tenant=world.office, team="lead", person=lead, starts_at=tomorrow, ends_at=tomorrow + timedelta(hours=8),
            zone="Asia/Tokyo",
        )  # fmt: skip
        erasure = Erasure.objects.create(tenant=world.office, person=gone, reason="asked by letter", asked_by=lead)
        call = Call.objects.create(
            tenant=world.office, cycle=world.cycle, title="Who trains next?", text="Say what you need.",
            gives="Instances", lasts="Half a year", paid_by="The programme", ask="Its office",
            opens_at=now - timedelta(days=1), closes_at=now + timedelta(days=30),
        )  # fmt: skip
        move(call, "open", by=lead.actor, title=call.title, closes="later")
        step, _other = ChecklistStep.objects.bulk_create(
            ChecklistStep(tenant=world.office, cycle=world.cycle, position=position, text=text, help="Ask the lead.")
            for position, text in enumerate(("dashboards connected", "our own step"), start=1)
        )
    for number, made in enumerate(everybody, start=1):
        mine = {"tenant": made.tenant}
        with acting_for(made.tenant, staff=True):
            made.by_noun["onboarding"] = board = Onboarding.objects.create(
                **mine, participation=made["participations"], lead=lead, held_at=now, minutes=90
            )
            made.by_noun["steps"] = OnboardingStep.objects.create(
                **mine,
                onboarding=board,
                position=1,
                text="dashboards connected",
                help="Look.",
                note="seen",
                link="",
                why="",
            )
            made.by_noun["reports"] = Report.objects.create(
                **mine,
                participation=made["participations"],
                kind="final_report",
                period="C2",
                due_on=date(2030, 1, 1),
                text="What we did.",
            )
            member = world.person("ml_engineer", made.tenant)
            made.by_noun["registrations"] = Registration.objects.create(**mine, session_id=session.pk, person=member)
            for audience in ("shared", "internal"):
                of_case = made["cases"] if audience == "shared" else _another_case(made)
                ArticleUse.objects.create(**mine, case=of_case, article_id=article.pk, kind="solved", audience=audience)
        with acting_for(made.tenant, staff=True):
            made.by_noun["applications"] = applied = Application.objects.create(
                tenant=made.tenant, call=call, number=f"AP-{number:03d}", organisation=made.tenant.name,
                contact_email=f"applies@{made.tenant.slug}.example", project="A model", edition=1, need=[NEED],
            )  # fmt: skip
            move(applied, "submitted", by=lead.actor, number=applied.number)
        with acting_for(world.office, staff=True):
            kept = {"tenant": world.office, "application": applied}
            ApplicationVersion.objects.create(**kept, number=1, answers={"project": "A model"}, by="engine")
            ApplicationScore.objects.create(
                **kept, reviewer=lead, performance=4, openness=4, feasibility=4, reason=f"Of {made.tenant.slug}"
            )
        shared = {"calls": call, "apply-to": call, "apply": call, "cycles": world.cycle, "mine": Named("link")}
        shared |= {"sessions": session, "enrolments": session, "articles": article, "versions": Version(1)}
        shared |= {"checklist": step, "erasures": erasure, "shifts": shift}
        made.by_noun |= shared


@dataclass(frozen=True)
class Version:
    """The number that stands in the address of an article's version."""

    number: int


def _another_case(made: Examples) -> Case:
    return open_case(tenant=made.tenant, title="Another loss", severity="low", by="engine", text="It is slow.")


def _decided(tenant: Tenant, lead: Person, number: str) -> ActionItem:
    """A shared and an internal decision and action item each; the shared item is what addresses speak of."""
    today, found = date(2026, 1, 7), None
    for audience in ("shared", "internal"):
        named = {"tenant": tenant, "audience": audience}
        decision = Decision.objects.create(
            **named,
            number=f"DEC-{audience}-{number}",
            text="Wait.",
            reason="Because.",
            decided_by=lead,
            decided_on=today,
            recorded_by="engine",
        )
        item = ActionItem.objects.create(
            **named,
            number=f"AI-{audience}-{number}",
            text="Watch it.",
            owner=lead,
            due=today,
            due_at_first=today,
            decision=decision,
        )
        found = item if audience == "shared" else found
    return found


def _now() -> datetime:
    with connection.cursor() as cursor:
        cursor.execute("select statement_timestamp() - interval '1 millisecond'")
        found: datetime = cursor.fetchone()[0]
        return found


def the_rest(tenant: Tenant) -> None:
    """One row of every model that nothing above makes, so that what is added later is not forgotten by the checks."""
    with connection.cursor() as cursor:
        cursor.execute("select tablename from pg_policies where policyname = 'office'")
        offices = {table for (table,) in cursor.fetchall()}
    for model in apps.get_models():
        names = {column.name for column in model._meta.concrete_fields}
        if (
            "tenant" not in names
            or model._meta.model_name in NO_TEXT
            or (model._meta.db_table in offices) != tenant.is_office
        ):
            continue
        with acting_for(tenant, staff=True):
            if model._base_manager.filter(tenant=tenant).exists():
                continue
            for audience in ("shared", "internal") if "audience" in names else ("",):
                model._base_manager.create(**_filled(model, tenant, audience))


def _filled(model: type[Model], tenant: Tenant, audience: str) -> dict[str, Any]:
    """A value for each column that has to have one, and for each text."""
    values: dict[str, Any] = {"audience": audience} if audience else {}
    for column in model._meta.concrete_fields:
        optional = column.null or column.has_default() or column.db_default is not NOT_PROVIDED
        if column.name in ("id", "audience", "version") or (optional and not isinstance(column, CharField | TextField)):
            continue
        if column.is_relation:
            values[column.name] = tenant if column.name == "tenant" else _first(column.related_model, tenant)
        elif column.choices:
            values[column.name] = column.choices[0][0]
        elif column.name == "state":
            values[column.name] = column.get_default() or next(iter(model.MOVES))  # type: ignore[attr-defined]
        elif isinstance(column, CharField | TextField):
            values[column.name] = f"{column.name[:3]}{next(NUMBERS)}"[: column.max_length]
        else:
            values[column.name] = _plain(column)
    return values


def _first(model: Any, tenant: Tenant) -> Any:
    tenants = any(column.name == "tenant" for column in model._meta.concrete_fields)
    found = model._base_manager.filter(tenant=tenant) if tenants else model._base_manager.all()
    return found.order_by("pk").first()


def _plain(column: Any) -> Any:
    kinds = {
        "DateTimeField": timezone.now(),
        "DateField": date(2026, 1, 7),
        "UUIDField": uuid.uuid4(),
        "JSONField": {},
        "BooleanField": False,
    }
    return kinds.get(column.get_internal_type(), 1)


def seat_service_engineer(world: World, tenant: Tenant) -> None:
    """The service engineer answers for the component that the examples' cases were escalated to, at this tenant only."""
    person = world.person("service_engineer")
    Membership.objects.filter(person=person).update(team=COMPONENT)
    Assignment.objects.get_or_create(
        person=person, tenant=tenant, duty="service", defaults={"starts_on": date(2020, 1, 1)}
    )


@dataclass(frozen=True)
class Route:
    """One address of the portal."""

    name: str
    pattern: str
    view: Any

    @property
    def is_api(self) -> bool:
        return self.pattern.startswith("api/")

    @property
    def has_tenant(self) -> bool:
        return "<slug:tenant>" in self.pattern

    @property
    def of_office(self) -> bool:
        words = set(self.pattern.split("/"))
        return self.has_tenant and bool(OFFICES & words) and "cases" not in words

    @property
    def of_everybody(self) -> bool:
        words = set(self.pattern.split("/"))
        return bool(EVERYBODYS & words) and "cases" not in words

    def unsafe(self) -> str:
        """The method with which this route would change something; where there is none, POST, which answers 405."""
        offered = getattr(getattr(self.view, "cls", None), "http_method_names", ["post"])
        return next((name.upper() for name in ("patch", "put", "delete") if name in offered), "POST")

    def parameters(self) -> list[tuple[str, str]]:
        """(the word before it, its own name) for each id in the address."""
        steps = self.pattern.split("/")
        found = []
        for index, step in enumerate(steps):
            if step.startswith("<") and step != "<slug:tenant>":
                found.append((steps[index - 1], step.strip("<>")))
        return found

    def address(self, tenant: str, ids: Examples | None = None) -> str:
        """The address with this tenant's slug and the ids of these examples; without any, ids that exist nowhere."""
        filled = self.pattern.replace("<slug:tenant>", tenant)
        for noun, parameter in self.parameters():
            filled = filled.replace(f"{noun}/<{parameter}>", f"{noun}/{self._id(noun, parameter, ids)}", 1)
        return f"/{filled}"

    @staticmethod
    def _id(noun: str, parameter: str, ids: Examples | None) -> str:
        converter, _sep, name = parameter.partition(":")
        if ids is None:
            return str(uuid.UUID(int=4)) if converter == "uuid" else "987654321"
        if noun not in ids.by_noun:
            raise KeyError(f"tests/examples.py makes no example of '{noun}', which the address {parameter} speaks of")
        found = ids[noun]
        return str(getattr(found, name) if hasattr(found, name) and name != "pk" else found.pk)


def routes() -> Iterator[Route]:
    """Every address that the resolver knows."""
    yield from _walk(get_resolver().url_patterns, "")


def _walk(patterns: list[Any], prefix: str) -> Iterator[Route]:
    for found in patterns:
        here = prefix + str(found.pattern)
        if isinstance(found, URLResolver):
            yield from _walk(found.url_patterns, here)
        elif isinstance(found, URLPattern):
            yield Route(found.name or here, here, found.callback)


def page_routes() -> list[Route]:
    """The pages: what a browser is shown, without the API and what is public."""
    return [route for route in routes() if not route.is_api and hasattr(route.view, "roles")]
