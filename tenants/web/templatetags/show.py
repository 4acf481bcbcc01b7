"""The only place where a state, a severity, a time or an amount gets its words and its colour."""

from datetime import datetime
from typing import Any

from django import template
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext_lazy

register = template.Library()

# state -> (family, words); the family decides colour and shape, the words carry the meaning.
FAMILIES: dict[str, tuple[str, Any]] = {
    "within": ("good", gettext_lazy("within the budget")),
    "notice": ("warn", gettext_lazy("used up")),
    "stopping": ("bad", gettext_lazy("stopping jobs")),
    "firing": ("bad", gettext_lazy("firing")),
    "requested": ("neutral", gettext_lazy("requested")),
    "approved": ("progress", gettext_lazy("approved")),
    "creating": ("progress", gettext_lazy("creating")),
    "ready": ("good", gettext_lazy("ready")),
    "updating": ("progress", gettext_lazy("updating")),
    "degraded": ("warn", gettext_lazy("degraded")),
    "deleting": ("progress", gettext_lazy("deleting")),
    "deleted": ("neutral", gettext_lazy("deleted")),
    "failed": ("bad", gettext_lazy("failed")),
    "pending": ("progress", gettext_lazy("pending")),
    "running": ("good", gettext_lazy("running")),
    "checking": ("progress", gettext_lazy("checking")),
    "impaired": ("bad", gettext_lazy("impaired")),
    "replacing": ("warn", gettext_lazy("replacing")),
    "gone": ("neutral", gettext_lazy("gone")),
    "submitted": ("progress", gettext_lazy("submitted")),
    "queued": ("neutral", gettext_lazy("queued")),
    "starting": ("progress", gettext_lazy("starting")),
    "recovering": ("warn", gettext_lazy("recovering")),
    "succeeded": ("good", gettext_lazy("succeeded")),
    "cancelled": ("neutral", gettext_lazy("cancelled")),
    "timed_out": ("bad", gettext_lazy("timed out")),
    "new": ("warn", gettext_lazy("new")),
    "triaged": ("progress", gettext_lazy("triaged")),
    "in_progress": ("progress", gettext_lazy("in progress")),
    "waiting_customer": ("warn", gettext_lazy("waiting for customer")),
    "waiting_provider": ("warn", gettext_lazy("waiting for provider")),
    "waiting_decision": ("warn", gettext_lazy("waiting for decision")),
    "scheduled": ("neutral", gettext_lazy("scheduled")),
    "mitigated": ("good", gettext_lazy("mitigated")),
    "resolved": ("good", gettext_lazy("resolved")),
    "closed": ("neutral", gettext_lazy("closed")),
    "draft": ("neutral", gettext_lazy("draft")),
    "publishing": ("progress", gettext_lazy("being published")),
    "in_session": ("progress", gettext_lazy("in session")),
    "published": ("good", gettext_lazy("published")),
    "locked": ("neutral", gettext_lazy("locked")),
    "applied": ("neutral", gettext_lazy("applied")),
    "checked": ("warn", gettext_lazy("waits to be imported")),
    "unchanged": ("neutral", gettext_lazy("changes nothing")),
    "faulty": ("bad", gettext_lazy("faulty")),
    "applying": ("progress", gettext_lazy("being imported")),
    "imported": ("good", gettext_lazy("imported")),
    "selected": ("neutral", gettext_lazy("selected")),
    "application.selected": ("good", gettext_lazy("selected")),
    "call.open": ("good", gettext_lazy("open call")),
    "onboarding_step.open": ("warn", gettext_lazy("to do")),
    "erasure.open": ("warn", gettext_lazy("to do")),
    "onboarding": ("progress", gettext_lazy("onboarding")),
    "active": ("good", gettext_lazy("active")),
    "closing": ("progress", gettext_lazy("closing")),
    "suspended": ("warn", gettext_lazy("suspended")),
    "withdrawn": ("neutral", gettext_lazy("withdrawn")),
    "waitlisted": ("warn", gettext_lazy("on the waiting list")),
    "granted": ("good", gettext_lazy("granted")),
    "wanted": ("warn", gettext_lazy("wanted")),
    "bought": ("progress", gettext_lazy("bought")),
    "ended": ("neutral", gettext_lazy("over")),
    "open": ("warn", gettext_lazy("open")),
    "done": ("good", gettext_lazy("done")),
    "waiting": ("warn", gettext_lazy("waiting for approval")),
    "dropped": ("neutral", gettext_lazy("dropped")),
    "planned": ("neutral", gettext_lazy("planned")),
    "started": ("progress", gettext_lazy("started")),
    "stopped": ("bad", gettext_lazy("stopped")),
    "yes": ("good", gettext_lazy("yes")),
    "no": ("bad", gettext_lazy("no")),
    "unknown": ("neutral", gettext_lazy("unknown")),
    "absent": ("neutral", gettext_lazy("not there yet")),
    "intended": ("progress", gettext_lazy("about to be asked for")),
    "exists": ("good", gettext_lazy("there")),
    "foreign": ("bad", gettext_lazy("not ours")),
    "case_opened": ("progress", gettext_lazy("the provider opened a case")),
    "denied": ("bad", gettext_lazy("denied")),
    "not_started": ("neutral", gettext_lazy("not started")),
    "late": ("bad", gettext_lazy("late")),
    "accepted": ("good", gettext_lazy("accepted")),
    "disputed": ("warn", gettext_lazy("disputed")),
    "settled": ("good", gettext_lazy("settled")),
    "expired": ("neutral", gettext_lazy("expired")),
    "declined": ("neutral", gettext_lazy("declined")),
    "returned": ("warn", gettext_lazy("sent back")),
    "not_applicable": ("neutral", gettext_lazy("does not apply")),
}

SEVERITIES: dict[str, Any] = {
    "critical": gettext_lazy("critical"),
    "urgent": gettext_lazy("urgent"),
    "high": gettext_lazy("high"),
    "normal": gettext_lazy("normal"),
    "low": gettext_lazy("low"),
}

DUTY_WORDS: dict[str, Any] = {
    "lead": gettext_lazy("Lead architect"),
    "deputy": gettext_lazy("Deputy"),
    "account": gettext_lazy("Account team"),
    "frameworks": gettext_lazy("Frameworks specialist"),
    "service": gettext_lazy("Service engineer"),
}

ROLES: dict[str, Any] = {
    "programme_manager": gettext_lazy("Programme manager"),
    "programme_officer": gettext_lazy("Programme officer"),
    "lead_architect": gettext_lazy("Lead architect"),
    "account_team": gettext_lazy("Account team"),
    "account_team_elsewhere": gettext_lazy("Account team, reading"),
    "frameworks_specialist": gettext_lazy("Frameworks specialist"),
    "service_engineer": gettext_lazy("Service team engineer"),
    "auditor": gettext_lazy("Auditor"),
    "business_lead": gettext_lazy("Business lead"),
    "technical_lead": gettext_lazy("Technical lead"),
    "platform_engineer": gettext_lazy("Platform engineer"),
    "ml_engineer": gettext_lazy("ML engineer"),
    "viewer": gettext_lazy("Viewer"),
    "automation": gettext_lazy("Automation"),
    "controller": gettext_lazy("controller"),
    "login": gettext_lazy("login"),
    "compute": gettext_lazy("compute"),
}


@register.simple_tag
def state(word: str, of: str = "") -> str:
    """A state as a tag: shape and colour of its family, and its words; `of` names a thing for which it means another."""
    family, words = FAMILIES.get(f"{of}.{word}") or FAMILIES.get(word, ("neutral", word))
    return format_html('<span class="tag {}" data-state="{}">{}</span>', family, word, words)


@register.simple_tag
def severity(word: str) -> str:
    return format_html('<span class="severity {}">{}</span>', word, SEVERITIES.get(word, word))


@register.simple_tag
def family(word: str) -> str:
    """The colour family of a state, for a node's square."""
    return FAMILIES.get(word, ("neutral", word))[0]


# The name of an icon in a kind of entry -> the drawing that we have for it.
DRAWINGS = {
    "alert-triangle": "warn", "arrow-up": "flag", "circle-check": "good", "clipboard-check": "review", "cloud-upload": "cloud",
    "gauge": "quota", "lifebuoy": "case", "message": "note", "message-question": "help", "minus": "trash", "paperclip": "file",
    "pencil": "edit", "player-pause": "wait", "player-play": "job", "player-stop": "stop", "plug-connected": "link",
    "plug-connected-x": "unplugged", "point": "cloud", "shield-check": "shield", "snowflake": "lock", "user-check": "person",
    "user-minus": "person", "user-plus": "person", "users": "people",
}  # fmt: skip
PAGES = {
    "cluster": "cluster",
    "job": "job",
    "case": "case",
    "capacity_request": "capacity_request",
    "reservation": "reservation",
}


@register.filter
def drawing(icon: str) -> str:
    """The symbol of the sprite for an entry's icon."""
    return DRAWINGS.get(icon, icon)


@register.simple_tag
def place(entry: Any, tenant: Any) -> str:
    """Where the page of what an entry is about lies; empty when it has none."""
    slug = getattr(tenant, "slug", "")
    if slug and entry.subject in PAGES:
        return reverse(PAGES[entry.subject], args=[slug, entry.subject_id])
    if slug and entry.cluster:
        return reverse("cluster", args=[slug, entry.cluster])
    return ""


@register.filter
def words(word: str) -> Any:
    """A state, severity or role in words only."""
    found = FAMILIES.get(word)
    return found[1] if found else SEVERITIES.get(word) or ROLES.get(word, word)


@register.filter
def duty(word: str) -> Any:
    """What somebody of the programme does for a participant, in words."""
    return DUTY_WORDS.get(word, word)


@register.filter
def plainly(value: Any) -> Any:
    """A truth in words; everything else as it is."""
    return (_("yes") if value else _("no")) if isinstance(value, bool) else value


@register.simple_tag
def since(moment: datetime | None) -> str:
    """How long ago, with the exact time in UTC as its title; app.js turns the title local."""
    if moment is None:
        return format_html('<span class="soft">{}</span>', _("never"))
    exact = moment.astimezone(tz=timezone.get_default_timezone()).strftime("%Y-%m-%d %H:%M:%S UTC")
    return format_html(
        '<time datetime="{}" title="{}" data-relative>{}</time>', moment.isoformat(), exact, ago(moment, timezone.now())
    )


def ago(moment: datetime, now: datetime) -> str:
    """The distance in the largest whole unit."""
    seconds = int((now - moment).total_seconds())
    ahead, seconds = seconds < 0, abs(seconds)
    if seconds < 60:
        return _("just now") if not ahead else _("in a moment")
    for size, words in UNITS:
        if seconds >= size:
            text = words % {"n": seconds // size}
            return (_("in %s") if ahead else _("%s ago")) % text
    return ""


UNITS = (
    (86_400, ngettext_lazy("%(n)s day", "%(n)s days", "n")),
    (3_600, ngettext_lazy("%(n)s hour", "%(n)s hours", "n")),
    (60, ngettext_lazy("%(n)s minute", "%(n)s minutes", "n")),
)


@register.simple_tag
def amount(number: Any, unit: str = "") -> str:
    """A number with its unit; what is not known is a dash, never a zero."""
    if number is None or number == "":
        return format_html('<span class="soft">{}</span>', "–")
    text = (
        f"{number:,}"
        if isinstance(number, int)
        else (f"{number.normalize():f}" if hasattr(number, "normalize") else str(number))
    )
    return format_html(
        '<span class="amount">{}{}</span>', text, format_html(' <span class="soft">{}</span>', unit) if unit else ""
    )
