"""Writes the reference architectures as a plain repository: templates, scripts, requests and guides for deploying by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from clusters.architectures import architectures, export


class Command(BaseCommand):
    help = "Write the catalogue of reference architectures into a folder that is new or empty."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path)

    def handle(self, *args: Any, **options: Any) -> None:
        folder: Path = options["folder"]
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise CommandError(f"{folder} is there already and not empty. Name a folder that is new or empty.")
        files = export.repository(architectures())
        for path, text in files.items():
            where = folder / path
            where.parent.mkdir(parents=True, exist_ok=True)
            where.write_text(text, "utf-8")
            if path.endswith(".sh"):
                where.chmod(0o755)
        self.stdout.write(f"{len(files)} files in {folder}")
