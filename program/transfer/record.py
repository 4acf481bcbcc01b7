"""Loads what a participation trains, on which software, and the capacity that it was granted and that is held for it."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from clusters.models import QuotaGrant, Reservation
from program.transfer import blocks
from program.transfer.dates import Row, Shift, field
from program.transfer.directory import Directory
from program.transfer.one_action import one_action
from program.transfer.programme_file import uses
from program.transfer.words import AMOUNTS, DEGREES, FAMILIES
from tenants import actions
from tenants.models import FrameworkUse, Milestone, Participation, SoftwareVersion, TrainingModel
from tenants.wall.acting import acting_for


def load(told: Row, shift: Shift, directory: Directory) -> None:
    """Each block in the name of whoever keeps it: engineers their models and software, the account team the capacity."""
    for row in told["participants"]:
        slug, ml = row["slug"], directory.actor(field(row, "team.contacts.ml"))
        account = directory.actor(row["team"].get("account_team"))
        reservations = [one for one in told["reservations"] if one["participant"] == slug]
        _load(row, directory.participations[slug], shift, ml, account, _of(reservations, None))
        for other in row.get("other_participations", []):
            place = directory.others[slug, other["cycle"]]
            _load(other, place, shift, ml, account, _of(reservations, other["cycle"]))


def _of(rows: list[Row], in_cycle: str | None) -> list[Row]:
    return [row for row in rows if row.get("in_cycle") == in_cycle]


def _load(row: Row, participation: Participation, shift: Shift, ml: str, account: str, reservations: list[Row]) -> None:
    with acting_for(participation.tenant_id), one_action():
        for model in row["models"]:
            _once(_model(model), participation, ml, "code")
        for use in [use for told_use in uses(row) for use in frameworks(told_use)]:
            _once(FrameworkUse(**use), participation, ml, "name", "core_version")
        for component, version in row["software"].items():
            _once(SoftwareVersion(component=component, software_version=version), participation, ml, "component")
        for block, key in blocks.read(row, shift):
            _once(block, participation, ml, *key)
        gate = participation.cycle.stage_gate_on
        if gate and "milestones" not in row and "slug" in row:
            _once(Milestone(title="Stage gate", kind="gate", due_on=gate), participation, ml, "title")
    with acting_for(participation.tenant_id), one_action():
        for quota in row["quota"]:
            _once(_grant(quota), participation, account, "instance_type", "region")
        for reservation in reservations:
            _once(_reservation(reservation, shift), participation, account, "external_id")


def _once(block: Any, participation: Participation, by: str, *key: str) -> None:
    same = {name: getattr(block, name) for name in key}
    if not type(block).objects.filter(participation=participation, **same).exists():
        block.tenant_id, block.participation = participation.tenant_id, participation
        actions.add_record(block=block, by=by, source="import")


def _model(row: Row) -> TrainingModel:
    target, done, unit = next(
        (each for each in AMOUNTS if any(row.get(name) is not None for name in each[:2])), AMOUNTS[0]
    )
    return TrainingModel(
        code=row["code"],
        name=row["name"],
        family=FAMILIES[row["family"]],
        layers=row.get("layers"),
        architecture=row.get("architecture", "" if row["family"] in TrainingModel.Family.values else row["family"]),
        initialisation=row.get("init", ""),
        total_params_b=Decimal(str(row["params_b"])),
        active_params_b=Decimal(str(row["active_params_b"])),
        modalities=row.get("modality", []),
        context_length=row.get("context"),
        target_amount=_amount(row.get(target)),
        done_amount=_amount(row.get(done)),
        amount_unit=unit,
        precision=row.get("precision", ""),
        phase=row.get("phase", ""),
        licence_plan=row.get("licence_plan", ""),
        evaluation_plan=row.get("eval", []),
    )


def _amount(value: float | None) -> Decimal | None:
    return None if value is None else Decimal(str(value))


def frameworks(row: Row) -> Iterator[dict[str, Any]]:
    """One use, or one per kind of accelerator where the file gives degrees for each ("gpu: fsdp=112")."""
    degrees = row.get("parallelism", {})
    if not {"gpu", "trn"} & set(degrees):
        yield _use(row["name"], row.get("core"), degrees, row)
        return
    names, cores = row["name"].split(" and "), row["core"].split("; ")
    for name, core, text in zip(names, cores, degrees.values(), strict=True):
        pairs = (pair.split("=") for pair in text.split(","))
        yield _use(name, core, {word: int(count) for word, count in pairs}, row)


def _use(name: str, core: str | None, degrees: dict[str, int], row: Row) -> dict[str, Any]:
    counts = {DEGREES[word]: count for word, count in degrees.items()}
    return {"name": name, "core_version": core or "", "checkpoint": row.get("checkpoint", ""), **counts}


def _grant(row: Row) -> QuotaGrant:
    limit = row["provider_limit"]
    return QuotaGrant(
        instance_type=row["instance_type"],
        region=row["region"],
        approved_instances=0 if row.get("steps") else row["approved_instances"],  # those come with their requests
        unlimited=row.get("unlimited", False),
        provider_service=limit.get("service", ""),
        provider_limit=limit.get("name", ""),
        provider_unit=limit.get("unit", ""),
        provider_value=limit.get("value"),
    )


def _reservation(row: Row, shift: Shift) -> Reservation:
    return Reservation(
        kind=row["kind"],
        external_id=row["id"],
        region=row["region"],
        az_id=row["az_id"],
        instance_type=row["instance_type"],
        count=row["count"],
        starts_at=shift.moment(row["starts_at"]),
        ends_at=shift.moment(row["ends_at"]),
    )
