"""The wall, the history and the work table, each by what it must refuse."""

import pytest
from django.db import connection
from django.db.utils import ProgrammingError

from tenants.history.models import Entry
from tenants.history.moves import IllegalMove, move
from tenants.models import Participation
from tenants.wall.acting import NoScope, acting_for, reading_everyone


def test_without_a_scope_nothing_answers(world):
    with pytest.raises(NoScope):
        Participation.objects.count()


def test_without_a_scope_the_database_does_not_answer_either(world):
    with connection.cursor() as cursor, pytest.raises(ProgrammingError):
        cursor.execute("select count(*) from tenants_participation")


def test_one_tenant_does_not_see_another(world):
    with acting_for(world.hoshi):
        assert [p.tenant_id for p in Participation.objects.all()] == [world.hoshi.pk]
        with connection.cursor() as cursor:
            cursor.execute("select count(*) from tenants_participation")
            assert cursor.fetchone() == (1,)
    with reading_everyone():
        assert Participation.objects.count() == 2


def test_a_move_writes_its_entry_or_nothing(world):
    with acting_for(world.hoshi):
        mine = world.participations["hoshi"]
        move(mine, "closing", by="engine")
        assert Entry.objects.get().kind == "participation.closing"
        with pytest.raises(IllegalMove):
            move(mine, "active", by="engine")
        assert Entry.objects.count() == 1
