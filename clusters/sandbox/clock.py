"""The sandbox's clock: what takes an hour in a real cloud takes an hour divided by the speed.

The clock goes on while the process is stopped, as a cloud does, and never goes back. Credentials and training plans
belong to the caller's own time, which is not sped up.
"""

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime


def moment(told: datetime | None) -> datetime | None:
    """A time in a request, which is UTC whether it says so or not."""
    return told.replace(tzinfo=UTC) if told is not None and told.tzinfo is None else told


@dataclass
class Segment:
    """From `wall` on, sandbox time runs from `sandbox` with this speed."""

    wall: float
    sandbox: float
    speed: float


@dataclass
class Clock:
    """Maps the caller's time to sandbox time and back, piece by piece."""

    segments: list[Segment] = field(default_factory=list)

    def now(self) -> float:
        """Sandbox time in seconds; only differences mean something."""
        last = self.segments[-1]
        return last.sandbox + max(0.0, time.time() - last.wall) * last.speed

    def callers_now(self) -> float:
        return time.time()

    @property
    def speed(self) -> float:
        return self.segments[-1].speed

    def run_at(self, speed: float) -> None:
        wall = time.time()
        if not self.segments:
            self.segments.append(Segment(wall, wall, speed))
        elif speed != self.speed:
            self.segments.append(Segment(max(wall, self.segments[-1].wall), self.now(), speed))

    def advance(self, seconds: float) -> None:
        self.segments.append(Segment(time.time(), self.now() + seconds, self.speed))

    def shown(self, at: float) -> datetime:
        """The caller's time at which the sandbox clock stood at `at`: an answer never speaks of a moment not yet seen."""
        for number in range(len(self.segments) - 1, -1, -1):
            segment = self.segments[number]
            if at >= segment.sandbox or number == 0:
                wall = segment.wall + (at - segment.sandbox) / segment.speed
                if number + 1 < len(self.segments):
                    wall = min(wall, self.segments[number + 1].wall)
                return datetime.fromtimestamp(wall, UTC)
        raise ValueError("the clock has not been started")
