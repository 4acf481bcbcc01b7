"""ParallelCluster clusters: the real `pcluster` makes, changes and removes them; CloudFormation and EC2 say what is there.

`Part.body` is {"configuration": the configuration file without tags, "objects": [...], "head": the head node's group}.
`lines_since` (milliseconds) asks for what a participant's own script has reported since then.
"""

import dataclasses
import json
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import yaml

from clusters.providers import (
    Account,
    ErrorKind,
    FleetVerb,
    Keep,
    NodeSeen,
    Order,
    Ordered,
    Part,
    ProviderError,
    Rescue,
    Seen,
    aws,
    for_ever,
    programs,
)
from clusters.providers.programs import Ran
from clusters.providers.stacks import Stacks

CLUSTER_TAG, KIND_TAG, QUEUE_TAG = (f"parallelcluster:{name}" for name in ("cluster-name", "node-type", "queue-name"))
POOL_TAG = "parallelcluster:login-nodes-pool-name"
HEAD_TAG = "cohort:head-group"
PRESENT = ("pending", "running", "shutting-down", "stopping", "stopped")
FILE = "cluster.yaml"
LOGS = "/aws/parallelcluster/"  # then the cluster and the minute in which it was made
MADE_AT = re.compile(r"-\d{12}")
REPORTS = '"cohort-participant-"'  # as a filter of CloudWatch Logs; a whole boot is far too much to read
LINES, LONGEST_LINE = 1_000, 300
DRY = "DryRun flag is set"
# What its messages mean; the first that fits.
MEANINGS: tuple[tuple[re.Pattern[str], ErrorKind], ...] = (
    (re.compile(r"throttl|rate exceeded|too many requests|request limit", re.I), "throttled"),
    (re.compile(r"expired ?token|token.*expired|ExpiredToken", re.I), "expired"),
    (re.compile(r"access ?denied|not authorized|unauthorized ?operation|InvalidClientTokenId", re.I), "denied"),
    (re.compile(r"already exists", re.I), "unclear"),
    (re.compile(r"_IN_PROGRESS|in progress|is being (created|updated|deleted)", re.I), "throttled"),
    (re.compile(r"could not connect|connect timeout|read timeout|connection (was closed|reset)|internal ?(failure|error)", re.I), "unclear"),
)  # fmt: skip


class ParallelCluster:
    """A ParallelCluster as a part. It knows no token: the name is the token, the tags say whose it is."""

    def __init__(self, keep: Keep = for_ever, program: Path = programs.INSTALLED) -> None:
        self.keep, self.program = keep, program
        self.ran: list[Ran] = []

    def look(self, account: Account, part: Part) -> Seen:
        stack = Stacks().look(account, part)
        if stack.phase == "absent":
            return stack
        fleet = _fleet(account, part) if stack.phase == "ready" else ""
        status = f"{stack.status}, fleet {fleet}" if fleet else stack.status
        nodes, lines = _nodes(account, part), _lines(account, part)
        return dataclasses.replace(stack, status=status, fleet=fleet, nodes=nodes, lines=lines)

    def create(self, account: Account, part: Part) -> str:
        """First without doing anything, so that its own validators speak; then for real."""
        programs.could_begin(self.program)
        aws.put_objects(account, part.body.get("objects", []))
        return self._with_fresh_keys(account, lambda: self._create(account, part))

    def _create(self, account: Account, part: Part) -> str:
        files, words = _configuration(part), ("create-cluster", *_named(account, part), "--cluster-configuration", FILE)
        dry = self._run(account, (*words, "--dryrun", "true"), files)
        if DRY not in _message(dry):
            raise _without_effect(_error(dry))
        made = self._run(account, (*words, "--suppress-validators", "ALL"), files)
        if made.code or made.answer is None:
            raise _error(made)
        return str(made.answer.get("cluster", {}).get("cloudformationStackArn", ""))

    def update(self, account: Account, part: Part) -> None:
        programs.could_begin(self.program)
        aws.put_objects(account, part.body.get("objects", []))
        self._with_fresh_keys(account, lambda: self._update(account, part))

    def _update(self, account: Account, part: Part) -> str:
        words = ("update-cluster", *_named(account, part), "--cluster-configuration", FILE)
        if part.body.get("rehearsed"):
            words = (*words, "--suppress-validators", "ALL")  # they spoke a moment ago
        changed = self._run(account, words, _configuration(part))
        if changed.code and "no changes found" not in _message(changed).lower():
            raise _error(changed)
        return ""

    def rehearse(self, account: Account, part: Part) -> str | None:
        """The update without its effect. What it would put into the bucket first has to be there already."""
        programs.could_begin(self.program)
        if not all(self._is_there(account, each) for each in part.body.get("objects", [])):
            return None
        words = ("update-cluster", *_named(account, part), "--cluster-configuration", FILE, "--dryrun", "true")
        said: list[str] = []

        def run() -> str:
            dry = self._run(account, words, _configuration(part))
            message = _message(dry)
            if DRY not in message and "no changes found" not in message.lower():
                error = _error(dry)
                if error.kind != "refused":
                    raise error
                said.append(message)
            return ""

        self._with_fresh_keys(account, run)
        return said[0] if said else ""

    def _is_there(self, account: Account, wanted: Mapping[str, Any]) -> bool:
        try:
            aws.call(account, "s3", "HeadObject", Bucket=wanted["bucket"], Key=wanted["key"])
        except ProviderError as error:
            if error.kind == "refused":
                return False
            raise
        return True

    def delete(self, account: Account, part: Part) -> None:
        self._with_fresh_keys(account, lambda: self._delete(account, part))

    def _delete(self, account: Account, part: Part) -> str:
        gone = self._run(account, ("delete-cluster", *_named(account, part)), {})
        if gone.code and "does not exist" not in _message(gone):
            raise _error(gone)
        return ""

    def move_fleet(self, account: Account, part: Part, verb: FleetVerb) -> None:
        programs.could_begin(self.program)
        self._with_fresh_keys(account, lambda: self._move_fleet(account, part, verb))

    def _move_fleet(self, account: Account, part: Part, verb: FleetVerb) -> str:
        words = ("update-compute-fleet", *_named(account, part), "--status", f"{verb.upper()}_REQUESTED")
        moved = self._run(account, words, {})
        if moved.code or moved.answer is None:
            raise _error(moved)
        return ""

    def cancel(self, account: Account, part: Part) -> None:
        Stacks().cancel(account, part)

    def rescue(self, account: Account, part: Part, how: Rescue, skip: Sequence[str]) -> None:
        Stacks().rescue(account, part, how, skip)

    def order(self, account: Account, part: Part, order: Order, targets: Sequence[str]) -> Ordered:
        """An instance that is gone is replaced by the daemon on the head node; there is no call for anything else."""
        if order != "replace":
            raise ProviderError("refused", "ParallelCluster has no call for this.", code="NotOffered")
        said = aws.call(account, "ec2", "TerminateInstances", InstanceIds=list(targets))
        return Ordered(tuple(each["InstanceId"] for each in said.get("TerminatingInstances", ())))

    def _with_fresh_keys(self, account: Account, act: Callable[[], str]) -> str:
        """Once more with new ones when they were over: such a call was refused before anything was done."""
        try:
            return act()
        except ProviderError as error:
            if error.kind != "expired":
                raise
        aws.forget(account)
        return act()

    def _run(self, account: Account, words: tuple[str, ...], files: Mapping[str, str]) -> Ran:
        ran = programs.run(self.program, words, files=files, environment=aws.environment(account), keep=self.keep)
        self.ran.append(ran)
        return ran


def _named(account: Account, part: Part) -> tuple[str, ...]:
    return "--cluster-name", part.name, "--region", account.region


def _configuration(part: Part) -> dict[str, str]:
    tags = {**part.tags, HEAD_TAG: part.body["head"]}
    told = {**part.body["configuration"], "Tags": [{"Key": key, "Value": value} for key, value in tags.items()]}
    # Through JSON first: YAML would write what occurs twice as an anchor.
    return {FILE: yaml.safe_dump(json.loads(json.dumps(told)), sort_keys=False)}


def _fleet(account: Account, part: Part) -> str:
    """The head node's word for its fleet; empty while it has not written one."""
    try:
        answer = aws.call(
            account, "dynamodb", "GetItem", TableName=f"parallelcluster-{part.name}", Key={"Id": {"S": "COMPUTE_FLEET"}}
        )
    except ProviderError as error:
        if error.code == "ResourceNotFoundException":
            return ""
        raise
    data = answer.get("Item", {}).get("Data", {}).get("M", {})
    return str(data.get("status", {}).get("S", ""))


def _lines(account: Account, part: Part) -> tuple[dict[str, Any], ...] | None:
    """What the participant's script reported on any node; no look fails for want of it. What runs at boot comes by in
    several logs of a node, and as one event of many lines."""
    if "lines_since" not in part.body:
        return None
    prefix = f"{LOGS}{part.name}"
    try:
        told = aws.pages(account, "logs", "DescribeLogGroups", "logGroups", logGroupNamePrefix=f"{prefix}-")
        groups = [each["logGroupName"] for each in told]
        # One of the same name may have left its log behind.
        group = max((each for each in groups if MADE_AT.fullmatch(each.removeprefix(prefix))), default="")
        if not group:
            return ()
        wish = {"logGroupName": group, "filterPattern": REPORTS, "startTime": int(part.body["lines_since"])}
        found = list(islice(aws.pages(account, "logs", "FilterLogEvents", "events", **wish), LINES))
    except ProviderError:
        return ()
    return tuple(
        {"at": each["timestamp"], "node": each["logStreamName"], "text": line.rstrip()[:LONGEST_LINE]}
        for each in found
        for line in each["message"].splitlines()
        if REPORTS.strip('"') in line
    )


def _nodes(account: Account, part: Part) -> tuple[NodeSeen, ...]:
    filters = [
        {"Name": f"tag:{CLUSTER_TAG}", "Values": [part.name]},
        {"Name": "instance-state-name", "Values": list(PRESENT)},
    ]
    found = aws.pages(account, "ec2", "DescribeInstances", "Reservations", Filters=filters)
    return tuple(_node(instance) for reservation in found for instance in reservation["Instances"])


def _node(instance: Mapping[str, Any]) -> NodeSeen:
    tags = {tag["Key"]: tag["Value"] for tag in instance.get("Tags", [])}
    head = tags.get(KIND_TAG) == "HeadNode"
    return NodeSeen(
        group=tags.get(HEAD_TAG, "head") if head else tags.get(QUEUE_TAG) or tags.get(POOL_TAG, ""),
        instance_id=instance["InstanceId"],
        instance_type=instance.get("InstanceType", ""),
        status=instance["State"]["Name"],
        message=instance.get("StateReason", {}).get("Message", ""),
        private_ip=instance.get("PrivateIpAddress", ""),
        az_id=instance.get("Placement", {}).get("AvailabilityZoneId", ""),
        launched_at=instance.get("LaunchTime"),
    )


def _message(ran: Ran) -> str:
    """Its own sentences: errors of its validators in full, or the message."""
    answer = ran.answer
    if answer is None:
        return ""
    errors = [
        f"{each.get('type', '')}: {each.get('message', '')}"
        for name in ("configurationValidationErrors", "validationMessages", "updateValidationErrors")
        for each in answer.get(name) or []
        if isinstance(each, dict) and each.get("level", "ERROR") == "ERROR"
    ]
    return " ".join([str(answer.get("message", "")), *errors]).strip()


def _error(ran: Ran) -> ProviderError:
    """What an end that was not a success means for the next step."""
    verb = ran.words[0]
    if ran.ended_by_us:
        return ProviderError("unclear", f"ParallelCluster was ended in {verb}. {ran.ended_by_us}", code="ProgramEnded")
    message = _message(ran)
    if not message:
        how = f"was killed by signal {-ran.code}" if ran.code < 0 else f"ended with code {ran.code}"
        sentence = f"ParallelCluster {how} in {verb} and said nothing that can be read; its log is kept."
        return ProviderError("unclear", sentence, code="ProgramKilled" if ran.code < 0 else "ProgramFailed")
    kind = next((meaning for pattern, meaning in MEANINGS if pattern.search(message)), "refused")
    return ProviderError(kind, message, code="ParallelCluster")


def _without_effect(error: ProviderError) -> ProviderError:
    """A dry run does nothing, so what is unclear about it may simply be tried again; unless the name is taken."""
    if error.kind == "unclear" and "already exists" not in error.message:
        return ProviderError("throttled", error.message, code=error.code)
    return error
