"""The resources of a template that only have to be there: alarms, dashboards, metric filters, zones, functions."""

import secrets
from typing import Any

from clusters.sandbox.cloudformation.resources import Made, Place, kind
from clusters.sandbox.errors import AwsError


def _shelf(place: Place, what: str) -> Any:
    return place.cloud.store.change(f"records/{place.account}/{place.region}").setdefault(what, {})


def _keep(place: Place, what: str, name: str, p: dict[str, Any]) -> None:
    shelf = _shelf(place, what)
    if name in shelf:
        raise AwsError("AlreadyExists", f"{what} {name} already exists", 400)
    shelf[name] = p


def _drop(what: str) -> Any:
    def drop(place: Place, name: str, _: dict[str, Any]) -> None:
        _shelf(place, what).pop(name, None)

    return drop


def _change(what: str) -> Any:
    def change(place: Place, name: str, _: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
        _shelf(place, what)[name] = new
        return {}

    return change


def _alarm(place: Place, p: dict[str, Any]) -> Made:
    name = p.get("AlarmName") or place.name(255)
    _keep(place, "alarm", name, p)
    return name, {"Arn": place.arn("cloudwatch", f"alarm:{name}")}


def _dashboard(place: Place, p: dict[str, Any]) -> Made:
    name = p.get("DashboardName") or place.name(255)
    _keep(place, "dashboard", name, p)
    return name, {}


def _metric_filter(place: Place, p: dict[str, Any]) -> Made:
    groups = place.cloud.store.read(f"logs/{place.account}/{place.region}").get("groups", {})
    if p["LogGroupName"] not in groups:
        raise AwsError("ResourceNotFoundException", "The specified log group does not exist.", 400)
    name = p.get("FilterName") or place.name(512)
    _keep(place, "metric filter", name, p)
    return name, {}


def _zone(place: Place, p: dict[str, Any]) -> Made:
    identity = "Z" + secrets.token_hex(10).upper()
    _keep(place, "hosted zone", identity, p)
    return identity, {"Id": identity}


def _function(place: Place, p: dict[str, Any]) -> Made:
    code = p["Code"]
    if code.get("S3Bucket"):
        place.ask("s3", "HeadObject", Bucket=code["S3Bucket"], Key=code["S3Key"])
    name = p.get("FunctionName") or place.name(64)
    _keep(place, "function", name, p)
    return name, {"Arn": place.arn("lambda", f"function:{name}")}


ALARM = (
    "AlarmName AlarmDescription ActionsEnabled AlarmActions OKActions InsufficientDataActions ComparisonOperator"
    " DatapointsToAlarm Dimensions EvaluationPeriods ExtendedStatistic MetricName Metrics Namespace Period Statistic"
    " Threshold TreatMissingData Unit Tags"
)
kind("AWS::CloudWatch::Alarm", create=_alarm, delete=_drop("alarm"), update=_change("alarm"), optional=ALARM,
     attributes="Arn", comes=2.0)  # fmt: skip
kind("AWS::CloudWatch::CompositeAlarm", create=_alarm, delete=_drop("alarm"), update=_change("alarm"), comes=2.0,
     required="AlarmRule", optional="AlarmName AlarmDescription ActionsEnabled AlarmActions OKActions Tags",
     attributes="Arn")  # fmt: skip
kind("AWS::CloudWatch::Dashboard", create=_dashboard, delete=_drop("dashboard"), update=_change("dashboard"),
     required="DashboardBody", optional="DashboardName Tags", comes=2.0)  # fmt: skip
kind("AWS::Logs::MetricFilter", create=_metric_filter, delete=_drop("metric filter"), update=_change("metric filter"),
     required="FilterPattern LogGroupName MetricTransformations", optional="FilterName", comes=2.0)  # fmt: skip
kind("AWS::Route53::HostedZone", create=_zone, delete=_drop("hosted zone"), required="Name",
     optional="VPCs HostedZoneConfig HostedZoneTags", attributes="Id", comes=45.0)  # fmt: skip
kind("AWS::Lambda::Function", create=_function, delete=_drop("function"), update=_change("function"),
     required="Code Role", optional="FunctionName Handler MemorySize Runtime Timeout Description Environment Tags"
     " TracingConfig VpcConfig", attributes="Arn", comes=8.0)  # fmt: skip
