"""Reads the options of a job script as sbatch does: where it stops, what it skips, quotes, comments, forms with a space. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

MARK = "#SBATCH"
SHORT = {
    "A": "account", "a": "array", "b": "begin", "C": "constraint", "c": "cpus-per-task", "D": "chdir",
    "d": "dependency", "e": "error", "F": "nodefile", "G": "gpus", "H": "hold", "I": "immediate", "i": "input",
    "J": "job-name", "k": "no-kill", "L": "licenses", "M": "clusters", "m": "distribution", "N": "nodes",
    "n": "ntasks", "O": "overcommit", "o": "output", "p": "partition", "Q": "quiet", "q": "qos", "s": "oversubscribe",
    "S": "core-spec", "t": "time", "v": "verbose", "W": "wait", "w": "nodelist", "x": "exclude",
}  # fmt: skip
# What takes no value, or takes one only behind a sign of equality; everything else takes the next word.
ALONE = frozenset({
    "exclusive", "hold", "no-kill", "overcommit", "oversubscribe", "quiet", "verbose", "requeue", "no-requeue",
    "wait", "immediate", "contiguous", "get-user-env", "ignore-pbs", "parsable", "propagate", "reboot", "spread-job",
    "test-only", "use-min-nodes", "nice", "kill-on-invalid-dep-off", "help", "usage", "version",
})  # fmt: skip
LONG = ALONE | frozenset(SHORT.values()) | frozenset({
    "acctg-freq", "auto-resume", "batch", "bb", "bbf", "cluster-constraint", "comment", "container",
    "container-image", "container-mounts", "container-name", "container-workdir", "container-save", "cores-per-socket",
    "cpu-freq", "cpus-per-gpu", "deadline", "delay-boot", "export", "export-file", "extra-node-info", "gid",
    "gpu-bind", "gpu-freq", "gpus-per-node", "gpus-per-socket", "gpus-per-task", "gres", "gres-flags", "hint",
    "kill-on-invalid-dep", "mail-type", "mail-user", "mcs-label", "mem", "mem-bind", "mem-per-cpu", "mem-per-gpu",
    "mincpus", "network", "ntasks-per-core", "ntasks-per-gpu", "ntasks-per-node", "ntasks-per-socket", "open-mode",
    "power", "prefer", "priority", "profile", "reservation", "segment", "signal", "sockets-per-node", "switches",
    "thread-spec", "threads-per-core", "time-min", "tmp", "tres-per-task", "uid", "wait-all-nodes", "wckey", "wrap",
})  # fmt: skip


@dataclass(frozen=True)
class Option:
    name: str
    value: str
    line: int


@dataclass
class Options:
    """What counts, by name, the last of a name; what looks like an option and is none; what cannot be read."""

    said: dict[str, Option] = field(default_factory=dict)
    ignored: list[Option] = field(default_factory=list)
    commented_out: list[Option] = field(default_factory=list)
    unreadable: list[tuple[int, str]] = field(default_factory=list)

    def value(self, *names: str) -> str | None:
        return next((self.said[name].value for name in names if name in self.said), None)

    def whole(self, *names: str) -> int | None:
        """A number; the least of a span such as 2-4."""
        found = re.match(r"\d{1,9}", self.value(*names) or "")
        return int(found[0]) if found else None


def options(text: str) -> Options:
    """All of them. Nothing is run."""
    found, over = Options(), False
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith(MARK) and not over:
            _read(line.removeprefix(MARK), number, found)
        elif line.lstrip().startswith(MARK):
            found.ignored += _pairs(_words(line.lstrip().removeprefix(MARK))[0], number)
        elif commented := re.match(r"\s*#+\s*#*\s*SBATCH\s+(?=-)", line):
            found.commented_out += _pairs(_words(line[commented.end() :])[0], number)
        elif line.strip() and not line.lstrip().startswith("#"):
            over = True
    return found


def _read(rest: str, number: int, found: Options) -> None:
    words, open_quote = _words(rest)
    if open_quote:
        found.unreadable.append((number, rest.strip()[:60]))
        return
    for option in _pairs(words, number):
        if option.name:
            found.said[option.name] = option
        else:
            found.unreadable.append((number, option.value[:60]))


def _words(rest: str) -> tuple[list[str], bool]:
    """The words of a line up to its comment, and whether a quotation mark is left open."""
    words: list[str] = []
    word: str | None = None
    quote, escaped = "", False
    for sign in rest:
        if escaped:
            word, escaped = (word or "") + sign, False
        elif quote:
            quote, word = ("", word) if sign == quote else (quote, (word or "") + sign)
        elif sign == "\\":
            escaped = True
        elif sign in "'\"":
            quote, word = sign, word or ""
        elif sign == "#":
            break
        elif sign.isspace():
            words += [] if word is None else [word]
            word = None
        else:
            word = (word or "") + sign
    words += [] if word is None else [word]
    return words, bool(quote)


def _pairs(words: list[str], number: int) -> Iterator[Option]:
    """Options with their values; a word that belongs to none has no name."""
    waiting = list(words)
    while waiting:
        word = waiting.pop(0)
        if word.startswith("--") and len(word) > 2:
            name, sign, value = word[2:].partition("=")
            name = _whole_name(name)
            if not sign and name not in ALONE and waiting:
                value = waiting.pop(0)
            yield Option(name, value, number)
        elif re.match(r"-[A-Za-z]", word):
            name, value = SHORT.get(word[1], word[1]), word[2:]
            if name in ALONE:
                yield Option(name, "", number)
                waiting = [f"-{value}", *waiting] if value else waiting
                continue
            if not value and waiting:
                value = waiting.pop(0)
            yield Option(name, value, number)
        else:
            yield Option("", word, number)


def _whole_name(name: str) -> str:
    """Long names may be cut short as long as only one begins so."""
    if name in LONG:
        return name
    meant = [each for each in LONG if each.startswith(name)]
    return meant[0] if len(meant) == 1 else name


def minutes(text: str | None) -> int | None:
    """A time limit in whole minutes, rounded up; None for none and for no limit."""
    if not text or text.strip("0:-") == "" or text.upper() in ("UNLIMITED", "INFINITE", "-1"):
        return None
    days, dash, rest = text.partition("-")
    parts = (rest if dash else text).split(":")
    if not all(part.isdigit() and len(part) < 9 for part in (*parts, *([days] if dash else []))):
        return None
    numbers = [int(part) for part in parts]
    if dash:
        hours, minutes_, seconds = (*numbers, 0, 0)[:3]
        total = ((int(days) * 24 + hours) * 60 + minutes_) * 60 + seconds
    elif len(numbers) == 3:
        total = (numbers[0] * 60 + numbers[1]) * 60 + numbers[2]
    else:
        total = numbers[0] * 60 + (numbers[1] if len(numbers) > 1 else 0)
    return -(-total // 60)
