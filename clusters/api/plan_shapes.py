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


class BudgetEffectTold(serializers.Serializer):
    """What something binds of the budget until the end of the term, and what is left then; null: not set, or no price."""

    currency = serializers.CharField()
    budget = serializers.CharField(allow_null=True)
    left = serializers.CharField(allow_null=True)
    adds = serializers.CharField(allow_null=True)
    left_after = serializers.CharField(allow_null=True)
    refused = serializers.BooleanField(help_text="The rule of the budget would refuse it now.")
    reached = serializers.DateField(allow_null=True)
    until = serializers.DateField()


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
    budget = BudgetEffectTold(
        allow_null=True, default=None, help_text="Null where it changes no budget, or is not reckoned."
    )
    against = serializers.ListField(child=serializers.CharField(), default=list, help_text="What preflight refuses.")
