"""Blanks that somebody was to fill in before using a file: where they are, and what could stand there meanwhile. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from clusters.findings import Finding

BLANK = re.compile(
    r"\$\{(?!AWS::)(?P<shell>[A-Za-z_]\w*)\}"
    r"|<(?P<angle>[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)>"
    r"|\b(?P<word>(?:PLACEHOLDER|YOUR|CHANGE_?ME|REPLACE)_[A-Z][A-Z0-9_]*)\b"
    r"|\{\{\s*(?P<template>[^{}]*?)\s*\}\}"
)
# What a name speaks of -> something of the right form, so that the rest of the file can be judged.
STAND_INS = (
    ("security", "sg-00000000000000000"),
    ("subnet", "subnet-00000000000000000"),
    ("placement_group", "cohort"),
    ("reservation", "cr-00000000000000000"),
    ("num_instances", "2"),
    ("max_instances", "2"),
    ("min_instances", "2"),
    ("count", "2"),
    ("instance", "p5.48xlarge"),
    ("openzfs", "fsvol-00000000000000000"),
    ("rootvolume", "fsvol-00000000000000000"),
    ("lustre", "fs-00000000000000000"),
    ("filesystem", "fs-00000000000000000"),
    ("ami", "ami-00000000000000000"),
    ("region", "us-east-1"),
    ("url", "https://example.com/"),
    ("role", "arn:aws:iam::111122223333:role/Cohort"),
    ("bucket", "cohort"),
)


@dataclass(frozen=True)
class Blank:
    name: str
    written: str
    line: int


def blanks(text: str) -> list[Blank]:
    """Each of them, in the order of the text; what a comment of YAML says does not count."""
    return [
        Blank(next(filter(None, match.groups())), match[0], text.count("\n", 0, match.start()) + 1)
        for match in _found(text)
    ]


def filled(text: str) -> str:
    """The text with something of the right form in every blank."""
    pieces, at = [], 0
    for match in _found(text):
        pieces += [text[at : match.start()], _stand_in(next(filter(None, match.groups())))]
        at = match.end()
    return "".join([*pieces, text[at:]])


def findings(text: str) -> list[Finding]:
    """One for each line and blank."""
    return [
        Finding("placeholder_unfilled", "refused", "file", each.written, values={"line": each.line})
        for each in blanks(text)
    ]


def _found(text: str) -> Iterator[re.Match[str]]:
    for match in BLANK.finditer(text):
        start = text.rfind("\n", 0, match.start()) + 1
        before = text[start : match.start()]
        if not re.match(r"\s*#|.*\s#\s", before):
            yield match


def _stand_in(name: str) -> str:
    small = name.lower()
    return next((value for word, value in STAND_INS if word in small), "cohort")
