"""A job's output read on from where it was last read. No Django, no decisions."""

from datetime import UTC, datetime
from typing import Any

from clusters.launchers import Launcher, LogPage, SlurmEndpoint
from clusters.providers import Account, ProviderError, aws

MOST_LINES = 10_000  # what one call may ask for

__all__ = ["LogPage", "gap", "next_page", "shipped"]


def gap(why: str) -> tuple[datetime | None, str]:
    """A line that says that others are missing here, for whoever reads the log."""
    return None, f"[… lines are missing here: {why} …]"


def next_page(
    launcher: Launcher[Any],
    account: Account,
    endpoint: Any,
    external_id: str,
    position: str,
    since: datetime | None = None,
    *,
    ended: bool = False,
) -> LogPage:
    """What a job wrote since `position`; from its beginning where that is empty. `since`: when the last line that is known
    was written; `ended`: it writes no more, so half a line is one too. Raises ProviderError."""
    return launcher.page(account, endpoint, external_id, position, since, ended=ended)


def shipped(
    account: Account, endpoint: SlurmEndpoint, external_id: str, position: str, since: datetime | None
) -> LogPage:
    """A page of the stream that the cluster ships its output to. Where the log group no longer takes the position, what is newer than the last line that is known."""
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
