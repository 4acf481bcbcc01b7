"""What the programme adds up to, counted by the database and not from the rows of the file."""

from __future__ import annotations

from collections import Counter
from typing import Any

from django.db import connection
from django.db.models import Count

from clusters import facts
from clusters.models import Job
from program.models import Review
from program.transfer.dates import Row
from program.transfer.writing.cases import case_ids
from program.transfer.writing.names import Writing
from program.transfer.writing.participants import counted
from support.models import Case
from support.states import OPEN
from tenants.models import Membership

# Of each cluster's newest configuration, since one cluster may be made of several kinds of instances.
INSTANCES = """
select cluster.region, asked ->> 'instance_type', sum((asked ->> 'count')::int)
  from clusters_cluster cluster
 cross join lateral (
         select body from clusters_revision revision
          where revision.tenant_id = cluster.tenant_id and revision.cluster_id = cluster.id
          order by number desc limit 1
       ) newest
 cross join lateral jsonb_array_elements(newest.body -> 'instance_groups') asked
 where cluster.wanted and cluster.state <> 'deleted' and cluster.tenant_id = any(%s::uuid[])
   and asked ->> 'role' = 'compute'
 group by 1, 2 order by 1, 2
"""


def totals(writing: Writing) -> Row:
    places, rows, ids = list(writing.slugs), counted(writing).order_by(), case_ids(writing)
    open_cases = Case.objects.filter(tenant__in=places, state__in=OPEN)
    jobs = Job.objects.filter(cluster__in=rows.values("pk"), purpose=Job.Purpose.TRAINING)
    by_engine = rows.values_list("orchestrator").annotate(Count("pk")).order_by("orchestrator")
    instances = _instances(places)
    return {
        "participants": len(places),
        "clusters": rows.count(),
        **_hardware(instances),
        "by_region": _by_region(instances),
        "by_orchestrator": dict(by_engine),
        "cases": Case.objects.filter(tenant__in=places).count(),
        "open_cases": open_cases.count(),
        "open_case_ids": sorted(ids[pk] for pk in open_cases.values_list("pk", flat=True)),
        "reviews": Review.objects.filter(cycle=writing.running).count(),
        "jobs": jobs.count(),
        "people": Membership.objects.filter(person__in=list(writing.people)).values("person").distinct().count(),
    }


def _instances(places: list[Any]) -> list[tuple[str, str, int]]:
    """(Region, kind of instance, how many) of all compute groups."""
    with connection.cursor() as cursor:
        cursor.execute(INSTANCES, [[str(place) for place in places]])
        return list(cursor.fetchall())


def _hardware(found: list[tuple[str, str, int]]) -> Row:
    families, accelerators, vcpus = Counter[str](), Counter[str](), Counter[str]()
    for _region, name, count in found:
        known, family = facts.load().instance(name), name.partition(".")[0]
        families[f"{family}_instances"] += count
        if known and known.accelerators:
            accelerators[accelerator_of(known)] += known.accelerators * count
        vcpus[family] += (known.vcpus or 0) * count if known else 0
    return {**sorted_of(families), "accelerators": sorted_of(accelerators), "vcpus": sorted_of(vcpus)}


def sorted_of(counts: Counter[str]) -> dict[str, int]:
    return {name: counts[name] for name in sorted(counts)}


def accelerator_of(known: facts.Instance) -> str:
    """h100, trainium: what its kind of instances has; our facts have one word for all that speak Neuron."""
    if known.accelerator == "Neuron":
        return "inferentia" if known.family.startswith("inf") else "trainium"
    return known.accelerator.lower()


def _by_region(found: list[tuple[str, str, int]]) -> Row:
    rows: Row = {}
    for region, name, count in found:
        rows.setdefault(region, {})[name] = count
    return rows


def instance_types(writing: Writing) -> list[Row]:
    """The facts about the kinds of instances that the clusters are made of."""
    names = sorted({name for _region, name, _count in _instances(list(writing.slugs))})
    found = [known for name in names if (known := facts.load().instance(name))]
    return [
        {
            "name": known.name,
            "hyperpod_name": known.ml_name,
            "family": known.family.capitalize(),
            "accelerator": known.accelerator,
            "accelerators": known.accelerators,
            "vcpus": known.vcpus,
            "memory_gib": known.memory_gib,
            "efa_interfaces": known.efa or 0,
            "ips_per_instance_slurm": known.addresses("slurm"),
            "ips_per_instance_eks": known.addresses("eks"),
        }
        for known in found
    ]
