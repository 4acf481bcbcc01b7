"""The onboarding list belongs to the cycle; what is laid out from it keeps the help that it had then."""

import django.db.models.deletion
import django.db.models.functions.datetime
import uuid
from django.db import migrations, models

from tenants.wall.row_security import office

MEASURES = [("", "nothing is measured"), ("nccl", "NCCL or NCCOM test")]


class Migration(migrations.Migration):

    dependencies = [
        ("program", "0009_what_a_call_says"),
        ("tenants", "0019_programme_zone"),
    ]

    operations = [
        migrations.AddField("onboardingstep", "help", models.TextField("help", max_length=1000, null=True, blank=True)),
        migrations.CreateModel(
            name="ChecklistStep",
            fields=[
                ("id", models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ("created_at", models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ("position", models.PositiveSmallIntegerField()),
                ("text", models.CharField(max_length=200, verbose_name="what is to be done")),
                ("help", models.TextField(blank=True, max_length=1000, verbose_name="help")),
                ("measure", models.CharField(blank=True, choices=MEASURES, default="", max_length=8, verbose_name="measured by")),
                ("version", models.PositiveIntegerField(default=1)),
                ("cycle", models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.cycle")),
                ("tenant", models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name="+", to="tenants.tenant")),
            ],
        ),
        migrations.AddConstraint(
            "checkliststep",
            models.UniqueConstraint(
                fields=["cycle", "position"], name="checklist_step_once", deferrable=models.Deferrable.DEFERRED
            ),
        ),
        office("program_checkliststep"),
    ]
