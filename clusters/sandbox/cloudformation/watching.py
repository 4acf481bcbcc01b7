"""The resources of a template that watch a cluster or hold its images: Prometheus, Grafana, topics, registries."""

import re
import secrets
from typing import Any

import yaml

from clusters.sandbox.cloudformation.records import _change, _drop, _keep, _shelf
from clusters.sandbox.cloudformation.resources import Made, Place, kind
from clusters.sandbox.errors import AwsError

# Not in every Region, after the registry schemas in cfn-lint.
NO_GRAFANA = ("ap-south-1", "ap-southeast-4", "eu-north-1", "eu-west-3", "us-west-1")
GRAFANA_NAME = re.compile(r"[a-zA-Z0-9-._~]{1,255}")
NAMESPACE = re.compile(r".*[0-9A-Za-z][-.0-9A-Z_a-z]*.*")
RULES_LENGTH = 1024 * 1024


def _workspace(place: Place, p: dict[str, Any]) -> Made:
    _check_alerting(p)
    identity = f"ws-{secrets.token_hex(4)}-{secrets.token_hex(6)}"
    arn = place.arn("aps", f"workspace/{identity}")
    _keep(place, "prometheus", arn, p)
    endpoint = f"https://aps-workspaces.{place.region}.amazonaws.com/workspaces/{identity}/"
    return arn, {"Arn": arn, "WorkspaceId": identity, "PrometheusEndpoint": endpoint}


def _check_alerting(p: dict[str, Any]) -> None:
    """Alertmanager's own configuration inside ours, as the service reads it before it takes it."""
    if "AlertManagerDefinition" not in p:
        return
    told = _yaml(p["AlertManagerDefinition"], "alert manager definition")
    inner = _yaml(str(told.get("alertmanager_config") or ""), "alertmanager_config")
    receivers = {each.get("name") for each in inner.get("receivers") or []}
    if (inner.get("route") or {}).get("receiver") not in receivers:
        raise AwsError("ValidationException", "undefined receiver used in route", 400)


def _yaml(text: str, what: str) -> dict[str, Any]:
    try:
        told = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise AwsError("ValidationException", f"error parsing {what}: {error}", 400) from None
    if not isinstance(told, dict):
        raise AwsError("ValidationException", f"error parsing {what}: it is no mapping", 400)
    return told


def _change_workspace(place: Place, arn: str, old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    _check_alerting(new)
    return dict(_change("prometheus")(place, arn, old, new))


def _rules(place: Place, p: dict[str, Any]) -> Made:
    if p["Workspace"] not in _shelf(place, "prometheus"):
        raise AwsError("ResourceNotFoundException", f"Workspace not found: {p['Workspace']}", 404)
    _check_rules(p)
    if not NAMESPACE.fullmatch(p["Name"]):
        raise AwsError("ValidationException", f"{p['Name']} is no name of a rule groups namespace", 400)
    arn = f"{p['Workspace'].replace(':workspace/', ':rulegroupsnamespace/')}/{p['Name']}"
    _keep(place, "rules", arn, p)
    return arn, {"Arn": arn}


def _check_rules(p: dict[str, Any]) -> None:
    groups = _yaml(p["Data"], "rule groups").get("groups")
    good = isinstance(groups, list) and all(
        each.get("name") and all({"alert", "record"} & set(rule) and rule.get("expr") for rule in each.get("rules", []))
        for each in groups
    )
    if not good or len(p["Data"]) > RULES_LENGTH:
        raise AwsError("ValidationException", "error loading rule groups: each rule needs a name and an expr", 400)


def _change_rules(place: Place, arn: str, old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    _check_rules(new)
    return dict(_change("rules")(place, arn, old, new))


def _grafana(place: Place, p: dict[str, Any]) -> Made:
    _check_grafana(place, p)
    identity = f"g-{secrets.token_hex(5)}"
    _keep(place, "grafana", identity, p)
    endpoint = f"{identity}.grafana-workspace.{place.region}.amazonaws.com"
    return identity, {"Id": identity, "Endpoint": endpoint, "Status": "ACTIVE", "GrafanaVersion": "10.4"}


def _check_grafana(place: Place, p: dict[str, Any]) -> None:
    if place.region in NO_GRAFANA:
        raise AwsError("InvalidRequest", f"AWS::Grafana::Workspace is not available in {place.region}", 400)
    if not GRAFANA_NAME.fullmatch(str(p.get("Name") or "x")):
        raise AwsError("ValidationException", f"{p['Name']} is no name of a workspace", 400)
    if "AWS_SSO" in p["AuthenticationProviders"] and not identity_center(place.cloud, place.account):
        raise AwsError("ValidationException", "SSO is not enabled in any region", 400)


def identity_center(cloud: Any, account: str) -> bool:
    """Whether the account is in an organization with IAM Identity Center; the programme file says who is not."""
    without = {str(each).zfill(12) for each in cloud.programme.get("sandbox_without_identity_center", [])}
    return account not in without


def _change_grafana(place: Place, identity: str, old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    _check_grafana(place, new)
    return dict(_change("grafana")(place, identity, old, new))


def _topic(place: Place, p: dict[str, Any]) -> Made:
    name = p.get("TopicName") or place.name(256)
    arn = place.arn("sns", name)
    _keep(place, "topic", arn, p)
    return arn, {"TopicArn": arn, "TopicName": name}


def _topic_policy(place: Place, p: dict[str, Any]) -> Made:
    for topic in p["Topics"]:
        if topic not in _shelf(place, "topic"):
            raise AwsError("NotFoundException", f"Topic does not exist: {topic}", 404)
    name = place.name(128)
    _keep(place, "topic policy", name, p)
    return name, {"Id": name}


def _subscription(place: Place, p: dict[str, Any]) -> Made:
    if p["TopicArn"] not in _shelf(place, "topic"):
        raise AwsError("NotFoundException", f"Topic does not exist: {p['TopicArn']}", 404)
    arn = f"{p['TopicArn']}:{secrets.token_hex(8)}"
    _keep(place, "subscription", arn, p)
    return arn, {"Arn": arn}


def _permission(place: Place, p: dict[str, Any]) -> Made:
    if str(p["FunctionName"]).rsplit(":", 1)[-1] not in _shelf(place, "function"):
        raise AwsError("ResourceNotFoundException", f"Function not found: {p['FunctionName']}", 404)
    name = place.name(100)
    _keep(place, "permission", name, p)
    return name, {"Id": name}


def _registry(place: Place, p: dict[str, Any]) -> Made:
    name = p.get("RepositoryName") or place.name(256, lower=True)
    _keep(place, "registry", name, p)
    uri = f"{place.account}.dkr.ecr.{place.region}.amazonaws.com/{name}"
    return name, {"Arn": place.arn("ecr", f"repository/{name}"), "RepositoryUri": uri}


kind("AWS::APS::Workspace", create=_workspace, delete=_drop("prometheus"), update=_change_workspace, comes=20.0, goes=10.0,
     optional="Alias AlertManagerDefinition LoggingConfiguration WorkspaceConfiguration KmsKeyArn Tags",
     attributes="Arn WorkspaceId PrometheusEndpoint")  # fmt: skip
kind("AWS::APS::RuleGroupsNamespace", create=_rules, delete=_drop("rules"), update=_change_rules, comes=12.0,
     required="Data Name Workspace", optional="Tags", attributes="Arn",
     in_place=lambda old, new: (old["Name"], old["Workspace"]) == (new["Name"], new["Workspace"]))  # fmt: skip
kind("AWS::Grafana::Workspace", create=_grafana, delete=_drop("grafana"), update=_change_grafana, comes=240.0, goes=60.0,
     required="AccountAccessType AuthenticationProviders PermissionType",
     optional="Name Description DataSources RoleArn GrafanaVersion NotificationDestinations NetworkAccessControl"
     " OrganizationalUnits OrganizationRoleName SamlConfiguration StackSetName VpcConfiguration PluginAdminEnabled"
     " ClientToken", attributes="Id Endpoint Status GrafanaVersion")  # fmt: skip
kind("AWS::SNS::Topic", create=_topic, delete=_drop("topic"), update=_change("topic"), comes=10.0,
     optional="TopicName DisplayName KmsMasterKeyId Subscription FifoTopic Tags", attributes="TopicArn TopicName")  # fmt: skip
kind("AWS::SNS::TopicPolicy", create=_topic_policy, delete=_drop("topic policy"), update=_change("topic policy"), comes=3.0,
     required="PolicyDocument Topics", attributes="Id")  # fmt: skip
kind("AWS::SNS::Subscription", create=_subscription, delete=_drop("subscription"), comes=3.0,
     required="TopicArn Protocol", optional="Endpoint FilterPolicy RawMessageDelivery RedrivePolicy",
     attributes="Arn")  # fmt: skip
kind("AWS::Lambda::Permission", create=_permission, delete=_drop("permission"), comes=3.0,
     required="Action FunctionName Principal", optional="SourceArn SourceAccount", attributes="Id")  # fmt: skip
kind("AWS::ECR::Repository", create=_registry, delete=_drop("registry"), update=_change("registry"), comes=5.0,
     optional="RepositoryName ImageScanningConfiguration ImageTagMutability EncryptionConfiguration LifecyclePolicy"
     " RepositoryPolicyText EmptyOnDelete Tags", attributes="Arn RepositoryUri",
     in_place=lambda old, new: old.get("RepositoryName") == new.get("RepositoryName"))  # fmt: skip
