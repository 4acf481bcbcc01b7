"""Templates: read with a safe loader, and checked as the service checks them before anything is made."""

import functools
import re
from collections.abc import Iterator
from typing import Any

import yaml

from clusters.sandbox.errors import AwsError

INTRINSICS = "Base64 Cidr FindInMap GetAtt GetAZs If ImportValue Join Select Split Sub And Equals Not Or".split()
SUBSTITUTED = re.compile(r"\$\{(!?)([^}]*)\}")
PSEUDO = ("AccountId", "NoValue", "NotificationARNs", "Partition", "Region", "StackId", "StackName", "URLSuffix")


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Plain YAML and the short forms of the intrinsic functions; no other tag is known."""


_Loader.yaml_implicit_resolvers = {
    letter: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for letter, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def _short(name: str, loader: Any, node: yaml.Node) -> Any:
    if isinstance(node, yaml.ScalarNode):
        value: Any = loader.construct_scalar(node)
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    else:
        value = loader.construct_mapping(node, deep=True)
    if name in ("Ref", "Condition"):
        return {name: value}
    if name == "GetAtt" and isinstance(value, str):
        value = value.split(".", 1)
    return {f"Fn::{name}": value}


for _name in (*INTRINSICS, "Ref", "Condition"):
    _Loader.add_constructor(f"!{_name}", functools.partial(_short, _name))


def read(body: str) -> dict[str, Any]:
    """The template as a mapping, or the service's refusal."""
    try:
        template = yaml.load(body, Loader=_Loader)
    except yaml.YAMLError as broken:
        place = getattr(broken, "problem_mark", None)
        where = f" (line {place.line + 1}, column {place.column + 1})" if place else ""
        raise invalid(f"Template format error: YAML not well-formed.{where}") from None
    if not isinstance(template, dict):
        raise invalid("Template format error: unsupported structure.")
    resources = template.get("Resources")
    if not isinstance(resources, dict) or not resources:
        raise invalid("Template format error: At least one Resources member must be defined.")
    for name, resource in resources.items():
        if not isinstance(resource, dict) or not isinstance(resource.get("Type"), str):
            raise invalid(
                f"Template format error: [/Resources/{name}] Every Resources object must contain a Type member."
            )
        if not re.fullmatch(r"[a-zA-Z0-9]{1,255}", str(name)):
            raise invalid(f"Template format error: Resource name {name} is non alphanumeric.")
    return template


def parameters_of(template: dict[str, Any], given: dict[str, str]) -> dict[str, str]:
    """Every parameter's value: the given one or the default, within what the template allows."""
    declared = template.get("Parameters") or {}
    unknown = sorted(set(given) - set(declared))
    if unknown:
        raise invalid(f"Parameters: [{', '.join(unknown)}] do not exist in the template")
    values = {name: given.get(name, rule.get("Default")) for name, rule in declared.items()}
    missing = [name for name, value in values.items() if value is None]
    if missing:
        raise invalid(f"Parameters: [{', '.join(missing)}] must have values")
    for name, rule in declared.items():
        values[name] = as_text(values[name])
        _check_parameter(name, rule, values[name])
    return values


def as_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _check_parameter(name: str, rule: dict[str, Any], value: str) -> None:
    why = rule.get("ConstraintDescription")
    if rule.get("AllowedValues") and value not in [as_text(one) for one in rule["AllowedValues"]]:
        allowed = ", ".join(as_text(one) for one in rule["AllowedValues"])
        raise invalid(why or f"Parameter '{name}' must be one of AllowedValues [{allowed}]")
    if rule.get("AllowedPattern") and not re.fullmatch(rule["AllowedPattern"], value):
        raise invalid(why or f"Parameter '{name}' must match pattern {rule['AllowedPattern']}")
    if rule["Type"] == "Number":
        try:
            number = float(value)
        except ValueError:
            raise invalid(f"Parameter '{name}' must be a number.") from None
        if not float(rule.get("MinValue", number)) <= number <= float(rule.get("MaxValue", number)):
            raise invalid(why or f"Parameter '{name}' must be between MinValue and MaxValue")
    if rule["Type"] == "String" and not (
        int(rule.get("MinLength", 0)) <= len(value) <= int(rule.get("MaxLength", len(value)))
    ):
        raise invalid(why or f"Parameter '{name}' must be between MinLength and MaxLength characters long")


def references(piece: Any) -> Iterator[tuple[str, str]]:
    """(name, attribute) of everything that a piece of a template refers to; the attribute is empty for Ref."""
    if isinstance(piece, list):
        for one in piece:
            yield from references(one)
    elif isinstance(piece, dict):
        for key, value in piece.items():
            if key == "Ref" and isinstance(value, str):
                yield value, ""
            elif key == "Fn::GetAtt":
                parts = value.split(".", 1) if isinstance(value, str) else value
                yield str(parts[0]), str(parts[1])
            elif key == "Fn::Sub":
                text, own = (value, {}) if isinstance(value, str) else (value[0], value[1])
                yield from references(own)
                for literal, name in SUBSTITUTED.findall(text):
                    if not literal and name.strip() not in own:
                        logical, _, attribute = name.strip().partition(".")
                        yield logical, attribute
            else:
                yield from references(value)


def check(template: dict[str, Any], known: dict[str, tuple[str, ...]]) -> None:
    """Types, references and order; `known` maps a type to the attributes that can be got from it."""
    resources = template["Resources"]
    strange = sorted({resource["Type"] for resource in resources.values()} - set(known))
    if strange:
        raise invalid(f"Template format error: Unrecognized resource types: [{', '.join(strange)}]")
    names = set(resources) | set(template.get("Parameters") or {}) | {f"AWS::{name}" for name in PSEUDO}
    for block in ("Resources", "Outputs"):
        for logical, attribute in references(template.get(block) or {}):
            if logical not in names:
                message = f"Template format error: Unresolved resource dependencies [{logical}] in the {block} block of the template"
                raise invalid(message)
            if attribute and (logical not in resources or attribute not in known[resources[logical]["Type"]]):
                message = (
                    f"Template error: resource {logical} does not support attribute type {attribute} in Fn::GetAtt"
                )
                raise invalid(message)
    for name, resource in resources.items():
        for other in _listed(resource.get("DependsOn") or []):
            if other not in resources:
                message = f"Template format error: Unresolved resource dependencies [{other}] in the Resources block of the template"
                raise invalid(message)
        condition = resource.get("Condition")
        if condition and condition not in (template.get("Conditions") or {}):
            raise invalid(f"Template format error: Unresolved condition dependency {condition} in {name}")
    _check_circles({name: needs(template, name) for name in resources})


def needs(template: dict[str, Any], name: str) -> set[str]:
    """The other resources that must be there before this one."""
    resource = template["Resources"].get(name, {})  # what an update had begun that was taken back is in no template
    found = {logical for logical, _ in references(resource.get("Properties") or {})} | set(
        _listed(resource.get("DependsOn") or [])
    )
    return (found & set(template["Resources"])) - {name}


def _check_circles(edges: dict[str, set[str]]) -> None:
    left = {name: set(others) for name, others in edges.items()}
    while left:
        free = {name for name, others in left.items() if not others & set(left)}
        if not free:
            raise invalid(f"Circular dependency between resources: [{', '.join(sorted(left))}]")
        left = {name: others for name, others in left.items() if name not in free}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def invalid(message: str) -> AwsError:
    return AwsError("ValidationError", message, 400)
