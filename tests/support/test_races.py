"""Several at once: numbers stay unique, alike failures meet in one case, two writers do not overwrite each other."""

import threading

import pytest
from django.db import connection

from support import actions
from support.models import Case, CaseNote
from support.triage import triage
from tenants.history import timeline
from tenants.history.models import Entry
from tenants.wall.acting import acting_for
from tenants.web.problems import Refused
from tenants.work import due

pytestmark = pytest.mark.django_db(transaction=True)


def at_once(*calls):
    """Run all calls at the same moment, each in its own connection; their answers, or what they raised."""
    barrier, answers = threading.Barrier(len(calls)), []

    def run(call):
        barrier.wait()
        try:
            answers.append(call())
        except Refused as refused:
            answers.append(refused.code)
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def test_cases_opened_at_once_get_different_numbers(world, new_case):
    def open_one():
        with acting_for(world.hoshi):
            return new_case().number

    assert sorted(at_once(*[open_one] * 6)) == [f"CASE-000{n}" for n in range(1, 7)]


def test_alike_failures_handled_at_once_meet_in_one_case(world, failed_job):
    for job in [failed_job("pretrain") for _ in range(4)]:
        with acting_for(world.hoshi, staff=True):
            timeline.record("job.failed", about=job, by="engine", name=job.name, why="")
    helds = [due.claim(["triage"]) for _ in range(4)]
    at_once(*[lambda held=held: triage(held) for held in helds])
    with acting_for(world.hoshi, staff=True):
        assert Case.objects.count() == 1
        assert Entry.objects.filter(kind="case.evidence").count() == 3


def test_of_two_who_resolve_at_once_one_is_told(world, new_case):
    with acting_for(world.hoshi, staff=True):
        case = new_case()

    def resolve():
        with acting_for(world.hoshi, staff=True):
            actions.resolve_case(case=Case.objects.get(pk=case.pk), cause="software", by="engine")
            return "resolved"

    assert sorted(at_once(resolve, resolve)) == ["illegal_move", "resolved"]
    with acting_for(world.hoshi):
        assert Entry.objects.filter(kind="case.resolved").count() == 1


def test_notes_written_at_once_are_all_kept(world, new_case):
    with acting_for(world.hoshi, staff=True):
        case = new_case()

    def write():
        with acting_for(world.hoshi, staff=True):
            actions.note_case(case=Case.objects.get(pk=case.pk), text="Hello", audience="shared", by="engine")

    at_once(*[write] * 4)
    with acting_for(world.hoshi):
        assert CaseNote.objects.count() == 4
        assert Case.objects.get().version == case.version + 4
