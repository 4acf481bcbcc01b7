"""Cloud accounts in the API."""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from clusters import actions, queries
from tenants.wall import roles
from tenants.wall.access import allow
from tenants.web.api import endpoint, versioned
from tenants.web.bodies import Asked, asked
from tenants.web.idempotency import repeatable
from tenants.web.listing import Listing, Shown, one


class AccountShown(Shown):
    """A cloud account of a participant and how Cohort is let in. It holds no keys."""

    account_id = serializers.CharField()
    name = serializers.CharField()
    role_arn = serializers.CharField()
    regions = serializers.ListField(child=serializers.CharField())
    last_contact_at = serializers.DateTimeField(allow_null=True)
    denied_reason = serializers.CharField(help_text="Why the account does not let us in; empty when it does.")
    version = serializers.IntegerField()


class AccountAsked(Asked):
    account_id = serializers.RegexField(r"^[0-9]{12}\Z", max_length=12, help_text="Twelve digits.")
    name = serializers.CharField(max_length=80, allow_blank=True, default="")
    regions = serializers.ListField(
        child=serializers.RegexField(r"^[a-z]{2}(-[a-z]+)+-\d\Z", max_length=20), max_length=40
    )


ACCOUNTS = Listing("accounts", AccountShown, name="account_id")


@allow(roles.READ)
@ACCOUNTS.described
@endpoint("GET")
def accounts(request: Request) -> Response:
    """Cloud accounts."""
    return ACCOUNTS.answer(request, queries.accounts())


@allow(roles.READ, write=roles.OPERATE)
@ACCOUNTS.described
@extend_schema(methods=["POST"], request=AccountAsked, responses={202: AccountShown})
@endpoint("GET", "POST")
@repeatable(required=False)
def tenant_accounts(request: Request) -> Response:
    """Cloud accounts of one tenant; add one."""
    if request.method != "POST":
        return ACCOUNTS.answer(request, queries.accounts())
    added = actions.add_account(tenant=request.tenant, by=request.actor, **asked(AccountAsked, request))
    return versioned(AccountShown(one(queries.accounts(), AccountShown, added.pk)).data, 1, status=202)
