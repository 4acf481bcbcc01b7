"""The templates of jobs: data in the folders beside, one for each framework, with typed parameters and a body in shell."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

FOLDER = Path(__file__).parent
Kind = Literal["integer", "number", "choice", "text", "path", "address", "words"]


@dataclass(frozen=True)
class Parameter:
    """What one blank of a template may hold. `unit` is a word for a page; numbers are within their limits, both included."""

    name: str
    kind: Kind
    label: str
    help: str = ""
    default: Any = ""
    minimum: int | None = None
    maximum: int | None = None
    unit: str = ""
    choices: tuple[str, ...] = ()
    required: bool = True

    @property
    def variable(self) -> str:
        """The variable of the shell that holds it."""
        return self.name.upper()


@dataclass(frozen=True)
class Template:
    """One version of a template. `starts`: torchrun once on each node, each rank by itself, or one process a node."""

    slug: str
    title: str
    version: str
    purpose: str
    accelerators: Literal["gpu", "neuron", "any", "none"]
    starts: Literal["torchrun", "ranks", "one"]
    written_for: str
    parameters: Mapping[str, Parameter]
    body: str
    needs_image: bool = False

    def sentences(self) -> list[str]:
        """What a page shows of it in words, for whoever translates."""
        told = [self.title, self.purpose]
        for parameter in self.parameters.values():
            told += [text for text in (parameter.label, parameter.help, parameter.unit) if text]
        return told


@lru_cache(maxsize=1)
def templates() -> tuple[Template, ...]:
    """All of them, by title."""
    shared = tomllib.loads((FOLDER / "shared.toml").read_text("utf-8"))
    found = (_read(path, shared) for path in FOLDER.glob("*/template.toml"))
    return tuple(sorted(found, key=lambda each: each.title.lower()))


def template(slug: str) -> Template:
    """LookupError when there is none."""
    for each in templates():
        if each.slug == slug:
            return each
    raise LookupError(slug)


def _read(path: Path, shared: Mapping[str, Mapping[str, Any]]) -> Template:
    told = tomllib.loads(path.read_text("utf-8"))
    parameters = told.pop("parameters")
    return Template(
        **told,
        parameters={name: _parameter(name, each, shared) for name, each in parameters.items()},
        body=(path.parent / "body.sh").read_text("utf-8"),
    )


def _parameter(name: str, told: Mapping[str, Any], shared: Mapping[str, Mapping[str, Any]]) -> Parameter:
    whole = {**shared.get(told.get("like", ""), {}), **{key: value for key, value in told.items() if key != "like"}}
    if not re.fullmatch(r"[a-z][a-z_]*", name):
        raise ValueError(name)
    return Parameter(name=name, **{**whole, "choices": tuple(whole.get("choices", ()))})
