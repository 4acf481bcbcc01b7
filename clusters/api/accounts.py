"""Cloud accounts in the API."""

from typing import Any
from uuid import UUID

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters import accounts as accounts_of
from clusters import queries
from clusters.models import CloudAccount, Orphan
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web.api import endpoint, optional_version, versioned
from tenants.web.bodies import Asked, asked
from tenants.web.idempotency import repeatable
from tenants.web.listing import Listing, Shown, one


class AccountShown(Shown):
    """A cloud account of a participant and how Cohort is let in. It holds no keys."""

    account_id = serializers.CharField()
    name = serializers.CharField()
    role_arn = serializers.CharField()
    regions = serializers.ListField(child=serializers.CharField())
    identity_center = serializers.CharField(help_text="Whether it has IAM Identity Center: yes, no or unknown.")
    access = serializers.ChoiceField(choices=CloudAccount.Access.choices, help_text="Whether it lets us in.")
    access_since = serializers.DateTimeField(allow_null=True, help_text="Since when that is the answer.")
    check_wished_at = serializers.DateTimeField(
        allow_null=True, help_text="Later than `checked_at`: it is being tried."
    )
    checked_at = serializers.DateTimeField(allow_null=True, help_text="When it was last tried.")
    lost_reason = serializers.CharField(help_text="Why nobody answered, when it is not known.")
    last_contact_at = serializers.DateTimeField(allow_null=True)
    denied_reason = serializers.CharField(help_text="Why the account does not let us in; empty when it does.")
    guarded = serializers.ChoiceField(
        choices=CloudAccount.Access.choices,
        help_text="Whether its role refuses us without the external id, as it has to.",
    )
    version = serializers.IntegerField()


class AccountOpened(AccountShown):
    """An account with the external id and the policies for its owner. The id is told this once and never again."""

    external_id = serializers.CharField()
    trust_policy = serializers.DictField(help_text="The trust policy of the role.")
    permissions = serializers.DictField(help_text="What the role has to be allowed.")
    link = serializers.CharField(
        help_text="Makes the role in the provider's console; empty where the operator has laid no template into S3."
    )
    line = serializers.CharField(help_text="The command that makes the role, for a shell of the account.")


class AccountAsked(Asked):
    account_id = serializers.RegexField(r"^[0-9]{12}\Z", max_length=12, help_text="Twelve digits.")
    name = serializers.CharField(max_length=80, allow_blank=True, default="")
    regions = serializers.ListField(
        child=serializers.RegexField(r"^[a-z]{2}(-[a-z]+)+-\d\Z", max_length=20), max_length=40
    )
    role_arn = serializers.CharField(
        max_length=200, allow_blank=True, default="", help_text="Empty: the role CohortProvisioner of that account."
    )


class AccountVersionAsked(Asked):
    version = serializers.IntegerField(
        min_value=1, max_value=10**9, required=False, help_text="Or `If-Match` with the ETag."
    )


ACCOUNTS = Listing("accounts", AccountShown, name="account_id")


@allow(roles.READ)
@ACCOUNTS.described
@endpoint("GET")
def accounts(request: Request) -> Response:
    """Cloud accounts."""
    return ACCOUNTS.answer(request, queries.accounts())


def _row(pk: UUID) -> dict[str, Any]:
    return one(queries.accounts(), AccountShown, pk)


def _opened(account: CloudAccount, status: int) -> Response:
    told = {
        "external_id": account.external_id,
        "trust_policy": accounts_of.trust_policy(account),
        "permissions": accounts_of.permissions(),
        **accounts_of.opening(account),
    }
    return versioned(AccountOpened(_row(account.pk) | told).data, account.version, status=status)


def _found(pk: UUID) -> CloudAccount:
    found = queries.accounts().filter(pk=pk).first()
    if found is None:
        raise Http404
    return found


@allow(roles.READ, write=roles.CONNECT)
@ACCOUNTS.described
@extend_schema(methods=["POST"], request=AccountAsked, responses={202: AccountOpened})
@endpoint("GET", "POST")
@repeatable(required=False)
def tenant_accounts(request: Request) -> Response:
    """Cloud accounts of one tenant; add one. The answer tells the external id, this once."""
    if request.method != "POST":
        return ACCOUNTS.answer(request, queries.accounts())
    added = accounts_of.add_account(tenant=request.tenant, by=request.actor, **asked(AccountAsked, request))
    return _opened(added, 202)


@allow(roles.READ)
@extend_schema(responses=AccountShown)
@endpoint("GET")
def account(request: Request, pk: UUID) -> Response:
    """One cloud account."""
    row = _row(pk)
    return versioned(AccountShown(row).data, row["version"])


@allow(roles.CONNECT)
@extend_schema(request=AccountVersionAsked, responses={202: AccountShown})
@endpoint("POST")
@repeatable(required=False)
def check(request: Request, pk: UUID) -> Response:
    """Try now whether the account lets us in; the answer is its `access`, a moment later."""
    version = optional_version(request, asked(AccountVersionAsked, request))
    accounts_of.check_access(account=_found(pk), by=request.actor, version=version)
    row = _row(pk)
    return versioned(AccountShown(row).data, row["version"], status=202)


@allow(roles.CONNECT)
@extend_schema(request=AccountVersionAsked, responses={200: AccountOpened})
@endpoint("POST")
@repeatable(required=False)
def renew(request: Request, pk: UUID) -> Response:
    """Make a new external id. The old one no longer opens: the role's trust has to be changed."""
    sent = asked(AccountVersionAsked, request)
    found = accounts_of.renew_external_id(account=_found(pk), by=request.actor, version=optional_version(request, sent))
    return _opened(found, 200)


class OrphanShown(Shown):
    """Something in the account that carries the tags of this installation though no cluster accounts for it."""

    account = serializers.UUIDField(source="account_id")
    region = serializers.CharField()
    kind = serializers.ChoiceField(choices=Orphan.Kind.choices)
    arn = serializers.CharField(source="external_id")
    name = serializers.CharField()
    claims = serializers.CharField(help_text="The id of the cluster that its tags name; empty: none.")
    found_at = serializers.DateTimeField()


ORPHANS = Listing("orphans", OrphanShown, newest="found_at")


@allow(roles.READ)
@ORPHANS.described
@endpoint("GET")
def orphans(request: Request, pk: UUID) -> Response:
    """What is in quarantine there: seen and told, and never touched."""
    return ORPHANS.answer(request, queries.orphans(_found(pk)).order_by())
