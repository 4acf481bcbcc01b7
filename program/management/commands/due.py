"""`manage.py due`: what waits for the engine, and a way to let something stuck be tried again."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from tenants.models import Due
from tenants.web.templatetags.show import ago
from tenants.work import due, overview


class Command(BaseCommand):
    help = "Show what waits, by kind, and what is stuck; --again tries something once more."

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument("--again", nargs=2, metavar=("KIND", "REF"), help="wish for this once more, now")

    def handle(self, *args: Any, again: list[str] | None, **options: Any) -> None:
        if again:
            self._wish_again(*again)
        self._show()

    def _wish_again(self, kind: str, ref: str) -> None:
        row = Due.objects.filter(kind=kind, ref=ref).first()
        if row is None:
            raise CommandError(f"Nothing of kind {kind} waits under {ref}.")
        due.wish(kind, ref, tenant=row.tenant_id, lane=row.lane)
        self.stdout.write(f"{kind} {ref} is due now.")

    def _show(self) -> None:
        line = "{:<12} {:>7} {:>6}  {:<16} {:>9} {:>6}"
        self.stdout.write(line.format("kind", "known", "due", "oldest", "in flight", "stuck"))
        for row in overview.waiting_by_kind():
            oldest = str(ago(row.oldest, timezone.now())) if row.oldest else "-"
            self.stdout.write(line.format(row.kind, row.known, row.due, oldest, row.in_flight, row.stuck))
        for found in overview.stuck():
            self.stdout.write(
                f"stuck: {found['kind']} {found['ref']} after {found['attempt']} attempts: {found['stuck']}"
            )
