"""The one table of everything that waits."""

from django.db import models


class Due(models.Model):
    """Something that somebody has to come back to. Holds ids and no tenant's words, so it is not row-secured."""

    id = models.BigAutoField(primary_key=True)
    kind = models.CharField(max_length=24)  # who handles it
    ref = models.CharField(max_length=60)  # what: a uuid, an entry's number, a word
    tenant = models.ForeignKey("tenants.Tenant", models.PROTECT, null=True, db_index=False, related_name="+")
    lane = models.CharField(max_length=60, blank=True, db_default="")  # the cloud account, or empty
    due_at = models.DateTimeField(null=True)  # null: nothing to do until somebody wishes
    leased_until = models.DateTimeField(null=True)
    epoch = models.PositiveBigIntegerField(default=0, db_default=0)
    attempt = models.PositiveIntegerField(default=0, db_default=0)
    again = models.BooleanField(default=False, db_default=False)  # a wish came while it was held
    stuck = models.TextField(blank=True, db_default="")
    done_at = models.DateTimeField(null=True)  # when it was last finished: the engine's pulse

    class Meta:
        db_table = "tenants_due"
        app_label = "tenants"
        constraints = [models.UniqueConstraint(fields=["kind", "ref"], name="one_due_row_each")]
        indexes = [
            models.Index(
                fields=["due_at"],
                name="due_free",
                condition=models.Q(leased_until=None, due_at__isnull=False, stuck=""),
            ),
            models.Index(
                fields=["leased_until", "lane"], name="due_held", condition=models.Q(leased_until__isnull=False)
            ),
        ]


class Lane(models.Model):
    """A cloud account that asked us to slow down; nothing of it is claimed until it has cooled."""

    name = models.CharField(max_length=60, primary_key=True)
    cool_until = models.DateTimeField()

    class Meta:
        db_table = "tenants_lane"
        app_label = "tenants"
