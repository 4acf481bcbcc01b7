"""Makes a PyTorchJob for Kubernetes of a template, on shared storage and with HyperPod's own auto-resume. Pure."""

import re
from collections.abc import Mapping
from typing import Any

import yaml

from clusters import facts
from clusters.jobs.templates import Template, rendering
from clusters.jobs.templates.checks import Place, processes
from clusters.launchers import manifests

CLAIM = "fsx-claim"
RETRIES = 3


def manifest(
    template: Template,
    values: Mapping[str, Any],
    place: Place,
    *,
    name: str,
    nodes: int,
    minutes: int | None,
    image: str,
) -> dict[str, Any]:
    """The object. `values` are settled; `image` is named by its digest."""
    kind = facts.plain_name(place.instance_type)
    where = manifests.Place(place.namespace, kind, place.queue, place.priority, claims={"/fsx": CLAIM})
    work = manifests.Work(
        _name(name),
        image,
        nodes,
        script=rendering.in_pod(template, values, place, nodes=nodes),
        processes_per_node=processes(template, place),
        time_limit_minutes=minutes,
        retries=RETRIES,
    )
    return manifests.pytorch_job(where, work)


def written(told: Mapping[str, Any]) -> str:
    """As YAML that a person can read; nothing in it refers to something else."""
    return yaml.dump(dict(told), Dumper=_Plain, sort_keys=False, allow_unicode=True, width=110)


class _Plain(yaml.SafeDumper):
    """Several lines stand as a block, and the same thing twice is written twice."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _block(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Plain.add_representer(str, _block)


def _name(name: str) -> str:
    """A name that Kubernetes takes: small letters, digits and dashes, 40 at most, since pods add to it."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40].strip("-") or "job"
