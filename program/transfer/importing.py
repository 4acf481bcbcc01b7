"""Takes a whole programme out of a file into an empty installation: all of it in one transaction, and nothing is launched."""

from __future__ import annotations

from datetime import timedelta

from django.core.exceptions import ValidationError
from django.db import DataError, IntegrityError, connection, transaction

from program.transfer import clusters, directory, record
from program.transfer.dates import Row, Shift
from program.transfer.past import loading
from program.transfer.past.loading import Say
from program.transfer.past.rows import Past
from program.transfer.programme_file import Unfit
from tenants.models import Programme, Tenant
from tenants.web.problems import Refused

AS_TOLD = Shift(timedelta(0))


def what_is_there() -> list[str]:
    """What keeps a programme from being taken in: the names of the one that is there already."""
    return [str(row) for row in Programme.objects.order_by("pk")] + _participants()


def _participants() -> list[str]:
    return list(Tenant.objects.filter(is_office=False).order_by("slug").values_list("name", flat=True))


def check(told: Row) -> None:
    """Raises Unfit with the clusters whose configuration is none; the rest of the file was looked at when it was read."""
    found = clusters.problems(told)
    if found:
        raise Unfit(found)


def load(told: Row, say: Say) -> None:
    """The dates stay what they are. Raises Unfit before anything is written."""
    check(told)
    with transaction.atomic():
        with connection.cursor() as cursor:
            # All or nothing: the one transaction lives longer than a request may.
            cursor.execute("set local transaction_timeout = 0; set local idle_in_transaction_session_timeout = 0")
        _load(told, say)


def _load(told: Row, say: Say) -> None:
    part = "people and participants"
    try:
        who = directory.load(told, AS_TOLD)
        say(f"{len(told['participants'])} participants and {len(who.people)} people")
        part = "the records"
        record.load(told, AS_TOLD, who)
        part = "the clusters"
        say(f"{clusters.load(told, AS_TOLD, who)} clusters, each waiting for an approval")
        part = "the past"
        loading.load(Past(told, AS_TOLD, who), say, living=True)
    except (DataError, IntegrityError, Refused, ValidationError) as error:
        # What the checks of the file did not foresee; the transaction takes back what there is.
        raise Unfit([f"{part}: {error}"]) from error
