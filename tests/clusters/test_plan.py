"""What one look leads to: a table of situations, then promises that hold in every situation there is."""

from itertools import product

import pytest

from clusters.engine.plan import Call, PartNow, Plan, Wish, plan
from clusters.states import CLUSTER, PART

YOUNG, OLD = 10.0, 10_000.0
NEVER = PartNow("base", "intended", phase="absent", absences=1)
STACK = PartNow("base", "exists", phase="ready", applied=1, existed=True, last_call="create", call_age=OLD)
NOT_ASKED = PartNow("cluster", "intended", phase="absent", absences=1)
HYPERPOD = PartNow("cluster", "exists", phase="ready", applied=1, existed=True, last_call="create", call_age=OLD)


def part(of: PartNow, **changes) -> PartNow:
    return PartNow(**{**of.__dict__, **changes})


def wish(state: str, **changes) -> Wish:
    return Wish(**{"state": state, "wanted": True, "generation": 1, "nodes_wanted": 4, "nodes_running": 4, **changes})


READY = {"proven": 1, "proofs_open": False}

SITUATIONS = {
    "an approved cluster begins with its base stack": (
        wish("approved", nodes_running=0),
        [NEVER, NOT_ASKED],
        "creating",
        Call("base", "create"),
    ),
    "the second part waits for the first": (
        wish("creating", nodes_running=0),
        [part(STACK, phase="busy", state="creating", existed=False), NOT_ASKED],
        "creating",
        None,
    ),
    "a complete base stack leads to the cluster itself": (
        wish("creating", nodes_running=0),
        [STACK, NOT_ASKED],
        "creating",
        Call("cluster", "create"),
    ),
    "created is not ready: nodes are still coming": (
        wish("creating", nodes_running=3),
        [STACK, HYPERPOD],
        "creating",
        None,
    ),
    "all nodes run but nothing is proven": (wish("creating"), [STACK, HYPERPOD], "creating", None),
    "proven is ready": (wish("creating", proofs_open=False), [STACK, HYPERPOD], "ready", None),
    "a proof that failed fails a new cluster": (
        wish("creating", proof_failed="The smoke job failed."),
        [STACK, HYPERPOD],
        "failed",
        None,
    ),
    "what was put back works as before and is not asked for again by itself": (
        wish("ready", generation=2, proven=2, proofs_open=False),
        [part(STACK, applied=2, put_back=True), part(HYPERPOD, applied=2)],
        "ready",
        None,
    ),
    "another generation tries again what was put back": (
        wish("ready", generation=3, proven=2),
        [part(STACK, applied=2, put_back=True, behind=True), part(HYPERPOD, applied=3)],
        "updating",
        Call("base", "update"),
    ),
    "a node that is missing degrades a proven cluster": (
        wish("ready", nodes_running=3, **READY),
        [STACK, HYPERPOD],
        "degraded",
        None,
    ),
    "a degraded cluster is ready again when its nodes are": (
        wish("degraded", **READY),
        [STACK, HYPERPOD],
        "ready",
        None,
    ),
    "a create without an answer is not repeated while absence proves nothing": (
        wish("creating", nodes_running=0),
        [STACK, part(NOT_ASKED, state="creating", last_call="create", call_age=YOUNG, absences=5)],
        "creating",
        None,
    ),
    "one look that finds nothing is not enough": (
        wish("creating", nodes_running=0),
        [STACK, part(NOT_ASKED, state="creating", last_call="create", call_age=OLD, absences=1)],
        "creating",
        None,
    ),
    "after the window and a second look it is asked for again": (
        wish("creating", nodes_running=0),
        [STACK, part(NOT_ASKED, state="creating", last_call="create", call_age=OLD, absences=2)],
        "creating",
        Call("cluster", "create"),
    ),
    "a vanished cluster is reported and not rebuilt": (
        wish("ready", nodes_running=0, **READY),
        [STACK, part(HYPERPOD, phase="absent", absences=2)],
        "degraded",
        None,
    ),
    "a vanished cluster is rebuilt when somebody asks": (
        wish("degraded", generation=2, nodes_running=0, **READY),
        [part(STACK, applied=2), part(HYPERPOD, phase="absent", absences=2)],
        "updating",
        Call("cluster", "create"),
    ),
    "a first look that misses a ready cluster changes nothing": (
        wish("ready", nodes_running=0, **READY),
        [STACK, part(HYPERPOD, phase="absent", absences=1)],
        "ready",
        None,
    ),
    "lost contact is never another state": (
        wish("ready", **READY),
        [STACK, part(HYPERPOD, phase=None, error="unclear", error_message="timed out")],
        "ready",
        None,
    ),
    "a failed create fails the cluster": (
        wish("creating", nodes_running=0),
        [part(STACK, phase="failed", state="creating", existed=False, reason="no AZ")],
        "failed",
        None,
    ),
    "without capacity it waits for a while": (
        wish("creating", nodes_running=0, tries=3),
        [STACK, part(HYPERPOD, phase="failed", state="creating", existed=False, short=True, call_age=300.0)],
        "creating",
        None,
    ),
    "and takes away what failed, to ask again": (
        wish("creating", nodes_running=0, tries=3),
        [STACK, part(HYPERPOD, phase="failed", state="failed", existed=False, short=True, tried=2, call_age=1201.0)],
        "creating",
        Call("cluster", "delete"),
    ),
    "each time it waits twice as long": (
        wish("creating", nodes_running=0, tries=3),
        [STACK, part(HYPERPOD, phase="failed", state="failed", existed=False, short=True, tried=2, call_age=1199.0)],
        "creating",
        None,
    ),
    "the last try that finds no capacity fails it": (
        wish("creating", nodes_running=0, tries=3),
        [STACK, part(HYPERPOD, phase="failed", state="failed", existed=False, short=True, tried=3, call_age=OLD)],
        "failed",
        None,
    ),
    "what ran once is not taken away because there is no capacity for more": (
        wish("updating", generation=2, tries=3, **READY),
        [part(STACK, applied=2), part(HYPERPOD, applied=2, phase="failed", short=True)],
        "degraded",
        None,
    ),
    "trying again deletes what failed first": (
        wish("failed", generation=2, nodes_running=0),
        [part(STACK, phase="failed", state="failed", existed=False)],
        "creating",
        Call("base", "delete"),
    ),
    "what was complete once is never deleted to be made anew": (
        wish("degraded", generation=2, **READY),
        [part(STACK, phase="failed", state="failed")],
        "degraded",
        None,
    ),
    "what is not ours is left alone": (
        wish("creating", nodes_running=0),
        [part(STACK, ours=False, existed=False, state="creating")],
        "failed",
        None,
    ),
    "a changed configuration is sent": (
        wish("ready", generation=2, **READY),
        [part(STACK, applied=2), part(HYPERPOD, behind=True)],
        "updating",
        Call("cluster", "update"),
    ),
    "a fleet that is to be stopped is told so": (
        wish("ready", generation=2, fleet_wanted="stopped", fleet_settled=1, nodes_wanted=1, **READY),
        [STACK, part(HYPERPOD, applied=2, fleet="RUNNING")],
        "updating",
        Call("cluster", "stop"),
    ),
    "a fleet on its way is waited for": (
        wish("updating", generation=2, fleet_wanted="stopped", fleet_settled=1, nodes_wanted=1, **READY),
        [STACK, part(HYPERPOD, applied=2, fleet="STOP_REQUESTED")],
        "updating",
        None,
    ),
    "a fleet on its way back is waited for before it is told the opposite": (
        wish("updating", generation=3, fleet_wanted="stopped", fleet_settled=1, nodes_wanted=1, **READY),
        [STACK, part(HYPERPOD, applied=3, fleet="STARTING")],
        "updating",
        None,
    ),
    "with a stopped fleet the head node alone makes it ready, and nothing is proven": (
        wish(
            "updating", generation=2, fleet_wanted="stopped", fleet_settled=1, nodes_wanted=1, nodes_running=1, proven=1
        ),
        [STACK, part(HYPERPOD, applied=2, fleet="STOPPED")],
        "ready",
        None,
    ),
    "a head node that is missing is missed with a stopped fleet too": (
        wish("ready", generation=2, fleet_wanted="stopped", fleet_settled=2, nodes_wanted=1, nodes_running=0, proven=1),
        [STACK, part(HYPERPOD, applied=2, fleet="STOPPED")],
        "degraded",
        None,
    ),
    "a fleet that is to run again is told so": (
        wish("ready", generation=3, fleet_settled=2, nodes_running=1, proven=1),
        [STACK, part(HYPERPOD, applied=3, fleet="STOPPED")],
        "updating",
        Call("cluster", "start"),
    ),
    "a fleet that started is awaited node by node": (
        wish("updating", generation=3, fleet_settled=2, nodes_running=2, proven=1),
        [STACK, part(HYPERPOD, applied=3, fleet="RUNNING")],
        "updating",
        None,
    ),
    "a fleet that somebody else stopped is told and left alone": (
        wish("ready", fleet_settled=1, nodes_running=1, **READY),
        [STACK, part(HYPERPOD, fleet="STOPPED")],
        "degraded",
        None,
    ),
    "a fleet that somebody else started is told and left alone": (
        wish("ready", generation=2, fleet_wanted="stopped", fleet_settled=2, nodes_wanted=1, proven=1),
        [STACK, part(HYPERPOD, applied=2, fleet="RUNNING")],
        "degraded",
        None,
    ),
    "a fleet that protects itself is told": (
        wish("ready", fleet_settled=1, **READY),
        [STACK, part(HYPERPOD, fleet="PROTECTED")],
        "degraded",
        None,
    ),
    "a fleet that protects itself is started when somebody asks": (
        wish("degraded", generation=2, fleet_settled=1, **READY),
        [STACK, part(HYPERPOD, applied=2, fleet="PROTECTED")],
        "updating",
        Call("cluster", "start"),
    ),
    "a cluster that is to go is deleted whatever its fleet does": (
        wish("ready", wanted=False, generation=3, fleet_wanted="stopped", fleet_settled=2, **READY),
        [STACK, part(HYPERPOD, fleet="RUNNING")],
        "deleting",
        Call("cluster", "delete"),
    ),
    "deleting begins with the last part": (
        wish("ready", wanted=False, generation=2, **READY),
        [STACK, HYPERPOD],
        "deleting",
        Call("cluster", "delete"),
    ),
    "the first part goes when the last one is gone": (
        wish("deleting", wanted=False, generation=2, **READY),
        [STACK, part(HYPERPOD, state="gone", phase="absent", absences=2, last_call="delete")],
        "deleting",
        Call("base", "delete"),
    ),
    "gone is believed at the second look after the window": (
        wish("deleting", wanted=False, generation=2, **READY),
        [
            part(STACK, state="deleting", phase="absent", absences=1, last_call="delete", call_age=OLD),
            part(HYPERPOD, state="gone", phase="absent", absences=3, last_call="delete"),
        ],
        "deleting",
        None,
    ),
    "deleted is the end": (
        wish("deleting", wanted=False, generation=2, **READY),
        [
            part(STACK, state="deleting", phase="absent", absences=2, last_call="delete", call_age=OLD),
            part(HYPERPOD, state="gone", phase="absent", absences=3, last_call="delete"),
        ],
        "deleted",
        None,
    ),
    "a delete that failed needs a person": (
        wish("deleting", wanted=False, generation=2, **READY),
        [
            part(STACK, phase="failed", state="deleting", last_call="delete", applied=2, call_age=OLD, deletes=3),
            part(HYPERPOD, state="gone", phase="absent", absences=3, last_call="delete"),
        ],
        "deleting",
        None,
    ),
    "a delete that failed is asked for again, some times": (
        wish("deleting", wanted=False, generation=2, **READY),
        [
            part(STACK, phase="failed", state="deleting", last_call="delete", applied=2, call_age=OLD, deletes=2),
            part(HYPERPOD, state="gone", phase="absent", absences=3, last_call="delete"),
        ],
        "deleting",
        Call("base", "delete"),
    ),
    "a delete that failed just now is waited for": (
        wish("deleting", wanted=False, generation=2, **READY),
        [
            part(STACK, phase="failed", state="deleting", last_call="delete", applied=2, call_age=YOUNG, deletes=1),
            part(HYPERPOD, state="gone", phase="absent", absences=3, last_call="delete"),
        ],
        "deleting",
        None,
    ),
    "an order to nodes is sent when everything is there": (
        wish("ready", order="It waits to be sent.", order_unsent=True, **READY),
        [STACK, HYPERPOD],
        "updating",
        Call("cluster", "order"),
    ),
    "an order that was sent is waited for, and short nodes are no trouble meanwhile": (
        wish("updating", order="1 of 2 nodes are through.", nodes_running=3, **READY),
        [STACK, HYPERPOD],
        "updating",
        None,
    ),
    "an update that somebody wants stopped is stopped where that can be done": (
        wish("updating", stop=True, generation=2, proven=1),
        [part(STACK, phase="busy", state="updating", stoppable=True, last_call="update"), HYPERPOD],
        "updating",
        Call("base", "cancel"),
    ),
    "what is not ours is not deleted": (
        wish("deleting", wanted=False, generation=2),
        [part(STACK, ours=False), part(HYPERPOD, ours=False)],
        "deleted",
        None,
    ),
}


@pytest.mark.parametrize("situation", SITUATIONS)
def test_situation(situation):
    wished, parts, state, call = SITUATIONS[situation]
    found = plan(wished, parts)
    assert (found.state, found.call) == (state, call)


def test_asking_for_proofs_begins_when_all_nodes_run():
    assert plan(wish("creating"), [STACK, HYPERPOD]).prove
    assert not plan(wish("creating", nodes_running=3), [STACK, HYPERPOD]).prove


def test_a_fleet_as_wished_is_written_down_and_another_is_not():
    stopped = {"generation": 2, "fleet_wanted": "stopped", "nodes_wanted": 1, "proven": 1}
    there = plan(wish("updating", **stopped), [STACK, part(HYPERPOD, applied=2, fleet="STOPPED")])
    assert there.fleet_settled and not there.prove and not there.needs_person
    for word in ("RUNNING", "STOPPING", "PROTECTED", "UNKNOWN"):
        assert not plan(wish("updating", **stopped), [STACK, part(HYPERPOD, applied=2, fleet=word)]).fleet_settled
    assert not plan(wish("ready", **READY), [STACK, HYPERPOD]).fleet_settled


def test_what_nobody_asked_of_a_fleet_needs_a_person():
    found = plan(wish("ready", fleet_settled=1, **READY), [STACK, part(HYPERPOD, fleet="STOPPED")])
    assert "STOPPED" in found.needs_person and found.call is None


def test_being_denied_needs_a_person_and_leaves_a_running_cluster_what_it_is():
    found = plan(wish("ready", **READY), [part(STACK, phase=None, error="denied", error_message="not authorised")])
    assert (found.state, found.needs_person, found.call) == ("ready", "not authorised", None)


def test_an_update_that_was_put_back_is_not_current_and_says_why():
    parts = [part(STACK, put_back=True, reason="Lustre: only more storage"), HYPERPOD]
    found = plan(wish("ready", **READY), parts)
    told = {condition.type: (condition.status, condition.sentence) for condition in found.conditions}
    assert told["Current"] == ("no", "Lustre: only more storage")
    assert told["Provisioned"][0] == told["Healthy"][0] == "yes"
    assert found.needs_person == "Lustre: only more storage"


STATES = sorted(set(CLUSTER) - {"requested", "deleted"})
PHASES = ["absent", "busy", "ready", "failed", "deleting", None]
PARTS = [
    PartNow(
        role="x",
        state=state,
        phase=phase,
        ours=ours,
        error="unclear" if phase is None else None,
        last_call=last,
        call_age=None if not last else age,
        absences=absences if phase == "absent" else 0,
        applied=applied,
        behind=behind,
        existed=existed,
    )
    for state, phase, ours, last, age, absences, applied, behind, existed in product(
        ["intended", "creating", "exists", "gone"],
        PHASES,
        [True, False],
        ["", "create", "delete"],
        [YOUNG, OLD],
        [1, 2],
        [0, 1, 2],
        [False, True],
        [False, True],
    )
]
WISHES = [
    Wish(state, wanted, generation, proven, 4, running, open_proofs)
    for state, wanted, generation, proven, running, open_proofs in product(
        STATES, [True, False], [1, 2], [0, 1], [0, 4], [True, False]
    )
    if not (state in ("ready", "updating") and proven == 0)
    and not (state in ("approved", "creating") and proven)
    and not (state == "deleting" and wanted)
]


def everything():
    for wished in WISHES:
        for one in PARTS[:: 7 if wished.wanted else 11]:  # coprime strides visit every kind of part many times
            yield wished, one, plan(wished, [part(STACK, role="a"), part(one, role="b")])


def test_promises_hold_everywhere():
    seen = 0
    for wished, one, found in everything():
        seen += 1
        context = f"{wished} {one} -> {found}"
        assert isinstance(found, Plan) and found.again > 0, context
        assert found.state == wished.state or found.state in CLUSTER[wished.state], context
        if not wished.wanted:
            assert found.call is None or found.call.verb == "delete", context
        if found.call and found.call.role == "b":
            assert one.error is None and one.phase is not None, context
            assert one.ours or one.phase == "absent", context
            if one.phase == "absent":
                assert not one.last_call or (one.call_age == OLD and one.absences >= 2), context
            if found.call.verb == "delete" and wished.wanted:
                assert not one.existed, context
        if one.error:
            assert found.call is None and found.state == wished.state and found.lost, context
        if found.state == "ready" and wished.state != "ready":
            assert one.phase == "ready" and wished.nodes_running >= 4, context
            assert not wished.proofs_open or wished.proven >= wished.generation, context
    assert seen > 20_000


def test_wanted_and_behind_is_never_idle():
    for wished, one, found in everything():
        if wished.wanted and one.phase == "ready" and one.ours and one.behind and not one.error:
            assert found.call == Call("b", "update"), f"{wished} {one} -> {found}"


def test_every_planned_part_state_can_be_reached_or_is_ignored():
    words = {word for _, _, found in everything() for word in found.parts.values()}
    assert words <= set(PART)


HELD = {"held": "It does not fit."}
BEHIND = {**READY, "generation": 2}


@pytest.mark.parametrize(
    ("now", "parts", "state", "needs"),
    [
        (wish("approved", nodes_running=0, **HELD), [NEVER, NOT_ASKED], "approved", ""),
        (wish("approved", nodes_running=0, **HELD, held_for_good=True), [NEVER, NOT_ASKED], "failed", "It does not fit."),
        (wish("ready", **BEHIND, **HELD), [STACK, part(HYPERPOD, behind=True)], "ready", ""),
        (wish("ready", **BEHIND, **HELD, held_for_good=True), [STACK, part(HYPERPOD, behind=True)], "degraded", "It does not fit."),
        # A new try clears away what failed before, and waits with that too.
        (wish("failed", generation=2, nodes_running=0, **HELD), [part(STACK, phase="failed", existed=False), NOT_ASKED], "failed", ""),
    ],
)  # fmt: skip
def test_nothing_is_made_changed_or_cleared_away_before_the_preflight_lets_it(now, parts, state, needs):
    assert plan(Wish(**{**now.__dict__, "held": "", "held_for_good": False}), parts).call is not None
    found = plan(now, parts)
    assert (found.call, found.state, found.needs_person, found.why) == (None, state, needs, "It does not fit.")


def test_what_is_to_go_goes_whatever_the_preflight_says():
    found = plan(wish("ready", wanted=False, **READY, **HELD, held_for_good=True), [STACK, HYPERPOD])
    assert found.state == "deleting" or found.call is not None
