"""What the API shows of cases and their notes, and what it takes for each thing that is done with one."""

from rest_framework import serializers

from support import states
from support.models import Case, CaseNote
from tenants.web.bodies import Asked
from tenants.web.listing import Shown

ATTENTION = ["response_overdue", "no_owner", "no_next_step", "step_overdue", "over_age"]


class CaseShown(Shown):
    """A problem or inquiry of one participant."""

    BESIDE = ("attention",)

    number = serializers.CharField(help_text="Unique within its tenant.")
    type = serializers.ChoiceField(choices=Case.Type.choices)
    title = serializers.CharField()
    category = serializers.CharField()
    severity = serializers.ChoiceField(choices=states.SEVERITIES)
    state = serializers.ChoiceField(choices=list(states.CASE))
    participation = serializers.UUIDField(source="participation_id", allow_null=True)
    cluster = serializers.UUIDField(source="cluster_id", allow_null=True)
    job = serializers.UUIDField(source="job_id", allow_null=True)
    component = serializers.CharField(help_text="The service team it was escalated to.")
    owner = serializers.UUIDField(source="owner_id", allow_null=True)
    owner_name = serializers.CharField(source="owner.name", allow_null=True)
    next_step = serializers.CharField()
    next_step_due = serializers.DateField(allow_null=True)
    opened_at = serializers.DateTimeField()
    reopened_at = serializers.DateTimeField(allow_null=True)
    first_response_at = serializers.DateTimeField(allow_null=True)
    last_shared_at = serializers.DateTimeField(allow_null=True)
    resolved_at = serializers.DateTimeField(allow_null=True)
    cause = serializers.ChoiceField(choices=["", *Case.Cause.values])
    lost_hours = serializers.DecimalField(max_digits=10, decimal_places=2, allow_null=True)
    attention = serializers.ListField(
        child=serializers.ChoiceField(choices=ATTENTION), help_text="Why somebody should look."
    )
    version = serializers.IntegerField()


class CaseDetail(CaseShown):
    """A case with what was frozen into it when it opened."""

    cause_text = serializers.CharField()
    signature = serializers.CharField(help_text="What makes two failures alike.")
    evidence = serializers.DictField()
    opened_by = serializers.CharField()


class NoteShown(Shown):
    """What somebody wrote on a case."""

    BESIDE = ("author_name",)

    case = serializers.UUIDField(source="case_id")
    audience = serializers.ChoiceField(choices=CaseNote.AUDIENCES)
    text = serializers.CharField()
    author = serializers.CharField()
    author_name = serializers.CharField()
    at = serializers.DateTimeField()


class CaseAsked(Asked):
    title = serializers.CharField(max_length=200)
    severity = serializers.ChoiceField(choices=states.SEVERITIES)
    type = serializers.ChoiceField(choices=Case.Type.choices, default=Case.Type.PROBLEM)
    text = serializers.CharField(
        max_length=20_000, allow_blank=True, default="", help_text="Becomes its first shared note."
    )
    category = serializers.CharField(max_length=30, allow_blank=True, default="")
    participation = serializers.UUIDField(allow_null=True, default=None)
    cluster = serializers.UUIDField(allow_null=True, default=None)
    job = serializers.UUIDField(allow_null=True, default=None)


class VersionAsked(Asked):
    version = serializers.IntegerField(
        min_value=1, max_value=10**9, required=False, help_text="Or `If-Match` with the ETag."
    )


class NoteAsked(VersionAsked):
    text = serializers.CharField(max_length=20_000)
    audience = serializers.ChoiceField(choices=CaseNote.AUDIENCES, default="shared")


class TakeAsked(VersionAsked):
    owner = serializers.EmailField(max_length=254, required=False, help_text="The new owner; yourself unless said.")


class TextAsked(VersionAsked):
    text = serializers.CharField(max_length=20_000)


class PlanAsked(VersionAsked):
    owner = serializers.EmailField(max_length=254)
    next_step = serializers.CharField(max_length=300)
    due = serializers.DateField()


class SeverityAsked(VersionAsked):
    severity = serializers.ChoiceField(choices=states.SEVERITIES)
    why = serializers.CharField(max_length=300)


class EscalateAsked(VersionAsked):
    component = serializers.CharField(max_length=40)
    why = serializers.CharField(max_length=300)


class ReasonAsked(VersionAsked):
    why = serializers.CharField(max_length=300)


class WaitAsked(VersionAsked):
    whom = serializers.ChoiceField(choices=list(states.WAITS))
    why = serializers.CharField(max_length=300)


class ResolveAsked(VersionAsked):
    cause = serializers.ChoiceField(choices=Case.Cause.choices)
    cause_text = serializers.CharField(max_length=20_000, allow_blank=True, default="")
    lost_hours = serializers.DecimalField(max_digits=10, decimal_places=2, min_value=0, allow_null=True, default=None)
