"""Checkpoints, ranks, hosts and faults in the words of the programs that print them.

Lines follow Megatron-LM's and DeepSpeed's checkpointing, NeMo's asynchronous save, orbax, torchtitan, Hugging Face's Trainer,
PyTorch's `ProcessGroupNCCL`, the NVIDIA driver's kernel messages (NVRM Xid) and `srun`.
"""

from datetime import UTC, datetime, timedelta

import pytest

from clusters.jobs.logs import trouble
from clusters.jobs.logs.reading import Carry, Line, read

AT = datetime(2026, 11, 30, 12, tzinfo=UTC)


def told(*texts: str, carry: Carry | None = None):
    return read([Line(AT + timedelta(seconds=index), text) for index, text in enumerate(texts)], carry)


@pytest.mark.parametrize(
    ("log", "step", "path"),
    [
        ("  successfully saved checkpoint from iteration    4150 to /fsx/ckpt [ t 1/2, p 1/4 ]", 4150, "/fsx/ckpt"),
        ("  successfully saved checkpoint from iteration 50 to /x\nstep=60 loss=1\nstep=70 loss=1", 50, "/x"),
        ("successfully saved checkpoint from iteration 50\nsuccessfully saved checkpoint from iteration 100", 100, ""),
        ("[Torch] Saved /fsx/global_step1200/mp_rank_00_model_states.pt.", 1200,
         "/fsx/global_step1200/mp_rank_00_model_states.pt"),
        ("[INFO] [Torch] Checkpoint global_step10 is ready now!", 10, "global_step10"),
        ("Async checkpoint save for step 500 (/ckpt/step=499.ckpt) finalized successfully.", 500, "/ckpt/step=499.ckpt"),
        ("Finished saving checkpoint (finalized tmp dir) to `/fsx/run/checkpoints/300`.", 300, "/fsx/run/checkpoints/300"),
        ("[titan] step: 500  loss: 2.0\n[titan] Finished saving the checkpoint in 3.1 seconds.", 500, ""),
        ("Finished saving the checkpoint (or staging if async is enabled) in 3.1 seconds, step 500", 500, ""),
        # Begun, and the loop went on after it, which waits for the end of a save.
        ("Saving model checkpoint to /out/checkpoint-800\n 81%|████ | 810/1000 [02:00<14:40]", 800, "/out/checkpoint-800"),
        ("Saving checkpoint at /ck/10\niteration: 11 / 50 | lm_loss: 6.2", 10, "/ck/10"),
    ],
)  # fmt: skip
def test_a_saved_checkpoint_is_read(log, step, path):
    found = told(*log.splitlines()).saved
    assert (found.step, found.path) == (step, path)


@pytest.mark.parametrize(
    "log",
    [
        "saving checkpoint at iteration 90 to /fsx/ckpt in torch_dist format",
        "Saving model checkpoint to /out/checkpoint-800",
        "Saving checkpoint at /ck/10\niteration: 10 / 50 | lm_loss: 6.2",
        "[Torch] Saving /fsx/global_step1200/mp_rank_00_model_states.pt...",
        "[titan] Saving the checkpoint (or staging if async is enabled).",
        "Global Checkpoint Save : Rank: 0 : Iteration: 99 : Start time: 1.0",
        "step=1 loss=2",
    ],
)
def test_a_checkpoint_that_has_only_begun_is_none(log):
    assert told(*log.splitlines()).saved is None


def test_a_save_that_began_in_one_stretch_is_complete_in_the_next():
    first = told("Saving model checkpoint to /out/checkpoint-800")
    second = told(" 90%|████ | 900/1000 [02:00<14:40]", carry=Carry.of(first.carry.kept()))
    assert second.saved.step == 800


@pytest.mark.parametrize(
    ("line", "step"),
    [
        ("  successfully loaded checkpoint from /fsx/ckpt [ t 1/2, p 1/4 ] at iteration 4150", 4150),
        ("  Continuing training from global step 800", 800),
        ("[titan] Loading the checkpoint from outputs/checkpoint/step-500.", 500),
        ("[titan] Training starts at step 501", 500),
        ("Restored all states from the checkpoint at /ckpt/m-step=1000-last.ckpt", 1000),
        ("[Torch] Loaded checkpoint from /fsx/global_step1200/mp_rank_00_model_states.pt.", 1200),
        ("Resuming from checkpoint: /out/checkpoint-500", 500),
    ],
)
def test_a_run_that_goes_on_from_a_checkpoint_says_so(line, step):
    assert told(line).resumed.step == step


WATCHDOG = (
    "[rank12]:[E1130 20:27:21.426415540 ProcessGroupNCCL.cpp:629] [Rank 12] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=1, OpType=BROADCAST, NumelIn=131072000, Timeout(ms)=600000) ran for 600081 milliseconds before timing out."
)


@pytest.mark.parametrize(
    ("line", "kind", "rank", "host", "xid"),
    [
        (WATCHDOG, "communicator", 12, "", None),
        ("Nov 30 12:00:00 ip-10-0-1-2 kernel: NVRM: Xid (PCI:0000:53:00): 79, pid=4711, GPU has fallen off the bus.",
         "xid", None, "ip-10-0-1-2", 79),
        ("srun: error: ip-10-0-1-7: tasks 56-63: Exited with exit code 1", "lost_process", None, "ip-10-0-1-7", None),
        ("12: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", "out_of_memory", 12, "", None),
        ("ip-10-0-1-3:123:456 [3] NCCL WARN socketProgress: Connection closed by remote peer", "communicator", None,
         "ip-10-0-1-3", None),
        ("[rank3]: RuntimeError: CUDA error: an illegal memory access was encountered", "device", 3, "", None),
        ("Traceback (most recent call last):", "exception", None, "", None),
        ("ValueError: bad shape", "exception", None, "", None),
    ],
)  # fmt: skip
def test_a_fault_is_named_with_its_rank_host_and_number(line, kind, rank, host, xid):
    found = trouble.fault(line)
    assert (found.kind, found.rank, found.host, found.xid) == (kind, rank, host, xid)


@pytest.mark.parametrize("line", ["step=1 loss=2.0", "0 errors", "ip-1:1:2 [0] NCCL INFO Connected all rings", ""])
def test_a_good_line_is_no_fault(line):
    assert trouble.fault(line) is None


def test_the_time_out_in_use_is_what_the_watchdog_names():
    assert told(WATCHDOG).timeout_seconds == 600


def test_the_last_that_was_heard_of_each_rank_is_kept():
    found = told("0: first", "1: first", "[rank1]: second", "[Rank 2] third", "ip-10-0-1-2:11:12 [4] NCCL INFO ring")
    assert {rank: heard.text for rank, heard in found.ranks.items()} == {
        0: "0: first",
        1: "[rank1]: second",
        2: "[Rank 2] third",
    }
    assert list(found.hosts) == ["ip-10-0-1-2"]
