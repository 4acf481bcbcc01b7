"""Writes the training jobs, and what providers and clusters reported of their machines."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models.functions import Coalesce

from clusters import states
from clusters.models import Cluster, Job
from program.transfer.dates import Row
from program.transfer.words import JOB_ENDS
from program.transfer.writing.names import Writing, numbered, once, stamp, told
from tenants.history.models import Entry
from tenants.history.timeline import IMPORT

ENDS = {**{pair[0]: word for word, pair in JOB_ENDS.items()}, "failed": "failed"}
WORDS = {word: name for name, (_state, word) in JOB_ENDS.items()}


def jobs(writing: Writing) -> Iterator[Row]:
    """One at a time, for there may be very many."""
    ids = job_ids(writing)
    for row in _rows(writing).select_related("cluster").iterator():
        yield {
            "id": ids[row.pk],
            "participant": writing.slugs[row.tenant_id],
            "cluster": row.cluster.name,
            "name": row.name,
            "kind": row.purpose,
            "nodes": row.nodes,
            "state": _state(row),
            "submitted_at": stamp(row.submitted_at or row.created_at),
            "started_at": stamp(row.started_at),
            "ended_at": stamp(_ended(row)),
            **told(
                step=row.checkpoint_step,
                last_checkpoint_at=stamp(row.checkpoint_at),
                restarts=row.restarts,
                reason=row.reason,
                exit_code=-row.signal if row.signal else row.exit_code or None,
            ),
        }


def _ended(row: Job) -> datetime | None:
    """When it ended; where its scheduler forgot that with the job, when it was last seen."""
    return row.ended_at or (
        (row.observed_at or row.submitted_at or row.created_at) if row.state in states.JOB_ENDS else None
    )


def _rows(writing: Writing) -> Any:
    found = Cluster.objects.filter(wanted=True, tenant__in=list(writing.slugs)).exclude(state="deleted")
    rows = Job.objects.filter(cluster__in=found.values("pk"), purpose=Job.Purpose.TRAINING)
    return rows.order_by(Coalesce("submitted_at", "created_at"), "name", "cluster__name", "pk")


@once
def job_ids(writing: Writing) -> dict[UUID, str]:
    """By the ids that they came with; the others get the next free ones in the order in which they were launched."""
    wished = Entry.objects.filter(kind=states.JOB_WISHED, source=IMPORT, facts__has_key="imported")
    came = dict(wished.values_list("subject_id", "facts__imported"))
    return numbered([(pk, came.get(pk, "")) for pk in _rows(writing).values_list("pk", flat=True)], "JOB")


def _state(row: Job) -> str:
    if row.state in states.JOB_ENDS:
        word = WORDS.get(row.engine_state, "")
        return word if word and JOB_ENDS[word][0] == row.state else ENDS[row.state]
    return "pending" if row.state in states.JOB_WAITS else "running"


def health_events(writing: Writing) -> list[Row]:
    """One row for each event; what touched several participants names them all."""
    kinds = (states.HEALTH_REPORTED, states.HEALTH_SCHEDULED)
    entries = Entry.objects.filter(kind__in=kinds, tenant__in=list(writing.slugs)).order_by("occurred_at", "pk")
    together: defaultdict[object, list[Entry]] = defaultdict(list)
    for entry in entries:
        together[entry.facts.get("imported") or entry.pk].append(entry)
    names = dict(Cluster.objects.values_list("pk", "name"))
    ids = list(numbered(enumerate(found[0].facts.get("imported", "") for found in together.values()), "HE").values())
    rows = [_event(writing, found, key, names) for key, found in zip(ids, together.values(), strict=True)]
    return sorted(rows, key=lambda row: (row["started_at"], row["id"]))


def _event(writing: Writing, found: list[Entry], key: str, names: dict[UUID, str]) -> Row:
    entry, facts = found[0], found[0].facts
    slugs = sorted(writing.slugs[one.tenant_id] for one in found)
    starts, at = _stamped(facts.get("starts")) or stamp(entry.occurred_at), stamp(entry.occurred_at)
    return {
        "id": key,
        "participant": slugs[0] if len(slugs) == 1 else None,
        "cluster": names.get(entry.cluster) if entry.cluster else None,
        **told(region=facts.get("region")),
        "source": entry.actor.removeprefix("provider:"),
        **told(
            reason=facts.get("reason"),
            detail=facts.get("detail"),
            node=facts.get("node") if facts.get("node") != facts.get("region") else None,
            notified_at=at if at != starts else None,
        ),
        "started_at": starts,
        **told(ended_at=_stamped(facts.get("ended")), action=facts.get("action")),
        "status": facts.get("status", "closed"),
        **({"affects": slugs} if len(slugs) > 1 else {}),
    }


def _stamped(text: str | None) -> str | None:
    return text.replace("+00:00", "Z") if text else None
