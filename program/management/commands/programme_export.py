"""`manage.py programme_export`: writes the whole programme into one file, which `programme_import` takes in elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from program.transfer.writing import whole


class Command(BaseCommand):
    help = "Write the whole programme into one file; it holds names and addresses, and no secrets."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["file"]
        # Beside it first: what broke off half-way must not look like the whole.
        beside = path.with_name(f".{path.name}.part")
        try:
            with beside.open("w", encoding="utf-8") as file:
                whole.write(file)
            beside.replace(path)
        except OSError as error:
            raise CommandError(f"{path} cannot be written: {error.strerror}.") from error
        finally:
            beside.unlink(missing_ok=True)
        self.stdout.write(f"the programme is in {path}: {path.stat().st_size} bytes")
