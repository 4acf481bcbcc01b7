"""Lets a command that changes tables act as their owner."""

from __future__ import annotations

from typing import Any

from django.db import connections


class AsOwner:
    """Mixed into a command: it becomes cohort_owner, without the time limits that hold for pages and workers."""

    def handle(self, *args: Any, **options: Any) -> Any:
        connection = connections[options["database"]]
        with connection.cursor() as cursor:
            # The limits belong to the login and would stay after SET ROLE.
            cursor.execute("set role cohort_owner")
            cursor.execute("set statement_timeout = 0")
            cursor.execute("set transaction_timeout = 0")
            cursor.execute("set idle_in_transaction_session_timeout = 0")
            cursor.execute("set lock_timeout = '5s'")
        try:
            return super().handle(*args, **options)  # type: ignore[misc]
        finally:
            # In an aborted transaction nothing more can be said, and its end forgets the role with the rest.
            if not connection.needs_rollback and connection.connection is not None:
                with connection.cursor() as cursor:
                    cursor.execute("reset role")
                    for limit in ("statement", "transaction", "idle_in_transaction_session", "lock"):
                        cursor.execute(f"reset {limit}_timeout")
