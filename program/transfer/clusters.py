"""Keeps the clusters of a file as wishes: asked for when the file says so, in an account that has yet to let us in."""

from __future__ import annotations

import re
from typing import Any

from clusters import actions, facts
from clusters.accounts import add_account
from clusters.architectures.configuration import read_configuration
from clusters.findings import Refusals
from clusters.models import Bucket, CloudAccount, Cluster, FileSystem
from program.transfer.dates import Row, Shift, field
from program.transfer.directory import Directory
from program.transfer.one_action import one_action
from program.transfer.words import ARCHITECTURES, FILE_SYSTEMS
from tenants.actions import add_record
from tenants.wall.acting import acting_for

ACCOUNT = re.compile(r"[0-9]{12}")
MOUNT = "/fsx"
CUSTOMER_MANAGED = "customer-managed"  # by what ParallelCluster itself brings into the participant's account


def load(told: Row, shift: Shift, directory: Directory) -> int:
    """Each waits for an approval, like any other request. Returns how many there are."""
    count = 0
    for row in told["participants"]:
        by = directory.actor(field(row, "team.contacts.platform"))
        with acting_for(directory.tenants[row["slug"]], staff=True):
            for cluster in row["clusters"]:
                with one_action():
                    _wish(row, cluster, shift, directory, by)
                count += 1
    return count


def _wish(row: Row, cluster: Row, shift: Shift, directory: Directory, by: str) -> None:
    made, _operation = actions.keep_wish(
        participation=directory.place(row["slug"], cluster),
        account=_account(row, cluster, directory, by),
        name=cluster["name"],
        wish=read_configuration(wished(row, cluster)),
        by=by,
        reason=row["project"],
        at=shift.moment(cluster["launch_requested_at"]) if cluster.get("launch_requested_at") else None,
        source="import",
    )
    for one in cluster["storage"]:
        store(one, made, by)


def _account(row: Row, cluster: Row, directory: Directory, by: str) -> CloudAccount:
    """The account of the file, with an external id of this installation: its owner has to let it in anew."""
    number = cluster.get("account") or row["provider_account"]
    known = CloudAccount.objects.filter(account_id=number).first()
    if known is not None:
        return known
    there = [each for each in row["clusters"] if (each.get("account") or row["provider_account"]) == number]
    tenant = directory.tenants[row["slug"]]
    regions = sorted({each["region"] for each in there})
    return add_account(tenant=tenant, account_id=number, name=row["name"][:80], regions=regions, by=by)


def wished(row: Row, cluster: Row) -> Row:
    """The whole configuration where the file has it, else what its other fields say."""
    told: Row | None = cluster.get("configuration")
    return told or configuration(row, cluster)


def problems(told: Row) -> list[str]:
    """The clusters whose configuration is none, with what is wrong with it."""
    found = []
    for number, row in enumerate(told["participants"]):
        for place, cluster in enumerate(row["clusters"]):
            where = f"participants[{number}].clusters[{place}]"
            if cluster["region"] not in facts.load().zones:
                found.append(f"{where}.region: {cluster['region']} is no Region that Cohort knows")
            account = cluster.get("account")
            if account is not None and not ACCOUNT.fullmatch(str(account)):
                found.append(f"{where}.account: cannot be {account!r}, it is not 12 digits in quotes")
            if not cluster.get("configuration") and cluster["orchestrator"] not in ARCHITECTURES:
                found.append(f"{where}.orchestrator: no reference architecture makes a {cluster['orchestrator']}")
                continue
            try:
                read_configuration(wished(row, cluster))
            except Refusals as refused:
                found += [f"{where}.{each.field}: {each.sentence()}" for each in refused.findings]
            except (AttributeError, KeyError, TypeError, StopIteration) as error:
                found.append(f"{where}: cannot be read as a configuration ({type(error).__name__}: {error})")
    return found


def configuration(row: Row, cluster: Row) -> dict[str, Any]:
    """The configuration document of one cluster of the file."""
    software = {name: version for name, version in row["software"].items() if name != "kubernetes"}
    if "eks" in cluster["orchestrator"]:
        software["kubernetes"] = row["software"]["kubernetes"]
    document = {
        "architecture": _architecture(cluster),
        "region": cluster["region"],
        "az_id": cluster["az_id"],
        "subnet_cidr": cluster["subnet_cidr"],
        "instance_groups": [_group(group) for group in cluster["instance_groups"]],
        "storage": _storage(cluster["storage"]),
        "software": software,
    }
    if cluster["node_recovery"] != CUSTOMER_MANAGED:
        document["node_recovery"] = cluster["node_recovery"]
    return document


def _architecture(cluster: Row) -> str:
    """ParallelCluster has an architecture for each family of accelerated instances."""
    slug = ARCHITECTURES[cluster["orchestrator"]]
    if slug != "parallelcluster":
        return slug
    worker = next(group for group in cluster["instance_groups"] if group["role"] == "compute")
    return f"{slug}-{worker['instance_type'].split('.')[0]}"


def _group(row: Row) -> dict[str, Any]:
    group = {name: row[name] for name in ("name", "instance_type", "count", "role")}
    if "reservation" not in row:
        return group
    kind, name = row["reservation"]["kind"], row["reservation"]["id"]
    if kind == "training_plan":
        return group | {"training_plan": name}
    return group | {"reservation": name, "capacity": "capacity-block" if kind == "capacity_block" else "on-demand"}


def _storage(rows: list[Row]) -> dict[str, Any]:
    storage: dict[str, Any] = {}
    for row in rows:
        if row["kind"] == "fsx_lustre":
            storage["lustre"] = {"capacity_gib": row["capacity_gib"], "mbs_per_tib": row["throughput_mbs_per_tib"]}
        elif row["kind"] == "fsx_openzfs":
            storage["openzfs"] = {"capacity_gib": row["capacity_gib"]}
        else:
            storage["bucket"] = row["bucket"]
    return storage


def store(row: Row, cluster: Cluster, by: str) -> None:
    """File systems as they were asked for; of the bucket, how much lies in it."""
    if row["kind"] not in FILE_SYSTEMS:
        known = Bucket.objects.filter(cluster=cluster, name=row["bucket"])
        if not known.update(used_tib=row.get("tib")):
            bucket = Bucket(tenant_id=cluster.tenant_id, cluster=cluster, name=row["bucket"], used_tib=row.get("tib"))
            add_record(block=bucket, by=by, source="import")
        return
    system = FileSystem(
        tenant_id=cluster.tenant_id,
        cluster=cluster,
        kind=FILE_SYSTEMS[row["kind"]],
        deployment=row.get("deployment", ""),
        capacity_gib=row["capacity_gib"],
        mbs_per_tib=row.get("throughput_mbs_per_tib"),
        mount=row.get("mount", MOUNT),
    )
    add_record(block=system, by=by, source="import")
