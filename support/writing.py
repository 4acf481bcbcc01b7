"""What every write on a case shares: hold the row, refuse a stale page, check a text, know who is speaking."""

from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import F, Q
from django.utils.translation import gettext as _

from support import states
from support.models import Case
from tenants.history.moves import move
from tenants.models import ApiToken, Membership, Person, Tenant, holding
from tenants.programme_day import programme_day
from tenants.wall import roles
from tenants.wall.acting import scope
from tenants.web.problems import Refused, Stale


def moment(at: datetime | None) -> datetime:
    """`at`, or the database's clock: the one clock of the history."""
    if at is not None:
        return at
    with connection.cursor() as cursor:
        cursor.execute("select statement_timestamp()")
        found: datetime = cursor.fetchone()[0]
        return found


def hold(case: Case, version: int | None = None, **typed: Any) -> None:
    """Lock the case and bring the object up to date. Raises Stale when the page that was sent is older than the row."""
    case.refresh_from_db(from_queryset=Case.objects.select_for_update(of=("self",)))
    if version is None or version_of(case) == version:
        return
    changes = {field: [_plain(getattr(case, field, None)), _plain(new)] for field, new in typed.items()}
    raise Stale(
        "stale",
        _("Somebody changed %(number)s meanwhile. Compare, and save again.") % {"number": case.number},
        version=version_of(case),
        changes={field: pair for field, pair in changes.items() if pair[0] != pair[1]},
    )


def version_of(case: Any) -> int:
    """The version that the reader works on. What happens internally moves it for staff, and for nobody else."""
    value = case.get if isinstance(case, dict) else lambda name: getattr(case, name)
    return int(value("version") + (value("internal_version") if scope().staff else 0))


def write(case: Case, *, internal: bool = False, **columns: Any) -> None:
    """Write columns of a held case and raise its version; its state is none of them."""
    raised = "internal_version" if internal else "version"
    Case.objects.filter(pk=case.pk).update(**{raised: F(raised) + 1}, **columns)
    case.refresh_from_db()


def moved(
    case: Case,
    to: str,
    *,
    by: str,
    version: int | None = None,
    at: datetime | None = None,
    columns: dict[str, Any] | None = None,
    **facts: Any,
) -> Case:
    hold(case, version)
    move(case, to, by=by, at=moment(at), columns=columns, number=case.number, **facts)
    return fresh(case)


def fresh(case: Case) -> Case:
    """A move raised the version in the database; the object must say so to whoever saves next."""
    case.refresh_from_db(fields=["version", "internal_version", "state"])
    return case


def refuse_ended(case: Case) -> None:
    if case.state in states.ENDED:
        raise Refused(
            "case_ended", _("%(number)s is resolved. Reopen it first.") % {"number": case.number}, state=case.state
        )


def text_of(value: str, what: str, most: int, field: str = "text") -> str:
    """The text without blanks around it. Raises Refused when nothing, or too much, is left."""
    said = value.strip()
    if not said or "\x00" in said:
        raise Refused(f"no_{field}", _("Write %(what)s.") % {"what": what}, status=422, field=field)
    if len(said) > most:
        raise Refused(
            "too_long",
            _("You wrote %(length)s characters; %(most)s are allowed.") % {"length": len(said), "most": most},
            status=422,
            field=field,
            length=len(said),
            most=most,
        )
    return said


def one_of(value: str, allowed: tuple[str, ...], field: str) -> str:
    if value not in allowed:
        raise Refused(
            f"unknown_{field}",
            _("'%(value)s' is none of: %(allowed)s.") % {"value": value[:40], "allowed": ", ".join(allowed)},
            status=422,
            field=field,
            allowed=list(allowed),
        )
    return value


def person_of(actor: str) -> Person | None:
    """The person behind an actor id, also behind a token; None for the engine and providers."""
    word, _sep, pk = actor.partition(":")
    if word == "person":
        return Person.objects.filter(pk=pk).first()
    if word == "token":
        token = ApiToken.objects.select_related("person").filter(pk=pk).first()
        return token.person if token else None
    return None


def _seats(at: datetime) -> Any:
    """Memberships that hold on that day, both ends included."""
    return Membership.objects.filter(holding(programme_day(at)))


def speaker(actor: str, at: datetime) -> str:
    """Who speaks: staff, a customer, or a machine, whose words answer nobody."""
    person = person_of(actor)
    if person is None:
        return "machine"
    seat = _seats(at).filter(person=person, tenant__is_office=True).first()
    if seat is None:
        return "customer"
    return "machine" if seat.role == roles.AUTOMATION else "staff"


def refuse_an_owner_from_elsewhere(person: Person, tenant: Tenant, at: datetime) -> None:
    """An owner belongs to the office or to the participant itself."""
    seats = _seats(at).filter(Q(tenant__is_office=True) | Q(tenant=tenant), person=person, person__is_active=True)
    if not seats.exclude(role=roles.AUTOMATION).exists():
        raise Refused(
            "owner_from_elsewhere",
            _("The owner is a person of the programme's office or of the participant."),
            status=422,
            field="owner",
        )


def _plain(value: Any) -> Any:
    if isinstance(value, Person):
        return str(value)
    return value.isoformat() if hasattr(value, "isoformat") else value
