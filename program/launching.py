"""A planned launch: who comes in which wave, whether each may go, the start of a wave, and the stop."""

from collections.abc import Iterable
from datetime import date, datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F
from django.db.models.functions import Now
from django.utils.translation import gettext as _
from django.utils.translation import override

from clusters import actions as cluster_actions
from clusters import checking
from clusters.architectures.configuration import read_configuration
from clusters.findings import Refusals
from clusters.models import CloudAccount, Cluster, Revision
from program import states
from program.board import accelerators_of
from program.models import Launch, LaunchCluster, LaunchWave
from support.writing import one_of, text_of
from tenants.history import timeline
from tenants.history.models import Entry
from tenants.history.moves import move
from tenants.models import Cycle, Participation, Person, Tenant
from tenants.wall.acting import acting_for, reading_everyone
from tenants.web.attempt import attempt
from tenants.web.problems import Refused, Stale

WAITING = ("requested",)  # a cluster that the start of its wave has to approve


def plan_launch(*, cycle: Cycle, name: str, day: date, waves: Iterable[datetime | None], by: str) -> Launch:
    """Plan a launch with its waves, in the order in which they shall start."""
    name = text_of(name, _("a name for the launch"), 80, "name")
    office = Tenant.objects.get(is_office=True)
    with acting_for(office, staff=True):
        try:
            with transaction.atomic():
                launch = Launch.objects.create(tenant=office, cycle=cycle, name=name, day=day, planned_by=by)
        except IntegrityError:
            raise Refused(
                "launch_exists", _("A launch named '%(name)s' is planned for that day already.") % {"name": name}
            ) from None
        times = list(waves) or [None]
        LaunchWave.objects.bulk_create(
            LaunchWave(tenant=office, launch=launch, number=number, starts_at=at)
            for number, at in enumerate(times, start=1)
        )
        timeline.record("launch.planned", about=launch, by=by, name=name, day=day.isoformat())
    return launch


def add_cluster(*, launch: Launch, cluster: Cluster, wave: int, by: str) -> LaunchCluster:
    """Put a cluster that was asked for into a wave; its start approves it."""
    with acting_for(cluster.tenant_id, staff=True):
        return _add(
            launch,
            wave,
            by,
            tenant_id=cluster.tenant_id,
            participation_id=cluster.participation_id,
            name=cluster.name,
            region=cluster.region,
            instance_type=cluster.main_type,
            planned=cluster.accelerated_wanted,
            accelerators=cluster.accelerators_wanted,
            account_id=cluster.account_id,
            cluster=cluster,
        )


def add_wish(
    *, launch: Launch, participation: Participation, account: CloudAccount, name: str, body: Any, wave: int, by: str
) -> LaunchCluster:
    """Put a cluster into a wave that nobody asked for yet; its start asks for it. Raises Refused("unreadable")."""
    try:
        wish = read_configuration(body)
    except Refusals as error:
        raise Refused(
            "unreadable",
            error.findings[0].sentence(_),
            status=422,
            findings=[checking.told(one) for one in error.findings],
        ) from None
    counts = {kind: count for kind, count in wish.counts().items() if accelerators_of(kind)}
    if not counts:
        raise Refused("no_accelerators", _("Nothing in this configuration has accelerators."), status=422, field="body")
    with acting_for(participation.tenant_id, staff=True):
        return _add(
            launch,
            wave,
            by,
            tenant_id=participation.tenant_id,
            participation=participation,
            name=name,
            region=wish.region,
            instance_type=max(counts, key=lambda kind: (counts[kind], kind)),
            planned=sum(counts.values()),
            accelerators=sum(accelerators_of(kind) * count for kind, count in counts.items()),
            account=account,
            body=body,
        )


def _add(launch: Launch, wave: int, by: str, **values: Any) -> LaunchCluster:
    found = LaunchWave.objects.filter(launch=launch, number=wave).first()
    if found is None or found.state != "planned":
        raise Refused(
            "wave", _("Wave %(wave)s is not there, or has started.") % {"wave": wave}, status=422, field="wave"
        )
    try:
        with transaction.atomic():
            line = LaunchCluster.objects.create(
                launch_id=launch.pk, launch_name=launch.name, day=launch.day, wave=wave, **values
            )
    except IntegrityError:
        raise Refused("in_launch", _("%(name)s is part of this launch already.") % {"name": values["name"]}) from None
    told = {
        "name": line.name,
        "day": launch.day.isoformat(),
        "wave": wave,
        "planned": line.planned,
        "type": line.instance_type,
    }
    timeline.record(states.LAUNCH_PLANNED, about=line, by=by, **told)
    return line


def check_launch(*, launch: Launch, by: str) -> list[LaunchCluster]:
    """Run the full preflight for every cluster that has not started; what does not fit is no go until it does."""
    found = []
    for line in lines_of(launch):
        if line.started_at is None:
            with acting_for(line.tenant_id, staff=True):
                found.append(check_line(line, by=by))
    return found


def lines_of(launch: Launch) -> list[LaunchCluster]:
    """Every participant's line of a launch, wave by wave."""
    with reading_everyone():
        rows = LaunchCluster.objects.filter(launch_id=launch.pk).select_related(
            "tenant", "cluster", "account", "participation"
        )
        return list(rows.order_by("wave", "tenant__name", "name"))


def check_line(line: LaunchCluster, *, by: str, nightly: bool = False) -> LaunchCluster:
    """Hold one wish against what is known of its account. What turned during the night is work for its participant."""
    line.refresh_from_db(from_queryset=LaunchCluster.objects.select_for_update(of=("self",)))
    cluster = Cluster.objects.get(pk=line.cluster_id) if line.cluster_id else None
    account = CloudAccount.objects.get(pk=line.account_id)
    checked = checking.check(account=account, name=line.name, body=_body(line, cluster), other_than=cluster)
    with override(None):
        told = [checking.told(finding) for finding in checked.findings if finding.level != "ok"]
    before = line.findings
    # A person's no stays a no, whatever fits.
    standing = line.verdict == LaunchCluster.Verdict.NO_GO and line.verdict_by != "engine"
    columns: dict[str, Any] = {"findings": told, "checked_at": Now(), "version": F("version") + 1}
    if not standing:
        verdict = LaunchCluster.Verdict.GO if checked.fits else LaunchCluster.Verdict.NO_GO
        why = "" if checked.fits else told[0]["sentence"][:300] if told else ""
        columns |= {"verdict": verdict, "verdict_why": why, "verdict_by": "engine"}
    LaunchCluster.objects.filter(pk=line.pk).update(**columns)
    line.refresh_from_db()
    if nightly and (turned := _turned(before, told)):
        checking.tell(line.participation, key=str(line.pk), name=line.name, sentences=turned, day=line.day.isoformat())
    result = "fits" if checked.fits else "; ".join(one["sentence"] for one in told if one["level"] == "refused")[:500]
    timeline.record(states.LAUNCH_CHECKED, about=line, by=by, name=line.name, result=result, fits=checked.fits)
    return line


def _turned(before: list[dict[str, Any]], now: list[dict[str, Any]]) -> list[str]:
    """The sentences of what did not fail before; the numbers in them may differ, so the codes and places are compared."""
    known = {(one["code"], one.get("field")) for one in before if one["level"] == "refused"}
    return [
        f"{one['sentence']} {one['advice']}".strip()
        for one in now
        if one["level"] == "refused" and (one["code"], one.get("field")) not in known
    ]


def _body(line: LaunchCluster, cluster: Cluster | None) -> Any:
    if cluster is None:
        return line.body
    return Revision.objects.filter(cluster=cluster).order_by("-number").values_list("body", flat=True)[0]


def decide(*, line: LaunchCluster, verdict: str, by: str, why: str = "", version: int | None = None) -> LaunchCluster:
    """Go or no go, by a person. A go needs a preflight that fits; a no needs a reason."""
    one_of(verdict, ("go", "no_go"), "verdict")
    why = text_of(why, _("why not"), 300, "why") if verdict == "no_go" else why.strip()[:300]
    with acting_for(line.tenant_id, staff=True):
        line.refresh_from_db(from_queryset=LaunchCluster.objects.select_for_update(of=("self",)))
        if version is not None and line.version != version:
            changes = {"verdict": [line.verdict, verdict], "why": [line.verdict_why, why]}
            raise Stale(
                "stale", _("Somebody decided on this meanwhile. Look again."), version=line.version, changes=changes
            )
        if line.started_at is not None:
            raise Refused("started", _("%(name)s has started already.") % {"name": line.name})
        refused = [one for one in line.findings if one["level"] == "refused"]
        if verdict == "go" and (line.checked_at is None or refused):
            sentence = refused[0]["sentence"] if refused else _("Check it first: nothing says yet that it fits.")
            raise Refused("does_not_fit", sentence, findings=refused)
        LaunchCluster.objects.filter(pk=line.pk).update(
            verdict=verdict, verdict_why=why, verdict_by=by, version=F("version") + 1
        )
        line.refresh_from_db()
        with override(None):
            words = str(LaunchCluster.Verdict(verdict).label)
        timeline.record(states.LAUNCH_VERDICT, about=line, by=by, name=line.name, verdict=words, why=why)
    return line


def start_wave(
    *, launch: Launch, number: int, person: Person, by: str, version: int | None = None
) -> dict[str, list[str]]:
    """Start a wave: ask for and approve what may go. What may not, and what is refused now, stays behind and says why."""
    with acting_for(launch.tenant_id, staff=True):
        _hold(launch, version)
        wave = LaunchWave.objects.select_for_update().filter(launch=launch, number=number).first()
        if wave is None:
            raise Refused("wave", _("There is no wave %(number)s.") % {"number": number}, status=422)
        if launch.state == "stopped":
            raise Refused("stopped", _("The launch is stopped. Resume it first."))
        lines = [line for line in lines_of(launch) if line.wave == number and line.started_at is None]
        if not any(line.verdict == "go" for line in lines):
            raise Refused(
                "nobody_goes", _("No cluster of wave %(number)s has a go. Check and decide first.") % {"number": number}
            )
        if launch.state == "planned":
            move(launch, "running", by=by, name=launch.name)
        started, left = [], []
        for line in lines:
            (started if line.verdict == "go" and _start(line, launch, person, by) else left).append(
                f"{line.tenant.slug} {line.name}"
            )
        if wave.state == "planned":
            move(
                wave, "started", by=by, columns={"starts_at": Now()}, wave=number, name=launch.name, count=len(started)
            )
    return {"started": started, "left": left}


def _start(line: LaunchCluster, launch: Launch, person: Person, by: str) -> bool:
    """Whether this one started. A refusal holds up nobody else: it is kept with the line."""
    with acting_for(line.tenant_id, staff=True):
        _done, refused = attempt(_go, line=line, launch=launch, person=person, by=by)
        if refused is None:
            return True
        findings = refused.facts.get("findings") or [
            {"code": refused.code, "level": "refused", "sentence": refused.sentence, "advice": ""}
        ]
        LaunchCluster.objects.filter(pk=line.pk).update(
            verdict="no_go",
            verdict_why=refused.sentence[:300],
            verdict_by="engine",
            findings=findings,
            version=F("version") + 1,
        )
        timeline.record(states.LAUNCH_CHECKED, about=line, by=by, name=line.name, result=refused.sentence, fits=False)
    return False


def _go(*, line: LaunchCluster, launch: Launch, person: Person, by: str) -> None:
    line.refresh_from_db(from_queryset=LaunchCluster.objects.select_for_update(of=("self",)))
    cluster = Cluster.objects.get(pk=line.cluster_id) if line.cluster_id else None
    if cluster is None:
        # In the planner's name: whoever starts the wave is then the second pair of eyes.
        cluster = cluster_actions.request_cluster(
            participation=Participation.objects.get(pk=line.participation_id),
            account=CloudAccount.objects.get(pk=line.account_id),
            name=line.name,
            body=line.body,
            by=launch.planned_by,
            reason=launch.name,
        )
    if cluster.state in WAITING:
        cluster_actions.approve_cluster(cluster=cluster, person=person, by=by)
    LaunchCluster.objects.filter(pk=line.pk).update(cluster=cluster, started_at=Now(), version=F("version") + 1)
    timeline.record(states.LAUNCH_STARTED, about=line, by=by, name=line.name, wave=line.wave)


def stop_launch(*, launch: Launch, why: str, by: str, version: int | None = None) -> Launch:
    """Start nothing more. What is being created goes on: taking it back is a decision of its own."""
    why = text_of(why, _("why"), 300, "why")
    return _moved(launch, "stopped", by, version, columns={"stopped_why": why}, why=why)


def resume_launch(*, launch: Launch, by: str, version: int | None = None) -> Launch:
    """Go on with a launch that was stopped."""
    if launch.state != "stopped":
        raise Refused("not_stopped", _("The launch is not stopped."))
    return _moved(launch, "running", by, version, columns={"stopped_why": ""})


def end_launch(*, launch: Launch, by: str, version: int | None = None) -> Launch:
    """The launch is over."""
    return _moved(launch, "done", by, version)


def _moved(
    launch: Launch, to: str, by: str, version: int | None, columns: dict[str, Any] | None = None, **facts: Any
) -> Launch:
    with acting_for(launch.tenant_id, staff=True):
        _hold(launch, version)
        move(launch, to, by=by, columns=columns, name=launch.name, **facts)
        launch.refresh_from_db()
    return launch


def _hold(launch: Launch, version: int | None) -> None:
    launch.refresh_from_db(from_queryset=Launch.objects.select_for_update(of=("self",)))
    if version is not None and launch.version != version:
        raise Stale(
            "stale", _("Somebody changed this launch meanwhile. Look at it again."), version=launch.version, changes={}
        )


def record_in_service(
    *,
    participation: Participation,
    cluster_name: str,
    region: str,
    instance_type: str,
    count: int,
    at: datetime,
    by: str,
    planned: int | None = None,
    source: str = "import",
) -> Entry:
    """Keep that instances came into service on a day when Cohort did not watch."""
    told = {"cluster_name": cluster_name, "region": region, "instance_type": instance_type, "count": count}
    return timeline.record(
        states.IN_SERVICE, about=participation, by=by, at=at, source=source, planned=planned or count, **told
    )
