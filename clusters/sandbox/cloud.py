"""The cloud itself: who calls, what has become due meanwhile, the call, its faults, and the commit before the answer."""

import io
import re
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote_to_bytes

import yaml
from botocore.exceptions import UnknownServiceError
from moto.core.parse import RequestParserError
from moto.core.request import Request
from werkzeug.exceptions import NotFound

from clusters.sandbox import constraints, credentials, moto_services, wire
from clusters.sandbox.clock import Clock
from clusters.sandbox.errors import AwsError, NoAnswer
from clusters.sandbox.faults import Faults
from clusters.sandbox.journal import Journal
from clusters.sandbox.services import OPERATIONS, Call
from clusters.sandbox.store import Store
from clusters.sandbox.wire import Answer

LOOKS = re.compile(r"(Describe|Get|List|Head|Search|BatchGet|Filter|Validate|Lookup)")
# Of the services that moto plays, those whose every parameter is in the body, so that it can be checked beforehand.
READ_WHOLE = frozenset({"dynamodb", "iam", "secretsmanager", "ssm"})
# What a copy that lags behind says of what it has not heard of yet.
UNSEEN = {
    "cloudformation": ("ValidationError", "Stack with that id does not exist", 400),
    "fsx": ("FileSystemNotFound", "The file system does not exist.", 400),
    "sagemaker": ("ResourceNotFound", "The cluster was not found.", 400),
}
THROTTLED = {
    "cloudformation": ("Throttling", "Rate exceeded", 400),
    "ec2": ("RequestLimitExceeded", "Request limit exceeded.", 503),
    "iam": ("Throttling", "Rate exceeded", 400),
    "s3": ("SlowDown", "Please reduce your request rate.", 503),
    "service-quotas": ("TooManyRequestsException", "Too many requests.", 400),
    "sts": ("Throttling", "Rate exceeded", 400),
}


class Cloud:
    """One lock: a request sees a still world and leaves a consistent one."""

    def __init__(self, folder: Path, speed: float, programme: Path | None, address: str = "") -> None:
        self.address = address  # how the cloud is reached, for what it tells others
        self.lock = threading.RLock()
        self.store = Store(folder)
        self.journal = Journal(self.store)
        self.faults = Faults(self.store)
        self.clock: Clock = self.store.read("clock") or Clock()
        self.clock.run_at(speed)
        self.store.put("clock", self.clock)
        self.programme: dict[str, Any] = _read(programme) if programme else {}
        self.moto = moto_services.MotoServices()
        self.moto_changed: set[tuple[str, str, str]] = set()
        self.moment: float | None = None
        moto_services.install(self.addresses_taken)
        moto_services.restore(self.store.blobs("moto/"))
        self.commit()

    def now(self) -> float:
        """Sandbox time; while something overdue is caught up with, the time at which it was due."""
        return self.clock.now() if self.moment is None else self.moment

    @contextmanager
    def at(self, moment: float) -> Iterator[None]:
        outer, self.moment = self.moment, moment
        try:
            yield
        finally:
            self.moment = outer

    def answer(self, request: Request) -> Answer:
        """Answer one signed request, or raise NoAnswer."""
        request.get_data()  # before werkzeug reads a form from it, so that the signature sees the bytes
        signed = credentials.signature_of(request)
        if signed is None:
            return wire.written(
                "sts", "", AwsError("MissingAuthenticationToken", "Request is missing a signature", 403)
            )
        service = wire.SERVICE_OF_SCOPE.get(signed.service, signed.service)
        try:
            operation, in_path = wire.matched(service, request)
        except NotFound:
            return wire.written(service, "", AwsError("UnknownOperationException", "Unknown operation.", 400))
        except UnknownServiceError:
            return wire.written("sts", "", AwsError("UnknownService", f"No such service here: {service}.", 400))
        parameters = self._parameters(service, operation, request, in_path)
        slow = self._fault(("slow",), signed, service, operation, parameters)
        if slow:
            time.sleep(slow.seconds)
        with self.lock:
            return self._answer_alone(request, signed, service, operation, parameters)

    def _answer_alone(self, request: Request, signed: credentials.Signature, service: str, operation: str,
                      parameters: dict[str, Any]) -> Answer:  # fmt: skip
        call = Call("", signed.region, service, operation, parameters, self.clock.now())
        try:
            who = credentials.check(self.store, request, signed, service, self.clock.callers_now())
            call.account, call.principal = who.account, who
            self._faults_before(call)
            self.catch_up(call.account, call.region)
            answer = self._run(call, request.environ)
        except AwsError as error:
            answer = wire.written(service, operation, error)
        after = None
        if answer.status < 300:
            kinds = ("timeout_after_success", "error_after_success")
            after = self.faults.take_for_call(kinds, call.account, service, operation, parameters)
        self.note(call, answer, f"lost: {after.fault}" if after else answer.error)
        self.commit()
        if after and after.fault == "timeout_after_success":
            raise NoAnswer(after.seconds)
        if after:
            code = "InternalError" if service == "s3" else "InternalFailure"
            return wire.written(service, operation, AwsError(code, "An internal error occurred.", 500))
        return answer

    def _parameters(self, service: str, operation: str, request: Request, in_path: dict[str, Any]) -> dict[str, Any]:
        if service == "s3":
            return dict(in_path)
        try:
            return wire.parsed(service, operation, request, in_path)
        except (RequestParserError, ValueError, KeyError, TypeError, AttributeError) as broken:
            # A malformed body; the service then misses what it requires.
            print(f"unreadable {service}:{operation}: {broken!r}", file=sys.stderr)
            return {}

    def _fault(self, kinds: tuple[str, ...], signed: credentials.Signature, service: str, operation: str,
               parameters: dict[str, Any]) -> Any:  # fmt: skip
        with self.lock:
            who = credentials.principal(self.store, signed.key)
            found = self.faults.take_for_call(kinds, who.account if who else "", service, operation, parameters)
            if found:
                self.commit()
            return found

    def _faults_before(self, call: Call) -> None:
        kinds = ("throttling", "expired_token", "no_answer", "not_found")
        fault = self.faults.take_for_call(kinds, call.account, call.service, call.operation, call.parameters)
        if fault is None:
            return
        if fault.fault == "no_answer":
            self.note(call, Answer(0), "no_answer")
            self.commit()
            raise NoAnswer(fault.seconds)
        if fault.fault == "not_found":
            raise AwsError(*UNSEEN.get(call.service, ("ResourceNotFoundException", "The resource was not found.", 400)))
        if fault.fault == "expired_token":
            raise credentials.expired(call.service)
        raise AwsError(*THROTTLED.get(call.service, ("ThrottlingException", "Rate exceeded", 400)))

    def _run(self, call: Call, environ: dict[str, Any]) -> Answer:
        handler = OPERATIONS.get((call.service, call.operation))
        if handler is not None or call.service in READ_WHOLE:
            broken = constraints.violations(call.service, call.operation, call.parameters)
            if broken:
                raise AwsError(_validation_code(call.service), constraints.sentence(broken))
        if handler is not None:
            try:
                return wire.written(call.service, call.operation, handler(self, call))
            except (AttributeError, KeyError, TypeError, IndexError):
                traceback.print_exc(file=sys.stderr)
                message = f"The sandbox cloud failed in {call.service}:{call.operation}."
                raise AwsError("InternalFailure", message, 500) from None
        if call.service not in moto_services.SERVICES:
            raise AwsError("NotImplemented", f"The sandbox cloud does not play {call.service}:{call.operation}.", 400)
        answer = self.moto.answer(call, environ)
        if not LOOKS.match(call.operation):
            self.moto_changed.add((call.service, call.account, call.region))
            call.effective = answer.status < 300
        return answer

    def ask(self, account: str, region: str, service: str, operation: str, **parameters: Any) -> dict[str, Any]:
        """A call that the cloud makes to itself inside an account; an error answer is raised as AwsError."""
        sent = wire.request_for(service, operation, parameters)
        call = Call(account, region, service, operation, parameters, self.now())
        authorization = f"AWS4-HMAC-SHA256 Credential=AKIACLOUDITSELF00000/20000101/{region}/{service}/aws4_request, "
        environ = environment(sent["method"], sent["path"], sent["query"], sent["body"],
                              {**sent["headers"], "Authorization": authorization, "Host": "127.0.0.1"})  # fmt: skip
        return wire.understood(service, operation, self._run(call, environ))

    def note(self, call: Call, answer: Answer, error: str) -> None:
        self.journal.note(
            time.time(), call.account, call.region, call.service, call.operation, call.parameters,
            answer.status, error or (str(answer.status) if answer.status >= 300 else ""), call.effective,
        )  # fmt: skip

    def commit(self) -> None:
        blobs: dict[str, bytes] = {}
        for service, account, region in self.moto_changed:
            blobs |= moto_services.packed(service, account, region)
        self.moto_changed.clear()
        lines, self.journal.lines = self.journal.lines, []
        self.store.commit(blobs, lines)

    def catch_up(self, account: str, region: str) -> None:
        """Let everything happen that has become due in this account and Region since somebody looked."""
        from clusters.sandbox import cloudformation, headnode, hyperpod, instances, kubernetes, slurm

        cloudformation.catch_up(self, account, region)
        hyperpod.catch_up(self, account, region)
        headnode.catch_up(self, account, region)
        instances.catch_up(self, account, region)
        slurm.catch_up(self, account, region)
        kubernetes.catch_up(self, account, region)

    def addresses_taken(self, account: str, region: str, subnet: str) -> int:
        from clusters.sandbox import hyperpod, instances

        others = hyperpod.addresses_taken(self, account, region, subnet)
        return others + instances.addresses_taken(account, region, subnet)


def _read(programme: Path) -> dict[str, Any]:
    # The safe loader in C where there is one: the demo's file takes seconds without it.
    return dict(yaml.load(programme.read_text(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)) or {})


def _validation_code(service: str) -> str:
    return "ValidationError" if service in credentials.QUERY_SERVICES else "ValidationException"


def environment(method: str, path: str, query: str, body: bytes, headers: dict[str, str]) -> dict[str, Any]:
    """A WSGI environment, complete enough for werkzeug and moto."""
    environ: dict[str, Any] = {
        "REQUEST_METHOD": method,
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(path).decode("latin-1"),
        "RAW_URI": path + (f"?{query}" if query else ""),
        "REQUEST_URI": path + (f"?{query}" if query else ""),
        "QUERY_STRING": query,
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(body),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
        "CONTENT_LENGTH": str(len(body)),
    }
    for name, value in headers.items():
        key = name.upper().replace("-", "_")
        if key == "CONTENT_TYPE":
            environ["CONTENT_TYPE"] = value
        elif key not in ("CONTENT_LENGTH", "TRANSFER_ENCODING"):
            environ[f"HTTP_{key}"] = value
    return environ
