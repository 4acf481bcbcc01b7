"""When the capacity under nodes ends: what is shown, and what is refused shortly before (cluster failures 7 and 9)."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from clusters import endings
from clusters.models import Reservation
from tenants.web.problems import Refused

NOW = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)
GROUPS = [
    {"name": "head", "training_plan": "", "reservation": ""},
    {"name": "block", "training_plan": "", "reservation": "cr-1"},
    {"name": "odcr", "reservation": "cr-2"},
    {"name": "plan", "training_plan": "tp-1"},
]


def found(minutes: int = 600) -> list[endings.Ending]:
    rows: list[Any] = [
        SimpleNamespace(external_id=name, kind=kind, ends_at=NOW + timedelta(minutes=minutes))
        for name, kind in (
            ("cr-1", "capacity_block"),
            ("cr-2", "odcr"),
            ("tp-1", "training_plan"),
            ("tp-9", "training_plan"),
        )
    ]
    return endings.endings(GROUPS, rows)


def test_each_group_has_the_end_of_its_own_capacity() -> None:
    told = {one.name: (one.groups, one.taken_away, one.minutes_left(NOW)) for one in found()}
    assert told == {"cr-1": (("block",), True, 570), "cr-2": (("odcr",), False, 600), "tp-1": (("plan",), True, 570)}


@pytest.mark.parametrize(
    ("partition", "minutes", "code"),
    [
        ("block", 570, None),
        ("block", 571, "past_the_end"),
        ("plan", 571, "past_the_end"),
        ("odcr", 6000, None),  # its nodes stay, at another price
        ("head", 6000, None),
        ("block", None, None),
    ],
)
def test_row_7_a_job_that_passes_the_end_is_refused_with_the_one_number_that_fits(
    partition: str, minutes: int | None, code: str | None
) -> None:
    if code is None:
        endings.refuse_past_the_end(found(), partition, minutes, NOW)
        return
    with pytest.raises(Refused) as refused:
        endings.refuse_past_the_end(found(), partition, minutes, NOW)
    assert (refused.value.code, refused.value.facts["allowed"]) == (code, 570)
    assert f"{minutes} minutes" in refused.value.sentence and "Ask for at most 570 minutes" in refused.value.sentence


@pytest.mark.parametrize(("minutes", "ends"), [(31, False), (30, True), (1, True), (-5, True)])
def test_row_9_in_the_last_half_hour_nothing_is_replaced_and_no_job_is_taken(minutes: int, ends: bool) -> None:
    for group in ("block", "plan"):
        for refuse in (
            lambda group=group: endings.refuse_while_it_ends(found(minutes), ["head", group], NOW),
            lambda group=group: endings.refuse_past_the_end(found(minutes), group, None, NOW),
        ):
            if not ends:
                refuse()
                continue
            with pytest.raises(Refused, match="is ending") as refused:
                refuse()
            assert refused.value.code == "capacity_ending"
    endings.refuse_while_it_ends(found(minutes), ["head", "odcr"], NOW)
    assert Reservation.Kind.ODCR not in endings.TAKEN_AWAY
