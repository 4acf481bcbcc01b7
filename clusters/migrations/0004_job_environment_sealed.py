"""Seal the environment of jobs: what was plain JSON becomes names that are shown and a secret that is not."""

import json

from django.db import migrations, models

import tenants.secret_fields

CHUNK = 500


def seal(apps, schema_editor):
    """Runs as the owner, whom row security does not bind: through SQL, since the managers want a scope."""
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("select id, environment::text from clusters_job where environment::text not in ('{}', 'null')")
        rows = cursor.fetchall()
        for start in range(0, len(rows), CHUNK):
            cursor.executemany(
                "update clusters_job set environment_names = %s::jsonb, environment_sealed = %s where id = %s",
                [
                    (json.dumps(sorted(json.loads(text))), tenants.secret_fields.seal_text(text), pk)
                    for pk, text in rows[start : start + CHUNK]
                ],
            )


class Migration(migrations.Migration):

    dependencies = [
        ('clusters', '0003_bucket_version'),
    ]

    operations = [
        migrations.AddField(
            model_name='job',
            name='environment_names',
            field=models.JSONField(default=list),
        ),
        migrations.AddField(
            model_name='job',
            name='environment_sealed',
            field=tenants.secret_fields.SecretField(blank=True, default=''),
        ),
        migrations.RunPython(seal, migrations.RunPython.noop, elidable=True),
        migrations.RemoveField(
            model_name='job',
            name='environment',
        ),
    ]
