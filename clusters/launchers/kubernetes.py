"""Kubernetes through its official client: jobs of the training operator, of HyperPod's operator and of the trainer."""

import json
import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import urllib3

from clusters.launchers import (
    Ability,
    Ended,
    JobSeen,
    KubernetesEndpoint,
    LaunchSpec,
    LogPage,
    NodeSeen,
    kubernetes_logs,
    manifests,
    refuse,
)
from clusters.launchers import kubernetes_words as words
from clusters.providers import Account, ProviderError

TIMEOUT = (3, 15)
PAGE = 2000
OURS = f"{manifests.MANAGED_BY}={manifests.OURS}"
KUEUE = ("kueue.x-k8s.io", "v1beta1", "workloads")
JOB_UID = "kueue.x-k8s.io/job-uid"
CLIENTS = 50
CANNOT: Mapping[Ability, str] = {
    "array": "Kubernetes knows no arrays of jobs; launch one job for each task.",
    "after": "On Kubernetes no job waits for another; launch it when the other has ended.",
    "begin_at": "On Kubernetes no job waits for a time; launch it then.",
    # HyperPod's own kind can; the verb looks at the kind.
    "requeue": "It cannot be sent back to its queue. Cancel it and launch it again; it begins from its checkpoint.",
    "ended": "Kubernetes keeps no accounts of jobs that have ended.",
}


class Kubernetes:
    """The launcher of an EKS cluster. A job's name is its key, and the API keeps two of one name apart by itself."""

    consistency = 0.0  # its lists are read from what a majority of its database holds

    def cannot(self, endpoint: KubernetesEndpoint) -> Mapping[Ability, str]:
        return CANNOT

    def submit(self, endpoint: KubernetesEndpoint, spec: LaunchSpec) -> str:
        """Creates the object; what is there under its name already is taken over if we made it, and refused if not."""
        if spec.manifest is None:
            raise ProviderError("refused", "A job on Kubernetes needs a manifest.", code="NoManifest")
        kind = str(spec.manifest.get("kind"))
        if kind not in manifests.KINDS:
            raise ProviderError("refused", f"{kind} is none of {', '.join(manifests.KINDS)}.", code="UnknownKind")
        refuse(spec, CANNOT)
        token = spec.comment or spec.name
        secret = f"{spec.name}-env" if spec.environment or spec.files else ""
        names, files = tuple(sorted(spec.environment)), tuple(sorted(spec.files))
        mark = manifests.Mark(spec.name, token, secret, names, files, spec.held, spec.only, spec.without)
        body = manifests.marked(spec.manifest, endpoint.namespace, mark)
        if secret:
            # First: a container whose variables are not there yet counts against its job's time limit.
            _keep_secret(endpoint, secret, {**spec.files, **spec.environment})
        try:
            there = _custom(endpoint, "create", kind, body=body, field_validation="Strict")
        except ProviderError as error:
            if error.code != "AlreadyExists":
                if secret and error.kind == "refused":
                    _drop_secret(endpoint, secret)
                raise
            there = _custom(endpoint, "get", kind, spec.name)
            if (there["metadata"].get("annotations") or {}).get(manifests.TOKEN) != token:
                if secret:
                    _drop_secret(endpoint, secret)
                sentence = (
                    f"In the namespace {endpoint.namespace} there is already a {kind} {spec.name} that Cohort did not make; "
                    "it is not touched. Launch under another name, or delete it."
                )
                raise ProviderError("refused", sentence, code="Foreign") from error
        if secret:
            _give_secret(endpoint, secret, there)
        return words.external_id(kind, spec.name)

    def observe(self, endpoint: KubernetesEndpoint) -> list[JobSeen]:
        """One list call for each kind of job and one for pods; one for Kueue's workloads where a job is held back, one for
        events where a pod waits, and one for nodes where a pod that runs is not ready."""
        found = [thing for kind in manifests.KINDS for thing in _jobs(endpoint, kind)]
        if not found:
            return []
        pods: dict[str, list[Mapping[str, Any]]] = {}
        for pod in _pods(endpoint):
            pods.setdefault(words.job_of(pod), []).append(pod)
        held = any(_suspended(thing) for thing in found)
        workloads = {
            (thing["metadata"].get("labels") or {}).get(JOB_UID): thing
            for thing in (_workloads(endpoint) if held else [])
        }
        ours = [pod for thing in found for pod in pods.get(thing["metadata"]["name"], [])]
        beside, now = _beside(endpoint, ours), datetime.now(UTC)
        return [
            words.seen(
                thing, pods.get(thing["metadata"]["name"], []), workloads.get(thing["metadata"]["uid"]), now, beside
            )
            for thing in found
        ]

    def nodes(self, endpoint: KubernetesEndpoint) -> list[NodeSeen]:
        used: dict[str, int] = {}
        pods: list[str] = []
        for pod in _pods(endpoint):
            if words.still_running([pod]) and pod["spec"].get("nodeName"):
                pods.append(pod["spec"]["nodeName"])
                for container in pod["spec"]["containers"]:
                    limits = (container.get("resources") or {}).get("limits") or {}
                    taken = sum(int(limits.get(name, 0)) for name in (manifests.GPU, manifests.NEURON))
                    used[pod["spec"]["nodeName"]] = used.get(pod["spec"]["nodeName"], 0) + taken
        names = [(thing, thing["metadata"]["name"]) for thing in _nodes(endpoint)]
        return [words.node(thing, used.get(name, 0), pods.count(name)) for thing, name in names]

    def cancel(self, endpoint: KubernetesEndpoint, external_id: str) -> None:
        """Delete it, its pods first: while the object is there, so may be a pod. Its list is consistent: gone is gone."""
        self._change(endpoint, external_id, "delete", propagation_policy="Foreground")

    def hold(self, endpoint: KubernetesEndpoint, external_id: str) -> None:
        self._suspend(endpoint, external_id, True)

    def release(self, endpoint: KubernetesEndpoint, external_id: str) -> None:
        self._suspend(endpoint, external_id, False)

    def requeue(self, endpoint: KubernetesEndpoint, external_id: str) -> None:
        """Only HyperPod's operator begins a job again because one of its pods went."""
        told = words.read_id(external_id)
        if told is None:
            return
        kind, name = told
        if kind != "HyperPodPyTorchJob":
            raise ProviderError("refused", f"{name} is a {kind}. {CANNOT['requeue']}", code="NoRequeue")
        pods = words.still_running(_pods(endpoint, f"{manifests.JOB}={name}"))
        if pods:
            _call(
                _core(endpoint).delete_namespaced_pod,
                pods[0],
                endpoint.namespace,
                _preload_content=False,
                _request_timeout=TIMEOUT,
            )

    def tail(self, account: Account, endpoint: KubernetesEndpoint, external_id: str, lines: int = 200) -> str:
        """The last lines of the pod that tells most: one that failed, else the last rank's, which reports the steps."""
        pods = _telling(endpoint, external_id)
        answer = _log(endpoint, pods[-1]["metadata"]["name"], tail_lines=min(max(lines, 1), 10_000)) if pods else None
        return answer.decode("utf-8", "replace").rstrip("\n") if answer else ""

    def page(
        self,
        account: Account,
        endpoint: KubernetesEndpoint,
        external_id: str,
        position: str,
        since: datetime | None,
        *,
        ended: bool,
    ) -> LogPage:
        def reads(
            pod: str, *, seconds: int | None = None, tail: int | None = None, previous: bool = False
        ) -> bytes | None:
            asked = {"since_seconds": seconds, "tail_lines": tail, "previous": previous or None}
            asked["limit_bytes"] = None if tail else kubernetes_logs.MOST_BYTES
            told = {name: value for name, value in asked.items() if value is not None}
            return _log(endpoint, pod, timestamps=True, **told)

        pods = _telling(endpoint, external_id)
        return kubernetes_logs.page(reads, pods, position, datetime.now(UTC), since)

    def ended(self, endpoint: KubernetesEndpoint, since: datetime) -> list[Ended]:
        raise ProviderError("refused", CANNOT["ended"], code="NoAccounting")

    def tidy(self, endpoint: KubernetesEndpoint, external_id: str) -> int:
        """Delete pods that an ended job has left running; returns how many there were."""
        told = words.read_id(external_id)
        if told is None:
            return 0
        kind, name = told
        label = words.JOBSET if kind == "TrainJob" else manifests.JOB
        left = words.still_running(_pods(endpoint, f"{label}={name}"))
        for pod in left:
            try:
                _call(
                    _core(endpoint).delete_namespaced_pod,
                    pod,
                    endpoint.namespace,
                    _preload_content=False,
                    _request_timeout=TIMEOUT,
                )
            except ProviderError as error:
                if error.code != "NotFound":
                    raise
        return len(left)

    def _change(self, endpoint: KubernetesEndpoint, external_id: str, verb: str, **more: Any) -> None:
        told = words.read_id(external_id)
        if told is None:
            return
        try:
            _custom(endpoint, verb, *told, **more)
        except ProviderError as error:
            if error.code != "NotFound":
                raise

    def _suspend(self, endpoint: KubernetesEndpoint, external_id: str, wanted: bool) -> None:
        """Kueue lets go what it has admitted, so where it queues the job it is Kueue that is told to hold it."""
        told = words.read_id(external_id)
        if told is None:
            return
        kind, name = told
        try:
            there = _custom(endpoint, "get", kind, name)
        except ProviderError as error:
            if error.code == "NotFound":
                return
            raise
        patch: dict[str, Any] = {"metadata": {"annotations": {manifests.HELD: "yes" if wanted else None}}, "kind": kind}
        queued = (there["metadata"].get("labels") or {}).get(manifests.QUEUE)
        if not queued:
            manifests.suspend(patch, wanted)
        patch.pop("kind")
        self._change(endpoint, external_id, "patch", body=patch)
        if queued:
            for workload in _workloads(endpoint, f"{JOB_UID}={there['metadata']['uid']}"):
                group, version, plural = KUEUE
                body = {"spec": {"active": not wanted}}
                name = workload["metadata"]["name"]
                _patch(endpoint, group, version, plural, name, body)


class Clients:
    """What one process keeps between calls: a client for each API, with its connections."""

    def __init__(self) -> None:
        self.made: dict[tuple[str, str], Any] = {}

    def client(self, endpoint: KubernetesEndpoint) -> Any:
        # Here and not above: the library takes more than a second to load, and only who speaks to Kubernetes needs it.
        from kubernetes import client

        key = (endpoint.url, endpoint.ca_pem)
        if key not in self.made:
            if len(self.made) >= CLIENTS:
                self.made.clear()
            settings = client.Configuration()
            settings.host, settings.retries, settings.verify_ssl = endpoint.url, False, True
            made = client.ApiClient(settings)
            # The library takes the authority as a file only, and a child of ours that lets go of it would delete ours.
            made.rest_client.pool_manager.connection_pool_kw |= {"ca_certs": None, "ca_cert_data": endpoint.ca_pem}
            self.made[key] = made
        self.made[key].set_default_header("authorization", f"Bearer {endpoint.token}")
        return self.made[key]


_clients = Clients()


def _start_again() -> None:
    """A child process must not share its parent's open connections."""
    global _clients
    _clients = Clients()


os.register_at_fork(after_in_child=_start_again)


def _core(endpoint: KubernetesEndpoint) -> Any:
    from kubernetes import client

    return client.CoreV1Api(_clients.client(endpoint))


def _custom(endpoint: KubernetesEndpoint, verb: str, kind: str, name: str = "", **more: Any) -> dict[str, Any]:
    """One call about one object of one of our kinds."""
    from kubernetes import client

    api = client.CustomObjectsApi(_clients.client(endpoint))
    method = getattr(api, f"{verb}_namespaced_custom_object")
    group, version, plural = manifests.KINDS[kind]
    named = {"name": name} if name else {}
    more = {**more, **named, "_request_timeout": TIMEOUT}
    told: dict[str, Any] = _call(method, group, version, endpoint.namespace, plural, **more)
    return told


def _patch(endpoint: KubernetesEndpoint, group: str, version: str, plural: str, name: str, body: Any) -> None:
    from kubernetes import client

    api = client.CustomObjectsApi(_clients.client(endpoint))
    _call(
        api.patch_namespaced_custom_object,
        group,
        version,
        endpoint.namespace,
        plural,
        name,
        body,
        _request_timeout=TIMEOUT,
    )


def _listed(
    endpoint: KubernetesEndpoint, group: str, version: str, plural: str, selector: str
) -> Iterator[dict[str, Any]]:
    """Page after page; nothing where the cluster does not know the kind, because nobody installed its operator."""
    from kubernetes import client

    api, following = client.CustomObjectsApi(_clients.client(endpoint)), ""
    while True:
        more = {"_continue": following} if following else {}
        try:
            told = _call(
                api.list_namespaced_custom_object, group, version, endpoint.namespace, plural,
                label_selector=selector, limit=PAGE, _request_timeout=TIMEOUT, **more,
            )  # fmt: skip
        except ProviderError as error:
            if error.code == "NoSuchKind":
                return
            raise
        yield from told["items"]
        following = (told.get("metadata") or {}).get("continue") or ""
        if not following:
            return


def _jobs(endpoint: KubernetesEndpoint, kind: str) -> Iterator[dict[str, Any]]:
    yield from ({**thing, "kind": kind} for thing in _listed(endpoint, *manifests.KINDS[kind], OURS))


def _workloads(endpoint: KubernetesEndpoint, selector: str = "") -> Iterator[dict[str, Any]]:
    yield from _listed(endpoint, *KUEUE, selector)


def _pods(endpoint: KubernetesEndpoint, selector: str = "") -> Iterator[dict[str, Any]]:
    core, following = _core(endpoint), ""
    while True:
        more = {"_continue": following} if following else {}
        told = _read(
            _call(
                core.list_namespaced_pod, endpoint.namespace, label_selector=selector, limit=PAGE,
                _preload_content=False, _request_timeout=TIMEOUT, **more,
            )
        )  # fmt: skip
        yield from told["items"]
        following = (told.get("metadata") or {}).get("continue") or ""
        if not following:
            return


def _nodes(endpoint: KubernetesEndpoint) -> list[dict[str, Any]]:
    told = _read(_call(_core(endpoint).list_node, _preload_content=False, _request_timeout=TIMEOUT))
    return list(told["items"])


def _beside(endpoint: KubernetesEndpoint, pods: list[Mapping[str, Any]]) -> words.Beside:
    """Only explanations: whoever may not read them is told less, and of every job all the same."""
    events: dict[str, Mapping[str, Any]] = {}
    unready: dict[str, str] = {}
    try:
        if any(words.waits(pod) for pod in pods):
            told = _call(
                _core(endpoint).list_namespaced_event, endpoint.namespace, field_selector="type=Warning", limit=PAGE,
                _preload_content=False, _request_timeout=TIMEOUT,
            )  # fmt: skip
            events = words.warnings(_read(told)["items"])
        if any(words.doubtful(pod) for pod in pods):
            unready = words.unready(words.node(thing, 0, 0) for thing in _nodes(endpoint))
    except ProviderError as error:
        if error.kind not in ("denied", "refused"):
            raise
    return words.Beside(events, unready)


def _telling(endpoint: KubernetesEndpoint, external_id: str) -> list[Mapping[str, Any]]:
    """The pods of a job that have begun; the last one tells most: the last rank's, which reports the steps."""
    told = words.read_id(external_id)
    if told is None:
        return []
    kind, name = told
    label = words.JOBSET if kind == "TrainJob" else manifests.JOB
    pods = [pod for pod in _pods(endpoint, f"{label}={name}") if (pod.get("status") or {}).get("phase") != "Pending"]

    def order(pod: Mapping[str, Any]) -> tuple[str, int, str]:
        named = pod["metadata"]["name"]
        return named.rstrip("0123456789"), len(named), named

    return sorted(pods, key=order)


def _log(endpoint: KubernetesEndpoint, pod: str, **asked: Any) -> bytes | None:
    """None where the pod went, or its container has not begun."""
    try:
        answer = _call(
            _core(endpoint).read_namespaced_pod_log,
            pod,
            endpoint.namespace,
            _preload_content=False,
            _request_timeout=TIMEOUT,
            **asked,
        )
    except ProviderError as error:
        if error.code in ("NotFound", "BadRequest"):
            return None
        raise
    return bytes(answer.data)


def _suspended(thing: Mapping[str, Any]) -> bool:
    conditions = (thing.get("status") or {}).get("conditions") or []
    return any(one["type"] == "Suspended" and one["status"] == "True" for one in conditions)


def _keep_secret(endpoint: KubernetesEndpoint, name: str, values: Mapping[str, str]) -> None:
    """Values that nobody may read in the job's object."""
    meta = {"name": name, "labels": {manifests.MANAGED_BY: manifests.OURS}}
    body = {"apiVersion": "v1", "kind": "Secret", "metadata": meta, "type": "Opaque", "stringData": dict(values)}
    try:
        _secrets(endpoint, "create", body)
    except ProviderError as error:
        if error.code != "AlreadyExists":
            raise


def _give_secret(endpoint: KubernetesEndpoint, name: str, owner: Mapping[str, Any]) -> None:
    """It goes when its job goes."""
    meta = owner["metadata"]
    reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": meta["name"], "uid": meta["uid"]}
    _secrets(endpoint, "patch", name, {"metadata": {"ownerReferences": [reference]}})


def _drop_secret(endpoint: KubernetesEndpoint, name: str) -> None:
    try:
        _secrets(endpoint, "delete", name)
    except ProviderError as error:
        if error.code != "NotFound":
            raise


def _secrets(endpoint: KubernetesEndpoint, verb: str, *words_: Any) -> None:
    named = words_[:1] if verb != "create" else ()
    method = getattr(_core(endpoint), f"{verb}_namespaced_secret")
    _call(method, *named, endpoint.namespace, *words_[len(named) :], _preload_content=False, _request_timeout=TIMEOUT)


def _read(answer: Any) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(answer.data)
    return told


def _call(method: Any, *words_: Any, **more: Any) -> Any:
    """One request; what went wrong is said in our words."""
    from kubernetes.client import ApiException

    try:
        return method(*words_, **more)
    except ApiException as error:
        raise _told(error) from error
    except urllib3.exceptions.HTTPError as error:
        raise ProviderError("unclear", f"Kubernetes gave no answer: {error}", code=type(error).__name__) from error


def _told(error: Any) -> ProviderError:
    try:
        status = json.loads(error.body or "{}")
    except (ValueError, TypeError):
        status = {}
    status = status if isinstance(status, dict) else {}
    number, reason = int(error.status or 0), str(status.get("reason") or "")
    message = str(status.get("message") or error.reason or "Kubernetes gave no reason.")
    if number == 0:
        return ProviderError("unclear", f"Kubernetes gave no answer: {message}", code="NoAnswer")
    if number in (401, 403):
        return ProviderError("denied", f"Kubernetes does not let us in: {message}", code=reason or str(number))
    if number == 429:
        return ProviderError("throttled", message, code=reason or "429")
    if number >= 500:
        return ProviderError("unclear", f"Kubernetes answered {number}: {message}", code=reason or str(number))
    if number == 404 and not reason:
        return ProviderError("refused", "The cluster does not know this kind.", code="NoSuchKind")
    return ProviderError("refused", message, code=reason or str(number))
