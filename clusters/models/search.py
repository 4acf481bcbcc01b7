"""The search for a node that breaks collectives: pairs that were tested, and what is said of each node in the end."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from clusters import states
from tenants.models import TenantOwned, tied
from tenants.states import checked


class NodeSearch(TenantOwned):
    """One search over idle nodes of a cluster; at most one at a time."""

    SUBJECT = "search"
    MOVES = states.SEARCH

    cluster = tied("clusters.Cluster", related_name="+")
    state = models.CharField(max_length=9, default="running")
    asked_by = models.CharField(max_length=60)
    reason = models.CharField(max_length=300, blank=True)
    rounds = models.PositiveSmallIntegerField(default=0)
    began_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    outcome = models.CharField(max_length=300, blank=True)
    version = models.PositiveIntegerField(default=1)

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "cluster"], condition=Q(state="running"), name="one_search"),
            checked("search", states.SEARCH),
        ]


class SearchedNode(TenantOwned):
    """A node of a search, and what is said of it when it has ended."""

    class Word(models.TextChoices):
        WAITING = "waiting", _("not tested yet")
        NAMED = "named", _("it is this one")
        CLEARED = "cleared", _("well")
        UNSURE = "unsure", _("nobody can tell")
        UNANSWERED = "unanswered", _("it did not answer")

    class Sure(models.TextChoices):
        NOT = "", _("not sure")
        CERTAIN = "certain", _("certain")
        LIKELY = "likely", _("likely")

    SUBJECT = "searched_node"

    search = tied("clusters.NodeSearch", related_name="+")
    node = tied("clusters.Node", related_name="+")
    instance_id = models.CharField(max_length=30)
    verdict = models.CharField(max_length=10, choices=Word.choices, default=Word.WAITING)
    sure = models.CharField(max_length=7, choices=Sure.choices, blank=True)
    failed_with = models.JSONField(default=list)  # names of nodes, for display
    passed_with = models.JSONField(default=list)

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "search", "node"], name="searched_once"),
        ]


class PairTest(TenantOwned):
    """One collective over two nodes, which runs as a job of the cluster's scheduler."""

    class Result(models.TextChoices):
        WAITING = "waiting", _("under way")
        PASSED = "passed", _("passed")
        FAILED = "failed", _("failed")
        MISSING = "missing", _("no answer")

    SUBJECT = "pair_test"

    search = tied("clusters.NodeSearch", related_name="+")
    job = tied("clusters.Job", related_name="+")
    round = models.PositiveSmallIntegerField()
    left = tied("clusters.Node", related_name="+")
    right = tied("clusters.Node", related_name="+")
    result = models.CharField(max_length=7, choices=Result.choices, default=Result.WAITING)
    told = models.CharField(max_length=200, blank=True)

    class Meta(TenantOwned.Meta):
        constraints = [
            *TenantOwned.Meta.constraints,
            models.UniqueConstraint(fields=["tenant", "job"], name="pair_job_once"),
            models.CheckConstraint(condition=~Q(left=models.F("right")), name="pair_of_two"),
        ]
