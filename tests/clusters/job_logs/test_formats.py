"""Training steps in the words of the frameworks that print them.

The lines follow what each project prints, with values of our own: Megatron-LM `training_log`; NeMo 2's progress printer and
NeMo 1's bar; torchtitan `MetricsProcessor`; DeepSpeed `ThroughputTimer`, `log_dist` and the pipeline engine; Nanotron
`train_step_logs`; NeuronX Distributed's `Logger.log`; the FSDP samples' `logger.info`; Hugging Face `ProgressCallback`;
MaxText `metric_logger`.
"""

import math
from datetime import UTC, datetime

import pytest

from clusters.jobs.logs.formats import stepped
from clusters.jobs.logs.reading import Carry, Line, read

AT = datetime(2026, 11, 30, 12, tzinfo=UTC)
MEGATRON = (
    " [2026-11-30 12:00:00] iteration      100/  500000 | consumed samples:        25600 |"
    " elapsed time per iteration (ms): 5120.0 | throughput per GPU (TFLOP/s/GPU): 412.3 | learning rate: 1.500000E-05 |"
    " global batch size:   256 | lm loss: 8.123456E+00 | loss scale: 1.0 | grad norm: 2.345 |"
    " number of skipped iterations:   0 | number of nan iterations:   0 |"
)
NANOTRON = (
    "11/30/2026 12:00:00 [INFO|DP=0|PP=0|TP=0|ip-10-0-1-2]: iteration: 10 / 50 | consumed_tokens: 10.5M |"
    " elapsed_time_per_iteration_ms: 780 | tokens_per_sec: 1.34M | tokens_per_sec_per_gpu: 168K |"
    " global_batch_size: 1.02K | lm_loss: 6.21 | lr: 0.0003 | model_tflops_per_gpu: 456 | grad_norm: 1.2"
)
TITAN = (
    "[rank0]:\x1b[31m[titan] 2026-11-30 12:00:00,132 - root - INFO - \x1b[36mstep: 10  \x1b[32mloss:  7.1234  "
    "\x1b[38;2;180;60;0mgrad_norm:  3.1000  \x1b[33mmemory: 50.12GiB(63.4%)  \x1b[34mtps: 6,123  \x1b[36mtflops: 310.12  "
    "\x1b[35mmfu: 31.35%\x1b[39m"
)
NEMO = (
    "Training epoch 0, iteration 9/99 | lr: 0.0003 | global_batch_size: 512 | global_step: 9 | reduced_train_loss: 10.33"
    " | train_step_timing in s: 4 | consumed_samples: 5120"
)


@pytest.mark.parametrize(
    ("text", "name", "step", "expected"),
    [
        (
            MEGATRON,
            "Megatron-LM",
            100,
            {"loss": 8.123456, "tflops": 412.3, "learning_rate": 1.5e-5, "grad_norm": 2.345, "step_seconds": 5.12,
             "samples_per_second": 50.0, "consumed_samples": 25600},
        ),
        (
            "iteration 20/ 90 | consumed samples: 40 | elapsed time per iteration (ms): 500.0 | learning rate: 1E-04 |"
            " global batch size: 2 | lm loss: 2.5E+00 | grad norm: 1.0 | samples per second: 4.0 |"
            " tokens per gpu per second (tgs): 1024.5 | TFLOPs: 99.50 |",
            "Megatron-LM",
            20,
            {"tokens_per_accelerator": 1024.5, "tflops": 99.5, "samples_per_second": 4.0},
        ),
        (
            NANOTRON,
            "Nanotron",
            10,
            {"loss": 6.21, "tokens_per_second": 1.34e6, "tokens_per_accelerator": 168e3, "tflops": 456,
             "consumed_tokens": 10.5e6, "step_seconds": 0.78, "grad_norm": 1.2},
        ),
        (
            TITAN,
            "torchtitan",
            10,
            {"loss": 7.1234, "grad_norm": 3.1, "tokens_per_accelerator": 6123, "tflops": 310.12, "mfu": 31.35},
        ),
        (
            "[rank0]:2026-11-30 00:25:47,084 - root - INFO - step: 640/644 = 99.3789%  loss:  6.2116  tps: 52,142  mfu: 3.09%",
            "torchtitan",
            640,
            {"loss": 6.2116, "tokens_per_accelerator": 52142, "mfu": 3.09},
        ),
        (NEMO, "NeMo", 9, {"loss": 10.33, "samples_per_second": 128.0, "learning_rate": 0.0003}),
        (
            "Epoch 0: :   1%|▏         | 100/10000 [08:20<13:45:00, reduced_train_loss=7.120, global_step=99.00, "
            "consumed_samples=25600.0, train_step_timing in s=5.010]",
            "NeMo",
            99,
            {"loss": 7.12, "step_seconds": 5.01},
        ),
        (
            "Epoch 0:  10%|█         | 100/1000 [00:50<07:30,  2.00it/s, v_num=0, train_loss=2.310]",
            "PyTorch Lightning",
            100,
            {"loss": 2.31},
        ),
        (
            "steps: 30 loss: 2.3456 iter time (s): 1.250 samples/sec: 102.400",
            "DeepSpeed",
            30,
            {"loss": 2.3456, "samples_per_second": 102.4, "step_seconds": 1.25},
        ),
        (
            "[2026-11-30 12:00:00,000] [INFO] [timer.py:199:stop] epoch=0/micro_step=10/global_step=10, "
            "RunningAvgSamplesPerSec=12.3, CurrSamplesPerSec=12.5, MemAllocated=4.3GB",
            "DeepSpeed",
            10,
            {"samples_per_second": 12.5},
        ),
        (
            "[INFO] [logging.py:96:log_dist] [Rank 0] step=10, skipped=0, lr=[9.9e-05], mom=[(0.9, 0.95)]",
            "DeepSpeed",
            10,
            {"learning_rate": 9.9e-5},
        ),
        (
            "LOG Mon Nov 30 12:00:00 2026 - (0, 10) step_loss : 8.1234 learning_rate : 1.50e-05 throughput : 12.34 "
            "grad-norm : 3.25",
            "NeuronX Distributed",
            10,
            {"loss": 8.1234, "learning_rate": 1.5e-5, "samples_per_second": 12.34, "grad_norm": 3.25},
        ),
        (
            "2026-11-30 12:00:00 I [train.py:103] Batch 100 Loss: 6.12345, Speed: 3.21 samples/sec, lr: 0.000100",
            "FSDP",
            100,
            {"loss": 6.12345, "samples_per_second": 3.21, "learning_rate": 0.0001},
        ),
        (
            "completed step: 10, seconds: 5.120, TFLOP/s/device: 180.100, Tokens/s/device: 1600.500, "
            "total_weights: 1048576, loss: 7.123",
            "MaxText (JAX)",
            10,
            {"loss": 7.123, "tflops": 180.1, "tokens_per_accelerator": 1600.5, "step_seconds": 5.12},
        ),
        ("step=100 loss=2.31 tokens/s=12345 lr=3e-4", "key=value", 100, {"loss": 2.31, "tokens_per_second": 12345}),
        ("step: 7/90, loss: 2.5, tok/s: 1.2M", "key=value", 7, {"loss": 2.5, "tokens_per_second": 1.2e6}),
        ('{"step": 5, "loss": 2.5, "lr": 0.001}', "JSON lines", 5, {"loss": 2.5, "learning_rate": 0.001}),
    ],
)  # fmt: skip
def test_a_step_is_read_in_each_frameworks_words(text, name, step, expected):
    found = read([Line(AT, text)])
    assert found.format == name
    (point,) = found.points
    assert point.step == step
    assert {key: point.values.get(key) for key in expected} == pytest.approx(expected)


def test_the_trainers_dictionary_takes_its_step_from_the_bar_before_it():
    lines = [
        Line(AT, "  0%|          | 0/1000 [00:00<?, ?it/s]\r 12%|█▏        | 120/1000 [02:00<14:40,  1.00s/it]"),
        Line(AT, "{'loss': 1.5, 'grad_norm': 0.5, 'learning_rate': 5e-05, 'epoch': 0.12}"),
        Line(AT, "{'loss': '1.25', 'grad_norm': '0.5', 'learning_rate': '5e-05', 'epoch': '0.12'}"),
    ]
    found = read(lines)
    assert (found.format, found.total_steps) == ("Hugging Face Trainer", 1000)
    assert [(point.step, point.values["loss"]) for point in found.points] == [(120, 1.25)]
    assert read(lines[1:]).points == []  # without the bar its step is not known, and none is invented
    assert [point.step for point in read(lines[1:], Carry(bar_step=40)).points] == [40]


@pytest.mark.parametrize(("text", "word"), [
    (MEGATRON.replace("8.123456E+00", "NAN"), "nan"),
    (MEGATRON.replace("8.123456E+00", "INF"), "inf"),
    ("step=3 loss=-inf", "inf"),
    ('{"step": 3, "loss": NaN}', "nan"),
    ("step=3 loss=1e999", "inf"),
])  # fmt: skip
def test_a_loss_that_is_no_number_is_said_as_such_and_never_kept_as_one(text, word):
    (point,) = read([Line(AT, text)]).points
    assert (point.loss_word, "loss" in point.values) == (word, False)
    assert all(math.isfinite(value) for value in point.values.values())


@pytest.mark.parametrize("text", [
    "", "hello", "Step into the light: loss of appetite", "saving checkpoint at iteration 90", "loss=2.0", "step=4",
    '{"step": true, "loss": 1}', '{"step": 1e400, "loss": 1}', "{'loss': 1", "iteration 5", "validation loss at iteration 5",
    '{"step": 99999999999999999999999999, "loss": 1}', "[" * 5000, "{" * 3000 + "}" * 3000,
])  # fmt: skip
def test_what_tells_no_step_is_not_recognised_rather_than_0(text):
    found = read([Line(AT, text)])
    assert (found.points, found.format) == ([], "")


def test_two_lines_of_one_step_are_one_point():
    found = read(
        [
            Line(AT, "steps: 10 loss: 2.5 iter time (s): 1.0 samples/sec: 100.0"),
            Line(AT, "[INFO] [logging.py:96:log_dist] [Rank 0] step=10, skipped=0, lr=[1e-05], mom=[]"),
        ]
    )
    (point,) = found.points
    assert point.values["loss"] == 2.5 and point.values["learning_rate"] == 1e-5


def test_the_number_after_a_name_is_that_names():
    assert stepped("step=1 loss=2.0 val_loss=9.0").values["loss"] == 2.0
    assert stepped("step=1 val_loss=9.0") is None
