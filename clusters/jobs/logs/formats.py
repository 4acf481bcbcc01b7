"""How frameworks write a training step: one entry for each, tried in order on a cleaned line. Pure."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

NUMBER = r"[-+]?(?:nan|inf(?:inity)?|\d[\d,]*(?:\.\d*)?(?:e[-+]?\d+)?|\.\d+(?:e[-+]?\d+)?)"
SUFFIXES = {"": 1.0, "K": 1e3, "M": 1e6, "B": 1e9, "G": 1e9, "T": 1e12}
FIELDS = (
    "loss",
    "tokens_per_second",
    "tokens_per_accelerator",  # tokens a second for each accelerator
    "samples_per_second",
    "tflops",  # of model arithmetic, for each accelerator
    "mfu",  # percent
    "learning_rate",
    "grad_norm",
    "step_seconds",
    "batch",  # samples of one step, over all accelerators
    "consumed_samples",
    "consumed_tokens",
)


@dataclass(frozen=True)
class Stepped:
    """One training step as a line tells it. What a line does not tell is absent, never 0."""

    format: str
    step: int
    total: int | None = None
    values: Mapping[str, float] = field(default_factory=dict)  # by the names of FIELDS; may be nan or inf


@dataclass(frozen=True)
class Format:
    """`first` finds the step of a line of this format; `fields` find the rest."""

    name: str
    first: re.Pattern[str]
    fields: Mapping[str, re.Pattern[str]]
    scale: Mapping[str, float] = field(default_factory=dict)
    needs: str = "loss"  # without this field a line is another kind of line


def _pattern(label: str, gap: str = r"\s*[:=]\s*", suffix: bool = False) -> re.Pattern[str]:
    tail = r"\s?(?P<suffix>[KMBGT])?\b" if suffix else ""
    return re.compile(rf"(?<![\w/]){label}{gap}(?P<value>{NUMBER}){tail}", re.IGNORECASE)


def _labels(suffix: bool = False, **labels: str) -> dict[str, re.Pattern[str]]:
    return {name: _pattern(label, suffix=suffix) for name, label in labels.items()}


BAR = re.compile(r"\d+%\|[^|]*\|\s*(?P<step>\d+)/(?P<total>\d+)\s*\[")

FORMATS = (
    Format(
        "NeMo",
        re.compile(r"\biteration \d+/\d+ \| .*?\bglobal_step: (?P<step>\d+)"),
        _labels(
            loss="(?:reduced_)?train_loss", learning_rate="lr", grad_norm="grad_norm", batch="global_batch_size",
            step_seconds="train_step_timing in s", consumed_samples="consumed_samples", tflops="TFLOPS_per_GPU",
        ),
    ),
    Format(
        "NeMo",
        re.compile(r"\bEpoch \d+.*?\[.*?\bglobal_step=(?P<step>\d+)"),
        _labels(
            loss="(?:reduced_)?(?:train_)?loss", learning_rate="lr", grad_norm="grad_norm", batch="global_batch_size",
            step_seconds="train_step_timing in s", consumed_samples="consumed_samples",
        ),
    ),
    Format(
        "PyTorch Lightning",
        re.compile(r"\bEpoch \d+.*?\|\s*(?P<step>\d+)/(?P<total>\d+) \["),
        _labels(loss="(?:train_)?loss(?:_step)?", learning_rate="lr", grad_norm="grad_norm"),
    ),
    Format(
        "Nanotron",
        re.compile(r"\biteration: (?P<step>\d+) / (?P<total>\d+)"),
        _labels(
            suffix=True,
            loss="lm_loss",
            learning_rate="lr",
            grad_norm="grad_norm",
            tokens_per_second="tokens_per_sec",
            tokens_per_accelerator="tokens_per_sec_per_gpu",
            tflops="model_tflops_per_gpu",
            batch="global_batch_size",
            step_seconds="(?:elapsed_)?time_per_iteration_ms",
            consumed_tokens="consumed_tokens",
        ),
        {"step_seconds": 0.001},
    ),
    Format(
        "Megatron-LM",
        re.compile(r"\biteration\s+(?P<step>\d+)\s*/\s*(?P<total>\d+)\s*\|"),
        {
            **_labels(
                loss="(?:lm|mtp_1|total) loss", learning_rate="learning rate", grad_norm="grad norm",
                batch="global batch size", consumed_samples="consumed samples", consumed_tokens="consumed tokens",
                step_seconds=r"elapsed time per iteration \(ms\)", samples_per_second="samples per second",
                tokens_per_accelerator=r"(?:tokens/s/accelerator|tokens per gpu per second \(tgs\))",
                tokens_per_second=r"throughput \(tokens/s\)",
                tflops=r"(?:throughput per GPU \(TFLOP/s/GPU\)|throughput \(TFLOP/s/GPU\)|TFLOPs)",
            ),
        },
        {"step_seconds": 0.001},
    ),
    Format(
        "torchtitan",
        re.compile(r"\bstep:\s*(?P<step>\d+)(?:/(?P<total>\d+) = [\d.]+%)?\s+loss:"),
        {
            **_labels(loss="loss", grad_norm="grad_norm", tokens_per_accelerator="tps", tflops="tflops", mfu="mfu"),
        },
    ),
    Format(
        "MaxText (JAX)",
        re.compile(r"\bcompleted step: (?P<step>\d+), seconds:"),
        _labels(
            loss="loss", step_seconds="seconds", tflops="TFLOP/s/device", tokens_per_accelerator="Tokens/s/device"
        ),
    ),
    Format(
        "DeepSpeed",
        re.compile(r"\bsteps: (?P<step>\d+) loss:"),
        {
            **_labels(loss="loss", samples_per_second="samples/sec"),
            "step_seconds": _pattern(r"iter time \(s\)"),
        },
    ),
    Format(
        "DeepSpeed",
        re.compile(r"\bmicro_step=\d+/global_step=(?P<step>\d+)"),
        _labels(samples_per_second="CurrSamplesPerSec"),
        needs="samples_per_second",
    ),
    Format(
        "DeepSpeed",
        re.compile(r"\[Rank \d+\] step=(?P<step>\d+), skipped="),
        {"learning_rate": re.compile(rf"\blr=\[(?P<value>{NUMBER})", re.IGNORECASE)},
        needs="learning_rate",
    ),
    Format(
        "NeuronX Distributed",
        re.compile(r"^LOG .* - (?:\(\d+, (?P<step>\d+)\)|step: (?P<also>\d+),) step_loss :"),
        _labels(
            loss="step_loss", learning_rate="learning_rate", samples_per_second="throughput", grad_norm="grad-norm",
            mfu="MFU",
        ),
    ),
    Format(
        "FSDP",
        re.compile(r"\bBatch (?P<step>\d+) Loss:"),
        _labels(loss="Loss", samples_per_second="Speed", learning_rate="lr"),
    ),
    Format(
        "key=value",
        re.compile(r"\b(?:global_step|global step|step|iteration|iter)\s*[=:]\s*(?P<step>\d+)(?:\s*/\s*(?P<total>\d+))?", re.IGNORECASE),
        {
            "loss": _pattern("(?:train[_ ]?|lm[_ ]?)?loss"),
            "tokens_per_accelerator": _pattern("(?:tokens/s(?:ec)?/(?:gpu|device|accelerator)|tokens_per_sec(?:ond)?_per_(?:gpu|device|accelerator))"),
            "tokens_per_second": _pattern("(?:tokens/s(?:ec)?|tokens_per_sec(?:ond)?|tok/s)", suffix=True),
            "samples_per_second": _pattern("(?:samples/s(?:ec)?|samples_per_sec(?:ond)?)"),
            "tflops": _pattern("tflops?"),
            "mfu": _pattern("mfu"),
            "learning_rate": _pattern("(?:lr|learning_rate)"),
            "grad_norm": _pattern("(?:grad|gradient)[_ ]?norm"),
            "step_seconds": _pattern("(?:step_time|seconds)"),
        },
    ),
)  # fmt: skip

TRAINER_KEYS = {"loss": "loss", "grad_norm": "grad_norm", "learning_rate": "learning_rate"}
TRAINER_LINE = re.compile(r"\{'loss':.{0,1000}?'epoch': [^}]{1,40}\}")
TRAINER_PAIR = re.compile(rf"'(\w+)': '?({NUMBER})'?", re.IGNORECASE)
JSON_NAMES: Mapping[str, str] = {
    "loss": "loss",
    "train_loss": "loss",
    "train/loss": "loss",
    "lm_loss": "loss",
    "tokens_per_second": "tokens_per_second",
    "tokens_per_sec": "tokens_per_second",
    "throughput/tokens_per_sec": "tokens_per_second",
    "samples_per_second": "samples_per_second",
    "tflops": "tflops",
    "mfu": "mfu",
    "lr": "learning_rate",
    "learning_rate": "learning_rate",
    "grad_norm": "grad_norm",
}


def stepped(line: str, bar_step: int | None = None) -> Stepped | None:
    """The training step of a cleaned line; None when it tells none. Trainer of Hugging Face writes its dictionary
    without the step, which stands in the progress bar beside it: `bar_step` is the last one seen."""
    found = _trainer(line, bar_step) or _json(line)
    if found is not None:
        return found
    for one in FORMATS:
        if (match := one.first.search(line)) is None:
            continue
        values = {name: _scaled(one, name, value) for name, pattern in one.fields.items() if (value := _value(pattern, line)) is not None}  # fmt: skip
        if one.needs not in values and not (one.name == "key=value" and _measures(values)):
            continue
        groups = match.groupdict()
        step = int(groups["step"] or groups["also"])
        return Stepped(one.name, step, int(groups["total"]) if groups.get("total") else None, values)
    return None


def bar(line: str) -> tuple[int, int] | None:
    """Where a progress bar stands: steps done, and of how many."""
    found = BAR.search(line)
    return (int(found["step"]), int(found["total"])) if found else None


def _measures(values: Mapping[str, float]) -> bool:
    return any(name in values for name in ("tokens_per_second", "tokens_per_accelerator", "samples_per_second"))


def _scaled(one: Format, name: str, value: float) -> float:
    return value * one.scale.get(name, 1.0)


def _value(pattern: re.Pattern[str], line: str) -> float | None:
    found = pattern.search(line)
    if found is None:
        return None
    value = number(found["value"])
    suffix = (found.groupdict().get("suffix") or "").upper()
    return None if value is None else value * SUFFIXES[suffix]


def number(text: str) -> float | None:
    """A number as programs print it; beyond what a float holds is infinite, as in the program that printed it."""
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


def _trainer(line: str, bar_step: int | None) -> Stepped | None:
    """One dictionary of Hugging Face's Trainer."""
    found = TRAINER_LINE.search(line)
    if found is None:
        return None
    told = {key: number(value) for key, value in TRAINER_PAIR.findall(found[0])}
    values = {ours: value for theirs, ours in TRAINER_KEYS.items() if (value := told.get(theirs)) is not None}
    step = told.get("step", bar_step)
    if "loss" not in values or step is None or not math.isfinite(step):
        return None
    return Stepped("Hugging Face Trainer", int(step), None, values)


def _json(line: str) -> Stepped | None:
    """One object of JSON in a line, as many loops write."""
    text = line.strip()
    if not text.startswith("{") or not text.endswith("}") or '"' not in text:
        return None
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(told, dict):
        return None
    step = next((told[name] for name in ("step", "global_step", "iteration") if name in told), None)
    values = {ours: float(told[theirs]) for theirs, ours in JSON_NAMES.items() if _is_number(told.get(theirs))}
    if not isinstance(step, int) or isinstance(step, bool) or not 0 <= step < 2**62:
        return None
    return Stepped("JSON lines", step, None, values) if "loss" in values or _measures(values) else None


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return not isinstance(value, int) or abs(value) < 2**62
