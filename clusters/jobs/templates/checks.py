"""Whether a template fits a cluster, and its parameters fit each other and the nodes. Pure."""

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from clusters import facts
from clusters.findings import untranslated
from clusters.jobs.templates import Parameter, Template
from clusters.wording import gettext_noop

NAMES: Mapping[str, str] = {"gpu": gettext_noop("GPUs"), "neuron": gettext_noop("Trainium")}
# Logical cores of a Neuron device, each of which is one process: a trn1.32xlarge runs 32, a trn2.48xlarge 64.
CORES = {"trn1": 2, "trn1n": 2, "trn2": 4, "trn2u": 4}
LONGEST = 4000


@dataclass(frozen=True)
class Place:
    """Where a job would run: a partition of a cluster, its images, and how long its capacity is held."""

    engine: str  # parallelcluster, hyperpod-slurm or hyperpod-eks
    instance_type: str
    nodes: int
    partition: str = ""
    minutes_left: int | None = None  # None: nothing is known to end
    images: tuple[tuple[str, str], ...] = ()  # name and file on shared storage, or name and digest on Kubernetes
    shared: tuple[str, ...] = ("/fsx", "/home")
    namespace: str = ""
    queue: str = ""  # on Kubernetes, of Kueue
    priority: str = ""

    @property
    def kubernetes(self) -> bool:
        return self.engine == "hyperpod-eks"

    @property
    def accelerator(self) -> str:
        known = facts.load().instance(self.instance_type)
        if known is None or not known.accelerators:
            return "none"
        return "neuron" if known.accelerator == "Neuron" else "gpu"

    @property
    def accelerators(self) -> int:
        known = facts.load().instance(self.instance_type)
        return known.accelerators if known else 0

    @property
    def efa(self) -> int:
        known = facts.load().instance(self.instance_type)
        return (known.efa or 0) if known else 0


@dataclass(frozen=True)
class Wrong:
    """What does not fit: the parameter, and the sentence with its numbers."""

    field: str
    text: str
    values: Mapping[str, Any]

    def sentence(self, translate: Any = untranslated) -> str:
        told = {name: translate(value) if name in ("field", "what") else value for name, value in self.values.items()}
        return str(translate(self.text) % told)


def processes(template: Template, place: Place) -> int:
    """How many a node runs: one for each accelerator, on Trainium one for each logical core."""
    if template.starts == "one" or not place.accelerators:
        return 1
    family = facts.plain_name(place.instance_type).split(".")[0]
    return place.accelerators * (CORES.get(family, 2) if place.accelerator == "neuron" else 1)


def starting(template: Template, place: Place) -> dict[str, Any]:
    """What a form begins with: the defaults, with a tensor degree that a node of this type can run."""
    values = {name: parameter.default for name, parameter in template.parameters.items()}
    if "tensor_parallel" in values:
        values["tensor_parallel"] = min(int(values["tensor_parallel"]), processes(template, place))
    return values


def misfit(template: Template, place: Place) -> Wrong | None:
    """Why a template is not for this cluster; None when it is."""
    if template.accelerators in NAMES and template.accelerators != place.accelerator:
        values = {"title": template.title, "what": NAMES[template.accelerators], "type": place.instance_type}
        return Wrong("", gettext_noop("%(title)s needs %(what)s; the nodes here are %(type)s."), values)
    if place.kubernetes and template.starts != "torchrun":
        sentence = gettext_noop("%(title)s is written for Slurm; this cluster runs Kubernetes.")
        return Wrong("", sentence, {"title": template.title})
    return None


def wrong(template: Template, told: Mapping[str, Any], place: Place, *, nodes: int, minutes: int | None) -> list[Wrong]:
    """Everything that does not fit, in the order of the form. Values may be text, as a form has them."""
    if (away := misfit(template, place)) is not None:
        return [away]
    found = [*_launch(place, nodes, minutes)]
    values: dict[str, Any] = {}
    for name, parameter in template.parameters.items():
        value, problem = _value(parameter, told.get(name, parameter.default), place)
        values[name] = value
        found += [problem] if problem else []
    strange = sorted(set(told) - set(template.parameters))
    if strange:
        sentence = gettext_noop("%(title)s has no parameter “%(name)s”; it has %(known)s.")
        known = ", ".join(template.parameters)
        found.append(Wrong("", sentence, {"title": template.title, "name": str(strange[0])[:60], "known": known}))
    return found or list(_together(template, values, place, nodes))


def settled(template: Template, told: Mapping[str, Any], place: Place) -> dict[str, Any]:
    """The values in their types; only for what `wrong` found nothing in."""
    return {
        name: _value(parameter, told.get(name, parameter.default), place)[0]
        for name, parameter in template.parameters.items()
    }


def _launch(place: Place, nodes: int, minutes: int | None) -> Iterator[Wrong]:
    if not 1 <= nodes <= place.nodes:
        sentence = gettext_noop("You asked for %(asked)s nodes; %(place)s has %(most)s.")
        yield Wrong("nodes", sentence, {"asked": nodes, "place": place.partition or "–", "most": place.nodes})
    if minutes is not None and place.minutes_left is not None and minutes > place.minutes_left:
        sentence = gettext_noop(
            "You asked for %(asked)s minutes; the reservation of these nodes ends in %(left)s. Ask for fewer, or have "
            "it extended."
        )
        yield Wrong("time_limit_minutes", sentence, {"asked": minutes, "left": max(0, place.minutes_left)})


def _value(parameter: Parameter, told: Any, place: Place) -> tuple[Any, Wrong | None]:
    def no(text: str, **values: Any) -> tuple[Any, Wrong]:
        shown = {"field": parameter.label, "asked": str(told)[:80], **values}
        return None, Wrong(parameter.name, text, shown)

    text = "" if told is None else str(told).strip()
    if len(text) > LONGEST:
        return no(gettext_noop("%(field)s has %(n)s characters; it may have %(most)s."), n=len(text), most=LONGEST)
    if not text and parameter.required:
        return no(gettext_noop("%(field)s is empty."))
    if any(not sign.isprintable() and sign not in "\n\t" for sign in text):
        return no(gettext_noop("%(field)s holds a character that cannot be printed."))
    return _typed(parameter, text, place, no)


def _typed(parameter: Parameter, text: str, place: Place, no: Any) -> tuple[Any, Wrong | None]:
    if parameter.kind == "integer":
        if not re.fullmatch(r"-?\d{1,12}", text):
            return no(gettext_noop("%(field)s is “%(asked)s”, and should be a whole number."))  # type: ignore[no-any-return]
        least, most = parameter.minimum, parameter.maximum
        if (least is not None and int(text) < least) or (most is not None and int(text) > most):
            return no(  # type: ignore[no-any-return]
                gettext_noop("%(field)s is %(asked)s; it can be %(least)s to %(most)s."), least=least, most=most
            )
        return int(text), None
    if parameter.kind == "number" and not re.fullmatch(r"\d{1,12}(?:\.\d{1,12})?(?:[eE][+-]?\d{1,3})?", text):
        return no(gettext_noop("%(field)s is “%(asked)s”, and should be a number like 3.0e-4."))  # type: ignore[no-any-return]
    if parameter.kind == "choice" and text not in parameter.choices:
        return no(  # type: ignore[no-any-return]
            gettext_noop("%(field)s is “%(asked)s”; it can be %(known)s."), known=", ".join(parameter.choices)
        )
    if parameter.kind == "path" and (not text.startswith("/") or "\n" in text or "/../" in f"{text}/"):
        return no(gettext_noop("%(field)s is “%(asked)s”; it is a whole path, beginning with /."))  # type: ignore[no-any-return]
    if parameter.name == "checkpoints" and not any(text.startswith(f"{each}/") for each in place.shared):
        return no(  # type: ignore[no-any-return]
            gettext_noop("%(field)s is “%(asked)s”; it has to lie on shared storage: %(known)s."),
            known=", ".join(place.shared),
        )
    if parameter.kind == "address" and not re.fullmatch(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](?:/[^\n]*)?", text):
        return no(gettext_noop("%(field)s is “%(asked)s”; it is an address like s3://bucket/prefix/."))  # type: ignore[no-any-return]
    if parameter.kind == "words":
        try:
            return shlex.split(text), None
        except ValueError:
            return no(gettext_noop("%(field)s has a quotation mark that is not closed."))  # type: ignore[no-any-return]
    if "\n" in text:
        return no(gettext_noop("%(field)s is one line."))  # type: ignore[no-any-return]
    return text, None


def _together(template: Template, values: Mapping[str, Any], place: Place, nodes: int) -> Iterator[Wrong]:
    """Degrees against processes, nodes, layers, heads and batches."""
    per_node = processes(template, place)
    world = nodes * per_node
    tensor, pipeline = int(values.get("tensor_parallel", 1)), int(values.get("pipeline_parallel", 1))
    context, shards = int(values.get("context_parallel", 1)), int(values.get("shard_parallel", -1))
    model = tensor * pipeline * context
    if tensor > per_node:
        sentence = gettext_noop(
            "Tensor parallel is %(asked)s; a node runs %(most)s processes, and it stays inside a node."
        )
        yield Wrong("tensor_parallel", sentence, {"asked": tensor, "most": per_node})
    elif world % model:
        sentence = gettext_noop(
            "Tensor %(tensor)s × pipeline %(pipeline)s × context %(context)s is %(model)s, which does not divide the "
            "%(world)s processes of %(nodes)s nodes."
        )
        field = "tensor_parallel" if "tensor_parallel" in values else "nodes"
        told = {
            "tensor": tensor,
            "pipeline": pipeline,
            "context": context,
            "model": model,
            "world": world,
            "nodes": nodes,
        }
        yield Wrong(field, sentence, told)
    elif shards == 0 or (shards > 0 and (world // model) % shards):
        sentence = gettext_noop("Shards is %(asked)s, which does not divide the %(copies)s copies of the model.")
        yield Wrong("shard_parallel", sentence, {"asked": shards, "copies": world // model})
    else:
        yield from _model(values, tensor, pipeline, world // model)


def _model(values: Mapping[str, Any], tensor: int, pipeline: int, copies: int) -> Iterator[Wrong]:
    for name, degree, sentence in (
        ("layers", pipeline, gettext_noop("Layers is %(asked)s, which cannot be cut into %(degree)s equal stages.")),
        (
            "heads",
            tensor,
            gettext_noop("Attention heads is %(asked)s, which cannot be shared by %(degree)s processes."),
        ),
    ):
        if name in values and values[name] % degree:
            yield Wrong(name, sentence, {"asked": values[name], "degree": degree})
    if values.get("zero_stage", 0) >= 2 and pipeline > 1:
        yield Wrong(
            "zero_stage",
            gettext_noop("ZeRO stage %(asked)s excludes pipeline parallelism."),
            {"asked": values["zero_stage"]},
        )
    if "hidden" in values and "heads" in values and values["hidden"] % values["heads"]:
        sentence = gettext_noop("Width is %(asked)s, which is no multiple of the %(heads)s attention heads.")
        yield Wrong("hidden", sentence, {"asked": values["hidden"], "heads": values["heads"]})
    if "global_batch" in values and values["global_batch"] % (values["micro_batch"] * copies):
        sentence = gettext_noop(
            "Global batch is %(asked)s; it has to be a multiple of %(step)s: micro batch %(micro)s × %(copies)s copies "
            "of the model."
        )
        told = {
            "asked": values["global_batch"], "step": values["micro_batch"] * copies,
            "micro": values["micro_batch"], "copies": copies,
        }  # fmt: skip
        yield Wrong("global_batch", sentence, told)
