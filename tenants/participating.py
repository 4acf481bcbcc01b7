"""The life of a participation: what each state permits, what keeps it from the next one, and how it goes there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db.models import Case, IntegerField, QuerySet, When
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from tenants.history.moves import move
from tenants.models import Participation
from tenants.states import PARTICIPATION
from tenants.web.problems import Refused, Stale

CLUSTERS, JOBS, CAPACITY, RECORD = "clusters", "jobs", "capacity", "record"
# What somebody may do -> in words.
DEEDS: Mapping[str, Any] = {
    CLUSTERS: gettext_lazy("ask for clusters and change them"),
    JOBS: gettext_lazy("launch jobs"),
    CAPACITY: gettext_lazy("ask for more capacity"),
    RECORD: gettext_lazy("keep the record, hand in reports, open cases"),
}
PERMITS: Mapping[str, frozenset[str]] = {
    "applied": frozenset({RECORD}),
    "selected": frozenset({CAPACITY, RECORD}),
    "onboarding": frozenset({CLUSTERS, JOBS, CAPACITY, RECORD}),
    "active": frozenset({CLUSTERS, JOBS, CAPACITY, RECORD}),
    "suspended": frozenset({RECORD}),
    "closing": frozenset({JOBS, RECORD}),
    "closed": frozenset({RECORD}),
    "withdrawn": frozenset(),
}
# What becomes of what is there already, where the state permits less than before.
GOES_ON: Mapping[str, Any] = {
    "suspended": gettext_lazy("Clusters and jobs that run go on; nothing new begins, and jobs on hold stay there."),
    "closing": gettext_lazy("Jobs can be finished on the clusters that are there; those are retired before it closes."),
    "closed": gettext_lazy("Pages, history and files stay readable; reports can still be handed in."),
}
# In which order a page offers them.
ORDER = ("selected", "onboarding", "active", "closing", "closed", "suspended", "withdrawn")
WITH_A_REASON = frozenset({"suspended", "withdrawn"})
LIVING = ("selected", "onboarding", "active", "closing", "suspended")


def current_first() -> QuerySet[Participation]:
    """The participations of the scope, the one that pages speak of first: what trains or is on its way there, then what is
    yet to begin, then what is over; of these the newest. Cycles overlap: the next one's does not hide the one that runs."""
    begun, ahead = ("onboarding", "active", "suspended", "closing"), ("applied", "selected")
    rank = Case(When(state__in=begun, then=0), When(state__in=ahead, then=1), default=2, output_field=IntegerField())
    return Participation.objects.annotate(rank=rank).order_by("rank", "-created_at", "pk")


@dataclass(frozen=True)
class Facts:
    """What the next step depends on."""

    was: str = ""  # before it was suspended
    list_laid_out: bool = True
    steps_open: int = 0
    clusters: Sequence[str] = field(default_factory=tuple)  # names of those that still exist
    jobs: int = 0  # that still run
    reservations: int = 0  # bought, and not over
    final_report: str = "accepted"  # its state; empty: nobody asked for one
    cycle_closed: bool = False


@dataclass(frozen=True)
class Step:
    """A state that may follow, and the sentences that say what keeps it from there; none: it may go."""

    to: str
    blocked: tuple[str, ...]


def steps(state: str, facts: Facts) -> list[Step]:
    """What may follow, in the order in which a page offers it; pure."""
    allowed = PARTICIPATION[state]
    if state == "suspended" and facts.was in allowed:
        allowed = frozenset({facts.was, "withdrawn"})
    return [Step(to, tuple(_blocks(state, to, facts))) for to in ORDER if to in allowed]


def _blocks(state: str, to: str, facts: Facts) -> list[str]:
    found: list[str] = []
    if to in ("selected", "onboarding", "active") and facts.cycle_closed:
        found.append(_("The cycle is closed."))
    if to == "active" and state != "suspended":
        if not facts.list_laid_out:
            found.append(_("The list of onboarding is not laid out yet; plan the session with the lead architect."))
        elif facts.steps_open:
            sentence = ngettext(
                "%(n)s step of onboarding is open; tick it, or say why it does not apply.",
                "%(n)s steps of onboarding are open; tick them, or say why they do not apply.",
                facts.steps_open,
            )
            found.append(sentence % {"n": facts.steps_open})
    if to in ("closed", "withdrawn"):
        if facts.clusters:
            sentence = ngettext(
                "%(n)s cluster still exists: %(names)s. Retire it first.",
                "%(n)s clusters still exist: %(names)s. Retire them first.",
                len(facts.clusters),
            )
            found.append(sentence % {"n": len(facts.clusters), "names": ", ".join(facts.clusters[:5])})
        if facts.reservations:
            sentence = ngettext(
                "%(n)s reservation is not over; end it, or give it to somebody else.",
                "%(n)s reservations are not over; end them, or give them to somebody else.",
                facts.reservations,
            )
            found.append(sentence % {"n": facts.reservations})
    if to == "closed" and facts.final_report != "accepted":
        found.append(
            _("The final report is not accepted yet.")
            if facts.final_report
            else _("No final report was asked for; ask for it, and accept it.")
        )
    return found


def permitted(state: str) -> list[tuple[Any, bool]]:
    """Each deed in words, and whether a participation in this state may do it."""
    return [(words, deed in PERMITS[state]) for deed, words in DEEDS.items()]


def refuse_unless_permitted(participation: Participation, deed: str) -> None:
    """Raises Refused("participation_state") where the participation's state does not permit the deed."""
    if deed in PERMITS[participation.state]:
        return
    reasons = {
        "applied": _("it is not selected yet"),
        "selected": _("its onboarding has not begun; the programme's office lets it begin"),
        "suspended": _("it is suspended; the programme's office says why, and lets it go on"),
        "closing": _("it is closing"),
        "closed": _("it is closed"),
        "withdrawn": _("it was withdrawn"),
    }
    told = {"code": participation.code, "deed": DEEDS[deed], "why": reasons[participation.state]}
    sentence = _("%(code)s may not do this now (%(deed)s): %(why)s.") % told
    raise Refused("participation_state", sentence, state=participation.state, deed=deed)


def go_on(
    *, participation: Participation, to: str, facts: Facts, by: str, why: str = "", version: int | None = None
) -> Participation:
    """Move it on. `facts` were read under the same lock. Raises Refused: blocked, with the sentences; illegal_move; Stale."""
    row = Participation.objects.select_for_update(of=("self",)).get(pk=participation.pk)
    if version is not None and row.version != version:
        sentence = _("Somebody changed this meanwhile. Look at it again.")
        raise Stale("stale", sentence, version=row.version)
    why = why.strip()[:300]
    if to in WITH_A_REASON and not why:
        raise Refused("no_why", _("Say why: the participant reads it."), status=422, field="why")
    step = next((one for one in steps(row.state, facts) if one.to == to), None)
    if step is not None and step.blocked:
        raise Refused("blocked", " ".join(step.blocked), blocked=list(step.blocked))
    if step is None and row.state == "suspended" and to in PARTICIPATION["suspended"]:
        sentence = _("It was %(was)s before it was suspended, and goes on from there.") % {"was": facts.was}
        raise Refused("was_elsewhere", sentence)
    move(row, to, by=by, **({"why": why} if why else {}))
    return row
