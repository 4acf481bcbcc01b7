"""Words that occur nowhere else, planted in every column that can hold text; whoever sees one saw a row it should not."""

import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from django.apps import apps
from django.contrib.postgres.fields import ArrayField
from django.db import connection, models

from tenants.secret_fields import SecretField, seal_text

LENGTH = 12
# A word of their own would break a rule of the database; they hold no text of anybody's.
HELD_BY_A_RULE = {
    "state", "severity", "audience", "role", "duty", "severity_then", "state_then",  # words of a closed list
    "table",  # a word of a closed list, of an import
    "digest",  # of an image: sixty-four digits
    "fault_kind",  # a word of a closed list
}  # fmt: skip


@dataclass
class Planted:
    """What was planted where: word -> table.column."""

    words: dict[str, str] = field(default_factory=dict)
    skipped: set[str] = field(default_factory=set)

    def seen_in(self, text: str) -> list[str]:
        """Where the words in `text` come from."""
        if PATTERN.search(text) is None and DIGITS.search(text) is None:
            return []
        return sorted(
            {self.words[word] for word in {*PATTERN.findall(text), *DIGITS.findall(text)} if word in self.words}
        )


NUMBERS = itertools.count(1)
PATTERN = re.compile(r"zq[0-9]{8}qz")
DIGITS = re.compile(r"9977[0-9]{8}")
LOOKED_UP = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-|[0-9]{4}-[0-9]{2}-[0-9]{2}")


def a_word() -> str:
    return f"zq{next(NUMBERS):08d}qz"


def tenant_models() -> list[type[models.Model]]:
    """Every model whose rows belong to a tenant, found and not listed."""
    return [
        model for model in apps.get_models() if any(field.name == "tenant" for field in model._meta.concrete_fields)
    ]


def plant(tenant: Any, *, only_internal: bool = False, but: frozenset[str] = frozenset()) -> Planted:
    """Write a word into every text column of this tenant's rows; with `only_internal`, of its internal rows."""
    planted = Planted()
    with connection.cursor() as cursor:
        # As the owner: the history can be written by nobody else, and row security does not bind it.
        cursor.execute("set local role cohort_owner")
        try:
            for model in tenant_models():
                names = {field.name for field in model._meta.concrete_fields}
                if model._meta.model_name in but or (only_internal and "audience" not in names):
                    continue
                for column in _columns(model, planted):
                    _write(cursor, model, column, tenant, planted, only_internal)
        finally:
            cursor.execute("set local role none")
    return planted


def _columns(model: type[models.Model], planted: Planted) -> Iterator[models.Field]:
    for column in model._meta.concrete_fields:
        if not isinstance(column, models.CharField | models.TextField | models.JSONField | ArrayField):
            continue
        where = f"{model._meta.db_table}.{column.column}"
        if column.name in HELD_BY_A_RULE or column.choices:
            planted.skipped.add(where)
        elif isinstance(column, models.CharField) and (column.max_length or LENGTH) < LENGTH:
            planted.skipped.add(where)
        else:
            yield column


def _write(
    cursor: Any, model: type[models.Model], column: models.Field, tenant: Any, planted: Planted, internal: bool
) -> None:
    where = f"{model._meta.db_table}.{column.column}"
    cursor.execute(
        f"select id from {model._meta.db_table} where tenant_id = %s"
        + (" and audience = 'internal'" if internal else ""),
        [tenant.pk],
    )
    for (pk,) in cursor.fetchall():
        word = a_word()
        if column.name == "account_id":
            word = f"9977{next(NUMBERS):08d}"
        if isinstance(column, models.JSONField):
            cursor.execute(f'select "{column.column}"::text from {model._meta.db_table} where id = %s', [pk])
            value = json.dumps(_with_words(json.loads(cursor.fetchone()[0] or "null"), word) or {word: [word]})
        else:
            value = (
                seal_text(word)
                if isinstance(column, SecretField)
                else [word]
                if isinstance(column, ArrayField)
                else word
            )
        cursor.execute(
            f'update {model._meta.db_table} set "{column.column}" = {_typed(column)} where id = %s', [value, pk]
        )
        planted.words[word] = where


def _typed(column: models.Field) -> str:
    return "%s::jsonb" if isinstance(column, models.JSONField) else "%s"


def _with_words(value: Any, word: str) -> Any:
    """The same structure with other words; ids and times stay, because something is looked up by them."""
    if isinstance(value, dict):
        return {key: _with_words(inner, word) for key, inner in value.items()}
    if isinstance(value, list):
        return [_with_words(inner, word) for inner in value]
    return word if isinstance(value, str) and not LOOKED_UP.match(value) else value


def plant_in_the_directory(tenant: Any, people: list[Any]) -> Planted:
    """The same for what is no tenant's row and still nobody else's business: names and addresses."""
    planted = Planted()
    tenant.name = a_word()
    tenant.save(update_fields=["name"])
    planted.words[tenant.name] = "tenants_tenant.name"
    for person in people:
        person.name = a_word()
        person.email = f"{a_word()}@example.org"
        person.save(update_fields=["name", "email"])
        planted.words |= {person.name: "tenants_person.name", person.email.partition("@")[0]: "tenants_person.email"}
    return planted
