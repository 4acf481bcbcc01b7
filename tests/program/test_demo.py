"""The demo programme: a file that is not in order is refused whole, and loading twice is loading once."""

import copy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import CommandError, call_command
from django.db import connection

from clusters.architectures.configuration import read_configuration
from clusters.models import BudgetRow, QuotaGrant, Reservation
from program.demo import budgets, calls, launches
from program.models import Application, ApplicationScore
from program.transfer import clusters, directory, programme_file, record
from program.transfer.programme_file import Unfit
from tenants.history.models import Entry
from tenants.models import (
    Assignment,
    FrameworkUse,
    Membership,
    Participation,
    Person,
    SoftwareVersion,
    Tenant,
    TrainingModel,
)
from tenants.wall.acting import acting_for, reading_everyone

NOW = datetime(2026, 11, 30, 9, tzinfo=UTC)


@pytest.fixture(scope="module")
def told() -> Any:
    return programme_file.read()


def _written(told: Any, folder: Path) -> Path:
    path = folder / "programme.yaml"
    path.write_text(yaml.dump(told, Dumper=yaml.CSafeDumper, sort_keys=False))
    return path


def _set(row: Any, path: list[Any], value: Any) -> None:
    for step in path[:-1]:
        row = row[step]
    row[path[-1]] = value


BROKEN = {
    "an unknown architect": (
        ["participants", 2, "team", "lead_sa"], "nobody", "participants[2].team.lead_sa: nobody is no person"
    ),
    "somebody else's engineer": (
        ["participants", 0, "team", "contacts", "ml"], "asha@birchovar", "asha@birchovar belongs to birchovar"
    ),
    "an unknown role": (["people", 3, "role"], "king", "people[3].role: king is no role"),
    "a person twice": (["people", 1, "handle"], "hana.pm", "people.handle: hana.pm is there 2 times"),
    "an account without its zeros": (
        ["participants", 0, "provider_account"], 1, "participants[0].provider_account: cannot be 1"
    ),
    "a version that became a number": (
        ["participants", 0, "software", "python"], 3.1, "participants[0].software.python: 3.1 has to stand in quotes"
    ),
    "a sum that is not": (
        ["participants", 0, "clusters", 0, "instance_groups", 1, "count"], 21, "totals.p5_instances: says 127"
    ),
    "a missing name": (["participants", 5, "name"], None, "participants[5].name: is missing"),
    "a reservation of nobody": (["reservations", 0, "cluster"], "none", "reservations[0].cluster: asterlune has no"),
    "a family that is not known": (["participants", 0, "models", 0, "family"], "magic", "models[0].family: magic"),
    "a wrong date": (["reservations", 0, "ends_at"], "soon", "reservations[0].ends_at: soon is no time"),
    "people who are no list": (["people"], None, "people: is missing"),
}  # fmt: skip


@pytest.mark.parametrize("case", BROKEN)
def test_a_file_out_of_order_is_refused_with_row_and_field(case: str, told: Any, tmp_path: Path) -> None:
    path, value, sentence = BROKEN[case]
    broken = copy.deepcopy(told)
    _set(broken, path, value)
    with pytest.raises(Unfit) as refused:
        programme_file.read(_written(broken, tmp_path))
    assert sentence in str(refused.value)


def test_a_file_that_is_no_yaml_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "programme.yaml"
    path.write_text("people: [unclosed")
    with pytest.raises(Unfit, match="cannot be read"):
        programme_file.read(path)


@pytest.mark.django_db
def test_nothing_is_loaded_from_a_file_out_of_order(told: Any, tmp_path: Path, settings: Any) -> None:
    settings.AWS_ENDPOINT_URL = "http://127.0.0.1:1"
    broken = copy.deepcopy(told)
    broken["participants"][11]["team"]["frameworks"] = "nobody"
    with pytest.raises(CommandError, match="Nothing was loaded"):
        call_command("demo", file=_written(broken, tmp_path))
    assert not Person.objects.exists() and not Tenant.objects.exists()


def test_the_demo_never_plays_an_owner_in_a_real_cloud(settings: Any) -> None:
    settings.AWS_ENDPOINT_URL = ""
    with pytest.raises(CommandError, match="needs the sandbox cloud"):
        call_command("demo")


def test_times_move_by_whole_weeks_and_plans_are_of_today(told: Any) -> None:
    shift = programme_file.shift(told, NOW)
    assert shift.by.days % 7 == 0
    for row in told["reservations"]:
        starts, ends = shift.moment(row["starts_at"]), shift.moment(row["ends_at"])
        assert starts.weekday() == programme_file.moment(row["starts_at"]).weekday()
        assert starts < NOW < ends, row["id"]


def test_every_cluster_that_can_be_launched_has_a_configuration_in_order(told: Any) -> None:
    wishes = [read_configuration(clusters.configuration(row, cluster)) for row, cluster in launches.launchable(told)]
    counts: dict[str, int] = {}
    for wish in wishes:
        for kind, count in wish.counts().items():
            counts[kind] = counts.get(kind, 0) + count
    assert len(wishes) == 13
    assert (counts["p5.48xlarge"], counts["trn1.32xlarge"]) == (127, 24)


def _everything() -> dict[str, Any]:
    """Every row of every table, so that nothing can change unseen."""
    with reading_everyone(), connection.cursor() as cursor:
        cursor.execute("select tablename from pg_tables where schemaname = 'public' and tablename not like 'django_%'")
        rows = {}
        for (table,) in cursor.fetchall():
            cursor.execute("select has_table_privilege(%s, 'select')", [table])
            if cursor.fetchone()[0]:
                cursor.execute(f"select coalesce(string_agg(t::text, ';' order by t::text), '') from {table} t")
                rows[table] = cursor.fetchone()[0]
    return rows


@pytest.mark.django_db
def test_loading_twice_is_loading_once(told: Any) -> None:
    shift = programme_file.shift(told, NOW)
    who = directory.load(told, shift)
    record.load(told, shift, who)
    before = _everything()
    who = directory.load(told, shift)
    record.load(told, shift, who)
    after = _everything()
    assert [table for table in before if before[table] != after[table]] == []
    assert before["tenants_entry"]


@pytest.mark.django_db
def test_budgets_are_set_once_but_for_one(told: Any) -> None:
    shift = programme_file.shift(told, NOW)
    who = directory.load(told, shift)
    record.load(told, shift, who)
    assert [budgets.set_all(told, who), budgets.set_all(told, who)] == [11, 11]
    with reading_everyone():
        assert BudgetRow.objects.count() == 11 and not BudgetRow.objects.filter(delta__lte=0).exists()


@pytest.mark.django_db
def test_what_was_edited_since_stays(told: Any) -> None:
    shift = programme_file.shift(told, NOW)
    who = directory.load(told, shift)
    record.load(told, shift, who)
    with acting_for(who.tenants["asterlune"]):
        TrainingModel.objects.filter(code="AL-100B").update(done_amount=600)
    record.load(told, shift, directory.load(told, shift))
    with acting_for(who.tenants["asterlune"]):
        assert TrainingModel.objects.get(code="AL-100B").done_amount == 600


@pytest.mark.django_db
def test_the_whole_programme_is_loaded_typed_and_with_its_history(told: Any) -> None:
    shift = programme_file.shift(told, NOW)
    who = directory.load(told, shift)
    record.load(told, shift, who)
    assert Person.objects.count() == 55 and not Person.objects.filter(password__startswith="pbkdf2").exists()
    assert Membership.objects.count() == 55
    assert Assignment.objects.count() == 36
    assert Membership.objects.get(person__email="omar.hp@nfmp.example").team == "svc-hyperpod"
    with reading_everyone():
        assert Participation.objects.filter(state="active").count() == 12
        assert TrainingModel.objects.count() == 13
        assert QuotaGrant.objects.count() == Reservation.objects.count() == 13
        pipeline = TrainingModel.objects.get(code="KE-6B")
        assert (pipeline.family, pipeline.amount_unit, pipeline.target_amount) == ("diffusion", "million_samples", 900)
        moe = TrainingModel.objects.get(code="LC-47B")
        assert (moe.total_params_b, moe.active_params_b) == (47, 13)
        assert moe.architecture == "mixture of experts, 8 experts, top-2"
        assert FrameworkUse.objects.get(name="Megatron-LM", core_version="megatron-core 0.9.0").tensor_parallel == 8
        assert FrameworkUse.objects.filter(fsdp=112, name="PyTorch FSDP (GPU)").count() == 1
        assert set(SoftwareVersion.objects.filter(component="python").values_list("software_version", flat=True)) >= {
            "3.10"
        }
        with_entries = set(Entry.objects.values_list("tenant__slug", flat=True))
    assert with_entries == {row["slug"] for row in told["participants"]} | {"programme"}


@pytest.mark.django_db
def test_the_next_cycles_call_is_opened_once_with_its_applications(told: Any) -> None:
    who = directory.load(told, programme_file.shift(told, NOW))
    assert [calls.open_one(told, who), calls.open_one(told, who)] == [3, 3]
    with reading_everyone():
        assert ApplicationScore.objects.count() == 3
        assert set(Application.objects.values_list("state", flat=True)) == {"submitted"}
