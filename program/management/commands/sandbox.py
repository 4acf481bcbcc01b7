"""`manage.py sandbox`: run the sandbox cloud in the foreground, as the process of its own that it is."""

import os
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand


class Command(BaseCommand):
    help = "Run the sandbox cloud on loopback."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", required=True)
        parser.add_argument("--state", required=True)
        parser.add_argument("--speed", default="1")
        parser.add_argument("--programme", default="")

    def handle(self, *args: Any, **options: Any) -> None:
        words = [sys.executable, "-m", "clusters.sandbox", "--port", options["port"], "--state", options["state"]]
        words += ["--speed", options["speed"]]
        if options["programme"]:
            words += ["--programme", options["programme"]]
        # The sandbox replaces this process: it is never imported by the product.
        os.execv(sys.executable, words)
