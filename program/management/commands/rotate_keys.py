"""`manage.py rotate_keys`: writes every stored secret anew under the newest key, so that older keys can be thrown away."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.core.management.base import BaseCommand, CommandError
from django.db import connection
from django.db.models import Model

from tenants.models import Tenant, TenantManager
from tenants.secret_fields import InvalidToken, SecretField, rotated
from tenants.wall.acting import acting_for


def secret_columns() -> Iterator[tuple[type[Model], str]]:
    """Every column that keeps a secret, found and not listed, so that none is forgotten."""
    for model in apps.get_models():
        for field in model._meta.concrete_fields:
            if isinstance(field, SecretField):
                yield model, field.column


class Command(BaseCommand):
    help = (
        "Seal every secret with the first key of SECRET_KEYS. Run it after adding a key and before removing an old one."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        lost: list[str] = []
        for model, column in secret_columns():
            changed = 0
            for tenant in self._tenants_of(model):
                with acting_for(tenant, staff=True):
                    changed += self._rotate(model._meta.db_table, column, lost)
            self.stdout.write(f"{model._meta.db_table}.{column}: {changed} sealed anew")
        if lost:
            raise CommandError("No key of SECRET_KEYS opens these; their keys must not be removed:\n" + "\n".join(lost))

    def _tenants_of(self, model: type[Model]) -> list[Tenant]:
        # Rows of nobody in particular exist for the office alone, or for everybody.
        if isinstance(model._default_manager, TenantManager):
            return list(Tenant.objects.order_by("slug"))
        return list(Tenant.objects.filter(is_office=True))

    def _rotate(self, table: str, column: str, lost: list[str]) -> int:
        """Read and written as stored: the field itself would show the secret in the clear."""
        changed = 0
        with connection.cursor() as cursor:
            cursor.execute(f'select id, "{column}" from "{table}" where "{column}" <> \'\' order by id')
            for pk, sealed in cursor.fetchall():
                try:
                    fresh = rotated(sealed)
                except InvalidToken:
                    lost.append(f"{table} {pk}")
                    continue
                if fresh is not None:
                    cursor.execute(
                        f'update "{table}" set "{column}" = %s where id = %s and "{column}" = %s', [fresh, pk, sealed]
                    )
                    changed += cursor.rowcount
        return changed
