"""Secrets at rest: a text column that is encrypted with the newest of several keys and never comes out in a form."""

from functools import lru_cache
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import models


@lru_cache(maxsize=4)
def _keys(listed: tuple[str, ...]) -> tuple[str, MultiFernet]:
    """The id of the newest key and all keys: SECRET_KEYS holds `id:key`, newest first."""
    pairs = [pair.partition(":") for pair in listed]
    if not pairs:
        raise ImproperlyConfigured("SECRET_KEYS is empty: give at least one 'id:key'.")
    return pairs[0][0], MultiFernet([Fernet(key.encode()) for _, _, key in pairs])


def seal_text(text: str) -> str:
    newest, keys = _keys(tuple(settings.SECRET_KEYS))
    return f"{newest}:{keys.encrypt(text.encode()).decode()}"


def open_text(sealed: str) -> str:
    """Raises InvalidToken when none of the keys fits."""
    _, keys = _keys(tuple(settings.SECRET_KEYS))
    return keys.decrypt(sealed.partition(":")[2].encode()).decode()


class SecretField(models.TextField):
    """Plain text in Python, sealed text in the database. Not editable, not searchable, not in any list."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{**kwargs, "editable": False})

    def deconstruct(self) -> Any:
        name, path, args, kwargs = super().deconstruct()
        kwargs.pop("editable", None)
        return name, path, args, kwargs

    def from_db_value(self, value: str | None, *_: Any) -> str | None:
        return open_text(value) if value else value

    def get_prep_value(self, value: Any) -> Any:
        prepared = super().get_prep_value(value)
        return seal_text(prepared) if prepared else prepared


def rotated(sealed: str) -> str | None:
    """The same secret under the newest key, or None when it already is. Raises InvalidToken."""
    newest, _ = _keys(tuple(settings.SECRET_KEYS))
    return None if sealed.startswith(f"{newest}:") else seal_text(open_text(sealed))


__all__ = ["InvalidToken", "SecretField", "open_text", "rotated", "seal_text"]
