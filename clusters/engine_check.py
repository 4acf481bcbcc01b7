"""What ParallelCluster's own schema says of a configuration, as findings in our words with the place in its file. Pure
but for the one question."""

import re
from collections.abc import Mapping
from typing import Any

from clusters.architectures import engine_settings
from clusters.architectures.configuration import Configuration
from clusters.architectures.parts import specimen
from clusters.documents import placeholders
from clusters.documents.reading import Read, read
from clusters.findings import Finding
from clusters.providers import schema
from clusters.providers.schema import NotChecked, Problem

Path = tuple[str | int, ...]
SHOWN = 120
# What the schema's words mean; a group, where there is one, is what it would take.
MEANINGS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"Unknown field\."), "schema_unknown"),
    (re.compile(r"Missing data for required field\."), "schema_missing"),
    (re.compile(r"Must be one of: (.*)\.", re.DOTALL), "schema_choice"),
    (re.compile(r"Must be greater than or equal to (.*)\."), "schema_least"),
    (re.compile(r"Must be less than or equal to (.*)\."), "schema_most"),
    (re.compile(r"Longer than maximum length (\d+)\."), "schema_longest"),
    (re.compile(r"Not a valid integer\."), "schema_number"),
    (re.compile(r"Not a valid (?:number|float)\."), "schema_number"),
    (re.compile(r"Not a valid boolean\."), "schema_yes_or_no"),
    (re.compile(r"Not a valid string\."), "schema_text"),
    (re.compile(r"Not a valid list\."), "schema_list"),
    (re.compile(r"Not a valid mapping type\.|Invalid input type\."), "schema_fields"),
    (re.compile(r"String does not match expected (?:regex )?pattern.*", re.DOTALL), "schema_pattern"),
)
# Where a place in its file comes from: the field of the instance group that a queue was made of, or of the whole.
OF_QUEUES = {
    ("Name",): "name",
    ("CapacityType",): "capacity",
    ("Networking", "PlacementGroup"): "placement_group",
    ("ComputeResources", 0, "Name"): "name",
    ("ComputeResources", 0, "InstanceType"): "instance_type",
    ("ComputeResources", 0, "MinCount"): "count",
    ("ComputeResources", 0, "MaxCount"): "count",
    ("ComputeResources", 0, "CapacityReservationTarget"): "reservation",
}
OF_THE_WHOLE = {("Region",): "region", ("HeadNode", "Iam", "S3Access", 1): "storage.bucket"}
HEAD, QUEUES = ("HeadNode", "InstanceType"), ("Scheduling", "SlurmQueues")


def findings(wish: Configuration, *, name: str, address: str) -> list[Finding]:
    """Refusals of the schema; or that it takes everything; or, as a warning, why it could not be asked."""
    if wish.made_of().engine != "parallelcluster":
        return []
    configuration = specimen(wish)
    try:
        found = schema.problems(
            address, name=name or "cluster", region=wish.region or "us-east-1", configuration=configuration
        )
    except NotChecked as error:
        return [Finding(f"schema_{error.why}", "warning", "configuration", who="architect")]
    if not found:
        return [Finding("schema", "ok", "configuration")]
    told = [_finding(each, wish, configuration) for each in found]
    return list({(each.code, each.values["path"]): each for each in told}.values())


def of_file(source: Read, *, address: str) -> list[Finding]:
    """What the schema says of somebody's own file; blanks in it are judged as if they were filled in."""
    configuration = read(placeholders.filled(source.text)).value
    region = str(configuration.get("Region") or "us-east-1")
    try:
        found = schema.problems(address, name="cluster", region=region, configuration=configuration)
    except NotChecked as error:
        return [Finding(f"schema_{error.why}", "warning", "file", who="architect")]
    told = [_worded(each, written(each.path) or "file", configuration, source.line(each.path)) for each in found]
    return told or [Finding("schema", "ok", "file")]


def _finding(problem: Problem, wish: Configuration, configuration: Mapping[str, Any]) -> Finding:
    return _worded(problem, field(problem.path, wish), configuration)


def _worded(problem: Problem, place: str, configuration: Mapping[str, Any], line: int = 0) -> Finding:
    code, allowed = "schema_other", ""
    for pattern, meaning in MEANINGS:
        if fits := pattern.fullmatch(problem.says):
            code, allowed = meaning, fits[1] if fits.lastindex else ""
            break
    values = {"path": written(problem.path), "says": problem.says} | ({"line": line} if line else {})
    asked = _short(at(configuration, problem.path))
    return Finding(code, "refused", place, asked, allowed, values=values)


def written(path: Path) -> str:
    """A place as people write it, e.g. Scheduling.SlurmQueues[0].Name."""
    told = "".join(f"[{each}]" if isinstance(each, int) else f".{each}" for each in path)
    return told.lstrip(".")


def at(configuration: Any, path: Path) -> Any:
    """What stands there; None where nothing does."""
    for each in path:
        try:
            configuration = configuration[each]
        except (LookupError, TypeError):
            return None
    return configuration


def field(path: Path, wish: Configuration) -> str:
    """The field of our own configuration that led to this place."""
    if path and _told(wish.engine_settings, path):
        return f"{engine_settings.FIELD}.{written(path)}"
    if path[:2] == QUEUES and len(path) > 2 and isinstance(path[2], int):
        places = [index for index, group in enumerate(wish.instance_groups) if group.role == "compute"]
        rest = path[3:]
        names = [name for start, name in OF_QUEUES.items() if rest[: len(start)] == start]
        if path[2] < len(places):
            return f"instance_groups[{places[path[2]]}]" + (f".{names[0]}" if names else "")
    if path[:2] == HEAD:
        head = next(index for index, group in enumerate(wish.instance_groups) if group.role == "controller")
        return f"instance_groups[{head}].instance_type"
    return next((name for start, name in OF_THE_WHOLE.items() if path[: len(start)] == start), "configuration")


def _told(settings: Mapping[str, Any], path: Path) -> bool:
    """Whether the participant said something at this place, or one of those above that we say nothing at."""
    return at(settings, path) is not None or (len(path) > 1 and at(settings, path[:2]) is not None)


def _short(value: Any) -> str:
    if value is None or isinstance(value, dict | list):
        return ""
    return str(value)[:SHOWN]


def beside(found: list[Finding], more: list[Finding]) -> list[Finding]:
    """Both, refusals first."""
    order = {"refused": 0, "warning": 1, "ok": 2}
    return sorted([*found, *more], key=lambda each: order[each.level])
