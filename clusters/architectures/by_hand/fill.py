"""Fills `${name}` in a file from the environment: fill.py FILE > RESULT. What is missing or empty is named, never left out."""

import os
import re
import sys
from collections.abc import Mapping

PLACE = re.compile(r"\$\{([A-Za-z_]\w*)\}")


def fill(text: str, values: Mapping[str, str]) -> str:
    """The text with every place filled. Raises SystemExit with the names of all that have no value."""
    missing = sorted({name for name in PLACE.findall(text) if not values.get(name)})
    if missing:
        raise SystemExit("fill.py: no value for " + ", ".join(missing))
    return PLACE.sub(lambda place: values[place[1]], text)


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as template:
        sys.stdout.write(fill(template.read(), os.environ))
