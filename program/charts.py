"""Pure: where the points of a small chart lie, so that a page draws it as SVG without any script."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

WIDTH, HEIGHT = 640, 160
LEFT, RIGHT, TOP, BOTTOM = 44, 12, 12, 26


@dataclass(frozen=True)
class Mark:
    """A label on an axis, or a point that can be pointed at."""

    x: float
    y: float
    text: str
    value: str = ""


@dataclass(frozen=True)
class Drawn:
    """One line: its SVG points, and each as a mark with its words."""

    name: str
    points: str
    marks: tuple[Mark, ...]


@dataclass(frozen=True)
class Chart:
    """A chart of `lines` over a common scale."""

    lines: tuple[Drawn, ...]
    across: tuple[Mark, ...]
    up: tuple[Mark, ...]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = WIDTH - RIGHT

    @property
    def drawn(self) -> bool:
        """Whether there is anything to see."""
        return any(line.marks for line in self.lines)


def by_step(rows: Sequence[str], lines: dict[str, Sequence[float | None]], unit: str = "", least: float = 0) -> Chart:
    """Values at equal steps, e.g. one for each review; a step without a value is left out, not drawn as nothing."""
    top = _top(max([least, *(value for values in lines.values() for value in values if value is not None)]))
    place = [
        _across(index, max(1, len(rows) - 1)) if len(rows) > 1 else (LEFT + WIDTH - RIGHT) / 2
        for index in range(len(rows))
    ]
    drawn = []
    for name, values in lines.items():
        marks = tuple(
            Mark(place[index], _up(value, top), rows[index], f"{_short(value)}{unit}")
            for index, value in enumerate(values)
            if value is not None
        )
        drawn.append(Drawn(name, _points(marks), marks))
    every = max(1, -(-len(rows) // 12))
    across = tuple(Mark(place[index], HEIGHT - 8, text) for index, text in enumerate(rows) if index % every == 0)
    return Chart(tuple(drawn), across, _scale(top, unit))


def over_time(lines: dict[str, Sequence[tuple[datetime, float]]], begin: datetime, end: datetime, most: float) -> Chart:
    """Steps over time: a value holds until the next one."""
    span = max(1.0, (end - begin).total_seconds())
    top = _top(most)
    drawn = []
    for name, values in lines.items():
        marks = [
            Mark(_across((at - begin).total_seconds(), span), _up(value, top), f"{at:%H:%M}", _short(value))
            for at, value in values
        ]
        drawn.append(Drawn(name, _points(_stairs(marks)), tuple(marks)))
    across = tuple(
        Mark(_across(span * part / 4, span), HEIGHT - 8, f"{begin + (end - begin) * part / 4:%H:%M}")
        for part in range(5)
    )
    return Chart(tuple(drawn), across, _scale(top, ""))


def _stairs(marks: Iterable[Mark]) -> list[Mark]:
    found: list[Mark] = []
    for mark in marks:
        if found:
            found.append(Mark(mark.x, found[-1].y, ""))
        found.append(mark)
    if found:
        found.append(Mark(WIDTH - RIGHT, found[-1].y, ""))
    return found


def _points(marks: Iterable[Mark]) -> str:
    return " ".join(f"{mark.x},{mark.y}" for mark in marks)


def _across(value: float, most: float) -> float:
    return round(LEFT + (WIDTH - LEFT - RIGHT) * value / most, 1)


def _up(value: float, top: float) -> float:
    return round(HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / top, 1)


def _top(most: float) -> float:
    """The next round number, so that the scale reads well."""
    for size in range(-2, 12):
        for step in (1, 2, 5):
            if step * 10.0**size >= most:
                return step * 10.0**size
    return most


def _scale(top: float, unit: str) -> tuple[Mark, ...]:
    return tuple(Mark(LEFT - 6, _up(top * part / 2, top), f"{_short(top * part / 2)}{unit}") for part in range(3))


def _short(value: float) -> str:
    return f"{value:.0f}" if abs(value - round(value)) < 0.05 else f"{value:.1f}"
