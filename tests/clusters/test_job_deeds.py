"""What may be asked of a job in which state: the whole table, and a sentence for whatever may not."""

import pytest

from clusters.jobs.deeds import DEEDS, POSSIBLE, Standing, deeds, refusal
from clusters.states import JOB, JOB_ENDS


def possible(now: Standing) -> set[str]:
    return {deed for deed, refused in deeds(now).items() if refused is None}


@pytest.mark.parametrize("state", sorted(JOB))
def test_every_state_knows_its_deeds(state):
    wanted = set(POSSIBLE[state]) - {"release"}  # which only what is held can be
    assert possible(Standing(state)) == wanted
    for deed in set(DEEDS) - wanted:
        refused = refusal(Standing(state), deed)
        assert refused is not None and refused.sentence.endswith(".")


@pytest.mark.parametrize("state", sorted(JOB_ENDS))
def test_nothing_changes_what_has_ended(state):
    assert possible(Standing(state, held=True, wish="hold")) == {"resubmit"}


@pytest.mark.parametrize(
    ("now", "may"),
    [
        (Standing("queued", held=True), {"cancel", "release"}),
        (Standing("queued", wish="hold"), {"cancel"}),
        (Standing("running", wish="requeue"), {"cancel"}),
        (Standing("running", cancel_wished=True), set()),
        (Standing("running", proof=True), {"cancel"}),
        (Standing("failed", proof=True), set()),
    ],
)
def test_what_is_open_narrows_it(now, may):
    assert possible(now) == may
