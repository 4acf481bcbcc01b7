"""Where data may lie, whether the account lets us in, and its own limits: each line fails alone, also through the real form."""

from datetime import timedelta

import pytest
from django.utils import timezone

from clusters import facts
from clusters.account_told import NOTHING, Fact, Told
from clusters.finding_words import NOT_KNOWN, SENTENCES
from clusters.models import CloudAccount, Cluster, ServiceQuota
from clusters.preflight_account import (
    ELASTIC_IPS,
    INTERFACES,
    NAT_GATEWAYS,
    NETWORKS,
    SECURITY_GROUPS,
    Account,
    findings,
)
from tenants.history.models import Entry
from tenants.models import Participation
from tenants.wall.acting import acting_for
from tests.clusters.test_pages import REQUEST, signed_in, told
from tests.clusters.test_pages import hoshi as hoshi
from tests.clusters.wishes import wish
from tests.conftest import World
from tests.examples import Examples

FINE = Account(
    number="111122223333",
    access="yes",
    allowed_regions=("ap-northeast-1",),
    limits={INTERFACES: 5000, NETWORKS: 5, ELASTIC_IPS: 5, NAT_GATEWAYS: 5, SECURITY_GROUPS: 2500},
)


def changed(**changes):
    return Account(**{**FINE.__dict__, **changes})


def problems(account, told=NOTHING):
    found = list(findings(wish(), facts.load(), account, told))
    assert all(each.sentence() for each in found)
    return [(each.code, each.verdict) for each in found if each.verdict != "pass"]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        ({"allowed_regions": ()}, []),
        ({"allowed_regions": ("us-east-1",)}, [("residency_refused", "fail")]),
        ({"access": "no"}, [("access_denied", "mind")]),
        ({"access": "unknown"}, [("access_unknown", "unknown")]),
        # 20 p5.48xlarge with 32 cards each and a controller with one: 641.
        ({"limits": {**FINE.limits, INTERFACES: 641}}, []),
        ({"limits": {**FINE.limits, INTERFACES: 640}}, [("interfaces_exceeded", "fail")]),
        ({"limits": {**FINE.limits, INTERFACES: 700}, "usage": {"p5.48xlarge": 2}, "clusters": 1}, [("interfaces_exceeded", "fail")]),
        ({"limits": {**FINE.limits, NETWORKS: 0}}, [("networks_exceeded", "fail")]),
        ({"limits": {**FINE.limits, ELASTIC_IPS: 0}}, [("elastic_ips_exceeded", "fail")]),
        # Every cluster makes a network of its own; one that has made its own already needs no other.
        ({"limits": {**FINE.limits, NETWORKS: 1}, "clusters": 1}, [("networks_exceeded", "fail")]),
        ({"limits": {**FINE.limits, NETWORKS: 1}, "clusters": 1, "makes_base": False}, []),
        ({"limits": {**FINE.limits, NAT_GATEWAYS: 0}}, [("nat_gateways_exceeded", "fail")]),
        ({"limits": {**FINE.limits, SECURITY_GROUPS: 1}}, [("security_groups_exceeded", "fail")]),
        (
            {"limits": {}},
            [
                ("interfaces_unknown", "unknown"),
                ("networks_unknown", "unknown"),
                ("elastic_ips_unknown", "unknown"),
                ("nat_gateways_unknown", "unknown"),
                ("security_groups_unknown", "unknown"),
            ],
        ),
    ],
)  # fmt: skip
def test_each_line_fails_alone(changes, expected):
    assert problems(changed(**changes)) == expected


HAS = {"networks": {"vpc-1": "10.0.0.0/16"}, "addresses": 1, "nat_gateways": {"apne1-az4": 1}, "security_groups": 3, "interfaces": 10}  # fmt: skip


@pytest.mark.parametrize(
    ("has", "expected"),
    [
        ({}, []),
        ({"networks": {f"vpc-{n}": "" for n in range(5)}}, ["networks_exceeded"]),
        ({"addresses": 5}, ["elastic_ips_exceeded"]),
        ({"nat_gateways": {"apne1-az4": 5}}, ["nat_gateways_exceeded"]),
        ({"nat_gateways": {"apne1-az1": 5}}, []),
        ({"security_groups": 2499}, ["security_groups_exceeded"]),
        ({"interfaces": 4360}, ["interfaces_exceeded"]),
        ({"interfaces": 4359}, []),
    ],
)
def test_what_others_made_in_the_account_counts_too(has, expected):
    now = timezone.now()
    told = Told({"network": Fact({**HAS, **has}, now)}, now)
    assert [code for code, _verdict in problems(FINE, told)] == expected


def test_what_is_not_known_has_a_sentence_and_is_never_a_pass():
    assert set(SENTENCES) >= NOT_KNOWN
    found = list(findings(wish(), facts.load(), changed(access="unknown", limits={}), NOTHING))
    assert {each.code for each in found if each.code.endswith("unknown")} <= NOT_KNOWN
    assert all(each.level != "ok" for each in found if each.code in NOT_KNOWN)


@pytest.fixture
def known(world: World, hoshi: Examples) -> Examples:
    """An account of which everything is known that is asked for here."""
    with acting_for(world.hoshi):
        account = hoshi["accounts"]
        CloudAccount.objects.filter(pk=account.pk).update(
            access="yes", checked_at=timezone.now(), access_since=timezone.now()
        )
        for (service, name), value in FINE.limits.items():
            ServiceQuota.objects.create(
                tenant=world.hoshi,
                account=account,
                region="ap-northeast-1",
                service=service,
                name=name,
                value=value,
                read_at=timezone.now() - timedelta(hours=3),
            )
    return hoshi


def test_a_region_that_is_not_allowed_is_refused_by_the_form_before_any_call(world: World, known: Examples) -> None:
    staff, client = signed_in(world.person("lead_architect")), signed_in(world.person("platform_engineer"))
    with acting_for(world.hoshi):
        row = Participation.objects.get()
    at = f"/t/hoshi/participations/{row.pk}/regions/"
    assert client.get(at).status_code == 403
    answer = staff.post(at, {"allowed_regions": ["us-east-1", "us-west-2"], "version": row.version})
    assert answer.status_code == 303, answer.content.decode()
    with acting_for(world.hoshi):
        entry = Entry.objects.get(kind="record.changed", subject_id=row.pk)
        assert entry.facts["changes"]["allowed_regions"][1] == ["us-east-1", "us-west-2"]
    answer = client.post(REQUEST, told(known))
    page = answer.content.decode()
    assert answer.status_code == 422
    assert "One thing does not fit" in page
    assert "Data of this participation may not lie in ap-northeast-1; the Regions it may use are us-east-1, us-west-2." in page  # fmt: skip
    with acting_for(world.hoshi):
        assert not Cluster.objects.filter(name="fresh").exists()


@pytest.mark.parametrize(
    ("quota", "value", "says"),
    [
        (INTERFACES, 200, "The nodes need 65 network interfaces; 71 of 200 are left in ap-northeast-1."),
        (INTERFACES, 100, "The nodes need 65 network interfaces; 0 of 100 are left in ap-northeast-1."),
    ],
)
def test_the_account_s_own_limits_are_told_with_numbers_and_age(
    world: World, known: Examples, quota: tuple[str, str], value: int, says: str
) -> None:
    with acting_for(world.hoshi):
        ServiceQuota.objects.filter(service=quota[0], name=quota[1]).update(value=value)
    page = signed_in(world.person("platform_engineer")).post(REQUEST, told(known, do="check")).content.decode()
    if value == 200:
        assert says not in page and "Network interfaces" not in page
        assert "The nodes need 65 network interfaces; with what other clusters take" in page
    else:
        assert says in page and "One thing does not fit" in page


def test_what_is_not_known_is_told_as_such(world: World, hoshi: Examples) -> None:
    page = signed_in(world.person("platform_engineer")).post(REQUEST, told(hoshi, do="check")).content.decode()
    assert "Not known" in page
    assert "It is not known whether the account" in page
    assert "how many the account may have in ap-northeast-1 is not known" in page
