"""`manage.py programme_import`: takes a whole programme out of a file into an installation that has none yet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from program.transfer import importing, programme_file


class Command(BaseCommand):
    help = (
        "Load a file of `programme_export` into an empty installation: all of it or nothing, and nothing is launched."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--check", action="store_true", help="only say what is wrong with the file")

    def handle(self, *args: Any, **options: Any) -> None:
        path: Path = options["file"]
        if there := [] if options["check"] else importing.what_is_there():
            raise CommandError(
                f"Nothing was loaded, because this installation has a programme already: {', '.join(there[:5])}. "
                "Take an empty database."
            )
        try:
            told = programme_file.read(path)
            if options["check"]:
                importing.check(told)
            else:
                importing.load(told, self.stdout.write)
        except programme_file.Unfit as unfit:
            raise CommandError(f"Nothing was loaded, because {path.name} is not in order:\n{unfit}") from unfit
        self.stdout.write(f"{path.name} is in order" if options["check"] else "the programme is loaded")
