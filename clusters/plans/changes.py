"""The differences between two configurations, in words."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from packaging.version import InvalidVersion, Version

from clusters.architectures.configuration import Configuration
from clusters.findings import untranslated
from clusters.wording import gettext_noop

GROUPS = "instance_groups"

LABELS: Mapping[str, str] = {
    "architecture": gettext_noop("Reference architecture"),
    "version": gettext_noop("Version of the architecture"),
    "region": gettext_noop("Region"),
    "az_id": gettext_noop("Zone"),
    "vpc_cidr": gettext_noop("Network"),
    "subnet_cidr": gettext_noop("Subnet of the nodes"),
    "node_recovery": gettext_noop("When a node fails its checks"),
    "deep_health_checks": gettext_noop("Deep health checks"),
    "storage.lustre.capacity_gib": gettext_noop("Size of Lustre (GiB)"),
    "storage.lustre.mbs_per_tib": gettext_noop("Throughput of Lustre (MB/s per TiB)"),
    "storage.openzfs": gettext_noop("OpenZFS"),
    "storage.openzfs.capacity_gib": gettext_noop("Size of OpenZFS (GiB)"),
    "storage.openzfs.mbs": gettext_noop("Throughput of OpenZFS (MB/s)"),
    "storage.bucket": gettext_noop("Bucket"),
    "storage.bucket_exists": gettext_noop("The bucket is there already"),
    "storage.openzfs.deployment": gettext_noop("Kind of OpenZFS"),
    "observability": gettext_noop("Monitoring"),
    "kubernetes": gettext_noop("Place of jobs on Kubernetes"),
    "kubernetes.namespace": gettext_noop("Namespace"),
    "kubernetes.queue": gettext_noop("Local queue"),
    "kubernetes.priority": gettext_noop("Priority"),
    "reach": gettext_noop("Way to the scheduler"),
    "images": gettext_noop("Images"),
    "node_setup": gettext_noop("The participant's own node set-up"),
    "node_setup.name": gettext_noop("The participant's own node set-up"),
    "node_setup.version": gettext_noop("Version of the node set-up"),
    "node_setup.sha256": gettext_noop("Checksum of the node set-up"),
    "name": gettext_noop("Name"),
    "instance_type": gettext_noop("Instance type"),
    "count": gettext_noop("Nodes"),
    "role": gettext_noop("Role"),
    "training_plan": gettext_noop("Training plan"),
    "reservation": gettext_noop("Reservation"),
    "capacity": gettext_noop("Capacity"),
    "placement_group": gettext_noop("Placement group"),
}

SENTENCES: Mapping[str, str] = {
    "group_added": gettext_noop("The group %(group)s comes: %(new)s."),
    "group_removed": gettext_noop("The group %(group)s goes: %(old)s."),
    "group_changed": gettext_noop("%(field)s of the group %(group)s: from %(old)s to %(new)s."),
    "added": gettext_noop("%(field)s comes: %(new)s."),
    "removed": gettext_noop("%(field)s goes: it was %(old)s."),
    "changed": gettext_noop("%(field)s: from %(old)s to %(new)s."),
    "raised": gettext_noop("%(field)s goes up, from %(old)s to %(new)s."),
    "lowered": gettext_noop("%(field)s goes down, from %(old)s to %(new)s."),
}
VERSIONS = ("version", "software.")  # places that hold releases
NONE, YES, NO = gettext_noop("none"), gettext_noop("yes"), gettext_noop("no")


@dataclass(frozen=True)
class Change:
    """One difference; `path` is the field in the configuration, within its group where there is one."""

    code: str
    path: str
    old: Any = None
    new: Any = None
    group: str = ""

    def sentence(self, translate: Callable[[str], str] = untranslated) -> str:
        label = LABELS.get(self.path)
        return translate(SENTENCES[self.code]) % {
            "field": translate(label) if label else self.path,
            "group": self.group,
            "old": _told(self.old, translate, self.path),
            "new": _told(self.new, translate, self.path),
        }


def changes(old: Configuration, new: Configuration) -> list[Change]:
    """What is different, groups first; empty when nothing is."""
    return differences(old.document(), new.document())


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Change]:
    """The same of two documents, which may be such as no cluster could be made of."""
    before, after = dict(old), dict(new)
    groups_before, groups_after = _named(before.pop(GROUPS, [])), _named(after.pop(GROUPS, []))
    return [*_groups(groups_before, groups_after), *_fields(before, after, "")]


def _named(groups: Any) -> list[dict[str, Any]]:
    rows = [dict(each) for each in groups if isinstance(each, Mapping)] if isinstance(groups, list | tuple) else []
    return [{**each, "name": str(each.get("name", number + 1))} for number, each in enumerate(rows)]


def _groups(before: list[dict[str, Any]], after: list[dict[str, Any]]) -> Iterator[Change]:
    old, new = {each["name"]: each for each in before}, {each["name"]: each for each in after}
    for name in [*new, *(name for name in old if name not in new)]:
        if name not in old:
            yield Change("group_added", GROUPS, new=_group(new[name]), group=name)
        elif name not in new:
            yield Change("group_removed", GROUPS, old=_group(old[name]), group=name)
        else:
            for field in dict.fromkeys([*new[name], *old[name]]):
                was, will_be = old[name].get(field), new[name].get(field)
                if was != will_be:
                    yield Change("group_changed", field, was, will_be, name)


def _group(group: Mapping[str, Any]) -> str:
    return f"{group.get('count', '?')} × {group.get('instance_type', '?')}"


def _fields(before: Mapping[str, Any], after: Mapping[str, Any], path: str) -> Iterator[Change]:
    for name in dict.fromkeys([*before, *after]):
        old, new, here = before.get(name), after.get(name), f"{path}{name}"
        if old == new:
            continue
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            yield from _fields(old, new, f"{here}.")
        elif _empty(old):
            yield Change("added", here, new=new)
        elif _empty(new):
            yield Change("removed", here, old=old)
        elif here.startswith(VERSIONS) and (way := _way(old, new)):
            yield Change(way, here, old, new)
        else:
            yield Change("changed", here, old, new)


def _way(old: Any, new: Any) -> str:
    """Whether a release of something goes up or down: 3.10 comes after 3.2. Empty where they are no releases."""
    try:
        before, after = Version(str(old)), Version(str(new))
    except InvalidVersion:
        return ""
    return "raised" if after > before else "lowered" if after < before else ""


def _empty(value: Any) -> bool:
    return value is None or value in ("", [], (), {})


def _told(value: Any, translate: Callable[[str], str], path: str) -> str:
    if isinstance(value, bool):
        return translate(YES if value else NO)
    if _empty(value):
        return translate(NONE)
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, Mapping):
        inner = [(LABELS.get(f"{path}.{name}", name), each) for name, each in value.items()]
        return ", ".join(f"{translate(name)} {_told(each, translate, path)}" for name, each in inner)
    if isinstance(value, list | tuple):
        return ", ".join(_told(each, translate, path) for each in value)
    return str(value)
