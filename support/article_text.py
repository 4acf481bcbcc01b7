"""Pure: an article's Markdown as safe HTML, and what in a text still tells whose case it was."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import nh3
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from markdown_it import MarkdownIt

# Raw HTML is text; what comes out is still cleaned, so that no mistake of the one is a hole.
MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
TAGS = {
    "p", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "li", "code", "pre", "em", "strong", "s", "a", "blockquote", "hr", "br",
    "table", "thead", "tbody", "tr", "th", "td",
}  # fmt: skip


def html(markdown: str) -> SafeString:
    """The text as HTML that may stand on a page: no scripts, pictures or styles; its headings lie below the page's own."""
    tokens = MARKDOWN.parse(markdown)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + 1)}"
    drawn = MARKDOWN.renderer.render(tokens, MARKDOWN.options, {})
    return SafeString(nh3.clean(drawn, tags=TAGS, attributes={"a": {"href"}}, url_schemes={"http", "https", "mailto"}))


@dataclass(frozen=True)
class Known:
    """A word that belongs to a participant, and what it names."""

    kind: str
    text: str


@dataclass(frozen=True)
class Leak:
    """Something in a text that tells whose case it was."""

    kind: str
    text: str
    line: int


KINDS: dict[str, Any] = {
    "participant": _("name of a participant"),
    "person": _("name of a person"),
    "project": _("project or model"),
    "cluster": _("name of a cluster"),
    "node": _("name of a node"),
    "bucket": _("name of a bucket"),
    "account": _("account id"),
    "instance": _("instance id"),
    "resource": _("id of a resource"),
    "address": _("network address"),
    "host": _("name of a host"),
    "mail": _("mail address"),
    "case": _("number of a case"),
    "id": _("id"),
}
# What looks like somebody's whoever's it is.
PATTERNS: list[tuple[str, str]] = [
    ("mail", r"[\w.+-]+@[\w-]+\.[\w.-]+"),
    ("bucket", r"s3://[\w.-]+"),
    ("resource", r"arn:aws[\w-]*:[^\s`)\"']+"),
    ("resource", r"\b(?:vpc|subnet|sg|fs|cr|eni|vol|ami|lt|rtb|igw|nat|eks|tp)-[0-9a-f]{6,17}\b"),
    ("instance", r"\bi-[0-9a-f]{8,17}\b"),
    ("host", r"\bip-\d{1,3}-\d{1,3}-\d{1,3}-\d{1,3}[\w.-]*"),
    ("host", r"\b[\w-]+(?:\.[\w-]+)*\.(?:internal|local|corp|lan|compute\.amazonaws\.com)\b"),
    ("address", r"\b(?:\d{1,3}\.){3}\d{1,3}(?:/\d{1,2})?\b"),
    ("account", r"\b\d{12}\b"),
    ("case", r"\bCASE-\d+\b"),
    ("id", r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"),
]
SHORTEST = 3  # a name of two letters is in every second word
PLACEHOLDERS = {
    "participant": "a participant", "person": "somebody", "project": "the model", "cluster": "CLUSTER", "node": "NODE",
    "bucket": "BUCKET", "account": "ACCOUNT", "instance": "INSTANCE", "resource": "RESOURCE", "address": "ADDRESS",
    "host": "HOST", "mail": "MAIL", "case": "the case", "id": "ID",
}  # fmt: skip


def _expressions(known: Iterable[Known]) -> list[tuple[str, re.Pattern[str]]]:
    """The longest first, so that a full name is found as itself and not as its parts."""
    words = sorted({one for one in known if len(one.text.strip()) >= SHORTEST}, key=lambda one: -len(one.text))
    named = [
        (one.kind, re.compile(rf"(?<![\w-]){re.escape(one.text.strip())}(?![\w])", re.IGNORECASE)) for one in words
    ]
    return [*named, *((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in PATTERNS)]


def leaks(text: str, known: Iterable[Known]) -> list[Leak]:
    """Everything in the text that names a participant or something of its, in the order of the lines; each once a line."""
    expressions = _expressions(known)
    found: list[Leak] = []
    for number, line in enumerate(text.splitlines(), start=1):
        taken: list[tuple[int, int]] = []
        for kind, expression in expressions:
            for match in expression.finditer(line):
                if any(match.start() < end and begin < match.end() for begin, end in taken):
                    continue
                taken.append(match.span())
                leak = Leak(kind, match[0], number)
                if leak not in found:
                    found.append(leak)
    return sorted(found, key=lambda leak: leak.line)


def stripped(text: str, known: Iterable[Known]) -> str:
    """The text with a word in place of whatever tells whose case it was."""
    for kind, expression in _expressions(known):
        text = expression.sub(PLACEHOLDERS[kind], text)
    return text


SKELETON = """## What one sees

{seen}

## Why

{why}

## What helps

{helps}

## How to know that it helped

"""
