"""Where the stack of `make up` keeps its things, and the environment that its processes share; standard library only."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import IO

CHECKOUT = Path(__file__).resolve().parent.parent.parent
# The hub account's key: the sandbox cloud knows it, and no other cloud does.
HUB_KEY, HUB_SECRET = "AKIACOHORTHUB000000A", "cohort-hub"


def var() -> Path:
    """The folder of all state; VAR names another."""
    return Path(os.environ.get("VAR") or CHECKOUT / "var").resolve()


def port() -> int:
    """The port of the web; PORT names another."""
    wanted = os.environ.get("PORT") or "8000"
    if not wanted.isdigit() or not 0 < int(wanted) < 65_536:
        raise SystemExit(f"PORT is {wanted}, but must be a number from 1 to 65535.")
    return int(wanted)


def sockets(state: Path) -> Path:
    """The folder of the sockets: short, because a socket's path may have no more than 107 bytes."""
    mark = hashlib.sha256(str(state).encode()).hexdigest()[:8]
    return Path(tempfile.gettempdir()) / f"cohort-{os.getuid()}-{mark}"


def stack(state: Path, port: int, cloud_port: int) -> dict[str, str]:
    """Every variable of a process of the stack. What a person chose already (SANDBOX_SPEED, DEMO, ...) stays."""
    chosen = {"PERSONA_PICKER": "1", "INSTALLATION_ID": "local", "DEMO": "1"}
    return {name: os.environ.get(name, value) for name, value in chosen.items()} | {
        "DEBUG": "1",
        "PORT": str(port),
        "VAR": str(state),
        "DB_HOST": str(sockets(state)),
        "DB_USER": "cohort",
        "DB_NAME": "cohort",
        "DB_PORT": "5432",
        "BROKER_URL": f"redis+socket://{sockets(state)}/valkey.sock?virtual_host=0",
        "PCLUSTER_SCHEMA": str(sockets(state) / "pcluster-schema.sock"),
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{cloud_port}",
        "AWS_ACCESS_KEY_ID": HUB_KEY,
        "AWS_SECRET_ACCESS_KEY": HUB_SECRET,
        # Without these, boto3 would look for the keys of whoever sits at this machine.
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
        "DJANGO_SETTINGS_MODULE": "program.settings",
        "PYTHONUNBUFFERED": "1",
    }


def taken(state: Path) -> IO[str] | None:
    """Take the folder for one running stack; None when another one has it."""
    state.mkdir(parents=True, exist_ok=True)
    lock = (state / "lock").open("a+")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        return None
    return lock


def remember(state: Path, environment: dict[str, str]) -> None:
    """Leave the environment for commands that want to speak to the running stack."""
    note = state / "environment.json"
    note.touch(mode=0o600)
    note.write_text(json.dumps({**environment, "pid": str(os.getpid())}, indent=1))


def remembered(state: Path) -> dict[str, str]:
    """The environment of the stack that runs on this folder, or nothing when none runs."""
    note = state / "environment.json"
    if not note.exists():
        return {}
    free = taken(state)
    if free is not None:
        free.close()
        return {}
    found: dict[str, str] = json.loads(note.read_text())
    return found


def for_command(words: list[str]) -> dict[str, str]:
    """What `manage.py` adds to the environment: a stack's own for `up`, the running stack's for every other command."""
    if words[:1] == ["up"]:
        return stack(var(), port(), 0)
    if "DB_HOST" in os.environ or "DB_HOST_FILE" in os.environ:
        return {}
    return remembered(var())
