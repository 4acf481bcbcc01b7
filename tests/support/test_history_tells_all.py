"""A case's entries alone tell how it stands: a freeze reads nothing else."""

import random
from datetime import date, timedelta

import pytest
from django.utils import timezone

from program.figures import Event, state_at
from support import actions
from tenants.history.models import Entry
from tenants.wall.acting import acting_for
from tenants.web.problems import Refused


def events_of(case):
    rows = Entry.objects.filter(subject="case", subject_id=case.pk)
    return [Event(e.pk, str(case.pk), "hoshi", e.kind, e.occurred_at, e.recorded_at, e.facts) for e in rows]


@pytest.mark.parametrize("seed", range(12))
def test_whatever_people_do_the_history_tells_the_same_as_the_row(world, new_case, seed):
    chance = random.Random(seed)
    architect, engineer = world.person("lead_architect"), world.person("ml_engineer")
    people = [architect.actor, engineer.actor, "engine"]
    moment = timezone.now() - timedelta(days=40)

    def later():
        nonlocal moment
        moment += timedelta(hours=chance.randint(1, 20))
        return {"by": chance.choice(people), "at": moment}

    with acting_for(world.hoshi, staff=True):
        case = new_case(at=moment, by=chance.choice(people), text=chance.choice(["", "It stopped."]))
        for _step in range(40):
            act = chance.choice(
                [
                    lambda: actions.take_case(case=case, person=architect, **later()),
                    lambda: actions.note_case(
                        case=case, text="x", audience=chance.choice(["shared", "internal"]), **later()
                    ),
                    lambda: actions.ask_customer(case=case, text="x", **later()),
                    lambda: actions.plan_case(
                        case=case, owner=engineer, next_step="x", due=date(2031, 1, 1), **later()
                    ),
                    lambda: actions.change_severity(
                        case=case, severity=chance.choice(["critical", "normal", "low"]), why="x", **later()
                    ),
                    lambda: actions.mitigate_case(case=case, why="x", **later()),
                    lambda: actions.wait_for(
                        case=case, whom=chance.choice(["provider", "decision", "date"]), why="x", **later()
                    ),
                    lambda: actions.resume_case(case=case, **later()),
                    lambda: actions.resolve_case(case=case, cause="software", **later()),
                    lambda: actions.reopen_case(case=case, why="x", **later()),
                    lambda: actions.close_case(case=case, **later()),
                ]
            )
            try:
                act()
            except Refused:
                continue
            case.refresh_from_db()
            then = state_at(events_of(case))
            told = (
                then.state,
                then.severity,
                then.opened,
                then.reopened,
                then.severity_raised,
                then.answered,
                then.last_shared,
            )
            kept = (
                case.state,
                case.severity,
                case.opened_at,
                case.reopened_at,
                case.severity_raised_at,
                case.first_response_at,
                case.last_shared_at,
            )
            assert told == kept
            assert (then.owner, then.next_step, then.due) == (
                str(case.owner_id) if case.owner_id else None,
                case.next_step,
                case.next_step_due,
            )
