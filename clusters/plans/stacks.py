"""What an update of a stack does to each of its resources, by CloudFormation's own rules of replacement."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from clusters.facts import table
from clusters.plans.effects import Effect
from clusters.plans.templates import Resource, references, resources

# What is on these is gone with them.
HOLDS_DATA = ("AWS::FSx::FileSystem", "AWS::FSx::Volume", "AWS::S3::Bucket", "AWS::RDS::DBCluster",
              "AWS::RDS::DBInstance", "AWS::EC2::Volume", "AWS::EFS::FileSystem")  # fmt: skip
FILE_SYSTEM = "AWS::FSx::FileSystem"
STAYS = {True: "data_stays", False: "resource_stays"}  # when a cluster goes, by whether it holds data

Body = Mapping[str, Any]


@lru_cache(maxsize=1)
def replacing() -> Mapping[str, frozenset[str]]:
    """Type of a resource -> the properties whose change replaces it; a type that is absent is not known."""
    found: dict[str, set[str]] = {}
    for row in table("replacing-properties.tsv"):
        found.setdefault(row["type"], set()).update({row["property"]} - {"-"})
    return {name: frozenset(properties) for name, properties in found.items()}


def effects(part: str, old: Body | None, new: Body) -> list[Effect]:
    """What becomes of each resource; `old` is None for a stack that is still to be made."""
    after = resources(new["TemplateBody"], new["Parameters"])
    before = resources(old["TemplateBody"], old["Parameters"]) if old else {}
    replaced, changed = _fates(before, after)
    found = [_created(part, name, after[name]) for name in after if name not in before]
    for name in (name for name in after if name in before):
        if name in replaced:
            found.append(_replaced(part, name, before[name], after[name], replaced[name]))
        elif name in changed:
            found += _changed(part, name, before[name], after[name], changed[name])
    found += [_removed(part, name, before[name]) for name in before if name not in after]
    return found


def replaced(old: Body, new: Body) -> set[str]:
    """Names of the resources that get another identity, or have none any more."""
    before = resources(old["TemplateBody"], old["Parameters"])
    after = resources(new["TemplateBody"], new["Parameters"])
    return set(_fates(before, after)[0]) | (set(before) ^ set(after))


def removal(part: str, body: Body) -> list[Effect]:
    """What the deletion of a stack takes away, and what it leaves."""
    made = resources(body["TemplateBody"], body["Parameters"])
    found = [_removed(part, name, each) for name, each in made.items()]
    return [replace(each, code=STAYS[each.holds_data]) if each.kind == "kept" else each for each in found]


def _fates(
    before: Mapping[str, Resource], after: Mapping[str, Resource]
) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Replaced and changed resources, each with the properties that make it so. What refers to a replaced one changes."""
    replaced: dict[str, set[str]] = {}
    changed: dict[str, set[str]] = {}
    news = True
    while news:
        news = False
        for name in (name for name in after if name in before and name not in replaced):
            fields = set(_differences(before[name].properties, after[name].properties, ""))
            fields |= set(_pointing(after[name].properties, set(replaced), ""))
            final = _final(after[name].type, fields)
            if before[name].type != after[name].type or final:
                replaced[name], news = final or {"Type"}, True
                changed.pop(name, None)
            elif fields:
                changed[name] = fields
    return replaced, changed


def _differences(old: Any, new: Any, path: str) -> Iterator[str]:
    """Paths of what is different, entries of lists without their place."""
    if isinstance(old, Mapping) and isinstance(new, Mapping) and not {"Ref", "Fn::GetAtt", "Fn::Sub"} & {*old, *new}:
        for name in dict.fromkeys([*old, *new]):
            yield from _differences(old.get(name), new.get(name), f"{path}/{name}" if path else name)
    elif not _same(old, new):
        yield path


def _same(old: Any, new: Any) -> bool:
    """A parameter is text, a literal may be a number; the service does not tell them apart."""
    plain = isinstance(old, str | int | float) and isinstance(new, str | int | float)
    return str(old) == str(new) if plain else bool(old == new)


def _pointing(value: Any, targets: set[str], path: str) -> Iterator[str]:
    """Paths of what refers to one of these resources."""
    if isinstance(value, Mapping) and not {"Ref", "Fn::GetAtt", "Fn::Sub"} & set(value):
        for name, inner in value.items():
            yield from _pointing(inner, targets, f"{path}/{name}" if path else name)
    elif targets & references(value):
        yield path


def _final(kind: str, fields: set[str]) -> set[str]:
    rules = replacing().get(kind, frozenset())
    return {
        field
        for field in fields
        for rule in rules
        if f"{field}/".startswith(f"{rule}/") or f"{rule}/".startswith(f"{field}/")
    }


def _about(name: str, resource: Resource, fields: set[str] | None = None) -> dict[str, Any]:
    return {"name": name, "type": resource.type, "fields": ", ".join(sorted(fields or ()))}


def _created(part: str, name: str, resource: Resource) -> Effect:
    return Effect("created", "resource_created", part, values=_about(name, resource))


def _replaced(part: str, name: str, old: Resource, new: Resource, fields: set[str]) -> Effect:
    kept, data = old.kept_when_replaced, old.type in HOLDS_DATA
    code = "resource_replaced_kept" if kept else "resource_replaced"
    return Effect(
        "lost" if data and not kept else "replaced",
        code,
        part,
        "Replacement",
        _about(name, new, fields),
        holds_data=data,
    )


def _changed(part: str, name: str, old: Resource, new: Resource, fields: set[str]) -> Iterator[Effect]:
    if new.type not in replacing():
        yield Effect("unknown", "resource_unknown", part, values=_about(name, new, fields))
        return
    if new.type == FILE_SYSTEM and "StorageCapacity" in fields:
        had, asked = int(old.properties["StorageCapacity"]), int(new.properties["StorageCapacity"])
        if asked < had:
            yield Effect(
                "refused", "storage_grows_only", part, "FSx", {"name": name, "old": f"{had:,}", "new": f"{asked:,}"}
            )
            return
    yield Effect("changed", "resource_changed", part, "No interruption", _about(name, new, fields))
    if new.type == FILE_SYSTEM:
        yield Effect("changed", "storage_by_the_way", part, "FSx", {"name": name})


def _removed(part: str, name: str, resource: Resource) -> Effect:
    if resource.kept_when_deleted:
        return Effect(
            "kept",
            "resource_kept",
            part,
            "DeletionPolicy",
            _about(name, resource),
            holds_data=resource.type in HOLDS_DATA,
        )
    if resource.type in HOLDS_DATA:
        return Effect("lost", "resource_lost", part, "DeletionPolicy", _about(name, resource), holds_data=True)
    return Effect("removed", "resource_removed", part, "DeletionPolicy", _about(name, resource))
