"""A data folder of PostgreSQL in which every migration is done: made once for a state of the checkout, and begun from by copy.

The migrations take twelve seconds of a processor, and a run of all tests needs some twenty databases.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from program.devstack.embedded import DATABASE, Postgres, Unavailable
from program.devstack.environment import CHECKOUT

SEEDS = CHECKOUT / ".seed"
MADE_OF = ("*/migrations/*.py", "program/db/*.sql", "tenants/wall/*.py", "program/devstack/*.py", "requirements.lock")


def mark(checkout: Path = CHECKOUT) -> str:
    """Names the state of the checkout: another migration, role, lock file or machine is another seed."""
    found = hashlib.sha256(f"{platform.machine()} {sys.version}".encode())
    for pattern in MADE_OF:
        for path in sorted(checkout.glob(pattern)):
            found.update(f"\n{path.relative_to(checkout)}\n".encode() + path.read_bytes())
    return found.hexdigest()[:16]


def seed() -> Path:
    """The folder to copy from; made first if this state of the checkout has none."""
    SEEDS.mkdir(exist_ok=True)
    wanted = SEEDS / mark()
    with (SEEDS / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not wanted.exists():
            for old in SEEDS.iterdir():
                if old.is_dir():
                    shutil.rmtree(old, ignore_errors=True)
            _make(SEEDS / "unfinished").rename(wanted)
    return wanted


def begin_from_seed(data: Path) -> None:
    """Copy the seed to `data`, owners and rights as they are."""
    data.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["cp", "-a", str(seed()), str(data)], check=True)


def _make(data: Path) -> Path:
    with tempfile.TemporaryDirectory(prefix="cohort-seed-") as folder, tempfile.TemporaryFile() as log:
        Path(folder).chmod(0o711)
        server = Postgres(data, Path(folder) / "s", durable=False).start(log)
        try:
            server.prepare_roles()
            _migrate(server, Path(folder))
        finally:
            server.stop()
    return data


def _migrate(server: Postgres, folder: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "DB_"))} | {
        "DEBUG": "1",
        "VAR": str(folder / "var"),
        "DB_HOST": str(server.sockets),
        "DB_NAME": DATABASE,
        "BROKER_URL": "redis+socket:///none",
        "INSTALLATION_ID": "seed",
        "DJANGO_SETTINGS_MODULE": "program.settings",
    }
    done = subprocess.run(
        [sys.executable, "manage.py", "migrate", "--no-input", "-v", "0"],
        cwd=CHECKOUT,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise Unavailable(f"The migrations failed: {done.stderr[-2000:]}")
