"""Services whose resources come from templates only, Prometheus and Grafana: what of them is there."""

from typing import Any

from clusters.sandbox.cloud import Cloud
from clusters.sandbox.services import Call, operation, page


def _there(cloud: Cloud, call: Call, what: str) -> list[tuple[str, dict[str, Any]]]:
    return sorted(cloud.store.read(f"records/{call.account}/{call.region}").get(what, {}).items())


@operation("amp", "ListWorkspaces")
def workspaces(cloud: Cloud, call: Call) -> dict[str, Any]:
    found = [
        {
            "workspaceId": arn.rpartition("/")[2], "arn": arn, "alias": made.get("Alias", ""),
            "status": {"statusCode": "ACTIVE"}, "createdAt": cloud.clock.shown(call.now),
        }
        for arn, made in _there(cloud, call, "prometheus")
    ]  # fmt: skip
    items, more = page(found, call.parameters, size="maxResults", token="nextToken")
    return {"workspaces": items, **more}


@operation("grafana", "ListWorkspaces")
def dashboards(cloud: Cloud, call: Call) -> dict[str, Any]:
    found = [
        {
            "id": identity, "name": made.get("Name", ""), "status": "ACTIVE", "grafanaVersion": "10.4",
            "endpoint": f"{identity}.grafana-workspace.{call.region}.amazonaws.com",
            "authentication": {"providers": made["AuthenticationProviders"]},
            "created": cloud.clock.shown(call.now), "modified": cloud.clock.shown(call.now),
        }
        for identity, made in _there(cloud, call, "grafana")
    ]  # fmt: skip
    items, more = page(found, call.parameters, size="maxResults", token="nextToken")
    return {"workspaces": items, **more}
