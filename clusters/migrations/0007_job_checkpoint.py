"""Keeps the last checkpoint that a job's log speaks of, and when that was first read."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('clusters', '0006_compute_fleet'),
    ]

    operations = [
        migrations.AddField(
            model_name='job',
            name='checkpoint_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='job',
            name='checkpoint_step',
            field=models.PositiveBigIntegerField(null=True),
        ),
    ]
