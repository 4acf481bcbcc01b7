"""Keeps to which percent a job was last measured to use its accelerators."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('clusters', '0026_reservation_states'),
    ]

    operations = [
        migrations.AddField(
            model_name='jobprogress',
            name='activity',
            field=models.FloatField(null=True),
        ),
        migrations.AddField(
            model_name='jobprogress',
            name='activity_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddConstraint(
            model_name='jobprogress',
            constraint=models.CheckConstraint(condition=models.Q(('activity', None), ('activity__range', (0, 100)), _connector='OR'), name='job_progress_activity_percent'),
        ),
    ]
