"""An action tried from a page: a refusal comes back as a value, and nothing of what it wrote is kept."""

from collections.abc import Callable
from typing import Any

from django.db import transaction
from django.http import HttpResponse

from tenants.web.problems import Refused


def attempt(action: Callable[..., Any], **values: Any) -> tuple[Any, Refused | None]:
    """What the action gave, or why it was refused."""
    try:
        with transaction.atomic():
            return action(**values), None
    except Refused as refused:
        return None, refused


def see_other(address: str) -> HttpResponse:
    """After a write: look there, and do not send the form again."""
    return HttpResponse(status=303, headers={"Location": address})
