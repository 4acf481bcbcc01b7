"""The programme file: read once, checked whole before anything is written, its dates moved to now by whole weeks."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import yaml

from program import checklists
from program.transfer import blocks, records, wellformed
from program.transfer.carried import calls, capacity, duty, money
from program.transfer.dates import Row, Shift, field, moment
from program.transfer.past import checks
from program.transfer.words import DEGREES, FAMILIES, ROLES, WAYS
from tenants.wall.roles import PROGRAMME_MANAGER as MANAGER

SCHEMA = "demo-program/1"
FILE = Path(__file__).parent.parent / "demo" / "programme.yaml"  # the demo, unless another is named

# What has to be there for loading, per list of the file. A dot leads into a part of the row.
NEEDED: dict[str, dict[str, type | tuple[type, ...]]] = {
    "cycles": {"code": str, "name": str, "state": str, "starts_on": str},
    "people": {"handle": str, "display": str, "role": str, "team": str, "email": str},
    "participants": {
        "code": str, "slug": str, "name": str, "cycle": str, "project": str, "team": dict, "models": list,
        "software": dict, "quota": list, "clusters": list,
    },
    "reservations": {
        "id": str, "kind": str, "participant": str, "region": str, "az_id": str, "instance_type": str,
        "count": int, "starts_at": str, "ends_at": str,
    },
    "other_participations": {
        "code": str, "cycle": str, "project": str, "state": str, "models": list, "software": dict, "quota": list,
    },
    "contact_list": {"duty": str, "name": str},
    "models": {"code": str, "name": str, "family": str, "params_b": (int, float), "active_params_b": (int, float)},
    "quota": {"instance_type": str, "region": str, "approved_instances": int, "provider_limit": dict},
    "clusters": {
        "name": str, "orchestrator": str, "region": str, "az_id": str, "instance_groups": list, "subnet_cidr": str,
        "node_recovery": str, "storage": list,
    },
    "instance_groups": {"name": str, "instance_type": str, "count": int, "role": str},
    **checks.NEEDED,
}  # fmt: skip


TEAM = (
    "team.lead_sa", "team.account_team", "team.frameworks", "team.contacts.business", "team.contacts.ml",
    "team.contacts.platform",
)  # fmt: skip


ACCOUNT = re.compile(r"\d{12}")


class Unfit(ValueError):
    """The file cannot be loaded as it is; `problems` names row and field of everything that is wrong with it."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


def shift(told: Row, now: datetime) -> Shift:
    return Shift(timedelta(weeks=(now - moment(told["meta"]["as_of"])).days // 7))


def read(path: Path = FILE) -> Row:
    """The file's content. Raises Unfit with everything that is wrong with it."""
    try:
        told = yaml.load(path.read_text("utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise Unfit([f"{path.name} cannot be read: {error}"]) from error
    found = problems(told)
    if found:
        raise Unfit(found)
    return told


def problems(told: Any) -> list[str]:
    """What refers to something is only worth checking once the rows have their fields, and the past once those hold."""
    found = list(_shapes(told)) or wellformed.problems(told)
    found = found or [
        *_twice(told),
        *_references(told),
        *_values(told),
        *blocks.problems(told),
        *_carried(told),
        *_totals(told),
    ]
    return found or checks.problems(told)


def _carried(told: Row) -> Iterator[str]:
    for section in (capacity, money, calls, duty):
        yield from section.problems(told)


def clusters(told: Row) -> Iterator[tuple[str, Row, Row]]:
    """Every cluster with its place in the file and its participant."""
    for number, participant in enumerate(told["participants"]):
        for place, cluster in enumerate(participant["clusters"]):
            yield f"participants[{number}].clusters[{place}]", participant, cluster


def _shapes(told: Any) -> Iterator[str]:
    if not isinstance(told, dict):
        yield "The file is not a list of named sections."
        return
    for section, kind in {"meta": dict, "totals": dict, "programme": dict}.items():
        if not isinstance(told.get(section), kind):
            yield f"{section}: is missing"
    for section in ("cycles", "people", "participants", "reservations"):
        yield from _rows(told.get(section), section, section)
    for number, row in enumerate(told["participants"] if isinstance(told.get("participants"), list) else []):
        for name in ("contact_list", "other_participations"):
            yield from _rows(field(row, name) or [], name, f"participants[{number}].{name}")
    for number, row in enumerate(told["cycles"] if isinstance(told.get("cycles"), list) else []):
        if (steps := field(row, "checklist")) is not None:
            yield from checklists.problems(f"cycles[{number}].checklist", steps)
    yield from _laid_out(told.get("onboarding"))
    for section in checks.SECTIONS:
        yield from _rows(told.get(section, []), section, section)


def _laid_out(told: Any) -> Iterator[str]:
    """The lists of onboarding: the usual one, and those of who has another."""
    if (usual := field(told, "checklist")) is not None:
        yield from checklists.laid_out_problems("onboarding.checklist", usual)
    sessions = field(told, "sessions")
    for number, row in enumerate(sessions if isinstance(sessions, list) else []):
        if (mine := field(row, "checklist")) is not None:
            yield from checklists.laid_out_problems(f"onboarding.sessions[{number}].checklist", mine)


def _rows(rows: Any, section: str, where: str) -> Iterator[str]:
    if not isinstance(rows, list):
        yield f"{where}: is missing"
        return
    for number, row in enumerate(rows):
        place = f"{where}[{number}]"
        for name, kind in NEEDED[section].items():
            value = field(row, name)
            if not isinstance(value, kind) or isinstance(value, bool):
                yield f"{place}.{name}: {'is missing' if value is None else f'cannot be {value!r}'}"
            elif name in NEEDED:
                yield from _rows(value, name, f"{place}.{name}")


def _twice(told: Row) -> Iterator[str]:
    people, participants = told["people"], told["participants"]
    for where, values in {
        "cycles.code": [row["code"] for row in told["cycles"]],
        "people.handle": [row["handle"] for row in people],
        "people.email": [row["email"].lower() for row in people],
        "participants.slug": [row["slug"] for row in participants],
        "participants.code": [row["code"] for row in participants],
        "participants.provider_account": [
            row["provider_account"] for row in participants if row.get("provider_account")
        ],
        "participants.clusters.name": [cluster["name"] for _, _, cluster in clusters(told)],
        "reservations.id": [row["id"] for row in told["reservations"]],
    }.items():
        yield from (f"{where}: {value} is there {times} times" for value, times in Counter(values).items() if times > 1)


def _references(told: Row) -> Iterator[str]:
    people = {row["handle"]: row for row in told["people"]}
    slugs = {row["slug"] for row in told["participants"]}
    yield from records.problems(told)
    of_cluster = {cluster["name"]: participant["slug"] for _, participant, cluster in clusters(told)}
    reservations = {row["id"] for row in told["reservations"]}
    for number, person in enumerate(told["people"]):
        if person.get("participant") not in {None, *slugs}:
            yield f"people[{number}].participant: {person['participant']} is no participant"
    for number, row in enumerate(told["participants"]):
        where = f"participants[{number}]"
        for name in TEAM:
            handle, at = field(row, name), row["slug"] if "contacts" in name else None
            if handle is None:
                continue
            if handle not in people:
                yield f"{where}.{name}: {handle} is no person"
            elif people[handle].get("participant") != at:
                yield f"{where}.{name}: {handle} belongs to {people[handle].get('participant') or 'the programme'}"
    for number, row in enumerate(told["reservations"]):
        if row["participant"] not in slugs:
            yield f"reservations[{number}].participant: {row['participant']} is no participant"
        if row.get("cluster") is not None and of_cluster.get(row["cluster"]) != row["participant"]:
            yield f"reservations[{number}].cluster: {row['participant']} has no cluster {row['cluster']}"
    for where, _, cluster in clusters(told):
        for place, group in enumerate(cluster["instance_groups"]):
            wanted = field(group, "reservation.id")
            if wanted and wanted not in reservations:
                yield f"{where}.instance_groups[{place}].reservation.id: {wanted} is no reservation"


def _values(told: Row) -> Iterator[str]:
    for number, person in enumerate(told["people"]):
        if person["role"] not in ROLES:
            yield f"people[{number}].role: {person['role']} is no role"
        for name in ("starts_on", "left_on"):
            if person.get(name) is not None and not _is_moment(person[name]):
                yield f"people[{number}].{name}: {person[name]} is no day"
    if MANAGER not in [ROLES.get(person["role"]) for person in told["people"]]:
        yield "people: nobody is programme_manager, in whose name the file is loaded"
    for number, row in enumerate(told["participants"]):
        where = f"participants[{number}]"
        if row["clusters"] and row.get("provider_account") is None:
            yield f"{where}.provider_account: is missing, and there are clusters in it"
        if row.get("provider_account") is not None and not ACCOUNT.fullmatch(str(row["provider_account"])):
            yield f"{where}.provider_account: cannot be {row['provider_account']!r}, it is not 12 digits in quotes"
    for where, _slug, row in records.of(told):
        if row.get("state", "active") not in WAYS:
            yield f"{where}.state: {row['state']} is no state of a participation"
        for place, model in enumerate(row["models"]):
            if model["family"] not in FAMILIES:
                yield f"{where}.models[{place}].family: {model['family']} is no family that is known"
        for component, version in row["software"].items():
            # Without quotes YAML makes a number of 3.10, and then it is 3.1.
            if not isinstance(version, str):
                yield f"{where}.software.{component}: {version} has to stand in quotes"
        for word in [word for use in uses(row) for word in use.get("parallelism") or {}]:
            if word not in {*DEGREES, "gpu", "trn"}:
                yield f"{where}.framework.parallelism.{word}: is no degree that is known"
    for number, row in enumerate(told["reservations"]):
        for name in ("starts_at", "ends_at"):
            if not _is_moment(row[name]):
                yield f"reservations[{number}].{name}: {row[name]} is no time"
    if not _is_moment(str(told["meta"].get("as_of"))):
        yield f"meta.as_of: {told['meta'].get('as_of')} is no time"


def uses(row: Row) -> list[Row]:
    """One framework, or several in a list."""
    return row.get("frameworks") or ([row["framework"]] if row.get("framework") else [])


def _is_moment(text: str) -> bool:
    try:
        moment(text)
    except ValueError:
        return False
    return True


def _totals(told: Row) -> Iterator[str]:
    """The file says what it adds up to; a line lost or added on the way shows here."""
    by_family: Counter[str] = Counter()
    by_region: dict[str, Counter[str]] = {}
    for _, _, cluster in clusters(told):
        for group in cluster["instance_groups"]:
            if group["role"] == "compute":
                name = group["instance_type"].removeprefix("ml.")
                by_family[name.partition(".")[0]] += group["count"]
                by_region.setdefault(cluster["region"], Counter())[name] += group["count"]
    counted = {
        "participants": len(told["participants"]),
        "clusters": sum(1 for _ in clusters(told)),
        "people": len(told["people"]),
        **{f"{family}_instances": by_family[family] for family in {"p5", "trn1", *by_family}},
        "by_region": {region: dict(counts) for region, counts in by_region.items()},
        "by_orchestrator": dict(Counter(cluster["orchestrator"] for _, _, cluster in clusters(told))),
        "cases": len(told.get("cases", [])),
        "reviews": len(told.get("weekly_reviews", [])),
        "jobs": len(told.get("jobs", [])),
    }
    for name, count in counted.items():
        if name in told["totals"] and told["totals"][name] != count:
            yield f"totals.{name}: says {told['totals'][name]}, but the file has {count}"
