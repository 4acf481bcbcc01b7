"""Requests and answers on the wire, both ways, as the botocore service models describe them."""

import warnings
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

import botocore.parsers
import botocore.serialize
from moto.core.model import OperationModel
from moto.core.parse import PROTOCOL_PARSERS
from moto.core.request import Request, determine_request_protocol
from moto.core.routing import get_service_router
from moto.core.serialize import get_serializer_class
from moto.core.utils import get_service_model

from clusters.sandbox.errors import AwsError

# Errors that every service knows are not in the models one by one; moto warns of each.
warnings.filterwarnings("ignore", message=r"Exception\(AwsError\)")

# The name in a signature's scope, where it is not the name of the service model.
SERVICE_OF_SCOPE = {"servicequotas": "service-quotas", "sso": "sso-admin", "aps": "amp"}


@dataclass
class Answer:
    """An HTTP answer."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    error: str = ""  # the error code, for the journal


def matched(service: str, request: Request) -> tuple[str, dict[str, Any]]:
    """The operation that a request asks for, and what its path says."""
    operation, in_path = get_service_router(service).match(request)
    return str(operation.name), in_path


def parsed(service: str, operation: str, request: Request, in_path: dict[str, Any]) -> dict[str, Any]:
    """The request's parameters under their names in the model."""
    model = get_service_model(service)
    parser = PROTOCOL_PARSERS[determine_request_protocol(model, request.content_type)](model.operation_model(operation))
    return dict(
        parser.parse(
            {
                "method": request.method,
                "values": request.values,
                "headers": request.headers,
                "body": request.data,
                "url_path": request.path,
                "url_params": in_path,
            }
        )
    )


def written(service: str, operation: str, result: Any) -> Answer:
    """A result, or an AwsError, as the service would send it."""
    model = get_service_model(service)
    known = operation in model.operation_names
    shape = model.operation_model(operation) if known else OperationModel({}, model)
    sent = get_serializer_class(service, str(model.protocol))(operation_model=shape).serialize(result)
    body = sent["body"]
    answer = Answer(sent["status_code"], body.encode() if isinstance(body, str) else body, dict(sent["headers"]))
    if isinstance(result, AwsError):
        answer.error = result.code
        answer.status = result.status or answer.status
    return answer


def request_for(service: str, operation: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """The WSGI environment of a call that the sandbox makes to itself, without a network."""
    model = get_service_model(service)
    serializer = botocore.serialize.create_serializer(str(model.protocol), include_validation=True)
    sent = serializer.serialize_to_request(parameters, model.operation_model(operation))
    body = sent["body"]
    if isinstance(body, dict):
        body = urlencode(body)
    path, _, query = sent["url_path"].partition("?")
    query_string = "&".join(part for part in (query, urlencode(sent.get("query_string") or {})) if part)
    headers = {"Content-Type": "application/x-amz-json-1.1"} if model.protocol == "json" else {}
    return {
        "method": sent["method"],
        "path": path,
        "query": query_string,
        "headers": {**headers, **sent["headers"]},
        "body": body.encode() if isinstance(body, str) else body or b"",
    }


def understood(service: str, operation: str, answer: Answer) -> dict[str, Any]:
    """What an answer says to the sandbox itself; an error answer is raised."""
    model = get_service_model(service)
    parser = botocore.parsers.create_parser(str(model.protocol))
    said = parser.parse(
        {"status_code": answer.status, "headers": _lower(answer.headers), "body": answer.body},
        model.operation_model(operation).output_shape,
    )
    if answer.status >= 300:
        error = said.get("Error", {})
        raise AwsError(error.get("Code", "InternalFailure"), error.get("Message", ""), answer.status)
    return dict(said)


def _lower(headers: dict[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}
