"""Everything that the sandbox remembers, in one SQLite file: shelves of facts per service, account and Region, and the journal.

A request's changes and its journal line are written in one transaction before it is answered, so a killed process has
lost nothing that anybody was told.
"""

import pickle
import sqlite3
from pathlib import Path
from typing import Any

SCHEMA = """
create table if not exists shelf (name text primary key, body blob not null);
create table if not exists journal (
    id integer primary key, at real not null, account text, region text, service text, operation text,
    parameters text not null, status integer not null, error text not null, effective integer not null
);
create index if not exists journal_operation on journal (operation, effective);
"""


class Store:
    """Shelves are plain picklable objects; who changes one says so with `change`."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.database = sqlite3.connect(folder / "cloud.sqlite", check_same_thread=False, isolation_level=None)
        # The file survives a killed process without waiting for the disk; only a power cut could lose the last moments.
        self.database.executescript("pragma journal_mode = wal; pragma synchronous = off;" + SCHEMA)
        self.shelves: dict[str, Any] = {}
        self.changed: set[str] = set()
        for name, body in self.database.execute("select name, body from shelf where name not like 'moto/%'"):
            self.shelves[name] = pickle.loads(body)

    def read(self, name: str) -> Any:
        """The shelf to look at; an empty one is not kept."""
        return self.shelves.get(name) or {}

    def change(self, name: str) -> Any:
        """The shelf to write on."""
        self.changed.add(name)
        return self.shelves.setdefault(name, {})

    def put(self, name: str, thing: Any) -> None:
        self.shelves[name] = thing
        self.changed.add(name)

    def named(self, prefix: str) -> list[str]:
        return sorted(name for name in self.shelves if name.startswith(prefix))

    def blobs(self, prefix: str) -> list[tuple[str, bytes]]:
        return list(self.database.execute("select name, body from shelf where name like ?", (prefix + "%",)))

    def commit(self, blobs: dict[str, bytes], lines: list[tuple[Any, ...]]) -> None:
        """Write what changed since the last time, and the journal lines, or nothing."""
        rows = [(name, pickle.dumps(self.shelves[name], protocol=5)) for name in self.changed] + list(blobs.items())
        self.changed.clear()
        self.database.execute("begin")
        self.database.executemany("insert or replace into shelf values (?, ?)", rows)
        self.database.executemany(
            "insert into journal (at, account, region, service, operation, parameters, status, error, effective)"
            " values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            lines,
        )
        self.database.execute("commit")
