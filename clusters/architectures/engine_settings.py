"""What a participant may tell the engine in the engine's own words, laid over the file that we write. Pure."""

import copy
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from clusters.findings import Finding

FIELD = "engine_settings"
LONGEST, DEEPEST, SHOWN = 20_000, 12, 80
OURS = ("Scheduling.SlurmSettings.QueueUpdateStrategy",)  # what we write into the parts that are open to others


def wrong(given: Mapping[Any, Any], open_to: Sequence[str]) -> list[Finding]:
    """Everything that cannot be taken; whether the engine understands the rest, its own schema says."""
    findings = [*_strange(given, FIELD, 0)]
    if findings:
        return findings
    if len(json.dumps(given)) > LONGEST:
        return [Finding("too_large", "refused", FIELD, len(json.dumps(given)), LONGEST, "characters")]
    return [*_closed(given, "", open_to)]


def _strange(value: Any, path: str, depth: int) -> Iterator[Finding]:
    """What a file of JSON could not hold, such as a date that YAML has read out of 2026-01-01."""
    if depth > DEEPEST:
        yield Finding("settings_too_deep", "refused", path, depth, DEEPEST)
    elif isinstance(value, Mapping):
        for key, below in value.items():
            if not isinstance(key, str) or not key or not key.isprintable():
                yield Finding("settings_value", "refused", path, str(key)[:SHOWN].replace("\0", "\\0"))
            else:
                yield from _strange(below, f"{path}.{key[:SHOWN]}", depth + 1)
    elif isinstance(value, list):
        for number, below in enumerate(value):
            yield from _strange(below, f"{path}[{number}]", depth + 1)
    elif not _plain(value):
        yield Finding("settings_value", "refused", path, str(value)[:SHOWN].replace("\0", "\\0"))


def _plain(value: Any) -> bool:
    if isinstance(value, str):
        return "\0" not in value and all(each.isprintable() or each in "\n\r\t" for each in value)
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, bool | int)


def _closed(given: Mapping[str, Any], path: str, open_to: Sequence[str]) -> Iterator[Finding]:
    for key, value in given.items():
        here = f"{path}.{key}" if path else key
        inside = [each for each in OURS if each.startswith(f"{here}.")]
        if here in OURS:
            yield Finding("settings_ours", "refused", f"{FIELD}.{here}", _short(value))
        elif any(here == each or here.startswith(f"{each}.") for each in open_to):
            if inside and isinstance(value, Mapping):
                yield from _closed(value, here, open_to)
        elif isinstance(value, Mapping) and any(each.startswith(f"{here}.") for each in open_to):
            yield from _closed(value, here, open_to)
        else:
            yield Finding("settings_closed", "refused", f"{FIELD}.{here}", _short(value), ", ".join(open_to))


def _short(value: Any) -> str:
    return (value if isinstance(value, str) else json.dumps(value))[:SHOWN]


def laid_over(ours: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Both in one; where both say something, ours stands."""
    whole = copy.deepcopy(dict(ours))
    for key, value in settings.items():
        if isinstance(value, Mapping) and isinstance(whole.get(key), Mapping):
            whole[key] = laid_over(whole[key], value)
        else:
            whole.setdefault(key, copy.deepcopy(value))
    return whole
