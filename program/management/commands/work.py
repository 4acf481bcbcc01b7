"""`manage.py work`: the workers' own loop without a broker, for a look at one step or for a day without Valkey."""

from __future__ import annotations

import time
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from tenants.work import due, heartbeat, loop


class Command(BaseCommand):
    help = "Handle what is due, again and again, until Ctrl-C; it may run beside any number of workers."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("--queue", action="append", help="only this queue; may be given more than once")
        parser.add_argument("--once", action="store_true", help="end when nothing is due")

    def handle(self, *args: Any, queue: list[str] | None, once: bool, **options: Any) -> None:
        queues = queue or loop.queues()
        for name in queues:
            if name not in loop.queues():
                raise CommandError(f"There is no queue {name}; there are: {', '.join(loop.queues())}.")
        handled = 0
        try:
            while True:
                heartbeat.begin()
                due.free_the_dead()
                now = sum(loop.work_off(name) for name in queues)
                handled += now
                if once and not now:
                    break
                if not now:
                    time.sleep(settings.BELL_SECONDS)
        except KeyboardInterrupt:
            pass
        self.stdout.write(f"{handled} handled")
