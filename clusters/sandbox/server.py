"""The HTTP server: a thread for each connection, kept alive, on loopback only."""

import http.server
import socket
import socketserver
import ssl
import sys
import time
from typing import Any
from urllib.parse import unquote

from moto.core.request import Request

from clusters.sandbox import certificates, control
from clusters.sandbox.cloud import Cloud, environment
from clusters.sandbox.errors import NoAnswer
from clusters.sandbox.kubernetes import rest as kubernetes
from clusters.sandbox.slurm import rest
from clusters.sandbox.wire import Answer


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 256

    def __init__(self, address: tuple[str, int], cloud: Cloud) -> None:
        self.cloud = cloud
        self.tls = certificates.context(cloud.store)
        cloud.commit()
        super().__init__(address, Connection)

    def handle_error(self, request: Any, client_address: Any) -> None:
        # A caller who hangs up is not news.
        if not isinstance(sys.exc_info()[1], ConnectionError | ssl.SSLError):
            super().handle_error(request, client_address)


class Connection(http.server.BaseHTTPRequestHandler):
    """One connection, many requests."""

    protocol_version = "HTTP/1.1"
    server_version = "sandbox-cloud"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: Server

    def setup(self) -> None:
        """One port for both: AWS is asked in plain HTTP, the API of a cluster over TLS, which begins with a byte of its own."""
        if self.request.recv(1, socket.MSG_PEEK) == b"\x16":
            self.request = self.server.tls.wrap_socket(self.request, server_side=True)
        super().setup()

    def finish(self) -> None:
        super().finish()
        if isinstance(self.request, ssl.SSLSocket):
            self.request.close()

    def handle_one(self) -> None:
        path, _, query = self.path.partition("?")
        headers = {name: value for name, value in self.headers.items() if "_" not in name}
        try:
            answer = self._answer(unquote(path), path, query, headers, self._body())
        except NoAnswer as silence:
            time.sleep(float(silence.args[0]) if silence.args else 0)
            self.close_connection = True
            return
        if isinstance(answer, kubernetes.Stream):
            self._stream(answer)
            return
        self.send_response_only(answer.status)
        for name, value in answer.headers.items():
            if name.lower() not in ("content-length", "connection", "transfer-encoding"):
                self.send_header(name, value)
        if self.command == "HEAD" and "content-length" in {name.lower() for name in answer.headers}:
            self.send_header("Content-Length", answer.headers.get("Content-Length", "0"))
        else:
            self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)
        self.wfile.flush()

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_PATCH = handle_one

    def _stream(self, answer: kubernetes.Stream) -> None:
        self.send_response_only(200)
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        try:
            for chunk in answer.chunks:
                self.wfile.write(f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n")
                self.wfile.flush()
            self.wfile.write(b"0\r\n\r\n")
            self.wfile.flush()
        except OSError:
            self.close_connection = True  # whoever watched has gone

    def _answer(
        self, path: str, raw_path: str, query: str, headers: dict[str, str], body: bytes
    ) -> Answer | kubernetes.Stream:
        if path.startswith("/_sandbox/"):
            return control.answer(self.server.cloud, self.command, path, query, body)
        if path.startswith("/k8s/"):
            if not isinstance(self.request, ssl.SSLSocket):
                return Answer(400, b"Client sent an HTTP request to an HTTPS server.\n", {"Content-Type": "text/plain"})
            return kubernetes.answer(self.server.cloud, self.command, path, query, headers, body)
        if path.startswith("/slurm/"):
            return rest.answer(self.server.cloud, self.command, path, query, headers, body)
        return self.server.cloud.answer(Request(environment(self.command, raw_path, query, body, headers)))

    def handle_expect_100(self) -> bool:
        # The buffered answer would otherwise leave the caller waiting a second before it sends its body.
        going_on = super().handle_expect_100()
        self.wfile.flush()
        return going_on

    def _body(self) -> bytes:
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            return b"".join(self._chunks())
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def _chunks(self) -> Any:
        while size := int(self.rfile.readline().split(b";")[0], 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet: the journal has it all."""
