"""When the capacity under a cluster's nodes ends, and what is not begun any more before that.

Of a Capacity Block and of a training plan the provider takes the nodes away, from half an hour before the end; the nodes of
an on-demand reservation stay, at the price of everybody.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.utils.translation import gettext as _

from clusters.models import Cluster, Reservation, Revision
from tenants.web.problems import Refused

MARGIN = timedelta(minutes=30)
TAKEN_AWAY = frozenset({Reservation.Kind.CAPACITY_BLOCK, Reservation.Kind.TRAINING_PLAN})
SHOWN_BEFORE = timedelta(days=14)


@dataclass(frozen=True)
class Ending:
    """The capacity of some groups, and when it ends."""

    name: str
    kind: str  # one of Reservation.Kind
    groups: tuple[str, ...]
    ends_at: datetime

    @property
    def kind_word(self) -> Any:
        return Reservation.Kind(self.kind).label

    @property
    def taken_away(self) -> bool:
        return self.kind in TAKEN_AWAY

    @property
    def drains_at(self) -> datetime:
        """From then on nodes go away and nothing is put in their place; of capacity that only gets dearer: its end."""
        return self.ends_at - MARGIN if self.taken_away else self.ends_at

    def draining(self, now: datetime) -> bool:
        return self.taken_away and now >= self.drains_at

    def minutes_left(self, now: datetime) -> int:
        return max(0, int((self.drains_at - now).total_seconds() // 60))


def endings(groups: Iterable[Mapping[str, Any]], held: Iterable[Reservation]) -> list[Ending]:
    """What of it ends, the nearest first. Pure."""
    by_name: dict[str, list[str]] = {}
    for group in groups:
        for name in filter(None, (group.get("training_plan"), group.get("reservation"))):
            by_name.setdefault(name, []).append(group["name"])
    found = [
        Ending(row.external_id, row.kind, tuple(by_name[row.external_id]), row.ends_at)
        for row in held
        if row.external_id in by_name
    ]
    return sorted(found, key=lambda one: one.ends_at)


def of_cluster(cluster: Cluster, newest: Sequence[Revision] | None = None) -> list[Ending]:
    """By its newest configuration, which who has it hands in, and what is known of reservations."""
    if newest is None:
        newest = Revision.objects.filter(cluster=cluster).order_by("-number")[:1]
    groups = [group for revision in newest for group in revision.body.get("instance_groups", [])]
    if not any(group.get("training_plan") or group.get("reservation") for group in groups):
        return []
    return endings(groups, Reservation.objects.filter(region=cluster.region))


def refuse_past_the_end(found: Sequence[Ending], partition: str, minutes: int | None, begins: datetime) -> None:
    """A job that would be cut off when its nodes are taken away, whether it saves checkpoints or not. Raises Refused."""
    ending = next((one for one in found if one.taken_away and partition in one.groups), None)
    if ending is None:
        return
    left = ending.minutes_left(begins)
    values = {"name": ending.name, "kind": ending.kind_word, "left": left, "asked": minutes or 0}
    if ending.draining(begins):
        sentence = _(
            "The %(kind)s %(name)s under these nodes is ending, and its nodes are being taken away. Launch the job on a "
            "group with other capacity, or have a new one added."
        )
        raise Refused("capacity_ending", sentence % values, status=422, field="partition")
    if minutes is None or minutes <= left:
        return
    sentence = _(
        "The time limit of %(asked)s minutes passes the end of the %(kind)s %(name)s: its nodes are taken away in "
        "%(left)s minutes. Ask for at most %(left)s minutes; a run that saves checkpoints goes on from there on other nodes."
    )
    raise Refused(
        "past_the_end", sentence % values, status=422, field="time_limit_minutes", asked=minutes, allowed=left,
        unit="minutes",
    )  # fmt: skip


def refuse_while_it_ends(found: Sequence[Ending], groups: Iterable[str], now: datetime) -> None:
    """A node that is replaced in the last half hour would not come again. Raises Refused."""
    wanted = set(groups)
    ending = next((one for one in found if one.draining(now) and wanted & set(one.groups)), None)
    if ending is not None:
        sentence = _(
            "The %(kind)s %(name)s is ending: its nodes are being taken away, and no other comes in their place. Leave "
            "these nodes as they are."
        )
        raise Refused("capacity_ending", sentence % {"name": ending.name, "kind": ending.kind_word}, status=422)
