"""Many of everything at once, so that a page that asks once per row gives itself away."""

import uuid
from datetime import date, timedelta
from typing import Any

from django.utils import timezone

from clusters import models as c
from program.models import (
    ActionItem,
    Addendum,
    Decision,
    LaunchCluster,
    Minutes,
    Onboarding,
    OnboardingStep,
    Registration,
    Report,
    Review,
    ReviewItem,
    Session,
)
from support.models import Article, ArticleUse, ArticleVersion, Case, CaseNote
from tenants import models as t
from tenants.queries import WRITTEN
from tenants.wall.acting import acting_for
from tests.examples import BODY, Examples
from tests.town import Town


def grow(town: Town, start: int, until: int) -> None:
    """Rows number `start` to `until` of everything that a page or list may show more than one of."""
    numbers = range(start, until)
    world, made = town.world, town.hoshi
    people = _people(numbers)
    _tenants(town, numbers, people)
    with acting_for(made.tenant, staff=True):
        clusters = _clusters(made, numbers)
        jobs = _jobs(made, numbers)
        cases = _cases(made, numbers, people, clusters, jobs)
        _record(town, numbers)
        _notes(made, numbers, people)
    _reviews(town, numbers, cases)
    _procedure(town, numbers, people, clusters)
    _enablement(town, numbers, people, cases)
    t.Membership.objects.bulk_create(
        t.Membership(person=person, tenant=world.hoshi, role="viewer", starts_on=date(2024, 1, 1)) for person in people
    )


def _people(numbers: range) -> list[t.Person]:
    return t.Person.objects.bulk_create(t.Person(email=f"crowd{n}@example.org", name=f"Crowd {n}") for n in numbers)


def _tenants(town: Town, numbers: range, people: list[t.Person]) -> None:
    tenants = t.Tenant.objects.bulk_create(t.Tenant(slug=f"crowd-{n}", name=f"Crowd {n}") for n in numbers)
    cycles = t.Cycle.objects.bulk_create(
        t.Cycle(
            programme_id=town.world.cycle.programme_id,
            code=f"X{n}",
            name=f"X {n}",
            state="closed",
            starts_on=date(2020, 1, 1),
        )
        for n in numbers
    )
    for tenant, n, person in zip(tenants, numbers, people, strict=True):
        with acting_for(tenant, staff=True):
            mine = t.Participation.objects.create(
                tenant=tenant, cycle=town.world.cycle, code=f"C{n}", project="p", state="active"
            )
            account = c.CloudAccount.objects.create(
                tenant=tenant, account_id=f"{300_000_000_000 + n}", role_arn="r", external_id="x"
            )
            c.Cluster.objects.create(tenant=tenant, **_cluster(mine, account, f"c{n}", state="failed"))
            Case.objects.create(tenant=tenant, **_case(n, person))
            c.QuotaGrant.objects.create(
                tenant=tenant, participation=mine, instance_type="p5.48xlarge", region="us-east-1", approved_instances=1
            ).kept(by="engine")
    with acting_for(town.hoshi.tenant, staff=True):
        t.Participation.objects.bulk_create(
            t.Participation(tenant=town.hoshi.tenant, cycle=cycle, code=f"H{n}", project="p", state="closed")
            for cycle, n in zip(cycles, numbers, strict=True)
        )


def _cluster(participation: Any, account: Any, name: str, **more: Any) -> dict[str, Any]:
    return {
        "participation": participation,
        "account": account,
        "name": name,
        "architecture": "hyperpod-slurm",
        "architecture_version": "2026.11",
        "orchestrator": "hyperpod-slurm",
        "region": "ap-northeast-1",
        "az_id": "apne1-az4",
        "state": "ready",
        "main_type": "p5.48xlarge",
        "requested_by": "engine",
        **more,
    }


def _clusters(made: Examples, numbers: range) -> list[c.Cluster]:
    tenant, main = made.tenant, made["clusters"]
    mine = {"tenant": tenant}
    accounts = c.CloudAccount.objects.bulk_create(
        c.CloudAccount(**mine, account_id=f"{400_000_000_000 + n}", role_arn="r", external_id="x") for n in numbers
    )
    rows = [
        _cluster(made["participations"], account, f"crowd-{n}") for account, n in zip(accounts, numbers, strict=True)
    ]
    clusters = c.Cluster.objects.bulk_create(c.Cluster(**mine, **row) for row in rows)
    c.Revision.objects.bulk_create(
        c.Revision(**mine, cluster=each, number=1, body=BODY, author="engine") for each in clusters
    )
    c.Revision.objects.bulk_create(
        c.Revision(**mine, cluster=main, number=n + 2, body=BODY, author="engine") for n in numbers
    )
    now = timezone.now()
    c.Node.objects.bulk_create(
        c.Node(
            **mine,
            cluster=main,
            group="gpu",
            seat=n + 10,
            name=f"n-{n:04d}",
            role="compute",
            instance_type="p5.48xlarge",
            since=now,
        )
        for n in numbers
    )
    c.Operation.objects.bulk_create(
        c.Operation(**mine, cluster=main, kind="change", state="done", asked_by="engine") for _ in numbers
    )
    c.ExternalObject.objects.bulk_create(
        c.ExternalObject(
            **mine,
            cluster=main,
            role=f"part{n}",
            position=9,
            kind="stack",
            account_number="1",
            region="r",
            name=f"p{n}",
            intended_at=now,
        )
        for n in numbers
    )
    c.Proof.objects.bulk_create(
        c.Proof(**mine, cluster=main, generation=kind, kind="smoke_job", passed=True, evidence="", taken_at=now)
        for kind in (n + 2 for n in numbers)
    )
    c.FileSystem.objects.bulk_create(
        c.FileSystem(**mine, cluster=main, kind="lustre", capacity_gib=1, mount=f"/m{n}") for n in numbers
    )
    c.Bucket.objects.bulk_create(c.Bucket(**mine, cluster=main, name=f"bucket-{n}") for n in numbers)
    c.ServiceQuota.objects.bulk_create(
        c.ServiceQuota(**mine, account=main.account, region="r", service="ec2", name=f"q{n}", value=1, read_at=now)
        for n in numbers
    )
    return clusters


def _jobs(made: Examples, numbers: range) -> list[c.Job]:
    jobs = c.Job.objects.bulk_create(
        c.Job(
            tenant=made.tenant,
            cluster=made["clusters"],
            name=f"j{n}",
            engine_name=f"e{n}",
            script="#!",
            nodes=1,
            launched_by="engine",
        )
        for n in numbers
    )
    now = timezone.now()
    c.JobRun.objects.bulk_create(
        c.JobRun(
            tenant=made.tenant, cluster=made["clusters"], external_id=f"r{n}", attempt=1, name=f"r{n}", source="watched",
            started_at=now - timedelta(minutes=n + 1), counted_until=now, nodes=1, accelerators=8, told_at=now,
        )
        for n in numbers
    )  # fmt: skip
    c.UsageDay.objects.bulk_create(
        c.UsageDay(
            tenant=made.tenant, cluster=made["clusters"], day=now.date() - timedelta(days=n + 1), zone="Asia/Tokyo",
            source="watched", computed_at=now,
        )
        for n in numbers
    )  # fmt: skip
    c.UsageDispute.objects.bulk_create(
        c.UsageDispute(
            tenant=made.tenant, cluster=made["clusters"], month=date(1990 + n, 1, 1), reason="x", reserved_then=1,
            disputed_by="engine", disputed_at=now,
        )
        for n in numbers
    )  # fmt: skip
    c.Attempt.objects.bulk_create(
        c.Attempt(tenant=made.tenant, job=made["jobs"], number=n + 2, external_id="1", reason="") for n in numbers
    )
    return jobs


def _case(n: int, person: t.Person, **more: Any) -> dict[str, Any]:
    at = timezone.now() - timedelta(days=n % 40)
    return {
        "number": f"CASE-9{n:03d}",
        "title": f"t{n}",
        "severity": "high",
        "opened_at": at,
        "opened_by": person.actor,
        "owner": person,
        **more,
    }


def _cases(
    made: Examples, numbers: range, people: list[t.Person], clusters: list[c.Cluster], jobs: list[c.Job]
) -> list[Case]:
    rows = zip(numbers, people, clusters, jobs, strict=True)
    return Case.objects.bulk_create(
        Case(tenant=made.tenant, **_case(n, person, cluster=cluster, job=job, component="hyperpod"))
        for n, person, cluster, job in rows
    )


def _record(town: Town, numbers: range) -> None:
    owned = {"tenant": town.hoshi.tenant, "participation": town.hoshi["participations"]}
    t.TrainingModel.objects.bulk_create(
        t.TrainingModel(**owned, code=f"X{n}", name="n", family="dense", total_params_b=1, active_params_b=1)
        for n in numbers
    )
    t.FrameworkUse.objects.bulk_create(t.FrameworkUse(**owned, name=f"f{n}") for n in numbers)
    t.DataIngest.objects.bulk_create(t.DataIngest(**owned, name=f"d{n}", method="s3_copy") for n in numbers)
    day = date(2026, 1, 7)
    t.Milestone.objects.bulk_create(t.Milestone(**owned, title=f"m{n}", kind="data", due_on=day) for n in numbers)
    t.Evaluation.objects.bulk_create(
        t.Evaluation(**owned, model_code="M1", benchmark=f"b{n}", score=1, measured_on=day) for n in numbers
    )
    t.Result.objects.bulk_create(t.Result(**owned, title=f"r{n}", kind="paper", openness="open") for n in numbers)
    t.MonitoringLink.objects.bulk_create(
        t.MonitoringLink(**owned, name=f"l{n}", kind="grafana", link="https://boards.example/") for n in numbers
    )
    t.SoftwareVersion.objects.bulk_create(
        t.SoftwareVersion(**owned, component=f"c{n}", software_version="1") for n in numbers
    )
    c.QuotaGrant.objects.bulk_create(
        c.QuotaGrant(**owned, instance_type=f"x{n}.large", region="us-east-1", approved_instances=1) for n in numbers
    )


def _notes(made: Examples, numbers: range, people: list[t.Person]) -> None:
    tenant, case, now = made.tenant, made["cases"], timezone.now()
    CaseNote.objects.bulk_create(
        CaseNote(tenant=tenant, case=case, audience="shared", text="x", author=person.actor, at=now)
        for person in people
    )
    t.Attachment.objects.bulk_create(
        t.Attachment(
            tenant=tenant,
            subject="case",
            subject_id=case.pk,
            name=f"f{n}",
            media_type="text/plain",
            size=1,
            sha256="0",
            stored_as=f"x{n}",
        )
        for n in numbers
    )
    note = t.Note.objects.create(tenant=tenant, text="x", author="engine")
    subjects = (
        ("case", case),
        ("cluster", made["clusters"]),
        ("job", made["jobs"]),
        ("participation", made["participations"]),
    )
    for subject, thing in subjects:
        t.Entry.objects.bulk_create(
            t.Entry(
                tenant=tenant,
                kind="record.changed",
                subject=subject,
                subject_id=thing.pk,
                cluster=made["clusters"].pk,
                participation=made["participations"].pk,
                actor=person.actor,
                action_id=uuid.uuid4(),
                facts={"what": "x"} | dict.fromkeys(WRITTEN, str(note.pk)),
            )
            for person in people
        )


def _reviews(town: Town, numbers: range, cases: list[Case]) -> None:
    world = town.world
    counts = dict.fromkeys(("opened", "reopened", "resolved", "carried", "open_before", "open_now", "mitigated"), 0)
    with acting_for(world.office, staff=True):
        newest = Review.objects.order_by("-cutoff_at").first()
        assert newest is not None
        reviews = Review.objects.bulk_create(
            Review(
                tenant=world.office,
                cycle=world.cycle,
                number=n + 10,
                cutoff_at=newest.cutoff_at - timedelta(weeks=n + 1),
                frozen_at=newest.cutoff_at - timedelta(weeks=n + 1),
                snapshot=newest.snapshot,
                sha256="0",
                held_by="engine",
                state="locked",
                **counts,
            )
            for n in numbers
        )
    with acting_for(world.hoshi, staff=True):
        Minutes.objects.bulk_create(
            Minutes(
                tenant=world.hoshi,
                review_id=each.pk,
                review_number=each.number,
                cutoff_at=each.cutoff_at,
                body="b",
                sha256="0",
            )
            for each in reviews
        )
        ReviewItem.objects.bulk_create(
            ReviewItem(
                tenant=world.hoshi,
                review_id=town.hoshi["reviews"].pk,
                case=case,
                position=position,
                agenda_group="rest",
                state_then="new",
                severity_then="high",
                age_days=1,
                idle_days=1,
            )
            for position, case in zip((n + 10 for n in numbers), cases, strict=True)
        )


def _procedure(town: Town, numbers: range, people: list[t.Person], clusters: list[c.Cluster]) -> None:
    made, launch = town.hoshi, town.hoshi["launches"]
    mine, day = {"tenant": made.tenant}, date(2030, 1, 1)
    with acting_for(made.tenant, staff=True):
        decisions = Decision.objects.bulk_create(
            Decision(
                **mine,
                audience="shared",
                number=f"DEC-8{n:03d}",
                text="x",
                decided_by=person,
                decided_on=day,
                case=made["cases"],
                recorded_by="engine",
            )
            for n, person in zip(numbers, people, strict=True)
        )
        ActionItem.objects.bulk_create(
            ActionItem(
                **mine,
                audience="shared",
                number=f"AI-8{n:03d}",
                text="x",
                owner=person,
                due=day,
                due_at_first=day,
                case=made["cases"],
                decision=decision,
            )
            for n, person, decision in zip(numbers, people, decisions, strict=True)
        )
        Addendum.objects.bulk_create(
            Addendum(**mine, minutes=made["minutes"], text="x", author=person.actor) for person in people
        )
        LaunchCluster.objects.bulk_create(
            LaunchCluster(
                **mine,
                launch_id=launch.pk,
                launch_name=launch.name,
                day=launch.day,
                participation=made["participations"],
                name=cluster.name,
                region="r",
                instance_type="p5.48xlarge",
                planned=1,
                accelerators=8,
                account=made["accounts"],
                cluster=cluster,
            )
            for cluster in clusters
        )


def _enablement(town: Town, numbers: range, people: list[t.Person], cases: list[Case]) -> None:
    world, made, now = town.world, town.hoshi, timezone.now()
    with acting_for(world.office, staff=True):
        Session.objects.bulk_create(
            Session(
                tenant=world.office,
                cycle=world.cycle,
                code=f"X{n}",
                kind="clinic",
                title="x",
                starts_at=now + timedelta(days=n if n % 2 else -n - 2),
                minutes=60,
                announced_at=now,
                attended=None if n % 2 else 3,
            )
            for n in numbers
        )
        articles = Article.objects.bulk_create(
            Article(tenant=world.office, code=f"X{n}", title="x", body="x", audience="shared", author=person.actor)
            for n, person in zip(numbers, people, strict=True)
        )
        Article.objects.filter(code__startswith="X").update(state="published")
        ArticleVersion.objects.bulk_create(
            ArticleVersion(
                tenant=world.office, article=made["articles"], number=n + 2, title="x", body="x", author=person.actor
            )
            for n, person in zip(numbers, people, strict=True)
        )
    mine = {"tenant": made.tenant}
    with acting_for(made.tenant, staff=True):
        Registration.objects.bulk_create(
            Registration(**mine, session=made["sessions"], person=person) for person in people
        )
        OnboardingStep.objects.bulk_create(
            OnboardingStep(**mine, onboarding=made["onboarding"], position=n + 2, text="x", settled_by=person.actor)
            for n, person in zip(numbers, people, strict=True)
        )
        Report.objects.bulk_create(
            Report(
                **mine,
                participation=made["participations"],
                kind="monthly_utilisation",
                period=f"p{n}",
                due_on=date(2030, 1, 1),
            )
            for n in numbers
        )
        ArticleUse.objects.bulk_create(
            ArticleUse(**mine, case=case, article=made["articles"], kind="solved", audience="shared") for case in cases
        )
        ArticleUse.objects.bulk_create(
            ArticleUse(**mine, case=made["cases"], article=article, kind="solved", audience="shared")
            for article in articles
        )
    for n, person in zip(numbers, people, strict=True):
        tenant = t.Tenant.objects.get(slug=f"crowd-{n}")
        with acting_for(tenant, staff=True):
            participation = t.Participation.objects.get()
            Onboarding.objects.create(tenant=tenant, participation=participation, lead=person, held_at=now, minutes=60)
