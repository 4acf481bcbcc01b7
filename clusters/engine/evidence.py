"""What programs said while they changed a part is kept beside it, with the secrets taken out."""

from typing import Any

from clusters import states
from clusters.engine.facts import ENGINE
from clusters.models import ExternalObject
from tenants import files
from tenants.history import timeline


def keep(row: ExternalObject, outcome: Any) -> None:
    """One log for each program that ran, and an entry that names it. A failure that only repeats itself is told once."""
    if outcome.error is not None and outcome.error.message == row.reason:
        return
    for ran in outcome.ran:
        dry = "-dryrun" if "--dryrun" in ran.words else ""
        name = files.name_from(f"{row.name}-{ran.words[0]}{dry}-{row.incarnation}.log")
        head = [
            f"pcluster {' '.join(ran.words)}",
            f"ended with code {ran.code} after {ran.seconds:.1f} s, at most {ran.peak_mib} MiB. {ran.ended_by_us}".strip(),
        ]
        text = "\n".join([*head, "", ran.said, "", ran.log])
        files.attach(about=row, name=name, content=text.encode(), media_type="text/plain", by=ENGINE)
        timeline.record(
            states.PROGRAM_RAN,
            about=row,
            by=ENGINE,
            verb=f"{ran.words[0]}{' (dry run)' if dry else ''}",
            part=row.name,
            seconds=round(ran.seconds, 1),
            code=ran.code,
            file=name,
            peak_mib=ran.peak_mib,
        )
