"""Which checkpoint a log speaks of last, in the words of the frameworks that write it."""

import pytest

from clusters.checkpoints import last_saved


@pytest.mark.parametrize(
    ("log", "step"),
    [
        ("  successfully saved checkpoint from iteration    4150 to /fsx/checkpoints", 4150),
        ("  successfully saved checkpoint from iteration 50 to x\nstep 60\nstep 70", 50),
        ("successfully saved checkpoint from iteration 50\nsuccessfully saved checkpoint from iteration 100", 100),
        ("[Torch] Saved /fsx/ckpt/global_step1200/mp_rank_00_model_states.pt.", 1200),
        ("Saving model checkpoint to /fsx/out/checkpoint-800", 800),
        ("Finished saving the checkpoint (or staging if async is enabled) in 3.1 seconds, step 500", 500),
        ("saving checkpoint at iteration 90", None),  # begun, and not yet there
        ("step 1\nstep 2", None),
        ("", None),
    ],
)
def test_the_last_saved_checkpoint_is_read_from_the_log(log: str, step: int | None) -> None:
    assert last_saved(log) == step
