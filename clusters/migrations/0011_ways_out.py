"""Ways out of where a stack stopped: two more kinds of operation, what a rollback stopped at, and who is waited for."""

from django.db import migrations, models

KINDS = [
    ("create", "creation"),
    ("change", "change"),
    ("software", "software update"),
    ("reboot", "reboot of nodes"),
    ("replace", "replacement of nodes"),
    ("remove", "removal of nodes"),
    ("delete", "deletion"),
    ("continue", "end of a rollback that stopped"),
    ("rollback", "rollback of what stopped"),
]
WHY = [
    ("kept", "kept on purpose"),
    ("stuck", "could not be deleted"),
    ("found", "found by its tags or its network"),
    ("shared", "shared with other clusters"),
]


class Migration(migrations.Migration):
    dependencies = [("clusters", "0010_configurations")]

    operations = [
        migrations.AlterField("operation", "kind", models.CharField(choices=KINDS, max_length=8)),
        migrations.AlterField("leftover", "why", models.CharField(choices=WHY, max_length=8)),
        migrations.AddField("operation", "denied_since", models.DateTimeField(null=True)),
        migrations.AddField("externalobject", "stuck", models.JSONField(default=list)),
        migrations.AddField("externalobject", "lines", models.JSONField(default=list)),
        migrations.AddField("externalobject", "lines_read_at", models.DateTimeField(null=True)),
    ]
