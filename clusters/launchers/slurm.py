"""Slurm through its REST API: the newest version that the server offers and we speak."""

import json
import math
import os
import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from functools import update_wrapper
from typing import Any, Concatenate, ParamSpec, TypeVar
from urllib.parse import quote, urlencode

import jwt
import urllib3

from clusters.launchers import Ability, Ended, JobSeen, LaunchSpec, LogPage, NodeSeen, log_pages, refuse
from clusters.launchers import SlurmEndpoint as Endpoint
from clusters.launchers.slurm_dialects import DIALECTS, Dialect
from clusters.providers import Account, ProviderError, aws

TOKEN_SECONDS = 120
SKEW = timedelta(seconds=30)  # a controller whose clock is behind refuses a token that starts in its future
TIMEOUT = urllib3.Timeout(connect=3, read=15)
UNREACHABLE = range(1000, 2000)  # the REST server speaks, the controller behind it does not
# No such job; it has ended (two words for it): there is nothing left to hold, release or cancel.
OVER = (2017, 2021, 2084)
IS_HELD = 2042  # said of a job that was to be held
NO_ACCOUNTING = "NoAccounting"
NO_COMMON_VERSION, NO_SUCH_VERSION = "NoCommonVersion", "NoSuchVersion"
NO_SUCH_PLACE = b"requested URL"  # as slurmrestd says it, in more than one spelling
SERVED = re.compile(r"/slurm/(v\d+\.\d+\.\d+)/")
MOST_SERVERS = 1_000
RESTARTS = ("starting", "running")  # what waits begins by itself
ERRAND_WAITS = timedelta(minutes=2)
NO_ROOM = (
    "Slurm's REST API cannot requeue, and for two minutes no core was free to run scontrol on. Cancel the job and submit "
    "it again: it goes on from its checkpoint under a new id. A cluster with the head-node agent needs no free core."
)
NOT_REQUEUED = "Slurm did not requeue the job: scontrol ended as %s with code %s. Jobs that must not restart cannot be."

_pool = urllib3.PoolManager(num_pools=50, maxsize=4, retries=False, timeout=TIMEOUT)
os.register_at_fork(after_in_child=_pool.clear)  # a child must not share its parent's open connections


P = ParamSpec("P")
R = TypeVar("R")


class Served:
    """Which versions servers say themselves that they serve. Each is asked once by a process, and only when what its
    cluster told does not fit; another key, address or list of the cluster's is another endpoint."""

    def __init__(self) -> None:
        self.told: OrderedDict[Endpoint, tuple[str, ...]] = OrderedDict()

    def versions(self, endpoint: Endpoint) -> tuple[str, ...]:
        return self.told.get(endpoint) or endpoint.versions

    def forget(self, endpoint: Endpoint) -> bool:
        """Whether it had been asked. Its server may have been renewed since, and is then asked again."""
        return self.told.pop(endpoint, None) is not None

    def ask(self, endpoint: Endpoint) -> None:
        """Raises ProviderError while it gives no answer; a server that does not describe itself keeps what was told."""
        answer = _request(endpoint, "GET", f"{endpoint.url}/openapi/v3")
        try:
            paths = list(json.loads(answer.data)["paths"]) if answer.status == 200 else []
        except (ValueError, KeyError, TypeError):
            paths = []
        if answer.status != 404 and not paths:
            _read(answer.status, answer.data)
        found = {match[1] for path in paths if (match := SERVED.match(str(path)))}
        self.told[endpoint] = tuple(sorted(found, key=_age))
        while len(self.told) > MOST_SERVERS:
            self.told.popitem(last=False)


def _age(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version))


_served = Served()


def spoken(endpoint: Endpoint) -> Dialect:
    """The newest version that both sides know, by what the cluster told, or its server where that was asked."""
    versions = _served.versions(endpoint)
    for version, dialect in DIALECTS.items():
        if version in versions:
            return dialect
    offered, speaks = ", ".join(versions) or "none", ", ".join(DIALECTS)
    raise ProviderError(
        "refused",
        f"Slurm's REST server at {endpoint.url} serves the versions {offered}; Cohort speaks {speaks}. "
        "Have slurmrestd load one of these (its option -d), or choose the head-node agent as the way to the scheduler.",
        code=NO_COMMON_VERSION,
    )


def _negotiated(call: Callable[Concatenate["Slurm", Endpoint, P], R]) -> Callable[Concatenate["Slurm", Endpoint, P], R]:
    """Where what the cluster told of versions is missing or wrong, its server is asked, and the call made again: a server
    that does not know a version has done nothing."""

    def asked(self: "Slurm", endpoint: Endpoint, /, *words: P.args, **more: P.kwargs) -> R:
        try:
            return call(self, endpoint, *words, **more)
        except ProviderError as error:
            if error.code == NO_COMMON_VERSION and endpoint in _served.told:
                raise
            if error.code not in (NO_COMMON_VERSION, NO_SUCH_VERSION) or _served.forget(endpoint):
                raise
        _served.ask(endpoint)
        return call(self, endpoint, *words, **more)

    update_wrapper(asked, call)
    return asked


class Slurm:
    """The launcher of a Slurm cluster. A job's name is the key: Slurm itself would take the same name twice."""

    consistency = math.inf  # a controller that has just been started again lists what it had saved

    def cannot(self, endpoint: Endpoint) -> Mapping[Ability, str]:
        return spoken(endpoint).cannot

    @_negotiated
    def submit(self, endpoint: Endpoint, spec: LaunchSpec) -> str:
        """Finds the job of that name, or submits it; one that left the controller's memory is asked of accounting."""
        dialect = spoken(endpoint)
        refuse(spec, dialect.cannot)
        for job in self._jobs(endpoint, dialect):
            if job.get("name") == spec.name and job.get("user_name", endpoint.user) == endpoint.user:
                return dialect.identity(job)
        if spec.again and (kept := self._kept(endpoint, dialect, spec.name)):
            return kept
        answer = _ask(endpoint, dialect, "POST", "job/submit", dialect.request(spec))
        errors, job_id = answer.get("errors") or [], answer.get("job_id") or 0
        if spec.held:
            errors = [error for error in errors if _number(error) != IS_HELD]
        if job_id and errors:
            # Slurm keeps such a job although it can never start; left there, the next look would take it for ours.
            _ask(endpoint, dialect, "DELETE", f"job/{job_id}")
        if errors or not job_id:
            raise ProviderError("refused", _sentence(errors) or "Slurm gave no job id.", code=_code(errors))
        return str(job_id)

    @_negotiated
    def observe(self, endpoint: Endpoint) -> list[JobSeen]:
        dialect = spoken(endpoint)
        listed = list(self._jobs(endpoint, dialect))
        places = dialect.places(listed)
        return [dialect.seen(job, places.get(job["job_id"])) for job in listed]

    @_negotiated
    def nodes(self, endpoint: Endpoint) -> list[NodeSeen]:
        dialect = spoken(endpoint)
        return [dialect.node(node) for node in _listed(_ask(endpoint, dialect, "GET", "nodes"), "nodes")]

    @_negotiated
    def cancel(self, endpoint: Endpoint, external_id: str) -> None:
        self._tell(endpoint, "DELETE", external_id)

    @_negotiated
    def hold(self, endpoint: Endpoint, external_id: str) -> None:
        self._tell(endpoint, "POST", external_id, {"hold": True})

    @_negotiated
    def release(self, endpoint: Endpoint, external_id: str) -> None:
        self._tell(endpoint, "POST", external_id, {"hold": False})

    @_negotiated
    def requeue(self, endpoint: Endpoint, external_id: str) -> None:
        """No version of the REST API has a word for it, but the job's owner may: so a short job of hers runs it."""
        dialect = spoken(endpoint)
        listed = list(self._jobs(endpoint, dialect))
        wanted = next((job for job in listed if dialect.identity(job) == external_id), None)
        if wanted is None or dialect.seen(wanted).state not in RESTARTS:
            return
        name = f"cohort-requeue-{external_id}-{dialect.seen(wanted).restarts}"
        errand = next((dialect.seen(job) for job in listed if job.get("name") == name), None)
        if errand is not None:
            self._judge(errand)
            return
        # `incomplete` keeps Slurm from beginning again what has ended in the meantime.
        line = f"scontrol requeue incomplete {int(external_id)}"
        until = datetime.now(UTC) + ERRAND_WAITS
        answer = _ask(
            endpoint, dialect, "POST", "job/submit", dialect.errand(name, line, wanted.get("partition", ""), until)
        )
        if answer.get("errors") or not answer.get("job_id"):
            raise ProviderError("refused", _sentence(answer.get("errors") or []) or NO_ROOM, code="NoRequeue")

    def _judge(self, errand: JobSeen) -> None:
        if errand.engine_state in ("DEADLINE", "CANCELLED"):
            raise ProviderError("refused", NO_ROOM, code="NoRequeue")
        if errand.state in ("failed", "timed_out"):
            raise ProviderError("refused", NOT_REQUEUED % (errand.engine_state, errand.exit_code), code="NoRequeue")

    def tail(self, account: Account, endpoint: Endpoint, external_id: str, lines: int = 200) -> str:
        """The last lines of a job's output; empty while the cluster has shipped none."""
        try:
            answer = aws.call(
                account,
                "logs",
                "GetLogEvents",
                logGroupName=endpoint.log_group,
                logStreamName=external_id,
                limit=min(max(lines, 1), 10_000),
                startFromHead=False,
            )
        except ProviderError as error:
            if error.code == "ResourceNotFoundException":
                return ""
            raise
        return "\n".join(event["message"].rstrip("\n") for event in answer["events"])

    def page(
        self,
        account: Account,
        endpoint: Endpoint,
        external_id: str,
        position: str,
        since: datetime | None,
        *,
        ended: bool,
    ) -> LogPage:
        if endpoint.log_group:
            return log_pages.shipped(account, endpoint, external_id, position, since)
        return LogPage((), position)

    @_negotiated
    def ended(self, endpoint: Endpoint, since: datetime) -> list[Ended]:
        dialect = spoken(endpoint)
        # A day earlier: the filter knows whole days of the cluster's own zone, and looks at when a job began or waited.
        query = {"start_time": (since - timedelta(days=1)).strftime("%Y-%m-%d")}
        if dialect.tells_every_run:
            query |= {"show_duplicates": "true", "skip_steps": "true"}
        rows = _accounting(endpoint, dialect, "jobs", **query)
        if not dialect.tells_every_run:
            rows = self._all_runs(endpoint, dialect, rows, since)
        return [run for run in dialect.runs(rows) if _since(run, since)]

    def _all_runs(
        self, endpoint: Endpoint, dialect: Dialect, rows: list[Mapping[str, Any]], since: datetime
    ) -> list[Mapping[str, Any]]:
        """An old server lists the last run only, and tells of all of them when it is asked for one job, which is slow."""
        found = []
        for row in rows:
            [run] = dialect.runs([row])
            # Whoever is begun again has to wait first; so has, rarely, who was to begin later.
            again = (row["time"].get("eligible") or 0) > (row["time"].get("submission") or 0)
            if again and _since(run, since):
                found += [
                    one
                    for one in _accounting(endpoint, dialect, f"job/{row['job_id']}")
                    if one["job_id"] == row["job_id"]
                ]
            else:
                found.append(row)
        return list({(row["job_id"], row["time"]["start"]): row for row in found}.values())

    def _kept(self, endpoint: Endpoint, dialect: Dialect, name: str) -> str:
        """The id of a job of that name that only accounting still knows; empty when none is, or nobody keeps accounts."""
        try:
            rows = _accounting(endpoint, dialect, "jobs", job_name=name)
        except ProviderError as error:
            if error.code == NO_ACCOUNTING:
                return ""
            raise
        ours = [row for row in rows if row.get("name") == name and row.get("user", endpoint.user) == endpoint.user]
        return dialect.identity(ours[-1]) if ours else ""

    def _tell(self, endpoint: Endpoint, method: str, external_id: str, body: Mapping[str, Any] | None = None) -> None:
        dialect = spoken(endpoint)
        answer = _ask(endpoint, dialect, method, f"job/{quote(external_id, safe='')}", body)
        errors = [error for error in answer.get("errors") or [] if _number(error) not in OVER]
        if errors:
            raise ProviderError("refused", _sentence(errors), code=_code(errors))

    def _jobs(self, endpoint: Endpoint, dialect: Dialect) -> Iterator[Mapping[str, Any]]:
        yield from _listed(_ask(endpoint, dialect, "GET", "jobs"), "jobs")


def _since(run: Ended, since: datetime) -> bool:
    return run.ended_at is not None and run.ended_at >= since.replace(microsecond=0)


def _listed(answer: Mapping[str, Any], what: str) -> list[Mapping[str, Any]]:
    if answer.get("errors"):
        raise ProviderError("unclear", _sentence(answer["errors"]), code=_code(answer["errors"]))
    return list(answer.get(what) or [])


def _accounting(endpoint: Endpoint, dialect: Dialect, what: str, **query: str) -> list[Mapping[str, Any]]:
    """Rows of slurmdbd. Raises `refused`, NoAccounting, where there is none; `unclear` while it is down."""
    try:
        answer = _ask(endpoint, dialect, "GET", f"{what}?{urlencode(query)}" if query else what, part="slurmdb")
    except ProviderError as error:
        if error.code == "404":
            raise ProviderError("refused", "This cluster keeps no accounting database.", code=NO_ACCOUNTING) from error
        raise
    errors = [error for error in answer.get("errors") or [] if "nothing found" not in _sentence([error]).lower()]
    return _listed({**answer, "errors": errors}, "jobs")


def token(endpoint: Endpoint, now: datetime) -> str:
    """A bearer token for the cluster's user, signed with the cluster's own key."""
    claims = {
        "iat": int((now - SKEW).timestamp()),
        "exp": int((now + timedelta(seconds=TOKEN_SECONDS)).timestamp()),
        "sun": endpoint.user,
    }
    return jwt.encode(claims, endpoint.jwt_key, algorithm="HS256")


def _ask(
    endpoint: Endpoint,
    dialect: Dialect,
    method: str,
    path: str,
    body: Mapping[str, Any] | None = None,
    part: str = "slurm",
) -> dict[str, Any]:
    """One request. What Slurm itself refuses comes back in `errors`: its HTTP status says little."""
    answer = _request(endpoint, method, f"{endpoint.url}/{part}/{dialect.version}/{path}", body)
    if answer.status == 404 and part == "slurm" and NO_SUCH_PLACE in answer.data:
        sentence = f"Slurm's REST server does not serve {dialect.version}, which its cluster told."
        raise ProviderError("unclear", sentence, code=NO_SUCH_VERSION)
    return _read(answer.status, answer.data)


def _request(endpoint: Endpoint, method: str, url: str, body: Mapping[str, Any] | None = None) -> Any:
    headers = {
        "X-SLURM-USER-NAME": endpoint.user,
        "X-SLURM-USER-TOKEN": token(endpoint, datetime.now(UTC)),
        "Content-Type": "application/json",
    }
    try:
        return _pool.request(method, url, headers=headers, body=json.dumps(body) if body else None, redirect=False)
    except urllib3.exceptions.HTTPError as error:
        raise ProviderError("unclear", f"Slurm gave no answer: {error}", code=type(error).__name__) from error


def _read(status: int, data: bytes) -> dict[str, Any]:
    if status in (401, 403, 511):
        raise ProviderError("denied", "Slurm did not accept our token.", code=str(status))
    if status == 429:
        raise ProviderError("throttled", "Slurm asks us to come back later.", code=str(status))
    try:
        answer = json.loads(data)
    except ValueError:
        answer = None
    if not isinstance(answer, dict) or (status >= 400 and not answer.get("errors")):
        raise ProviderError("unclear", f"Slurm answered {status} without saying more.", code=str(status))
    if any(_number(error) in UNREACHABLE for error in answer.get("errors") or []):
        raise ProviderError("unclear", _sentence(answer["errors"]), code=_code(answer["errors"]))
    if status >= 500 and not any(_number(error) > 0 for error in answer["errors"]):
        # An old server answers so when the controller is down, and for a bad token too.
        raise ProviderError("unclear", _sentence(answer["errors"]), code=str(status))
    return answer


def _number(error: Mapping[str, Any]) -> int:
    """Each version has its own word for it."""
    for key in ("error_number", "error_code", "errno"):
        if isinstance(error.get(key), int):
            return int(error[key])
    return -1


def _code(errors: list[Mapping[str, Any]]) -> str:
    return str(_number(errors[0])) if errors else ""


def _sentence(errors: list[Mapping[str, Any]]) -> str:
    told = (str(error.get("description") or error.get("error") or "").strip() for error in errors)
    return " ".join(sentence for sentence in told if sentence)
