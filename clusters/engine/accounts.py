"""Read what an account itself says: whether it lets us in, its quotas, its training plans."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.utils import timezone

from clusters import states
from clusters.accounts import answered
from clusters.engine.facts import ENGINE, account_of
from clusters.models import CloudAccount, Reservation, ServiceQuota
from clusters.providers import ProviderError, aws
from tenants import metrics
from tenants.history import timeline
from tenants.wall.acting import acting_for
from tenants.work import due

HOURLY = timedelta(hours=1)
DENIED_AGAIN = timedelta(seconds=10)  # the account's owner is probably at it right now
LOST_AGAIN = timedelta(minutes=1)
SERVICES = {
    "sagemaker": ("for cluster usage", "HyperPod"),
    "fsx": ("Lustre",),
    "ec2": ("Running On-Demand", "Elastic IPs"),
    "vpc": ("Network interfaces per Region", "VPCs per Region"),
}


def step(held: due.Held) -> None:
    """Handle one due account: every Region it is used in."""
    with acting_for(held.tenant_id, staff=True):
        row = CloudAccount.objects.filter(pk=held.ref).first()
        if row is None:
            due.finish(held, again_in=None)
            return
    try:
        read = {region: _read(row, region) for region in row.regions}
        center = _identity_center(row)
    except ProviderError as error:
        metrics.provider_error("account", error.kind)
        with acting_for(held.tenant_id, staff=True):
            _refused(held, row, error)
        return
    with acting_for(held.tenant_id, staff=True):
        CloudAccount.objects.select_for_update().get(pk=row.pk)
        due.finish(held, again_in=HOURLY)
        answered(row.pk, "yes")
        CloudAccount.objects.filter(pk=row.pk).exclude(identity_center=center).update(identity_center=center)
        for region, (quotas, held_capacity) in read.items():
            changed = _keep(row, region, quotas)
            for name, status in held_capacity.items():
                Reservation.objects.filter(external_id=name, region=region).update(engine_status=status)
            if changed:
                timeline.record(
                    states.ACCOUNT_READ, about=row, by=ENGINE, account=row.account_id, region=region, count=changed
                )


def _read(row: CloudAccount, region: str) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Its quotas, and the provider's word for each training plan and EC2 reservation."""
    account = account_of(row, region)
    quotas = [
        {**quota, "ServiceCode": service}
        for service, words in SERVICES.items()
        for quota in aws.pages(
            account, "service-quotas", "ListServiceQuotas", "Quotas", ServiceCode=service, MaxResults=100
        )
        if any(word in quota["QuotaName"] for word in words)
    ]
    plans = aws.pages(account, "sagemaker", "ListTrainingPlans", "TrainingPlanSummaries", MaxResults=100)
    states_of = {plan["TrainingPlanName"]: plan["Status"] for plan in plans}
    reserved = aws.pages(account, "ec2", "DescribeCapacityReservations", "CapacityReservations", MaxResults=100)
    return quotas, states_of | {one["CapacityReservationId"]: one["State"] for one in reserved}


def _identity_center(row: CloudAccount) -> str:
    """Whether people can be signed in to Amazon Managed Grafana; a role that may not ask leaves it unknown."""
    try:
        told = aws.call(account_of(row, row.regions[0]), "sso-admin", "ListInstances")
    except ProviderError as error:
        if error.kind in ("denied", "refused"):
            return "unknown"
        raise
    return "yes" if told.get("Instances") else "no"


def _keep(row: CloudAccount, region: str, quotas: list[dict[str, Any]]) -> int:
    """Keep what the account says, all in one statement; for how many quotas it is news."""
    rows = ServiceQuota.objects.filter(account=row, region=region).values_list("service", "name", "value")
    known = {(service, name): value for service, name, value in rows}
    told = {(quota["ServiceCode"], quota["QuotaName"]): quota for quota in quotas}
    now = timezone.now()
    read = [
        ServiceQuota(
            tenant_id=row.tenant_id,
            account=row,
            region=region,
            service=service,
            name=name,
            value=Decimal(str(quota["Value"])),
            code=quota.get("QuotaCode", ""),
            read_at=now,
        )
        for (service, name), quota in told.items()
    ]
    ServiceQuota.objects.bulk_create(
        read,
        update_conflicts=True,
        unique_fields=["tenant", "account", "region", "service", "name"],
        update_fields=["value", "code", "read_at"],
    )
    return sum(known.get((quota.service, quota.name)) != quota.value for quota in read)


def _refused(held: due.Held, row: CloudAccount, error: ProviderError) -> None:
    denied = error.kind in ("denied", "refused")
    CloudAccount.objects.select_for_update().get(pk=row.pk)
    due.finish(held, again_in=DENIED_AGAIN if denied else LOST_AGAIN, give_back=error.kind == "throttled")
    answered(row.pk, "no" if denied else "unknown", error.message)
    if denied and row.denied_reason != error.message:
        timeline.record(states.ACCOUNT_DENIED, about=row, by=ENGINE, account=row.account_id, why=error.message)
