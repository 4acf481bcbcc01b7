"""Writes about requests for capacity: ask, decide, withdraw; granting adds rows to the ledger and changes none."""

import uuid
from dataclasses import replace
from datetime import date, timedelta
from typing import Any

from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from clusters import capacity_effect, capacity_telling, facts, foresight, states
from clusters.actions.holding import lock
from clusters.budgets import actions as budgets
from clusters.budgets import effects
from clusters.capacity_effect import Change, Circumstances, Effect
from clusters.models import CapacityRequest, LedgerRow, Option, QuotaGrant
from tenants import participating
from tenants.actions import plain
from tenants.history import timeline
from tenants.history.models import Entry
from tenants.history.moves import move
from tenants.models import ApiToken, Milestone, Participation, Person, Programme, Tenant
from tenants.programme_day import programme_today
from tenants.web.problems import Refused, Stale

ENGINE = "engine"  # the programme itself, in no person's name
MOST_INSTANCES = QuotaGrant.MOST
LONGEST = 1000
MOST_HOURS = 10_000_000
LONGEST_DAYS = 5 * 366
RECENTLY = timedelta(days=30)
# As the forms call them.
FIELDS: dict[str, Any] = {
    "instance_type": gettext_lazy("Instance type"),
    "region": gettext_lazy("Region"),
    "to_region": gettext_lazy("The other Region"),
    "kind": gettext_lazy("What is wanted"),
    "option": gettext_lazy("How it is bought"),
    "instances": gettext_lazy("Instances"),
    "least": gettext_lazy("At least"),
    "starts_on": gettext_lazy("From"),
    "ends_on": gettext_lazy("Until"),
    "reason": gettext_lazy("Why"),
    "why": gettext_lazy("Why"),
    "budget_line": gettext_lazy("Budget line"),
}


def circumstances(
    participation: Participation, instance_type: str, region: str, region_before: str = ""
) -> Circumstances:
    """What the effect depends on, as it is known now; `region_before` where it moves away from."""
    instance, cycle = facts.load().instance(instance_type), participation.cycle
    price, before, currency, dated = None, None, "", None
    try:
        known = foresight.price_list()
        price, currency, dated = known.instance_hour("hyperpod", instance_type, region), known.currency, known.dated
        before = known.instance_hour("hyperpod", instance_type, region_before) if region_before else None
    except Refused:
        pass  # the effect says that there is no price
    accelerators = instance.accelerators if instance else None
    gate = cycle.stage_gate_on or _gate(participation)
    return Circumstances(cycle.ends_on, gate, accelerators, price, before, currency, dated)


def _gate(participation: Participation) -> date | None:
    """The next stage gate that the participant's own milestones name."""
    gates = Milestone.objects.filter(participation=participation, kind=Milestone.Kind.GATE, done_on=None)
    return gates.order_by("due_on").values_list("due_on", flat=True).first()


def asked_of(row: CapacityRequest) -> Change:
    return Change(row.kind, row.instances, row.region, row.to_region, row.starts_on, row.ends_on)


def effect_of(row: CapacityRequest, change: Change | None = None) -> Effect:
    """What it, or a `change` that is granted instead, would come to if it were granted now."""
    where, before = (row.to_region, row.region) if row.to_region else (row.region, "")
    return capacity_effect.effect(
        change or asked_of(row), circumstances(row.participation, row.instance_type, where, before)
    )


def ask(
    *,
    participation: Participation,
    kind: str,
    instance_type: str,
    region: str,
    instances: int,
    starts_on: date,
    reason: str,
    by: str,
    ends_on: date | None = None,
    to_region: str = "",
    option: str = "",
    least: int | None = None,
) -> CapacityRequest:
    """Ask for capacity; fewer than `least` are of no use. What a rule grants is granted at once, with the rule's name. Raises Refused with the field."""
    row = CapacityRequest(
        tenant_id=participation.tenant_id, participation=participation, number=f"CR-{uuid.uuid4().hex[:8]}", kind=kind,
        instance_type=instance_type.removeprefix("ml."), region=region, to_region=to_region, option=option,
        instances=instances, least=least, starts_on=starts_on, ends_on=ends_on, reason=reason.strip(), asked_by=by,
    )  # fmt: skip
    _refuse_nonsense(row, programme_today())
    if kind != CapacityRequest.Kind.FEWER:
        participating.refuse_unless_permitted(participation, participating.CAPACITY)
    lock(participation.pk, "", ["small"])  # two small ones at once are counted one after the other
    _lock(row)
    _refuse_more_back_than_granted(row)
    found = effect_of(row)
    row.effect = found.kept()
    row.save(force_insert=True)
    timeline.record(
        states.CAPACITY_ASKED, about=row, by=by, number=row.number, what=row.kind, instances=row.instances,
        instance_type=row.instance_type, region=row.to_region or row.region, reason=row.reason, **row.effect,
    )  # fmt: skip
    _grant_by_rule(row, found)
    if row.state == "waiting" and by != ENGINE:  # out of an application: whoever selected it knows
        capacity_telling.tell_who_decides(row)
    return row


CHANGEABLE = (
    "kind", "instance_type", "region", "to_region", "option", "instances", "least", "starts_on", "ends_on", "reason",
)  # fmt: skip


def change(*, asked: CapacityRequest, by: str, version: int | None = None, **told: Any) -> CapacityRequest:
    """Ask for something else instead, as long as nobody decided; `told` are columns of CHANGEABLE, what is left out stays.

    What a rule grants is granted at once, as when it is asked for. Raises Refused with the field, decided; Stale."""
    row = _newest(asked, version)
    before = {name: getattr(row, name) for name in CHANGEABLE}
    for name in CHANGEABLE:
        setattr(row, name, told.get(name, before[name]))
    row.instance_type, row.reason = row.instance_type.removeprefix("ml."), row.reason.strip()
    both = {name: (was, getattr(row, name)) for name, was in before.items()}
    changed = {name: [plain(was), plain(now)] for name, (was, now) in both.items() if was != now}
    if not changed:
        return row
    _refuse_nonsense(row, programme_today())
    if row.kind != CapacityRequest.Kind.FEWER:
        participating.refuse_unless_permitted(row.participation, participating.CAPACITY)
    lock(row.participation_id, "", ["small"])
    _lock(row)
    _refuse_more_back_than_granted(row)
    found = effect_of(row)
    row.effect = found.kept()
    row.version += 1
    row.save(update_fields=[*CHANGEABLE, "effect", "version"])
    timeline.record(states.CAPACITY_CHANGED, about=row, by=by, number=row.number, changes=changed)
    _grant_by_rule(row, found)
    return CapacityRequest.objects.get(pk=row.pk)


def _grant_by_rule(row: CapacityRequest, found: Effect) -> None:
    programme = Programme.objects.first()
    limit = programme.small_request_hours if programme else 0
    rule = capacity_effect.rule(asked_of(row), found, limit=limit, recently=_recently(row.participation))
    if rule == capacity_effect.SMALL and not _paid_for(row):
        rule = ""  # somebody has to say out of which money it is
    if rule:
        line = budgets.only_line(row.participation) if rule == capacity_effect.SMALL else ""
        _grant(row, asked_of(row), by=ENGINE, rule=rule, why=_rule_in_words(rule, limit), budget_line=line)


def _paid_for(row: CapacityRequest) -> bool:
    try:
        budgets.refuse_at_limit(row.participation)
        _refuse_what_binds_too_much(row, asked_of(row))
        _refuse_past_the_term(row, asked_of(row))
    except Refused:
        return False
    return True


def _refuse_past_the_term(row: CapacityRequest, change: Change) -> None:
    """What lies after the end that the cycle was given is in no budget of it. Raises Refused: past_term."""
    ends = row.participation.cycle.ends_on
    if change.kind == CapacityRequest.Kind.FEWER or ends is None or change.ends_on is None or change.ends_on <= ends:
        return
    days = effects.days_past(change.starts_on, change.ends_on, ends)[0]
    sentence = ngettext(
        "%(days)s day of it lies after the end of the cycle, %(end)s, and is in no budget. Grant it until then, or say "
        "that it is granted nevertheless.",
        "%(days)s days of it lie after the end of the cycle, %(end)s, and are in no budget. Grant it until then, or say "
        "that it is granted nevertheless.",
        days,
    )
    told = {"days": days, "end": date_format(ends, "DATE_FORMAT")}
    raise Refused("past_term", sentence % told, status=422, field="nevertheless", days=days, end=ends.isoformat())


def _refuse_what_binds_too_much(row: CapacityRequest, change: Change) -> None:
    """Where what is bound counts against the budget, nothing is promised that it does not hold. Raises Refused."""
    cost = effects.of_cost(row.participation_id, effect_of(row, change).kept(), change.starts_on)
    budgets.refuse_cost(row.participation, cost.adds if cost else None)


def _recently(participation: Participation) -> int:
    """Accelerator-hours that the rule for small ones granted within the last month."""
    rows = CapacityRequest.objects.filter(
        participation=participation, rule=capacity_effect.SMALL, decided_at__gt=timezone.now() - RECENTLY
    )
    return sum(int(effect.get("accelerator_hours") or 0) for effect in rows.values_list("effect", flat=True))


def _rule_in_words(rule: str, limit: int) -> str:
    if rule == capacity_effect.GIVES_BACK:
        return "What is given back needs nobody's agreement."
    return f"Up to {limit:,} accelerator-hours within 30 days need nobody's agreement."


def _lock(row: CapacityRequest) -> None:
    for region in sorted({row.region, row.to_region} - {""}):
        lock(row.participation_id, region, [row.instance_type])


def _refuse_nonsense(row: CapacityRequest, today: date) -> None:
    known = facts.load()
    instance = known.instance(row.instance_type)
    if instance is None or not instance.accelerators:
        types = ", ".join(sorted(name for name, one in known.instances.items() if one.accelerators))
        _refuse("instance_type", row.instance_type, _("It has to be one of %(types)s.") % {"types": types})
    for field in ("region", "to_region"):
        value = getattr(row, field)
        if value not in known.zones and (value or field == "region"):
            _refuse(field, value, _("It has to be one of %(regions)s.") % {"regions": ", ".join(sorted(known.zones))})
    if row.kind == CapacityRequest.Kind.REGION and row.to_region in ("", row.region):
        _refuse("to_region", row.to_region, _("Say in which other Region it is wanted."))
    if row.kind != CapacityRequest.Kind.REGION and row.to_region:
        _refuse("to_region", row.to_region, _("Leave it empty, or ask for another Region."))
    if row.kind not in CapacityRequest.Kind.values:
        _refuse(
            "kind", row.kind, _("It has to be one of %(words)s.") % {"words": ", ".join(CapacityRequest.Kind.values)}
        )
    if row.option not in Option.values:
        words = ", ".join(filter(None, Option.values))
        _refuse("option", row.option, _("Leave it empty, or say one of %(words)s.") % {"words": words})
    if not 1 <= row.instances <= MOST_INSTANCES:
        _refuse("instances", row.instances, _("Say a number from 1 to %(most)s.") % {"most": MOST_INSTANCES})
    if row.least is not None and not 1 <= row.least <= row.instances:
        _refuse("least", row.least, _("Say a number from 1 to %(most)s.") % {"most": row.instances})
    if row.starts_on < today:
        _refuse("starts_on", row.starts_on, _("Nothing is granted for days that are over: say %(today)s or later.")
                % {"today": date_format(today, "DATE_FORMAT")})  # fmt: skip
    if row.ends_on is not None and row.ends_on < row.starts_on:
        _refuse(
            "ends_on",
            row.ends_on,
            _("It has to be %(first)s or later.") % {"first": date_format(row.starts_on, "DATE_FORMAT")},
        )
    last = row.starts_on + timedelta(days=LONGEST_DAYS)
    if row.ends_on is not None and row.ends_on > last:
        _refuse(
            "ends_on", row.ends_on, _("It has to be %(last)s or earlier.") % {"last": date_format(last, "DATE_FORMAT")}
        )
    if row.ends_on is None and row.kind == CapacityRequest.Kind.LONGER:
        _refuse("ends_on", "", _("Say until when."))
    if not row.reason.strip() or len(row.reason) > LONGEST:
        _refuse("reason", row.reason, _("Say why, in 1 to %(most)s letters.") % {"most": LONGEST})


def _refuse(field: str, value: Any, hint: str) -> None:
    sentence = _("'%(value)s' cannot be taken for %(field)s. %(hint)s") if value else _("%(field)s is empty. %(hint)s")
    said = date_format(value, "DATE_FORMAT") if isinstance(value, date) else str(value)[:60]
    values = {"value": said, "field": FIELDS.get(field, field), "hint": hint}
    raise Refused("invalid", sentence % values, status=422, field=field)


def _refuse_more_back_than_granted(row: CapacityRequest) -> None:
    """What is given back, or taken elsewhere, has to be granted for all of that time."""
    if row.kind not in (CapacityRequest.Kind.FEWER, CapacityRequest.Kind.REGION):
        return
    steps = LedgerRow.objects.filter(
        ledger=LedgerRow.Ledger.GRANT, participation=row.participation_id, region=row.region,
        instance_type=row.instance_type, option=row.option,
    ).values_list("delta", "starts_on", "ends_on")  # fmt: skip
    there = capacity_effect.least_within(list(steps), row.starts_on, row.ends_on)
    if row.instances > there:
        sentence = _(
            "You give back %(asked)s %(type)s in %(region)s, bought %(option)s; of these the programme grants %(there)s "
            "throughout that time. Give back at most so many, or choose other dates or another way of buying."
        )
        values = {"asked": row.instances, "type": row.instance_type, "region": row.region, "there": there,
                  "option": row.get_option_display()}  # fmt: skip
        raise Refused("not_granted", sentence % values, status=422, field="instances", allowed=there)


def decide(
    *, asked: CapacityRequest, grants: bool, why: str, person: Person, by: str, budget_line: str = "",
    version: int | None = None, instances: int | None = None, ends_on: date | None = None, nevertheless: bool = False,
) -> CapacityRequest:  # fmt: skip
    """Grant or decline what waits. Granted may be fewer instances, down to the least that help, and until an earlier day.

    Raises Refused: own_request, decided, invalid, past_term unless `nevertheless`; Stale.
    """
    row = _newest(asked, version)
    if own(row, person):
        sentence = _("You asked for this capacity yourself; somebody else has to decide it.")
        raise Refused("own_request", sentence, status=403)
    why, budget_line = why.strip(), budget_line.strip()
    if not why or len(why) > LONGEST:
        _refuse("why", why, _("Say why, in 1 to %(most)s letters.") % {"most": LONGEST})
    if grants and not budget_line:
        _refuse("budget_line", budget_line, _("Say out of which budget line it is paid."))
    if grants:
        budgets.refuse_other_line(row.participation_id, budget_line)
    if not grants:
        columns = {"why": why, "decided_by": by, "decided_at": Now()}
        move(row, "declined", by=by, columns=columns, number=row.number, why=why)
        capacity_telling.tell(row, by)
        return CapacityRequest.objects.get(pk=row.pk)
    if row.kind != CapacityRequest.Kind.FEWER:
        participating.refuse_unless_permitted(row.participation, participating.CAPACITY)
    given = _given(row, instances, ends_on)
    if not nevertheless:
        _refuse_past_the_term(row, given)
    _lock(row)
    _refuse_more_back_than_granted(row)
    _refuse_what_binds_too_much(row, given)
    _grant(row, given, by=by, rule="", why=why, budget_line=budget_line)
    capacity_telling.tell(row, by)
    return CapacityRequest.objects.get(pk=row.pk)


def _given(row: CapacityRequest, instances: int | None, ends_on: date | None) -> Change:
    """What is granted of what was asked for: between the least that help and all, and no longer than was asked for."""
    most, least = row.instances, row.least or 1
    if instances is not None and not least <= instances <= most:
        hint = _("Between %(least)s and %(most)s were asked for.") if least < most else _("%(most)s were asked for.")
        _refuse("instances", instances, hint % {"least": least, "most": most})
    if ends_on is not None and (ends_on < row.starts_on or (row.ends_on is not None and ends_on > row.ends_on)):
        days = {"first": date_format(row.starts_on, "DATE_FORMAT"), "last": ""}
        hint = _("It has to be %(first)s or later.")
        if row.ends_on is not None:
            hint = _("It was asked for from %(first)s until %(last)s.")
            days["last"] = date_format(row.ends_on, "DATE_FORMAT")
        _refuse("ends_on", ends_on, hint % days)
    return replace(asked_of(row), instances=instances or most, ends_on=ends_on or row.ends_on)


def set_limit(*, office: Tenant, hours: int, why: str, by: str, version: int | None = None) -> None:
    """Say up to how many accelerator-hours a request is small; 0: none is. Inside the office's scope."""
    programme = Programme.objects.select_for_update().first()
    if programme is None:
        raise Refused("no_programme", _("There is no programme yet."))
    if version is not None and programme.version != version:
        sentence = _("Somebody changed this meanwhile. Look at it again.")
        raise Stale("stale", sentence, status=409, version=programme.version)
    if not 0 <= hours <= MOST_HOURS:
        _refuse("hours", hours, _("Say a number from 0 to %(most)s.") % {"most": MOST_HOURS})
    before = programme.small_request_hours
    Programme.objects.filter(pk=programme.pk).update(small_request_hours=hours, version=F("version") + 1)
    timeline.record(states.CAPACITY_LIMIT, about=office, by=by, before=before, after=hours, why=why.strip()[:300])


def own(row: CapacityRequest, person: Person) -> bool:
    """Whether the person asked for it or changed it since, also by a program with one of the own tokens."""
    changed = Entry.objects.filter(subject=row.SUBJECT, subject_id=row.pk, kind=states.CAPACITY_CHANGED)
    by = {row.asked_by, *changed.values_list("actor", flat=True)}
    tokens = [actor.partition(":")[2] for actor in by if actor.startswith("token:")]
    return person.actor in by or (bool(tokens) and ApiToken.objects.filter(pk__in=tokens, person=person).exists())


def withdraw(*, asked: CapacityRequest, why: str, by: str, version: int | None = None) -> CapacityRequest:
    """Ask for it no longer."""
    row = _newest(asked, version)
    columns = {"why": why.strip()[:LONGEST], "decided_by": by, "decided_at": Now()}
    move(row, "withdrawn", by=by, columns=columns, number=row.number, why=why or "–")
    return CapacityRequest.objects.get(pk=row.pk)


def _newest(asked: CapacityRequest, version: int | None) -> CapacityRequest:
    row = (
        CapacityRequest.objects.select_for_update(of=("self",)).select_related("participation__cycle").get(pk=asked.pk)
    )
    if version is not None and row.version != version:
        raise Stale("stale", _("Somebody changed this meanwhile. Look at it again."), status=409, version=row.version)
    if row.state != "waiting":
        sentence = _("%(number)s is decided already: it is %(state)s.")
        raise Refused("decided", sentence % {"number": row.number, "state": row.state})
    return row


def _grant(row: CapacityRequest, given: Change, *, by: str, rule: str, why: str, budget_line: str) -> None:
    """The rows and the decision, in one transaction; the request is locked, or is new."""
    kept = effect_of(row, given).kept()
    cost = effects.of_cost(row.participation_id, kept, given.starts_on)
    for region, delta, first, last in capacity_effect.rows(given):
        LedgerRow.objects.create(
            tenant_id=row.tenant_id, ledger=LedgerRow.Ledger.GRANT, participation_id=row.participation_id, region=region,
            instance_type=row.instance_type, option=row.option, delta=delta, starts_on=first, ends_on=last, by=by,
            grant=_line(row, region), request=row, why=(why or row.reason)[:300],
        )  # fmt: skip
        # Whoever edits the line by what it said before is told, instead of taking this back without knowing it.
        QuotaGrant.objects.filter(
            participation=row.participation_id, instance_type=row.instance_type, region=region
        ).update(version=F("version") + 1)
    columns = {
        "rule": rule, "why": why, "budget_line": budget_line[:120], "decided_by": by, "decided_at": Now(),
        "granted_instances": given.instances if given.instances != row.instances else None,
        "granted_until": given.ends_on if given.ends_on != row.ends_on else None,
        "effect": row.effect | {"granted": kept | {"budget": cost.kept() if cost else None}},
    }  # fmt: skip
    move(
        row, "granted", by=by, columns=columns, number=row.number, instances=given.instances, rule=rule, why=why,
        instance_type=row.instance_type, region=row.to_region or row.region, budget_line=budget_line or "–", what=str(row),
    )  # fmt: skip


def _line(row: CapacityRequest, region: str) -> QuotaGrant:
    """The line of the record that it belongs to; a new one names the quota of the provider that limits it."""
    line, _new = QuotaGrant.objects.get_or_create(
        tenant_id=row.tenant_id,
        participation_id=row.participation_id,
        instance_type=row.instance_type,
        region=region,
        defaults={
            "provider_service": "sagemaker",
            "provider_limit": facts.cluster_usage(row.instance_type),
            "provider_unit": "instances",
        },
    )
    return line
