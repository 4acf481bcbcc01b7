"""Writes about a participant's cloud account: add it, ask whether it lets us in, make a new external id."""

import re
import secrets
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import F
from django.db.models.functions import Now
from django.utils.translation import gettext as _

from clusters import account_opening, facts, states
from clusters.models import CloudAccount
from tenants.history import timeline
from tenants.models import Tenant
from tenants.web.problems import Refused, Stale, rule_broken
from tenants.work import due

ROLE_NAME = "CohortProvisioner"
ROLE_ARN = re.compile(r"arn:aws(?:-cn|-us-gov)?:iam::([0-9]{12}):role/[A-Za-z0-9_+=,.@/-]{1,128}")
# What the provisioner needs: the services its architectures are made of, and nothing else of the account.
ALLOWED = [
    "aps:*", "autoscaling:*", "cloudformation:*", "cloudwatch:*", "dynamodb:*", "ec2:*", "ecr:*", "eks:*",
    "elasticloadbalancing:*", "fsx:*", "grafana:*", "iam:*", "kms:DescribeKey", "lambda:*", "logs:*", "rds:*", "route53:*",
    "s3:*", "sagemaker:*", "sns:*", "sso:CreateManagedApplicationInstance", "sso:DeleteManagedApplicationInstance",
    "sso:DescribeRegisteredRegions", "sso:GetManagedApplicationInstance", "sso:ListInstances",
    "secretsmanager:CreateSecret", "secretsmanager:DeleteSecret", "secretsmanager:DescribeSecret",
    "secretsmanager:GetRandomPassword", "secretsmanager:GetSecretValue", "secretsmanager:PutSecretValue",
    "secretsmanager:TagResource",
    "servicequotas:Get*", "servicequotas:List*", "servicequotas:RequestServiceQuotaIncrease", "ssm:GetParameter*", "sts:AssumeRole", "tag:GetResources",
]  # fmt: skip


def add_account(
    *, tenant: Tenant, account_id: str, name: str, regions: list[str], by: str, role_arn: str = ""
) -> CloudAccount:
    """Add a participant's cloud account. The external id is ours and random, so that nobody can borrow our trust."""
    _check_id(account_id)
    _check_regions(regions)
    role_arn = role_arn.strip() or f"arn:aws:iam::{account_id}:role/{ROLE_NAME}"
    _check_role(role_arn, account_id)
    try:
        with transaction.atomic():
            account = CloudAccount.objects.create(
                tenant=tenant,
                account_id=account_id,
                name=name.strip(),
                regions=sorted(set(regions)),
                role_arn=role_arn,
                external_id=secrets.token_hex(16),
                check_wished_at=Now(),
            )
    except IntegrityError as error:
        if rule_broken(error) != "account_once":
            raise
        raise Refused("account_exists", _("The account %(id)s is already here.") % {"id": account_id}) from None
    account.refresh_from_db()
    timeline.record(states.ACCOUNT_ADDED, about=account, by=by, account=account_id)
    due.wish("account", account.pk, tenant=tenant, lane=account.lane())
    return account


def _check_id(account_id: str) -> None:
    if not re.fullmatch(r"[0-9]{12}", account_id):
        raise Refused(
            "account_id",
            _("'%(id)s' is not an account id: it has exactly 12 digits.") % {"id": account_id[:40]},
            status=422,
            field="account_id",
        )


def _check_regions(regions: list[str]) -> None:
    known = list(facts.load().zones)
    unknown = [region for region in regions if region not in known]
    if unknown or not regions:
        raise Refused(
            "regions",
            _("'%(region)s' is no Region that Cohort knows; there are: %(known)s.")
            % {"region": unknown[0][:40], "known": ", ".join(known)}
            if unknown
            else _("Choose at least one Region in which clusters may be made."),
            status=422,
            field="regions",
            allowed=known,
        )


def _check_role(role_arn: str, account_id: str) -> None:
    told = ROLE_ARN.fullmatch(role_arn)
    if told is None or told[1] != account_id:
        raise Refused(
            "role_arn",
            _("'%(role)s' is no role of the account %(id)s; one looks like %(example)s.")
            % {"role": role_arn[:80], "id": account_id, "example": f"arn:aws:iam::{account_id}:role/{ROLE_NAME}"},
            status=422,
            field="role_arn",
        )


def check_access(*, account: CloudAccount, by: str, version: int | None = None) -> CloudAccount:
    """Ask the engine to try the account now; while an answer is awaited, once is enough."""
    _hold(account, version)
    if being_checked(account):
        return account
    CloudAccount.objects.filter(pk=account.pk).update(check_wished_at=Now())
    timeline.record(states.ACCOUNT_CHECK, about=account, by=by, account=account.account_id)
    due.wish("account", account.pk, tenant=account.tenant_id, lane=account.lane())
    account.refresh_from_db()
    return account


def renew_external_id(*, account: CloudAccount, by: str, version: int | None = None) -> CloudAccount:
    """Make a new external id, for who lost the old one or lent it to somebody: from now on only the new one opens."""
    _hold(account, version)
    CloudAccount.objects.filter(pk=account.pk).update(external_id=secrets.token_hex(16), version=F("version") + 1)
    timeline.record(states.ACCOUNT_RENEWED, about=account, by=by, account=account.account_id)
    account.refresh_from_db()
    return account


def _hold(account: CloudAccount, version: int | None) -> None:
    """Lock it, in the order of the engine: the thing, then the row that waits. Raises Stale for an older version."""
    account.refresh_from_db(from_queryset=CloudAccount.objects.select_for_update(of=("self",)))
    if version is not None and account.version != version:
        raise Stale(
            "stale",
            _("Somebody changed the account %(id)s meanwhile. Look at it again.") % {"id": account.account_id},
            version=account.version,
            changes={},
        )


def being_checked(account: CloudAccount) -> bool:
    """Whether somebody asked after the last answer came."""
    wished, answered = account.check_wished_at, account.checked_at
    return wished is not None and (answered is None or answered < wished)


def answered(account_pk: Any, access: str, why: str = "") -> None:
    """Write down what a try gave: yes, no with the provider's sentence, or unknown because nobody answered."""
    rows = CloudAccount.objects.filter(pk=account_pk)
    rows.exclude(access=access).update(access=access, access_since=Now())
    reasons = {"denied_reason": why if access == "no" else "", "lost_reason": why if access == "unknown" else ""}
    if access == "unknown":
        reasons.pop("denied_reason")  # silence takes nothing back
    contact = {"last_contact_at": Now()} if access == "yes" else {}
    rows.update(checked_at=Now(), **reasons, **contact)


def guard_answered(account: CloudAccount, lets_in_without_id: bool, *, by: str) -> None:
    """Write down whether the role refuses us without our id; what is news stands in the history. It is locked by the caller."""
    found = "no" if lets_in_without_id else "yes"
    before = CloudAccount.objects.values_list("guarded", flat=True).get(pk=account.pk)
    if before == found:
        return
    CloudAccount.objects.filter(pk=account.pk).update(guarded=found)
    if found == "no":
        timeline.record(states.ACCOUNT_UNGUARDED, about=account, by=by, account=account.account_id)
    elif before == "no":
        timeline.record(states.ACCOUNT_GUARDED, about=account, by=by, account=account.account_id)


def trust_policy(account: CloudAccount) -> dict[str, Any]:
    """What the account's owner pastes as the role's trust: only Cohort, and only with this id, may take the role."""
    statement = {
        "Effect": "Allow",
        "Principal": {"AWS": settings.TRUSTED_PRINCIPAL},
        "Action": "sts:AssumeRole",
        "Condition": {"StringEquals": {"sts:ExternalId": account.external_id}},
    }
    return {"Version": "2012-10-17", "Statement": [statement]}


def opening(account: CloudAccount) -> dict[str, str]:
    """How its owner makes the role without typing: `link` (empty where the operator has laid no template into S3) and `line`.

    Both hold the external id, so they are shown with it and nowhere else.
    """
    told = account_opening.parameters(account.role_arn, account.external_id)
    body = account_opening.template(permissions(), settings.TRUSTED_PRINCIPAL)
    region = account.regions[0]
    plain = account.role_arn.startswith("arn:aws:")  # other partitions have other consoles
    return {
        "link": account_opening.quick_create(settings.ROLE_TEMPLATE_URL if plain else "", told, region),
        "line": account_opening.one_line(body, told, region),
    }


def permissions() -> dict[str, Any]:
    """What the role has to be allowed."""
    return {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": ALLOWED, "Resource": "*"}]}
