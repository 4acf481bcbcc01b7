"""The reference architectures: data in the folders beside, each with its versions, limits, templates and scripts."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Parameter:
    """What one field of a configuration may be. `step` counts from zero; `minimum` is allowed beside it."""

    field: str
    kind: Literal["integer", "choice", "text"]
    help: str
    default: Any = None
    minimum: int | None = None
    maximum: int | None = None
    step: int | None = None
    choices: tuple[Any, ...] = ()
    unit: str = ""

    @property
    def field_steps(self) -> list[str]:
        return self.field.split(".")


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
    when: str = ""  # the field of the configuration that asks for it; empty: always made


@dataclass(frozen=True)
class Engine:
    """What makes the cluster, and the release of it that this version was written for and checked with."""

    name: str
    pin: str  # package and release, e.g. `botocore 1.44.8`
    checked_with: str


@dataclass(frozen=True)
class Proof:
    """When this version was last seen working, against what, and for how many days that is worth something."""

    on: date
    against: Literal["sandbox", "account"]
    days: int
    how: str

    @property
    def expires(self) -> date:
        return self.on + timedelta(days=self.days)

    def fresh(self, today: date) -> bool:
        return today <= self.expires


@dataclass(frozen=True)
class Change:
    """What a version brought, and what taking it means for a cluster that runs."""

    version: str
    on: date
    effect: Literal["none", "in_place", "drain", "rebuild"]
    text: str


@dataclass(frozen=True)
class Provenance:
    """Where the design comes from, what its network looks like, and what it is known not to do."""

    source: str
    network: str
    limits: tuple[str, ...]


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
    made_by: Engine
    proof: Proof
    provenance: Provenance
    changelog: tuple[Change, ...]  # newest first
    folder: Path
    script_files: tuple[str, ...] = ()  # empty: all that lie in the folder `lifecycle`
    # Parts of the engine's own configuration that a participant may fill, as paths; empty: none.
    engine_settings: tuple[str, ...] = ()
    checks_nodes: bool = False  # its scripts carry checksums and what each instance type should have
    families: tuple[str, ...] = ()  # of the compute groups' instance types; empty: any that the engine takes

    @property
    def engine(self) -> str:
        """The provider adapter that makes the cluster itself."""
        return next(part.kind for part in self.parts if part.role == "cluster")

    @property
    def label(self) -> str:
        """Engine and orchestrator in one word, as clusters carry it."""
        return self.engine if self.engine == "parallelcluster" else f"{self.engine}-{self.orchestrator}"

    @property
    def on_ec2(self) -> bool:
        """Whether its nodes are instances of EC2 in the account, counted by vCPU; else HyperPod's, counted one by one."""
        return self.engine == "parallelcluster"

    def text(self, name: str) -> str:
        """A file of the architecture, e.g. a template."""
        return (self.folder / name).read_text("utf-8")

    def templates(self) -> dict[str, str]:
        """The templates of its stacks: name -> text."""
        return {Path(part.template).name: self.text(part.template) for part in self.parts if part.template}

    def sentences(self) -> list[str]:
        """Everything in it that a page shows in words, for whoever translates."""
        return [
            self.title,
            self.summary,
            self.made_by.checked_with,
            self.proof.how,
            self.provenance.source,
            self.provenance.network,
            *self.provenance.limits,
            *(parameter.help for parameter in self.parameters.values()),
            *(change.text for change in self.changelog),
        ]

    def scripts(self) -> dict[str, str]:
        """The lifecycle scripts: name -> text."""
        named = [self.folder / name for name in self.script_files]
        files = named or sorted((self.folder / "lifecycle").iterdir())
        return {path.name: path.read_text("utf-8") for path in files if path.is_file()}


@lru_cache(maxsize=1)
def _shelf() -> tuple[Architecture, ...]:
    # A version that a newer one has replaced lives on in a folder below, since clusters go on naming it.
    files = [*FOLDER.glob("*/architecture.toml"), *FOLDER.glob("*/*/architecture.toml")]
    return tuple(sorted((_read(path) for path in files), key=lambda each: (each.slug, _age(each.version))))


def _age(version: str) -> tuple[int, ...]:
    """A version as numbers, since 2026.9 is older than 2026.10."""
    return tuple(int(number) for number in re.findall(r"\d+", version))


def architectures() -> tuple[Architecture, ...]:
    """The newest version of each."""
    return tuple({each.slug: each for each in _shelf()}.values())


def versions(slug: str) -> tuple[str, ...]:
    """Oldest first; empty for an unknown slug."""
    return tuple(each.version for each in _shelf() if each.slug == slug)


def newest() -> dict[str, str]:
    """The newest version by slug."""
    return {each.slug: each.version for each in architectures()}


def changes_since(slug: str, version: str) -> tuple[Change, ...]:
    """What came after a version, newest first; empty when it is the newest, or the slug is unknown."""
    known = versions(slug)
    if not known:
        return ()
    return tuple(change for change in architecture(slug).changelog if _age(change.version) > _age(version))


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
        made_by=Engine(**told["engine"]),
        proof=Proof(**told["proof"]),
        provenance=Provenance(**{**told["provenance"], "limits": tuple(told["provenance"]["limits"])}),
        changelog=tuple(Change(**each) for each in told["changelog"]),
        folder=path.parent,
        script_files=tuple(told.get("scripts", ())),
        engine_settings=tuple(told.get("engine_settings", ())),
        checks_nodes=told.get("checks_nodes", False),
        families=tuple(told.get("families", ())),
    )


def _parameter(told: Mapping[str, Any]) -> Parameter:
    return Parameter(**{**told, "choices": tuple(told.get("choices", ()))})
