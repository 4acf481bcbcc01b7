"""The records of the file: each participant's own, which is of the participation that pages speak of, and its other ones."""

from __future__ import annotations

from collections.abc import Iterator

from program.transfer.dates import Row


def of(told: Row) -> Iterator[tuple[str, str, Row]]:
    """(its place in the file, the participant's slug, the record)."""
    for number, participant in enumerate(told["participants"]):
        yield f"participants[{number}]", participant["slug"], participant
        for place, other in enumerate(participant.get("other_participations", [])):
            yield f"participants[{number}].other_participations[{place}]", participant["slug"], other


def problems(told: Row) -> Iterator[str]:
    """Rows that name a participation which the file does not have."""
    cycles = {row["code"] for row in told["cycles"]}
    known = {(slug, record["cycle"]) for _where, slug, record in of(told)}
    for where, _slug, record in of(told):
        if record["cycle"] not in cycles:
            yield f"{where}.cycle: {record['cycle']} is no cycle"
    for number, participant in enumerate(told["participants"]):
        mine = [participant, *participant.get("other_participations", [])]
        if len({record["cycle"] for record in mine}) < len(mine):
            yield f"participants[{number}].other_participations: two of them are in one cycle"
    sections = [(name, rows) for name, rows in told.items() if isinstance(rows, list)]
    sections += [(f"participants[{n}].clusters", row["clusters"]) for n, row in enumerate(told["participants"])]
    sections.append(("onboarding.sessions", told.get("onboarding", {}).get("sessions", [])))
    of_cluster = {id(cluster): row["slug"] for row in told["participants"] for cluster in row["clusters"]}
    for name, rows in sections:
        for place, row in enumerate(rows):
            if isinstance(row, dict) and "in_cycle" in row:
                slug = of_cluster.get(id(row)) or row.get("participant")
                if (slug, row["in_cycle"]) not in known:
                    yield f"{name}[{place}].in_cycle: {str(row['in_cycle'])[:60]} is no cycle that {slug} takes part in"
