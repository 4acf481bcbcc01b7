"""Ask an account afresh what it says of itself, and keep it: its facts with their age, its quotas, its plans and reservations."""

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import structlog
from django.utils import timezone

from clusters import facts, states
from clusters.engine.facts import ENGINE, account_of
from clusters.models import AccountFact, CloudAccount, ExternalObject, LedgerRow, Reservation, ServiceQuota
from clusters.providers import Account, ProviderError, account_facts, aws
from clusters.providers.account_facts import Asked, Question
from tenants.history import timeline
from tenants.wall.acting import acting_for
from tenants.work import due

log = structlog.get_logger(__name__)

SERVICES = {
    "sagemaker": ("for cluster usage", "HyperPod"),
    "fsx": ("Lustre", "OpenZFS file systems"),
    "ec2": ("Running On-Demand", "Elastic IPs"),
    "vpc": (
        "Network interfaces per Region",
        "VPCs per Region",
        "NAT gateways per Availability Zone",
        "VPC security groups per Region",
    ),
}


@dataclass(frozen=True)
class Answer:
    """What an account told of one Region."""

    region: str
    quotas: list[dict[str, Any]]
    told: list[Asked]


def question(row: CloudAccount, region: str) -> Question:
    """About every instance type that we know, and the networks that we made there. Inside a scope."""
    bases = ExternalObject.objects.filter(
        cluster__account=row, region=region, role="base", existed=True, state__in=["exists", "updating", "failed"]
    )
    networks = {outputs.get("VpcId", "") for outputs in bases.values_list("outputs", flat=True)}
    return Question(tuple(sorted(facts.load().instances)), tuple(sorted(filter(None, networks))))


def ask(row: CloudAccount, region: str, about: Question, kinds: Iterable[str] = ()) -> Answer:
    """Ask, in no transaction. Raises ProviderError when nobody is let in, or when we are to slow down."""
    account = account_of(row, region)
    told = account_facts.ask(account, about, kinds)
    try:
        return Answer(region, _quotas(account), told)
    except ProviderError as error:
        if error.kind in ("throttled", "expired"):
            raise
        log.info("quotas_not_read", account=row.account_id, region=region, kind=error.kind, message=error.message)
        return Answer(region, [], told)


def _quotas(account: Account) -> list[dict[str, Any]]:
    return [
        {**quota, "ServiceCode": service}
        for service, words in SERVICES.items()
        for quota in aws.pages(
            account, "service-quotas", "ListServiceQuotas", "Quotas", ServiceCode=service, MaxResults=100
        )
        if any(word in quota["QuotaName"] for word in words)
    ]


def refresh(tenant: Any, account: Any, region: str) -> str:
    """Ask an account afresh and keep what it said; why not, where it could not be asked. In no transaction."""
    with acting_for(tenant, staff=True):
        row = CloudAccount.objects.filter(pk=account).first()
        if row is None:
            return "The account is gone."
        about = question(row, region)
    try:
        answer = ask(row, region, about)
    except ProviderError as error:
        log.info("account_not_asked", account=row.account_id, region=region, kind=error.kind, message=error.message)
        return error.message
    with acting_for(tenant, staff=True):
        keep(CloudAccount.objects.select_for_update().get(pk=account), answer)
    return ""


def keep(row: CloudAccount, answer: Answer) -> None:
    """Write it down; what could not be read keeps what was known before, with its age. The account is locked by the caller."""
    changed = _keep_quotas(row, answer.region, answer.quotas)
    _keep_facts(row, answer)
    for told in answer.told:
        if told.kind == "capacity" and not told.error:
            for name, one in [*told.body["plans"].items(), *told.body["reservations"].items()]:
                mine = Reservation.objects.filter(external_id=name, region=answer.region)
                if mine.exclude(engine_status=one["state"]).update(engine_status=one["state"]):
                    for pk in mine.values_list("pk", flat=True):
                        due.wish("reservation", pk, tenant=row.tenant_id)
    if changed:
        timeline.record(
            states.ACCOUNT_READ, about=row, by=ENGINE, account=row.account_id, region=answer.region, count=changed
        )


def _keep_facts(row: CloudAccount, answer: Answer) -> None:
    now = timezone.now()
    common = {"tenant_id": row.tenant_id, "account": row, "region": answer.region, "tried_at": now}
    unique = ["tenant", "account", "region", "kind"]
    read = [
        AccountFact(kind=told.kind, body=told.body, read_at=now, **common) for told in answer.told if not told.error
    ]
    not_read = [AccountFact(kind=told.kind, error=told.error, **common) for told in answer.told if told.error]
    for rows, fields in ((read, ["body", "read_at", "tried_at", "error"]), (not_read, ["tried_at", "error"])):
        AccountFact.objects.bulk_create(rows, update_conflicts=True, unique_fields=unique, update_fields=fields)


def _keep_quotas(row: CloudAccount, region: str, quotas: list[dict[str, Any]]) -> int:
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
    changed = [quota for quota in read if known.get((quota.service, quota.name)) != quota.value]
    LedgerRow.objects.bulk_create(
        LedgerRow(
            tenant_id=row.tenant_id, ledger=LedgerRow.Ledger.QUOTA, account=row, region=region, by=ENGINE,
            quota=f"{quota.service}: {quota.name}", delta=delta, why="read from the account",
        )
        for quota in changed
        if (delta := int(quota.value) - int(known.get((quota.service, quota.name), 0)))
    )  # fmt: skip
    return len(changed)
