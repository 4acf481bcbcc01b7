"""What the API shows of a cluster and takes for one."""

from rest_framework import serializers

from clusters import states
from clusters.api.plan_shapes import PlanTold
from tenants.web.bodies import Asked
from tenants.web.listing import Shown


class ClusterShown(Shown):
    """A cluster as it is wished for and as it was last seen."""

    participation = serializers.UUIDField(source="participation_id")
    account = serializers.CharField(source="account.account_id")
    name = serializers.CharField()
    state = serializers.ChoiceField(choices=list(states.CLUSTER))
    architecture = serializers.CharField()
    architecture_version = serializers.CharField()
    update_available = serializers.CharField(
        help_text="The newest version of its reference architecture when it was made from an older one; else empty."
    )
    orchestrator = serializers.CharField()
    region = serializers.CharField()
    az_id = serializers.CharField()
    instance_type = serializers.CharField(source="main_type", help_text="Of most of its accelerated nodes.")
    nodes_wanted = serializers.IntegerField(help_text="All groups, controllers and login nodes included.")
    nodes_running = serializers.IntegerField()
    accelerated_wanted = serializers.IntegerField(help_text="Instances with accelerators: what quotas count.")
    accelerators_wanted = serializers.IntegerField()
    wanted = serializers.BooleanField(help_text="False once somebody asked to delete it.")
    generation = serializers.IntegerField(help_text="Raised by every wish.")
    applied = serializers.IntegerField(help_text="The last generation that the provider accepted.")
    fleet_wanted = serializers.ChoiceField(
        choices=list(states.FLEET), help_text="What the compute fleet of a ParallelCluster is to be."
    )
    fleet = serializers.CharField(help_text="The engine's own word for its compute fleet; empty where there is none.")
    observed_status = serializers.CharField(help_text="The engine's own word.")
    observed_at = serializers.DateTimeField(allow_null=True)
    unknown_since = serializers.DateTimeField(allow_null=True, help_text="Since when its account does not answer.")
    unknown_reason = serializers.CharField()
    needs_person = serializers.CharField(help_text="Why the engine cannot go on by itself; empty when it can.")
    requested_by = serializers.CharField()
    approved_by = serializers.CharField()
    approved_at = serializers.DateTimeField(allow_null=True)
    ready_at = serializers.DateTimeField(allow_null=True)
    version = serializers.IntegerField()


class ConditionShown(serializers.Serializer):
    type = serializers.ChoiceField(choices=["Fits", "Provisioned", "Healthy", "Current", "Progressing"])
    status = serializers.ChoiceField(choices=["yes", "no", "unknown"])
    reason = serializers.CharField(allow_blank=True)
    sentence = serializers.CharField(allow_blank=True)
    since = serializers.CharField(allow_null=True)


class ClusterDetail(ClusterShown):
    """A cluster with its conditions and its newest configuration."""

    BESIDE = ("revision", "configuration")

    conditions = ConditionShown(many=True)
    revision = serializers.IntegerField(help_text="The number of the newest configuration.")
    configuration = serializers.DictField(
        help_text="What its architecture asks for: groups, storage, network, software."
    )


class ClusterAsked(Asked):
    participation = serializers.UUIDField()
    account = serializers.CharField(max_length=12, help_text="The twelve digits of one of your accounts.")
    name = serializers.CharField(max_length=63)
    configuration = serializers.DictField()
    reason = serializers.CharField(max_length=300, allow_blank=True, default="")
    dry_run = serializers.BooleanField(default=False, help_text="Only check it and say what would be made.")


class CheckAsked(Asked):
    account = serializers.CharField(max_length=12)
    name = serializers.CharField(max_length=63, allow_blank=True, default="")
    configuration = serializers.DictField()


class FindingShown(serializers.Serializer):
    code = serializers.CharField()
    level = serializers.ChoiceField(choices=["ok", "warning", "refused"])
    verdict = serializers.ChoiceField(
        choices=["pass", "fail", "unknown", "mind"], help_text="What could not be found out is never a pass."
    )
    known_at = serializers.DateTimeField(allow_null=True, help_text="When the fact was read that it was held against.")
    field = serializers.CharField(allow_blank=True)
    asked = serializers.JSONField(allow_null=True)
    allowed = serializers.JSONField(allow_null=True)
    unit = serializers.CharField(allow_blank=True)
    who = serializers.CharField(allow_blank=True, help_text="Who can change the limit.")
    suggestion = serializers.CharField(allow_blank=True)
    sentence = serializers.CharField()
    advice = serializers.CharField(allow_blank=True)


class CheckShown(serializers.Serializer):
    fits = serializers.BooleanField()
    findings = FindingShown(many=True)
    plan = PlanTold(allow_null=True, help_text="What would be made, how long it takes and what it costs.")


class ApprovalAsked(Asked):
    why = serializers.CharField(max_length=300, allow_blank=True, default="")
    version = serializers.IntegerField(min_value=1, max_value=10**9, required=False)
    plan = serializers.CharField(
        max_length=40, allow_blank=True, default="", help_text="The digest of the plan that was looked at."
    )


class FleetAsked(Asked):
    status = serializers.ChoiceField(choices=list(states.FLEET))
    why = serializers.CharField(max_length=300, allow_blank=True, default="")
    version = serializers.IntegerField(min_value=1, max_value=10**9, required=False)


class WhyAsked(Asked):
    why = serializers.CharField(max_length=300, allow_blank=True, default="")
    version = serializers.IntegerField(min_value=1, max_value=10**9, required=False)
