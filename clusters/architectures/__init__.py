"""The reference architectures: data in the folders beside, each with its versions, limits, templates and scripts."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Parameter:
    """What one field of a configuration may be. `step` counts from zero; `minimum` is allowed beside it."""

    field: str
    kind: Literal["integer", "choice"]
    help: str
    default: Any = None
    minimum: int | None = None
    maximum: int | None = None
    step: int | None = None
    choices: tuple[Any, ...] = ()
    unit: str = ""


@dataclass(frozen=True)
class Role:
    """How many groups a cluster has of a role, and how many instances each of them; None: as many as asked."""

    name: str
    least: int
    most: int | None = None
    count: int | None = None


@dataclass(frozen=True)
class PartKind:
    """One external object of the architecture; the parts are made in their order."""

    role: str
    kind: str  # a key of the provider adapters
    belongs_to: Literal["site", "cluster"]
    needs: tuple[str, ...] = ()
    template: str = ""


@dataclass(frozen=True)
class Architecture:
    """One version of a reference architecture, as its architecture.toml says."""

    slug: str
    title: str
    version: str
    summary: str
    orchestrator: Literal["slurm", "eks"]
    regions: tuple[str, ...]
    control_zones: Mapping[str, tuple[str, ...]]
    parts: tuple[PartKind, ...]
    roles: Mapping[str, Role]
    parameters: Mapping[str, Parameter]
    provenance: Mapping[str, Any]
    changelog: tuple[Mapping[str, str], ...]
    folder: Path
    script_files: tuple[str, ...] = ()  # empty: all that lie in the folder `lifecycle`
    # Parts of the engine's own configuration that a participant may fill, as paths; empty: none.
    engine_settings: tuple[str, ...] = ()
    families: tuple[str, ...] = ()  # of the compute groups' instance types; empty: any that the engine takes

    @property
    def engine(self) -> str:
        """The provider adapter that makes the cluster itself."""
        return next(part.kind for part in self.parts if part.role == "cluster")

    @property
    def label(self) -> str:
        """Engine and orchestrator in one word, as clusters carry it."""
        return self.engine if self.engine == "parallelcluster" else f"{self.engine}-{self.orchestrator}"

    def text(self, name: str) -> str:
        """A file of the architecture, e.g. a template."""
        return (self.folder / name).read_text("utf-8")

    def scripts(self) -> dict[str, str]:
        """The lifecycle scripts: name -> text."""
        named = [self.folder / name for name in self.script_files]
        files = named or sorted((self.folder / "lifecycle").iterdir())
        return {path.name: path.read_text("utf-8") for path in files if path.is_file()}


@lru_cache(maxsize=1)
def _shelf() -> tuple[Architecture, ...]:
    # A version that a newer one has replaced lives on in a folder below, since clusters go on naming it.
    files = [*FOLDER.glob("*/architecture.toml"), *FOLDER.glob("*/*/architecture.toml")]
    return tuple(sorted((_read(path) for path in files), key=lambda each: (each.slug, each.version)))


def architectures() -> tuple[Architecture, ...]:
    """The newest version of each."""
    return tuple({each.slug: each for each in _shelf()}.values())


def versions(slug: str) -> tuple[str, ...]:
    """Oldest first; empty for an unknown slug."""
    return tuple(each.version for each in _shelf() if each.slug == slug)


def architecture(slug: str, version: str | None = None) -> Architecture:
    """That version, or the newest; LookupError when there is none."""
    found = [each for each in _shelf() if each.slug == slug and version in (None, each.version)]
    if not found:
        raise LookupError(f"{slug} {version or ''}".strip())
    return found[-1]


def _read(path: Path) -> Architecture:
    told = tomllib.loads(path.read_text("utf-8"))
    return Architecture(
        slug=told["slug"],
        title=told["title"],
        version=told["version"],
        summary=told["summary"],
        orchestrator=told["orchestrator"],
        regions=tuple(told["regions"]),
        control_zones={region: tuple(zones) for region, zones in told.get("control_zones", {}).items()},
        parts=tuple(PartKind(**{**part, "needs": tuple(part.get("needs", ()))}) for part in told["parts"]),
        roles={name: Role(name=name, **limits) for name, limits in told["roles"].items()},
        parameters={each["field"]: _parameter(each) for each in told["parameters"]},
        provenance=told["provenance"],
        changelog=tuple(told["changelog"]),
        folder=path.parent,
        script_files=tuple(told.get("scripts", ())),
        engine_settings=tuple(told.get("engine_settings", ())),
        families=tuple(told.get("families", ())),
    )


def _parameter(told: Mapping[str, Any]) -> Parameter:
    return Parameter(**{**told, "choices": tuple(told.get("choices", ()))})
