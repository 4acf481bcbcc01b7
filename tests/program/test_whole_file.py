"""The whole programme as one file: what is written comes back, adds up to the same, and is written again byte for byte."""

import copy
import io
import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.test.utils import setup_databases
from django.urls import reverse

from clusters.actions.capacity import ask as ask_for_capacity
from clusters.budgets.actions import enter_rate
from clusters.budgets.actions import set_to as set_budget
from clusters.models import AlertIntake, CloudAccount, Cluster, Job, Operation
from program.checklists import add_step
from program.transfer import clusters, importing, programme_file
from program.transfer.blocks import BLOCKS
from program.transfer.dates import moment
from program.transfer.past.cases import owner_by
from program.transfer.past.checks import JOB_LIVES
from program.transfer.words import RULES
from program.transfer.writing import whole
from program.transfer.writing.names import number, numbered, stamp, unique
from support.writing import moment as by_the_database
from tenants.actions import add_record
from tenants.history.models import Entry
from tenants.models import ApiToken, Cycle, Membership, Milestone, Participation, Programme, Tenant
from tenants.secret_fields import SecretField
from tenants.wall.acting import acting_for, reading_everyone
from tests import town as towns
from tests.town import ask, town  # noqa: F401  a fixture

# Why something of the demo's file is not in what is written from the database, by its place.
FACTS = "a fact about the provider or about Cohort: it comes with the software, and nothing of a programme is in it"
NOT_KEPT = "the loader finds no column for it; the database does not know it"
ITS_OWN = "said by the file about itself"
SANDBOX = "what the sandbox cloud pretends; what a real account allows is read from that account"
DERIVED = "said in another place of the file, from which it is read"
NOT_BACK = {
    "meta.purpose": ITS_OWN, "meta.fictional": ITS_OWN, "meta.figures": ITS_OWN, "meta.time_shift_hint": ITS_OWN,
    "regions": FACTS, "severities": FACTS, "escalation_levels": FACTS, "reference_architectures": FACTS,
    "instance_types.network_gbps": FACTS, "instance_types.nvme": FACTS,
    "programme.provider": FACTS, "programme.languages": FACTS, "programme.accelerator_hours_definition": FACTS,
    "sandbox_quotas": SANDBOX,
    "teams": "a service engineer's team comes back with the person; the others are what a role says",
    "channels": NOT_KEPT, "participants.channels": NOT_KEPT, "people.note": NOT_KEPT,
    "cycles.note": NOT_KEPT, "cycles.applications_open": NOT_KEPT, "cycles.applications_close": NOT_KEPT,
    "cycles.weekly_review.weekday": NOT_KEPT, "cycles.weekly_review.time_local": NOT_KEPT,
    "cycles.weekly_review.duration_min": NOT_KEPT, "cycles.weekly_review.chair_role": NOT_KEPT,
    "cycles.weekly_review.scribe_rotation": NOT_KEPT,
    "participants.framework": "several of them come back as `frameworks`, one row each",
    "participants.clusters.monitoring": "the configuration says it as `observability`; the loader asks for none",
    "participants.clusters.validation": "the proofs of a cluster are made anew where it is launched",
    "participants.clusters.parallelcluster_version": "the configuration names the architecture's version, which has it",
    "participants.clusters.instance_groups.reservation.ends": DERIVED,
    "participants.clusters.instance_groups.reservation.extended_to": DERIVED,
    "reservations.instances_end_at": NOT_KEPT,
    "jobs.mfu": NOT_KEPT, "jobs.note": NOT_KEPT,
    "cases.tags": NOT_KEPT, "cases.waiting_on": NOT_KEPT, "health_events.case": NOT_KEPT,
    "cases.root_cause": "a cause is kept when a case is resolved; what is thought before stands in its notes",
    "cases.timeline": "a line that says of a case what it is already changes nothing and is not in the history",
    "weekly_reviews.held_at": "of a review that lies ahead; the time of the meeting is the calendar's",
    "weekly_reviews.draft_agenda": DERIVED,
    "audit_samples": "the samples that the timelines of cases and the reviews tell already",
    "audit_samples.before.status": "what it was before stands in the history by its order",
}  # fmt: skip
# Why something comes back otherwise.
WORDS = "another word for the same"
CLOCK = "a case that came back counts from then"
OTHERWISE = {
    "meta.timestamps": ITS_OWN,
    "cycles.participants": "counted: the file tells of a cycle whose participants it does not have",
    "instance_types.accelerator": WORDS,
    "people.role": WORDS,
    "people.team": "only service engineers have a team",
    "participants.clusters.instance_groups.instance_type": WORDS,
    "participants.clusters.state": WORDS,
    "enablement_sessions.speakers": "in the order of the alphabet: the table keeps none",
    "jobs.kind": "every job that people launch is a training job here",
    "cases.first_response_at": CLOCK, "cases.first_response_due_at": CLOCK, "cases.first_response_met": CLOCK,
    "cases.lost_instance_hours": "what an open case has cost is known when it is resolved",
    "cases.timeline.kind": "a note is a comment, whatever it is about",
    "weekly_reviews.snapshot.open_by_severity.normal": "the severities of that day; the file has those of its last",
}  # fmt: skip


def read(text: str) -> Any:
    return yaml.load(text, Loader=yaml.CSafeLoader)


def written(now: datetime) -> str:
    file = io.StringIO()
    whole.write(file, now)
    return file.getvalue()


@contextmanager
def taken_back() -> Iterator[None]:
    """An empty database again afterwards."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)
    connection.scope = None


@dataclass
class Trip:
    told: Any
    once: str
    twice: str
    states: dict[str, Any]


@pytest.fixture(scope="module")
def trip(django_db_setup: Any, django_db_blocker: Any) -> Trip:
    """The demo's file taken in and written; what was written taken into an empty database and written again."""
    told = programme_file.read()
    now = moment(told["meta"]["as_of"])
    with django_db_blocker.unblock():
        if not connection.settings_dict["NAME"].startswith("test_"):
            setup_databases(verbosity=0, interactive=False, aliases={"default"})
        texts: list[str] = []
        for source in (told, None):
            with taken_back():
                importing.load(source or read(texts[0]), lambda line: None)
                texts.append(written(now))
                states = of_the_engine()
    return Trip(told, *texts, states)


def of_the_engine() -> dict[str, Any]:
    with reading_everyone():
        living = Job.objects.filter(state__in=["running", "queued"])
        return {
            "clusters": set(Cluster.objects.values_list("state", flat=True)),
            "operations": set(Operation.objects.values_list("kind", "state")),
            "approvals": Entry.objects.filter(kind="cluster.approved").count(),
            "living": living.count(),
            "seen": living.filter(unknown_since=None).count(),
        }


def test_nothing_is_launched_and_nobody_claims_to_have_seen_a_job(trip):
    living = sum(row["state"] in JOB_LIVES for row in trip.told["jobs"])
    assert trip.states == {
        "clusters": {"requested"}, "operations": {("create", "waiting")}, "approvals": 0, "living": living, "seen": 0,
    }  # fmt: skip


def test_the_totals_of_the_database_are_those_of_the_original_file(trip):
    assert read(trip.once)["totals"] == read(trip.twice)["totals"] == trip.told["totals"]
    assert trip.told["totals"]["p5_instances"] == 127 and trip.told["totals"]["accelerators"]["h100"] == 1016


def test_what_was_written_is_in_order_and_is_written_again_byte_for_byte(trip):
    assert programme_file.problems(read(trip.once)) == []
    assert trip.once == trip.twice


def test_every_section_and_key_of_the_original_comes_back_or_has_a_reason(trip):
    people = {row["handle"]: row["email"] for row in trip.told["people"]}
    missing, different = defaultdict(list), defaultdict(list)
    compare(addressed(trip.told, people), read(trip.once), "", missing, different)
    assert {place: found for place, found in missing.items() if place not in NOT_BACK} == {}
    assert {place: found for place, found in different.items() if place not in OTHERWISE} == {}
    assert sorted(set(NOT_BACK) - set(missing)) == sorted(set(OTHERWISE) - set(different)) == []


def addressed(value: Any, people: dict[str, str]) -> Any:
    """The same with people by their addresses: no table knows the handles of the file."""
    if isinstance(value, dict):
        return {name: addressed(inner, people) for name, inner in value.items()}
    if isinstance(value, list):
        return [addressed(inner, people) for inner in value]
    return people.get(value, value) if isinstance(value, str) else value


def key(row: Any) -> Any:
    for names in (("slug",), ("verb", "object"), ("id",), ("email",), ("number",), ("at", "actor"), ("participant", "cluster"),
                  ("participant", "kind", "period"), ("code",), ("bucket",), ("kind", "capacity_gib"), ("name",), ("case",),
                  ("instance_type", "region"), ("participant",), ("account",), ("level",)):  # fmt: skip
        if all(row.get(name) is not None for name in names):
            return tuple(row[name] for name in names)
    raise AssertionError(f"a row without a name: {row}")


def compare(old: Any, new: Any, place: str, missing: Any, different: Any) -> None:
    """Rows by what names them. What is null in the original says no more than what is not there."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name, value in old.items():
            inner = f"{place}.{name}".lstrip(".")
            if value not in (None, [], {}) and new.get(name) is None:
                missing[inner].append(value)
            elif name in new:
                compare(value, new[name], inner, missing, different)
    elif isinstance(old, list) and old and isinstance(old[0], dict):
        rows = defaultdict(list)
        for row in new:
            rows[key(row)].append(row)
        for row in old:
            same = rows[key(row)]
            compare(row, same.pop(0), place, missing, different) if same else missing[place].append(row)
        assert not any(rows.values()) or place == "cases.timeline", f"{place} has rows of its own"
    elif old != new:
        different[place].append((old, new))


@pytest.mark.django_db
def test_what_people_did_since_comes_back_too_and_no_secret_is_in_it():
    """Both tenants of the town own one of everything, made by the actions people use and not by a file."""
    with taken_back():
        world = towns.make_town().world
        gone = world.person("ml_engineer")
        with acting_for(world.office, staff=True):
            day, by = date(2026, 11, 1), world.person("programme_manager").actor
            enter_rate(office=world.office, of="EUR", rate=Decimal("1.085"), starts_on=day, source="a bank", by=by)
        with acting_for(world.hoshi, staff=True):
            later = by_the_database(None).date() + timedelta(days=2)
            ask_for_capacity(
                participation=world.participations["hoshi"], kind="fewer", instance_type="p5.48xlarge", instances=3,
                region="ap-northeast-1", starts_on=later, reason="given back", by=by,
            )  # fmt: skip
        running = world.participations["hoshi"]
        coming = Cycle.objects.create(
            programme=running.cycle.programme, code="C9", name="Next", state="preparing", starts_on=date(2031, 1, 1)
        )
        add_step(cycle=coming, by=by, text="our own step", help="Ask us.", measure="nccl")
        with acting_for(world.hoshi, staff=True):
            next_one = add_record(
                block=Participation(tenant=world.hoshi, cycle=coming, code="C9-01", project="x"), by=by
            )
            add_record(
                block=Milestone(tenant=world.hoshi, participation=next_one, title="G", kind="gate", due_on=day), by=by
            )
            set_budget(participation=next_one, amount=Decimal(70), line="C9", why="plan", by=by)
        Membership.objects.filter(person=gone).update(ends_on=date(2031, 1, 1), starts_on=date(2020, 1, 1))
        now, secrets = by_the_database(None), {*kept_secret()}
        once = written(now)
    assert len(secrets) > 5 and not [secret for secret in secrets if secret in once]
    assert programme_file.problems(read(once)) == []
    carried = {name for row in read(once)["participants"] for name in row}
    assert {*BLOCKS, "contact_list"} <= carried and read(once)["interactions"]
    rows = ("budget_rows", "budget_limits", "calls", "duty_shifts", "capacity_requests", "exchange_rates")
    assert all(read(once)[name] for name in rows) and read(once)["calls"][0]["applications"][0]["scores"]
    assert any(quota.get("steps") for row in read(once)["participants"] for quota in row["quota"])
    [hoshi] = [row for row in read(once)["participants"] if row["slug"] == "hoshi"]
    assert hoshi["cycle"] == running.cycle.code and hoshi["clusters"] and "in_cycle" not in hoshi["clusters"][0]
    assert [(one["cycle"], one["milestones"][0]["title"]) for one in hoshi["other_participations"]] == [("C9", "G")]
    assert [row["delta"] for row in read(once)["budget_rows"] if row.get("in_cycle") == "C9"] == ["70.00"]
    wrong = read(once)
    wrong["budget_rows"][0]["in_cycle"] = "C8"
    assert [
        line for line in programme_file.problems(wrong) if line.startswith("budget_rows[0].in_cycle: C8 is no cycle")
    ]
    [steps] = [row["checklist"] for row in read(once)["cycles"] if row["code"] == "C9"]
    assert len(steps) == 13 and steps[-1] == {"text": "our own step", "help": "Ask us.", "measure": "nccl"}
    assert any("uploaded" in line for line in read(once)["meta"]["left_out"])
    importing.load(read(once), lambda line: None)
    twice = written(now)
    seat = Membership.objects.get(person__email=gone.email)
    assert (seat.starts_on, seat.ends_on, seat.role) == (date(2020, 1, 1), date(2031, 1, 1), "ml_engineer")
    assert without_what_has_no_history(read(twice)) == without_what_has_no_history(read(once))


def kept_secret() -> Iterator[str]:
    with reading_everyone():
        for model in apps.get_models():
            names = [field.name for field in model._meta.concrete_fields if isinstance(field, SecretField)]
            for row in model._base_manager.all() if names else ():
                yield from (str(value) for name in names if (value := getattr(row, name)))
        yield from (value for value in CloudAccount.objects.values_list("external_id", flat=True) if len(value) > 3)
        yield from AlertIntake.objects.values_list("token", flat=True)
        yield from (str(value) for value in ApiToken.objects.values_list("digest", flat=True))


def without_what_has_no_history(told: Any) -> Any:
    """The town makes some rows by hand, without their entries or with half a configuration; they come back with both."""
    for cycle in told["cycles"]:
        cycle.pop("selected_on", None)
    for row in told["participants"]:
        row["clusters"] = sorted(cluster["name"] for cluster in row["clusters"])
    for row in told["cases"]:
        row.pop("escalation_level")
        row["timeline"] = [(line["at"], line["actor"], line["text"], line["visibility"]) for line in row["timeline"]]
    for row in told["knowledge_articles"]:
        row.pop("author", None)
    return told


@pytest.mark.django_db
def test_it_is_taken_in_whole_or_not_at_all(trip, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    broken, path = copy.deepcopy(read(trip.once)), tmp_path / "programme.yaml"
    broken["participants"][0]["clusters"][0]["configuration"]["storage"]["lustre"]["capacity_gib"] = 1
    broken["cases"][3]["owner"] = "nobody"
    path.write_text(yaml.safe_dump(broken))
    with pytest.raises(CommandError, match=r"cases\[3\]\.owner: nobody is no person"):
        call_command("programme_import", path)
    broken["cases"][3]["owner"] = broken["cases"][4]["owner"]
    path.write_text(yaml.safe_dump(broken))
    with pytest.raises(CommandError, match=r"participants\[0\]\.clusters\[0\]\.storage\.lustre\.capacity_gib"):
        call_command("programme_import", path)
    path.write_text(trip.once)

    def break_off(*args: Any) -> None:
        raise ConnectionError("the machine went away")

    monkeypatch.setattr("program.transfer.past.reviews._review", break_off)
    with pytest.raises(ConnectionError):
        call_command("programme_import", path)
    connection.scope = None
    assert not Tenant.objects.exists() and not Membership.objects.exists()


def test_an_installation_that_has_a_programme_takes_none_in(town, tmp_path: Path):  # noqa: F811
    path = tmp_path / "out.yaml"
    call_command("programme_export", path)
    assert read(path.read_text())["meta"]["schema"] == "demo-program/1" and [*tmp_path.iterdir()] == [path]
    with pytest.raises(CommandError, match="has a programme already"):
        call_command("programme_import", path)
    call_command("programme_import", path, "--check")
    with pytest.raises(CommandError, match="cannot be written"):
        call_command("programme_export", tmp_path / "none" / "out.yaml")


def test_the_office_downloads_it_and_the_history_says_who_did(town):  # noqa: F811
    office = town.world.office
    address = reverse("programme_file", args=[office.slug])
    with towns.nothing_stays():
        answer = town.client(town.world.person("programme_officer")).get(address)
        assert answer["Content-Type"] == "application/yaml" and "attachment" in answer["Content-Disposition"]
        assert read(b"".join(answer.streaming_content).decode())["totals"]["participants"] == 2
        with acting_for(office, staff=True):
            assert Entry.objects.filter(kind="programme.taken_out").count() == 1
    manager, asked = town.world.person("programme_manager"), reverse("api-tenant-programme-file", args=[office.slug])
    assert ask(town.token(manager, internal=True), "GET", asked).status_code == 200
    refused = ask(town.token(manager), "GET", asked)
    assert refused.status_code == 403 and b"internal_token" in refused.content
    assert ask(town.token(manager, tenant=town.world.hoshi, internal=True), "GET", asked).status_code == 404
    page = ask(town.client(manager), "GET", reverse("rules", args=[office.slug])).content.decode()
    assert address in page
    page = ask(town.client(town.world.person("auditor")), "GET", reverse("rules", args=[office.slug])).content.decode()
    assert address not in page


HOSTILE = {
    "a NUL": (["cases", 2, "timeline", 0, "text"], "a\0b", "cases[2].timeline[0].text: holds a character"),
    "half of a pair": (["people", 1, "display"], "\ud800", "people[1].display: holds a character"),
    "a name as long as a book": (["participants", 0, "name"], "x" * 10_000_000, "participants[0].name: is 10000000 characters"),
    "no number": (["participants", 3, "models", 0, "params_b"], float("nan"), "participants[3].models[0].params_b: nan is no number"),
    "more than a column holds": (["jobs", 4, "nodes"], 10**30, f"jobs[4].nodes: {10**30} is more than 2147483647"),
    "a time that is none": (
        ["participants", 0, "clusters", 0, "launch_requested_at"], "soon",
        "participants[0].clusters[0].launch_requested_at: soon is no time",
    ),
    "a day without quotes": (["cycles", 1, "ends_on"], date(2025, 7, 4), "cycles[1].ends_on: datetime.date(2025, 7, 4) is no text"),
    "a kind that is none": (["enablement_sessions", 0, "kind"], "party", "enablement_sessions[0].kind: party is none of"),
    "a rule out of its range": (["programme", "rules"], {"quarantine_days": 900}, "programme.rules.quarantine_days: "),
    "a field without a name": (["programme", 7], 1, "programme.7: the name of a field is a text"),
}  # fmt: skip


def test_what_no_column_holds_is_refused_with_its_place():
    told = programme_file.read()
    for name, (path, value, sentence) in HOSTILE.items():
        broken = (
            copy.deepcopy(told) if name != "a field without a name" else {**told, "programme": {**told["programme"]}}
        )
        row = broken
        for step in path[:-1]:
            row = row[step]
        row[path[-1]] = value
        found = programme_file.problems(broken)
        assert [line for line in found if line.startswith(sentence)] and all(len(line) < 300 for line in found), (
            name,
            found,
        )


def test_a_cluster_that_cannot_be_wished_for_is_refused_with_its_place():
    told = programme_file.read()
    first, second = told["participants"][0]["clusters"][0], told["participants"][1]["clusters"][0]
    first |= {"region": "mars-1", "account": "1"}
    second |= {"orchestrator": "by hand"}
    told["participants"][2]["clusters"][0]["configuration"] = {"architecture": "hyperpod-slurm", "instance_groups": 3}
    found = "\n".join(clusters.problems(told))
    for sentence in (
        "participants[0].clusters[0].region: mars-1 is no Region", "participants[0].clusters[0].account: cannot be '1'",
        "participants[1].clusters[0].orchestrator: no reference architecture makes a by hand", "participants[2].clusters[0].",
    ):  # fmt: skip
        assert sentence in found, found
    with pytest.raises(programme_file.Unfit):
        importing.check(told)


def test_every_rule_of_the_programme_is_in_the_file():
    """Whoever gives the programme another column says here that the file carries it."""
    columns = {field.name for field in Programme._meta.concrete_fields} - {"id", "version"}
    carried = {
        "code",
        "name",
        "sponsor",
        "agency",
        "timezone",
        "currency",
        "small_request_hours",
        "cutoff_time",
        *RULES,
    }
    assert columns == carried


def test_ids_are_unique_and_stay_what_they_are():
    assert unique({1: ("CASE-0001", "a"), 2: ("CASE-0001", "b"), 3: ("CASE-0002", "b")}) == {  # type: ignore[dict-item]
        1: "CASE-0001/a", 2: "CASE-0001/b", 3: "CASE-0002",
    }  # fmt: skip
    assert numbered([(1, ""), (2, "JOB-0001"), (3, "")], "JOB") == {1: "JOB-0002", 2: "JOB-0001", 3: "JOB-0003"}
    assert (number(None), number(23.0), number(4.7)) == (None, 23, 4.7)
    assert stamp(moment("2025-03-26T18:00:00+09:00")) == "2025-03-26T09:00:00Z"
    assert not re.search(r"\+00:00", stamp(moment("2025-03-26T09:00:00.123456Z")) or "")


def test_who_owns_a_case_after_a_line():
    people: Any = {"a": "A", "b": "B"}
    line = {"kind": "comment", "actor": "a"}
    old, new = {"owner": "b", "timeline": [line]}, {"owner": "b", "timeline": [line, {"owner": "a"}]}
    for told, row, owner in [
        (line, old, None), (line | {"kind": "acknowledged"}, old, "A"), (line | {"kind": "escalated"}, old, "B"),
        (line | {"actor": "b"}, old, "B"), (line | {"actor": "engine"}, old, None), (line | {"owner": "a"}, new, "A"),
        (line | {"kind": "acknowledged"}, new, None),
    ]:  # fmt: skip
        assert owner_by(told, row, people) == owner, (told, row)
