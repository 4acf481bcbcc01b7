"""Service Quotas: what an account may have, and asking for more."""

import pytest
from botocore.exceptions import ClientError

from tests.clusters.sandbox.driver import Account

P5 = "ml.p5.48xlarge for cluster usage"


def quotas(account: Account, operation: str = "list_service_quotas", service: str = "sagemaker") -> dict[str, dict]:
    pages = (
        account("service-quotas")
        .get_paginator(operation)
        .paginate(ServiceCode=service, PaginationConfig={"PageSize": 7})
    )
    return {quota["QuotaName"]: quota for page in pages for quota in page["Quotas"]}


def test_quotas_are_the_programmes_and_else_the_defaults(account: Account) -> None:
    found = quotas(account)
    assert (found[P5]["Value"], found[P5]["QuotaCode"], found[P5]["Unit"]) == (16.0, "L-8762A75F", "None")
    assert found["ml.p5e.48xlarge for cluster usage"]["Value"] == 0.0
    assert quotas(account, "list_aws_default_service_quotas")[P5]["Value"] == 0.0
    assert len(found) > 5
    assert {one["ServiceCode"] for one in account("service-quotas").list_services()["Services"]} >= {
        "sagemaker",
        "ec2",
        "fsx",
    }


def test_a_quota_without_an_applied_value_has_only_a_default(account: Account) -> None:
    code = quotas(account)["ml.p5e.48xlarge for cluster usage"]["QuotaCode"]
    wish = {"ServiceCode": "sagemaker", "QuotaCode": code}
    with pytest.raises(ClientError) as refused:
        account("service-quotas").get_service_quota(**wish)
    assert refused.value.response["Error"]["Code"] == "NoSuchResourceException"
    assert account("service-quotas").get_aws_default_service_quota(**wish)["Quota"]["Value"] == 0.0
    assert (
        account("service-quotas").get_service_quota(ServiceCode="sagemaker", QuotaCode="L-8762A75F")["Quota"]["Value"]
        == 16.0
    )


@pytest.mark.parametrize(
    "wish", [{"ServiceCode": "sagemaker", "QuotaCode": "L-00000000"}, {"ServiceCode": "none", "QuotaCode": "L-1"}]
)
def test_a_quota_that_does_not_exist_is_refused(account: Account, wish: dict) -> None:
    with pytest.raises(ClientError) as refused:
        account("service-quotas").get_service_quota(**wish)
    assert refused.value.response["Error"]["Code"] == "NoSuchResourceException"


def test_a_request_for_more_is_looked_at_and_granted_a_day_later(account: Account) -> None:
    client = account("service-quotas")
    wish = {"ServiceCode": "sagemaker", "QuotaCode": "L-8762A75F"}
    asked = client.request_service_quota_increase(**wish, DesiredValue=32.0)["RequestedQuota"]
    assert asked["Status"] == "PENDING"
    with pytest.raises(ClientError) as twice:
        client.request_service_quota_increase(**wish, DesiredValue=40.0)
    assert twice.value.response["Error"]["Code"] == "ResourceAlreadyExistsException"
    account.cloud.advance(3600)
    assert client.get_requested_service_quota_change(RequestId=asked["Id"])["RequestedQuota"]["Status"] == "CASE_OPENED"
    assert client.get_service_quota(**wish)["Quota"]["Value"] == 16.0
    account.cloud.advance(90_000)
    history = client.list_requested_service_quota_change_history(ServiceCode="sagemaker")["RequestedQuotas"]
    assert [one["Status"] for one in history] == ["APPROVED"]
    assert client.get_service_quota(**wish)["Quota"]["Value"] == 32.0
