"""The API server of each EKS cluster: paths, verbs, conflicts, watches and logs as Kubernetes has them."""

import base64
import copy
import json
import re
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from clusters.sandbox import eks
from clusters.sandbox.cloud import Cloud
from clusters.sandbox.errors import NoAnswer
from clusters.sandbox.kubernetes import access, kueue, machines, play, runs, schemas
from clusters.sandbox.kubernetes.kinds import BY_PATH, BY_PLURAL, Kind
from clusters.sandbox.kubernetes.play import Scene
from clusters.sandbox.kubernetes.runs import NEVER, QUEUE, Run
from clusters.sandbox.kubernetes.world import World
from clusters.sandbox.services import Call
from clusters.sandbox.wire import Answer

PATH = re.compile(r"/k8s/(?P<account>\d{12})/(?P<region>[a-z0-9-]+)/(?P<cluster>[^/]+)(?P<rest>/.*)?")
RESOURCE = re.compile(
    r"/(?:api/(?P<core>v1)|apis/(?P<group>[a-z0-9.-]+)/(?P<version>[a-z0-9]+))"
    r"(?:/namespaces/(?P<namespace>[^/]+)(?=/))?/(?P<plural>[a-z]+)(?:/(?P<name>[^/]+))?(?:/(?P<sub>status|log))?/?"
)
POLL, BOOKMARK, LONGEST_WATCH = 0.1, 10.0, 300.0
PHRASES = {
    400: "BadRequest", 401: "Unauthorized", 403: "Forbidden", 404: "NotFound", 405: "MethodNotAllowed", 409: "Conflict",
    410: "Expired", 415: "UnsupportedMediaType", 422: "Invalid", 429: "TooManyRequests", 500: "InternalError",
}  # fmt: skip


@dataclass
class Stream:
    """An answer that goes on: chunks until the iterator ends."""

    chunks: Iterator[bytes]
    content_type: str = "application/json"


class Refused(Exception):
    """A Status object of the API server."""

    def __init__(self, code: int, message: str, reason: str = "", details: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code, self.reason = code, reason or PHRASES[code]
        self.status = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": message,
            "reason": self.reason,
            "details": details or {},
            "code": code,
        }


@dataclass
class Asking:
    """One request, read."""

    cloud: Cloud
    call: Call
    eks: dict[str, Any]
    scene: Scene
    kind: Kind
    namespace: str
    name: str
    sub: str
    query: dict[str, str]

    @property
    def world(self) -> World:
        return self.scene.world


def answer(cloud: Cloud, method: str, path: str, query: str, headers: dict[str, str], body: bytes) -> Answer | Stream:
    found = PATH.fullmatch(path)
    if found is None:
        raise NoAnswer()
    account, region, name, rest = found["account"], found["region"], found["cluster"], found["rest"] or "/"
    given = {key.lower(): value for key, value in headers.items()}
    asked = dict(parse_qsl(query, keep_blank_values=True))
    resource = RESOURCE.fullmatch(rest)
    what = _what(resource)
    verb = "WATCH" if asked.get("watch") in ("true", "1", "True") else method
    names = {"clusterName": name, "Path": rest, "name": resource["name"] if resource else None}
    if method == "POST":
        names["name"] = _name_in(body)
    call = Call(account, region, "kubernetes", f"{verb} {what}", names, 0.0)
    with cloud.lock:
        slow = cloud.faults.take_for_call(("slow",), account, "kubernetes", call.operation, call.parameters)
    if slow:
        time.sleep(slow.seconds)
    with cloud.lock:
        call.now = cloud.now()
        cluster = eks.present(cloud, call, name)
        silent = cloud.faults.take_for_call(("no_answer",), account, "kubernetes", call.operation, call.parameters)
        if silent or cluster is None or eks.status(call.now, cluster) != "ACTIVE":
            cloud.note(call, Answer(0), "no_answer")
            cloud.commit()
            raise NoAnswer(silent.seconds if silent else 0)
        said: Answer | Stream
        try:
            cloud.catch_up(account, region)
            said = _handled(cloud, call, cluster, resource, verb, given, asked, body)
        except Refused as refusal:
            said = _json(refusal.status, refusal.code, error=refusal.reason)
            if refusal.code == 429:
                said.headers["Retry-After"] = "1"
        after = None
        if isinstance(said, Answer) and said.status < 300:
            kinds = ("timeout_after_success", "error_after_success")
            after = cloud.faults.take_for_call(kinds, account, "kubernetes", call.operation, call.parameters)
        noted = said if isinstance(said, Answer) else Answer(200)
        cloud.note(call, noted, f"lost: {after.fault}" if after else noted.error)
        cloud.commit()
    if after and after.fault == "timeout_after_success":
        raise NoAnswer(after.seconds)
    if after:
        return _json(Refused(500, "etcdserver: request timed out").status, 500)
    return said


def _what(resource: re.Match[str] | None) -> str:
    if resource is None:
        return "?"
    return resource["plural"] + (f"/{resource['sub']}" if resource["sub"] else "")


def _name_in(body: bytes) -> str | None:
    try:
        return str(json.loads(body)["metadata"]["name"])
    except (ValueError, KeyError, TypeError):
        return None


def _handled(
    cloud: Cloud, call: Call, cluster: dict[str, Any], resource: re.Match[str] | None, verb: str,
    headers: dict[str, str], query: dict[str, str], body: bytes,
) -> Answer | Stream:  # fmt: skip
    who = access.caller(cloud, cluster["name"], headers.get("authorization", ""))
    if who is None or not access.known(cluster, who):
        raise Refused(401, "Unauthorized")
    if cloud.faults.take_for_call(("throttling",), call.account, "kubernetes", call.operation, call.parameters):
        raise Refused(429, "Too many requests, please try again later.")
    if resource is None:
        return _discovery(call)
    group, version = resource["group"] or "", resource["version"] or resource["core"]
    kind = BY_PATH.get((group, version, resource["plural"]))
    if kind is None:
        return Answer(404, b"404 page not found\n", {"Content-Type": "text/plain"}, "not found")
    namespace, name = resource["namespace"] or "", resource["name"] or ""
    _authorise(cluster, who, kind, verb, namespace, name, resource["sub"] or "")
    world = play.world_of(cloud, call.account, call.region, cluster)
    scene = Scene(cloud, world, machines.clusters_on(cloud, call.account, call.region, cluster["name"]))
    play.play(scene, call.now)
    cloud.store.change(play.shelf_of(call.account, call.region))
    asking = Asking(cloud, call, cluster, scene, kind, namespace, name, resource["sub"] or "", query)
    handler = {
        ("GET", True): _get,
        ("GET", False): _list,
        ("WATCH", False): _watch,
        ("POST", False): lambda one: _create(one, _read(body)),
        ("PUT", True): lambda one: _replace(one, _read(body)),
        ("PATCH", True): lambda one: _patch(one, _read(body), headers.get("content-type", "")),
        ("DELETE", True): lambda one: _delete(one, _read(body) if body else {}),
    }.get((verb, bool(name)))
    if handler is None:
        raise Refused(405, "the server does not allow this method on the requested resource")
    said: Answer | Stream = handler(asking)
    return said


def _discovery(call: Call) -> Answer:
    if call.parameters["Path"].rstrip("/") == "/version":
        return _json({"major": "1", "minor": "33", "gitVersion": "v1.33.5-eks-113cf36", "platform": "linux/amd64"})
    return Answer(404, b"404 page not found\n", {"Content-Type": "text/plain"}, "not found")


def _authorise(cluster: dict[str, Any], who: Any, kind: Kind, verb: str, namespace: str, name: str, sub: str) -> None:
    word = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete", "WATCH": "watch"}.get(
        verb, "get" if name else "list"
    )
    resource = f"{kind.plural}/{sub}" if sub == "log" else kind.plural
    if access.allowed(cluster, who, word, resource, namespace):
        return
    where = f' in the namespace "{namespace}"' if namespace else " at the cluster scope"
    target = f'{kind.status_name} "{name}"' if name else kind.status_name
    raise Refused(
        403,
        f'{target} is forbidden: User "{who.arn}" cannot {word} resource "{resource}" in API group "{kind.group}"{where}',
        details={"name": name, "group": kind.group, "kind": kind.plural},
    )


def _read(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        raise Refused(400, "couldn't get version/kind; json parse error: the body is not JSON") from None


def _there(asking: Asking) -> dict[str, Any]:
    thing = asking.world.find(asking.kind, asking.namespace, asking.name)
    if thing is None:
        raise Refused(
            404,
            f'{asking.kind.status_name} "{asking.name}" not found',
            details={"name": asking.name, "group": asking.kind.group, "kind": asking.kind.plural},
        )
    return thing


def _get(asking: Asking) -> Answer | Stream:
    if asking.sub == "log":
        return _log(asking)
    return _json(_there(asking))


def _list(asking: Asking) -> Answer:
    """A page begins behind the name at which the last one ended, as it was at that version; we show what is now."""
    query = asking.query
    found = [thing for thing in asking.world.listed(asking.kind, asking.namespace) if _selected(thing, query)]
    after, limit = query.get("continue", ""), int(query.get("limit") or 0)
    if after:
        version, _, last = after.partition("|")
        if not version.isdigit() or int(version) < asking.world.compacted:
            raise Refused(410, "The provided continue parameter is too old to display a consistent list result.")
        found = [thing for thing in found if _place(thing) > last]
    meta: dict[str, Any] = {"resourceVersion": str(asking.world.version)}
    if limit and len(found) > limit:
        meta["remainingItemCount"] = len(found) - limit
        found = found[:limit]
        meta["continue"] = f"{asking.world.version}|{_place(found[-1])}"
    return _json(
        {"kind": f"{asking.kind.name}List", "apiVersion": asking.kind.api_version, "metadata": meta, "items": found}
    )


def _place(thing: dict[str, Any]) -> str:
    return f"{thing['metadata'].get('namespace', '')}/{thing['metadata']['name']}"


def _selected(thing: dict[str, Any], query: dict[str, str]) -> bool:
    labels = thing["metadata"].get("labels") or {}
    for term in _terms(query.get("labelSelector", "")):
        if not _label(term, labels):
            return False
    for term in filter(None, query.get("fieldSelector", "").split(",")):
        field, _, wanted = term.replace("==", "=").partition("=")
        negated = field.endswith("!")
        value: Any = thing
        for part in field.rstrip("!").split("."):
            value = value.get(part, "") if isinstance(value, dict) else ""
        if (str(value) == wanted) == negated:
            return False
    return True


def _terms(selector: str) -> list[str]:
    """At the commas outside of brackets."""
    return [term.strip() for term in re.split(r",(?![^(]*\))", selector) if term.strip()]


def _label(term: str, labels: dict[str, str]) -> bool:
    among = re.fullmatch(r"(\S+)\s+(in|notin)\s+\(([^)]*)\)", term)
    if among:
        values = [one.strip() for one in among[3].split(",")]
        return (labels.get(among[1]) in values) == (among[2] == "in")
    for sign in ("!=", "==", "="):
        if sign in term:
            name, value = term.split(sign, 1)
            return (labels.get(name.strip()) == value.strip()) == (sign != "!=")
    return term[1:] not in labels if term.startswith("!") else term in labels


def _create(asking: Asking, thing: Any) -> Answer:
    kind, world = asking.kind, asking.world
    if not isinstance(thing, dict) or not isinstance(thing.get("metadata"), dict):
        raise Refused(400, "the object provided is unrecognized (must be of type Object): it has no metadata")
    if (thing.get("apiVersion"), thing.get("kind")) != (kind.api_version, kind.name):
        message = f"the API version in the data ({thing.get('apiVersion')}) does not match the expected API version"
        raise Refused(400, f"{message} ({kind.api_version})")
    thing = copy.deepcopy(thing)
    meta = thing["metadata"]
    if kind.namespaced:
        if meta.get("namespace", asking.namespace) != asking.namespace:
            raise Refused(400, "the namespace of the provided object does not match the namespace sent on the request")
        meta["namespace"] = asking.namespace
        if world.find(BY_PLURAL["namespaces"], "", asking.namespace) is None:
            raise Refused(404, f'namespaces "{asking.namespace}" not found')
    for field in ("uid", "resourceVersion", "creationTimestamp", "generation"):
        meta.pop(field, None)
    thing.pop("status", None)
    if kind.plural == "secrets" and "stringData" in thing:
        told = {key: base64.b64encode(value.encode()).decode() for key, value in thing.pop("stringData").items()}
        thing["data"] = {**(thing.get("data") or {}), **told}
    _checked(asking, thing)
    name = meta["name"]
    if world.find(kind, asking.namespace, name) is not None:
        raise Refused(
            409,
            f'{kind.status_name} "{name}" already exists',
            "AlreadyExists",
            {"name": name, "group": kind.group, "kind": kind.plural},
        )
    if kind.runs and (meta.get("labels") or {}).get(QUEUE):
        kueue.held_back(thing)
    meta["uid"], meta["generation"] = str(uuid.uuid4()), 1
    stored = world.put(kind, thing, asking.scene.stamp(asking.call.now))
    scene = asking.scene
    scene.at = scene.world.settled = max(scene.world.settled, asking.call.now)
    if kind.runs:
        _take_up(asking, stored)
    play.step(scene)
    asking.call.effective = True
    return _json(world.find(kind, asking.namespace, name), 201)


def _take_up(asking: Asking, stored: dict[str, Any]) -> None:
    scene, call = asking.scene, asking.call
    run = play.begin(scene, stored)
    # A node that breaks collectives fails whichever pair it is in.
    names = {"name": run.name, "clusterName": asking.eks["name"], "nodes": list(runs.pinned(stored))}
    for kind in ("job_fails", "image_pull", "kueue_stuck"):
        fault = asking.cloud.faults.take((kind,), call.account, "kubernetes", call.operation, names)
        if fault and kind == "job_fails":
            run.doomed = {"state": fault.state, "exit_code": fault.exit_code, "message": fault.message}
        elif fault and kind == "image_pull":
            run.bad_image = fault.message or "Back-off pulling image: not found"
        elif fault:
            run.stuck = True


def _checked(asking: Asking, thing: dict[str, Any]) -> None:
    kind = asking.kind
    if asking.query.get("fieldValidation") == "Strict":
        strange = schemas.unknown(kind, thing)
        if strange:
            told = ", ".join(f'unknown field "{one}"' for one in strange)
            raise Refused(400, f'{kind.name} in version "{kind.version}" cannot be handled as a {kind.name}: strict decoding error: {told}')  # fmt: skip
    wrong = schemas.problems(kind, thing)
    if wrong:
        name = thing["metadata"].get("name", "")
        said = ", ".join(f"{field}: {message}" for field, _, message in wrong)
        causes = [{"reason": reason, "message": message, "field": field} for field, reason, message in wrong]
        title = f"{kind.name}.{kind.group}" if kind.group else kind.name
        details = {"name": name, "group": kind.group, "kind": kind.name, "causes": causes}
        raise Refused(422, f'{title} "{name}" is invalid: {said if len(wrong) == 1 else f"[{said}]"}', details=details)


def _replace(asking: Asking, thing: Any) -> Answer:
    before = _there(asking)
    version = (thing.get("metadata") or {}).get("resourceVersion")
    return _changed(asking, before, {**thing, "status": before.get("status", {})}, version)


def _patch(asking: Asking, patch: Any, content_type: str) -> Answer:
    before = _there(asking)
    if content_type.startswith("application/json-patch+json"):
        after = _json_patched(before, patch)
    elif content_type.startswith(("application/merge-patch+json", "application/strategic-merge-patch+json")):
        after = _merged(before, patch)
    else:
        raise Refused(415, f"the body of the request was in an unknown format: {content_type}")
    version = (patch.get("metadata") or {}).get("resourceVersion") if isinstance(patch, dict) else None
    return _changed(asking, before, after, version)


def _changed(asking: Asking, before: dict[str, Any], after: dict[str, Any], version: str | None) -> Answer:
    kind, name = asking.kind, asking.name
    if version and version != before["metadata"]["resourceVersion"]:
        raise Refused(
            409,
            f'Operation cannot be fulfilled on {kind.status_name} "{name}": the object has been modified; please apply your'
            " changes to the latest version and try again",
            details={"name": name, "group": kind.group, "kind": kind.plural},
        )
    _checked(asking, after)
    asking.world.put(kind, after, asking.scene.stamp(asking.call.now))
    scene = asking.scene
    scene.at = scene.world.settled = max(scene.world.settled, asking.call.now)
    play.step(scene)
    asking.call.effective = True
    return _json(_there(asking))


def _merged(value: Any, patch: Any) -> Any:
    if not isinstance(patch, dict) or not isinstance(value, dict):
        return copy.deepcopy(patch)
    result = copy.deepcopy(value)
    for key, inner in patch.items():
        if inner is None:
            result.pop(key, None)
        else:
            result[key] = _merged(result.get(key, {}) if isinstance(inner, dict) else None, inner)
    return result


def _json_patched(value: dict[str, Any], operations: Any) -> dict[str, Any]:
    result = copy.deepcopy(value)
    for one in operations:
        parts = [part.replace("~1", "/").replace("~0", "~") for part in one["path"].lstrip("/").split("/")]
        place: Any = result
        for part in parts[:-1]:
            place = place[int(part)] if isinstance(place, list) else place.setdefault(part, {})
        if one["op"] == "remove":
            place.pop(parts[-1], None)
        elif one["op"] == "test":
            if place.get(parts[-1]) != one["value"]:
                raise Refused(422, f"testing value {one['path']} failed")
        else:
            place[parts[-1]] = one["value"]
    return result


def _delete(asking: Asking, options: dict[str, Any]) -> Answer:
    thing, kind = _there(asking), asking.kind
    wanted = (options.get("preconditions") or {}).get("uid")
    if wanted and wanted != thing["metadata"]["uid"]:
        raise Refused(409, f'Operation cannot be fulfilled on {kind.status_name} "{asking.name}": the UID in the precondition ({wanted}) does not match the UID in record ({thing["metadata"]["uid"]}). The object might have been deleted and then recreated')  # fmt: skip
    scene, how = asking.scene, options.get("propagationPolicy") or asking.query.get("propagationPolicy") or "Background"
    scene.at = scene.world.settled = max(scene.world.settled, asking.call.now)
    run = scene.world.runs.get(thing["metadata"]["uid"])
    asking.call.effective = True
    if run is not None:
        play.delete(scene, run, how == "Foreground")
        play.step(scene)
        return _json(asking.world.find(kind, asking.namespace, asking.name) or _gone(asking, thing))
    if kind.plural == "pods":
        _pod_wiped(scene, thing)
    scene.world.drop(kind, asking.namespace, asking.name)
    return _json(_gone(asking, thing))


def _pod_wiped(scene: Scene, thing: dict[str, Any]) -> None:
    for run in scene.world.runs.values():
        for pod in run.pods:
            if (run.namespace, pod.name) == (thing["metadata"]["namespace"], thing["metadata"]["name"]):
                pod.wiped = scene.at
                run.pods.remove(pod)
                return


def _gone(asking: Asking, thing: dict[str, Any]) -> dict[str, Any]:
    details = {
        "name": asking.name,
        "group": asking.kind.group,
        "kind": asking.kind.plural,
        "uid": thing["metadata"]["uid"],
    }
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}


def _watch(asking: Asking) -> Stream:
    """From a version on; without one, what is there comes first."""
    cloud, kind, query, world = asking.cloud, asking.kind, asking.query, asking.world
    asked = query.get("resourceVersion", "")
    first: list[dict[str, Any]] = []
    gone = cloud.faults.take_for_call(
        ("gone",), asking.call.account, "kubernetes", asking.call.operation, asking.call.parameters
    )
    if gone or (asked not in ("", "0") and int(asked) < world.compacted):
        message = f"too old resource version: {asked or 0} ({world.version})"
        return Stream(iter([_line("ERROR", Refused(410, message).status)]))
    seen = int(asked) if asked not in ("", "0") else world.version
    if asked in ("", "0"):
        first = [copy.deepcopy(thing) for thing in world.listed(kind, asking.namespace) if _selected(thing, query)]
    seconds = min(float(query.get("timeoutSeconds") or LONGEST_WATCH), LONGEST_WATCH)
    bookmarks = query.get("allowWatchBookmarks") in ("true", "1", "True")
    return Stream(_watched(asking, first, seen, time.monotonic() + seconds, bookmarks))


def _watched(asking: Asking, first: list[dict[str, Any]], seen: int, until: float, bookmarks: bool) -> Iterator[bytes]:
    cloud, kind, world, call = asking.cloud, asking.kind, asking.world, asking.call
    for thing in first:
        yield _line("ADDED", thing)
    marked = time.monotonic()
    while time.monotonic() < until:
        with cloud.lock:
            cloud.catch_up(call.account, call.region)
            if seen < world.compacted:
                message = f"too old resource version: {seen} ({world.version})"
                found = [(world.version, "ERROR", Refused(410, message).status, "")]
            else:
                found = [
                    change
                    for change in world.since(kind, seen)
                    if asking.namespace in ("", change[2]["metadata"].get("namespace"))
                    and _selected(change[2], asking.query)
                ]
            latest = world.version
            cloud.commit()
        for _, what, thing, _ in found:
            yield _line(what, thing)
            if what == "ERROR":
                return
        seen = max(seen, latest)
        if bookmarks and time.monotonic() - marked > BOOKMARK:
            marked = time.monotonic()
            mark = {"kind": kind.name, "apiVersion": kind.api_version, "metadata": {"resourceVersion": str(latest)}}
            yield _line("BOOKMARK", mark)
        time.sleep(POLL)


def _line(what: str, thing: dict[str, Any]) -> bytes:
    return json.dumps({"type": what, "object": thing}).encode() + b"\n"


def _log(asking: Asking) -> Answer | Stream:
    thing, query = _there(asking), asking.query
    run, pod = _run_of(asking.world, thing)
    if run is None or pod is None or pod.phase == "Pending":
        container = thing["spec"]["containers"][0]["name"]
        reason = pod.reason if pod else "PodInitializing"
        raise Refused(400, f'container "{container}" in pod "{asking.name}" is waiting to start: {reason}')
    if query.get("follow") in ("true", "1", "True"):
        return Stream(_followed(asking, run, pod), "text/plain")
    lines = _wanted_lines(asking, play.log_lines(asking.scene, run, pod))
    text = "".join(f"{line}\n" for line in lines)
    most = int(query.get("limitBytes") or 0)
    return Answer(200, text.encode()[:most] if most else text.encode(), {"Content-Type": "text/plain"})


def _wanted_lines(asking: Asking, lines: list[tuple[float, str]]) -> list[str]:
    query, shown = asking.query, asking.cloud.clock.shown
    if query.get("sinceSeconds"):
        since = asking.cloud.clock.callers_now() - int(query["sinceSeconds"])
        lines = [line for line in lines if shown(line[0]).timestamp() >= since]
    if query.get("tailLines"):
        count = int(query["tailLines"])
        lines = lines[-count:] if count else []
    stamps = query.get("timestamps") in ("true", "1", "True")
    # The kubelet tells nine digits of a second here, where everything else of Kubernetes tells whole ones.
    return [f"{shown(at):%Y-%m-%dT%H:%M:%S.%f}000Z {text}" if stamps else text for at, text in lines]


def _followed(asking: Asking, run: Run, pod: Any) -> Iterator[bytes]:
    """All lines so far, then each as it is written, until the container ends."""
    said, until, first = 0, time.monotonic() + LONGEST_WATCH, True
    while time.monotonic() < until:
        with asking.cloud.lock:
            asking.cloud.catch_up(asking.call.account, asking.call.region)
            lines = play.log_lines(asking.scene, run, pod)
            over = pod.ended < NEVER or run.over or run.deleting < NEVER
            asking.cloud.commit()
        fresh = _wanted_lines(asking, lines) if first else [text for _, text in lines[said:]]
        said, first = len(lines), False
        for text in fresh:
            yield f"{text}\n".encode()
        if over:
            return
        time.sleep(POLL)


def _run_of(world: World, pod: dict[str, Any]) -> tuple[Run | None, Any]:
    owners = [owner["uid"] for owner in pod["metadata"].get("ownerReferences") or []]
    run = next((world.runs[uid] for uid in owners if uid in world.runs), None)
    found = next((one for one in run.pods if one.name == pod["metadata"]["name"]), None) if run else None
    return run, found


def _json(said: Any, status: int = 200, error: str = "") -> Answer:
    return Answer(status, json.dumps(said).encode(), {"Content-Type": "application/json"}, error)
