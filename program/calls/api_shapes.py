"""What the API shows and takes of calls, applications, cycles and the life of a participation."""

from rest_framework import serializers

from program import checklists
from program.calls import calling, need, words
from program.life import LONGEST_GATE_WHY
from program.models import Application, ChecklistStep, OnboardingStep
from program.models.calls import MOST_SCORE
from support.shapes import VersionAsked
from tenants.models import Participation
from tenants.participating import DEEDS, ORDER
from tenants.states import CYCLE, PARTICIPATION
from tenants.web.bodies import Asked
from tenants.web.listing import Shown

PEAK = "Instances at the peak, all at once."
HOURS = "At the peak."


class CallShown(Shown):
    """What organisations apply to."""

    cycle = serializers.CharField(source="cycle.code")
    title = serializers.CharField()
    opens_at = serializers.DateTimeField()
    closes_at = serializers.DateTimeField()
    most_instances = serializers.IntegerField(allow_null=True, help_text="Of one application; null: no limit.")
    most_hours = serializers.IntegerField(allow_null=True, help_text="Accelerator-hours of one; null: no limit.")
    small_hours = serializers.IntegerField(help_text="Up to this an application is decided without reviewers.")
    closed_at = serializers.DateTimeField(allow_null=True, help_text="When somebody closed it; null: not, or not yet.")
    state = serializers.ChoiceField(choices=sorted(words.CALL))
    version = serializers.IntegerField()


class CallDetail(CallShown):
    text = serializers.CharField()
    gives = serializers.CharField(help_text="What is given.")
    lasts = serializers.CharField(help_text="For how long.")
    paid_by = serializers.CharField(help_text="Who pays.")
    ask = serializers.CharField(help_text="Whom to ask.")


class CallAsked(Asked):
    cycle = serializers.CharField(max_length=20, help_text="Its code.")
    title = serializers.CharField(max_length=200)
    text = serializers.CharField(max_length=20_000, allow_blank=True, default="")
    gives = serializers.CharField(max_length=2000, allow_blank=True, default="", help_text="What is given.")
    lasts = serializers.CharField(max_length=300, allow_blank=True, default="", help_text="For how long.")
    paid_by = serializers.CharField(max_length=300, allow_blank=True, default="", help_text="Who pays.")
    ask = serializers.CharField(max_length=300, allow_blank=True, default="", help_text="Whom to ask.")
    opens_at = serializers.DateTimeField()
    closes_at = serializers.DateTimeField()
    most_instances = serializers.IntegerField(min_value=1, max_value=need.MOST_INSTANCES, allow_null=True, default=None)
    most_hours = serializers.IntegerField(min_value=1, max_value=calling.MOST_HOURS, allow_null=True, default=None)
    small_hours = serializers.IntegerField(min_value=0, max_value=calling.MOST_SMALL, default=0)


class CallChanged(VersionAsked):
    """What is not sent stays."""

    title = serializers.CharField(max_length=200, required=False)
    text = serializers.CharField(max_length=20_000, allow_blank=True, required=False)
    gives = serializers.CharField(max_length=2000, allow_blank=True, required=False)
    lasts = serializers.CharField(max_length=300, allow_blank=True, required=False)
    paid_by = serializers.CharField(max_length=300, allow_blank=True, required=False)
    ask = serializers.CharField(max_length=300, allow_blank=True, required=False)
    opens_at = serializers.DateTimeField(required=False)
    closes_at = serializers.DateTimeField(required=False)
    most_instances = serializers.IntegerField(
        min_value=1, max_value=need.MOST_INSTANCES, allow_null=True, required=False
    )
    most_hours = serializers.IntegerField(min_value=1, max_value=calling.MOST_HOURS, allow_null=True, required=False)
    small_hours = serializers.IntegerField(min_value=0, max_value=calling.MOST_SMALL, required=False)


class SpanShown(serializers.Serializer):
    starts_on = serializers.DateField()
    ends_on = serializers.DateField()
    types = serializers.ListField(child=serializers.CharField(), help_text="Any of them will do; the first counts.")
    regions = serializers.ListField(child=serializers.CharField(), help_text="Any of them; the first counts.")
    minimum = serializers.IntegerField()
    peak = serializers.IntegerField()


class SpanAsked(Asked):
    """One span of the time profile, both days included."""

    starts_on = serializers.DateField()
    ends_on = serializers.DateField()
    types = serializers.ListField(child=serializers.CharField(max_length=30), min_length=1, max_length=20)
    regions = serializers.ListField(child=serializers.CharField(max_length=20), min_length=1, max_length=40)
    minimum = serializers.IntegerField(min_value=0, max_value=need.MOST_INSTANCES)
    peak = serializers.IntegerField(min_value=1, max_value=need.MOST_INSTANCES)


class ApplicationShown(Shown):
    """What an organisation applies with. Of one that is no participant yet the tenant is the office."""

    BESIDE = ("instances", "accelerator_hours")

    call = serializers.UUIDField(source="call_id")
    number = serializers.CharField()
    organisation = serializers.CharField()
    organisation_kind = serializers.CharField()
    sector = serializers.CharField()
    project = serializers.CharField()
    procure = serializers.ChoiceField(
        choices=["", *Application.Procure.values], help_text="Whether they can procure it themselves."
    )
    state = serializers.ChoiceField(choices=sorted(words.APPLICATION))
    edition = serializers.IntegerField(help_text="How often it was handed in; 0: never.")
    submitted_at = serializers.DateTimeField(allow_null=True)
    decided_at = serializers.DateTimeField(allow_null=True)
    why = serializers.CharField(help_text="Why it was decided so.")
    participation = serializers.UUIDField(source="became", allow_null=True, help_text="That came of it.")
    need = SpanShown(many=True)
    instances = serializers.IntegerField(help_text=PEAK)
    accelerator_hours = serializers.IntegerField(help_text=HOURS)
    version = serializers.IntegerField()


class ScoreShown(serializers.Serializer):
    reviewer = serializers.UUIDField(source="reviewer_id")
    reviewer_name = serializers.CharField(source="reviewer.name")
    performance = serializers.IntegerField()
    openness = serializers.IntegerField()
    feasibility = serializers.IntegerField()
    reason = serializers.CharField()


class ApplicationDetail(ApplicationShown):
    BESIDE = (*ApplicationShown.BESIDE, "scores")

    staff_size = serializers.IntegerField(allow_null=True)
    contact_name = serializers.CharField()
    contact_email = serializers.CharField()
    summary = serializers.CharField()
    intended = serializers.CharField(help_text="The models that are intended.")
    procure_how = serializers.CharField()
    provider = serializers.CharField(help_text="That they wish for; empty: any.")
    openness = serializers.CharField()
    licence = serializers.CharField()
    scores = ScoreShown(many=True, help_text="For staff only; empty for everybody else.")


class ApplicationBegun(Asked):
    call = serializers.UUIDField()


class AnswersAsked(VersionAsked):
    """What is not sent stays. `hands_in` hands it in; of what is handed in every change is another edition."""

    hands_in = serializers.BooleanField(default=False)
    organisation_kind = serializers.CharField(max_length=40, allow_blank=True, required=False)
    sector = serializers.CharField(max_length=120, allow_blank=True, required=False)
    staff_size = serializers.IntegerField(min_value=0, max_value=10_000_000, allow_null=True, required=False)
    contact_name = serializers.CharField(max_length=120, allow_blank=True, required=False)
    project = serializers.CharField(max_length=300, allow_blank=True, required=False)
    summary = serializers.CharField(max_length=5000, allow_blank=True, required=False)
    intended = serializers.CharField(max_length=2000, allow_blank=True, required=False)
    need = SpanAsked(many=True, required=False)
    procure = serializers.ChoiceField(choices=["", *Application.Procure.values], required=False)
    procure_how = serializers.CharField(max_length=500, allow_blank=True, required=False)
    provider = serializers.CharField(max_length=120, allow_blank=True, required=False)
    openness = serializers.CharField(max_length=2000, allow_blank=True, required=False)
    licence = serializers.CharField(max_length=120, allow_blank=True, required=False)


class ApplicationWithdrawn(VersionAsked):
    why = serializers.CharField(max_length=1000, allow_blank=True, default="")


class ScoreAsked(Asked):
    performance = serializers.IntegerField(min_value=1, max_value=MOST_SCORE)
    openness = serializers.IntegerField(min_value=1, max_value=MOST_SCORE)
    feasibility = serializers.IntegerField(min_value=1, max_value=MOST_SCORE)
    reason = serializers.CharField(max_length=1000)


class SelectionAsked(VersionAsked):
    outcome = serializers.ChoiceField(choices=list(words.OUTCOMES))
    why = serializers.CharField(max_length=1000, help_text="The applicant reads it.")
    slug = serializers.CharField(
        max_length=40, allow_blank=True, default="", help_text="Of a new organisation that is selected: its short name."
    )
    organisation = serializers.CharField(
        max_length=40, allow_blank=True, default="", help_text="Or the short name of the one that it is already."
    )


class CycleShown(serializers.Serializer):
    """One round of the programme."""

    id = serializers.IntegerField()
    programme = serializers.CharField(source="programme.code")
    code = serializers.CharField()
    name = serializers.CharField()
    state = serializers.ChoiceField(choices=sorted(CYCLE))
    starts_on = serializers.DateField()
    ends_on = serializers.DateField(allow_null=True)
    launch_day = serializers.DateField(allow_null=True)
    stage_gate_on = serializers.DateField(allow_null=True)
    final_report_due = serializers.DateField(allow_null=True)
    version = serializers.IntegerField()


class CyclesShown(serializers.Serializer):
    cycles = CycleShown(many=True)


class CycleChanged(VersionAsked):
    """What is not sent stays."""

    name = serializers.CharField(max_length=80, required=False)
    starts_on = serializers.DateField(required=False)
    ends_on = serializers.DateField(required=False, allow_null=True)
    launch_day = serializers.DateField(required=False, allow_null=True)
    stage_gate_on = serializers.DateField(required=False, allow_null=True)
    final_report_due = serializers.DateField(required=False, allow_null=True)


class CycleMoved(VersionAsked):
    to = serializers.ChoiceField(choices=["running", "closed"])


class CycleCopied(Asked):
    code = serializers.SlugField(max_length=20)
    name = serializers.CharField(max_length=80)
    starts_on = serializers.DateField(help_text="Everything else moves by as many whole weeks.")


class ChecklistStepShown(serializers.Serializer):
    """One step of a cycle's onboarding list; as shipped in the reader's language, else as it was written."""

    id = serializers.UUIDField()
    position = serializers.IntegerField(help_text="From 1.")
    text = serializers.SerializerMethodField()
    help = serializers.SerializerMethodField()
    measure = serializers.ChoiceField(choices=OnboardingStep.Measure.choices, help_text="Empty: nothing is measured.")
    version = serializers.IntegerField()

    def get_text(self, row: ChecklistStep) -> str:
        return checklists.worded(row.text)

    def get_help(self, row: ChecklistStep) -> str:
        return checklists.worded(row.help)


class ChecklistShown(serializers.Serializer):
    cycle = serializers.CharField()
    steps = ChecklistStepShown(many=True)


class ChecklistStepAsked(Asked):
    text = serializers.CharField(max_length=checklists.MOST_TEXT)
    help = serializers.CharField(max_length=checklists.MOST_HELP, required=False, allow_blank=True)
    measure = serializers.ChoiceField(choices=OnboardingStep.Measure.choices, required=False, allow_blank=True)


class ChecklistStepChanged(VersionAsked):
    """What is not sent stays."""

    text = serializers.CharField(max_length=checklists.MOST_TEXT, required=False)
    help = serializers.CharField(max_length=checklists.MOST_HELP, required=False, allow_blank=True)
    measure = serializers.ChoiceField(choices=OnboardingStep.Measure.choices, required=False, allow_blank=True)


class ChecklistStepMoved(VersionAsked):
    to = serializers.ChoiceField(choices=list(checklists.DIRECTIONS))


class ChecklistStepRemoved(VersionAsked):
    """Nothing else has to be said."""


class DemandRow(serializers.Serializer):
    """One week, type and Region. Instances are those at the peak of the week."""

    week = serializers.DateField(help_text="Its Monday.")
    instance_type = serializers.CharField()
    region = serializers.CharField()
    applied_instances = serializers.IntegerField(help_text="Handed in, and not decided or on the waiting list.")
    applied_accelerator_hours = serializers.IntegerField()
    selected_instances = serializers.IntegerField()
    selected_accelerator_hours = serializers.IntegerField()
    reserved_instances = serializers.IntegerField(help_text="For anybody.")
    reserved_accelerator_hours = serializers.IntegerField()


class DemandShown(serializers.Serializer):
    cycle = serializers.CharField()
    weeks = DemandRow(many=True)


class NextShown(serializers.Serializer):
    to = serializers.ChoiceField(choices=list(ORDER))
    blocked = serializers.ListField(
        child=serializers.CharField(), help_text="What keeps it from there; empty: nothing."
    )


class StepsShown(serializers.Serializer):
    """Where a participation stands, what that permits, and what may follow."""

    state = serializers.ChoiceField(choices=sorted(PARTICIPATION))
    permits = serializers.ListField(child=serializers.ChoiceField(choices=list(DEEDS)))
    steps = NextShown(many=True)
    version = serializers.IntegerField()


class GateDecided(VersionAsked):
    outcome = serializers.ChoiceField(choices=Participation.Gate.values)
    why = serializers.CharField(max_length=LONGEST_GATE_WHY, help_text="The participant reads it.")
    on = serializers.DateField(required=False, allow_null=True, help_text="The day of the decision; today unless said.")


class ParticipationMoved(VersionAsked):
    to = serializers.ChoiceField(choices=list(ORDER))
    why = serializers.CharField(
        max_length=300, allow_blank=True, default="", help_text="Needed to suspend and to withdraw."
    )
