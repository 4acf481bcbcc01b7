"""Stands between the launcher and slurmrestd, keeps what was asked, and cuts the line when it is told to."""

from __future__ import annotations

import http.client
import json
import re
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

LOST = b'{"errors": [{"error_number": -1, "error": "Unspecified error"}]}'


@dataclass
class Asked:
    """One request that arrived: `POST job/submit`, and the name of the job that was submitted."""

    operation: str
    name: str = ""
    forwarded: bool = True


@dataclass
class CuttingLine:
    """Forwards to one port. `fault()` arms it as the sandbox cloud's faults are armed."""

    port: int
    asked: list[Asked] = field(default_factory=list)
    armed: list[tuple[str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        line = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_any(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                line.answer(self, body)

            do_GET = do_POST = do_DELETE = do_any

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.2}, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def fault(self, fault: str, operation: str) -> None:
        self.armed.append((fault, operation))

    def heal(self) -> None:
        self.armed.clear()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def answer(self, handler: BaseHTTPRequestHandler, body: bytes) -> None:
        found = re.fullmatch(r"/slurm/v[\d.]+/([^?]*)(\?.*)?", handler.path)
        what = re.sub(r"\d+$", "ID", found[1]) if found else handler.path
        asked = Asked(f"{handler.command} {what}", _name(body))
        self.asked.append(asked)
        fault = next((pair for pair in self.armed if pair[1] == asked.operation), None)
        if fault:
            self.armed.remove(fault)
        kind = fault[0] if fault else ""
        if kind == "no_answer":
            asked.forwarded = False
            handler.close_connection = True
            return
        status, said, sort = self._forward(handler, body)
        if kind == "timeout_after_success":
            handler.close_connection = True
            return
        if kind == "error_after_success":
            status, said, sort = 500, LOST, "application/json"
        handler.send_response(status)
        handler.send_header("Content-Type", sort)
        handler.send_header("Content-Length", str(len(said)))
        handler.end_headers()
        handler.wfile.write(said)

    def _forward(self, handler: BaseHTTPRequestHandler, body: bytes) -> tuple[int, bytes, str]:
        headers = {name: value for name, value in handler.headers.items() if name.lower() not in ("host", "connection")}
        behind = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            behind.request(handler.command, handler.path, body or None, headers)
            answer = behind.getresponse()
            return answer.status, answer.read(), answer.getheader("Content-Type") or "text/plain"
        except OSError:
            return 502, b"nobody listens", "text/plain"
        finally:
            behind.close()


def _name(body: bytes) -> str:
    try:
        return str(json.loads(body)["job"]["name"])
    except (ValueError, KeyError, TypeError):
        return ""
