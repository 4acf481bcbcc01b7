"""Cases as people work on them: numbers, states, clocks, audiences, stale pages, escalation."""

from datetime import date, timedelta
from decimal import Decimal

import pytest
from django.db import connection
from django.http import Http404
from django.test import Client
from django.utils import timezone

from program.decisions import give_action_item
from support import actions, queries
from support.models import Case, CaseNote
from tenants.actions import seat_person
from tenants.history.models import Entry
from tenants.history.moves import IllegalMove
from tenants.models import ApiToken, Assignment, Due, Membership, Person
from tenants.programme_day import programme_today
from tenants.queries import lines
from tenants.wall.access import seat
from tenants.wall.acting import acting_for, reading_everyone
from tenants.wall.identity import issue_token
from tenants.web.problems import Refused, Stale
from tenants.work import due, loop

DUE = date(2030, 1, 1)


def kinds(case):
    return list(Entry.objects.filter(subject="case", subject_id=case.pk).order_by("id").values_list("kind", flat=True))


def test_cases_are_numbered_for_each_tenant(world, new_case):
    with acting_for(world.hoshi):
        assert [new_case().number for _ in range(3)] == ["CASE-0001", "CASE-0002", "CASE-0003"]
    with acting_for(world.umi):
        assert new_case(tenant=world.umi).number == "CASE-0001"


def test_the_number_after_9999_has_five_digits(world, new_case):
    with acting_for(world.hoshi):
        case = new_case()
        Case.objects.filter(pk=case.pk).update(number="CASE-9999")
        assert [new_case().number, new_case().number] == ["CASE-10000", "CASE-10001"]


def test_an_internal_note_moves_the_version_for_staff_alone(world, new_case):
    architect = world.person("lead_architect")
    office = Client(headers={"authorization": f"Bearer {issue_token(person=architect, name='o', internal=True)[1]}"})
    outward = Client(headers={"authorization": f"Bearer {issue_token(person=architect, name='p')[1]}"})
    customer = Client(
        headers={"authorization": f"Bearer {issue_token(person=world.person('ml_engineer'), name='c')[1]}"}
    )
    with acting_for(world.hoshi, staff=True):
        case = new_case()
    address = f"/api/v1/t/hoshi/cases/{case.pk}/"

    def seen(client):
        answer, listed = client.get(address), client.get("/api/v1/t/hoshi/cases/").json()["results"][0]
        assert answer["ETag"] == f'"{answer.json()["version"]}"' and listed["version"] == answer.json()["version"]
        assert "internal_version" not in answer.json()
        return answer.json()["version"]

    before = [seen(client) for client in (office, outward, customer)]
    with acting_for(world.hoshi, staff=True):
        actions.note_case(case=case, text="They owe us", audience="internal", by=architect.actor)
    after = [seen(client) for client in (office, outward, customer)]
    assert [now - then for now, then in zip(after, before, strict=True)] == [1, 0, 0]
    with acting_for(world.hoshi, staff=True):
        with pytest.raises(Stale) as stale:
            actions.change_severity(case=case, severity="low", why="x", by=architect.actor, version=before[0])
        assert stale.value.facts["version"] == after[0]
        actions.change_severity(case=case, severity="low", why="x", by=architect.actor, version=after[0])
    with acting_for(world.hoshi):
        with pytest.raises(Stale):
            actions.change_severity(case=case, severity="high", why="x", by="engine", version=after[2])
        actions.change_severity(case=case, severity="high", why="x", by="engine", version=after[2] + 1)


def test_a_number_from_elsewhere_does_not_stop_the_next_case(world, new_case):
    with acting_for(world.hoshi):
        for number in ("INC-2026-17", "CASE-X", "CASE-12-3", "CASE-"):
            new_case(number=number)
        assert [new_case().number, new_case().number] == ["CASE-0001", "CASE-0002"]


def test_opening_a_case_keeps_its_text_as_a_shared_note(world, new_case):
    engineer = world.person("ml_engineer")
    with acting_for(world.hoshi):
        case = new_case(by=engineer.actor, text="It stopped at step 41,200.")
        assert CaseNote.objects.get().text == "It stopped at step 41,200."
        assert case.participation_id == world.participations["hoshi"].pk
        assert case.last_shared_at == case.opened_at
        entry = Entry.objects.get(kind="case.opened")
        assert entry.participation == case.participation_id
        assert "step 41,200" not in str(entry.facts)


@pytest.mark.parametrize(
    "wrong", [{"title": "   "}, {"title": "x" * 201}, {"severity": "bad"}, {"type": "wish"}, {"title": "a\x00b"}]
)
def test_what_is_no_case_is_refused(world, new_case, wrong):
    with acting_for(world.hoshi):
        with pytest.raises(Refused) as refused:
            new_case(**wrong)
        assert refused.value.status == 422
        assert not Case.objects.exists()


def test_who_takes_a_case_works_on_it(world, new_case):
    architect = world.person("lead_architect")
    with acting_for(world.hoshi, staff=True):
        case = actions.take_case(case=new_case(), person=architect, by=architect.actor)
        assert (case.state, case.owner) == ("in_progress", architect)
        assert kinds(case) == ["case.opened", "case.taken", "case.in_progress"]


def test_who_takes_a_case_through_a_token_works_on_it_too(world, new_case):
    architect = world.person("lead_architect")
    token = ApiToken.objects.create(person=architect, name="t", prefix="p", digest="d", expires_at=timezone.now())
    with acting_for(world.hoshi, staff=True):
        assert actions.take_case(case=new_case(), person=architect, by=token.actor).state == "in_progress"


def test_a_case_given_to_somebody_is_triaged(world, new_case):
    with acting_for(world.hoshi, staff=True):
        by = world.person("programme_officer").actor
        case = actions.take_case(case=new_case(), person=world.person("lead_architect"), by=by)
        assert case.state == "triaged"
        assert kinds(case) == ["case.opened", "case.given", "case.triaged"]


def test_an_owner_from_another_participant_is_refused(world, new_case):
    with acting_for(world.hoshi, staff=True):
        case = new_case()
        for stranger in (world.person("ml_engineer", world.umi), world.people["stranger"]):
            with pytest.raises(Refused, match="owner"):
                actions.plan_case(case=case, owner=stranger, next_step="Call", due=DUE, by="engine")
        case.refresh_from_db()
        assert case.owner is None


def test_only_a_persons_shared_message_of_staff_is_a_first_response(world, new_case):
    architect, engineer = world.person("lead_architect"), world.person("ml_engineer")
    robot = world.person("automation")
    with acting_for(world.hoshi, staff=True):
        case = new_case()
        for by, audience in [
            ("engine", "shared"),
            (robot.actor, "shared"),
            (engineer.actor, "shared"),
            (architect.actor, "internal"),
        ]:
            actions.note_case(case=case, text="Hello", audience=audience, by=by)
            case.refresh_from_db()
            assert case.first_response_at is None, (by, audience)
        note = actions.note_case(case=case, text="We look into it.", audience="shared", by=architect.actor)
        case.refresh_from_db()
        assert case.first_response_at == note.at
        actions.note_case(case=case, text="Still looking.", audience="shared", by=architect.actor)
        case.refresh_from_db()
        assert case.first_response_at == note.at
        assert case.last_shared_at > note.at


def test_an_internal_note_needs_a_staff_scope(world, new_case):
    with acting_for(world.hoshi):
        with pytest.raises(Refused) as refused:
            actions.note_case(case=new_case(), text="Secret", audience="internal", by=world.person("ml_engineer").actor)
        assert refused.value.status == 403
        assert not CaseNote.objects.exists()


def test_internal_notes_and_their_entries_do_not_exist_for_the_customer(world, new_case):
    architect = world.person("lead_architect")
    with acting_for(world.hoshi, staff=True):
        case = new_case()
        actions.note_case(case=case, text="Their budget is gone.", audience="internal", by=architect.actor)
        actions.note_case(case=case, text="We are on it.", audience="shared", by=architect.actor)
        assert queries.case_notes(case).count() == 2
        assert kinds(case).count("case.noted") == 2
    with acting_for(world.hoshi):
        assert [note.text for note in queries.case_notes(case)] == ["We are on it."]
        assert kinds(case).count("case.noted") == 1


def test_the_customers_answer_ends_the_wait_for_it(world, new_case):
    architect, engineer = world.person("lead_architect"), world.person("ml_engineer")
    with acting_for(world.hoshi, staff=True):
        case = new_case()
        actions.ask_customer(case=case, text="Which image?", by=architect.actor)
        assert case.state == "waiting_customer"
        assert case.first_response_at is not None
        actions.note_case(case=case, text="Bump.", audience="shared", by=architect.actor)
        assert case.state == "waiting_customer"
    with acting_for(world.hoshi):
        actions.note_case(case=case, text="The one of May.", audience="shared", by=engineer.actor)
        assert case.state == "in_progress"
        assert len(queries.pauses(case)) == 1


def test_a_second_question_keeps_waiting(world, new_case):
    by = world.person("lead_architect").actor
    with acting_for(world.hoshi, staff=True):
        case = new_case()
        actions.ask_customer(case=case, text="Which image?", by=by)
        actions.ask_customer(case=case, text="And which driver?", by=by)
        assert case.state == "waiting_customer"
        assert queries.case_notes(case).count() == 2


def test_every_write_raises_the_version_and_a_stale_page_is_refused_with_both_texts(world, new_case):
    architect = world.person("lead_architect")
    by = architect.actor
    with acting_for(world.hoshi, staff=True):
        case = new_case()
        seen = [case.version]
        for write in (
            lambda: actions.take_case(case=case, person=architect, by=by, version=case.version),
            lambda: actions.note_case(case=case, text="Hi", audience="shared", by=by, version=case.version),
            lambda: actions.plan_case(
                case=case, owner=architect, next_step="Swap", due=DUE, by=by, version=case.version
            ),
            lambda: actions.change_severity(
                case=case, severity="urgent", why="All stopped", by=by, version=case.version
            ),
            lambda: actions.wait_for(case=case, whom="provider", why="Asked AWS", by=by, version=case.version),
            lambda: actions.resume_case(case=case, by=by, version=case.version),
            lambda: actions.mitigate_case(case=case, why="Runs on 8 nodes", by=by, version=case.version),
            lambda: actions.ask_customer(case=case, text="Fine?", by=by, version=case.version),
            lambda: actions.resolve_case(case=case, cause="software", by=by, version=case.version),
            lambda: actions.reopen_case(case=case, why="Again", by=by, version=case.version),
        ):
            write()
            seen.append(case.version)
            assert case.version == Case.objects.get(pk=case.pk).version
        assert seen == sorted(set(seen))
        with pytest.raises(Stale) as stale:
            actions.plan_case(case=case, owner=architect, next_step="Reboot", due=DUE, by=by, version=seen[-2])
        assert stale.value.facts["changes"] == {"next_step": ["Swap", "Reboot"]}
        case.refresh_from_db()
        assert case.next_step == "Swap"


def test_resolving_needs_a_cause_and_keeps_what_it_cost(world, new_case):
    by = world.person("lead_architect").actor
    with acting_for(world.hoshi, staff=True):
        case = new_case()
        for cause in ("", "bad luck"):
            with pytest.raises(Refused):
                actions.resolve_case(case=case, cause=cause, cause_text="", by=by)
        with pytest.raises(Refused):
            actions.resolve_case(case=case, cause="software", lost_hours=Decimal(-1), by=by)
        actions.resolve_case(case=case, cause="user_code", cause_text="A bug", lost_hours=Decimal("12.50"), by=by)
        entry = Entry.objects.get(kind="case.resolved")
        assert entry.facts["lost_hours"] == "12.50"
        assert (entry.facts["cause"], entry.facts["cause_code"]) == ("the participant's code", "user_code")
        with pytest.raises(Refused):
            actions.plan_case(case=case, owner=world.person("lead_architect"), next_step="x", due=DUE, by=by)


def test_a_reopened_case_keeps_its_past_and_starts_its_clocks_again(world, new_case):
    by, engineer = world.person("lead_architect").actor, world.person("ml_engineer")
    opened = timezone.now() - timedelta(days=20)
    with acting_for(world.hoshi, staff=True):
        case = new_case(at=opened, evidence={"exit_code": 137}, text="Dead", by=engineer.actor)
        with pytest.raises(Refused):
            actions.reopen_case(case=case, why="?", by=by)
        actions.note_case(case=case, text="Seen.", audience="shared", by=by)
        actions.resolve_case(case=case, cause="software", by=by)
        actions.reopen_case(case=case, why="It is back", by=engineer.actor)
        case.refresh_from_db()
        assert case.state == "in_progress"
        assert case.opened_at == opened
        assert case.reopened_at is not None and case.first_response_at is None and case.resolved_at is None
        assert case.evidence == {"exit_code": 137}
        assert queries.case_notes(case).count() == 2
        assert kinds(case)[-2:] == ["case.reopened", "case.in_progress"]
        assert queries.attention(case, case.reopened_at + timedelta(hours=1)) == ["no_owner", "no_next_step"]


def test_an_end_is_not_left_by_any_other_way(world, new_case):
    by = world.person("lead_architect").actor
    with acting_for(world.hoshi, staff=True):
        case = new_case()
        with pytest.raises(IllegalMove):
            actions.close_case(case=case, by=by)
        actions.resolve_case(case=case, cause="software", by=by)
        for leave in (
            lambda: actions.mitigate_case(case=case, why="x", by=by),
            lambda: actions.wait_for(case=case, whom="decision", why="x", by=by),
            lambda: actions.resume_case(case=case, by=by),
            lambda: actions.ask_customer(case=case, text="x", by=by),
            lambda: actions.take_case(case=case, person=world.person("lead_architect"), by=by),
        ):
            with pytest.raises(Refused):
                leave()
        actions.close_case(case=case, by=by)
        assert case.state == "closed"
        actions.reopen_case(case=case, why="Again", by=by)
        assert case.state == "in_progress"


def test_attention_tells_what_is_missing_until_it_is_there(world, new_case):
    architect = world.person("lead_architect")
    with acting_for(world.hoshi, staff=True):
        case = new_case()
        later = case.opened_at + timedelta(days=8)
        assert queries.attention(case, later) == ["response_overdue", "no_owner", "no_next_step", "over_age"]
        row = Case.objects.values().get(pk=case.pk)
        assert queries.attention(row, later) == queries.attention(case, later)
        actions.note_case(case=case, text="Hi", audience="shared", by=architect.actor)
        actions.plan_case(
            case=case, owner=architect, next_step="Swap", due=later.date() - timedelta(days=1), by="engine"
        )
        assert queries.attention(case, later) == ["step_overdue", "over_age"]
        actions.resolve_case(case=case, cause="software", by="engine")
        assert queries.attention(case, later) == []


@pytest.fixture
def efa_engineer(world):
    Membership.objects.filter(person=world.person("service_engineer")).update(team="svc-ec2")
    return world.person("service_engineer")


def test_an_escalated_case_gives_its_engineers_a_seat_until_it_is_resolved(world, new_case, efa_engineer):
    by = world.person("lead_architect").actor

    def seats():
        return [seat.tenant for seat in Assignment.objects.filter(person=efa_engineer, duty="service", ends_on=None)]

    with acting_for(world.hoshi, staff=True):
        first, second = new_case(), new_case()
        for case in (first, second):
            actions.escalate_case(case=case, component="svc-ec2", why="Looks like EFA", by=by)
        assert seats() == [world.hoshi]
        assert set(queries.cases(role="service_engineer", person=efa_engineer)) == {first, second}
        actions.resolve_case(case=first, cause="provider", by=by)
        assert seats() == [world.hoshi]
        actions.resolve_case(case=second, cause="provider", by=by)
        assert seats() == []
        actions.reopen_case(case=second, why="Back", by=by)
        assert seats() == [world.hoshi]


def test_a_seat_that_comes_and_goes_stands_in_the_history_with_who_did_it(world, new_case, efa_engineer):
    lead = world.person("lead_architect")
    with acting_for(world.hoshi, staff=True):
        case = new_case()
        actions.escalate_case(case=case, component="svc-ec2", why="EFA", by=lead.actor)
        actions.resolve_case(case=case, cause="provider", by=lead.actor)
        told = Entry.objects.filter(kind__startswith="member.", facts__duty="service").order_by("id")
        assert [entry.kind for entry in told] == ["member.assigned", "member.unassigned"]
        assert {entry.actor for entry in told} == {lead.actor}
        assert [line.sentence for line in lines(list(told))] == [
            "Service Engineer looks after this participant: Service engineer",
            "Service Engineer no longer looks after this participant: Service engineer",
        ]


def test_who_joins_a_component_later_is_let_in_where_its_cases_are_open(world, new_case, efa_engineer):
    def handled():
        with connection.cursor() as cursor:
            cursor.execute("update tenants_due set due_at = statement_timestamp() where kind = 'newcomer'")
        while held := due.claim(["newcomer"]):
            loop.HANDLERS["newcomer"][1](held)

    for tenant, ended in ((world.hoshi, False), (world.umi, True)):
        with acting_for(tenant, staff=True):
            case = new_case(tenant=tenant)
            actions.escalate_case(case=case, component="svc-ec2", why="EFA", by="engine")
            if ended:
                actions.resolve_case(case=case, cause="provider", by="engine")
    today = programme_today()
    newcomer, later = (Person.objects.create(email=f"{name}@example.org", name=name) for name in ("now", "later"))
    with acting_for(world.office, staff=True):
        for person, starts_on in ((newcomer, today), (later, today + timedelta(days=2))):
            seat_person(
                person=person, tenant=world.office, role="service_engineer", by="engine", starts_on=starts_on, team="svc-ec2"
            )  # fmt: skip
    handled()
    seats = Assignment.objects.filter(duty="service", ends_on=None)
    assert [row.tenant for row in seats.filter(person=newcomer)] == [world.hoshi]
    assert seat(newcomer, "hoshi").internal
    assert not seats.filter(person=later).exists()
    assert list(Due.objects.filter(kind="newcomer").values_list("tenant", flat=True)) == [world.office.pk]
    Membership.objects.filter(person=later).update(starts_on=today)
    handled()
    assert seats.filter(person=later).exists() and not Due.objects.filter(kind="newcomer").exists()


def test_an_erased_person_is_nowhere_in_the_history(world, new_case, efa_engineer):
    lead = world.person("lead_architect")
    with acting_for(world.hoshi, staff=True):
        actions.escalate_case(case=new_case(), component="svc-ec2", why="EFA", by=lead.actor)
        give_action_item(tenant=world.hoshi, text="Swap", owner=efa_engineer, due=DUE, by=lead.actor, audience="shared")
        newcomer = world.people["stranger"]
        seat_person(person=newcomer, tenant=world.hoshi, role="viewer", by=lead.actor, starts_on=date(2026, 1, 1))
    names = [efa_engineer.name, newcomer.name]
    with acting_for(world.hoshi, staff=True):
        told = list(Entry.objects.all())
        assert all(any(name in line.sentence for line in lines(told)) for name in names)
    for person in (efa_engineer, newcomer):
        Person.objects.filter(pk=person.pk).update(name="", email=f"{person.pk}@erased.invalid", is_active=False)
    with acting_for(world.hoshi, staff=True):
        told = list(Entry.objects.all())
        everything = f"{[line.sentence for line in lines(told)]} {[entry.facts for entry in told]}"
    assert not [name for name in [*names, efa_engineer.email, newcomer.email] if name in everything]


def test_the_door_lets_an_engineer_in_only_while_a_case_is_escalated(world, new_case, efa_engineer):
    with pytest.raises(Http404):
        seat(efa_engineer, "hoshi")
    with acting_for(world.hoshi, staff=True):
        case = new_case()
        actions.escalate_case(case=case, component="svc-ec2", why="EFA", by="engine")
    assert seat(efa_engineer, "hoshi").internal
    with pytest.raises(Http404):
        seat(efa_engineer, "umi")
    with acting_for(world.hoshi, staff=True):
        actions.resolve_case(case=case, cause="provider", by="engine")
    with pytest.raises(Http404):
        seat(efa_engineer, "hoshi")


def test_a_service_engineer_sees_only_what_was_escalated_to_the_own_component(world, new_case, efa_engineer):
    with acting_for(world.hoshi, staff=True):
        hers, plain = new_case(), new_case()
        actions.escalate_case(case=hers, component="svc-ec2", why="EFA", by="engine")
        assert list(queries.cases(role="service_engineer", person=efa_engineer)) == [hers]
        assert set(queries.cases(role="lead_architect", person=world.person("lead_architect"))) == {hers, plain}


def test_a_component_that_nobody_answers_for_is_refused(world, new_case, efa_engineer):
    with acting_for(world.hoshi, staff=True):
        with pytest.raises(Refused) as refused:
            actions.escalate_case(case=new_case(), component="svc-moon", why="?", by="engine")
        assert refused.value.facts["allowed"] == ["svc-ec2"]


def test_a_case_of_another_tenant_cannot_be_reached(world, new_case):
    with acting_for(world.umi, staff=True):
        foreign = new_case(tenant=world.umi)
    with acting_for(world.hoshi, staff=True):
        with pytest.raises(Case.DoesNotExist):
            actions.note_case(case=foreign, text="Hello", audience="shared", by="engine")
    with reading_everyone():
        assert not CaseNote.objects.exists()
