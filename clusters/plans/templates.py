"""Read a CloudFormation template with given parameters: which resources it makes, with which properties."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import yaml

NOTHING = {"Ref": "AWS::NoValue"}
IN_TEXT = re.compile(r"\$\{([A-Za-z0-9]+)\}")


class Loader(yaml.SafeLoader):
    """YAML with the short forms of CloudFormation's functions."""


def _short_form(loader: Loader, suffix: str, node: yaml.Node) -> dict[str, Any]:
    value: Any
    if isinstance(node, yaml.ScalarNode):
        value = loader.construct_scalar(node)
    elif isinstance(node, yaml.SequenceNode):
        value = loader.construct_sequence(node, deep=True)
    else:
        value = loader.construct_mapping(node, deep=True)  # type: ignore[arg-type]
    if suffix == "GetAtt" and isinstance(value, str):
        value = value.split(".", 1)
    return {suffix if suffix in ("Ref", "Condition") else f"Fn::{suffix}": value}


Loader.add_multi_constructor("!", _short_form)


@dataclass(frozen=True)
class Resource:
    """A resource as far as it is known beforehand; references to other resources are left as they are."""

    type: str
    properties: Mapping[str, Any]
    kept_when_deleted: bool
    kept_when_replaced: bool


@lru_cache(maxsize=32)
def _read(template: str) -> dict[str, Any]:
    document: dict[str, Any] = yaml.load(template, Loader)
    return document


def resources(template: str, parameters: Mapping[str, str]) -> dict[str, Resource]:
    """The resources that this template makes, by their names in it."""
    document = _read(template)
    defaults = {name: each.get("Default", "") for name, each in document.get("Parameters", {}).items()}
    reader = _Reader({**defaults, **parameters}, document.get("Conditions", {}))
    return {
        name: Resource(
            type=each["Type"],
            properties=reader.value(each.get("Properties", {})),
            kept_when_deleted=each.get("DeletionPolicy", "Delete") in ("Retain", "RetainExceptOnCreate", "Snapshot"),
            kept_when_replaced=each.get("UpdateReplacePolicy", "Delete") in ("Retain", "Snapshot"),
        )
        for name, each in document["Resources"].items()
        if "Condition" not in each or reader.holds(each["Condition"])
    }


def outputs_of(template: str, names: set[str]) -> set[str]:
    """Outputs that say something about one of these resources."""
    document = _read(template)
    return {key for key, each in document.get("Outputs", {}).items() if references(each.get("Value")) & names}


class _Reader:
    def __init__(self, parameters: Mapping[str, Any], conditions: Mapping[str, Any]) -> None:
        self.parameters, self.conditions = parameters, conditions

    def holds(self, name: str) -> bool:
        return self.truth(self.conditions[name])

    def truth(self, told: Any) -> bool:
        word, inner = next(iter(told.items()))
        if word == "Condition":
            return self.holds(inner)
        if word == "Fn::Equals":
            first, second = (self.value(each) for each in inner)
            return str(first) == str(second)
        if word == "Fn::Not":
            return not self.truth(inner[0])
        return (all if word == "Fn::And" else any)(self.truth(each) for each in inner)

    def value(self, told: Any) -> Any:
        if isinstance(told, list):
            return [each for each in map(self.value, told) if each != NOTHING]
        if not isinstance(told, dict):
            return told
        if len(told) == 1:
            word, inner = next(iter(told.items()))
            if word == "Ref" and inner in self.parameters:
                return self.parameters[inner]
            if word == "Fn::If":
                return self.value(inner[1] if self.holds(inner[0]) else inner[2])
            if word == "Fn::Sub" and isinstance(inner, str):
                known = self.parameters
                return {word: IN_TEXT.sub(lambda found: str(known.get(found[1], found[0])), inner)}
        return {name: value for name, each in told.items() if (value := self.value(each)) != NOTHING}


def references(value: Any) -> set[str]:
    """Names of the resources that a value refers to."""
    return set(_references(value))


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for each in value:
            yield from _references(each)
    elif isinstance(value, dict):
        for word, inner in value.items():
            if word == "Ref" and isinstance(inner, str):
                yield inner
            elif word == "Fn::GetAtt" and isinstance(inner, list):
                yield str(inner[0])
            elif word == "Fn::Sub":
                text = inner if isinstance(inner, str) else str(inner[0])
                yield from re.findall(r"\$\{([A-Za-z0-9]+)", text)
            else:
                yield from _references(inner)
