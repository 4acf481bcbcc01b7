"""What is asked of the provider from here: of which account and quota, under which id, and what the provider said."""

import django.db.models.deletion
from django.db import migrations, models

from tenants.wall.row_security import tie


class Migration(migrations.Migration):
    dependencies = [("clusters", "0013_preflights")]

    operations = [
        migrations.AddField(
            "quotarequest",
            "account",
            models.ForeignKey(
                "clusters.cloudaccount", db_constraint=False, null=True, blank=True, on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
            ),
        ),
        migrations.AddField("quotarequest", "service", models.CharField(blank=True, max_length=20)),
        migrations.AddField("quotarequest", "name", models.CharField(blank=True, max_length=200)),
        migrations.AddField("quotarequest", "code", models.CharField(blank=True, max_length=20)),
        migrations.AddField("quotarequest", "engine_id", models.CharField(blank=True, max_length=64)),
        migrations.AddField("quotarequest", "engine_status", models.CharField(blank=True, max_length=20)),
        migrations.AddField("quotarequest", "told", models.TextField(blank=True)),
        migrations.AddField("quotarequest", "sent_at", models.DateTimeField(null=True)),
        tie("clusters_quotarequest", "account_id", "clusters_cloudaccount"),
        migrations.AddConstraint(
            "quotarequest",
            models.UniqueConstraint(
                fields=["tenant", "account", "region", "service", "name"],
                condition=models.Q(state__in=["pending", "case_opened"], account__isnull=False),
                name="quota_request_open_once",
            ),
        ),
    ]  # fmt: skip
