"""The pages about cases: their order, who sees and may do what, refusals that keep what was typed."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from support import actions, showing
from support.models import Case, CaseNote
from support.rules import FAILURES, RULES
from tenants.models import Membership
from tenants.programme_day import programme_today
from tenants.wall.acting import acting_for

DAY = timedelta(days=1)


@pytest.fixture
def as_(world):
    """A browser in which somebody of this role is signed in."""

    def signed_in(role, tenant=None):
        client = Client()
        client.force_login(world.person(role, tenant), backend="allauth.account.auth_backends.AuthenticationBackend")
        return client

    return signed_in


@pytest.fixture
def case(world, new_case):
    with acting_for(world.hoshi):
        return new_case(by=world.person("ml_engineer").actor, text="Since step 41,200.")


def address(name, case, tenant="hoshi"):
    return reverse(name, args=[tenant, case.pk])


def text(answer):
    return answer.content.decode()


def now(case):
    with acting_for(case.tenant_id, staff=True):
        return Case.objects.get(pk=case.pk)


def offered(page):
    """The verbs that a case's page offers."""
    return set(re.findall(r"/cases/[0-9a-f-]{36}/(\w+)/", text(page))) - {"note", "attach"}


@pytest.mark.parametrize("role", ["programme_manager", "lead_architect", "auditor", "viewer", "ml_engineer"])
def test_whoever_has_a_seat_reads_the_case_and_its_shared_notes(as_, case, role):
    page = as_(role).get(address("case", case))
    assert page.status_code == 200
    assert "Loss is not a number" in text(page) and "Since step 41,200." in text(page)


def test_another_participant_finds_neither_the_case_nor_its_title(as_, world, case):
    client = as_("platform_engineer", world.umi)
    assert client.get(address("case", case)).status_code == 404
    assert client.get(address("case", case, "umi")).status_code == 404
    assert "Loss is not a number" not in text(client.get("/cases/?state=all"))


def titles(page):
    return re.findall(r"<a href=\"/t/\w+/cases/[^\"]+\">([^<]+)</a> <small", text(page))


def test_unanswered_cases_come_first_then_the_worst_then_the_oldest(as_, world, new_case):
    at = timezone.now()
    staff = world.person("lead_architect").actor
    with acting_for(world.hoshi, staff=True):
        late = new_case(title="late but low", severity="low", at=at - 3 * DAY)
        urgent = new_case(title="urgent in time", severity="urgent", at=at)
        for title, age in (("high and young", 1), ("high and old", 2)):
            answered = new_case(title=title, at=at - age * DAY)
            actions.note_case(case=answered, text="Hello", audience="shared", by=staff, at=at - age * DAY)
        ended = new_case(title="ended", at=at - 5 * DAY)
        actions.resolve_case(case=ended, cause="software", by=staff, at=at)
    client = as_("lead_architect")
    assert titles(client.get("/cases/")) == [late.title, urgent.title, "high and old", "high and young"]
    assert titles(client.get("/cases/?state=all"))[-1] == "ended"
    assert titles(client.get("/cases/?state=ended")) == ["ended"]


def test_a_reopened_case_is_late_again_only_after_its_time(as_, world, new_case):
    at, staff = timezone.now(), world.person("lead_architect").actor
    with acting_for(world.hoshi, staff=True):
        old = new_case(title="reopened just now", severity="low", at=at - 30 * DAY)
        actions.resolve_case(case=old, cause="software", by=staff, at=at - 20 * DAY)
        actions.reopen_case(case=old, why="Again", by=staff, at=at)
        new_case(title="high", severity="high", at=at)
        raised = new_case(title="raised just now", severity="low", at=at - DAY / 2)
        actions.change_severity(case=raised, severity="urgent", why="All stopped", by=staff, at=at)
    assert titles(as_("lead_architect").get("/cases/")) == ["raised just now", "high", "reopened just now"]


def test_a_long_list_goes_on_where_the_page_ended(as_, world, new_case):
    with acting_for(world.hoshi):
        for number in range(53):
            new_case(title=f"case {number:02d}", at=timezone.now() - number * DAY)
    client, seen, next_page = as_("viewer"), [], "/cases/"
    while next_page:
        page = client.get(next_page)
        seen += titles(page)
        found = re.search(r'href="([^"]*cursor=[^"]*)" rel="next"', text(page))
        next_page = found and found[1].replace("&amp;", "&")
    assert len(seen) == 53 and len(set(seen)) == 53
    assert seen[0] == "case 52"


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("owner=me", {"mine"}),
        ("owner=nobody", {"nobody's"}),
        ("severity=low", {"nobody's"}),
        ("state=in_progress", {"mine"}),
        ("q=nobody", {"nobody's"}),
        ("tenant=umi", set()),
    ],
)
def test_filters_keep_what_fits(as_, world, new_case, asked, found):
    lead = world.person("lead_architect")
    with acting_for(world.hoshi, staff=True):
        actions.take_case(case=new_case(title="mine"), person=lead, by=lead.actor)
        new_case(title="nobody's", severity="low")
    assert {title.replace("&#x27;", "'") for title in titles(as_("lead_architect").get(f"/cases/?{asked}"))} == found


@pytest.mark.parametrize("asked", ["severity=dreadful", "state=%00", "owner=x", "cursor=x", "q=" + "x" * 81])
def test_a_filter_that_makes_no_sense_is_said_so(as_, case, asked):
    assert as_("lead_architect").get(f"/cases/?{asked}").status_code == 400


def test_an_internal_note_exists_for_staff_only(as_, case):
    staff, customer = as_("lead_architect"), as_("ml_engineer")
    answer = staff.post(address("note_case", case), {"text": "Their fault", "audience": "internal"})
    assert answer.status_code == 303
    page = text(staff.get(address("case", case)))
    assert "Their fault" in page and 'value="internal"' in page
    page = text(customer.get(address("case", case)))
    assert "Their fault" not in page and 'name="audience"' not in page


def test_a_customer_cannot_write_internally_by_asking_for_it(as_, case):
    answer = as_("ml_engineer").post(address("note_case", case), {"text": "Hello", "audience": "internal"})
    assert answer.status_code == 303
    with acting_for(case.tenant_id, staff=True):
        assert CaseNote.objects.get(text="Hello").audience == "shared"


def test_staff_have_to_say_who_may_read_a_note_and_lose_nothing(as_, case):
    answer = as_("lead_architect").post(address("note_case", case), {"text": "Half a thought"})
    assert answer.status_code == 422
    assert "Half a thought</textarea>" in text(answer) and "error-summary" in text(answer)
    assert now(case).state == "new"


@pytest.mark.parametrize(
    ("role", "found"),
    [
        ("viewer", set()),
        ("auditor", set()),
        ("ml_engineer", set()),
        (
            "frameworks_specialist",
            {"take", "ask", "resolve", "assign", "plan", "severity", "wait", "escalate", "mitigate"},
        ),
    ],
)
def test_a_page_offers_what_the_role_may_do_in_this_state(as_, case, role, found):
    assert offered(as_(role).get(address("case", case))) == found


def test_an_ended_case_offers_its_end_and_its_return(as_, world, case):
    with acting_for(world.hoshi, staff=True):
        actions.resolve_case(case=case, cause="software", by="engine")
    assert offered(as_("lead_architect").get(address("case", case))) == {"reopen", "close"}
    assert offered(as_("ml_engineer").get(address("case", case))) == {"reopen"}


def test_the_way_of_a_case_by_its_buttons(as_, world, case):
    staff, customer = as_("lead_architect"), as_("ml_engineer")

    def do(verb, client=staff, **values):
        answer = client.post(address(f"{verb}_case", case), {f"{verb}-{name}": value for name, value in values.items()})
        assert answer.status_code == 303, text(answer)
        return now(case)

    lead = world.person("lead_architect")
    assert do("take").owner == lead and now(case).state == "in_progress"
    assert do("ask", text="Which version?").state == "waiting_customer"
    assert customer.post(address("note_case", case), {"text": "2.5"}).status_code == 303
    assert now(case).state == "in_progress"
    assert do("plan", owner=lead.pk, next_step="Try 2.6", due="2031-01-01").next_step == "Try 2.6"
    assert do("severity", severity="urgent", why="All stopped").severity == "urgent"
    assert do("wait", whom="provider", why="Bundle sent").state == "waiting_provider"
    assert do("resume").state == "in_progress"
    assert do("mitigate", why="Runs on fewer nodes").state == "mitigated"
    assert do("resolve", cause="software", cause_text="A bug", lost_hours="12.5").state == "resolved"
    assert do("reopen", customer, why="Again").state == "in_progress"
    do("resolve", cause="software")
    assert do("close").state == "closed"
    page = text(staff.get(address("case", case)))
    assert "closed the case" in page


def test_an_old_page_is_told_so_and_keeps_what_was_typed(as_, world, case):
    lead = world.person("lead_architect")
    old = now(case).version
    with acting_for(world.hoshi, staff=True):
        actions.plan_case(case=now(case), owner=lead, next_step="Theirs", due=programme_today(), by=lead.actor)
    sent = {"plan-owner": lead.pk, "plan-next_step": "Mine", "plan-due": "2031-01-01", "plan-version": old}
    client = as_("lead_architect")
    answer = client.post(address("plan_case", case), sent)
    page = text(answer)
    assert answer.status_code == 409
    assert "<del>Theirs</del>" in page and "<ins>Mine</ins>" in page and 'value="Mine"' in page
    newest = re.search(r'name="plan-version" value="(\d+)"', page)[1]
    assert client.post(address("plan_case", case), sent | {"plan-version": newest}).status_code == 303
    assert now(case).next_step == "Mine"


@pytest.mark.parametrize(
    ("verb", "sent"),
    [
        ("resolve", {}),
        ("resolve", {"cause": "weather"}),
        ("resolve", {"cause": "software", "lost_hours": "-1"}),
        ("resolve", {"cause": "software", "lost_hours": "1" * 30}),
        ("plan", {"next_step": "x" * 301, "due": "tomorrow"}),
        ("severity", {"severity": "dreadful", "why": "x"}),
        ("severity", {"severity": "low", "why": "a\x00b"}),
        ("wait", {"whom": "godot", "why": "x"}),
        ("escalate", {"component": "nobody", "why": "x"}),
        ("ask", {"text": "   "}),
        ("take", {"version": "many"}),
        ("assign", {"owner": "x"}),
    ],
)
def test_what_cannot_be_is_refused_in_the_form_and_changes_nothing(as_, case, verb, sent):
    before = now(case).version
    answer = as_("lead_architect").post(
        address(f"{verb}_case", case), {f"{verb}-{name}": value for name, value in sent.items()}
    )
    assert answer.status_code == 422
    assert "error-summary" in text(answer)
    assert now(case).version == before


def test_nobody_of_another_participant_can_be_made_owner(as_, world, case):
    stranger = world.person("platform_engineer", world.umi)
    answer = as_("lead_architect").post(address("assign_case", case), {"assign-owner": stranger.pk})
    assert answer.status_code == 422
    assert stranger.name not in text(answer)


def test_a_customer_opens_a_case_with_its_first_note(as_, world, cluster):
    client = as_("ml_engineer")
    sent = {"title": "It hangs", "type": "problem", "severity": "high", "cluster": cluster.pk, "text": "Since noon."}
    answer = client.post("/t/hoshi/cases/new/", sent)
    assert answer.status_code == 303
    with acting_for(world.hoshi):
        opened = Case.objects.get()
    assert (opened.title, opened.cluster_id, opened.opened_by) == (
        "It hangs",
        cluster.pk,
        world.person("ml_engineer").actor,
    )
    assert "Since noon." in text(client.get(answer["Location"]))


def test_somebody_elses_cluster_or_job_cannot_be_named(as_, world, cluster, failed_job):
    job = failed_job()
    sent = {"title": "x", "type": "problem", "severity": "high", "text": "x"}
    client = as_("ml_engineer", world.umi)
    for named in ({"cluster": cluster.pk}, {"job": job.pk}, {"cluster": "x"}):
        assert client.post("/t/umi/cases/new/", sent | named).status_code == 422
    assert job.name not in text(client.get(f"/t/umi/cases/new/?job={job.pk}"))


def test_a_job_leads_to_a_form_that_already_names_it(as_, failed_job):
    job = failed_job()
    page = text(as_("ml_engineer").get(f"/t/hoshi/cases/new/?job={job.pk}"))
    assert f'value="{job.pk}"' in page and f"Job {job.name}" in page


def test_only_staff_choose_whose_case_it_is(as_):
    assert as_("ml_engineer").get("/cases/new/")["Location"] == "/t/hoshi/cases/new/"
    staff = as_("lead_architect")
    assert staff.get("/cases/new/").status_code == 200
    assert staff.get("/cases/new/?tenant=umi")["Location"] == "/t/umi/cases/new/"
    assert staff.get("/cases/new/?tenant=nobody").status_code == 400
    assert staff.get("/t/programme/cases/new/").status_code == 404


def test_frozen_evidence_stays_as_it_was(as_, world, cluster, failed_job):
    from support.evidence import of_job
    from tenants.history import timeline

    job = failed_job(exit_code=137)
    with acting_for(world.hoshi, staff=True):
        entry = timeline.record("job.failed", about=job, by="engine", name=job.name, why="x")
        found = of_job(entry)
        opened = actions.open_case(
            tenant=world.hoshi, title="x", severity="high", by="engine", job=job, evidence=found.evidence
        )
        type(job).objects.filter(pk=job.pk).update(exit_code=0, node_names=["other"])
    page = text(as_("viewer").get(address("case", opened)))
    assert "lab-1, lab-2" in page and ">137" in page and "step 299" in page
    assert page.count("<li>step ") == 200


def test_similar_cases_of_the_tenant_are_shown_and_no_others(as_, world, new_case):
    with acting_for(world.hoshi):
        here, alike = new_case(title="this", signature="s"), new_case(title="alike one", signature="s")
        new_case(title="unlike one", signature="t")
    with acting_for(world.umi):
        new_case(tenant=world.umi, title="elsewhere one", signature="s")
    page = text(as_("lead_architect").get(address("case", here)))
    assert alike.title in page and "unlike one" not in page and "elsewhere one" not in page


def test_a_service_engineer_sees_the_cases_of_the_own_component_only(as_, world, new_case):
    engineer = world.person("service_engineer")
    Membership.objects.filter(person=engineer).update(team="hyperpod")
    with acting_for(world.hoshi, staff=True):
        ours, other = new_case(title="ours"), new_case(title="not ours")
        actions.escalate_case(case=ours, component="hyperpod", why="x", by="engine")
    client = as_("service_engineer")
    assert titles(client.get("/cases/")) == ["ours"]
    assert client.get(address("case", ours)).status_code == 200
    assert client.get(address("case", other)).status_code == 404
    assert client.post(address("take_case", other)).status_code == 404


def test_a_page_costs_the_same_for_one_case_and_for_many(as_, world, new_case, django_assert_max_num_queries):
    client = as_("lead_architect")
    with acting_for(world.hoshi, staff=True):
        for _ in range(12):
            case = new_case(signature="s")
            actions.note_case(case=case, text="x", audience="shared", by=world.person("lead_architect").actor)
    with django_assert_max_num_queries(14):
        client.get("/cases/")
    with django_assert_max_num_queries(26):
        client.get(address("case", case))


def test_every_category_of_a_rule_has_words():
    used = {rule.category for rule in RULES.values()} | {failure.category for failure in FAILURES}
    assert used == set(showing.CATEGORIES)
