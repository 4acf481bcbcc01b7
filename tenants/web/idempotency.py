"""The first answer to a request is stored with what it wrote, and given again to whoever repeats it: by an Idempotency-Key, or
by sending a page's form once more as it was."""

import hashlib
import json
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.db import IntegrityError, OperationalError, connection, transaction
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from rest_framework.response import Response

from tenants.models import IdempotencyKey
from tenants.web.problems import Refused

LOCK_NOT_AVAILABLE = "55P03"


def repeatable(*, required: bool) -> Callable[..., Any]:
    """Wrap an API write: same key and same request give the stored answer, another request with it is refused.

    Runs inside the door's transaction, so the answer exists exactly when what it speaks of does. Raises Refused:
    428 missing, 400 malformed, 422 other request, 409 its twin is still running.
    """

    def decorate(view: Callable[..., Response]) -> Callable[..., Response]:
        @wraps(view)
        def once(request: HttpRequest, *args: Any, **kwargs: Any) -> Response:
            key = request.headers.get("Idempotency-Key")
            if request.method != "POST" or (key is None and not required):
                return view(request, *args, **kwargs)
            row = _take(request, _checked(key))
            if row.status is not None:
                return Response(row.body, status=row.status, headers={"Idempotency-Replayed": "true"})
            response = view(request, *args, **kwargs)
            if response.status_code < 400:
                body = json.loads(json.dumps(response.data, default=str))
                IdempotencyKey.objects.filter(pk=row.pk).update(status=response.status_code, body=body)
            return response

        return once

    return decorate


def form_once(view: Callable[..., HttpResponse], request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
    """A form of a page, sent twice as it was drawn, is done once, and both ways lead to the same place.

    Each drawing of a form has a CSRF token of its own, so the same bytes are the same form. A fragment may stay on its page
    after it was sent, and may be meant again.
    """
    drawn = request.method == "POST" and request.tenant is not None and "csrfmiddlewaretoken" in request.POST
    if not drawn or request.headers.get("HX-Request"):
        return view(request, *args, **kwargs)
    row = _take(request, f"form {_digest(request)}")
    if row.status is not None:
        return HttpResponse(status=row.status, headers=row.body)
    response = view(request, *args, **kwargs)
    if response.status_code == 303:
        IdempotencyKey.objects.filter(pk=row.pk).update(status=303, body={"Location": response["Location"]})
    elif not connection.needs_rollback:
        row.delete()
    return response


def _checked(key: str | None) -> str:
    if key is None:
        raise Refused(
            "idempotency_key_required",
            _(
                "Send a header 'Idempotency-Key' (1 to 255 visible ASCII characters), so that a repeated request is not done twice."
            ),
            status=428,
        )
    if not 1 <= len(key) <= 255 or not all("!" <= letter <= "~" for letter in key):
        raise Refused(
            "idempotency_key_malformed",
            _("'Idempotency-Key' takes 1 to 255 visible ASCII characters."),
            status=400,
            length=len(key),
        )
    return key


def _digest(request: HttpRequest) -> str:
    """What makes two requests the same one. A form with files was read already: its fields and files are, in order."""
    found = hashlib.sha256(f"{request.method} {request.path}\n".encode())
    inner = getattr(request, "_request", request)  # within the API's own, or a page's
    if inner.content_type != "multipart/form-data":
        found.update(inner.body)
        return found.hexdigest()
    found.update(json.dumps(sorted(inner.POST.lists())).encode())
    for field, files in sorted(inner.FILES.lists()):
        for file in files:
            found.update(f"{field} {file.name} {file.size}\n".encode())
            for chunk in file.chunks():
                found.update(chunk)
            file.seek(0)
    return found.hexdigest()


def _take(request: HttpRequest, key: str) -> IdempotencyKey:
    asked = _digest(request)
    mine = {"tenant": request.tenant, "actor": request.actor, "key": key}
    try:
        with transaction.atomic():
            with connection.cursor() as cursor:
                # A twin holds its row until it commits; wait a moment for its answer, not for ever.
                cursor.execute("set local lock_timeout = '2s'")
            row, new = IdempotencyKey.objects.get_or_create(**mine, defaults={"request_sha256": asked})
    except OperationalError as error:
        if getattr(error.__cause__, "pgcode", None) != LOCK_NOT_AVAILABLE:
            raise
        raise Refused(
            "twin_in_progress",
            _("The same request is being handled; ask again in a second."),
            status=409,
            retry_after=1,
        ) from None
    except IntegrityError:
        raise Refused(
            "twin_in_progress",
            _("The same request is being handled; ask again in a second."),
            status=409,
            retry_after=1,
        ) from None
    if not new and row.request_sha256 != asked:
        raise Refused(
            "idempotency_key_reused",
            _("This Idempotency-Key was used for another request; take a new one."),
            status=422,
            key=key,
        )
    return row
