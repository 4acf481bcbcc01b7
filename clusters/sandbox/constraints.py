"""What a service refuses before it looks at anything: values outside the model's enums, patterns, lengths and ranges.

A client library checks only that fields are known and of the right type, so wrong values do reach the service.
"""

import functools
import re
from collections.abc import Iterator
from typing import Any

from moto.core.utils import get_service_model

UNICODE_CLASSES = {
    r"\p{L}": r"\w",
    r"\p{Z}": r"\s",
    r"\p{N}": r"\d",
    r"\p{IsAlphabetic}": r"\w",
    r"\p{S}": "",
    r"\p{M}": "",
}


def violations(service: str, operation: str, parameters: dict[str, Any]) -> list[str]:
    """Every broken constraint in the service's own words."""
    shape = get_service_model(service).operation_model(operation).input_shape
    return list(_structure(shape, parameters, "")) if shape is not None else []


def sentence(found: list[str]) -> str:
    plural = "error" if len(found) == 1 else "errors"
    return f"{len(found)} validation {plural} detected: {'; '.join(found)}"


def _structure(shape: Any, value: dict[str, Any], where: str) -> Iterator[str]:
    for name in shape.required_members:
        if value.get(name) is None:
            yield f"Value null at '{_path(where, name)}' failed to satisfy constraint: Member must not be null"
    for name, member in shape.members.items():
        if value.get(name) is not None:
            yield from _any(member, value[name], _path(where, name))


def _any(shape: Any, value: Any, where: str) -> Iterator[str]:
    if shape.type_name == "structure":
        yield from _structure(shape, value, where)
    elif shape.type_name == "list":
        yield from _size(shape, len(value), where, value, "length")
        for number, one in enumerate(value, 1):
            yield from _any(shape.member, one, f"{where}.{number}.member")
    elif shape.type_name == "map":
        yield from _size(shape, len(value), where, value, "length")
        for key, one in value.items():
            yield from _any(shape.value, one, f"{where}.{key}")
    elif shape.type_name == "string":
        yield from _string(shape, str(value), where)
    elif shape.type_name in ("integer", "long", "float", "double"):
        yield from _size(shape, value, where, value, "value")


def _string(shape: Any, value: str, where: str) -> Iterator[str]:
    failed = f"Value '{value}' at '{where}' failed to satisfy constraint: Member must"
    yield from _size(shape, len(value), where, value, "length")
    if shape.enum and value not in shape.enum:
        yield f"{failed} satisfy enum value set: [{', '.join(shape.enum)}]"
    pattern = shape.metadata.get("pattern")
    if pattern and not _compiled(pattern).fullmatch(value):
        yield f"{failed} satisfy regular expression pattern: {pattern}"


def _size(shape: Any, size: float, where: str, value: Any, what: str) -> Iterator[str]:
    least, most = shape.metadata.get("min"), shape.metadata.get("max")
    have = "have length" if what == "length" else "have value"
    failed = f"Value '{value}' at '{where}' failed to satisfy constraint: Member must {have}"
    if least is not None and size < least:
        yield f"{failed} greater than or equal to {least}"
    if most is not None and size > most:
        yield f"{failed} less than or equal to {most}"


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    # One model has a beginning in the middle, which nothing could ever match.
    pattern = pattern.replace("/^", "/")
    for theirs, ours in UNICODE_CLASSES.items():
        pattern = pattern.replace(theirs, ours)
    try:
        return re.compile(pattern, re.DOTALL)
    except re.error:  # a dialect that Python does not read says nothing here
        return re.compile(r".*", re.DOTALL)


def _path(where: str, name: str) -> str:
    name = name[:1].lower() + name[1:]
    return f"{where}.{name}" if where else name
