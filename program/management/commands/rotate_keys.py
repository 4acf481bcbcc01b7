"""`manage.py rotate_keys`: writes every stored secret anew under the newest key, so that older keys can be thrown away."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from allauth.mfa.models import Authenticator
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
        self.stdout.write(f"second steps of signing in: {self._rotate_second_steps(lost)} sealed anew")
        if lost:
            raise CommandError("No key of SECRET_KEYS opens these; their keys must not be removed:\n" + "\n".join(lost))

    def _rotate_second_steps(self, lost: list[str]) -> int:
        """What allauth keeps in a column of its own: sealed by our adapter, within JSON."""
        changed = 0
        for row in Authenticator.objects.order_by("pk"):
            try:
                fresh = {key: rotated(row.data[key]) for key in ("secret", "seed") if row.data.get(key)}
            except InvalidToken:
                lost.append(f"{row._meta.db_table} {row.pk}")
                continue
            newer = {key: sealed for key, sealed in fresh.items() if sealed is not None}
            if newer:
                changed += Authenticator.objects.filter(pk=row.pk, data=row.data).update(data=row.data | newer)
        return changed

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
