#!/usr/bin/env python
"""Runs a command of the portal; in a checkout it speaks to the stack that `make up` runs there."""

import os
import sys
from pathlib import Path


def main() -> int:
    """Give the command its environment and run it."""
    ours = Path(__file__).resolve().parent / ".venv" / "bin" / "python"
    try:
        import django  # noqa: F401
    except ImportError:
        if not ours.exists() or Path(sys.prefix) == ours.parent.parent:
            print("Django is not installed here. Run `make up` or `make test` once.", file=sys.stderr)
            return 2
        os.execv(ours, [str(ours), *sys.argv])
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line

    from program.devstack.environment import for_command

    os.environ.update(for_command(sys.argv[1:]))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "program.settings")
    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as problem:
        print(problem, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
