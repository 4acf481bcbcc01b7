"""A form sent from a page: its action tried, a refusal as a value with nothing of it kept, and the way on after it."""

from collections.abc import Callable
from typing import Any

from django.db import transaction
from django.http import HttpRequest, HttpResponse, QueryDict

from tenants.web.problems import Refused, Stale


def attempt(action: Callable[..., Any], **values: Any) -> tuple[Any, Refused | None]:
    """What the action gave, or why it was refused."""
    try:
        with transaction.atomic():
            return action(**values), None
    except Refused as refused:
        return None, refused


def theirs_and_yours(form: Any, refused: Refused | None, **labels: Any) -> list[dict[str, Any]]:
    """Each field of a stale form that somebody else saved otherwise: label, theirs, yours. The form is a change of the newest
    version from now on, so that sending it again saves it."""
    if not isinstance(refused, Stale):
        return []
    form.data = form.data.copy()
    form.data[form.add_prefix("version")] = str(refused.facts["version"])
    changes = refused.facts.get("changes", {})
    labels |= {name: form.fields[name].label for name in changes if name in form.fields}
    return [
        {"label": labels.get(name, name), "theirs": theirs, "yours": yours} for name, (theirs, yours) in changes.items()
    ]


def posted(request: HttpRequest) -> QueryDict | None:
    """What a form is bound to: also an empty body is an answer, and not the first look at the form."""
    return request.POST if request.method == "POST" else None


def see_other(address: str) -> HttpResponse:
    """After a write: look there, and do not send the form again."""
    return HttpResponse(status=303, headers={"Location": address})
