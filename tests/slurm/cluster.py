"""A real Slurm on this machine, from Debian's packages: controller, REST server, nodes whose power can be cut, accounting."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from program.devstack.embedded import die_with_parent
from tests.tree import free_port

GPUS, CPUS, MEMORY_MB = 8, 64, 256_000
USER = "nobody"  # whom jobs run as
SHARED = Path("/fsx")  # where each node mounts the cluster's shared storage
PROGRAMS = ("slurmctld", "slurmd", "slurmrestd", "slurmdbd", "munged", "mariadbd", "scontrol", "sacctmgr")
# slurmstepd's sockets lie below the folder, and a socket's path has at most 107 bytes.
LONGEST_FOLDER = 60


def version() -> tuple[int, int]:
    """(22, 5) for 22.05.8."""
    told = subprocess.run(["slurmctld", "-V"], capture_output=True, text=True, check=True).stdout.split()[1]
    return int(told.split(".")[0]), int(told.split(".")[1])


class RealSlurm:
    """One cluster. Every process of it is a child of the test run, and dies with it."""

    def __init__(self, nodes: int = 3, *, accounting: bool = False, min_job_age: int = 300) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="slurm-", dir="/tmp"))
        assert len(str(self.folder)) <= LONGEST_FOLDER
        self.folder.chmod(0o755)
        self.names = [f"gpu{number}" for number in range(1, nodes + 1)]
        self.accounting, self.min_job_age = accounting, min_job_age
        self.ports = {name: free_port() for name in ("slurmctld", "slurmdbd", "slurmrestd", *self.names)}
        self.url = f"http://127.0.0.1:{self.ports['slurmrestd']}"
        self.old = version() < (23, 11)  # its REST plugins bear the version; later ones read data by it
        self.versions = ("v0.0.36", "v0.0.37", "v0.0.38") if self.old else ("v0.0.40", "v0.0.41", "v0.0.42")
        self.partition, self.user = "workers", USER
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self.environment = {
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "SLURM_CONF": str(self.folder / "etc" / "slurm.conf"),
        }

    @property
    def key(self) -> bytes:
        return (self.folder / "state" / "jwt.key").read_bytes()

    @property
    def logs(self) -> Path:
        """What jobs print, as the head node sees it."""
        return self.folder / "fsx" / "cohort" / "logs"

    def start(self) -> RealSlurm:
        try:
            self._lay_out()
            self._start_daemons()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """KILL suffices: nothing of it is kept. A node's first process takes all others of the node with it."""
        for child in self.running.values():
            child.kill()
        for child in self.running.values():
            child.wait(20)
        self.running.clear()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> RealSlurm:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    # What an administrator does.

    def ask(self, *words: str, check: bool = True) -> str:
        """A command of Slurm's own, as root on the head node."""
        done = subprocess.run(words, env=self.environment, capture_output=True, text=True, timeout=30, check=False)
        assert not check or done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout.strip()

    def set_down(self, node: str, why: str = "XID 79") -> None:
        self.ask("scontrol", "update", f"nodename={node}", "state=down", f"reason={why}")

    def resume(self, node: str) -> None:
        self.ask("scontrol", "update", f"nodename={node}", "state=resume", check=False)

    def cut_power(self, node: str) -> None:
        """The daemon and every process of its jobs vanish at once; nobody is told."""
        child = self.running.pop(node)
        child.kill()
        child.wait(20)

    def power_on(self, node: str) -> None:
        self._start_node(node)

    def stop_rest(self) -> None:
        child = self.running.pop("slurmrestd")
        child.kill()
        child.wait(20)

    def start_rest(self) -> None:
        self._start_rest()
        self._wait("slurmrestd", self._rest_listens)

    def forget_ended_jobs(self, gone: Callable[[], bool]) -> None:
        """As after MinJobAge, which is shortened until it is so."""
        conf = self.folder / "etc" / "slurm.conf"
        usual = conf.read_text()
        try:
            conf.write_text(usual.replace(f"MinJobAge={self.min_job_age}", "MinJobAge=2"))
            self.ask("scontrol", "reconfigure")
            self._wait("the purge of ended jobs", gone)
        finally:
            conf.write_text(usual)
            self.ask("scontrol", "reconfigure")

    def idle(self) -> bool:
        return self.ask("sinfo", "-h", "-N", "-o", "%T", check=False).split() == ["idle"] * len(self.names)

    # How it is made.

    def _lay_out(self) -> None:
        for name in ("etc", "log", "spool", "dev"):
            (self.folder / name).mkdir()
        for name, owner in (("state", "slurm"), ("munge", None), ("sql", "slurm"), ("fsx", USER)):
            (self.folder / name).mkdir(mode=0o755)
            if owner:
                shutil.chown(self.folder / name, owner)
        self.logs.mkdir(parents=True)
        for path in (self.logs, self.logs.parent):
            shutil.chown(path, USER)
        self._secret(self.folder / "munge" / "key", 1024, "root")
        self._secret(self.folder / "state" / "jwt.key", 32, "slurm")
        for number in range(GPUS):
            # slurmd counts device files and wants to open each.
            (self.folder / "dev" / f"nvidia{number}").symlink_to("/dev/null")
        etc = self.folder / "etc"
        (etc / "slurm.conf").write_text("\n".join(self._slurm_conf()) + "\n")
        (etc / "gres.conf").write_text(
            f"AutoDetect=off\nName=gpu Type=h100 File={self.folder}/dev/nvidia[0-{GPUS - 1}]\n"
        )
        # No group is ever made, but a plugin is loaded all the same, and the default one looks for systemd.
        (etc / "cgroup.conf").write_text(f"CgroupPlugin={'cgroup/v1' if self.old else 'disabled'}\n")
        SHARED.mkdir(exist_ok=True)

    def _secret(self, path: Path, size: int, owner: str) -> None:
        path.write_bytes(os.urandom(size))
        path.chmod(0o600)
        shutil.chown(path, owner)

    def _slurm_conf(self) -> list[str]:
        folder, host = self.folder, os.uname().nodename.split(".")[0]
        settings: Mapping[str, object] = {
            "ClusterName": "proving",
            "SlurmctldHost": f"{host}(127.0.0.1)",
            "SlurmctldPort": self.ports["slurmctld"],
            "SlurmUser": "slurm",
            "SlurmdUser": "root",
            "AuthType": "auth/munge",
            # A job that is begun again waits until the credentials of its first start have run out.
            "AuthInfo": f"socket={folder}/munge/socket,cred_expire=5",
            "AuthAltTypes": "auth/jwt",
            "AuthAltParameters": f"jwt_key={folder}/state/jwt.key",
            "StateSaveLocation": f"{folder}/state",
            "SlurmctldPidFile": f"{folder}/state/slurmctld.pid",
            "SlurmctldLogFile": f"{folder}/log/slurmctld.log",
            "SlurmdSpoolDir": f"{folder}/spool/%n",
            "SlurmdPidFile": f"{folder}/spool/%n.pid",
            "SlurmdLogFile": f"{folder}/log/%n.log",
            "ProctrackType": "proctrack/linuxproc",
            "TaskPlugin": "task/none",
            "MpiDefault": "none",
            "SelectType": "select/cons_tres",
            "SelectTypeParameters": "CR_CPU_Memory",
            "GresTypes": "gpu",
            "SlurmdParameters": "config_overrides",
            "SchedulerParameters": "batch_sched_delay=0,bf_interval=1,sched_interval=1",
            "PriorityType": "priority/basic",
            "EnforcePartLimits": "ALL",
            "ReturnToService": 1,
            "SlurmdTimeout": 5,
            "MessageTimeout": 5,
            "UnkillableStepTimeout": 25,
            "KillWait": 2,
            "InactiveLimit": 0,
            "MinJobAge": self.min_job_age,
            "MaxJobCount": 10_000,
            "TreeWidth": 65_533,
        }
        if self.accounting:
            settings = {
                **settings,
                "AccountingStorageType": "accounting_storage/slurmdbd",
                "AccountingStorageHost": "127.0.0.1",
                "AccountingStoragePort": self.ports["slurmdbd"],
                "AccountingStoragePass": f"{folder}/munge/socket",
                "AccountingStorageTRES": "gres/gpu",
            }
        nodes = [
            f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={self.ports[name]} CPUs={CPUS}"
            f" RealMemory={MEMORY_MB} Gres=gpu:h100:{GPUS} State=UNKNOWN"
            for name in self.names
        ]
        partition = f"PartitionName={self.partition} Nodes=ALL Default=YES MaxTime=INFINITE State=UP"
        return [*(f"{name}={value}" for name, value in settings.items()), *nodes, partition]

    def _start_daemons(self) -> None:
        munge, folder = self.folder / "munge", self.folder
        self._run("munged", "munged", "--foreground", f"--socket={munge}/socket", f"--key-file={munge}/key",
                  f"--pid-file={munge}/pid", f"--log-file={munge}/log", f"--seed-file={munge}/seed")  # fmt: skip
        self._wait("munged", (munge / "socket").exists)
        if self.accounting:
            self._start_accounting()
        self._run("slurmctld", "slurmctld", "-D", "-c")
        self._wait("slurmctld", lambda: " is UP" in self.ask("scontrol", "ping", check=False))
        for name in self.names:
            self._start_node(name)
        self._start_rest()
        self._wait("nodes", self.idle)
        self._wait("slurmrestd", self._rest_listens)
        if self.accounting:
            self.ask("sacctmgr", "-i", "add", "account", "proving", check=False)
            self.ask("sacctmgr", "-i", "add", "user", USER, "account=proving", check=False)
        assert (folder / "log").exists()

    def _start_accounting(self) -> None:
        sql, socket = self.folder / "sql", self.folder / "sql" / "socket"
        made = subprocess.run(
            ["mariadb-install-db", "--no-defaults", "--user=slurm", f"--datadir={sql}/data", "--skip-test-db",
             "--auth-root-authentication-method=socket"],
            env=self.environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert made.returncode == 0, made.stdout + made.stderr
        self._run("mariadbd", "mariadbd", "--no-defaults", "--user=slurm", f"--datadir={sql}/data", "--skip-networking",
                  f"--socket={socket}", "--innodb-buffer-pool-size=64M", "--innodb-lock-wait-timeout=900",
                  "--innodb-flush-log-at-trx-commit=2")  # fmt: skip
        words = "create database slurm_acct_db; create user keeper@localhost identified by 'proving';" \
            " grant all on slurm_acct_db.* to keeper@localhost"  # fmt: skip
        client = ["mariadb", "--no-defaults", "-S", str(socket), "-e"]
        self._wait("mariadbd", lambda: socket.exists() and self._went_well(*client, "select 1"))
        self.ask(*client, words)
        conf = self.folder / "etc" / "slurmdbd.conf"
        settings = {
            "AuthType": "auth/munge",
            "AuthInfo": f"socket={self.folder}/munge/socket",
            "AuthAltTypes": "auth/jwt",
            "AuthAltParameters": f"jwt_key={self.folder}/state/jwt.key",
            "DbdHost": "localhost",
            "DbdAddr": "127.0.0.1",
            "DbdPort": self.ports["slurmdbd"],
            "SlurmUser": "slurm",
            "PidFile": f"{self.folder}/state/slurmdbd.pid",
            "LogFile": f"{self.folder}/log/slurmdbd.log",
            "StorageType": "accounting_storage/mysql",
            "StorageHost": "localhost",
            "StorageUser": "keeper",
            "StoragePass": "proving",
            "StorageLoc": "slurm_acct_db",
        }
        conf.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        conf.chmod(0o600)
        shutil.chown(conf, "slurm")
        shutil.chown(self.folder / "log", "slurm")
        self._run("slurmdbd", "slurmdbd", "-D", MYSQL_UNIX_PORT=str(socket))
        self._wait("slurmdbd", lambda: self._went_well("sacctmgr", "-i", "-n", "show", "cluster"))

    def _start_node(self, name: str) -> None:
        # A process namespace for each node: when its first process is killed, nothing of the node is left.
        inside = f'mount --bind {self.folder}/fsx {SHARED} && hostname "$0" && slurmd -D -N "$0" & wait $!'
        wrapper = ("unshare", "--pid", "--fork", "--mount-proc", "--uts", "--kill-child=KILL", "bash", "-c", inside)
        self._run(name, *wrapper, name)

    def _start_rest(self) -> None:
        if self.old:
            plugins = [f"{kind}{self.versions[-1]}" for kind in (("", "db") if self.accounting else ("",))]
            offered = ["-s", ",".join(plugins)]
        else:
            kinds = "slurmctld,slurmdbd" if self.accounting else "slurmctld"
            offered = ["-s", kinds, "-d", ",".join(self.versions)]
        # It refuses to run as root or as Slurm's own user.
        as_daemon = ("setpriv", "--reuid=daemon", "--regid=daemon", "--clear-groups")
        address = f"127.0.0.1:{self.ports['slurmrestd']}"
        self._run("slurmrestd", *as_daemon, "slurmrestd", "-a", "rest_auth/jwt", *offered, address, SLURM_JWT="daemon")

    def _rest_listens(self) -> bool:
        import socket

        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.ports["slurmrestd"])) == 0

    def _went_well(self, *words: str) -> bool:
        done = subprocess.run(words, env=self.environment, capture_output=True, timeout=30, check=False)
        return done.returncode == 0

    def _run(self, name: str, *words: str, **more: str) -> None:
        with (self.folder / "log" / f"{name}.out").open("ab") as output:
            self.running[name] = subprocess.Popen(
                words,
                env=self.environment | more,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                preexec_fn=die_with_parent(signal.SIGKILL),
            )

    def _wait(self, what: str, there: Callable[[], bool], seconds: float = 60) -> None:
        end = time.monotonic() + seconds
        while not there():
            ended = [name for name, child in self.running.items() if child.poll() is not None]
            said = "".join(self._said(name) for name in ended or [what])
            assert not ended, f"{ended} ended: {said}"
            assert time.monotonic() < end, f"{what} did not come up: {said}"
            time.sleep(0.1)

    def _said(self, name: str) -> str:
        files = [self.folder / "log" / f"{name}.out", self.folder / "log" / f"{name}.log"]
        return "".join(file.read_text(errors="replace")[-1500:] for file in files if file.exists())
