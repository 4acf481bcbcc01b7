"""The kinds of entry that this layer writes, each with its sentence."""

from django.utils.translation import gettext_lazy as _

from tenants.history.timeline import kind, say

RECORD_CHANGED = kind("record.changed", _("{actor} changed {what}: {fields}"), icon="pencil")
RECORD_ADDED = kind("record.added", _("{actor} added {what}"), icon="plus")
RECORD_CONFIRMED = kind("record.confirmed", _("{actor} confirmed what the record says: {record_block}"), icon="check")
RECORD_REMOVED = kind("record.removed", _("{actor} removed {what}"), icon="minus")
NOTED = kind("interaction.noted", _("{actor} noted a {medium}"), icon="message")
say(
    "medium",
    meeting=_("meeting"),
    call=_("telephone call"),
    mail=_("mail"),
    channel=_("message in the channel"),
    session=_("session"),
    other=_("contact of another kind"),
)
JOINED = kind("member.joined", _("{person} joined as {role}"), icon="user-plus")
CORRECTED = kind("entry.corrected", _("{actor} corrected an entry"), icon="pencil")
LEFT = kind("member.left", _("{person} left"), icon="user-minus")
REMOVED = kind("member.removed", _("{actor} removed {person}"), icon="user-minus")
ROLE_CHANGED = kind(
    "member.role_changed", _("{actor} made {person} {role} (was {was_role}) from {starts_on}"), icon="user-check"
)
DAYS_CHANGED = kind(
    "member.days_changed", _("{actor} set the last day of {person} as {role}: {until}"), icon="calendar"
)
ASSIGNED = kind("member.assigned", _("{person} looks after this participant: {duty}"), icon="user-check")
STEPS_IN = kind(
    "member.steps_in",
    _("{person} looks after this participant from {starts_on} until {ends_on}: {duty}"),
    icon="user-check",
)
UNASSIGNED = kind("member.unassigned", _("{person} no longer looks after this participant: {duty}"), icon="user-minus")
DUTY_DAYS_CHANGED = kind(
    "member.duty_days_changed",
    _("{actor} set the last day on which {person} looks after this participant as {duty}: {until}"),
    icon="calendar",
)
TOKEN_ISSUED = kind("token.issued", _("{actor} issued a token named {name}"), icon="key")
INVITED = kind("invitation.sent", _("{actor} invited somebody as {role}"), icon="user-plus")
INVITED_AGAIN = kind("invitation.resent", _("{actor} sent the invitation as {role} again"), icon="user-plus")
kind("invitation.accepted", _("{actor} accepted the invitation as {role}"), icon="user-check")
kind("invitation.withdrawn", _("{actor} withdrew the invitation as {role}"), icon="user-minus")
kind("invitation.expired", _("The invitation as {role} expired"), icon="user-minus")
CONTACT_ADDED = kind("contact.added", _("{actor} added a contact: {contact_duty}"), icon="user-plus")
CONTACT_CHANGED = kind("contact.changed", _("{actor} changed a contact: {contact_duty}"), icon="pencil")
CONTACT_CONFIRMED = kind("contact.confirmed", _("{actor} confirmed a contact: {contact_duty}"), icon="user-check")
CONTACT_REMOVED = kind("contact.removed", _("{actor} removed a contact: {contact_duty}"), icon="user-minus")
ACCESS_CONFIRMED = kind(
    "access.confirmed", _("{actor} confirmed the access of {count} people; {left} are left"), icon="shield-check"
)
ASKED_TO_JOIN = kind("join_request.made", _("Somebody asked to join"), icon="user-plus")
kind("join_request.accepted", _("{actor} invited somebody who asked to join, as {role}"), icon="user-check")
kind("join_request.declined", _("{actor} declined a request to join"), icon="user-minus")
kind("join_request.expired", _("Nobody answered a request to join"), icon="user-minus")
SECOND_STEP_ON = kind(
    "security.second_step_on", _("{person} switched the second step of signing in on"), icon="shield-check"
)
SECOND_STEP_OFF = kind(
    "security.second_step_off", _("{person} switched the second step of signing in off"), icon="shield-check"
)
CODES_RENEWED = kind("security.codes_renewed", _("{person} made new recovery codes"), icon="key")
ACCOUNT_LINKED = kind("security.account_linked", _("{person} linked an account of another provider"), icon="key")
ACCOUNT_UNLINKED = kind("security.account_unlinked", _("{person} unlinked an account of another provider"), icon="key")
ERASURE_ASKED = kind("erasure.asked", _("{actor} asked to erase {person}"), audience="internal", icon="user-minus")
kind("erasure.done", _("{actor} erased {person}"), audience="internal", icon="user-minus")
kind("erasure.declined", _("{actor} declined to erase {person}: {why}"), audience="internal", icon="user-minus")
RESTORED = kind(
    "installation.restored",
    _("Restored from a backup; {held} clusters wait for a person"),
    audience="internal",
    icon="refresh",
)
WORK_AGAIN = kind(
    "work.again",
    _("{actor} asked Cohort to try {what} again; it had stopped with: {why}"),
    audience="internal",
    icon="refresh",
)
IMPORT_ASKED = kind("import.checking", _("{actor} sent {file} to be checked"), icon="file")
kind("import.checked", _("{file} was checked: {new} new, {changed} changed"), icon="file")
kind("import.unchanged", _("{file} was checked and changes nothing"), icon="file")
kind("import.faulty", _("{file} was checked and has faults ({problems}), so nothing of it is imported"), icon="file")
kind("import.applying", _("{actor} asked for {file} to be imported"), icon="file")
kind("import.imported", _("{actor} imported {file}: {new} new, {changed} changed"), icon="file")
kind("import.cancelled", _("{actor} called off the import of {file}"), icon="file")
kind("participation.selected", _("Selected for the cycle"), icon="flag")
kind("participation.onboarding", _("Onboarding began"), icon="flag")
kind("participation.active", _("The participation is active"), icon="flag")
kind("participation.closing", _("The participation is closing"), icon="flag")
kind("participation.closed", _("The participation is closed"), icon="flag")
kind("participation.suspended", _("The participation is suspended: {why}"), icon="flag")
kind("participation.withdrawn", _("The participation was withdrawn: {why}"), icon="flag")
