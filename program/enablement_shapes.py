"""What the API shows and takes of sessions, onboarding and reports."""

from typing import Any

from rest_framework import serializers

from program import states
from program.models import OnboardingStep, Report, Session
from program.sessions import FORMATS
from support.shapes import VersionAsked
from tenants.web.bodies import Asked
from tenants.web.listing import Shown


def lines(**more: Any) -> serializers.ListField:
    return serializers.ListField(child=serializers.CharField(max_length=300), max_length=40, **more)


class SessionShown(Shown):
    """A session that everybody may come to, once it is announced."""

    tenant = serializers.SlugField(source="tenant.slug", help_text="The office: a session belongs to no participant.")
    cycle = serializers.CharField(source="cycle.code")
    code = serializers.CharField()
    kind = serializers.ChoiceField(choices=Session.Kind.choices)
    title = serializers.CharField()
    starts_at = serializers.DateTimeField()
    minutes = serializers.IntegerField()
    format = serializers.CharField()
    place = serializers.CharField()
    prerequisites = serializers.CharField()
    recurrence = serializers.CharField()
    agenda = serializers.ListField(child=serializers.CharField())
    materials = serializers.ListField(child=serializers.CharField())
    seats = serializers.IntegerField(allow_null=True, help_text="Null: as many as come.")
    announced_at = serializers.DateTimeField(allow_null=True)
    cancelled_at = serializers.DateTimeField(allow_null=True)
    cancelled_why = serializers.CharField()
    registered = serializers.IntegerField(help_text="Of all participants together.")
    attended = serializers.IntegerField(allow_null=True)
    answers = serializers.IntegerField(allow_null=True, help_text="To the survey.")
    satisfaction = serializers.DecimalField(
        max_digits=2, decimal_places=1, allow_null=True, help_text="The mean, of 5."
    )
    version = serializers.IntegerField()


class RegistrationShown(Shown):
    """A person who wants to come: of one's own organisation; for staff of all."""

    person = serializers.UUIDField(source="person_id")
    person_name = serializers.CharField(source="person.name")
    came = serializers.BooleanField(allow_null=True, help_text="Null until somebody said who came.")


class SessionDetail(SessionShown):
    BESIDE = ("registrations",)

    registrations = RegistrationShown(many=True)


class SessionAsked(Asked):
    cycle = serializers.CharField(max_length=20, help_text="Its code.")
    kind = serializers.ChoiceField(choices=Session.Kind.choices)
    title = serializers.CharField(max_length=200)
    starts_at = serializers.DateTimeField()
    minutes = serializers.IntegerField(min_value=1, max_value=1440)
    format = serializers.ChoiceField(choices=["", *FORMATS], default="")
    place = serializers.CharField(max_length=300, allow_blank=True, default="")
    prerequisites = serializers.CharField(max_length=300, allow_blank=True, default="")
    recurrence = serializers.CharField(max_length=80, allow_blank=True, default="")
    seats = serializers.IntegerField(min_value=1, max_value=100_000, allow_null=True, default=None)
    agenda = lines(default=list)
    materials = lines(default=list)
    speakers = serializers.ListField(
        child=serializers.EmailField(max_length=254), max_length=40, default=list, help_text="People of the office."
    )


class SessionChanged(VersionAsked):
    """What is not sent stays."""

    title = serializers.CharField(max_length=200, required=False)
    starts_at = serializers.DateTimeField(required=False)
    minutes = serializers.IntegerField(min_value=1, max_value=1440, required=False)
    format = serializers.ChoiceField(choices=["", *FORMATS], required=False)
    place = serializers.CharField(max_length=300, allow_blank=True, required=False)
    prerequisites = serializers.CharField(max_length=300, allow_blank=True, required=False)
    recurrence = serializers.CharField(max_length=80, allow_blank=True, required=False)
    seats = serializers.IntegerField(min_value=1, max_value=100_000, allow_null=True, required=False)
    agenda = lines(required=False)
    materials = lines(required=False)


class CallOffAsked(VersionAsked):
    why = serializers.CharField(max_length=300)


class AttendanceAsked(VersionAsked):
    came = serializers.ListField(
        child=serializers.UUIDField(), max_length=10_000, default=list, help_text="Ids of registrations."
    )
    others = serializers.IntegerField(min_value=0, max_value=100_000, help_text="Who came and is not registered.")


class SurveyAsked(VersionAsked):
    answers = serializers.IntegerField(min_value=1, max_value=100_000)
    satisfaction = serializers.DecimalField(max_digits=2, decimal_places=1, min_value=1, max_value=5)


class EnrolmentAsked(VersionAsked):
    """Nothing has to be said; a seat is one's own."""


class StepShown(Shown):
    """A step, and what proves that it was done."""

    BESIDE = ("help",)

    position = serializers.IntegerField()
    text = serializers.CharField()
    help = serializers.CharField(help_text="What it is, who does it and what to bring; empty for a step of one's own.")
    state = serializers.ChoiceField(choices=list(states.ONBOARDING_STEP))
    measure = serializers.ChoiceField(choices=OnboardingStep.Measure.choices)
    done_on = serializers.DateField(allow_null=True)
    settled_at = serializers.DateTimeField(allow_null=True)
    settled_by = serializers.CharField()
    bus_gbps = serializers.DecimalField(max_digits=8, decimal_places=2, allow_null=True)
    nodes = serializers.IntegerField(allow_null=True)
    note = serializers.CharField()
    link = serializers.CharField()
    why = serializers.CharField(help_text="Why it does not apply.")
    version = serializers.IntegerField()


class OnboardingShown(Shown):
    """What a participation has to do before it trains."""

    participation = serializers.UUIDField(source="participation_id")
    lead = serializers.UUIDField(source="lead_id")
    lead_name = serializers.CharField(source="lead.name")
    held_at = serializers.DateTimeField()
    minutes = serializers.IntegerField()
    completed_on = serializers.DateField(allow_null=True)


class OnboardingDetail(OnboardingShown):
    BESIDE = ("steps",)

    steps = StepShown(many=True)


class OnboardingAsked(Asked):
    participation = serializers.UUIDField()
    lead = serializers.EmailField(max_length=254)
    held_at = serializers.DateTimeField()
    minutes = serializers.IntegerField(min_value=1, max_value=1440, default=120)


class OnboardingChanged(Asked):
    """What is not sent stays."""

    lead = serializers.EmailField(max_length=254, required=False)
    held_at = serializers.DateTimeField(required=False)
    minutes = serializers.IntegerField(min_value=1, max_value=1440, required=False)


class TickAsked(VersionAsked):
    """For a test its bandwidth, nodes and log; for anything else a note, a link or a log."""

    done_on = serializers.DateField()
    note = serializers.CharField(max_length=500, allow_blank=True, default="")
    link = serializers.URLField(max_length=500, allow_blank=True, default="")
    bus_gbps = serializers.DecimalField(max_digits=8, decimal_places=2, min_value=0, allow_null=True, default=None)
    nodes = serializers.IntegerField(min_value=1, max_value=10_000, allow_null=True, default=None)
    log = serializers.CharField(max_length=1_000_000, allow_blank=True, default="", trim_whitespace=False)
    log_name = serializers.CharField(max_length=200, default="test.log")


class StepWhyAsked(VersionAsked):
    why = serializers.CharField(max_length=300)


class ReportShown(Shown):
    """A report that a participation owes by a day."""

    BESIDE = ("late",)

    participation = serializers.UUIDField(source="participation_id")
    kind = serializers.ChoiceField(choices=Report.Kind.choices)
    period = serializers.CharField()
    due_on = serializers.DateField()
    state = serializers.ChoiceField(choices=list(states.REPORT))
    late = serializers.BooleanField(help_text="Owed, and its day is over.")
    handed_in_at = serializers.DateTimeField(allow_null=True)
    answered_at = serializers.DateTimeField(allow_null=True)
    answer = serializers.CharField(help_text="Why it came back or is disputed.")
    version = serializers.IntegerField()


class ReportDetail(ReportShown):
    text = serializers.CharField()
    handed_in_by = serializers.CharField()
    answered_by = serializers.CharField()


class ReportsAsked(Asked):
    cycle = serializers.CharField(max_length=20, help_text="Its code.")
    kind = serializers.ChoiceField(choices=Report.Kind.choices)
    period = serializers.CharField(max_length=10)
    due_on = serializers.DateField()


class ReportsMade(serializers.Serializer):
    owing = serializers.IntegerField(help_text="How many participations owe it now and did not before.")


class HandInAsked(VersionAsked):
    text = serializers.CharField(max_length=20_000, help_text="A file is handed in on the report's page.")


class AnswerAsked(VersionAsked):
    """The version alone."""


class DueAsked(VersionAsked):
    due_on = serializers.DateField()
    why = serializers.CharField(max_length=300)


class BackAsked(VersionAsked):
    why = serializers.CharField(max_length=500)
