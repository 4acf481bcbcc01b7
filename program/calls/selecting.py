"""Selection: reviewers score, and a decision makes of an application a participant, once, in one transaction."""

import re
from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from django.db.models.functions import Now
from django.utils import timezone
from django.utils.text import slugify
from django.utils.translation import gettext as _

from clusters.actions import capacity
from program.calls import applying, calling, need, words
from program.models import Application, ApplicationScore, Call
from program.models.calls import MOST_SCORE
from program.sessions import office
from support.writing import one_of, text_of
from tenants import actions, entries, inviting, mail
from tenants.history import timeline
from tenants.history.moves import move
from tenants.models import Cycle, Membership, Participation, Person, Tenant, holding
from tenants.names import same_name
from tenants.programme_day import programme_today
from tenants.wall import roles
from tenants.wall.acting import acting_for, reading_everyone
from tenants.web.problems import Refused
from tenants.work import due

SLUG = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,38}[a-z0-9])?")
ENGINE = "engine"  # the programme itself, in no person's name
MOST_ALIKE = 20
CRITERIA = ("performance", "openness", "feasibility")


def belongs(person: Person, row: Application) -> bool:
    """Whether the person is, or once was, of the organisation that applies, or is its contact."""
    if person.email.lower() == row.contact_email:
        return True
    here = Membership.objects.filter(person=person, tenant_id=row.tenant_id, tenant__is_office=False)
    return here.exists()


def _refuse_own(person: Person, row: Application) -> None:
    if belongs(person, row):
        sentence = _("You belong to %(organisation)s; somebody else has to look at its application.")
        raise Refused("own_application", sentence % {"organisation": row.organisation}, status=403)


def score(
    *, application: Application, person: Person, by: str, performance: int, openness: int, feasibility: int, reason: str
) -> ApplicationScore:
    """Give 1 to 5 for each criterion, with the reason. Saying it again corrects one's own."""
    given = {"performance": performance, "openness": openness, "feasibility": feasibility}
    for name, value in given.items():
        if not 1 <= value <= MOST_SCORE:
            sentence = _("'%(field)s' is %(value)s; give 1 to %(most)s.")
            sentence %= {"field": name, "value": value, "most": MOST_SCORE}
            raise Refused(name, sentence, status=422, field=name)
    reason = text_of(reason, _("the reason"), 1000, "reason")
    place = office()
    with acting_for(application.tenant_id, staff=True):
        row = Application.objects.select_for_update(of=("self",)).get(pk=application.pk)
        _refuse_own(person, row)
        if row.state not in ("submitted", "waitlisted"):
            raise Refused("not_open", _("%(number)s is not waiting for a decision.") % {"number": row.number})
        timeline.record(words.SCORED, about=row, by=by, number=row.number, points=sum(given.values()))
    with acting_for(place, staff=True):
        kept, _new = ApplicationScore.objects.update_or_create(
            application_id=row.pk, reviewer=person, defaults=given | {"reason": reason, "tenant": place}
        )
    return kept


def alike(row: Application) -> list[Application]:
    """Other applications to the same call under the same name or from the same address, whoever began them.

    For staff alone: that others apply, or how they are called, is nothing an applicant learns.
    """
    with reading_everyone():
        rows = Application.objects.filter(call=row.call_id).exclude(pk=row.pk).exclude(state="withdrawn")
        found = [
            one for one in rows.select_related("tenant").order_by("created_at")
            if same_name(one.organisation, row.organisation) or one.contact_email == row.contact_email
        ]  # fmt: skip
    return found[:MOST_ALIKE]


def short_name(organisation: str, taken: Collection[str]) -> str:
    """A short name to begin with, made of the organisation's; empty where none of its letters fits an address."""
    made = slugify(organisation)[:40].replace("_", "-").strip("-")
    for number in range(1, 100):
        found = made if number == 1 else f"{made[:36].rstrip('-')}-{number}"
        if made and found not in taken:
            return found
    return ""


def is_small(row: Application, call: Call) -> bool:
    """Whether its need stays within what may be decided without reviewers, and before the call closes."""
    whole = need.total(need.read(row.need), calling.each)
    return bool(row.need) and whole.hours <= call.small_hours


def decide(
    *,
    application: Application,
    outcome: str,
    why: str,
    person: Person,
    by: str,
    slug: str = "",
    organisation: Tenant | None = None,
    version: int | None = None,
) -> Application:
    """Selected, on the waiting list, or not selected, with the reason that the applicant reads.

    Selecting a newcomer makes its organisation under `slug`, or takes the one that it is already, `organisation`; then its
    participation, what it needs as requests for capacity, and an invitation to its contact. Raises Refused and Stale.
    """
    one_of(outcome, words.OUTCOMES, "outcome")
    why = text_of(why, _("why"), 1000, "why")
    row = applying.hold(application, version)
    _refuse_own(person, row)
    _refuse_undecidable(row)
    with acting_for(row.tenant_id, staff=True):
        if row.state == "draft":
            raise Refused("draft", _("%(number)s was not handed in.") % {"number": row.number})
        columns: dict[str, Any] = {"why": why, "decided_at": Now(), "decided_by": by}
        if outcome != "selected":
            move(row, outcome, by=by, columns=columns, number=row.number, why=why)
            _tell(row)
            return applying.fresh(row)
        if row.state not in ("submitted", "waitlisted"):
            raise Refused("decided", _("%(number)s is decided already.") % {"number": row.number})
    tenant = _organisation(row, slug, organisation, by)
    with acting_for(row.tenant_id, tenant, staff=True):
        Application.objects.filter(pk=row.pk).update(tenant=tenant)
    row.tenant = tenant
    with acting_for(tenant, staff=True):
        made = _participation(row, by)
        move(row, "selected", by=by, columns=columns | {"became": made.pk}, number=row.number, why=why)
        _ask_for_what_it_needs(row, made)
        _invite(row, tenant, by)
        _tell(row)
    return applying.fresh(row)


def _refuse_undecidable(row: Application) -> None:
    with acting_for(office(), staff=True):
        scored = ApplicationScore.objects.filter(application_id=row.pk).exists()
    found = undecidable(row, row.call, scored=scored, now=timezone.now())
    if found is not None:
        raise found


def undecidable(row: Application, call: Call, *, scored: bool, now: datetime) -> Refused | None:
    """Why it cannot be decided at this moment; None: it can."""
    if is_small(row, call):
        return None
    if calling.takes(call, now):
        told = {"closes": calling.said(call.closes_at, call.cycle), "hours": f"{call.small_hours:,}"}
        if call.small_hours:
            sentence = _(
                "The call takes applications until %(closes)s. Close it first; only a need of up to %(hours)s "
                "accelerator-hours is decided before."
            )
        else:
            sentence = _("The call takes applications until %(closes)s. Close it first; then it can be decided.")
        return Refused("call_open", sentence % told)
    if not scored:
        return Refused("not_scored", _("Nobody has scored %(number)s yet; score it first.") % {"number": row.number})
    return None


def _organisation(row: Application, slug: str, organisation: Tenant | None, by: str) -> Tenant:
    if not row.tenant.is_office:
        return row.tenant
    if organisation is not None:
        if organisation.is_office:
            raise Refused("organisation", _("The office is no participant."), status=422, field="organisation")
        return organisation
    if not SLUG.fullmatch(slug):
        sentence = _("'%(asked)s' is no short name: write up to 40 lower-case letters, digits and dashes, like hoshi.")
        raise Refused("slug", sentence % {"asked": slug[:40]}, status=422, field="slug")
    if Tenant.objects.filter(slug=slug).exists():
        sentence = _("'%(asked)s' is taken; choose another short name.")
        raise Refused("slug", sentence % {"asked": slug}, status=422, field="slug")
    known = next((one for one in Tenant.objects.filter(is_office=False) if same_name(one.name, row.organisation)), None)
    if known is not None:
        sentence = _("%(name)s takes part already, as '%(slug)s'. Choose it as the organisation.")
        sentence %= {"name": known.name, "slug": known.slug}
        raise Refused("known", sentence, status=422, field="organisation")
    made = Tenant(slug=slug, name=row.organisation)
    with acting_for(made, staff=True):
        made.save(force_insert=True)
        timeline.record(entries.RECORD_ADDED, about=made, by=by, what=made.name)
        due.wish("seal", made.pk, tenant=made, after=timedelta(hours=1))
    return made


def free_code(cycle: str, taken: Collection[str]) -> str:
    """The next code of a participation in a cycle that nobody has."""
    number = len(taken) + 1
    while (found := f"{cycle[:8]}-{number:02d}"[:12]) in taken:
        number += 1
    return found


def _participation(row: Application, by: str) -> Participation:
    cycle = row.call.cycle
    there = Participation.objects.filter(cycle=cycle).first()
    if there is not None:
        told = {"name": row.organisation, "cycle": cycle, "code": there.code}
        raise Refused("takes_part", _("%(name)s takes part in %(cycle)s already, as %(code)s.") % told)
    # Two who decide at once take their codes one after the other.
    Cycle.objects.select_for_update(of=("self",), no_key=True).get(pk=cycle.pk)
    with reading_everyone():
        taken = set(Participation.objects.filter(cycle=cycle).values_list("code", flat=True))
    made = Participation(
        tenant=row.tenant, cycle=cycle, code=free_code(cycle.code, taken), project=row.project,
        organisation_kind=row.organisation_kind, sector=row.sector, staff_size=row.staff_size, abstract=row.summary,
        provider=row.provider,
    )  # fmt: skip
    actions.add_record(block=made, by=by)
    move(made, "selected", by=by, number=row.number)
    return made


def _ask_for_what_it_needs(row: Application, made: Participation) -> None:
    """Each span becomes a request for capacity: wanted, and decided like any other. The programme asks it out of the
    application, so that whoever selected the application, and asked for nothing, may decide it."""
    today = programme_today()
    for span in need.read(row.need):
        if span.ends_on < today:
            continue
        also = [*span.types[1:], *span.regions[1:]]
        told = {"number": row.number, "minimum": span.minimum, "peak": span.peak}
        reason = (
            _("Out of application %(number)s, which needs %(peak)s instances.")
            if span.minimum == span.peak
            else _("Out of application %(number)s, which needs at least %(minimum)s and at most %(peak)s instances.")
        ) % told
        if also:
            reason += " " + _("Also possible: %(names)s.") % {"names": ", ".join(also)}
        capacity.ask(
            participation=made, kind="more", instance_type=span.types[0], region=span.regions[0], instances=span.peak, least=max(1, span.minimum),
            starts_on=max(span.starts_on, today), ends_on=span.ends_on, reason=reason[:1000], by=ENGINE,
        )  # fmt: skip


def _invite(row: Application, tenant: Tenant, by: str) -> None:
    if Membership.objects.filter(holding(), tenant=tenant, person__email__iexact=row.contact_email).exists():
        return
    inviting.invite(
        tenant=tenant, email=row.contact_email, role=roles.BUSINESS_LEAD, by=by, giver=roles.PROGRAMME_MANAGER,
        language=row.language,
    )  # fmt: skip


def _tell(row: Application) -> None:
    key = f"{row.pk}:{row.state}"
    mail.write_to(address=row.contact_email, tenant=row.tenant_id, kind=applying.DECISION_MAIL, key=key, about=row.pk)
