"""Slurm through its REST API: the newest version that the server offers and we speak."""

import json
import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

import jwt
import urllib3

from clusters.launchers import Endpoint, JobSeen, LaunchSpec
from clusters.launchers.slurm_dialects import DIALECTS, Dialect
from clusters.providers import Account, ProviderError, aws

TOKEN_SECONDS = 120
SKEW = timedelta(seconds=30)  # a controller whose clock is behind refuses a token that starts in its future
TIMEOUT = urllib3.Timeout(connect=3, read=15)
UNREACHABLE = range(1000, 2000)  # the REST server speaks, the controller behind it does not
NO_SUCH_JOB = 2017  # ESLURM_INVALID_JOB_ID

_pool = urllib3.PoolManager(num_pools=50, maxsize=4, retries=False, timeout=TIMEOUT)
os.register_at_fork(after_in_child=_pool.clear)  # a child must not share its parent's open connections


class Slurm:
    """The launcher of a Slurm cluster. A job's name is the key: Slurm itself would take the same name twice."""

    def submit(self, endpoint: Endpoint, spec: LaunchSpec) -> str:
        """Finds the job of that name, or submits it. A job that left the controller's memory is not found any more."""
        dialect = spoken(endpoint)
        for job in self._jobs(endpoint, dialect):
            if job.get("name") == spec.name and job.get("user_name", endpoint.user) == endpoint.user:
                return str(job["job_id"])
        answer = _ask(endpoint, dialect, "POST", "job/submit", dialect.request(spec))
        errors, job_id = answer.get("errors") or [], answer.get("job_id") or 0
        if job_id and errors:
            # Slurm keeps such a job although it can never start; left there, the next look would take it for ours.
            _ask(endpoint, dialect, "DELETE", f"job/{job_id}")
        if errors or not job_id:
            raise ProviderError("refused", _sentence(errors) or "Slurm gave no job id.", code=_code(errors))
        return str(job_id)

    def observe(self, endpoint: Endpoint) -> list[JobSeen]:
        dialect = spoken(endpoint)
        return [dialect.seen(job) for job in self._jobs(endpoint, dialect)]

    def cancel(self, endpoint: Endpoint, external_id: str) -> None:
        dialect = spoken(endpoint)
        answer = _ask(endpoint, dialect, "DELETE", f"job/{quote(external_id, safe='')}")
        errors = [error for error in answer.get("errors") or [] if _number(error) != NO_SUCH_JOB]
        if errors:
            raise ProviderError("refused", _sentence(errors), code=_code(errors))

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

    def _jobs(self, endpoint: Endpoint, dialect: Dialect) -> Iterator[Mapping[str, Any]]:
        answer = _ask(endpoint, dialect, "GET", "jobs")
        if answer.get("errors"):
            raise ProviderError("unclear", _sentence(answer["errors"]), code=_code(answer["errors"]))
        yield from answer.get("jobs", [])


def spoken(endpoint: Endpoint) -> Dialect:
    """The newest version that both sides know."""
    for version, dialect in DIALECTS.items():
        if version in endpoint.versions:
            return dialect
    offered = ", ".join(endpoint.versions) or "none"
    raise ProviderError(
        "refused",
        f"This Slurm offers the REST API versions {offered}; Cohort speaks {', '.join(DIALECTS)}.",
        code="NoCommonVersion",
    )


def token(endpoint: Endpoint, now: datetime) -> str:
    """A bearer token for the cluster's user, signed with the cluster's own key."""
    claims = {
        "iat": int((now - SKEW).timestamp()),
        "exp": int((now + timedelta(seconds=TOKEN_SECONDS)).timestamp()),
        "sun": endpoint.user,
    }
    return jwt.encode(claims, endpoint.jwt_key, algorithm="HS256")


def _ask(
    endpoint: Endpoint, dialect: Dialect, method: str, path: str, body: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """One request. What Slurm itself refuses comes back in `errors`: its HTTP status says little."""
    headers = {
        "X-SLURM-USER-NAME": endpoint.user,
        "X-SLURM-USER-TOKEN": token(endpoint, datetime.now(UTC)),
        "Content-Type": "application/json",
    }
    url = f"{endpoint.url}/slurm/{dialect.version}/{path}"
    try:
        answer = _pool.request(method, url, headers=headers, body=json.dumps(body) if body else None, redirect=False)
    except urllib3.exceptions.HTTPError as error:
        raise ProviderError("unclear", f"Slurm gave no answer: {error}", code=type(error).__name__) from error
    return _read(answer.status, answer.data)


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
