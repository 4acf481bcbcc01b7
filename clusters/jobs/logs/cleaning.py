"""Output made safe to keep and to show: no escape sequences, no control characters, no endless lines. Pure."""

import re
from collections.abc import Iterator

LONGEST = 2_000  # characters of a line that are kept
BINARY_SHARE = 0.2  # from this share of unprintable characters on, a line is no text
# Colours and cursor movements (CSI), titles and links (OSC, up to BEL or ST), and two-character escapes.
ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)?|\x1b[@-Z\\^_]?")
CONTROLS = re.compile("[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def shown(raw: str) -> str:
    """One line as it may be kept and shown: of a progress bar that overwrote itself only the last state."""
    states = [state for state in raw.rstrip("\r\n").split("\r") if state.strip()]
    return _text(states[-1]) if states else ""


def states(raw: str) -> Iterator[str]:
    """Every state of a line that overwrote itself, each cleaned, for what reads numbers out of progress bars."""
    for state in raw.rstrip("\r\n").split("\r"):
        if state.strip():
            yield _text(state)


def _text(raw: str) -> str:
    if len(raw) > LONGEST * 4:
        kept, left_out = raw[: LONGEST * 4], len(raw) - LONGEST * 4
    else:
        kept, left_out = raw, 0
    plain = ESCAPES.sub("", kept)
    odd = len(CONTROLS.findall(plain)) + plain.count("\ufffd")
    if odd > 8 and odd > len(plain) * BINARY_SHARE:
        return f"[{len(raw)} characters that are no text]"
    plain = CONTROLS.sub("\ufffd", plain)
    if len(plain) > LONGEST:
        left_out += len(plain) - LONGEST
        plain = plain[:LONGEST]
    return f"{plain} [… {left_out} more characters]" if left_out else plain
