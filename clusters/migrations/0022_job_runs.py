"""Adds what people wish of a job, when and after what it begins, how often again and why."""

import django.db.models.deletion
from django.db import migrations, models

from tenants.wall.row_security import tie


class Migration(migrations.Migration):

    dependencies = [
        ('clusters', '0021_head_node_agent'),
        ('tenants', '0005_allowed_regions'),
    ]

    operations = [
        migrations.AddField(
            model_name='attempt',
            name='cause',
            field=models.CharField(choices=[('first', 'the first run'), ('node', 'a node was lost'), ('requeue', 'somebody asked for it'), ('scheduler', 'the scheduler began it again')], default='first', max_length=9),
        ),
        migrations.AddField(
            model_name='attempt',
            name='cause_told',
            field=models.TextField(blank=True),
        ),
        migrations.AddField(
            model_name='attempt',
            name='lost_hours',
            field=models.DecimalField(decimal_places=2, max_digits=10, null=True),
        ),
        migrations.AddField(
            model_name='job',
            name='after',
            field=models.ForeignKey(blank=True, db_constraint=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='clusters.job'),
        ),
        migrations.AddField(
            model_name='job',
            name='after_how',
            field=models.CharField(blank=True, choices=[('afterok', 'when it has succeeded'), ('afterany', 'when it has ended'), ('afternotok', 'when it has failed')], default='', max_length=10),
        ),
        migrations.AddField(
            model_name='job',
            name='array',
            field=models.CharField(blank=True, max_length=60),
        ),
        migrations.AddField(
            model_name='job',
            name='begin_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='job',
            name='held',
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name='job',
            name='idle_cancels',
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name='job',
            name='idle_minutes',
            field=models.PositiveIntegerField(null=True),
        ),
        migrations.AddField(
            model_name='job',
            name='idle_since',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='job',
            name='output_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='job',
            name='queue_position',
            field=models.PositiveIntegerField(null=True),
        ),
        migrations.AddField(
            model_name='job',
            name='restarts_an_hour',
            field=models.PositiveSmallIntegerField(default=3),
        ),
        migrations.AddField(
            model_name='job',
            name='restarts_forgiven',
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='job',
            name='run_version',
            field=models.PositiveIntegerField(default=1),
        ),
        migrations.AddField(
            model_name='job',
            name='wish',
            field=models.CharField(blank=True, choices=[('hold', 'hold'), ('release', 'release'), ('requeue', 'requeue')], default='', max_length=8),
        ),
        migrations.AddField(
            model_name='job',
            name='wish_refused',
            field=models.TextField(blank=True),
        ),
        migrations.AddField(
            model_name='job',
            name='wish_restarts',
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='job',
            name='wished_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddConstraint(
            model_name='attempt',
            constraint=models.CheckConstraint(condition=models.Q(('cause__in', ['first', 'node', 'requeue', 'scheduler'])), name='attempt_cause_known'),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.CheckConstraint(condition=models.Q(('wish__in', ['', 'hold', 'release', 'requeue'])), name='job_wish_known'),
        ),
        migrations.AddConstraint(
            model_name='job',
            constraint=models.CheckConstraint(condition=models.Q(('after_how__in', ['', 'afterok', 'afterany', 'afternotok'])), name='job_after_known'),
        ),
        tie("clusters_job", "after_id", "clusters_job"),
    ]
