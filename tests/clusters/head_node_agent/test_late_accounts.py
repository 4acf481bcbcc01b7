"""What is written into the accounts late is told all the same, and nothing is told twice."""

from clusters.head_node_agent import cohort_agent
from clusters.head_node_agent.cohort_agent import SEPARATOR, run_of


class Accounts:
    """Answers `sacct` with these lines."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str, str]] = []

    def run(self, *words: str) -> str:
        chosen = next((word.removeprefix("--jobs=").split(",") for word in words if word.startswith("--jobs=")), None)
        told = [line for line in self.lines if chosen is None or line[0].split("_")[0] in chosen]
        return "\n".join(
            SEPARATOR.join((job, "COMPLETED", "0:0", start, end, "gpu1", "cpu=1", "workers", "cohort", f"job-{job}"))
            for job, start, end in told
        )


def test_a_run_that_is_written_down_after_a_later_one_is_told_once() -> None:
    accounts = Accounts()
    eyes = cohort_agent.Eyes.__new__(cohort_agent.Eyes)
    eyes.programs = accounts
    accounts.lines = [("8", "2026-12-01T10:00:05", "2026-12-01T10:00:09")]
    first = eyes.runs(0)
    assert [row["job"] for row in first] == ["8"]
    told = {run_of(row["job"], row["started"]): row["ended"] for row in first}
    accounts.lines.insert(0, ("7_0", "2026-12-01T10:00:01", "2026-12-01T10:00:04"))
    later = eyes.runs(first[-1]["ended"], told)
    assert [(row["job"], row["attempt"]) for row in later] == [("7_0", 1)]
    told |= {run_of(row["job"], row["started"]): row["ended"] for row in later}
    assert eyes.runs(first[-1]["ended"], told) == []
    accounts.lines.append(("8", "2026-12-01T10:00:20", "2026-12-01T10:00:30"))
    assert [(row["job"], row["attempt"]) for row in eyes.runs(first[-1]["ended"], told)] == [("8", 2)]
