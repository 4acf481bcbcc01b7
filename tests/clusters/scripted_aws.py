"""A loopback server that answers AWS calls from a script, for answers that no well-behaved cloud gives on demand."""

import json
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

Answer = tuple[int, str] | str | Callable[[dict[str, Any]], tuple[int, str]]
CLOSE = "close"


class Script:
    """Answers by operation: the last one given for an operation is repeated. `calls` is what came in, in order."""

    def __init__(self) -> None:
        self.answers: dict[str, deque[Answer]] = {}
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.keys: list[str] = []
        self.url = ""

    def answer(self, operation: str, *answers: Answer) -> None:
        self.answers[operation] = deque(answers)

    def count(self, operation: str) -> int:
        return sum(name == operation for name, _ in self.calls)

    def next(self, operation: str, parameters: dict[str, Any]) -> Answer:
        self.calls.append((operation, parameters))
        queue = self.answers[operation]
        return queue.popleft() if len(queue) > 1 else queue[0]


def assumed(key: str = "ASIA1", minutes: float = 60) -> Answer:
    ends = (datetime.now(UTC) + timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")
    return 200, (
        '<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials>'
        f"<AccessKeyId>{key}</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken>"
        f"<Expiration>{ends}</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>"
    )


def query_error(status: int, code: str, message: str = "No.") -> Answer:
    return status, (
        f"<ErrorResponse><Error><Type>Sender</Type><Code>{code}</Code><Message>{message}</Message></Error></ErrorResponse>"
    )


def json_error(status: int, code: str, message: str = "No.") -> Answer:
    return status, json.dumps({"__type": code, "message": message})


def json_answer(body: Any) -> Answer:
    return 200, json.dumps(body)


class _Handler(BaseHTTPRequestHandler):
    script: Script

    def do_POST(self) -> None:
        text = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        target = self.headers.get("X-Amz-Target")
        if target:
            operation, parameters = target.rsplit(".", 1)[1], json.loads(text or "{}")
        else:
            parameters = {key: values[0] for key, values in parse_qs(text).items()}
            operation = parameters["Action"]
        self.script.keys.append(self.headers.get("Authorization", "").partition("Credential=")[2].partition("/")[0])
        self._send(self.script.next(operation, parameters), parameters)

    def do_PUT(self) -> None:
        text = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        self._send(self.script.next("PutObject", {"path": self.path, "text": text}), {})

    def _send(self, answer: Answer, parameters: dict[str, Any]) -> None:
        if answer == CLOSE:
            self.close_connection = True
            return
        status, body = answer(parameters) if callable(answer) else answer
        self.send_response(status)
        self.send_header("Content-Length", str(len(body.encode())))
        self.send_header("Content-Type", "application/x-amz-json-1.1" if body.startswith("{") else "text/xml")
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def scripted() -> Iterator[Script]:
    script = Script()
    handler = type("Handler", (_Handler,), {"script": script})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    script.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield script
    finally:
        server.shutdown()
        server.server_close()
