"""What a job script would do: read line by line for a small part of the shell, without running anything.

Known: `echo`, `sleep`, `exit`, `kill -9 $$`, `scontrol requeue incomplete ID`, assignments and `export`, and commands that start training, which stand for
a run of steps whose lines look like Megatron-LM's. Other lines are passed over, and the log says so.
"""

import math
import random
import re
import shlex
from dataclasses import dataclass, field

STEP_SECONDS = 12.0
LINES_PER_RUN = 2000
CHECKPOINT_EVERY = 50
CHECKPOINTS = "/fsx/checkpoints"
FALLBACK_SECONDS = 3600.0
TRAINS = re.compile(r"^(srun|torchrun|mpirun|python3?|accelerate|deepspeed|neuron_parallel_compile)\b")
# Stands for a collective over two nodes that ends well; which pairs fail is a fault's to say.
PAIR_TEST, PAIR_SECONDS = re.compile(r"\bCOHORT_PAIR_TEST\b"), 30.0
SILENT = re.compile(
    r"^(cd|mkdir|module|source|\.|set|ulimit|umask|trap|hostname|date|nvidia-smi|pwd|true|:|rm|cp|ln|wait)\b"
)
STEPS = re.compile(r"--(?:train-iters|max-steps|max_steps|steps)[= ](\d+)")
ASSIGNED = re.compile(r"^(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)=(.*)$")
VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}|\$([A-Za-z_][A-Za-z0-9_]*)|\$(\$)")
REQUEUE = re.compile(r"scontrol requeue incomplete (\d+)")
UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


@dataclass(frozen=True)
class Training:
    """A stretch of training steps."""

    start: float
    steps: int
    accelerators: int
    seed: str
    first: int = 0  # the step of the checkpoint that it goes on from

    @property
    def end(self) -> float:
        return self.start + (self.steps - self.first) * STEP_SECONDS

    @property
    def every(self) -> int:
        """Every so many steps it prints a line."""
        return max(1, self.steps // LINES_PER_RUN)

    def done(self, until: float) -> int:
        return min(self.steps, self.first + max(0, int((until - self.start) // STEP_SECONDS)))

    def saved(self, until: float) -> int:
        """The step of its newest checkpoint by then."""
        done, each = self.done(until), CHECKPOINT_EVERY * self.every
        return done if done == self.steps else max(self.first, done - done % each)

    def lines(self, until: float) -> list[tuple[float, str]]:
        found: list[tuple[float, str]] = []
        if self.first and until >= self.start:
            found.append((self.start, f"  successfully loaded checkpoint from {CHECKPOINTS} at iteration {self.first}"))
        for step in range(self.first + 1, self.done(until) + 1):
            at = self.start + (step - self.first) * STEP_SECONDS
            if step % self.every == 0 or step == self.steps:
                found.append((at, self._line(step)))
            if step % (CHECKPOINT_EVERY * self.every) == 0 or step == self.steps:
                found.append((at, f"  successfully saved checkpoint from iteration {step:7d} to {CHECKPOINTS}"))
        return found

    def _line(self, step: int) -> str:
        noise = random.Random(f"{self.seed}/{step}")
        loss = 1.9 + 9.1 * math.exp(-step / 120) + noise.uniform(-0.03, 0.03)
        elapsed = STEP_SECONDS * 1000 * noise.uniform(0.98, 1.02)
        tokens = 1024 * 4096 / (elapsed / 1000)
        return (
            f" iteration {step:8d}/{self.steps:8d} | consumed samples: {step * 1024:12d} |"
            f" elapsed time per iteration (ms): {elapsed:.1f} | throughput (tokens/s): {tokens:.0f} |"
            f" tokens/s/accelerator: {tokens / max(self.accelerators, 1):.0f} | learning rate: 3.000000E-04 |"
            f" global batch size:  1024 | lm loss: {loss:.6E} | grad norm: {noise.uniform(0.2, 0.9):.3f} |"
            " number of skipped iterations:   0 | number of nan iterations:   0 |"
        )


@dataclass
class Plan:
    """What a script will do: what it says when, how long it takes, and how it ends."""

    said: list[tuple[float, str]] = field(default_factory=list)
    trainings: list[Training] = field(default_factory=list)
    seconds: float = 0.0
    exit_code: int = 0
    signal: int = 0
    requeues: list[int] = field(default_factory=list)  # jobs that it asks the controller to begin again

    def saved(self, until: float) -> list[int]:
        """The newest checkpoint of each training by then."""
        return [training.saved(until) for training in self.trainings]

    def lines(self, until: float) -> list[tuple[float, str]]:
        """What has been said until then, in order; what is said at the moment a training ends comes after it."""
        found: list[tuple[float, str]] = []
        for training in self.trainings:
            found += training.lines(until)
        found += [one for one in self.said if one[0] <= until]
        return sorted(found, key=lambda one: one[0])


def plan(script: str, environment: dict[str, str], comment: str, limit: float, accelerators: int, seed: str,
         saved: list[int] | None = None) -> Plan:  # fmt: skip
    """Read the script once, from the top. `saved`: the checkpoints of the run before, where the script speaks of any."""
    variables, result = dict(environment), Plan()
    for word in comment.split():
        found = ASSIGNED.match(word)
        if found:
            variables.setdefault(found[1], found[2])
    if PAIR_TEST.search(script):
        return Plan([(PAIR_SECONDS, "# Avg bus bandwidth    : 311.4")], seconds=PAIR_SECONDS)
    lines = re.sub(r"\\\n\s*", " ", script).splitlines()
    kept = list(saved or []) if "checkpoint" in script.lower() else []
    for raw in lines:
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        if _one(line, variables, result, limit, accelerators, seed, kept):
            break
    return result


def _one(line: str, variables: dict[str, str], result: Plan, limit: float, accelerators: int, seed: str,
         kept: list[int]) -> bool:  # fmt: skip
    """One line; True where the script ends with it."""
    assigned = ASSIGNED.match(line)
    word, _, rest = line.partition(" ")
    if assigned and " " not in line.split("=", 1)[0].removeprefix("export "):
        variables[assigned[1]] = _expanded(assigned[2], variables)
    elif word == "echo":
        result.said.append((result.seconds, _expanded(rest, variables)))
    elif requeued := REQUEUE.fullmatch(line):
        result.requeues.append(int(requeued[1]))
    elif word == "sleep":
        result.seconds += _seconds(_expanded(rest, variables))
    elif word == "exit":
        code = _expanded(rest, variables).strip()
        result.exit_code = int(code) % 256 if code.isdigit() else 0
        return True
    elif line in ("kill -9 $$", "kill -KILL $$", "kill -s KILL $$"):
        result.signal = 9
        return True
    elif line == "false":
        result.exit_code = 1
    elif TRAINS.match(line):
        steps = _steps(line, variables, limit, result.seconds)
        first = min(kept.pop(0), steps) if kept else 0
        result.trainings.append(Training(result.seconds, steps, accelerators, seed, first))
        result.seconds = result.trainings[-1].end
        result.exit_code = 0
    elif not SILENT.match(line):
        result.said.append((result.seconds, f"sandbox: this line is not played: {line}"))
    return False


def _steps(line: str, variables: dict[str, str], limit: float, spent: float) -> int:
    named = STEPS.search(_expanded(line, variables))
    text = named[1] if named else variables.get("STEPS", "")
    if text.isdigit():
        return max(1, int(text))
    seconds = max(STEP_SECONDS, (limit - spent) * 0.9) if limit < float("inf") else FALLBACK_SECONDS
    return max(1, int(seconds // STEP_SECONDS))


def _expanded(text: str, variables: dict[str, str]) -> str:
    def value(found: re.Match[str]) -> str:
        if found[4]:
            return "4242"
        return variables.get(found[1] or found[3], found[2] or "")

    try:
        words = shlex.split(text, comments=True)
    except ValueError:  # an open quote: taken as it stands
        words = [text]
    single = "'" in text
    return " ".join(words) if single else VARIABLE.sub(value, " ".join(words))


def _seconds(text: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd]?)", text.strip())
    return float(found[1]) * UNITS[found[2]] if found else 0.0
