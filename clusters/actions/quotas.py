"""Writes about quotas: ask the provider for more of what a line of the record needs."""

import uuid
from collections.abc import Sequence
from decimal import Decimal

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from clusters import facts, states
from clusters.models import CloudAccount, QuotaGrant, QuotaRequest, ServiceQuota
from tenants.history import timeline
from tenants.programme_day import programme_today
from tenants.web.problems import Refused
from tenants.work import due

MOST_INSTANCES = 10_000
LONGEST_REASON = 300


def accounts_of(grant: QuotaGrant) -> Sequence[CloudAccount]:
    """The participant's accounts that are used in the Region of this line."""
    rows = CloudAccount.objects.order_by("account_id")
    return [row for row in rows if row.tenant_id == grant.tenant_id and grant.region in row.regions]


def needed(grant: QuotaGrant, instances: int) -> int:
    """So many instances in the unit of the provider's quota. Raises Refused where that is not known."""
    if not grant.provider_limit or not grant.provider_service:
        sentence = _(
            "The line of %(type)s in %(region)s does not say which quota of the provider limits it. Edit the line first."
        )
        raise Refused("quota_unknown", sentence % {"type": grant.instance_type, "region": grant.region}, status=409)
    if grant.provider_unit.lower().startswith("instance"):
        return instances
    known = facts.load().instances.get(grant.instance_type.removeprefix("ml."))
    if known is None or not known.vcpus:
        sentence = _("How many vCPUs %(type)s has is not known here, so its quota cannot be asked for.")
        raise Refused("quota_unknown", sentence % {"type": grant.instance_type}, status=409)
    return instances * known.vcpus


def ask_for_more(*, grant: QuotaGrant, account: CloudAccount, instances: int, reason: str, by: str) -> QuotaRequest:
    """Ask the provider for a quota that allows so many instances. Raises Refused: quota_unknown, enough, already_asked, too_many."""
    if not 1 <= instances <= MOST_INSTANCES:
        sentence = _("%(n)s instances cannot be asked for: say a number from 1 to %(most)s.")
        raise Refused("too_many", sentence % {"n": instances, "most": MOST_INSTANCES}, status=422, field="instances")
    value, code = needed(grant, instances), _code(grant, account, needed(grant, instances))
    asked = QuotaRequest(
        tenant_id=grant.tenant_id,
        participation_id=grant.participation_id,
        number=f"QR-{uuid.uuid4().hex[:8]}",
        region=grant.region,
        instance_type=grant.instance_type,
        instances=instances,
        provider_unit=grant.provider_unit,
        provider_value=value,
        reason=reason[:LONGEST_REASON],
        requested_on=programme_today(),
        account=account,
        service=grant.provider_service,
        name=grant.provider_limit,
        code=code,
    )
    try:
        with transaction.atomic():
            asked.save(force_insert=True)
    except IntegrityError as error:
        if "quota_request_open_once" not in str(error):
            raise
        sentence = _(
            "More of '%(name)s' was already asked for in account %(account)s, and the provider takes one request at a time. Wait for its answer."
        )
        values = {"name": grant.provider_limit, "account": account.account_id}
        raise Refused("already_asked", sentence % values, status=409) from error
    timeline.record(
        states.QUOTA_ASKED, about=asked, by=by, number=asked.number, instances=instances, instance_type=grant.instance_type,
        region=grant.region, reason=asked.reason or "–", account=account.account_id, value=value, unit=grant.provider_unit,
    )  # fmt: skip
    due.wish("quota", asked.pk, tenant=asked.tenant_id, lane=account.lane())
    return asked


def _code(grant: QuotaGrant, account: CloudAccount, value: int) -> str:
    """The quota's code as the account itself told it; by its exact name, since codes that are passed around are often wrong."""
    quota = ServiceQuota.objects.filter(
        account=account, region=grant.region, service=grant.provider_service, name=grant.provider_limit
    ).first()
    values = {"name": grant.provider_limit, "account": account.account_id, "region": grant.region, "value": value}
    if quota is None or not quota.code:
        sentence = _(
            "Account %(account)s has not told of a quota '%(name)s' in %(region)s. Check its access, or edit the line."
        )
        raise Refused("quota_unknown", sentence % values, status=409)
    if quota.value >= Decimal(value):
        sentence = _(
            "Account %(account)s already allows %(now)s of '%(name)s' in %(region)s, and %(value)s are needed. Nothing has to be asked for."
        )
        raise Refused(
            "enough",
            sentence % (values | {"now": f"{quota.value:f}".rstrip("0").rstrip(".")}),
            status=409,
            field="instances",
        )
    return quota.code
