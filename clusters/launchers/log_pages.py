"""A job's output read on from where it was last read. No Django, no decisions."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from clusters.launchers import Launcher, SlurmEndpoint
from clusters.providers import Account, ProviderError, aws

MOST_LINES = 10_000  # what one call may ask for
TAIL_LINES = 400


@dataclass(frozen=True)
class LogPage:
    """Lines with when they were written (None: nobody says). `joined`: they follow what was read before; otherwise they are
    the last lines there are, which may overlap it."""

    lines: tuple[tuple[datetime | None, str], ...]
    position: str
    joined: bool = True


def next_page(
    launcher: Launcher[Any],
    account: Account,
    endpoint: Any,
    external_id: str,
    position: str,
    since: datetime | None = None,
) -> LogPage:
    """What a job wrote since `position`; from its beginning where that is empty. Where the log group no longer takes the
    position, what is newer than `since`, the last line that is known. Raises ProviderError."""
    if not isinstance(endpoint, SlurmEndpoint) or not endpoint.log_group:
        tail = launcher.tail(account, endpoint, external_id, TAIL_LINES)
        return LogPage(tuple((None, line) for line in tail.split("\n")) if tail else (), position, joined=False)
    asked = {
        "logGroupName": endpoint.log_group,
        "logStreamName": external_id,
        "limit": MOST_LINES,
        "startFromHead": True,
    }
    try:
        answer = _events(account, asked, position, since)
    except ProviderError as error:
        if error.code == "ResourceNotFoundException":
            return LogPage((), position)  # nothing was shipped yet
        raise
    lines = tuple(
        (datetime.fromtimestamp(event["timestamp"] / 1000, UTC), event["message"]) for event in answer["events"]
    )
    return LogPage(lines, answer.get("nextForwardToken") or position)


def _events(account: Account, asked: dict[str, Any], position: str, since: datetime | None) -> dict[str, Any]:
    if position:
        try:
            return aws.call(account, "logs", "GetLogEvents", **asked, nextToken=position)
        except ProviderError as error:
            if error.code != "InvalidParameterException":
                raise
    begin = {"startTime": int(since.timestamp() * 1000) + 1} if since else {}
    return aws.call(account, "logs", "GetLogEvents", **asked, **begin)
