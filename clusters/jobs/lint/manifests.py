"""What would go wrong with a manifest on Kubernetes: of PyTorchJob, HyperPodPyTorchJob and TrainJob. Pure."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any

from clusters.documents import placeholders, reading, secrets
from clusters.documents.reading import Path, Read, Unreadable
from clusters.file_checks import SECRET_NAME
from clusters.jobs.lint.around import Around, fast_network
from clusters.jobs.lint.words import Found

KINDS = ("PyTorchJob", "HyperPodPyTorchJob", "TrainJob")
RESUMES = "sagemaker.amazonaws.com/enable-job-auto-resume"
RETRIES = "sagemaker.amazonaws.com/job-max-retry-count"
QUEUE, PRIORITY = "kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/priority-class"
EFA = "vpc.amazonaws.com/efa"
ACCELERATORS = ("nvidia.com/gpu", "aws.amazon.com/neuron", "aws.amazon.com/neuroncore", "aws.amazon.com/neurondevice")
TYPE_LABELS = ("node.kubernetes.io/instance-type", "sagemaker.amazonaws.com/compute-type")
UNFILLED = re.compile(r"(?<![\\$])\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))")
KNOWN_IN_POD = re.compile(
    r"PET_\w+|HOSTNAME|HOME|PATH|PWD|RANK|WORLD_SIZE|LOCAL_RANK|MASTER_(?:ADDR|PORT)|RANDOM|NVIDIA_\w+"
)
SET_IN_SCRIPT = re.compile(r"(?:^|[;\s])(?:export\s+|for\s+|read\s+)?([A-Za-z_]\w*)(?:=|\s+in\s)")
SAVES = re.compile(
    r"-{0,2}(?:[\w-]+[._-])?(?:checkpoints?|ckpts?|save)(?:[._-](?:dir|path|folder|root|file))?"
    r"|-{0,2}output[._-]dir|-{0,2}resume[._-]from[._-]checkpoint",
    re.I,
)
DOWNLOADS = re.compile(
    r"\b(?:wget|curl)\b[^\n;&|]*https?://[^\s\"';]+|\bgit\s+clone\b[^\n;&|]*|\bpip3?\s+install\b[^\n;&|]*"
    r"|\bapt(?:-get)?\s+install\b[^\n;&|]*"
)
KEEPS = ("persistentVolumeClaim", "nfs", "csi", "ephemeral")
MOST = 200  # of a kind in one text
HOST_POWERS = ("hostNetwork", "hostPID", "hostIPC")


@dataclass(frozen=True)
class Part:
    """One document of a manifest; its lines count from the beginning of the text."""

    read: Read
    before: int

    @property
    def told(self) -> Mapping[str, Any]:
        return self.read.value if isinstance(self.read.value, Mapping) else {}

    def line(self, *path: str | int) -> int:
        return self.read.line(path) + self.before

    @cached_property
    def rows(self) -> list[str]:
        return self.read.text.splitlines()

    @property
    def kind(self) -> str:
        return str(self.told.get("kind", ""))


def parts(text: str) -> list[Part]:
    """The documents of a manifest. Raises Unreadable, with the line in the whole text."""
    found, before = [], 0
    for piece in re.split(r"^(?=---(?:\s|$))", text, flags=re.M):
        lines = piece.count("\n")
        body = re.sub(r"^---[^\n]*", "", piece, count=1) if piece.startswith("---") else piece
        if re.sub(r"(?m)^\s*#.*$", "", body).strip():
            try:
                found.append(Part(reading.read(body), before))
            except Unreadable as error:
                values = {**error.finding.values, "line": int(error.finding.values["line"]) + before}
                raise Unreadable(
                    error.finding.code, asked=error.finding.asked, allowed=error.finding.allowed, **values
                ) from None
        before += lines
    if not found:
        raise Unreadable("read_empty")
    return found


def look(text: str, around: Around) -> tuple[list[Found], dict[str, Any]]:
    """What is wrong with it, and what it says of itself. Raises Unreadable."""
    documents = parts(text)
    found = [Found("secret_inside", int(each.values["line"]), each.asked) for each in secrets.findings(text)]
    jobs = [part for part in documents if part.kind in KINDS]
    if not jobs:
        found.append(Found("no_job"))
    elif len(jobs) > 1:
        found.append(Found("several_jobs", jobs[1].line("kind"), len(jobs)))
    for part in documents:
        found += [*_blanks(part, around), *_of_any(part, around)]
        found += (
            _of_job(part, around)
            if part.kind in KINDS
            else [Found("kind_not_allowed", part.line("kind"), part.kind or "–")]
        )
    return found, _facts(documents, jobs)


def _strings(value: Any, path: Path = ()) -> Iterator[tuple[Path, str]]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _strings(inner, (*path, name))
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from _strings(inner, (*path, at))
    elif isinstance(value, str):
        yield path, value


def _blanks(part: Part, around: Around) -> Iterator[Found]:
    """`$NAME` in a value is for somebody to fill in; in a shell's own text it may be a variable that is set there."""
    for path, value in _strings(part.told):
        shell = _is_shell(part.told, path)
        known = {*SET_IN_SCRIPT.findall(value), *_environment(part.told), *around.environment} if shell else set[str]()
        for match in islice(UNFILLED.finditer(value), MOST):
            name = match[1] or match[2]
            if shell and (name in known or KNOWN_IN_POD.fullmatch(name) or name.islower()):
                continue
            yield Found("placeholder_unfilled", _line_in(part, path, value, match.start()), match[0])
        for blank in placeholders.blanks(value):
            if not blank.written.startswith("$"):
                yield Found("placeholder_unfilled", part.line(*path), blank.written)


def _line_in(part: Part, path: Path, value: str, at: int) -> int:
    """Inside a block of several lines the text begins below its key."""
    line, lines = part.line(*path), part.rows
    head = lines[line - part.before - 1] if line - part.before <= len(lines) else ""
    block = re.search(r"[|>][+-]?\d?\s*(?:#.*)?$", head) is not None
    return line + value.count("\n", 0, at) + (1 if block else 0)


def _is_shell(told: Any, path: Path) -> bool:
    """Whether a place is the text behind `sh -c`."""
    if len(path) < 2 or path[-2] not in ("command", "args") or not isinstance(path[-1], int):
        return False
    above: Any = told
    for step in path[:-2]:
        above = above[step]
    words = [str(word) for name in ("command", "args") for word in _list(above.get(name))]
    return (
        bool(words)
        and words[0].rpartition("/")[2] in ("bash", "sh")
        and any(re.fullmatch(r"-\w*c", word) for word in words)
    )


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _environment(told: Any) -> set[str]:
    return {str(each.get("name")) for _path, container in _containers(told) for each in _dicts(container.get("env"))}


def _dicts(value: Any) -> list[Mapping[str, Any]]:
    return [each for each in _list(value) if isinstance(each, Mapping)]


def _pods(value: Any, path: Path = ()) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """What describes a pod: it has containers; the trainer of a TrainJob is one container by itself."""
    if isinstance(value, Mapping):
        if isinstance(value.get("containers"), list):
            yield path, value
            return
        for name, inner in value.items():
            yield from _pods(inner, (*path, name))
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from _pods(inner, (*path, at))


def _containers(told: Any) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    for path, pod in _pods(told):
        for name in ("initContainers", "containers"):
            for at, each in enumerate(_list(pod.get(name))):
                if isinstance(each, Mapping):
                    yield (*path, name, at), each
    trainer = _mapping(_mapping(told).get("spec")).get("trainer")
    if isinstance(trainer, Mapping):
        yield ("spec", "trainer"), trainer


def _of_any(part: Part, around: Around) -> Iterator[Found]:
    namespace = _mapping(part.told.get("metadata")).get("namespace")
    if around.namespace and namespace not in (None, around.namespace) and "$" not in str(namespace):
        yield Found("namespace_foreign", part.line("metadata", "namespace"), namespace, around.namespace)
    for path, pod in _pods(part.told):
        for at, volume in enumerate(_dicts(pod.get("volumes"))):
            if "hostPath" in volume:
                where = _mapping(volume["hostPath"]).get("path", "hostPath")
                yield Found("host_path", part.line(*path, "volumes", at, "hostPath"), where)
        for name in HOST_POWERS:
            if pod.get(name) is True:
                yield Found("privileged", part.line(*path, name), name)
    for path, container in _containers(part.told):
        yield from _of_container(part, path, container)


def _of_container(part: Part, path: Path, container: Mapping[str, Any]) -> Iterator[Found]:
    context = _mapping(container.get("securityContext"))
    for name in ("privileged", "allowPrivilegeEscalation"):
        if context.get(name) is True:
            yield Found("privileged", part.line(*path, "securityContext", name), name)
    if "SYS_ADMIN" in _list(_mapping(context.get("capabilities")).get("add")):
        yield Found("privileged", part.line(*path, "securityContext", "capabilities"), "SYS_ADMIN")
    for at, variable in enumerate(_list(container.get("env"))):
        told = _mapping(variable)
        if SECRET_NAME.search(str(told.get("name", ""))) and told.get("value"):
            yield Found("secret_in_plain_env", part.line(*path, "env", at, "name"), told["name"])
    image = container.get("image")
    if isinstance(image, str) and "$" not in image and not re.search(r"@sha256:[0-9a-f]{64}$", image):
        yield Found("image_not_pinned", part.line(*path, "image"), image)
    for name in ("command", "args"):
        for at, word in enumerate(_list(container.get(name))):
            for match in islice(DOWNLOADS.finditer(str(word)), MOST):
                line = _line_in(part, (*path, name, at), str(word), match.start())
                yield Found("download_at_start", line, match[0].strip()[:80])


def _of_job(part: Part, around: Around) -> Iterator[Found]:
    spec = _mapping(part.told.get("spec"))
    if not isinstance(_mapping(part.told.get("metadata")).get("name"), str):
        yield Found("job_malformed", part.line("metadata"), "metadata.name")
    if part.kind == "TrainJob" and not isinstance(_mapping(spec.get("runtimeRef")).get("name"), str):
        yield Found("job_malformed", part.line("spec"), "spec.runtimeRef.name")
    if part.kind != "TrainJob" and not any(_dicts(pod["containers"]) for _path, pod in _pods(spec)):
        yield Found("job_malformed", part.line("spec"), "containers")
    for path, pod in _pods(part.told):
        yield from _of_pod(part, path, pod, around)
    for path, container in _containers(part.told):
        if part.kind == "PyTorchJob" and path[-2] == "containers" and not _is_main(part.told, path, container):
            yield Found("container_name", part.line(*path, "name"), container.get("name", "–"))
        if part.kind == "TrainJob":
            yield from _efa(part, path, _mapping(container.get("resourcesPerNode")), around.instance_type)
    yield from _again(part, around)
    if part.kind == "HyperPodPyTorchJob":
        processes = _mapping(part.told.get("spec")).get("nprocPerNode")
        if isinstance(processes, int):
            yield Found("nproc_not_text", part.line("spec", "nprocPerNode"))
    if part.kind == "TrainJob" and _label(part, QUEUE) and _mapping(part.told.get("spec")).get("suspend") is not True:
        yield Found("queue_not_suspended", part.line("metadata", "labels"))


def _is_main(told: Any, path: Path, container: Mapping[str, Any]) -> bool:
    """One container of the pod has to be called pytorch; the others may be called as they like."""
    pod: Any = told
    for step in path[:-2]:
        pod = pod[step]
    names = [each.get("name") for each in _dicts(pod["containers"])]
    return "pytorch" in names or path[-1] != 0


def _of_pod(part: Part, path: Path, pod: Mapping[str, Any], around: Around) -> Iterator[Found]:
    kept = {str(each.get("name")) for each in _dicts(pod.get("volumes")) if any(kind in each for kind in KEEPS)}
    instance_type = _instance_type(pod) or around.instance_type
    for at, container in enumerate(_list(pod["containers"])):
        told = _mapping(container)
        yield from _efa(part, (*path, "containers", at), _mapping(told.get("resources")), instance_type)
        mounts = [
            str(each.get("mountPath", "")).rstrip("/")
            for each in _dicts(told.get("volumeMounts"))
            if str(each.get("name")) in kept
        ]
        for place, folder in _saved(told):
            inside = not any(folder == mount or folder.startswith(f"{mount}/") for mount in mounts)
            if inside and "$" not in folder and "://" not in folder:
                yield Found("checkpoint_inside_container", part.line(*path, "containers", at, *place), folder)


def _saved(container: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    """Options that say where checkpoints go, with their folders."""
    for name in ("command", "args"):
        words = [str(word) for word in _list(container.get(name))]
        for at, word in enumerate(words):
            inner = word.split() if " " in word else [word]
            inner += [words[at + 1]] if len(inner) == 1 and "=" not in word and at + 1 < len(words) else []
            for here, each in enumerate(inner):
                option, sign, folder = each.partition("=")
                if not option.startswith("-") and not sign:
                    continue
                if not sign and here + 1 < len(inner):
                    folder = inner[here + 1]
                if SAVES.fullmatch(option) and folder and not re.fullmatch(r"-.*|[\d.]+|true|false", folder, re.I):
                    yield (name, at), folder.strip("\"'").rstrip("/")


def _instance_type(pod: Mapping[str, Any]) -> str:
    chosen = [str(_mapping(pod.get("nodeSelector")).get(label, "")) for label in TYPE_LABELS]
    terms = _mapping(
        _mapping(_mapping(pod.get("affinity")).get("nodeAffinity")).get(
            "requiredDuringSchedulingIgnoredDuringExecution"
        )
    )
    for term in _dicts(terms.get("nodeSelectorTerms")):
        for each in _dicts(term.get("matchExpressions")):
            if each.get("key") in TYPE_LABELS:
                chosen += [str(value) for value in _list(each.get("values"))]
    return next((each for each in chosen if each and "$" not in each), "")


def _efa(part: Part, path: Path, resources: Mapping[str, Any], instance_type: str) -> Iterator[Found]:
    asked = {**_mapping(resources.get("requests")), **_mapping(resources.get("limits"))}
    most = fast_network(instance_type)
    if not most or not any(name in asked for name in ACCELERATORS):
        return
    place = part.line(*path, "resourcesPerNode" if part.kind == "TrainJob" else "resources")
    wanted = asked.get(EFA)
    if wanted is None:
        yield Found("efa_not_requested", place, instance_type, most)
    elif str(wanted).isdigit() and int(wanted) < most:
        yield Found("efa_fewer", place, wanted, most, {"type": instance_type})


def _label(part: Part, name: str) -> str:
    return str(_mapping(_mapping(part.told.get("metadata")).get("labels")).get(name, ""))


def _again(part: Part, around: Around) -> Iterator[Found]:
    """Whether it comes back after a fault, and how often."""
    annotations = _mapping(_mapping(part.told.get("metadata")).get("annotations"))
    spec = _mapping(part.told.get("spec"))
    for name, value in annotations.items():
        if not isinstance(value, str):
            yield Found("annotation_not_text", part.line("metadata", "annotations", name), name)
    if part.kind == "PyTorchJob":
        if not resumes(part.told) and around.heals is not False:
            yield Found("auto_resume_missing", part.line("metadata"))
        if RETRIES not in annotations and _mapping(spec.get("runPolicy")).get("backoffLimit") is None:
            yield Found("max_retry_missing", part.line("metadata"))
    if part.kind == "HyperPodPyTorchJob" and _mapping(spec.get("runPolicy")).get("jobMaxRetryCount") is None:
        yield Found("max_retry_missing", part.line("spec"))


def resumes(told: Mapping[str, Any]) -> bool:
    """Whether a job comes back by itself: HyperPod's own kind always does, a PyTorchJob when its annotation says so."""
    annotations = _mapping(_mapping(told.get("metadata")).get("annotations"))
    return told.get("kind") == "HyperPodPyTorchJob" or str(annotations.get(RESUMES)).lower() == "true"


def _facts(documents: list[Part], jobs: list[Part]) -> dict[str, Any]:
    told: dict[str, Any] = {"kinds": [part.kind for part in documents]}
    if not jobs:
        return told
    job = jobs[0]
    spec = _mapping(job.told.get("spec"))
    metadata = _mapping(job.told.get("metadata"))
    replicas = [
        each.get("replicas", 1)
        for each in [*_mapping(spec.get("pytorchReplicaSpecs")).values(), *_list(spec.get("replicaSpecs"))]
        if isinstance(each, Mapping)
    ]
    nodes = _mapping(spec.get("trainer")).get(
        "numNodes", sum(replicas) if all(isinstance(n, int) for n in replicas) else None
    )
    rendezvous = _mapping(spec.get("elasticPolicy")).get("rdzvBackend")
    processes = spec.get("nprocPerNode", _mapping(spec.get("trainer")).get("numProcPerNode"))
    told |= {
        "kind": job.kind,
        "job_name": metadata.get("name"),
        "namespace": metadata.get("namespace"),
        "nodes": nodes if isinstance(nodes, int) else None,
        "queue": _label(job, QUEUE) or None,
        "priority": _label(job, PRIORITY) or None,
        "runtime": _mapping(spec.get("runtimeRef")).get("name"),
        "rendezvous": rendezvous,
        "processes_per_node": int(processes) if str(processes).isdigit() else None,
        "nprocPerNode_is_text": isinstance(spec["nprocPerNode"], str) if "nprocPerNode" in spec else None,
        "auto_resume": resumes(job.told),
    }
    return {name: value for name, value in told.items() if value is not None}
