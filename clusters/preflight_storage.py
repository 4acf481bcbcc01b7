"""Can the storage be made: file systems in the zone, how many the account may have, the bucket. Pure."""

from collections.abc import Iterator
from typing import Any

from clusters import facts as known_facts
from clusters.account_told import Told
from clusters.architectures.configuration import Configuration
from clusters.findings import Finding
from clusters.preflight_account import Account

LUSTRE_SYSTEMS = ("fsx", "Lustre Persistent_2 file systems")
OPENZFS_SYSTEMS = ("fsx", "OpenZFS file systems")
LUSTRE_TYPE, OPENZFS_TYPE = "PERSISTENT_2", "SINGLE_AZ_1"  # as our base templates ask for them where nobody chose
GONE = frozenset({"DELETING", "FAILED"})


def findings(wish: Configuration, account: Account, told: Told) -> Iterator[Finding]:
    yield _zone(wish, told, "LUSTRE", LUSTRE_TYPE, "lustre_zone", "storage.lustre.capacity_gib")
    if wish.storage.openzfs:
        chosen = wish.storage.openzfs.deployment or OPENZFS_TYPE
        yield _zone(wish, told, "OPENZFS", chosen, "openzfs_zone", "storage.openzfs.capacity_gib")
    if account.makes_base:
        yield _count(wish, account, told, "LUSTRE", LUSTRE_TYPE, LUSTRE_SYSTEMS, "lustre_systems")
        if wish.storage.openzfs:
            yield _count(wish, account, told, "OPENZFS", "", OPENZFS_SYSTEMS, "openzfs_systems")
    if wish.storage.bucket:
        yield from _bucket(wish, account, told)


def _zone(wish: Configuration, told: Told, kind: str, deployment: str, code: str, path: str) -> Finding:
    """FSx has no call that says what it offers where. One of the kind in this zone proves it; a table knows of some that
    it does not offer; of the rest nobody knows."""
    values = {"zone": wish.az_id, "deployment": deployment}
    systems = told.value("storage", "systems") or ()
    proof = next(
        (
            one["id"]
            for one in systems
            if (one["type"], one["deployment"], one["zone"], one["state"])
            == (kind, deployment, wish.az_id, "AVAILABLE")
        ),
        "",
    )
    if proof:
        return Finding(
            code, "ok", path, values={**values, "proof": proof}, who="architect", known_at=told["storage"].read_at
        )
    said = known_facts.storage_offer(wish.region, wish.az_id, kind, deployment)
    values["source"] = said.source if said else ""
    if said and said.offered == "no":
        return Finding(f"{code}_missing", "refused", "az_id", deployment, wish.az_id, values=values)
    doubt = "_doubted" if said and said.offered == "doubted" else ""
    return Finding(f"{code}{doubt}_unknown", "warning", path, deployment, values=values, who="provider")


def _count(
    wish: Configuration, account: Account, told: Told, kind: str, deployment: str, quota: tuple[str, str], code: str
) -> Finding:
    allowed, systems = account.limits.get(quota), told.value("storage", "systems")
    used = sum(
        one["type"] == kind and deployment in ("", one["deployment"]) and one["state"] not in GONE
        for one in systems or ()
    )
    values = {"region": wish.region, "quota": quota[1], "used": used, "left": max(int(allowed or 0) - used, 0)}
    common: dict[str, Any] = {"unit": "file systems", "who": "account_team", "values": values}
    common["known_at"] = told["storage"].read_at
    if allowed is None or systems is None:
        common["known_at"] = None
        return Finding(f"{code}_unknown", "warning", "account", 1, "?", **common)
    if used + 1 > allowed:
        return Finding(f"{code}_exceeded", "refused", "account", 1, int(allowed), **common)
    return Finding(code, "ok", "account", 1, int(allowed), **common)


def _bucket(wish: Configuration, account: Account, told: Told) -> Iterator[Finding]:
    name, mine = wish.storage.bucket, told.value("buckets", "names")
    common: dict[str, Any] = {"values": {"why": told["buckets"].why}, "known_at": told["buckets"].read_at}
    if mine is None:
        yield Finding("bucket_unknown", "warning", "storage.bucket", name, **common)
    elif wish.storage.bucket_exists and name not in mine:
        yield Finding("bucket_missing", "refused", "storage.bucket", name, **common)
    elif not wish.storage.bucket_exists and name in mine and account.makes_base:
        yield Finding("bucket_there", "refused", "storage.bucket", name, **common)
    else:
        yield Finding("bucket", "ok", "storage.bucket", name, **common)
