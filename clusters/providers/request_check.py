"""Checks a request against the service's own model, with what botocore leaves out: enums, patterns and maxima."""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from botocore.validate import ParamValidator

from clusters.providers import aws

# Classes of the Java regular expressions in the models that Python spells otherwise.
SPELLINGS = {r"\p{L}": r"\w", r"\p{Z}": r"\s", r"\p{N}": r"\d"}


def problems(service: str, operation: str, request: Mapping[str, Any]) -> list[str]:
    """One line for each thing the service would refuse; empty when there is none."""
    shape = aws.model(service).operation_model(operation).input_shape
    report = ParamValidator().validate(dict(request), shape)
    if report.has_errors():
        return [line for line in str(report.generate_report()).splitlines() if line]
    return list(misfits(shape, request, operation))


def misfits(shape: Any, value: Any, path: str) -> Iterator[str]:
    """What of a value is outside the model's enums, patterns and sizes; which members it must have is not asked."""
    if shape.type_name == "structure":
        for name, inner in value.items():
            yield from misfits(shape.members[name], inner, f"{path}.{name}")
    elif shape.type_name == "list":
        yield from _size(shape, len(value), path, "entries")
        for index, inner in enumerate(value):
            yield from misfits(shape.member, inner, f"{path}[{index}]")
    elif shape.type_name == "map":
        yield from _size(shape, len(value), path, "entries")
        for key, inner in value.items():
            yield from misfits(shape.key, key, f"{path} (key)")
            yield from misfits(shape.value, inner, f"{path}.{key}")
    elif shape.type_name == "string":
        yield from _text(shape, value, path)
    elif shape.type_name in ("integer", "long", "float", "double"):
        yield from _size(shape, value, path, "")


def _text(shape: Any, value: str, path: str) -> Iterator[str]:
    if shape.enum and value not in shape.enum:
        yield f"{path}: {value!r} is none of the values that the service knows."
    yield from _size(shape, len(value), path, "characters")
    pattern = shape.metadata.get("pattern")
    if pattern and not _compiled(pattern).fullmatch(value):
        yield f"{path}: {value!r} does not match {pattern}."


def _size(shape: Any, size: float, path: str, unit: str) -> Iterator[str]:
    least, most = shape.metadata.get("min"), shape.metadata.get("max")
    if least is not None and size < least:
        yield f"{path}: {size} {unit} is less than {least}.".replace("  ", " ")
    if most is not None and size > most:
        yield f"{path}: {size} {unit} is more than {most}.".replace("  ", " ")


@lru_cache(maxsize=256)
def _compiled(pattern: str) -> re.Pattern[str]:
    for java, python in SPELLINGS.items():
        pattern = pattern.replace(java, python)
    return re.compile(pattern)
