"""Answers what ParallelCluster's own schema finds in a configuration: a process in ParallelCluster's environment, offline.

Nothing of ours is imported here and nothing of ours imports this file. One line of JSON comes in and one goes out over
a socket of this machine. ParallelCluster is read in once; each question is answered by a fork of this process that may
take a little time and memory, so that a question that breaks it breaks nothing else.
"""

import argparse
import json
import logging
import os
import resource
import signal
import socketserver
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SECONDS = 2  # for one answer
MEMORY = 1_500_000_000  # bytes of addresses; ParallelCluster itself takes a third of them
LONGEST = 1_000_000  # bytes of one question
AT_ONCE = 4
TRY_AGAIN = 5.0
READY = "answering"


def go_over(python: Path, words: list[str]) -> None:
    """Become a process of ParallelCluster's own Python as soon as there is one; without our environment and its keys."""
    while not (python.parent / "pcluster").exists():
        time.sleep(TRY_AGAIN)
    scratch = tempfile.gettempdir()
    offline = {
        "PATH": f"{python.parent}:/usr/bin:/bin",
        "HOME": scratch,
        "LANG": "C.UTF-8",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    }
    os.execve(python, [str(python), os.path.abspath(__file__), *words, "--here"], offline)


def found(schema: Any, question: dict[str, Any]) -> dict[str, Any]:
    """Every problem: where it is, as a path of keys and numbers, and the schema's own words."""
    from marshmallow.exceptions import ValidationError

    os.environ["AWS_DEFAULT_REGION"] = str(question["region"])
    try:
        schema(cluster_name=str(question["name"])).load(question["configuration"])
    except ValidationError as error:
        return {"problems": [{"path": path, "says": says} for path, says in leaves(error.messages)]}
    return {"problems": []}


def leaves(messages: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[list[Any], str]]:
    if isinstance(messages, dict):
        for key, below in messages.items():
            yield from leaves(below, path if key == "_schema" else (*path, key))
    elif isinstance(messages, list):
        for below in messages:
            yield from leaves(below, path)
    else:
        yield list(path), str(messages)


class Answer(socketserver.StreamRequestHandler):
    """One question, in a process of its own."""

    def handle(self) -> None:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(SECONDS)
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        line = self.rfile.readline(LONGEST + 1)
        if len(line) > LONGEST or not line.endswith(b"\n"):
            return
        answer = found(self.server.schema, json.loads(line))  # type: ignore[attr-defined]
        self.wfile.write(json.dumps(answer).encode() + b"\n")


class Desk(socketserver.ForkingMixIn, socketserver.UnixStreamServer):
    max_children = AT_ONCE
    request_queue_size = 16

    def __init__(self, address: Path, schema: Any) -> None:
        self.schema = schema
        # Whoever asks finds either the one before or this one, never a name without anybody behind it.
        coming = address.with_name(f"{address.name}.{os.getpid()}")
        super().__init__(str(coming), Answer)
        coming.chmod(0o600)
        coming.replace(address)

    def handle_error(self, request: Any, client_address: Any) -> None:
        logging.warning("a question was not answered: %r", sys.exc_info()[1])


def serve(address: Path, words: list[str]) -> None:
    try:
        from pcluster.schemas.cluster_schema import ClusterSchema
    except ImportError as error:
        logging.warning("ParallelCluster is not whole yet: %s", error)
        time.sleep(TRY_AGAIN)
        os.execv(sys.executable, [sys.executable, os.path.abspath(__file__), *words])
    # It logs each time that it has no keys to ask AWS with; it is not to have any.
    for name in ("pcluster", "root", "botocore", "boto3"):
        logging.getLogger(None if name == "root" else name).setLevel(logging.CRITICAL)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    # What the first question has to read in is there before anybody asks.
    found(ClusterSchema, {"name": "first", "region": "us-east-1", "configuration": FIRST})
    address.parent.mkdir(parents=True, exist_ok=True)
    with Desk(address, ClusterSchema) as desk:
        print(READY, flush=True)
        desk.serve_forever(poll_interval=1.0)


FIRST = {
    "Image": {"Os": "ubuntu2204"},
    "HeadNode": {"InstanceType": "m5.large", "Networking": {"SubnetId": "subnet-00000000000000000"}},
    "Scheduling": {
        "Scheduler": "slurm",
        "SlurmQueues": [
            {
                "Name": "first",
                "Networking": {"SubnetIds": ["subnet-00000000000000000"]},
                "ComputeResources": [
                    {
                        "Name": "first",
                        "InstanceType": "p5.48xlarge",
                        "CapacityReservationTarget": {"CapacityReservationId": "cr-00000000000000000"},
                    }
                ],
            }
        ],
    },
}


if __name__ == "__main__":
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("socket", type=Path)
    asked.add_argument("--python", type=Path, default=Path(".pcluster-venv/bin/python"))
    asked.add_argument("--here", action="store_true", help="this is ParallelCluster's Python already")
    chosen = asked.parse_args()
    if chosen.here:
        serve(chosen.socket, sys.argv[1:])
    else:
        go_over(chosen.python.absolute(), sys.argv[1:])
