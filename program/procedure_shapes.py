"""What the API shows and takes of decisions, action items, addenda, trends and launch figures."""

from rest_framework import serializers

from program import states
from program.changes import ORDER
from program.models import AUDIENCES, ActionItem
from support.shapes import VersionAsked
from tenants.web.bodies import Asked
from tenants.web.listing import Shown

PERSON = {"max_length": 254}


class DecisionShown(Shown):
    """A decision: it never changes, a later one supersedes it."""

    number = serializers.CharField(
        help_text="One sequence for the programme; the same at each organisation it concerns."
    )
    audience = serializers.ChoiceField(choices=AUDIENCES)
    text = serializers.CharField()
    reason = serializers.CharField()
    decided_by = serializers.UUIDField(source="decided_by_id")
    decided_by_name = serializers.CharField(source="decided_by.name")
    authority = serializers.CharField()
    decided_on = serializers.DateField()
    affects = serializers.CharField()
    supersedes = serializers.UUIDField(source="supersedes_id", allow_null=True)
    case = serializers.UUIDField(source="case_id", allow_null=True)
    review = serializers.UUIDField(source="review_id", allow_null=True)


class DecisionAsked(Asked):
    text = serializers.CharField(max_length=500)
    reason = serializers.CharField(max_length=2_000, allow_blank=True, default="")
    decided_by = serializers.EmailField(**PERSON)
    authority = serializers.CharField(max_length=80, allow_blank=True, default="")
    decided_on = serializers.DateField(allow_null=True, default=None, help_text="Today unless said.")
    affects = serializers.CharField(max_length=200, allow_blank=True, default="")
    supersedes = serializers.UUIDField(allow_null=True, default=None)
    case = serializers.UUIDField(allow_null=True, default=None)
    review = serializers.UUIDField(allow_null=True, default=None)
    audience = serializers.ChoiceField(choices=AUDIENCES, default="internal")


class ActionShown(Shown):
    """Somebody does something by a day."""

    number = serializers.CharField()
    audience = serializers.ChoiceField(choices=AUDIENCES)
    text = serializers.CharField()
    owner = serializers.UUIDField(source="owner_id")
    owner_name = serializers.CharField(source="owner.name")
    due = serializers.DateField()
    due_at_first = serializers.DateField()
    due_changes = serializers.IntegerField()
    times_carried = serializers.IntegerField(help_text="How many reviews found it open.")
    kind = serializers.ChoiceField(choices=ActionItem.Kind.choices)
    state = serializers.ChoiceField(choices=list(states.ACTION_ITEM))
    evidence = serializers.CharField()
    ended_on = serializers.DateField(allow_null=True)
    ended_why = serializers.CharField()
    case = serializers.UUIDField(source="case_id", allow_null=True)
    decision = serializers.UUIDField(source="decision_id", allow_null=True)
    review = serializers.UUIDField(source="review_id", allow_null=True)
    version = serializers.IntegerField()


class ActionAsked(Asked):
    text = serializers.CharField(max_length=300, help_text="Verb and object.")
    owner = serializers.EmailField(**PERSON)
    due = serializers.DateField()
    kind = serializers.ChoiceField(choices=ActionItem.Kind.choices, default="prevent")
    case = serializers.UUIDField(allow_null=True, default=None)
    decision = serializers.UUIDField(allow_null=True, default=None)
    review = serializers.UUIDField(allow_null=True, default=None)
    audience = serializers.ChoiceField(choices=AUDIENCES, default="internal")


class EndAsked(VersionAsked):
    outcome = serializers.ChoiceField(choices=["done", "dropped"])
    why = serializers.CharField(max_length=300, allow_blank=True, default="", help_text="Needed when it is dropped.")
    evidence = serializers.URLField(max_length=500, allow_blank=True, default="")


class MoveAsked(VersionAsked):
    due = serializers.DateField()
    why = serializers.CharField(max_length=300)


class ReopenAsked(VersionAsked):
    why = serializers.CharField(max_length=300)


class EditAsked(VersionAsked):
    body = serializers.CharField(max_length=200_000)


class MinutesEdited(Shown):
    """Minutes after an edit."""

    review = serializers.UUIDField(source="review_id")
    review_number = serializers.IntegerField()
    body = serializers.CharField()
    sha256 = serializers.CharField()
    edited_at = serializers.DateTimeField(allow_null=True)
    locked_at = serializers.DateTimeField(allow_null=True)
    version = serializers.IntegerField()


class AddendumShown(Shown):
    """What was added to locked minutes."""

    minutes = serializers.UUIDField(source="minutes_id")
    text = serializers.CharField()
    author = serializers.CharField()
    at = serializers.DateTimeField()


class AddendumAsked(Asked):
    text = serializers.CharField(max_length=5_000)


class LateAsked(Asked):
    case = serializers.UUIDField()


class LateShown(serializers.Serializer):
    item = serializers.UUIDField()
    position = serializers.IntegerField()
    group = serializers.CharField()


class WeekShown(serializers.Serializer):
    """One review in the trend. A share is null where nothing was asked for."""

    id = serializers.UUIDField()
    number = serializers.IntegerField()
    cutoff_at = serializers.DateTimeField()
    regular = serializers.BooleanField()
    open_before = serializers.IntegerField()
    opened = serializers.IntegerField()
    reopened = serializers.IntegerField()
    resolved = serializers.IntegerField()
    open_now = serializers.IntegerField()
    carried = serializers.IntegerField()
    mitigated = serializers.IntegerField()
    bands = serializers.DictField(child=serializers.IntegerField(), help_text="Open cases by age in days.")
    carry_over_rate = serializers.FloatField(allow_null=True)
    reopened_rate = serializers.FloatField(allow_null=True)
    response_within_target = serializers.FloatField(allow_null=True)
    responses_due = serializers.IntegerField()
    resolve_hours_median = serializers.FloatField(allow_null=True)
    resolve_hours_p90 = serializers.FloatField(allow_null=True)
    mitigate_hours_median = serializers.FloatField(allow_null=True)
    actions_on_time = serializers.FloatField(allow_null=True)
    actions_overdue = serializers.IntegerField()
    articles_share = serializers.FloatField(allow_null=True, help_text="Of the resolved cases, those with an article.")
    satisfaction = serializers.FloatField(allow_null=True, help_text="Mean of the sessions surveyed, of 5.")
    survey_answers = serializers.IntegerField()
    lost_hours = serializers.DictField(child=serializers.FloatField(), help_text="Instance hours, by cause.")


class TrendShown(serializers.Serializer):
    cycle = serializers.CharField()
    weeks = WeekShown(many=True)


class ChangeShown(serializers.Serializer):
    """One difference between two reviews; `nothing` is one too."""

    what = serializers.ChoiceField(choices=list(ORDER))
    tenant = serializers.CharField()
    subject = serializers.CharField()
    subject_id = serializers.CharField()
    name = serializers.CharField()
    was = serializers.CharField()
    now = serializers.CharField()
    count = serializers.IntegerField()
    entry = serializers.IntegerField(allow_null=True)
    at = serializers.CharField(help_text="Empty when nothing happened.")


class ChangesShown(serializers.Serializer):
    id = serializers.UUIDField()
    number = serializers.IntegerField()
    changes = ChangeShown(many=True)


class SumShown(serializers.Serializer):
    """Planned and in service, in instances and accelerators."""

    name = serializers.CharField()
    planned = serializers.IntegerField()
    in_service = serializers.IntegerField()
    accelerators = serializers.IntegerField()
    accelerators_in_service = serializers.IntegerField()


class BoardRowShown(serializers.Serializer):
    tenant = serializers.CharField()
    name = serializers.CharField()
    cluster = serializers.UUIDField(allow_null=True)
    region = serializers.CharField()
    instance_type = serializers.CharField()
    state = serializers.CharField()
    planned = serializers.IntegerField()
    in_service = serializers.IntegerField()
    accelerators = serializers.IntegerField()
    accelerators_in_service = serializers.IntegerField()
    came_at = serializers.DateTimeField(allow_null=True, help_text="When it was first in service whole.")
    wave = serializers.IntegerField(allow_null=True)
    verdict = serializers.CharField(help_text="open, go, no_go; empty without a planned launch.")


class PointShown(serializers.Serializer):
    at = serializers.DateTimeField()
    cluster = serializers.CharField()
    entry = serializers.IntegerField(allow_null=True)
    by_type = serializers.DictField(child=serializers.IntegerField(), help_text="Instances in service from here on.")
    total = serializers.IntegerField()


class BlockerShown(serializers.Serializer):
    id = serializers.UUIDField()
    number = serializers.CharField()
    title = serializers.CharField()
    severity = serializers.CharField()
    state = serializers.CharField()
    tenant = serializers.CharField()
    cluster = serializers.CharField()


class BoardShown(serializers.Serializer):
    """A launch day, from history."""

    day = serializers.DateField()
    imported = serializers.BooleanField()
    live = serializers.BooleanField()
    total = SumShown()
    by_type = SumShown(many=True)
    by_region = SumShown(many=True)
    clusters = BoardRowShown(source="rows", many=True)
    curve = PointShown(source="curve.points", many=True)
    blockers = BlockerShown(many=True)
