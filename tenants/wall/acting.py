"""For whom the database believes we act. A scope lives exactly as long as the transaction it was set in."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import UUID

from django.db import connection, transaction

if TYPE_CHECKING:
    from tenants.models import Tenant

READER = "cohort_reader"  # may read every tenant and write nothing
SET = "select set_config('role', %s, true), set_config('app.tenants', %s, true), set_config('app.staff', %s, true)"


@dataclass(frozen=True)
class Scope:
    """The tenants whose rows exist now, whether internal text does, and whether all tenants are being read."""

    tenants: tuple[str, ...] = ()
    staff: bool = False
    everyone: bool = False

    def put(self) -> None:
        _put(READER if self.everyone else "none", "{" + ",".join(self.tenants) + "}", "on" if self.staff else "")


def _put(role: str, tenants: str, staff: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(SET, [role, tenants, staff])


class NoScope(RuntimeError):
    """Raised instead of answering "nothing there", which a quota check would take for an answer."""


def scope() -> Scope:
    """The scope in force. Raises NoScope outside one."""
    found: Scope | None = getattr(connection, "scope", None)
    if found is None:
        raise NoScope("Wrap this in acting_for() or reading_everyone().")
    return found


def acting_for(*tenants: "Tenant | UUID | str", staff: bool = False) -> AbstractContextManager[None]:
    """A transaction, or a savepoint in one, in which only these tenants' rows exist. `staff` shows internal text."""
    return _within(Scope(tuple(str(getattr(tenant, "pk", tenant)) for tenant in tenants), staff))


def reading_everyone() -> AbstractContextManager[None]:
    """The same for every tenant at once, internal text included; the database refuses any write."""
    return _within(Scope(staff=True, everyone=True))


@contextmanager
def _within(new: Scope) -> Iterator[None]:
    outer: Scope | None = getattr(connection, "scope", None)
    nested = connection.in_atomic_block
    with transaction.atomic():
        connection.scope = new
        try:
            new.put()
            yield
            # Releasing a savepoint keeps the settings, so put back the outer ones; commit and rollback do it by themselves.
            if nested and not connection.needs_rollback:
                outer.put() if outer else _put("none", "", "")
        finally:
            connection.scope = outer
