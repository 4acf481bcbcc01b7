"""What people call a field: the history keeps `done_amount`, a page says "done so far"."""

from functools import lru_cache

from django.apps import apps
from django.core.exceptions import FieldDoesNotExist
from django.db import models


@lru_cache(maxsize=1)
def _subjects() -> dict[str, type[models.Model]]:
    return {model.SUBJECT: model for model in apps.get_models() if hasattr(model, "SUBJECT")}


def field_label(subject: str, name: str) -> str:
    """The field in words of the reader's language; the name itself where there are none."""
    model = _subjects().get(subject)
    if model is None:
        return name
    try:
        return str(getattr(model._meta.get_field(name), "verbose_name", name))
    except FieldDoesNotExist:
        return name
