"""Asking the provider for more quota: a pure table, the action's refusals, and a request from the button to the answer."""

from datetime import timedelta

import pytest
from django.utils import timezone

from clusters.actions import quotas
from clusters.engine.quota_increases import Asked, Next, follow
from clusters.models import QuotaGrant, QuotaRequest, ServiceQuota
from tenants.history.models import Entry
from tenants.models import Due
from tenants.wall.acting import acting_for
from tenants.web.problems import Refused
from tests.clusters.sandbox.driver import REGION

P5, NAME = "p5.48xlarge", "ml.p5.48xlarge for cluster usage"
MINE = Asked("r-1", "PENDING", 32.0)
OTHER = Asked("r-9", "CASE_OPENED", 40.0)
ENDED = Asked("r-0", "DENIED", 32.0)


@pytest.mark.parametrize(
    ("state", "engine_id", "seen", "sent", "waited", "next_"),
    [
        ("pending", "", [], False, False, Next("pending", "ask")),
        ("pending", "", [ENDED], False, False, Next("pending", "ask")),  # an old request says nothing of this one
        ("pending", "", [], True, False, Next("pending")),  # asked, not listed yet
        ("pending", "", [], True, True, Next("pending", "ask")),
        ("pending", "", [MINE, ENDED], True, False, Next("pending", found=MINE)),  # its answer got lost
        ("pending", "r-1", [MINE], True, True, Next("pending", found=MINE)),
        ("pending", "r-1", [], True, True, Next("pending")),
        *(
            (before, "r-1", [Asked("r-1", word, 32.0)], True, True, Next(after, found=Asked("r-1", word, 32.0)))
            for before, word, after in [
                ("pending", "CASE_OPENED", "case_opened"),
                ("pending", "APPROVED", "approved"),
                ("case_opened", "APPROVED", "approved"),
                ("case_opened", "DENIED", "denied"),
                ("case_opened", "CASE_CLOSED", "denied"),
                ("case_opened", "PENDING", "case_opened"),  # nothing goes back
                ("case_opened", "SOMETHING_NEW", "case_opened"),
            ]
        ),
    ],
)  # fmt: skip
def test_what_follows(state, engine_id, seen, sent, waited, next_):
    assert follow(state, 32.0, engine_id, seen, sent=sent, waited=waited) == next_


def test_another_open_request_of_the_same_quota_ends_ours():
    found = follow("pending", 32.0, "", [OTHER], sent=False, waited=False)
    assert found.state == "denied" and "40" in found.why and not found.call


def line(bench, **more):
    values = {"provider_service": "sagemaker", "provider_limit": NAME, "provider_unit": "instances", **more}
    with acting_for(bench.tenant, staff=True):
        made = QuotaGrant.objects.create(
            tenant=bench.tenant, participation=bench.world.participations["hoshi"], instance_type=P5, region=REGION,
            approved_instances=32, provider_value=16, **values,
        )  # fmt: skip
        made.kept(by="engine")
        return made


def ask(bench, grant, instances=32):
    with acting_for(bench.tenant, staff=True):
        return quotas.ask_for_more(
            grant=grant, account=bench.account, instances=instances, reason="the larger model", by="engine"
        )


@pytest.fixture
def known(bench):
    bench.step("account")
    return bench


def now(bench):
    return bench.rows(QuotaRequest)[0]


def test_from_the_button_to_the_answer(known):
    grant = line(known)
    ask(known, grant)
    known.cloud.fault(
        "timeout_after_success", operation="RequestServiceQuotaIncrease", account=known.account.account_id, times=2
    )
    known.step("quota")
    assert (now(known).state, now(known).engine_id) == ("pending", ""), "nobody knows whether it arrived"
    known.step("quota")
    assert now(known).engine_id, "it did: it is found and not asked again"
    known.cloud.advance(3600)
    known.step("quota")
    assert now(known).state == "case_opened"
    known.cloud.advance(90_000)
    known.step("quota")
    assert (now(known).state, now(known).engine_status) == ("approved", "APPROVED")
    known.step("account")
    [quota] = known.rows(ServiceQuota, name=NAME)
    [after] = known.rows(QuotaGrant)
    assert (quota.value, after.provider_value) == (32, 32)
    asked = known.cloud.calls(operation="RequestServiceQuotaIncrease", account=known.account.account_id)
    assert sum(call["effective"] for call in asked) == 1
    told = [entry.kind for entry in known.rows(Entry, kind__startswith="quota_request")]
    assert sorted(told) == ["quota_request.approved", "quota_request.case_opened", "quota_request.pending"]


def test_a_no_is_told_and_another_may_be_asked_for(known):
    grant = line(known)
    known.cloud.fault("quota_denied", account=known.account.account_id)
    ask(known, grant)
    known.step("quota")
    known.cloud.advance(90_000)
    known.step("quota")
    assert now(known).state == "denied" and now(known).decided_on
    with acting_for(known.tenant):
        assert Due.objects.get(kind="quota").due_at is None
    ask(known, grant, 24)


@pytest.mark.parametrize(
    ("more", "instances", "code"),
    [
        ({}, 16, "enough"),
        ({}, 0, "too_many"),
        ({}, 10_001, "too_many"),
        ({"provider_limit": ""}, 32, "quota_unknown"),
        ({"provider_limit": "ml.p5 for cluster usage"}, 32, "quota_unknown"),
        ({"provider_unit": "vCPU", "provider_service": "ec2", "provider_limit": "Running On-Demand P instances"}, 8, "enough"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_before_any_call(known, more, instances, code):
    with pytest.raises(Refused) as refused:
        ask(known, line(known, **more), instances)
    assert refused.value.code == code
    assert known.rows(QuotaRequest) == []


def test_one_request_of_a_quota_at_a_time(known):
    grant = line(known)
    ask(known, grant)
    with pytest.raises(Refused) as twice:
        ask(known, grant, 40)
    assert twice.value.code == "already_asked"


def test_in_the_providers_unit(known):
    grant = line(known, provider_unit="vCPU", provider_service="ec2", provider_limit="Running On-Demand P instances")
    assert ask(known, grant, 16).provider_value == 16 * 192


def test_a_throttled_question_was_not_asked(known):
    ask(known, line(known))
    known.cloud.fault("throttling", operation="RequestServiceQuotaIncrease", account=known.account.account_id, times=2)
    known.step("quota")
    assert now(known).sent_at is None and now(known).told
    known.step("quota")
    assert now(known).engine_id
    assert timezone.now() - now(known).sent_at < timedelta(minutes=1)
