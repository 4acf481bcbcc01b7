"""May it be made: zones that the account may use, what the role is allowed, the roles that services make for themselves. Pure."""

from collections.abc import Iterator
from typing import Any

from clusters.account_told import Told
from clusters.architectures.configuration import Configuration
from clusters.findings import Finding
from clusters.preflight_account import Account
from clusters.providers.account_facts import MAKE_ROLES, NEEDED, NEEDED_BY_ENGINE

FSX, EKS = "AWSServiceRoleForAmazonFSx", "AWSServiceRoleForAmazonEKS"
DATABASE, BALANCER = "AWSServiceRoleForRDS", "AWSServiceRoleForElasticLoadBalancing"


def findings(wish: Configuration, account: Account, told: Told) -> Iterator[Finding]:
    yield _zone(wish, account, told)
    yield _actions(wish, account, told)
    yield _linked(wish, account, told)


def _zone(wish: Configuration, account: Account, told: Told) -> Finding:
    zones = told.value("zones", "zones")
    common: dict[str, Any] = {"values": {"account": account.number, "why": told["zones"].why}}
    common["known_at"] = told["zones"].read_at
    if zones is None:
        return Finding("zone_open_unknown", "warning", "az_id", wish.az_id, who="owner", **common)
    if zones.get(wish.az_id) != "available":
        free = ", ".join(sorted(name for name, state in zones.items() if state == "available"))
        return Finding("zone_closed", "refused", "az_id", wish.az_id, free, **common)
    return Finding("zone_open", "ok", "az_id", wish.az_id, **common)


def needed_actions(wish: Configuration) -> set[str]:
    """What the role has to be allowed before anything is begun."""
    made_of = wish.made_of()
    engines = {made_of.engine, *(["eks"] if made_of.orchestrator == "eks" else [])}
    return {*NEEDED, *(action for engine in engines for action in NEEDED_BY_ENGINE.get(engine, ()))}


def _actions(wish: Configuration, account: Account, told: Told) -> Finding:
    denied, needed = told.value("roles", "denied"), needed_actions(wish)
    values = {"account": account.number, "why": told["roles"].why}
    common: dict[str, Any] = {"who": "owner", "unit": "actions", "known_at": told["roles"].read_at}
    if denied is None:
        return Finding("actions_unknown", "warning", "account", len(needed), values=values, **common)
    missing = sorted(needed & set(denied))
    if missing:
        values["missing"] = ", ".join(missing)
        left = len(needed) - len(missing)
        return Finding("actions_denied", "refused", "account", len(needed), left, values=values, **common)
    return Finding("actions", "ok", "account", len(needed), len(needed), values=values, **common)


def _linked(wish: Configuration, account: Account, told: Told) -> Finding:
    """A service makes its role at its first use, when whoever uses it may let it."""
    linked, denied = told.value("roles", "linked"), told.value("roles", "denied")
    made_of = wish.made_of()
    needed = [FSX]
    needed += [EKS] if made_of.orchestrator == "eks" else []
    needed += [DATABASE] if wish.accounting else []
    needed += [BALANCER] if any(group.role == "login" for group in wish.instance_groups) else []
    values = {"account": account.number, "needed": ", ".join(needed), "why": told["roles"].why}
    common: dict[str, Any] = {"who": "owner", "known_at": told["roles"].read_at}
    if linked is None or denied is None:
        return Finding("linked_roles_unknown", "warning", "account", values=values, **common)
    values["missing"] = ", ".join(name for name in needed if name not in linked)
    if values["missing"] and MAKE_ROLES in denied:
        return Finding("linked_roles_missing", "refused", "account", values=values, **common)
    return Finding(
        "linked_roles_to_come" if values["missing"] else "linked_roles", "ok", "account", values=values, **common
    )
