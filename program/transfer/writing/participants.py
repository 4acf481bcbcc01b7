"""Writes the participants: who looks after them, what they train on what, what was granted, and their clusters."""

from __future__ import annotations

import ipaddress
from collections import defaultdict
from typing import Any
from uuid import UUID

from clusters import facts
from clusters.models import Bucket, CloudAccount, Cluster, FileSystem, QuotaGrant, Reservation, Revision
from clusters.states import CLUSTER_WISHED
from program.transfer import blocks
from program.transfer.carried import capacity
from program.transfer.clusters import CUSTOMER_MANAGED
from program.transfer.dates import Row
from program.transfer.words import AMOUNTS, DEGREES, DUTIES, FAMILIES, FILE_SYSTEMS
from program.transfer.writing.coming import in_service
from program.transfer.writing.names import Writing, number, stamp, told
from tenants.history.models import Entry
from tenants.models import (
    Assignment,
    Contact,
    FrameworkUse,
    Membership,
    Participation,
    SoftwareVersion,
    TrainingModel,
)
from tenants.wall import roles

CONTACTS = {"business": roles.BUSINESS_LEAD, "ml": roles.ML_ENGINEER, "platform": roles.PLATFORM_ENGINEER}
ON_EC2 = "parallelcluster"
# What this file says of a cluster in its own words and what no other installation has.
NOT_CARRIED = ("node_setup",)


def participants(writing: Writing) -> list[Row]:
    places = writing.all_participations
    models, uses = _by_place(TrainingModel, places, "code"), _by_place(FrameworkUse, places, "name", "pk")
    software = _by_place(SoftwareVersion, places, "component")
    grants = _by_place(QuotaGrant, places, "instance_type", "region")
    teams, clusters, accounts = _teams(writing), _clusters(writing), _accounts()
    steps = capacity.steps(writing)
    kept, contacts = blocks.written(places), _contacts(writing)

    def record(row: Participation) -> Row:
        declared = [each for each in software[row.pk] if each.source == "declared"]
        return {
            "models": [_model(model) for model in models[row.pk]],
            **_frameworks(uses[row.pk]),
            "software": {each.component: each.software_version for each in declared},
            **kept[row.pk],
            "quota": [_quota(grant, steps[grant.pk]) for grant in grants[row.pk]],
        }

    def others(rows: list[Participation]) -> Row:
        found = [
            _who(row)
            | told(allowed_regions=sorted(row.allowed_regions) or None, support_plan=row.support_plan)
            | record(row)
            for row in rows
        ]
        return {"other_participations": found} if found else {}

    return [
        told(slug=row.tenant.slug, name=row.tenant.name)
        | _who(row)
        | told(
            provider_account=accounts.get(row.tenant_id),
            support_plan=row.support_plan,
            allowed_regions=sorted(row.allowed_regions) or None,
        )
        | {
            "team": teams[row.tenant_id],
            **record(row),
            "contact_list": contacts[row.tenant_id],
            "clusters": clusters[row.tenant_id],
            **others(writing.every[row.tenant_id][1:]),
        }
        for row in writing.participations
    ]


def _who(row: Participation) -> Row:
    return told(
        code=row.code,
        kind=row.organisation_kind,
        sector=row.sector,
        staff_size=row.staff_size,
        cycle=row.cycle.code,
        project=row.project,
        state=row.state,
    )


def _contacts(writing: Writing) -> defaultdict[UUID, list[Row]]:
    """Who answers for what, also people without an account."""
    found: defaultdict[UUID, list[Row]] = defaultdict(list)
    for row in Contact.objects.filter(tenant__in=list(writing.slugs)).order_by("duty", "name", "email", "pk"):
        person = writing.handle(row.person_id)
        names = ("duty", "name", "email", "phone", "timezone", "hours")
        found[row.tenant_id].append(told(**{name: getattr(row, name) for name in names}, person=person))
    return found


def _by_place(model: Any, places: list[UUID], *order: str) -> defaultdict[UUID, list[Any]]:
    found: defaultdict[UUID, list[Any]] = defaultdict(list)
    for row in model.objects.filter(participation__in=places).order_by(*order):
        found[row.participation_id].append(row)
    return found


def _accounts() -> dict[UUID, str]:
    """The first account of each; a cluster that lies in another one says so."""
    rows = CloudAccount.objects.order_by("-created_at", "-account_id").values_list("tenant", "account_id")
    return dict(rows)


def _teams(writing: Writing) -> defaultdict[UUID, Row]:
    teams: defaultdict[UUID, Row] = defaultdict(dict)
    duties = {duty: place for place, duty in DUTIES.items()}
    rows = Assignment.objects.filter(ends_on=None).order_by("starts_on", "person__email")
    for row in rows:
        handle, team = writing.handle(row.person_id), teams[row.tenant_id]
        if row.duty in duties:
            team.setdefault(duties[row.duty], handle)
        elif row.duty == "deputy":
            team.setdefault("deputies", []).append(handle)
    seats = Membership.objects.filter(ends_on=None, tenant__in=list(writing.slugs)).order_by(
        "starts_on", "person__email"
    )
    places = {role: place for place, role in CONTACTS.items()}
    for seat in seats:
        if seat.role in places:
            contacts = teams[seat.tenant_id].setdefault("contacts", {})
            contacts.setdefault(places[seat.role], writing.handle(seat.person_id))
    return teams


def _model(row: TrainingModel) -> Row:
    known = FAMILIES.get(row.architecture) == row.family
    target, done = next((target, done) for target, done, unit in AMOUNTS if unit == row.amount_unit)
    return told(
        code=row.code,
        name=row.name,
        family=row.architecture if known else row.family,
        architecture="" if known else row.architecture,
        layers=row.layers,
        init=row.initialisation,
        params_b=number(row.total_params_b),
        active_params_b=number(row.active_params_b),
        modality=row.modalities,
        context=row.context_length,
        **{target: number(row.target_amount), done: number(row.done_amount)},
        precision=row.precision,
        phase=row.phase,
        licence_plan=row.licence_plan,
        eval=row.evaluation_plan,
    )


def _frameworks(rows: list[FrameworkUse]) -> Row:
    uses = [
        told(name=row.name, core=row.core_version)
        | {"parallelism": {word: count for word, name in DEGREES.items() if (count := getattr(row, name)) is not None}}
        | told(checkpoint=row.checkpoint)
        for row in rows
    ]
    return {"framework": uses[0]} if len(uses) == 1 else {"frameworks": uses}


def _quota(row: QuotaGrant, steps: list[Row]) -> Row:
    instance = facts.load().instance(row.instance_type)
    equal = (
        {
            "accelerators": instance.accelerators * row.approved_instances,
            "vcpus": instance.vcpus * row.approved_instances,
        }
        if instance
        else None
    )
    return told(
        instance_type=row.instance_type,
        region=row.region,
        approved_instances=row.approved_instances,
        unlimited=row.unlimited or None,
        equals=equal,
    ) | {
        "provider_limit": {
            "service": row.provider_service,
            "name": row.provider_limit,
            "unit": row.provider_unit,
            "value": row.provider_value,
        },
        **({"steps": steps} if steps else {}),
    }


def counted(writing: Writing) -> Any:
    """The clusters that the file has: all but those that are gone, or are to be."""
    rows = Cluster.objects.filter(wanted=True, tenant__in=list(writing.slugs)).exclude(state="deleted")
    return rows.select_related("account").order_by("name", "pk")


def _clusters(writing: Writing) -> defaultdict[UUID, list[Row]]:
    rows = list(counted(writing))
    keys = [row.pk for row in rows]
    bodies = {
        revision.cluster_id: revision.body
        for revision in Revision.objects.filter(cluster__in=keys).order_by("cluster", "number")
    }
    asked = Entry.objects.filter(kind=CLUSTER_WISHED, subject_id__in=keys).order_by("-occurred_at")
    wished = dict(asked.values_list("subject_id", "occurred_at"))
    systems: defaultdict[UUID, list[Any]] = defaultdict(list)
    for one in FileSystem.objects.filter(cluster__in=keys).order_by("kind", "mount"):
        systems[one.cluster_id].append(one)
    for bucket in Bucket.objects.filter(cluster__in=keys).order_by("name"):
        systems[bucket.cluster_id].append(bucket)
    kinds = dict(Reservation.objects.exclude(external_id="").values_list("external_id", "kind"))
    first, coming = _accounts(), in_service(writing)
    found: defaultdict[UUID, list[Row]] = defaultdict(list)
    for row in rows:
        body, came = bodies.get(row.pk, {}), coming.get((row.tenant_id, row.name))
        found[row.tenant_id].append(
            told(
                name=row.name,
                **writing.in_cycle(row.participation_id),
                orchestrator=row.orchestrator,
                account=row.account.account_id if row.account.account_id != first.get(row.tenant_id) else None,
                region=row.region,
                az_id=row.az_id,
                state=_state(row, came is not None),
                instance_groups=[_group(group, kinds) for group in body.get("instance_groups", [])],
                subnet_cidr=_size(body.get("subnet_cidr", "")) or "/24",
                node_recovery=CUSTOMER_MANAGED if row.orchestrator == ON_EC2 else body.get("node_recovery") or "None",
                launch_requested_at=stamp(wished.get(row.pk)),
                in_service_at=stamp(came.at) if came else None,
                storage=[_storage(one) for one in systems[row.pk]],
                configuration={name: value for name, value in body.items() if name not in NOT_CARRIED},
            )
        )
    return found


def _state(row: Cluster, came: bool) -> str:
    """By its history: what was in service stays that, also where it is only kept as a wish."""
    if row.state == "failed":
        return "Failed"
    return "InService" if came else "Requested"


def _group(group: Row, kinds: dict[str, str]) -> Row:
    row = {name: group[name] for name in ("name", "instance_type", "count", "role")}
    held = group.get("training_plan") or group.get("reservation")
    return row | {"reservation": {"kind": kinds[held], "id": held}} if held in kinds else row


def _size(cidr: str) -> str:
    return f"/{ipaddress.ip_network(cidr, strict=False).prefixlen}" if cidr else ""


def _storage(row: FileSystem | Bucket) -> Row:
    if isinstance(row, Bucket):
        return told(kind="s3", bucket=row.name, tib=number(row.used_tib))
    kind = next(word for word, ours in FILE_SYSTEMS.items() if ours == row.kind)
    total = row.capacity_gib * row.mbs_per_tib // 1024 if row.mbs_per_tib else None
    return told(
        kind=kind,
        deployment=row.deployment,
        capacity_gib=row.capacity_gib,
        throughput_mbs_per_tib=row.mbs_per_tib,
        total_mbs=total,
        mount=row.mount,
    )
