"""What every API view shares: its methods, and the version that a change is based on."""

import re
from collections.abc import Callable
from typing import Any

from django.utils.translation import gettext as _
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response

from tenants.web.problems import Refused

ETAG = re.compile(r'(?:W/)?"(\d{1,9})"|(\d{1,9})')


def endpoint(*methods: str) -> Callable[..., Any]:
    """DRF's api_view, which forgets that HEAD belongs to GET."""
    return api_view([*methods, "HEAD"] if "GET" in methods else list(methods))


def versioned(data: dict[str, Any], version: int, status: int = 200) -> Response:
    """An answer whose ETag is the row's version, to be sent back as If-Match."""
    return Response(data, status=status, headers={"ETag": f'"{version}"'})


def optional_version(request: Request, sent: dict[str, Any]) -> int | None:
    """The version that a wish was made on, when its sender says one."""
    return based_on(request, sent) if "version" in sent or "If-Match" in request.headers else None


def based_on(request: Request, sent: dict[str, Any]) -> int:
    """The version that a change says it was made on: `If-Match`, or `version` in the body. Raises Refused, 428 without."""
    header = request.headers.get("If-Match")
    if header is not None:
        found = ETAG.fullmatch(header.strip())
        if found is None:
            raise Refused("if_match", _("'If-Match' takes the ETag of the answer you read, like \"3\"."), status=400)
        return int(found[1] or found[2])
    if "version" not in sent:
        sentence = _("Say which version you changed: send its ETag as 'If-Match', or 'version' in the body.")
        raise Refused("version_required", sentence, status=428)
    return int(sent["version"])
