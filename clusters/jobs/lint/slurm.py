"""What would go wrong with a job script on Slurm. Pure."""

import re
from collections.abc import Iterator
from typing import Any

from clusters.documents import placeholders, secrets
from clusters.file_checks import SECRET_NAME
from clusters.jobs.lint import sbatch, shell
from clusters.jobs.lint.around import Around, fast_network
from clusters.jobs.lint.words import Found

GPU_OPTIONS = ("gpus", "gpus-per-node", "gpus-per-task", "gpus-per-socket")
CHECKPOINT = re.compile(
    r"(?<![\w-])-{1,2}((?:[\w-]+[._-])?(?:checkpoints?|ckpts?|save|load)(?:[._-](?:dir|path|folder|root|file))?"
    r"|resume[._-]from(?:[._-]checkpoint)?)(?:=|\s+)(\S+)",
    re.I,
)
HERE = re.compile(r"\$\{?PWD\}?(?=/|$)|\$\(pwd\)|`pwd`|\$SLURM_SUBMIT_DIR|\$\{SLURM_SUBMIT_DIR\}")
IMAGE = re.compile(r"--container-image(?:=|\s+)[\"']?([^\s\"']+)")
PROCESSES = re.compile(r"--nproc[_-]per[_-]node(?:=|\s+)(\d+)")
REGISTRY = re.compile(r"\b(\d{12})\.dkr\.ecr\.[\w-]+\.amazonaws\.com|arn:aws[\w-]*:iam::(\d{12}):")
BLANKS = ("<", "{{")
MOST = 200  # of a kind are looked at; whoever has more has other worries
LONGEST_PATH = 4096
LONGEST_LOOK = 500_000  # characters of commands with their variables filled in


def look(text: str, around: Around) -> tuple[list[Found], dict[str, Any]]:
    """What is wrong with it, and what it says of itself: nodes, tasks, accelerators, name, limit, options."""
    options, lines = sbatch.options(text), shell.commands(text)
    held = shell.variables(lines)
    script = _Script(text, around, options, lines, held)
    found = [*script.form(), *script.paths(), *script.secrets()]
    if around.engine == "hyperpod-eks":  # it runs in pods that Cohort describes: nodes, network and healing are there
        return found, script.facts() | {"auto_resume": True}
    found += [*script.size(), *script.healing(), *script.network()]
    return found, script.facts()


class _Script:
    def __init__(
        self, text: str, around: Around, options: sbatch.Options, lines: list[shell.Command], held: dict[str, str]
    ) -> None:
        self.text, self.around, self.options, self.lines, self.held = text, around, options, lines, held
        self.starts = [command for command in lines if shell.runs(command, "srun")][:MOST]
        self.raw = text.splitlines()
        self.known: dict[str, str] = {}

    def at(self, name: str) -> int:
        return self.options.said[name].line if name in self.options.said else 1

    def form(self) -> Iterator[Found]:
        if not self.text.startswith("#!"):
            yield Found("not_a_script")
        if "\r" in self.text:
            yield Found("carriage_return", self.text.count("\n", 0, self.text.index("\r")) + 1)
        for line, what in self.options.unreadable:
            yield Found("option_unreadable", line, what)
        for option in self.options.ignored:
            yield Found("option_ignored", option.line, _written(option))
        for blank in placeholders.blanks(self.text):
            if blank.written.startswith(BLANKS):
                yield Found("placeholder_unfilled", blank.line, blank.written)

    def size(self) -> Iterator[Found]:
        said, around = self.options, self.around
        nodes, limit = said.value("nodes"), sbatch.minutes(said.value("time"))
        if nodes is None and around.nodes is None:
            yield Found("nodes_not_set")
        if limit is None and around.minutes is None:
            yield Found("no_time_limit", self.at("time"))
        for name, asked, launched in (
            ("nodes", nodes, around.nodes),
            ("time", limit, around.minutes),
            ("partition", said.value("partition"), around.partition or None),
        ):
            if asked is not None and launched is not None and str(asked) != str(launched):
                yield Found("option_overruled", self.at(name), f"{name} {asked}", launched)
        counted = around.minutes if around.minutes is not None else limit
        if counted is not None and around.minutes_left is not None and counted > around.minutes_left:
            yield Found("time_past_reservation", self.at("time"), counted, max(0, around.minutes_left))
        for option in said.said.values() if around.sends else ():
            if option.name not in around.sends:
                yield Found("option_not_sent", option.line, _written(option))
        account = said.value("account")
        if account is not None and around.accounts and account not in around.accounts:
            yield Found("account_foreign", self.at("account"), account, ", ".join(around.accounts))

    def resumes(self) -> bool:
        return any("--auto-resume" in self.meant(command) for command in self.starts)

    def meant(self, command: shell.Command) -> str:
        return self.filled(command.text)

    def filled(self, text: str) -> str:
        """With what its variables hold; the same text is looked at once."""
        if text not in self.known:
            self.known[text] = shell.expanded(text, self.held)
        return self.known[text]

    def healing(self) -> Iterator[Found]:
        if "auto-resume" in self.options.said:
            yield Found("auto_resume_on_sbatch", self.at("auto-resume"))
        if not self.resumes() and self.around.heals is not False:
            yield Found("auto_resume_missing", self.starts[-1].line if self.starts else 1)
        gres = self.options.value("gres") or ""
        names = [name for name in GPU_OPTIONS if name in self.options.said] + (["gres"] if "gpu" in gres else [])
        clash = [(self.at(name), f"--{name}") for name in names]
        for command in self.starts:
            if option := re.search(r"--gpus(?:-per-\w+)?\b|--gres[= ]gpu", self.meant(command)):
                clash.append((command.line, option[0]))
        if self.resumes():
            yield from (Found("gres_with_auto_resume", line, option) for line, option in clash)
        if (self.options.value("open-mode") or "").lower() not in ("a", "append"):
            yield Found("open_mode_append_missing", self.at("output"))

    def paths(self) -> Iterator[Found]:
        named = [(command, image) for command in self.lines for image in IMAGE.findall(command.text)]
        for command, image in named[:MOST]:
            if image:
                path = self.filled(image).split()[0]
                if path.endswith(".sqsh") and not path.startswith(("/", "./", "../", "$", "`")):
                    yield Found("container_path_relative", command.line, path)
        seen = set[tuple[int, str]]()
        for command in [command for command in self.lines if "-" in command.text]:
            if len(seen) >= MOST:
                break
            for offset, line in enumerate(command.text.split("\n")):
                for _option, value in CHECKPOINT.findall(line):
                    path = self.filled(value.strip("\"'")).strip("\"'")
                    key = (self.line_of(value, command.line + offset), path)
                    if self.depends_on_folder(path) and key not in seen:
                        seen.add(key)
                        yield Found("checkpoint_path_relative", key[0], path)

    def line_of(self, value: str, start: int) -> int:
        """The line of a value in a command that goes on over several."""
        near = range(start - 1, min(start + MOST, len(self.raw)))
        return next((at + 1 for at in near if value in self.raw[at]), start)

    @staticmethod
    def depends_on_folder(path: str) -> bool:
        if HERE.match(path):
            return True
        if not path or len(path) > LONGEST_PATH or path.startswith(("/", "$", "-", "`", "%")) or "://" in path:
            return False
        return path.startswith(("./", "../")) or ("/" in path) or re.search(r"checkpoint|ckpt", path, re.I) is not None

    def secrets(self) -> Iterator[Found]:
        for finding in secrets.findings(self.text):
            yield Found("secret_inside", int(finding.values["line"]), finding.asked)
        for command in self.lines:
            match = shell.ASSIGNED.match(command.text)
            if match and SECRET_NAME.search(match[1]):
                value = match[3].strip().strip("\"'")
                if value and not value.startswith(("$", "`", "(")):
                    yield Found("secret_in_plain_env", command.line, match[1])
        own = self.around.cloud_account
        for match in REGISTRY.finditer(self.text):
            other = match[1] or match[2]
            if own and other != own:
                yield Found("registry_foreign", self.text.count("\n", 0, match.start()) + 1, other, own)

    def network(self) -> Iterator[Found]:
        if fast_network(self.around.instance_type) and self.held.get("FI_PROVIDER", "").split()[-1:] != ["efa"]:
            yield Found("efa_settings_missing", 1, self.around.instance_type)

    def facts(self) -> dict[str, Any]:
        said, processes, looked = self.options, None, 0
        for command in self.lines:
            meant = self.meant(command)
            looked += len(meant)
            processes = processes or PROCESSES.search(meant)
            if processes or looked > LONGEST_LOOK:
                break
        gres = re.search(r"gpu(?::[\w-]+)?:(\d+)", said.value("gres") or "")
        held = next((self.held[name] for name in ("GPUS_PER_NODE", "NUM_GPUS_PER_NODE") if name in self.held), "")
        held = self.filled(held)
        per_node = re.search(r"(\d+)\D*$", said.value("gpus-per-node") or "")
        gpus = per_node or gres or re.fullmatch(r"(\d+)", held) or processes
        told: dict[str, Any] = {
            "nodes": said.whole("nodes"),
            "ntasks_per_node": said.whole("ntasks-per-node"),
            "gpus_per_node": int(gpus[1]) if gpus else None,
            "processes_per_node": int(processes[1]) if processes else said.whole("ntasks-per-node"),
            "job_name": said.value("job-name"),
            "partition": said.value("partition"),
            "account": said.value("account"),
            "time_limit_minutes": sbatch.minutes(said.value("time")),
            "auto_resume": self.resumes(),
            "options": {name: option.value for name, option in said.said.items()},
            "commented_out": [f"--{option.name}" for option in said.commented_out],
        }
        return {name: value for name, value in told.items() if value is not None}


def _written(option: sbatch.Option) -> str:
    name = f"--{option.name}" if option.name else ""
    return "=".join(filter(None, (name, option.value)))[:80]
