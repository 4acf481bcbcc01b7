"""`manage.py up`: the whole portal on this machine, as one process tree in the foreground."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import socket
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import get_commands
from django.core.management.base import BaseCommand

from program.devstack import environment
from program.devstack.embedded import Postgres, Unavailable, Valkey, own_folder
from program.devstack.supervisor import Ended, Process, Stopped, Tree, python

ROOM = 1_000_000_000


class CannotStart(RuntimeError):
    """Something on this machine is in the way; the message says what a person can do."""


class Command(BaseCommand):
    help = "Start the whole portal with its servers, the sandbox cloud and the demo programme; Ctrl-C stops it."
    # There is no database yet that a check could ask.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: Any) -> None:
        parser.add_argument(
            "--restart", action="store_true", help="start a worker, beat or the broker again when it ends"
        )

    def handle(self, *args: Any, restart: bool, **options: Any) -> None:
        tree = Tree(settings.VAR / "log")
        _end_with_make()
        try:
            lock = _take(settings.VAR)
            code = self._run(tree, restart)
            lock.close()
        except (CannotStart, Unavailable) as problem:
            print(problem, file=sys.stderr)
            code = 2
        sys.exit(code)

    def _run(self, tree: Tree, restart: bool) -> int:
        code = 0
        try:
            self._start(tree, restart)
            tree.watch()
        except Stopped:
            pass
        except Ended as problem:
            tree.say(f"{problem}\nStopping everything.")
            code = 1
        finally:
            tree.say("stopping ...")
            began = time.monotonic()
            tree.stop()
            (settings.VAR / "environment.json").unlink(missing_ok=True)
            shutil.rmtree(environment.sockets(settings.VAR), ignore_errors=True)
            tree.say(f"everything stopped in {time.monotonic() - began:.1f} s; `make up` goes on from {settings.VAR}")
        return code

    def _start(self, tree: Tree, restart: bool) -> None:
        cloud_port = _cloud_port(settings.VAR)
        shared = environment.stack(settings.VAR, settings.PORT, cloud_port)
        counts = settings.VAR / "metrics"
        shared |= {"METRICS_PORT": str(_metrics_port(cloud_port)), "PROMETHEUS_MULTIPROC_DIR": str(counts)}
        os.environ.update(shared)
        # Counts begin anew with their processes, as whoever asks for them expects.
        shutil.rmtree(counts, ignore_errors=True)
        counts.mkdir()
        tree.say(f"starting; state in {settings.VAR}, logs in {tree.logs}")
        cloud = _cloud(cloud_port)
        # Slow to import, so it starts beside the database.
        tree.launch(cloud)
        first = not (settings.VAR / "postgres" / "PG_VERSION").exists()
        tree.say("PostgreSQL and Valkey" + (", with a new database" if first else ""))
        postgres = Postgres(settings.VAR / "postgres", environment.sockets(settings.VAR))
        tree.start(_postgres(postgres), _valkey(restart))
        postgres.prepare_roles()
        tree.say("migrations")
        if tree.run("migrate", python("manage.py", "migrate", "--no-input", "-v", "1")):
            raise Ended(f"The migrations failed. {tree.last_lines(Process('migrate', []))}")
        tree.say("the sandbox cloud, web, workers and beat")
        environment.remember(settings.VAR, shared)
        tree.start(_web(), *_celery(tree, restart), _metrics(int(shared["METRICS_PORT"])))
        tree.wait_for(cloud)
        tree.say(f"{settings.SITE_URL} answers")
        # Only now: the first page must not wait for what only some clusters need.
        tree.launch(_schema())
        tree.launch(Process("pcluster-install", python("program/devstack/prepare.py", "pcluster"), ends=True))
        self._demo(tree)
        tree.say("")
        tree.say(f"Cohort is ready: {settings.SITE_URL}/")
        tree.say("Sign in by choosing a person on that page; no password is asked here.")
        tree.say("A token for the API: .venv/bin/python manage.py issue_token EMAIL")
        tree.say(
            f"Mail is sent to {settings.EMAIL_HOST}."
            if settings.EMAIL_HOST
            else f"Mail is written to {settings.EMAIL_FILE_PATH}."
        )
        tree.say(f"Metrics for Prometheus: {_metrics_url(int(shared['METRICS_PORT']))}")
        tree.say(f"Logs: {tree.logs}. Ctrl-C stops everything, and `make up` goes on from where it was.")

    def _demo(self, tree: Tree) -> None:
        if not settings.DEMO:
            tree.say("DEMO=0: the demo programme is not loaded")
        elif "demo" not in get_commands():
            tree.say("there is no demo programme in this version")
        else:
            tree.say("loading the demo programme")
            if tree.run("demo", python("manage.py", "demo"), shown=True):
                tree.say(f"The demo programme could not be loaded; {tree.log_of('demo')} says why. The portal runs.")


def _end_with_make() -> None:
    # `make` started us as its only child; killed hard, it could not pass anything on.
    parent = Path(f"/proc/{os.getppid()}/comm")
    if parent.exists() and parent.read_text().strip() in {"make", "gmake"}:
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)


def _take(state: Path) -> Any:
    """Everything that can be known to be in the way before anything is started."""
    try:
        lock = environment.taken(state)
    except OSError as problem:
        raise CannotStart(
            f"The folder {state} cannot be written: {problem.strerror}. Set VAR to another one."
        ) from None
    if lock is None:
        other = environment.remembered(state)
        raise CannotStart(
            f"Another `make up` (process {other.get('pid', 'unknown')}, port {other.get('PORT', 'unknown')}) already runs "
            f"on {state}. Stop it, or set VAR to another folder."
        )
    if not _free(settings.PORT):
        raise CannotStart(f"Port {settings.PORT} is in use. Stop what listens there, or say `make up PORT=8080`.")
    if shutil.disk_usage(state).free < ROOM:
        raise CannotStart(f"Less than 1 GB is free where {state} lies. Make room, or set VAR to another folder.")
    folder = environment.sockets(state)
    if len(str(folder / ".s.PGSQL.5432.lock")) > 107:
        raise CannotStart(f"The path {folder} is too long for a socket. Set TMPDIR to a shorter folder, such as /tmp.")
    if folder.is_symlink() or (folder.exists() and folder.stat().st_uid not in {os.getuid(), 65534}):
        raise CannotStart(f"The folder {folder} belongs to somebody else. Remove it, or set TMPDIR to another folder.")
    return lock


def _free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _cloud_port(state: Path) -> int:
    """The same port at every start: clusters in the sandbox cloud tell addresses that carry it."""
    note = state / "cloud-port"
    kept = [int(note.read_text())] if note.exists() else []
    for port in [*kept, *range(settings.PORT + 1, settings.PORT + 100)]:
        if port < 65_536 and _free(port):
            note.write_text(str(port))
            return port
    raise CannotStart(f"No port between {settings.PORT + 1} and {settings.PORT + 99} is free for the sandbox cloud.")


def _metrics_port(cloud_port: int) -> int:
    """The one that was asked for, else the first that is free after the web's."""
    if asked := os.environ.get("METRICS_PORT"):
        if not _free(int(asked)):
            raise CannotStart(f"Port {asked} is in use. Stop what listens there, or set METRICS_PORT to another one.")
        return int(asked)
    for port in range(settings.PORT + 1, min(settings.PORT + 100, 65_536)):
        if port != cloud_port and _free(port):
            return port
    raise CannotStart(f"No port between {settings.PORT + 1} and {settings.PORT + 99} is free for the metrics.")


def _metrics_url(port: int) -> str:
    return f"http://127.0.0.1:{port}/metrics"


def _metrics(port: int) -> Process:
    return Process("metrics", python("manage.py", "metrics"), _answers(_metrics_url(port)), restarts=True)


def _answers(url: str) -> Callable[[], bool]:
    def ask() -> bool:
        try:
            with urllib.request.urlopen(url, timeout=2) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    return ask


def _cloud(port: int) -> Process:
    words = ["--port", str(port), "--state", str(settings.VAR / "cloud"), "--speed", str(settings.SANDBOX_SPEED)]
    if settings.SANDBOX_PROGRAMME.exists():
        words += ["--programme", str(settings.SANDBOX_PROGRAMME)]
    return Process(
        "cloud", python("-m", "clusters.sandbox", *words), ready=_answers(f"http://127.0.0.1:{port}/_sandbox/health")
    )


def _postgres(postgres: Postgres) -> Process:
    postgres.initialise()
    argv, options = postgres.command()
    own_folder(postgres.sockets, options)
    return Process(
        "postgres", argv, postgres.answers, (signal.SIGINT, signal.SIGQUIT), 10, signal.SIGINT, options=options
    )


def _valkey(restart: bool) -> Process:
    valkey = Valkey(settings.VAR / "valkey", environment.sockets(settings.VAR))
    valkey.make_room()
    return Process("valkey", valkey.command(), valkey.answers, restarts=restart)


def _web() -> Process:
    words = [
        "-m", "gunicorn", "program.wsgi", "--bind", f"127.0.0.1:{settings.PORT}", "--worker-class", "gthread",
        "--workers", str(settings.WEB_WORKERS), "--threads", str(settings.WEB_THREADS), "--graceful-timeout", "5",
        "--timeout", "60", "--no-control-socket",
    ]  # fmt: skip
    return Process("web", python(*words), _answers(f"http://127.0.0.1:{settings.PORT}/readyz"), patience=8)


def _schema() -> Process:
    """Waits until ParallelCluster is installed; always begun again, since nothing else depends on it."""
    words = ["clusters/providers/schema_server.py", os.environ["PCLUSTER_SCHEMA"]]
    own = str(settings.PCLUSTER.parent / "python")
    return Process("pcluster-schema", python(*words, "--python", own), restarts=True)


def _celery(tree: Tree, restart: bool) -> list[Process]:
    celery = python("-m", "celery", "-A", "program.celery", "--quiet")
    quiet = ["-l", "warning", "--without-gossip", "--without-mingle", "--without-heartbeat"]
    members = []
    for name, queues, children in (("engine", "engine", settings.ENGINE_WORKERS), ("slow", "slow,deliver", 2)):
        words = ["worker", "-n", f"{name}@cohort", "-Q", queues, "-c", str(children), *quiet]
        # Work in progress may take most of a minute; whatever it held is taken up again when its lease ends.
        member = Process(
            f"worker-{name}", [*celery, *words], None, (signal.SIGTERM, signal.SIGQUIT), 4, signal.SIGQUIT, restart
        )
        member.ready = _wrote(tree, member, b" ready.")
        members.append(member)
    schedule = ["--schedule", str(settings.VAR / "beat-schedule"), "--pidfile="]
    return [*members, Process("beat", [*celery, "beat", "-l", "warning", *schedule], restarts=restart)]


def _wrote(tree: Tree, member: Process, words: bytes) -> Callable[[], bool]:
    def look() -> bool:
        with tree.log_of(member.name).open("rb") as log:
            log.seek(member.began_at)
            return words in log.read()

    return look
