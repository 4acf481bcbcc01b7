"""Mail: wished for once, made for its reader at the last moment, tried with patience, and every end is seen."""

import smtplib
import time
from datetime import timedelta
from email import message_from_string
from email.header import decode_header, make_header
from typing import Any

import pytest
from django.core import mail as outbox
from django.db import connection
from django.test import Client

from support.actions import escalate_case, open_case, plan_case, resolve_case, take_case
from support.models import Case
from tenants import mail
from tenants.models import Delivery, Due, Membership, Person
from tenants.wall.acting import acting_for, reading_everyone
from tenants.work import due, loop
from tests.conftest import World
from tests.tree import RunningTree

REFUSED = smtplib.SMTPRecipientsRefused({"x": (550, b"No such mailbox")})
FULL = smtplib.SMTPRecipientsRefused({"x": (452, b"Mailbox full")})


@pytest.fixture
def case(world: World) -> Case:
    with acting_for(world.hoshi):
        return open_case(tenant=world.hoshi, title="Loss is <b>NaN</b> & rising", severity="high", by="engine")


def work_off() -> None:
    """What the queue `deliver` would do now, without its recurring rows."""
    while (held := due.claim(["case-mail", "deliver"])) is not None:
        loop.HANDLERS[held.kind][1](held)


def give(world: World, case: Case, to: Person) -> None:
    with acting_for(world.hoshi, staff=True):
        take_case(case=case, person=to, by=world.person("lead_architect").actor)


def deliveries() -> list[Delivery]:
    with reading_everyone():
        return list(Delivery.objects.order_by("created_at", "id"))


def soon() -> None:
    """As if the time to wait were over."""
    Due.objects.filter(kind="deliver").update(due_at="2020-01-01T00:00Z")


@pytest.mark.parametrize(
    ("error", "final"),
    [
        (REFUSED, True),
        (FULL, False),
        (smtplib.SMTPRecipientsRefused({"x": (550, b""), "y": (451, b"")}), False),
        (smtplib.SMTPDataError(554, b"Rejected as spam"), True),
        (smtplib.SMTPDataError(451, b"Try later"), False),
        (smtplib.SMTPAuthenticationError(535, b"Bad password"), False),  # ours to mend, not the address's fault
        (smtplib.SMTPSenderRefused(550, b"Who are you", "cohort@localhost"), False),
        (smtplib.SMTPServerDisconnected("gone"), False),
        (ConnectionRefusedError(111, "refused"), False),
        (TimeoutError(), False),
    ],
)
def test_only_what_the_server_says_of_the_address_or_the_message_is_final(error: Exception, final: bool) -> None:
    assert mail.is_final(error) is final


def test_the_pauses_grow_and_end_after_about_two_days() -> None:
    pauses = [mail.pause_after(tries) for tries in range(1, 100)]
    real = [pause for pause in pauses if pause is not None]
    assert real == sorted(real) and real[0] == timedelta(minutes=1)
    assert timedelta(hours=36) < sum(real, timedelta()) < timedelta(hours=72)
    assert set(pauses[len(real) :]) == {None}


@pytest.mark.django_db
def test_whoever_is_given_a_case_is_written_to_once_and_reads_it_as_it_is(world: World, case: Case) -> None:
    owner = world.person("frameworks_specialist")
    give(world, case, owner)
    work_off()
    [sent] = outbox.outbox
    assert sent.to == [owner.email] and case.number in sent.subject
    assert "Loss is <b>NaN</b> & rising" in sent.body, "plain text, not HTML"
    assert f"/t/hoshi/cases/{case.pk}/" in sent.body and "/preferences/" in sent.body
    [row] = deliveries()
    assert (row.outcome, row.tries, row.kind) == ("sent", 1, "case-given")
    assert sent.extra_headers["Message-ID"] == f"<{row.pk}@test.cohort>"
    # The same entry again, as after a crash of its handler: nobody is told twice.
    due.wish("case-mail", row.key, tenant=world.hoshi)
    due.wish("deliver", row.pk, tenant=world.hoshi)
    work_off()
    assert len(outbox.outbox) == 1 and not Due.objects.filter(kind__in=["case-mail", "deliver"]).exists()


@pytest.mark.django_db
def test_nobody_is_told_what_they_did_themselves(world: World, case: Case) -> None:
    me = world.person("lead_architect")
    give(world, case, me)
    with acting_for(world.hoshi, staff=True):
        plan_case(case=case, owner=me, next_step="Look", due=me.joined_at.date(), by=me.actor)
    work_off()
    assert outbox.outbox == []


@pytest.mark.django_db
def test_a_plan_tells_the_owner_only_when_the_owner_is_new(world: World, case: Case) -> None:
    owner, chair = world.person("ml_engineer"), world.person("lead_architect")
    for step in ("Read the log", "Read it again"):
        with acting_for(world.hoshi, staff=True):
            plan_case(case=case, owner=owner, next_step=step, due=owner.joined_at.date(), by=chair.actor)
    work_off()
    [sent] = outbox.outbox
    assert sent.to == [owner.email] and "Read it again" in sent.body, "the text is made when it is sent"


@pytest.mark.django_db
def test_an_escalation_tells_the_engineers_of_that_component(world: World, case: Case) -> None:
    engineer = world.person("service_engineer")
    Membership.objects.filter(person=engineer).update(team="fsx")
    with acting_for(world.hoshi, staff=True):
        escalate_case(case=case, component="fsx", why="Lustre stands.", by=world.person("lead_architect").actor)
    work_off()
    [sent] = outbox.outbox
    assert sent.to == [engineer.email] and "fsx" in sent.body and "Lustre stands." in sent.body


@pytest.mark.django_db
def test_what_was_settled_given_on_or_whose_seat_ended_sends_nothing(world: World, case: Case) -> None:
    lead = world.person("lead_architect").actor
    give(world, case, world.person("ml_engineer"))
    give(world, case, world.person("frameworks_specialist"))
    give(world, case, world.person("platform_engineer"))
    Membership.objects.filter(person=world.person("platform_engineer")).update(ends_on="2020-02-01")
    work_off()
    with acting_for(world.hoshi, staff=True):
        give(world, case, world.person("frameworks_specialist"))
        resolve_case(case=case, cause="unknown", by=lead)
    work_off()
    assert outbox.outbox == []
    assert {row.outcome for row in deliveries()} == {"skipped"} and all(row.error for row in deliveries())


@pytest.mark.django_db
def test_the_past_of_the_demo_writes_to_nobody(world: World, case: Case) -> None:
    with acting_for(world.hoshi, staff=True):
        told = {"source": "import", "by": world.person("lead_architect").actor}
        plan_case(case=case, owner=world.person("ml_engineer"), next_step="x", due=case.opened_at.date(), **told)
    work_off()
    assert deliveries() == []


@pytest.mark.django_db
def test_a_japanese_reader_gets_japanese(world: World, case: Case) -> None:
    owner = world.person("ml_engineer")
    Person.objects.filter(pk=owner.pk).update(language="ja", timezone="Asia/Tokyo")
    give(world, case, owner)
    work_off()
    assert "担当" in outbox.outbox[0].subject and outbox.outbox[0].extra_headers["Content-Language"] == "ja"


@pytest.mark.django_db
def test_a_server_that_is_away_is_asked_again_and_the_reason_is_kept(
    world: World, case: Case, monkeypatch: Any
) -> None:
    answers = [ConnectionRefusedError(111, "Connection refused"), FULL, None]

    def send(message: Any, fail_silently: bool = False) -> int:
        error = answers.pop(0)
        if error:
            raise error
        return 1

    monkeypatch.setattr("django.core.mail.EmailMessage.send", send)
    give(world, case, world.person("ml_engineer"))
    work_off()
    [row] = deliveries()
    assert (row.outcome, row.tries) == ("", 1) and "refused" in row.error
    with connection.cursor() as cursor:
        cursor.execute("select due_at - statement_timestamp() from tenants_due where kind = 'deliver'")
        assert timedelta(seconds=50) < cursor.fetchone()[0] < timedelta(seconds=70)
    soon()
    work_off()
    soon()
    work_off()
    [row] = deliveries()
    assert (row.outcome, row.tries, row.error) == ("sent", 3, "")


@pytest.mark.django_db
def test_an_address_that_is_refused_for_good_is_shown_to_staff_and_can_be_tried_again(
    world: World, case: Case, monkeypatch: Any
) -> None:
    failing = monkeypatch.context()
    with failing as patch:
        patch.setattr("django.core.mail.EmailMessage.send", lambda *_, **__: (_ for _ in ()).throw(REFUSED))
        give(world, case, world.person("ml_engineer"))
        work_off()
    [row] = deliveries()
    assert (row.outcome, row.tries) == ("failed", 1)
    client = Client()
    client.force_login(world.person("programme_manager"), "allauth.account.auth_backends.AuthenticationBackend")
    page = client.get("/deliveries/?outcome=failed").content.decode()
    assert "ml_engineer.hoshi@example.org" in page and "No such mailbox" in page
    assert "ml_engineer.hoshi@example.org" not in client.get("/deliveries/?outcome=sent").content.decode()
    assert client.post(f"/t/hoshi/deliveries/{row.pk}/again/").status_code == 303
    work_off()
    assert deliveries()[0].outcome == "sent" and len(outbox.outbox) == 1
    assert client.post(f"/t/hoshi/deliveries/{row.pk}/again/").status_code == 303
    assert deliveries()[0].outcome == "sent"


@pytest.mark.django_db
def test_after_the_last_pause_it_is_given_up(world: World, case: Case, monkeypatch: Any) -> None:
    monkeypatch.setattr("django.core.mail.EmailMessage.send", lambda *_, **__: (_ for _ in ()).throw(TimeoutError()))
    give(world, case, world.person("ml_engineer"))
    for _ in range(len(mail.PAUSES) + 3):
        work_off()
        soon()
    [row] = deliveries()
    assert (row.outcome, row.tries) == ("failed", len(mail.PAUSES) + 1)


@pytest.mark.django_db
@pytest.mark.parametrize("role", ["lead_architect", "ml_engineer", "service_engineer", "auditor"])
def test_a_person_switches_a_kind_off_and_on(world: World, case: Case, role: str) -> None:
    person = world.person(role)
    client = Client()
    client.force_login(person, "allauth.account.auth_backends.AuthenticationBackend")
    ticks = {kind: "on" for kind in mail.KINDS if kind != "case-given"}
    chosen = {"language": "en", "timezone": "Asia/Tokyo", **ticks}
    assert client.post("/preferences/", chosen).status_code == 303
    person.refresh_from_db()
    assert (person.mail_off, person.timezone) == (["case-given"], "Asia/Tokyo")
    with acting_for(world.hoshi, staff=True):
        assert not mail.tell(person=person, tenant=world.hoshi, kind="case-given", about=case.pk, key="1")
        assert mail.tell(person=person, tenant=world.hoshi, kind="case-escalated", about=case.pk, key="1")
    client.post("/preferences/", {**chosen, "case-given": "on"})
    person.refresh_from_db()
    assert person.mail_off == []


@pytest.mark.django_db
def test_what_was_wished_before_it_was_switched_off_is_not_sent(world: World, case: Case) -> None:
    owner = world.person("ml_engineer")
    give(world, case, owner)
    held = due.claim(["case-mail"])
    assert held is not None
    loop.HANDLERS["case-mail"][1](held)
    Person.objects.filter(pk=owner.pk).update(mail_off=["case-given"])
    work_off()
    assert outbox.outbox == [] and deliveries()[0].outcome == "skipped"


@pytest.mark.django_db
@pytest.mark.parametrize("wrong", [{"timezone": "Mars/Olympus"}, {"language": "xx"}, {"timezone": "\x00"}, {}])
def test_nonsense_in_preferences_is_refused(world: World, wrong: dict[str, str]) -> None:
    client = Client()
    client.force_login(world.person("viewer"), "allauth.account.auth_backends.AuthenticationBackend")
    good = {"language": "en", "timezone": "UTC"} if wrong else {}
    assert client.post("/preferences/", {**good, **wrong}).status_code == 422


GIVES = """
from datetime import date
from support.actions import open_case, take_case
from tenants.models import Membership, Person, Tenant
from tenants.wall.acting import acting_for
mail = Tenant.objects.create(slug="mail", name="Mail Works")
owner, giver = (Person.objects.create(email=f"{name}@mail.example.org", name=name) for name in ("owner", "giver"))
for person in (owner, giver):
    Membership.objects.create(person=person, tenant=mail, role="ml_engineer", starts_on=date(2020, 1, 1))
with acting_for(mail):
    take_case(case=open_case(tenant=mail, title="It broke", severity="high", by="engine"), person=owner, by=giver.actor)
"""


def test_on_a_running_tree_a_mail_lies_in_a_file_within_seconds(tree: RunningTree) -> None:
    tree.manage("shell", "-c", GIVES)
    end = time.monotonic() + 60
    # A file that is just being written has no end yet.
    while not (found := [one for one in (tree.var / "mail").glob("*.log") if "-----" in one.read_text()]):
        if time.monotonic() > end:
            break
        time.sleep(0.5)
    assert found, (tree.var / "log" / "worker-slow.log").read_text()[-2000:]
    written = message_from_string(found[0].read_text())
    assert written["To"] == "owner@mail.example.org" and "CASE-0001" in str(
        make_header(decode_header(written["Subject"]))
    )
