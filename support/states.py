"""Which state may follow which for a case; the sets with meaning; the sentences."""

from django.utils.translation import gettext_lazy as _

from tenants.history.timeline import kind
from tenants.states import Moves

_WORK = {
    "in_progress",
    "waiting_customer",
    "waiting_provider",
    "waiting_decision",
    "scheduled",
    "mitigated",
    "resolved",
}

CASE: Moves = {
    "new": {"triaged", *_WORK},
    "triaged": _WORK,
    "in_progress": _WORK - {"in_progress"},
    "waiting_customer": _WORK - {"waiting_customer"},
    "waiting_provider": _WORK - {"waiting_provider"},
    "waiting_decision": _WORK - {"waiting_decision"},
    "scheduled": _WORK - {"scheduled"},
    "mitigated": _WORK - {"mitigated"},
    "resolved": {"closed", "in_progress"},
    "closed": {"in_progress"},
}
ENDED = frozenset({"resolved", "closed"})
OPEN = frozenset(CASE) - ENDED

WAITS = {"provider": "waiting_provider", "decision": "waiting_decision", "date": "scheduled"}  # for whom or what

ARTICLE: Moves = {"draft": {"published"}, "published": {"draft"}}

SEVERITIES = ("critical", "urgent", "high", "normal", "low")  # worst first

CASE_OPENED = kind("case.opened", _("{actor} opened the case {number}: {title}"), icon="lifebuoy")
CASE_REOPENED = kind("case.reopened", _("{actor} reopened the case {number}: {why}"), icon="lifebuoy")
CASE_NOTED = kind("case.noted", _("{actor} wrote on the case {number}"), icon="message")
CASE_TAKEN = kind("case.taken", _("{actor} took the case {number}"), icon="user-check")
CASE_GIVEN = kind(
    "case.given", _("{actor} gave the case {number} to somebody else"), icon="user-check", reacts=["case-mail"]
)
CASE_UNOWNED = kind("case.unowned", _("The case {number} has no owner any more: {person} left"), icon="user-minus")
CASE_EVIDENCE = kind("case.evidence", _("The case {number} got more evidence: {what}"), icon="paperclip")
CASE_FILE = kind("case.file", _("{actor} attached {name} to the case {number}"), icon="paperclip")
CASE_PLANNED = kind(
    "case.planned",
    _("{actor} set the next step of {number}: {next_step} (by {due})"),
    icon="calendar",
    reacts=["case-mail"],
)
CASE_SEVERITY = kind(
    "case.severity", _("{actor} changed the severity of {number} from {was} to {to}: {why}"), icon="flag"
)
CASE_ESCALATED = kind(
    "case.escalated", _("{actor} escalated {number} to {component}: {why}"), icon="arrow-up", reacts=["case-mail"]
)
kind("case.triaged", _("{actor} triaged the case {number}"), icon="lifebuoy")
kind("case.in_progress", _("The case {number} is being worked on"), icon="lifebuoy")
kind("case.waiting_customer", _("{actor} asked the participant about the case {number}"), icon="message-question")
kind("case.waiting_provider", _("{actor} waits for the provider on the case {number}: {why}"), icon="clock")
kind("case.waiting_decision", _("{actor} waits for a decision on the case {number}: {why}"), icon="clock")
kind("case.scheduled", _("{actor} scheduled the case {number}: {why}"), icon="calendar")
kind("case.mitigated", _("{actor} mitigated the case {number}: {why}"), icon="shield-check")
kind("case.resolved", _("{actor} resolved the case {number}: {cause}"), icon="circle-check")
kind("case.closed", _("{actor} closed the case {number}"), icon="circle-check")

ARTICLE_WRITTEN = kind(
    "article.written", _("{actor} wrote the article {code}: {title}"), audience="internal", icon="file"
)
ARTICLE_EDITED = kind(
    "article.edited", _("{actor} changed the article {code}, now version {edition}"), audience="internal", icon="pencil"
)
kind("article.published", _("{actor} published the article {code}: {title}"), audience="internal", icon="file")
kind("article.draft", _("{actor} withdrew the article {code}: {why}"), audience="internal", icon="file")
CASE_ARTICLE = kind("case.article", _("The article {code} came out of the case {number}: {title}"), icon="file")
CASE_SOLVED_BY = kind(
    "case.solved_by", _("{actor} noted that the article {code} solves the case {number}: {title}"), icon="file"
)
CASE_ARTICLE_OFF = kind("case.article_off", _("{actor} took the article {code} off the case {number}"), icon="file")
