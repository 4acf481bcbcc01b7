"""STS: roles are assumed only by whom their trust policy names, with the external id it asks for, and for a while."""

import json
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import Any
from urllib.parse import unquote

from clusters.sandbox import credentials, moto_services
from clusters.sandbox.cloud import Cloud
from clusters.sandbox.errors import AwsError
from clusters.sandbox.services import Call, operation

LONGEST_CHAINED = 3600


@operation("sts", "GetCallerIdentity")
def get_caller_identity(cloud: Cloud, call: Call) -> dict[str, Any]:
    who = call.principal
    assert who is not None
    return {"UserId": who.user_id, "Account": who.account, "Arn": who.arn}


@operation("sts", "AssumeRole")
def assume_role(cloud: Cloud, call: Call) -> dict[str, Any]:
    who, wish = call.principal, call.parameters
    assert who is not None
    role_arn, external_id = wish["RoleArn"], wish.get("ExternalId")
    role = role_of(role_arn)
    trusted = role is not None and trusts(trust_of(role), who, external_id)
    if role is None or not trusted:
        raise AwsError(
            "AccessDenied",
            f"User: {who.arn} is not authorized to perform: sts:AssumeRole on resource: {role_arn}",
            403,
        )
    seconds = int(wish.get("DurationSeconds") or 3600)
    if who.role_arn and seconds > LONGEST_CHAINED:
        raise AwsError(
            "ValidationError",
            "The requested DurationSeconds exceeds the 1 hour session limit for roles assumed by role chaining",
        )
    if seconds > int(role.max_session_duration or 3600):
        message = "The requested DurationSeconds exceeds the MaxSessionDuration set for this role."
        raise AwsError("ValidationError", message)
    expires = cloud.clock.callers_now() + seconds
    key, session = credentials.new_session(cloud.store, role.arn, role.id, wish["RoleSessionName"], expires)
    call.effective = True
    return {
        "Credentials": {
            "AccessKeyId": key,
            "SecretAccessKey": session.secret,
            "SessionToken": session.token,
            "Expiration": datetime.fromtimestamp(expires, UTC),
        },
        "AssumedRoleUser": {"AssumedRoleId": session.user_id, "Arn": session.arn},
    }


def role_of(arn: str) -> Any:
    """moto's role with this ARN, or None."""
    parts = arn.split(":", 5)
    if len(parts) != 6 or parts[2] != "iam" or not parts[4].isdigit() or not parts[5].startswith("role/"):
        return None
    roles = moto_services.backend("iam", parts[4], "aws").roles.values()
    return next((role for role in roles if role.arn == arn), None)


def trust_of(role: Any) -> list[dict[str, Any]]:
    """The statements of a role's trust policy."""
    document = role.assume_role_policy_document
    policy = json.loads(unquote(document)) if isinstance(document, str) else document
    return _listed(policy.get("Statement", []))


def trusts(statements: list[dict[str, Any]], who: credentials.Principal, external_id: str | None) -> bool:
    """Whether somebody may assume a role; a matching Deny wins."""
    verdicts = {
        statement.get("Effect")
        for statement in statements
        if any(fnmatchcase("sts:AssumeRole", action) for action in _listed(statement.get("Action", [])))
        and _is(who, statement.get("Principal", {}))
        and _holds(statement.get("Condition") or {}, {"sts:ExternalId": external_id, "aws:PrincipalArn": who.arn})
    }
    return "Allow" in verdicts and "Deny" not in verdicts


def trusts_service(role: Any, service: str) -> bool:
    return any(
        statement.get("Effect") == "Allow"
        and "sts:AssumeRole" in _listed(statement.get("Action", []))
        and isinstance(statement.get("Principal"), dict)
        and service in _listed(statement["Principal"].get("Service", []))
        for statement in trust_of(role)
    )


def _is(who: credentials.Principal, principal: Any) -> bool:
    names = _listed(principal.get("AWS", [])) if isinstance(principal, dict) else [principal]
    mine = {"*", who.account, f"arn:aws:iam::{who.account}:root", who.arn, who.role_arn}
    return any(name in mine for name in names)


def _holds(conditions: dict[str, Any], facts: dict[str, str | None]) -> bool:
    """All conditions hold; one that the sandbox does not know does not."""
    for operator, terms in conditions.items():
        for key, wanted in terms.items():
            value = facts.get(key)
            if operator == "StringEquals":
                held = value in _listed(wanted)
            elif operator in ("StringLike", "ArnLike"):
                held = value is not None and any(fnmatchcase(value, pattern) for pattern in _listed(wanted))
            else:
                held = False
            if not held:
                return False
    return True


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
