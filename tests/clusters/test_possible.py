"""What may be done to a cluster, over every status that an engine knows: by the engines' table, and never without a way on."""

from dataclasses import replace

import pytest

from clusters import allowed, possible, showing, states
from clusters.models import Cluster, ExternalObject
from clusters.possible import PartNow, Situation
from clusters.providers import NO_CAPACITY

READY = Situation("train", "ready", parts=(PartNow("base", "stack", "CREATE_COMPLETE"), PartNow("cluster", "hyperpod", "InService")))  # fmt: skip
SLURM_ON_EC2 = replace(READY, orchestrator="parallelcluster", fleet="RUNNING", parts=(PartNow("base", "stack", "CREATE_COMPLETE"), PartNow("cluster", "parallelcluster", "UPDATE_COMPLETE, fleet RUNNING")))  # fmt: skip


def with_status(kind: str, status: str, **more: object) -> Situation:
    of = READY if kind in ("stack", "hyperpod") else SLURM_ON_EC2
    role = "base" if kind == "stack" else "cluster"
    parts = tuple(PartNow(role, kind, status) if part.role == role else part for part in of.parts)
    return replace(of, parts=parts, **more)


def may(now: Situation) -> set[str]:
    return {deed for deed, refused in possible.deeds(now).items() if refused is None}


EVERY = [(kind, status) for kind, table in allowed.PARTS.items() for status in table]


@pytest.mark.parametrize(("kind", "status"), EVERY)
def test_what_is_offered_is_what_the_engine_takes(kind, status):
    now, word = with_status(kind, status), allowed.PARTS[kind][status]
    offered = may(now)
    assert ("continue" in offered) == ("continue" in word.may)
    assert ("rollback" in offered) == ("rollback" in word.may)
    if word.meaning == "broken":
        assert ("change" in offered) == ("update" in word.may)
    if word.meaning == "working":
        assert "change" in offered, "a wish waits with the engine"
        if kind == "hyperpod":
            assert not offered & {"order", "software"}, "an order does not"


@pytest.mark.parametrize(("kind", "status"), EVERY)
@pytest.mark.parametrize("state", states.CLUSTER)
def test_there_is_always_a_way_on_and_a_refusal_says_what_to_do(kind, status, state):
    now = with_status(kind, status, state=state)
    assert ("look_again" in may(now)) == (state == "deleted")
    if state != "deleted":
        assert "retire" in may(now)
        assert not may(replace(now, wanted=False)) & {"retire", "change", "continue", "rollback", "launch"}
    for refused in possible.deeds(now).values():
        assert refused is None or (refused.code and len(refused.sentence) > 20 and "%(" not in refused.sentence)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ("UPDATE_ROLLBACK_FAILED", "Go on with the rollback first"),
        ("CREATE_FAILED", "Roll it back first"),
        ("ROLLBACK_COMPLETE", "can only be deleted"),
    ],
)
def test_a_part_that_stopped_names_its_way_out(status, words):
    refused = possible.refusal(with_status("stack", status), "change")
    assert refused and words in refused.sentence and status in refused.sentence


def test_what_never_came_to_be_is_made_anew_whatever_state_it_failed_in():
    failed = replace(READY, state="failed", parts=(PartNow("base", "stack", "ROLLBACK_COMPLETE", existed=False),))
    assert {"change", "retry", "retire"} <= may(failed)


@pytest.mark.parametrize("kind", ["create", "change", "software", "reboot", "replace", "remove", "delete", "continue"])
def test_one_thing_at_a_time_and_what_can_be_given_up(kind):
    held = replace(READY, held=kind, untouched=False)
    for deed in possible.HOLDING:
        refused = possible.refusal(held, deed)
        assert refused is not None
    assert ("give_up" in may(held)) is False
    assert ("give_up" in may(replace(held, waiting=True))) == (kind != "create")
    assert ("give_up" in may(replace(held, denied=True))) == (kind not in ("create", "delete"))
    assert ("give_up" in may(replace(held, untouched=True))) == (kind == "change")


def test_a_stack_in_the_middle_of_an_update_can_be_stopped_and_hyperpod_cannot():
    assert "give_up" in may(with_status("stack", "UPDATE_IN_PROGRESS", held="change", untouched=False))
    assert "give_up" not in may(with_status("hyperpod", "Updating", held="change", untouched=False))


def test_a_configuration_that_cannot_be_read_leaves_what_needs_none():
    stopped = with_status("stack", "UPDATE_ROLLBACK_FAILED", unreadable="no such architecture")
    assert may(stopped) == {"launch", "retire", "continue"}
    refused = possible.refusal(stopped, "change")
    assert refused and refused.status == 409 and "no such architecture" in refused.sentence


@pytest.mark.parametrize("status", allowed.FILE_SYSTEM)
def test_storage_is_changed_where_fsx_takes_it(status):
    refused = possible.of_file_system("/fsx", status)
    assert (refused is None) == (status in ("AVAILABLE", "MISCONFIGURED"))
    assert refused is None or (status in refused.sentence and "Leave the storage as it is" in refused.sentence)


@pytest.mark.parametrize("status", allowed.HYPERPOD_NODE)
def test_a_node_is_ordered_where_hyperpod_takes_it(status):
    refused = possible.of_node("train-workers-1", status)
    assert (refused is None) == (status in ("Running", "Failure"))
    assert possible.of_node("train-workers-1", "SomethingNew") is None


@pytest.mark.parametrize("word", allowed.FLEET)
def test_a_fleet_is_moved_by_every_word_but_the_one_that_says_nothing(word):
    now = replace(SLURM_ON_EC2, fleet=word)
    assert ("stop_fleet" in may(now)) == (word != "UNKNOWN")
    assert ("launch" in may(now)) == (word not in ("STOP_REQUESTED", "STOPPING", "STOPPED"))
    assert not may(replace(READY, fleet="")) & {"stop_fleet", "start_fleet"}


SHORT = "We currently do not have sufficient capacity to launch new ml compute instances. Please try again later."
LIMIT = (
    "The account-level service limit 'ml.p5.48xlarge for cluster usage' is 16 Instances, with current utilization of 4."
)


@pytest.mark.parametrize(
    ("state", "needs", "fits", "reason", "headline", "advice"),
    [
        ("failed", "", "", SHORT, "has no room", "another zone"),
        ("creating", "", SHORT, "", "has no room", "asks again by itself"),
        ("ready", LIMIT, LIMIT, "", "may not have so many", "higher quota"),
        ("degraded", "The stack stopped.", "", "", "A person has to", ""),
        ("failed", "", "", "no such image", "A person has to", ""),
    ],
)
def test_a_failure_reads_as_a_sentence_and_says_what_to_do_next(state, needs, fits, reason, headline, advice):
    conditions = [{"type": "Fits", "status": "no", "sentence": fits}] if fits else []
    row = Cluster(name="train", state=state, needs_person=needs, conditions=conditions)
    parts = [ExternalObject(role="cluster", state="failed", reason=reason)] if reason else []
    told = showing.trouble(row, parts)
    assert told and headline in str(told.headline) and (needs or fits or reason) == told.told
    assert advice in str(told.advice) and told.waits == (state == "creating")


def test_what_goes_well_has_no_trouble_and_what_goes_away_only_what_needs_a_person():
    assert showing.trouble(Cluster(state="ready", conditions=[{"type": "Fits", "status": "yes"}]), []) is None
    gone = Cluster(state="deleting", wanted=False, conditions=[{"type": "Fits", "status": "no", "sentence": SHORT}])
    assert showing.trouble(gone, []) is None


@pytest.mark.parametrize(
    ("words", "none"),
    [
        (SHORT, True),
        ("InsufficientInstanceCapacity: We currently do not have sufficient p5.48xlarge capacity in the zone.", True),
        ("Insufficient capacity for the requested instance type", True),
        ("There is no Spot capacity available that matches your request.", True),
        ("Storage capacity can only be increased; it is 4800 GiB and 1200 GiB were asked for.", False),
        ("Storage capacity must be a multiple of 1200.", False),
        (LIMIT, False),
    ],
)
def test_a_file_systems_capacity_is_no_want_of_machines(words, none):
    assert bool(NO_CAPACITY.search(words)) == none
