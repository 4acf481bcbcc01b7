"""Kubernetes quantities: `500m`, `2Gi`, `8`."""

import re

QUANTITY = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|n|u|[eE][+-]?\d+)?")
TENS = {"n": 1e-9, "u": 1e-6, "m": 1e-3, "": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
TWOS = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60}


def amount(text: object) -> float:
    """Its plain number. Raises ValueError for what is no quantity."""
    found = QUANTITY.fullmatch(str(text))
    if found is None:
        raise ValueError(f"{text!r} is no quantity")
    number, unit = float(found[1]), found[2] or ""
    if unit[:1] in ("e", "E") and len(unit) > 1 and unit not in TWOS:
        return float(f"{found[1]}{unit}")
    return number * (TWOS[unit] if unit in TWOS else TENS[unit])
