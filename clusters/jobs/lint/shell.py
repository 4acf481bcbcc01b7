"""As much of the shell as a lint needs: commands without comments and heredocs, variables with all they may hold. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

ASSIGNED = re.compile(r"^\s*(?:(?:export|local|readonly|declare(?:\s+-\w+)*)\s+)?([A-Za-z_]\w*)(\+?)=(.*)$", re.S)
DEFAULT = re.compile(r"\$\{([A-Za-z_]\w*):?[=-]((?:[^{}]|\$\{[^{}]*\})*)\}")
USED = re.compile(r"\$\{([A-Za-z_]\w*)(?:\[[@*]\])?\}|\$([A-Za-z_]\w*)")
HEREDOC = re.compile(r"<<-?\s*(['\"]?)([A-Za-z_]\w*)\1")
DEEPEST = 6
LONGEST = 20_000


@dataclass(frozen=True)
class Command:
    """A command with its continued lines joined, the comments gone; `line` is where it begins."""

    line: int
    text: str


def commands(text: str) -> list[Command]:
    """All that a shell would look at, one for each line that is no continuation; bodies of heredocs are left out."""
    found: list[Command] = []
    ends, began, kept, depth = "", 0, "", 0
    for number, raw in enumerate(text.splitlines(), start=1):
        if ends:
            ends = "" if raw.strip() == ends else ends
            continue
        line = _bare(raw)
        began = began if kept else number
        kept += line
        if (opened := HEREDOC.search(line)) and "<<<" not in line:
            ends = opened[2]
        # A list in round brackets goes on over lines, each of which may have a comment of its own.
        depth = max(0, depth + (1 if re.search(r"=\(\s*$|=\((?!.*\))", line) else 0) - (line.strip() in (")", ");")))
        if line.endswith("\\"):
            kept = f"{kept[:-1]} "
        elif depth and line.strip() != ")":
            kept += "\n"
        else:
            found += [Command(began, kept.strip())] if kept.strip() else []
            kept = ""
    return [*found, Command(began, kept.strip())] if kept.strip() else found


def _bare(line: str) -> str:
    """The line without its comment. A quotation mark that is left open counts to the end of the line alone."""
    quote, before = "", " "
    for at, sign in enumerate(line):
        if quote:
            quote = "" if sign == quote and before != "\\" else quote
        elif sign in "'\"" and before != "\\":
            quote = sign
        elif sign == "#" and before.isspace():
            return line[:at].rstrip()
        before = sign
    return line.rstrip()


def variables(found: list[Command]) -> dict[str, str]:
    """Name -> everything that it may hold, one behind the other; a default counts where nothing else is said."""
    held: dict[str, str] = {}
    for command in found:
        for name, value in DEFAULT.findall(command.text):
            held.setdefault(name, _unquoted(value))
        for match in _assignments(command.text):
            name, _more, value = match.groups()
            if DEFAULT.match(value) and DEFAULT.match(value)[1] == name:  # type: ignore[index]
                continue
            value = _unquoted(value.strip())
            if len(held.get(name, "")) < LONGEST:
                held[name] = f"{held[name]} {value}" if held.get(name) else value
    return held


def _assignments(text: str) -> list[re.Match[str]]:
    """What a command assigns, also behind `then` and the like on the same line."""
    whole = ASSIGNED.match(text)
    pieces = [] if whole else re.split(r";\s*|&&|\|\||\b(?:then|do|else)\s+", text)
    return [match for match in (whole, *map(ASSIGNED.match, pieces)) if match]


def _unquoted(value: str) -> str:
    if value.startswith("("):
        return value[1:].rstrip().removesuffix(")")
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"" else value


def expanded(text: str, held: Mapping[str, str]) -> str:
    """The text with what its variables may hold; what is not known, or would make it too long, stays as it is written."""
    text = text[:LONGEST]
    for _round in range(DEEPEST):
        room = [LONGEST - len(text)]

        def value(match: re.Match[str], room: list[int] = room) -> str:
            name = match[1] or match[2]
            # A default is in the second group, and so is the name of a variable without brackets.
            found = held.get(name, match[2] if match.re is DEFAULT else match[0])
            room[0] -= len(found)
            return found if room[0] > 0 else match[0]

        new = USED.sub(value, DEFAULT.sub(value, text))
        if new == text:
            break
        text = new
    return text


def runs(command: Command, program: str) -> bool:
    """Whether the command starts this program."""
    return (
        re.search(rf"(?:^|[;&|(]\s*|\b(?:exec|time|then|do|else)\s+|^\w+=\S*\s+){program}\s", f"{command.text} ")
        is not None
    )
