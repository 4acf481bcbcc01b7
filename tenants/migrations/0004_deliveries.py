"""Messages to people, each a row of what became of it; and which kinds of mail a person has switched off."""

import uuid

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

from tenants.wall.row_security import protect


class Migration(migrations.Migration):
    dependencies = [("tenants", "0003_attachment_newest")]

    operations = [
        migrations.AddField(
            model_name="person",
            name="mail_off",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=24), blank=True, db_default=[], default=list, size=None
            ),
        ),
        migrations.CreateModel(
            name="Delivery",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("channel", models.CharField(choices=[("mail", "mail")], default="mail", max_length=8)),
                ("kind", models.CharField(max_length=24)),
                ("about", models.UUIDField(null=True)),
                ("key", models.CharField(max_length=80)),
                ("tries", models.PositiveIntegerField(default=0)),
                ("last_tried_at", models.DateTimeField(null=True)),
                ("error", models.TextField(blank=True)),
                (
                    "outcome",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("sent", "sent"),
                            ("failed", "could not be delivered"),
                            ("skipped", "no longer needed"),
                        ],
                        max_length=8,
                    ),
                ),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="tenants.tenant",
                    ),
                ),
            ],
            options={
                "abstract": False,
                "indexes": [
                    models.Index(fields=["-created_at", "-id"], name="delivery_newest"),
                    models.Index(fields=["outcome", "-created_at", "-id"], name="delivery_outcome"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("tenant", "id"), name="tenants_delivery_tenant_id"),
                    models.UniqueConstraint(
                        fields=("tenant", "person", "channel", "kind", "key"), name="one_delivery_each"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(outcome="", ended_at=None)
                        | models.Q(outcome__in=["sent", "failed", "skipped"], ended_at__isnull=False),
                        name="delivery_ended_with_an_outcome",
                    ),
                ],
            },
        ),
        protect("tenants_delivery"),
    ]
