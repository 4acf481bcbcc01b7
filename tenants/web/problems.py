"""Everything that can go wrong in a request becomes one answer: problem+json for the API, a sentence on a page."""

import logging
import math
from collections.abc import Callable
from typing import Any

import structlog
from django.core.exceptions import (
    BadRequest,
    PermissionDenied,
    RequestDataTooBig,
    SuspiciousOperation,
)
from django.db import (
    DatabaseError,
    IntegrityError,
    InterfaceError,
    OperationalError,
    connection,
    transaction,
)
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.http.multipartparser import MultiPartParserError
from django.shortcuts import render
from django.urls import is_valid_path
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _

from tenants.web.parents import above

log = structlog.get_logger(__name__)

UNIQUE_VIOLATION = "23505"
MIB = 1024 * 1024
RETRIED = ("40001", "40P01")  # serialisation failure, deadlock: nothing was written, so asking once more is safe


class Refused(Exception):
    """What a person can act on. `code` never changes; the sentence says what to do; `facts` go along as data."""

    status = 409

    def __init__(self, code: str, sentence: str, *, status: int | None = None, **facts: Any) -> None:
        super().__init__(str(sentence))
        self.code, self.sentence, self.facts = code, sentence, facts
        if status is not None:
            self.status = status


class UploadTooLarge(RequestDataTooBig):
    """An upload that is refused before it is read."""

    def __init__(self, size: int, most: int) -> None:
        super().__init__(f"{size} bytes were sent, {most} are allowed")
        self.size, self.most = size, most


class Stale(Refused):
    """Somebody saved a newer version meanwhile; `facts["changes"]` is {field: [theirs, yours]}."""


def is_api(request: HttpRequest) -> bool:
    return request.path.startswith("/api/")


def answer(request: HttpRequest, status: int, code: str, sentence: str, **facts: Any) -> HttpResponse:
    """The one shape of every refusal and error."""
    if is_api(request):
        body = {
            "type": "about:blank",
            "title": str(sentence),
            "status": status,
            "code": code,
            "detail": str(sentence),
            **facts,
        }
        response = JsonResponse(
            body, status=status, content_type="application/problem+json", json_dumps_params={"default": str}
        )
        if "retry_after" in facts:
            response["Retry-After"] = str(facts["retry_after"])
        return response
    if request.headers.get("HX-Request"):
        response = HttpResponse(str(sentence), status=status, content_type="text/plain; charset=utf-8")
        response["HX-Reswap"] = "none"
        return response
    template = {403: "403.html", 404: "404.html"}.get(status, "500.html" if status >= 500 else "400.html")
    context = {"status": status, "code": code, "sentence": sentence, "facts": facts}
    try:
        return render(request, template, context, status=status)
    except (DatabaseError, InterfaceError):
        # The shell itself asks the database; when that is what failed, answer in plain words.
        return HttpResponse(str(sentence), status=status, content_type="text/plain; charset=utf-8")


def problem(request: HttpRequest, error: BaseException) -> HttpResponse | None:
    """The answer to an exception, or None when it is nobody's mistake but ours."""
    if isinstance(error, Refused):
        # Said as a header, an old version is an unmet condition of HTTP; said in a form or body, it is our conflict.
        status = 412 if isinstance(error, Stale) and "If-Match" in request.headers else error.status
        return answer(request, status, error.code, error.sentence, **error.facts)
    if isinstance(error, Http404):
        return answer(request, 404, "not_found", _("There is nothing here, or it is not yours to see."))
    if isinstance(error, PermissionDenied):
        return answer(request, 403, "forbidden", _("Your role may not do this."))
    if isinstance(error, UploadTooLarge):
        sentence = _("You sent %(size)s MiB; a file may have %(most)s MiB.") % {
            "size": -(-error.size // MIB),
            "most": error.most // MIB,
        }
        return answer(request, 413, "file_too_large", sentence, size=error.size, most=error.most)
    if isinstance(error, RequestDataTooBig):
        return answer(request, 413, "too_large", _("The request is too large."))
    if isinstance(error, SuspiciousOperation | BadRequest | MultiPartParserError):
        return answer(request, 400, "bad_request", _("The request could not be read."))
    if isinstance(error, IntegrityError):
        return _broken_rule(request, error)
    if isinstance(error, OperationalError | InterfaceError):
        response = answer(
            request, 503, "unavailable", _("The database did not answer in time. Nothing was changed; try again.")
        )
        response["Retry-After"] = "2"
        return response
    return None


def rule_broken(error: IntegrityError) -> str:
    """The name of the rule of the database that an error broke, so that one refusal never hides another mistake."""
    return getattr(getattr(error.__cause__, "diag", None), "constraint_name", None) or ""


def _broken_rule(request: HttpRequest, error: IntegrityError) -> HttpResponse | None:
    """Two requests at once may both pass the checks; then the database's own rule decides, and that is no mistake of ours."""
    if getattr(error.__cause__, "pgcode", None) != UNIQUE_VIOLATION:
        return None
    return answer(
        request,
        409,
        "exists_already",
        _("Something of this name is there already; nothing was changed."),
        rule=rule_broken(error),
    )


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """No address like this; Django's own page would not speak the API's language."""
    return answer(request, 404, "not_found", _("There is nothing at this address."))


def nowhere(request: HttpRequest) -> HttpResponse:
    """No page is at this address: whoever cut another one short is led on, also where Django would show its own page."""
    plain = request.method in ("GET", "HEAD") and not request.headers.get("HX-Request")
    if plain and not is_valid_path(f"{request.path_info}/") and (there := above(request.path_info)):
        return HttpResponseRedirect(there)
    return not_found(request, Http404())


def unreadable(request: HttpRequest, exception: Exception) -> HttpResponse:
    """What could not be read, or was too much to read, before any view was asked."""
    return problem(request, exception) or answer(request, 400, "bad_request", _("The request could not be read."))


def csrf_failed(request: HttpRequest, reason: str = "") -> HttpResponse:
    """A form that does not prove that our own page sent it."""
    sentence = _(
        "This form was not sent by our page, or the page was open for too long. Go back, reload it, and send it again."
    )
    return answer(request, 403, "csrf", sentence)


class ProblemMiddleware:
    """Turns what views raise into answers, also a failing commit, and writes our own mistakes to the log."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if response.status_code == 404 and request.resolver_match is None and not is_api(request):
            return nowhere(request)
        if is_api(request):
            patch_vary_headers(response, ("Authorization", "Cookie", "Accept-Language"))
            response.headers.setdefault("Cache-Control", "private, no-store")
        if is_api(request) and response.status_code in (404, 405) and not _is_ours(response):
            sentence = (
                _("There is nothing at this address.")
                if response.status_code == 404
                else _("This method is not offered here.")
            )
            code = "not_found" if response.status_code == 404 else "method_not_allowed"
            plain, response = response, answer(request, response.status_code, code, sentence)
            if "Allow" in plain:
                response["Allow"] = plain["Allow"]
        return response

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        known = problem(request, error)
        if known is None or known.status_code >= 500:
            logging.getLogger("django.request").error("%s %s failed", request.method, request.path, exc_info=error)
        if known is not None:
            return known
        if is_api(request):
            return answer(
                request, 500, "our_mistake", _("Something broke on our side. Nothing was changed; it has been logged.")
            )
        return None


def _is_ours(response: HttpResponse) -> bool:
    return response.get("Content-Type", "").startswith("application/problem+json")


def api_exception(error: Exception, context: dict[str, Any]) -> HttpResponse | None:
    """DRF's exception handler: the same answers, and nothing of a failed request is kept."""
    from rest_framework import exceptions

    if connection.in_atomic_block:
        transaction.set_rollback(True)
    if isinstance(error, OperationalError) and getattr(error.__cause__, "pgcode", None) in RETRIED:
        return None  # the door runs the view once more
    request = context["request"]._request
    if isinstance(error, exceptions.ValidationError):
        fields = error.detail if isinstance(error.detail, dict) else {"_": error.detail}
        return answer(request, 422, "invalid", _sentence(fields), fields=fields)
    if isinstance(error, exceptions.ParseError):
        return answer(request, 400, "malformed", str(error.detail))
    if isinstance(error, exceptions.Throttled):
        seconds = math.ceil(error.wait or 1)
        sentence = _("You asked too often. Ask again in %(seconds)s seconds.") % {"seconds": seconds}
        return answer(request, 429, "throttled", sentence, retry_after=seconds)
    if isinstance(error, exceptions.APIException):
        return answer(request, error.status_code, str(error.default_code), str(error.detail))
    return problem(request, error)


def _sentence(fields: dict[str, Any]) -> str:
    field, messages = next(iter(fields.items()))
    first = messages[0] if isinstance(messages, list) and messages else messages
    if isinstance(first, dict):
        return f"{field}: {_sentence(first)}"
    return str(first) if field in ("_", "non_field_errors") else f"{field}: {first}"
