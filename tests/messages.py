"""Collects every message that a person can meet; `python -m tests.messages` brings the catalogues up to date with them.

It reads the source itself: strings in gettext calls, what templates translate, and the words of the reference
architectures.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import polib
from django.conf import settings
from django.utils.translation import templatize

from clusters import architectures
from clusters.jobs import templates as job_templates

ROOT = Path(__file__).resolve().parent.parent
LAYERS = ("tenants", "clusters", "support", "program")
LOCALE = ROOT / "program" / "locale"
SINGLE = {"_", "gettext", "gettext_lazy", "gettext_noop"}
PLURAL = {"ngettext", "ngettext_lazy"}

Message = tuple[str, str]  # one and many; many is empty where there is no plural


def messages() -> dict[Message, set[str]]:
    """Each message with the files it comes from."""
    found: dict[Message, set[str]] = {}
    for file, message in [*_of_python(), *_of_templates(), *_of_architectures(), *_of_job_templates()]:
        found.setdefault(message, set()).add(str(file.relative_to(ROOT)))
    return found


def _of_python() -> Iterator[tuple[Path, Message]]:
    for layer in LAYERS:
        for file in sorted((ROOT / layer).rglob("*.py")):
            if "migrations" not in file.parts and "sandbox" not in file.parts:
                yield from ((file, message) for message in in_python(file.read_text("utf-8")))


def in_python(source: str) -> Iterator[Message]:
    """The messages of a module."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        name = (
            node.func.id
            if isinstance(node.func, ast.Name)
            else node.func.attr
            if isinstance(node.func, ast.Attribute)
            else ""
        )
        texts = [one.value for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        if name in SINGLE and len(texts) == 1 and texts[0]:
            yield texts[0], ""
        elif name in PLURAL and len(texts) >= 2:
            yield texts[0], texts[1]


def _of_templates() -> Iterator[tuple[Path, Message]]:
    for file in sorted((ROOT / "templates").rglob("*")):
        if file.suffix not in (".html", ".txt") or file.name in ("styleguide.html", "api_docs.html"):
            continue
        # Django writes a template's messages as calls with the rest blacked out, one piece a line.
        for call in re.finditer(
            r"n?gettext\((?:[^()]|\([^()]*\))*\)", templatize(file.read_text("utf-8"), origin=str(file))
        ):
            yield from ((file, message) for message in in_python(call[0]))
        for text in re.findall(r"""_\((?:"([^"]+)"|'([^']+)')\)""", file.read_text("utf-8")):
            yield file, (text[0] or text[1], "")


def _of_architectures() -> Iterator[tuple[Path, Message]]:
    for slug in architectures.newest():
        for version in architectures.versions(slug):
            found = architectures.architecture(slug, version)
            yield from ((found.folder / "architecture.toml", (text, "")) for text in found.sentences())


def _of_job_templates() -> Iterator[tuple[Path, Message]]:
    for template in job_templates.templates():
        file = job_templates.FOLDER / template.slug / "template.toml"
        yield from ((file, (text, "")) for text in template.sentences())


def catalogue(language: str) -> Path:
    return LOCALE / language / "LC_MESSAGES" / "django.po"


def update(language: str) -> tuple[int, int]:
    """Bring one catalogue up to date: what is new is empty, what is gone goes. (messages, without a translation)."""
    path = catalogue(language)
    written = polib.pofile(str(path), wrapwidth=100)
    known = {(entry.msgid, entry.msgid_plural): entry for entry in written}
    del written[:]
    for (one, many), files in sorted(messages().items(), key=lambda item: (sorted(item[1])[0], item[0])):
        entry = known.get((one, many)) or polib.POEntry(msgid=one, msgid_plural=many)
        entry.occurrences = [(file, "") for file in sorted(files)]
        entry.flags = ["python-format"] if re.search(r"%\(\w+\)[sd]", one) else []
        if many and not entry.msgstr_plural:
            entry.msgstr_plural = {0: ""}
        written.append(entry)
    written.save()
    written.save_as_mofile(str(path.with_suffix(".mo")))
    return len(written), len([entry for entry in written if not translated(entry)])


def translated(entry: polib.POEntry) -> bool:
    return all(entry.msgstr_plural.values()) if entry.msgid_plural else bool(entry.msgstr)


if __name__ == "__main__":
    settings.configure(USE_I18N=True)
    for folder in sorted(LOCALE.iterdir()):
        print(folder.name, "{} messages, {} without a translation".format(*update(folder.name)))
