"""The wall: what the database refuses whatever Python says, and what a scope shows and for how long."""

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.utils import ProgrammingError

from tenants.history import timeline
from tenants.history.models import Entry, Note
from tenants.models import FrameworkUse, Participation, SoftwareVersion, TrainingModel
from tenants.wall.acting import NoScope, acting_for, reading_everyone, scope


def a_note(tenant, audience="shared"):
    return Note(tenant=tenant, audience=audience, text="x", author="engine")


def test_a_row_of_another_tenant_cannot_be_written(world):
    with acting_for(world.hoshi):
        with pytest.raises(ProgrammingError, match="row-level security"), transaction.atomic():
            a_note(world.umi).save()
        with pytest.raises(ProgrammingError, match="row-level security"), transaction.atomic():
            Participation.objects.update(tenant=world.umi)


def test_a_row_of_another_tenant_is_not_there_for_a_plain_manager_either(world):
    """Following a key uses Django's plain manager; there only the database stands in the way."""
    theirs = world.participations["umi"]
    with acting_for(world.hoshi):
        assert not Participation._base_manager.filter(pk=theirs.pk).exists()
        assert Participation._base_manager.filter(pk=theirs.pk).update(project="mine") == 0
        assert Participation._base_manager.filter(pk=theirs.pk).delete()[0] == 0


def test_a_key_to_another_tenants_row_answers_like_a_key_to_none(world):
    said = []
    for pk in (world.participations["umi"].pk, "00000000-0000-4000-8000-000000000000"):
        with acting_for(world.hoshi), pytest.raises(IntegrityError) as refused, transaction.atomic():
            FrameworkUse.objects.create(tenant=world.hoshi, participation_id=pk, name="x")
        said.append(refused.value.__cause__.diag.constraint_name)
    assert said == ["tenants_frameworkuse_participation_id_same_tenant"] * 2


def test_who_reads_everyone_writes_nothing(world):
    with reading_everyone():
        assert {p.tenant_id for p in Participation.objects.all()} == {world.hoshi.pk, world.umi.pk}
        for write in (lambda: a_note(world.hoshi).save(), lambda: Participation.objects.update(project="x")):
            with pytest.raises(ProgrammingError, match="permission denied"), transaction.atomic():
                write()


def test_to_write_while_reading_everyone_one_acts_for_one_inside(world):
    with reading_everyone():
        with acting_for(world.hoshi):
            a_note(world.hoshi).save()
        assert Participation.objects.count() == 2  # reading everyone again
        with pytest.raises(ProgrammingError), transaction.atomic():
            a_note(world.hoshi).save()


def test_internal_text_exists_for_staff_only(world):
    with acting_for(world.hoshi, staff=True):
        a_note(world.hoshi, "internal").save()
    with acting_for(world.hoshi):
        assert Note.objects.count() == 0
        assert Note._base_manager.count() == 0  # the policy, without the manager's help
        with pytest.raises(ProgrammingError, match="row-level security"), transaction.atomic():
            a_note(world.hoshi, "internal").save()
    with acting_for(world.hoshi, staff=True):
        assert Note.objects.count() == 1


def test_scopes_nest_and_the_outer_one_comes_back(world):
    with acting_for(world.hoshi):
        with acting_for(world.umi):
            assert Participation.objects.get().tenant_id == world.umi.pk
        assert Participation.objects.get().tenant_id == world.hoshi.pk


def test_the_outer_scope_comes_back_after_an_error_too(world):
    with acting_for(world.hoshi):
        with pytest.raises(IntegrityError), acting_for(world.umi):
            FrameworkUse.objects.create(
                tenant=world.umi, participation_id="00000000-0000-4000-8000-000000000000", name="x"
            )
        with pytest.raises(ZeroDivisionError), acting_for(world.umi):
            raise ZeroDivisionError
        assert Participation.objects.get().tenant_id == world.hoshi.pk
        assert scope().tenants == (str(world.hoshi.pk),)


def test_a_scope_ends_with_its_transaction(world):
    with acting_for(world.hoshi):
        assert Participation.objects.count() == 1
    with pytest.raises(NoScope):
        Participation.objects.count()
    with pytest.raises(ProgrammingError, match="no tenant scope"), transaction.atomic():
        Participation._base_manager.count()


def test_acting_for_nobody_sees_nothing(world):
    with acting_for():
        assert Participation.objects.count() == 0
        assert Participation._base_manager.count() == 0


def test_acting_for_two_sees_both_and_no_third(world):
    with acting_for(world.hoshi, world.umi):
        assert Participation.objects.count() == 2
    with acting_for(world.hoshi, world.office):
        assert {p.tenant_id for p in Participation.objects.all()} == {world.hoshi.pk}


@pytest.mark.parametrize("model", [Participation, TrainingModel, SoftwareVersion, Entry, Note])
def test_the_query_itself_names_the_tenant(world, model):
    """Only an equality lets the planner walk (tenant, …) indexes; the policy's array does not."""
    with acting_for(world.hoshi):
        assert f'"tenant_id" = {world.hoshi.pk}' in str(model.objects.all().query)
    with acting_for(world.hoshi, world.umi):
        assert '"tenant_id" IN (' in str(model.objects.all().query)
    with reading_everyone():
        assert "WHERE" not in str(model.objects.all().query)


def test_the_scope_is_read_once_a_statement_and_not_once_a_row(world):
    """The sub-select of the policy is an InitPlan; without it the setting would be parsed again for every row."""
    with acting_for(world.hoshi), connection.cursor() as cursor:
        cursor.execute("explain select * from tenants_participation")
        assert "InitPlan" in "\n".join(line for (line,) in cursor.fetchall())


def test_the_history_cannot_be_changed_by_the_portal(world):
    with acting_for(world.hoshi, staff=True):
        entry = timeline.record("member.left", about=world.hoshi, by="engine", person="x")
        for change in (
            lambda: Entry.objects.filter(pk=entry.pk).update(kind="x"),
            lambda: Entry.objects.filter(pk=entry.pk).delete(),
        ):
            with pytest.raises(ProgrammingError, match="permission denied"), transaction.atomic():
                change()
