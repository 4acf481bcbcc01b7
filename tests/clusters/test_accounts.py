"""Adding a participant's cloud account without a developer: what is typed, what is shown once, who may, what is told."""

import json

import pytest
from django.test import Client

from clusters import accounts
from clusters.models import CloudAccount
from tenants.history.models import Entry
from tenants.models import Due
from tenants.wall.acting import acting_for
from tenants.wall.identity import issue_token

BACKEND = "allauth.account.auth_backends.AuthenticationBackend"
ADD = "/t/hoshi/accounts/add/"
TYPED = {"account_id": "0123-4567-8901", "name": "training", "regions": ["ap-northeast-1"]}


@pytest.fixture
def as_(world):
    def signed_in(role, tenant=None):
        client = Client()
        client.force_login(world.person(role, tenant), BACKEND)
        return client

    return signed_in


def stored(world):
    with acting_for(world.hoshi):
        return CloudAccount.objects.get()


@pytest.mark.parametrize("role", ["platform_engineer", "account_team", "lead_architect", "programme_manager"])
def test_an_account_is_added_and_its_external_id_is_shown_once(world, as_, role):
    client = as_(role)
    assert client.get(ADD).status_code == 200
    answer = client.post(ADD, TYPED)
    row, page = stored(world), answer.content.decode()
    assert (answer.status_code, row.account_id, row.regions) == (201, "012345678901", ["ap-northeast-1"])
    assert row.role_arn == "arn:aws:iam::012345678901:role/CohortProvisioner" and len(row.external_id) == 32
    assert page.count("CohortProvisioner") == 4, (
        "in the line (twice), the sentence and the ARN, not as whose seat this is"
    )
    assert 'id="one-line"' in page and 'id="quick-create"' not in page
    assert row.external_id in page and "sts:ExternalId" in page and "no-store" in answer["Cache-Control"]
    later = client.get(f"/t/hoshi/accounts/{row.pk}/").content.decode()
    assert row.external_id not in later and "012345678901" in later and "Being tried" in later
    assert row.external_id not in client.get("/t/hoshi/").content.decode()
    assert Due.objects.get(kind="account").ref == str(row.pk)
    with acting_for(world.hoshi):
        entry = Entry.objects.get(kind="account.added")
        assert entry.actor == world.person(role).actor and row.external_id not in json.dumps(entry.facts)


def test_who_may_only_read_reads_and_who_is_elsewhere_finds_nothing(world, as_):
    as_("platform_engineer").post(ADD, TYPED)
    page = f"/t/hoshi/accounts/{stored(world).pk}/"
    for role in ("viewer", "ml_engineer", "business_lead", "auditor", "frameworks_specialist"):
        client = as_(role)
        assert client.get(page).status_code == 200 and "Check access now" not in client.get(page).content.decode()
        assert client.post(ADD, TYPED).status_code == 403
        assert client.post(f"{page}check/").status_code == 403 and client.post(f"{page}renew/").status_code == 403
    assert as_("platform_engineer", world.umi).get(page).status_code == 404
    assert as_("account_team").post("/t/umi/accounts/add/", TYPED).status_code == 403  # not assigned there


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"account_id": "12345678901"}, "exactly 12 digits"),
        ({"account_id": "12345678901x"}, "exactly 12 digits"),
        ({"account_id": ""}, "required"),
        ({"regions": []}, "required"),
        ({"regions": ["mars-west-1"]}, "not one of the available choices"),
        ({"role_arn": "arn:aws:iam::999999999999:role/x"}, "is no role of the account 012345678901"),
        ({"role_arn": "admin"}, "is no role of the account"),
        ({"name": "x" * 81}, "at most 80"),
        ({"name": "a\x00b"}, "Null characters"),
    ],
)
def test_what_is_wrong_is_said_at_its_field_and_what_was_typed_stays(world, as_, changes, says):
    answer = as_("platform_engineer").post(ADD, TYPED | changes)
    assert answer.status_code == 422 and says in answer.content.decode()
    with acting_for(world.hoshi):
        assert not CloudAccount.objects.exists()


def test_an_account_that_is_there_is_refused(as_):
    client = as_("platform_engineer")
    client.post(ADD, TYPED)
    answer = client.post(ADD, TYPED)
    assert answer.status_code == 409 and "The account 012345678901 is already here" in answer.content.decode()


def test_a_check_is_a_wish_and_once_is_enough(world, as_):
    client = as_("platform_engineer")
    client.post(ADD, TYPED)
    row = stored(world)
    accounts_of = f"/t/hoshi/accounts/{row.pk}/"
    with acting_for(world.hoshi):
        accounts.answered(row.pk, "no", "AccessDenied")
    page = client.get(accounts_of).content.decode()
    assert "AccessDenied" in page and "Being tried" not in page and "make a new one" in page
    Due.objects.filter(kind="account").update(due_at=None)
    for _twice in range(2):
        assert client.post(f"{accounts_of}check/").status_code == 303
    assert Due.objects.get(kind="account").due_at is not None
    assert "Being tried" in client.get(accounts_of).content.decode()
    with acting_for(world.hoshi):
        assert Entry.objects.filter(kind="account.check_wished").count() == 1
        assert accounts.being_checked(stored(world))
        accounts.answered(row.pk, "yes")
        since = stored(world).access_since
        accounts.answered(row.pk, "yes")
    after = stored(world)
    assert (after.access, after.access_since, after.denied_reason) == ("yes", since, "")
    assert after.checked_at > since and not accounts.being_checked(after)
    with acting_for(world.hoshi):
        accounts.answered(row.pk, "unknown", "Nobody answered in time.")
    assert "Nobody answered in time." in client.get(accounts_of).content.decode()


def test_a_new_external_id_is_shown_once_and_minds_the_version(world, as_):
    client = as_("platform_engineer")
    client.post(ADD, TYPED)
    row = stored(world)
    renew = f"/t/hoshi/accounts/{row.pk}/renew/"
    assert 'name="version" value="1"' in client.get(renew).content.decode()
    answer = client.post(renew, {"version": 1})
    now = stored(world)
    assert answer.status_code == 200 and now.external_id != row.external_id
    assert now.external_id in answer.content.decode() and row.external_id not in answer.content.decode()
    assert client.post(renew, {"version": 1}).status_code == 409
    with acting_for(world.hoshi):
        assert Entry.objects.filter(kind="account.renewed").count() == 1


def test_the_api_tells_the_id_in_the_answer_and_nowhere_else(world):
    token = issue_token(person=world.person("platform_engineer"), name="t")[1]
    client = Client(headers={"authorization": f"Bearer {token}"})
    wish = {"account_id": "012345678901", "regions": ["ap-northeast-1"]}
    answer = client.post("/api/v1/t/hoshi/accounts/", wish, content_type="application/json")
    made, row = answer.json(), stored(world)
    assert answer.status_code == 202 and made["account_id"] == "012345678901"
    assert made["external_id"] == row.external_id
    condition = made["trust_policy"]["Statement"][0]["Condition"]["StringEquals"]
    assert condition == {"sts:ExternalId": row.external_id} and made["permissions"]["Statement"]
    address = f"/api/v1/t/hoshi/accounts/{made['id']}/"
    for one in (client.get(address), client.get("/api/v1/t/hoshi/accounts/"), client.get("/api/v1/accounts/")):
        assert one.status_code == 200 and row.external_id not in one.content.decode()
    asked = client.post(f"{address}check/", {}, content_type="application/json")
    assert asked.status_code == 202 and asked.json()["access"] == "unknown" and asked.json()["check_wished_at"]
    stale = client.post(f"{address}external-id/", {"version": 7}, content_type="application/json")
    assert stale.status_code == 409
    renewed = client.post(f"{address}external-id/", {"version": 1}, content_type="application/json").json()
    assert renewed["external_id"] == stored(world).external_id != row.external_id
    for bad, field in (
        ({"regions": []}, "regions"),
        ({"role_arn": "x"}, "role_arn"),
        ({"regions": ["xx-mars-1"]}, "regions"),
    ):
        refused = client.post(
            "/api/v1/t/hoshi/accounts/", wish | {"account_id": "5" * 12} | bad, content_type="application/json"
        )
        assert refused.status_code == 422 and field in refused.content.decode()
