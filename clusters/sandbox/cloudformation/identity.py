"""The resources of a template that say who may do what, and the small things kept beside: IAM, parameters, secrets, logs."""

import json
import secrets
import string
from typing import Any

from clusters.sandbox.cloudformation.resources import Made, Place, kind, whole


def _document(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _role(place: Place, p: dict[str, Any]) -> Made:
    name = p.get("RoleName") or place.name(64)
    made = place.ask(
        "iam", "CreateRole", RoleName=name, AssumeRolePolicyDocument=_document(p["AssumeRolePolicyDocument"]),
        Path=p.get("Path"), Description=p.get("Description"), PermissionsBoundary=p.get("PermissionsBoundary"),
        MaxSessionDuration=whole(p["MaxSessionDuration"]) if "MaxSessionDuration" in p else None,
        Tags=place.plain_tags(p.get("Tags")),
    )["Role"]  # fmt: skip
    for arn in p.get("ManagedPolicyArns") or []:
        place.ask("iam", "AttachRolePolicy", RoleName=name, PolicyArn=arn)
    for policy in p.get("Policies") or []:
        _put(place, name, policy["PolicyName"], policy["PolicyDocument"])
    return name, {"Arn": made["Arn"], "RoleId": made["RoleId"]}


def _put(place: Place, role: str, name: str, document: Any) -> None:
    place.ask("iam", "PutRolePolicy", RoleName=role, PolicyName=name, PolicyDocument=_document(document))


def _change_role(place: Place, name: str, old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    trust = _document(new["AssumeRolePolicyDocument"])
    place.ask("iam", "UpdateAssumeRolePolicy", RoleName=name, PolicyDocument=trust)
    for arn in set(old.get("ManagedPolicyArns") or []) - set(new.get("ManagedPolicyArns") or []):
        place.ask("iam", "DetachRolePolicy", RoleName=name, PolicyArn=arn)
    for arn in set(new.get("ManagedPolicyArns") or []) - set(old.get("ManagedPolicyArns") or []):
        place.ask("iam", "AttachRolePolicy", RoleName=name, PolicyArn=arn)
    wanted = {policy["PolicyName"]: policy["PolicyDocument"] for policy in new.get("Policies") or []}
    for policy in old.get("Policies") or []:
        if policy["PolicyName"] not in wanted:
            place.ask("iam", "DeleteRolePolicy", RoleName=name, PolicyName=policy["PolicyName"])
    for policy_name, document in wanted.items():
        _put(place, name, policy_name, document)
    return {}


def _delete_role(place: Place, name: str, _: dict[str, Any]) -> None:
    for policy in place.ask("iam", "ListAttachedRolePolicies", RoleName=name)["AttachedPolicies"]:
        place.ask("iam", "DetachRolePolicy", RoleName=name, PolicyArn=policy["PolicyArn"])
    for policy in place.ask("iam", "ListRolePolicies", RoleName=name)["PolicyNames"]:
        place.ask("iam", "DeleteRolePolicy", RoleName=name, PolicyName=policy)
    place.ask("iam", "DeleteRole", RoleName=name)


def _policy(place: Place, p: dict[str, Any]) -> Made:
    for role in p.get("Roles") or []:
        _put(place, role, p["PolicyName"], p["PolicyDocument"])
    return p["PolicyName"], {"Id": p["PolicyName"]}


def _change_policy(place: Place, _: str, old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    _delete_policy(place, "", old)
    _policy(place, new)
    return {}


def _delete_policy(place: Place, _: str, p: dict[str, Any]) -> None:
    for role in p.get("Roles") or []:
        place.ask("iam", "DeleteRolePolicy", RoleName=role, PolicyName=p["PolicyName"])


def _managed(place: Place, p: dict[str, Any]) -> Made:
    name, document = p.get("ManagedPolicyName") or place.name(128), _document(p["PolicyDocument"])
    arn = place.ask(
        "iam", "CreatePolicy", PolicyName=name, PolicyDocument=document, Path=p.get("Path"), Description=p.get("Description")
    )["Policy"]["Arn"]  # fmt: skip
    for role in p.get("Roles") or []:
        place.ask("iam", "AttachRolePolicy", RoleName=role, PolicyArn=arn)
    return arn, {"PolicyArn": arn}


def _delete_managed(place: Place, arn: str, p: dict[str, Any]) -> None:
    for role in p.get("Roles") or []:
        place.ask("iam", "DetachRolePolicy", RoleName=role, PolicyArn=arn)
    place.ask("iam", "DeletePolicy", PolicyArn=arn)


def _profile(place: Place, p: dict[str, Any]) -> Made:
    name = p.get("InstanceProfileName") or place.name(128)
    made = place.ask("iam", "CreateInstanceProfile", InstanceProfileName=name, Path=p.get("Path"))
    for role in p["Roles"]:
        place.ask("iam", "AddRoleToInstanceProfile", InstanceProfileName=name, RoleName=role)
    return name, {"Arn": made["InstanceProfile"]["Arn"]}


def _delete_profile(place: Place, name: str, p: dict[str, Any]) -> None:
    for role in p["Roles"]:
        place.ask("iam", "RemoveRoleFromInstanceProfile", InstanceProfileName=name, RoleName=role)
    place.ask("iam", "DeleteInstanceProfile", InstanceProfileName=name)


def _parameter(place: Place, p: dict[str, Any]) -> Made:
    name = p.get("Name") or place.name(128)
    tags = [{"Key": key, "Value": str(value)} for key, value in (p.get("Tags") or {}).items()]
    place.ask(
        "ssm", "PutParameter", Name=name, Value=str(p["Value"]), Type=p["Type"], Description=p.get("Description"),
        Tags=place.plain_tags(tags),
    )  # fmt: skip
    return name, {"Type": p["Type"], "Value": str(p["Value"])}


def _change_parameter(place: Place, name: str, _: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    place.ask("ssm", "PutParameter", Name=name, Value=str(new["Value"]), Type=new["Type"], Overwrite=True)
    return {"Value": str(new["Value"])}


def _delete_parameter(place: Place, name: str, _: dict[str, Any]) -> None:
    place.ask("ssm", "DeleteParameter", Name=name)


def _secret(place: Place, p: dict[str, Any]) -> Made:
    value, rule = p.get("SecretString"), p.get("GenerateSecretString")
    if value is None and rule is not None:
        letters = string.ascii_letters + string.digits
        made = "".join(secrets.choice(letters) for _ in range(whole(rule.get("PasswordLength", 32))))
        value = made
        if rule.get("GenerateStringKey"):
            value = json.dumps(
                {**json.loads(rule.get("SecretStringTemplate") or "{}"), rule["GenerateStringKey"]: made}
            )
    arn = place.ask(
        "secretsmanager", "CreateSecret", Name=p.get("Name") or place.name(64), SecretString=value,
        Description=p.get("Description"), KmsKeyId=p.get("KmsKeyId"), Tags=place.plain_tags(p.get("Tags")),
        ClientRequestToken=secrets.token_hex(16),
    )["ARN"]  # fmt: skip
    return arn, {"Id": arn}


def _delete_secret(place: Place, arn: str, _: dict[str, Any]) -> None:
    place.ask("secretsmanager", "DeleteSecret", SecretId=arn, ForceDeleteWithoutRecovery=True)


def _log_group(place: Place, p: dict[str, Any]) -> Made:
    name = p.get("LogGroupName") or place.name(512)
    place.ask("logs", "CreateLogGroup", logGroupName=name, kmsKeyId=p.get("KmsKeyId"))
    if "RetentionInDays" in p:
        place.ask("logs", "PutRetentionPolicy", logGroupName=name, retentionInDays=whole(p["RetentionInDays"]))
    return name, {"Arn": place.arn("logs", f"log-group:{name}:*")}


def _delete_log_group(place: Place, name: str, _: dict[str, Any]) -> None:
    place.ask("logs", "DeleteLogGroup", logGroupName=name)


def _change_secret(place: Place, arn: str, old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """Another value is another version of it; what was generated stays."""
    if "SecretString" in new and new["SecretString"] != old.get("SecretString"):
        place.ask("secretsmanager", "PutSecretValue", SecretId=arn, SecretString=new["SecretString"],
                  ClientRequestToken=secrets.token_hex(16))  # fmt: skip
    return {}


kind("AWS::IAM::Role", create=_role, delete=_delete_role, update=_change_role, required="AssumeRolePolicyDocument",
     optional="RoleName Path Description ManagedPolicyArns Policies MaxSessionDuration PermissionsBoundary Tags",
     in_place=lambda old, new: all(old.get(name) == new.get(name) for name in ("RoleName", "Path")),
     attributes="Arn RoleId", comes=18.0, iam="RoleName")  # fmt: skip
kind("AWS::IAM::Policy", create=_policy, delete=_delete_policy, update=_change_policy,
     required="PolicyName PolicyDocument", optional="Roles", attributes="Id", comes=16.0, iam="-")  # fmt: skip
kind("AWS::IAM::ManagedPolicy", create=_managed, delete=_delete_managed, required="PolicyDocument", comes=16.0,
     optional="ManagedPolicyName Path Description Roles", attributes="PolicyArn", iam="ManagedPolicyName")  # fmt: skip
kind("AWS::IAM::InstanceProfile", create=_profile, delete=_delete_profile, required="Roles", comes=125.0,
     optional="InstanceProfileName Path", attributes="Arn", iam="InstanceProfileName")  # fmt: skip
kind("AWS::SSM::Parameter", create=_parameter, delete=_delete_parameter, update=_change_parameter,
     required="Type Value", optional="Name Description Tags Tier AllowedPattern", attributes="Type Value",
     comes=2.0)  # fmt: skip
kind("AWS::SecretsManager::Secret", create=_secret, delete=_delete_secret, attributes="Id", comes=3.0,
     update=_change_secret, in_place=lambda old, new: old.get("Name") == new.get("Name"),
     optional="Name Description SecretString GenerateSecretString KmsKeyId Tags")  # fmt: skip
kind("AWS::Logs::LogGroup", create=_log_group, delete=_delete_log_group, attributes="Arn", comes=3.0,
     optional="LogGroupName RetentionInDays KmsKeyId Tags")  # fmt: skip
