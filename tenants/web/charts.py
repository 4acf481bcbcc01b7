"""Pure: where the points of a small chart lie, so that a page draws it as SVG without any script."""

import math
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
    dense: bool = False  # its points are many: they show where one points at them

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


def over_numbers(lines: dict[str, Sequence[tuple[float, float]]], unit: str = "", marks: int = 40) -> Chart:
    """Curves over a number, e.g. a loss over steps. The scale goes from the least to the greatest value, not from 0; of each
    curve only some points can be pointed at, its last one always."""
    places = [x for points in lines.values() for x, _ in points]
    values = [y for points in lines.values() for _, y in points]
    if not places:
        return Chart((), (), ())
    first, span = min(places), max(max(places) - min(places), 1e-9)
    least, most = min(values), max(values)
    if most - least <= abs(most) * 1e-6:  # a level line lies in the middle of its scale, not on its floor
        least, most = least - abs(least) / 10 - 1e-9, most + abs(most) / 10 + 1e-9
    ticks = _ticks(least, most)
    low, high = ticks[0], ticks[-1]
    drawn = []
    for name, points in lines.items():
        placed = [
            Mark(_across(x - first, span), _up(y - low, high - low), f"{x:,.0f}", f"{_exact(y)}{unit}")
            for x, y in points
        ]
        every = max(1, -(-len(placed) // marks))
        drawn.append(Drawn(name, _points(placed), tuple(placed[::-1][::every])[::-1]))
    across = tuple(
        Mark(_across(tick - first, span), HEIGHT - 8, _counted(tick))
        for tick in _ticks(first, first + span)
        if first <= tick <= first + span
    )
    up = tuple(Mark(LEFT - 6, _up(tick - low, high - low), f"{_counted(tick)}{unit}") for tick in ticks)
    return Chart(tuple(drawn), across, up, dense=True)


def _ticks(low: float, high: float) -> list[float]:
    """Two to five round numbers that span a range."""
    rough = (high - low) / 3
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(size * each for each in (1, 2, 5, 10) if size * each >= rough)
    return [number * step for number in range(math.floor(low / step), math.ceil(high / step) + 1)]


def _exact(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _counted(value: float) -> str:
    """As short as an axis wants it: 12k, 3.4M."""
    for size, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"
