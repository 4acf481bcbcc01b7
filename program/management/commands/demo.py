"""`manage.py demo`: loads the demo programme by the same actions that people use; a second run changes nothing."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import connection
from django.utils import timezone

from program.apps import is_loopback
from program.demo import accounts, budgets, calls, launches, live_jobs
from program.transfer import directory, programme_file, record
from program.transfer.past import loading
from program.transfer.past.rows import Past

ONE_AT_A_TIME = 7_002  # advisory lock


class Command(BaseCommand):
    help = "Load the demo programme into this installation; it has to be one that runs on the sandbox cloud."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("--file", type=Path, default=programme_file.FILE, help="another programme file")
        parser.add_argument("--wait", action="store_true", help="stay until the clusters are ready or have failed")
        parser.add_argument("--timeout", type=float, default=1800, help="seconds to stay at most")

    def handle(self, *args: Any, file: Path, wait: bool, timeout: float, **options: Any) -> None:
        # The loader plays the owners of the accounts; that must never reach a real one.
        if not is_loopback(settings.AWS_ENDPOINT_URL):
            raise CommandError("The demo needs the sandbox cloud: AWS_ENDPOINT_URL does not lead to this machine.")
        began = time.monotonic()
        try:
            told = programme_file.read(file)
        except programme_file.Unfit as unfit:
            raise CommandError(f"Nothing was loaded, because {file.name} is not in order:\n{unfit}") from unfit
        with connection.cursor() as cursor:
            cursor.execute("select pg_try_advisory_lock(%s)", [ONE_AT_A_TIME])
            if not cursor.fetchone()[0]:
                raise CommandError("The demo is being loaded already.")
        try:
            self._load(told, wait, timeout)
        except launches.TookTooLong as problem:
            raise CommandError(str(problem)) from problem
        finally:
            with connection.cursor() as cursor:
                cursor.execute("select pg_advisory_unlock(%s)", [ONE_AT_A_TIME])
        self.stdout.write(f"the demo programme is loaded ({time.monotonic() - began:.1f} s)")

    def _load(self, told: programme_file.Row, wait: bool, timeout: float) -> None:
        shift = directory.shift_before(told) or programme_file.shift(told, timezone.now())
        who = directory.load(told, shift)
        self.stdout.write(f"{len(who.tenants) - 1} participants and {len(who.people)} people")
        record.load(told, shift, who)
        opened = accounts.load(told, who)
        self.stdout.write(f"{len(opened)} cloud accounts")
        refused = launches.load(told, who, opened, self.stdout.write)
        wanted = [cluster["name"] for _, cluster in launches.launchable(told)]
        loading.load(Past(told, shift, who), self.stdout.write)
        self.stdout.write(f"{budgets.set_all(told, who)} budgets")
        self.stdout.write(f"{calls.open_one(told, who)} applications to the next cycle")
        self.stdout.write(f"{live_jobs.wish(told, who)} jobs follow when their clusters are ready")
        if refused:
            raise CommandError(f"{len(refused)} clusters were refused: {', '.join(refused)}.")
        if wait and not launches.wait_until_settled(wanted, self.stdout.write, timeout):
            raise CommandError("Not all clusters became ready; their histories say why.")
