"""Reads a file of somebody's own, YAML or JSON, that may be hostile: nothing runs, nothing unfolds, every refusal has its line. Pure.

The parser of libyaml only cuts the text into events; what is built of them is ours, so that depth, size, aliases, tags
and keys that come twice are seen before they cost anything.
"""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from clusters.findings import Finding

LARGEST = 500_000  # bytes; a second or two of reading at the very most
DEEPEST = 60
LONGEST_NUMBER = 40
SHOWN = 80
CORE = "tag:yaml.org,2002:"
PLAIN_TAGS = {f"{CORE}{name}" for name in ("str", "int", "float", "bool", "null", "map", "seq")}
SURPRISES = re.compile(r"0\d+|\d+(?::[0-5]?\d)+|y|Y|n|N|yes|Yes|YES|no|No|NO|on|On|ON|off|Off|OFF")
TEMPLATE_MARK = re.compile(r"\{\{.*?\}\}|\{%")
MARKS = {b"\xff\xfe\x00\x00": "UTF-32", b"\x00\x00\xfe\xff": "UTF-32", b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}

Path = tuple[str | int, ...]


class Unreadable(Exception):
    """It cannot be read at all; the finding says why, and on which line."""

    def __init__(self, code: str, line: int = 1, asked: Any = "", allowed: Any = "", **values: Any) -> None:
        self.finding = Finding(code, "refused", "file", asked, allowed, values={"line": line, **values})
        self.more: tuple[Finding, ...] = ()  # what else is known of it though it could not be read
        super().__init__(self.finding.sentence())


@dataclass(frozen=True)
class Read:
    """What a text says, the line of each place in it, and what one should know though it could be read."""

    value: Any
    text: str
    lines: Mapping[Path, int] = field(default_factory=dict)
    notes: tuple[Finding, ...] = ()

    def line(self, path: Path) -> int:
        """The line of a place, or of what is nearest above it."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


def decoded(data: bytes) -> str:
    """The text of a file in UTF-8, with or without its mark. Raises Unreadable."""
    if len(data) > LARGEST:
        raise Unreadable("read_too_large", asked=f"{len(data):,}", allowed=f"{LARGEST:,}")
    for mark, name in MARKS.items():
        if data.startswith(mark):
            raise Unreadable("read_encoding", asked=name)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise Unreadable("read_bytes", line, asked=f"0x{data[error.start]:02X}") from None


def read(text: str, *, tags: bool = False) -> Read:
    """What the text says. Raises Unreadable. `tags`: the short forms of CloudFormation, like !Ref, are kept as they are."""
    text = text.removeprefix("\ufeff")
    if len(text) > LARGEST or len(text.encode("utf-8", "replace")) > LARGEST:
        raise Unreadable("read_too_large", asked=f"{len(text):,}", allowed=f"{LARGEST:,}")
    if strange := re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]", text):
        raise Unreadable("read_character", _line(text, strange.start()), asked=f"U+{ord(strange[0]):04X}")
    if not text.strip():
        raise Unreadable("read_empty")
    notes = (_note("read_line_ends", _line(text, text.index("\r"))),) if "\r" in text else ()
    if text.lstrip().startswith(("{", "[")) and not text.lstrip().startswith(("{{", "{%")):
        return _json(text, notes)
    return _yaml(text, notes, tags)


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _note(code: str, line: int, asked: Any = "", allowed: Any = "") -> Finding:
    return Finding(code, "warning", "file", asked, allowed, values={"line": line})


def _json(text: str, notes: tuple[Finding, ...]) -> Read:
    _shallow(text)
    twice: list[str] = []

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [name for name, _value in pairs]
            twice.append(next(name for name in names if names.count(name) > 1))
        return found

    try:
        value = json.loads(
            text, object_pairs_hook=once, parse_constant=_no_number, parse_float=_number, parse_int=_whole
        )
    except json.JSONDecodeError as error:
        raise Unreadable("read_json", error.lineno, asked=error.msg, column=error.colno) from None
    if twice:
        raise Unreadable("read_twice", _second(text, twice[0]), asked=twice[0][:SHOWN])
    try:
        lines = _Built(text, tags=False).lines
    except (Unreadable, yaml.YAMLError):
        lines = {}  # JSON that is no YAML all the same; its places have no lines then
    return Read(value, text, lines, notes)


def _shallow(text: str) -> None:
    """JSON's own reader goes as deep as the text does."""
    depth = 0
    for part in re.finditer(r'"(?:[^"\\]|\\.)*"?|[\[\]{}]', text):
        if part[0] in "[{":
            depth += 1
        elif part[0] in "]}":
            depth -= 1
        if depth > DEEPEST:
            raise Unreadable("read_deep", _line(text, part.start()), allowed=DEEPEST)


def _no_number(word: str) -> Any:
    raise Unreadable("read_number", asked=word)


def _number(word: str) -> float:
    if len(word) > LONGEST_NUMBER or not math.isfinite(float(word)):
        raise Unreadable("read_number", asked=word[:SHOWN])
    return float(word)


def _whole(word: str) -> int:
    if len(word) > LONGEST_NUMBER:
        raise Unreadable("read_number", asked=word[:SHOWN])
    return int(word)


def _second(text: str, name: str) -> int:
    found = [match.start() for match in re.finditer(rf"{re.escape(json.dumps(name, ensure_ascii=False))}\s*:", text)]
    return _line(text, found[1]) if len(found) > 1 else 1


def _yaml(text: str, notes: tuple[Finding, ...], tags: bool) -> Read:
    try:
        built = _Built(text, tags)
    except yaml.MarkedYAMLError as error:
        raise _broken(text, error) from None
    except yaml.YAMLError as error:
        raise Unreadable("read_yaml", says=str(error)[:SHOWN]) from None
    return Read(built.value, text, built.lines, (*notes, *built.notes))


def _broken(text: str, error: yaml.MarkedYAMLError) -> Unreadable:
    mark = error.problem_mark or error.context_mark
    line = min(mark.line + 1, text.rstrip().count("\n") + 1) if mark else 1
    if template := TEMPLATE_MARK.search(text):
        return Unreadable("read_template", _line(text, template.start()), asked=template[0][:SHOWN])
    if "nesting depth" in str(error):
        return Unreadable("read_deep", line, allowed=DEEPEST)
    here = text.splitlines()[line - 1] if mark and line <= len(text.splitlines()) else ""
    if "\t" in here[: len(here) - len(here.lstrip())] or "tab" in str(error.problem):
        return Unreadable("read_tab", line)
    return Unreadable("read_yaml", line, says=" ".join(filter(None, [error.context, error.problem]))[:200])


class _Built:
    """A value put together of events, one level at a time, without recursion."""

    def __init__(self, text: str, tags: bool) -> None:
        self.text, self.tags = text, tags
        self.value: Any = None
        self.lines: dict[Path, int] = {}
        self.notes: list[Finding] = []
        self.open: list[_Level] = []
        self.documents = 0
        self.scalars = yaml.SafeLoader("")
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        for event in yaml.parse(text, Loader=loader):
            self.take(event)

    def take(self, event: Any) -> None:
        line = event.start_mark.line + 1
        if isinstance(event, yaml.DocumentStartEvent):
            self.documents += 1
            if self.documents > 1:
                raise Unreadable("read_documents", line)
        elif isinstance(event, yaml.AliasEvent):
            raise Unreadable("read_alias", line, asked=f"*{event.anchor[:SHOWN]}")
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            self.opened(event, line)
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            level = self.open.pop()
            self.put({level.tag: level.value} if level.tag else level.value)
        elif isinstance(event, yaml.ScalarEvent):
            self.scalar(event, line)

    def opened(self, event: Any, line: int) -> None:
        if self.open and self.open[-1].wants_key:
            mark = TEMPLATE_MARK.search(self.text)
            if mark:
                raise Unreadable("read_template", _line(self.text, mark.start()), asked=mark[0][:SHOWN])
            raise Unreadable("read_key", line)
        if len(self.open) >= DEEPEST:
            raise Unreadable("read_deep", line, allowed=DEEPEST)
        tag = self.tag(event, line)
        path = self.path()
        self.lines[path] = line
        self.open.append(_Level({} if isinstance(event, yaml.MappingStartEvent) else [], path, tag))

    def tag(self, event: Any, line: int) -> str:
        """A short form that is kept; everything else that is no plain value is refused."""
        if event.tag in (None, "!") or event.tag in PLAIN_TAGS:
            return ""
        if event.tag.startswith(f"{CORE}python"):
            raise Unreadable("read_code", line, asked=event.tag.removeprefix(CORE)[:SHOWN])
        if self.tags and re.fullmatch(r"![A-Za-z][A-Za-z0-9]*", event.tag):
            return str(event.tag[1:])
        raise Unreadable("read_tag", line, asked=event.tag.removeprefix(CORE)[:SHOWN])

    def path(self) -> Path:
        if not self.open:
            return ()
        level = self.open[-1]
        return (*level.path, level.key if isinstance(level.value, dict) else len(level.value))

    def scalar(self, event: Any, line: int) -> None:
        level = self.open[-1] if self.open else None
        if level and level.wants_key:
            if event.value in level.value:
                raise Unreadable("read_twice", line, asked=event.value[:SHOWN])
            level.key, level.wants_key = event.value, False
            self.lines[self.path()] = line
            return
        self.lines[self.path()] = line
        tag = self.tag(event, line)
        value = event.value if tag else self.meaning(event, line)
        self.put({tag: value} if tag else value)

    def meaning(self, event: Any, line: int) -> Any:
        """As YAML reads it, but that a date stays the text it was."""
        known = event.tag if event.tag in PLAIN_TAGS else None
        kind = known or self.scalars.resolve(yaml.ScalarNode, event.value, event.implicit)
        kind = kind.removeprefix(CORE)
        if kind not in ("int", "float", "bool", "null"):
            return event.value
        if kind in ("int", "float") and len(event.value) > LONGEST_NUMBER:
            raise Unreadable("read_number", line, asked=event.value[:SHOWN])
        try:
            value = getattr(self.scalars, f"construct_yaml_{kind}")(yaml.ScalarNode(CORE + kind, event.value))
        except (ValueError, KeyError, IndexError):
            raise Unreadable("read_number", line, asked=event.value[:SHOWN]) from None
        if isinstance(value, float) and not math.isfinite(value):
            raise Unreadable("read_number", line, asked=event.value[:SHOWN])
        if event.implicit[0] and SURPRISES.fullmatch(event.value):
            self.notes.append(_note("read_surprise", line, event.value, json.dumps(value)))
        return value

    def put(self, value: Any) -> None:
        if not self.open:
            self.value = value
            return
        level = self.open[-1]
        if isinstance(level.value, dict):
            level.value[level.key] = value
            level.wants_key = True
        else:
            level.value.append(value)


class _Level:
    """A mapping or a list that is not finished."""

    def __init__(self, value: Any, path: Path, tag: str) -> None:
        self.value, self.path, self.tag = value, path, tag
        self.key = ""
        self.wants_key = isinstance(value, dict)
