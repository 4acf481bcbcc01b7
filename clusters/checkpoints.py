"""Pure: which checkpoint a training job saved last, read from what it wrote."""

import re

# What Megatron-LM, NeMo and Lightning, DeepSpeed, TorchTitan and Axolotl write once a checkpoint is complete.
SAVED = (
    re.compile(r"successfully saved checkpoint (?:from|at) iteration\s+(\d+)", re.IGNORECASE),
    re.compile(r"saved checkpoint\b.*?\b(?:step|iteration|global_step)[\s=:_-]*(\d+)", re.IGNORECASE),
    re.compile(r"finished saving the checkpoint\b.*?\bstep\s*[=:]?\s*(\d+)", re.IGNORECASE),
    re.compile(r"saving model checkpoint to \S*checkpoint-(\d+)", re.IGNORECASE),
    re.compile(r"\[torch\] saved \S*global_step(\d+)", re.IGNORECASE),
)


def last_saved(log: str) -> int | None:
    """The step of the last checkpoint that the log speaks of; None when it speaks of none."""
    for line in reversed(log.splitlines()):
        for pattern in SAVED:
            if found := pattern.search(line):
                return int(found[1])
    return None
