"""Minutes as files: the same words as on the page, as Markdown and as one HTML page without anything that runs."""

import re
from collections.abc import Iterable
from typing import Any

from django.utils.html import escape
from django.utils.translation import gettext as _
from django.utils.translation import override

from program.models import Minutes

SPECIAL = re.compile(r"([\\`*_\[\]<>#|])")


def parts(body: str) -> list[list[str]]:
    """The parts of minutes, each a list of lines whose first is its title."""
    return [block.split("\n") for block in body.strip().split("\n\n") if block.strip()]


def markdown(row: Minutes, addenda: Iterable[dict[str, Any]]) -> str:
    """What people wrote stays text: nothing of it becomes a heading, a link or HTML."""
    with override(None):
        found = []
        for index, (title, *lines) in enumerate(parts(row.body)):
            found.append(f"{'#' if index == 0 else '##'} {_plain(title)}")
            found += [f"- {_plain(line.strip())}" for line in lines]
            found.append("")
        for one in addenda:
            found += [f"## {_addendum(one)}", *(_plain(line) for line in one["text"].split("\n")), ""]
        found.append(f"{_('Digest')} (SHA-256): `{row.sha256}`")
    return "\n".join(found) + "\n"


def _plain(text: str) -> str:
    return SPECIAL.sub(r"\\\1", text)


def _addendum(one: dict[str, Any]) -> str:
    return _("Addendum of %(moment)s by %(name)s") % {
        "moment": one["at"].strftime("%Y-%m-%d %H:%M UTC"),
        "name": one["name"],
    }


def html(row: Minutes, addenda: Iterable[dict[str, Any]]) -> str:
    """One page that opens anywhere; no script, no picture, no address that it would fetch."""
    with override(None):
        sections = []
        for index, (title, *lines) in enumerate(parts(row.body)):
            level = "h1" if index == 0 else "h2"
            told = "".join(f"<p>{escape(line.strip())}</p>" for line in lines)
            sections.append(f"<section><{level}>{escape(title)}</{level}>{told}</section>")
        for one in addenda:
            told = "".join(f"<p>{escape(line)}</p>" for line in one["text"].split("\n"))
            sections.append(f"<section><h2>{escape(_addendum(one))}</h2>{told}</section>")
        title = escape(parts(row.body)[0][0])
        digest = f"<footer><p>{escape(_('Digest'))} (SHA-256): {row.sha256}</p></footer>"
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>\n'
        f"<body>\n{chr(10).join(sections)}\n{digest}\n</body></html>\n"
    )
