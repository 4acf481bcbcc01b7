"""Versions of software that a job's output tells by itself, as NCCL and its plugins print them when they begin. Pure.

Each is named as the programme's file names it; a version is text, because 3.10 is not 3.1.
"""

import re

V = r"(?P<version>v?\d[\w.+-]{0,40})"
TOLD: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("nccl", re.compile(rf"\bNCCL version {V}")),
    ("aws_ofi_nccl", re.compile(rf"NET/OFI (?:Initializing )?aws-ofi-nccl {V}")),
    ("libfabric", re.compile(rf"NET/OFI Using Libfabric version {V}", re.I)),
    ("neuron_runtime", re.compile(rf"\bNRT version: {V}")),
    ("gdrcopy", re.compile(rf"\bGDRCopy (?:library )?version:? {V}", re.I)),
)
# What a line has to hold to be looked at more closely: nearly none does.
HINTS = ("NCCL version", "NET/OFI", "NRT version", "GDRCopy", "GDRCOPY")


def told(text: str) -> dict[str, str]:
    """Component -> version, of one line; empty for nearly every line."""
    if not any(hint in text for hint in HINTS):
        return {}
    found = {}
    for component, pattern in TOLD:
        if (match := pattern.search(text)) is not None:
            found[component] = match["version"].rstrip(".-+")
    return found
