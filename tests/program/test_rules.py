"""The rules of the programme: changed by its office on a page, within limits, with old and new in the history."""

import pytest
from django.test import Client

from clusters.engine import job_runs, quarantines
from tenants import programme_settings
from tenants.history.models import Entry
from tenants.models import Programme
from tenants.wall.acting import acting_for

BACKEND = "allauth.account.auth_backends.AuthenticationBackend"
PAGE, CHANGE = "/t/programme/rules/", "/t/programme/rules/change/"
SENT = {"quarantine_strikes": "2", "quarantine_days": "10", "quarantine_event_minutes": "15", "idle_minutes": "45",
        "idle_below_percent": "8", "grant_not_set": "refuse", "budget_rule": "stop", "budget_counts": "bound", "budget_warn_at": "60, 90",
        "budget_notice_hours": "48", "budget_patience_hours": "12", "version": "1",
        "name": "National Foundation Model Programme", "sponsor": "", "agency": "Agency", "timezone": "Asia/Tokyo",
        "currency": "JPY", "cutoff_weekday": "2", "cutoff_time": "17:30", "stale_after_days": "21", "invitation_days": "5",
        "confirm_access_days": "60", "second_step_since": "", "second_step_grace_days": "14",
        "approval_over_instances": "8"}  # fmt: skip


@pytest.fixture
def client(world):
    client = Client()
    client.force_login(world.person("programme_manager"), BACKEND)
    return client


def test_the_office_changes_them_and_the_engine_goes_by_them(world, client):
    assert 'name="quarantine_strikes" value="3"' in client.get(PAGE).content.decode()
    assert client.post(CHANGE, SENT).status_code == 303
    rule = quarantines.rule_now()
    assert (rule.strikes, rule.window.days, rule.one_event.seconds) == (2, 10, 900)
    assert job_runs.idle_rule() == job_runs.IdleRule(45, 8)
    with acting_for(world.office, staff=True):
        entry = Entry.objects.filter(kind="record.changed", subject_id=world.office.pk).latest("id")
    assert entry.facts["changes"]["quarantine_strikes"] == [3, 2] and entry.facts["changes"]["idle_minutes"] == [
        None,
        45,
    ]
    assert entry.facts["changes"]["cutoff_time"] == ["18:00:00", "17:30:00"]
    assert entry.facts["changes"]["currency"] == ["USD", "JPY"]
    assert entry.facts["changes"]["budget_warn_at"] == [[50, 80, 95], [60, 90]]
    stale = client.post(CHANGE, SENT | {"quarantine_strikes": "4"})
    assert stale.status_code in (409, 412) and Programme.objects.get().quarantine_strikes == 2
    assert client.post(CHANGE, SENT | {"version": "2", "idle_minutes": ""}).status_code == 303
    assert programme_settings.programme().idle_minutes is None


@pytest.mark.parametrize(
    ("field", "value"),
    [("quarantine_strikes", "0"), ("quarantine_strikes", "21"), ("quarantine_days", "91"), ("idle_minutes", "0"),
     ("quarantine_event_minutes", "1441"), ("idle_below_percent", "101"), ("idle_below_percent", "x"), ("version", ""),
     ("timezone", "Asia/Tokio"), ("currency", "yen"), ("cutoff_weekday", "7"), ("invitation_days", "0"),
     ("second_step_since", "9999-12-31"), ("second_step_grace_days", "91"), ("stale_after_days", "0"), ("name", ""),
     ("budget_warn_at", "60, 101"), ("budget_warn_at", "x"), ("budget_rule", "delete"), ("budget_notice_hours", "0")],
)  # fmt: skip
def test_what_breaks_a_limit_is_refused_and_named(world, client, field, value):
    answer = client.post(CHANGE, SENT | {field: value})
    assert answer.status_code == 422 and f'id="id_{field}' in answer.content.decode()
    assert Programme.objects.get().version == 1


def test_others_of_the_office_read_them_and_a_participant_has_none(world):
    client = Client()
    client.force_login(world.person("frameworks_specialist"), BACKEND)
    text = client.get(PAGE).content.decode()
    assert "Rules of the programme" in text and "<form" not in text.partition("<main")[2]
    assert client.post(CHANGE, SENT).status_code == 403
    client.force_login(world.person("programme_manager"), BACKEND)
    assert client.get("/t/hoshi/rules/").status_code == 404
