"""What a scheduler's word about a job leads to."""

from datetime import UTC, datetime

import pytest

from clusters.engine.follow import (
    FORGOTTEN_LOOKS,
    Followed,
    JobNow,
    follow,
    recounted,
    together,
    whole_or_not_running,
)
from clusters.launchers import JobSeen
from clusters.states import JOB, JOB_ENDS

WINDOW = 300.0


def seen(state, **more):
    return JobSeen(**{"name": "n", "external_id": "7", "state": state, "engine_state": state.upper(), **more})


TABLE = {
    "a new job is submitted": (JobNow("requested", absences=1), None, Followed("requested", "submit")),
    "a submission without an answer is looked for first": (
        JobNow("requested", absences=1, call_age=5),
        None,
        Followed("requested"),
    ),
    "after the window it is asked for again under its name": (
        JobNow("requested", absences=FORGOTTEN_LOOKS, call_age=301),
        None,
        Followed("requested", "submit"),
    ),
    "found after a lost answer it is adopted": (
        JobNow("requested", call_age=5),
        seen("queued", reason="Resources"),
        Followed("queued", why="Resources"),
    ),
    "running is running": (JobNow("queued", "7"), seen("running"), Followed("running")),
    "a failure keeps the scheduler's reason": (
        JobNow("running", "7"),
        seen("failed", reason="NodeFail"),
        Followed("failed", why="NodeFail"),
    ),
    "a cancel is asked for while it runs": (
        JobNow("running", "7", cancel_wished=True),
        seen("running"),
        Followed("running", "cancel"),
    ),
    "a cancel just asked for is waited for": (
        JobNow("running", "7", cancel_wished=True, call_age=5),
        seen("running"),
        Followed("running"),
    ),
    "a cancel before submission submits nothing": (
        JobNow("requested", cancel_wished=True),
        None,
        Followed("cancelled", why="Cancelled before it was submitted."),
    ),
    "one look without it means nothing": (JobNow("running", "7", absences=1, call_age=4000), None, Followed("running")),
    "forgotten after the window is said as such": (
        JobNow("running", "7", absences=FORGOTTEN_LOOKS, call_age=4000),
        None,
        Followed("failed", why="The scheduler no longer knows this job; how it ended is not known."),
    ),
    "a cancel wished after the last call is asked for at once": (
        JobNow("running", "7", cancel_wished=True, cancel_age=2, call_age=5),
        seen("running"),
        Followed("running", "cancel"),
    ),
    "a hold is asked for while it waits": (
        JobNow("queued", "7", wish="hold", wish_age=1, call_age=9),
        seen("queued"),
        Followed("queued", "hold"),
    ),
    "a hold just asked for is waited for": (
        JobNow("queued", "7", wish="hold", wish_age=9, call_age=1),
        seen("queued"),
        Followed("queued"),
    ),
    "a hold is confirmed by the scheduler": (
        JobNow("queued", "7", wish="hold", wish_age=9, call_age=1),
        seen("queued", held=True),
        Followed("queued", wish_done=True),
    ),
    "a hold that came too late is over": (
        JobNow("queued", "7", wish="hold", wish_age=9),
        seen("running"),
        Followed("running", wish_done=True),
    ),
    "a release is asked for while it is held": (
        JobNow("queued", "7", wish="release", wish_age=1, call_age=60),
        seen("queued", held=True),
        Followed("queued", "release"),
    ),
    "a requeue is confirmed by one restart more": (
        JobNow("running", "7", wish="requeue", wish_age=9, wish_restarts=1, call_age=1),
        seen("running", restarts=2),
        Followed("running", wish_done=True),
    ),
    "a requeue is not confirmed by restarts from before": (
        JobNow("running", "7", wish="requeue", wish_age=9, wish_restarts=2, call_age=1),
        seen("running", restarts=2),
        Followed("running"),
    ),
    "a cancel goes before every other wish": (
        JobNow("running", "7", cancel_wished=True, wish="requeue", wish_age=9),
        seen("running"),
        Followed("running", "cancel"),
    ),
    "within its budget it begins again": (
        JobNow("running", "7", budget=3),
        seen("recovering", restarts=3),
        Followed("recovering"),
    ),
    "over its budget it is held": (
        JobNow("running", "7", budget=3),
        seen("recovering", restarts=4),
        Followed("recovering", "hold", over_budget=True),
    ),
    "restarts that do not count any more are not counted": (
        JobNow("recovering", "7", budget=3, forgiven=1),
        seen("recovering", restarts=4),
        Followed("recovering"),
    ),
    "over its budget and running it is left alone": (
        JobNow("running", "7", budget=0),
        seen("running", restarts=9),
        Followed("running"),
    ),
    "silence is said": (
        JobNow("running", "7", idle_seconds=600, idle_limit=600),
        seen("running"),
        Followed("running", idle=True),
    ),
    "silence that nobody measured is none": (
        JobNow("running", "7", idle_limit=600),
        seen("running"),
        Followed("running"),
    ),
    "what waits for a job without an id is not submitted": (
        JobNow("requested", absences=1, waits=True),
        None,
        Followed("requested"),
    ),
    "an end is final": (JobNow("succeeded", "7"), seen("running"), Followed("succeeded")),
}


@pytest.mark.parametrize("situation", TABLE)
def test_situation(situation):
    job, told, wanted = TABLE[situation]
    assert follow(job, told, consistency=WINDOW) == wanted


@pytest.mark.parametrize("was", sorted(JOB))
@pytest.mark.parametrize("told", ["queued", "starting", "running", "recovering", *sorted(JOB_ENDS)])
def test_what_is_followed_can_always_be_moved_to(was, told):
    found = follow(JobNow(was, "7"), seen(told), consistency=WINDOW)
    assert found.state == was or found.state in JOB[was]
    assert found.call in ("", "cancel")


@pytest.mark.parametrize(
    ("was", "told", "nodes", "state"),
    [
        ("queued", ("a", "b", "c"), 4, "starting"),
        ("running", ("a", "b", "c"), 4, "recovering"),
        ("recovering", ("a",), 4, "recovering"),
        ("queued", ("a", "b", "c", "d"), 4, "running"),
        ("queued", (), 4, "running"),  # none is told: nothing is known of its world
    ],
)
def test_a_job_whose_world_is_short_does_not_run(was, told, nodes, state):
    found = whole_or_not_running(seen("running", nodes=told), nodes, was)
    assert found.state == state
    assert state == "running" or found.reason == f"{len(told)} of {nodes} nodes are there."
    assert whole_or_not_running(None, nodes, was) is None
    assert whole_or_not_running(seen("queued", nodes=("a",)), nodes, was).state == "queued"


T0, T1 = datetime(2026, 11, 30, tzinfo=UTC), datetime(2026, 11, 30, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("state", "restarts", "started", "saw", "began", "count", "shown"),
    [
        ("queued", 0, None, "running", T0, 0, "running"),
        ("running", 0, T0, "running", T0, 0, "running"),
        ("running", 0, T0, "running", T1, 1, "running"),  # it was whole before and is whole again: we missed the rest
        ("running", 0, T0, "recovering", None, 1, "recovering"),
        ("running", 0, T0, "starting", None, 1, "recovering"),  # a world that is short does not run
        ("recovering", 1, None, "queued", None, 1, "recovering"),
        ("recovering", 1, None, "running", T1, 1, "running"),
        ("running", 1, T0, "failed", T1, 1, "failed"),
        ("starting", 0, None, "queued", None, 0, "queued"),
    ],
)
def test_restarts_that_the_engine_does_not_count_are_counted_by_us(state, restarts, started, saw, began, count, shown):
    seen = JobSeen("job", "ptj/job", saw, "Word", restarts=None, started_at=began)
    told = recounted(seen, state, restarts, started)
    assert (told.restarts, told.state) == (count, shown)


def test_what_the_engine_counts_is_left_alone_and_a_hold_is_no_restart():
    counted = JobSeen("job", "1", "queued", "PENDING", restarts=3)
    assert recounted(counted, "running", 0, T0) is counted
    held = JobSeen("job", "ptj/job", "queued", "Suspended", restarts=None, held=True)
    assert (recounted(held, "running", 0, T0).restarts, recounted(held, "running", 0, T0).state) == (0, "queued")


@pytest.mark.parametrize(
    ("tasks", "state"),
    [
        (["succeeded", "running", "queued"], "running"),
        (["succeeded", "queued"], "queued"),
        (["succeeded", "failed"], "failed"),
        (["cancelled", "succeeded"], "cancelled"),
        (["succeeded", "succeeded"], "succeeded"),
    ],
)
def test_the_tasks_of_an_array_are_told_as_one(tasks, state):
    told = together([seen(word, array_task=str(number)) for number, word in enumerate(tasks)])
    assert list(told) == ["n"]
    assert (told["n"].state, told["n"].external_id) == (state, "7")


def test_other_names_are_other_jobs():
    assert set(together([seen("running"), seen("running", name="m")])) == {"n", "m"}
