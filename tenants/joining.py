"""Somebody asks to belong to an organisation by its name: its leads decide, and whoever asks learns nothing before.

The answer is the same whether there is such an organisation or not; that an address is read by whoever asks is proven
by the invitation, which is what accepting a request makes of it.
"""

from datetime import date, timedelta
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from tenants import entries, inviting, mail
from tenants.history import timeline
from tenants.history.moves import move
from tenants.models import Delivery, Invitation, JoinRequest, Membership, Tenant, holding
from tenants.names import same_name
from tenants.wall import roles
from tenants.wall.access import Seat
from tenants.wall.acting import acting_for
from tenants.web.problems import Refused

WAITS = timedelta(days=30)
MOST_OPEN = 20  # a stranger with a program fills no lead's mailbox


def ask(*, organisation: str, email: str, name: str, message: str = "", language: str = "en") -> None:
    """Ask the leads of the organisation of this name, if there is one. Nothing that comes back says whether."""
    email = inviting.cleaned_address(email)
    found = [
        pk
        for pk, known in Tenant.objects.filter(is_office=False).values_list("pk", "name")
        if same_name(known, organisation)
    ]
    if len(found) == 1:
        _ask_the_leads(found[0], email, name, message, language)


def _ask_the_leads(tenant: UUID, email: str, name: str, message: str, language: str) -> None:
    with acting_for(tenant):
        place = Tenant.objects.select_for_update(no_key=True).get(pk=tenant)  # how many wait is asked by one at a time
        give_up_the_old()
        waiting = JoinRequest.objects.filter(state="open")
        member = Membership.objects.filter(holding(), tenant=place, person__email__iexact=email).exists()
        if member or waiting.filter(email=email).exists() or waiting.count() >= MOST_OPEN:
            return
        row = JoinRequest.objects.create(
            tenant=place, email=email, name=name.strip()[:120], message=message.strip()[:500], language=language
        )
        timeline.record(entries.ASKED_TO_JOIN, about=row, by="engine")
        leads = Membership.objects.filter(holding(), tenant=place, role__in=roles.LEADS).select_related("person")
        for lead in leads:
            mail.tell(person=lead.person, tenant=place, kind=ASKED, key=str(row.pk), about=row.pk)


def accept(
    *,
    request: JoinRequest,
    role: str,
    by: str,
    giver: str,
    starts_on: date | None = None,
    ends_on: date | None = None,
) -> Invitation:
    """Invite whoever asked: the mail's link proves the address. Raises Refused as an invitation does."""
    row = _held(request)
    _refuse_who_is_no_lead(giver)
    made = inviting.invite(
        tenant=row.tenant, email=row.email, role=role, by=by, giver=giver, starts_on=starts_on, ends_on=ends_on,
        language=row.language,
    )  # fmt: skip
    move(row, "accepted", by=by, role=role)
    return made


def decline(*, request: JoinRequest, by: str, giver: str, why: str = "") -> None:
    """Say no; whoever asked is not told."""
    row = _held(request)
    _refuse_who_is_no_lead(giver)
    move(row, "declined", by=by, **({"why": why} if why else {}))


def _refuse_who_is_no_lead(giver: str) -> None:
    if giver not in roles.LEADS:
        raise Refused("leads_decide", _("A lead of the organisation decides this."), status=403)


def _held(request: JoinRequest) -> JoinRequest:
    row = JoinRequest.objects.select_for_update(of=("self",)).select_related("tenant").get(pk=request.pk)
    if row.state != "open":
        raise Refused("request_over", _("Somebody answered this request already, or its time is over."))
    return row


def give_up_the_old() -> int:
    """Say of requests that nobody answered in 30 days that they expired, within the scope."""
    rows = list(JoinRequest.objects.filter(state="open", created_at__lt=timezone.now() - WAITS)[:500])
    for row in rows:
        move(row, "expired", by="engine")
    return len(rows)


def _compose(delivery: Delivery, seat: Seat) -> mail.Message | None:
    row = JoinRequest.objects.select_related("tenant").filter(pk=delivery.about, state="open").first()
    if row is None or seat.role not in roles.LEADS:
        return None
    address = f"{mail.address('people', row.tenant.slug)}#requests"
    return mail.Message("tenants/mail/asked_to_join.txt", {"row": row, "address": address})


ASKED = mail.kind(
    "asked-to-join",
    name=gettext_lazy("Request to join"),
    label=gettext_lazy("Somebody asks to join your organisation"),
    help=gettext_lazy("When you are a lead: whoever asks waits for your answer."),
    compose=_compose,
)
