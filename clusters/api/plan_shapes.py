"""How the API shows a plan: what will happen, to which jobs, how long, at which cost."""

from rest_framework import serializers


class EffectTold(serializers.Serializer):
    kind = serializers.CharField(
        help_text="created, changed, later, step, replaced, removed, lost, kept, unknown, refused."
    )
    word = serializers.CharField()
    part = serializers.CharField()
    rule = serializers.CharField(allow_blank=True, help_text="The engine's own rule that says so.")
    sentence = serializers.CharField()


class JobStopped(serializers.Serializer):
    id = serializers.UUIDField()
    name = serializers.CharField()
    nodes = serializers.IntegerField()
    partition = serializers.CharField(allow_blank=True)


class UsualMinutes(serializers.Serializer):
    least = serializers.IntegerField()
    most = serializers.IntegerField()
    measured = serializers.IntegerField(allow_null=True, help_text="The median of your own last ones.")
    times = serializers.IntegerField(help_text="Of how many.")


class CostLine(serializers.Serializer):
    what = serializers.CharField()
    count = serializers.IntegerField()
    unit = serializers.CharField()
    advance = serializers.CharField(allow_blank=True, help_text="The plan or reservation that is paid in advance.")
    per_hour = serializers.CharField(allow_null=True, help_text="Null: no price.")
    per_month = serializers.CharField(allow_null=True)


class CostTold(serializers.Serializer):
    per_hour = serializers.CharField()
    per_month = serializers.CharField()
    unpriced = serializers.ListField(
        child=serializers.CharField(), help_text="What has no price and is not in the sum."
    )
    lines = CostLine(many=True)


class PricesTold(serializers.Serializer):
    title = serializers.CharField()
    dated = serializers.CharField()
    expires = serializers.CharField()
    currency = serializers.CharField()
    fictional = serializers.BooleanField()
    expired = serializers.BooleanField()


class PlanTold(serializers.Serializer):
    """What will happen; an approval is of the plan with this digest."""

    kind = serializers.CharField()
    digest = serializers.CharField()
    possible = serializers.BooleanField()
    second_person = serializers.CharField(
        allow_blank=True, default="", help_text="Why somebody else has to agree: size or data."
    )
    changes = serializers.ListField(child=serializers.CharField())
    effects = EffectTold(many=True)
    stopped = JobStopped(many=True, help_text="Jobs that may be stopped.")
    minutes = UsualMinutes()
    before = CostTold(allow_null=True)
    after = CostTold()
    prices = PricesTold()
    against = serializers.ListField(child=serializers.CharField(), default=list, help_text="What preflight refuses.")
