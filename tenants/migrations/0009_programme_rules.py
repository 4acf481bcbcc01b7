"""Adds the rules by which nodes are kept from jobs and jobs are said to be idle."""

import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('tenants', '0008_small_requests'),
    ]

    operations = [
        migrations.AddField(
            model_name='programme',
            name='quarantine_strikes',
            field=models.PositiveSmallIntegerField(default=3, help_text='Jobs are kept away from a node after so many faults.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(20)], verbose_name='faults'),
        ),
        migrations.AddField(
            model_name='programme',
            name='quarantine_days',
            field=models.PositiveSmallIntegerField(default=7, help_text='Faults that are older do not count any more.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(90)], verbose_name='within days'),
        ),
        migrations.AddField(
            model_name='programme',
            name='quarantine_event_minutes',
            field=models.PositiveSmallIntegerField(default=30, help_text='What is seen within so many minutes of a fault is the same fault.', validators=[django.core.validators.MinValueValidator(0), django.core.validators.MaxValueValidator(1440)], verbose_name='one event, minutes'),
        ),
        migrations.AddField(
            model_name='programme',
            name='idle_minutes',
            field=models.PositiveIntegerField(blank=True, null=True, help_text='A job that prints nothing for so long is said to be idle. Empty: only where its launch asks for it.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(10080)], verbose_name='silent minutes'),
        ),
        migrations.AddField(
            model_name='programme',
            name='idle_below_percent',
            field=models.PositiveSmallIntegerField(default=5, help_text='Where the use of its accelerators is measured, a silent job that uses them this much is not idle.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(100)], verbose_name='computing from percent'),
        ),
        migrations.AddConstraint(
            model_name='programme',
            constraint=models.CheckConstraint(condition=models.Q(('quarantine_strikes__range', (1, 20))), name='quarantine_strikes_range'),
        ),
        migrations.AddConstraint(
            model_name='programme',
            constraint=models.CheckConstraint(condition=models.Q(('quarantine_days__range', (1, 90))), name='quarantine_days_range'),
        ),
        migrations.AddConstraint(
            model_name='programme',
            constraint=models.CheckConstraint(condition=models.Q(('quarantine_event_minutes__lte', 1440)), name='quarantine_event_minutes_range'),
        ),
        migrations.AddConstraint(
            model_name='programme',
            constraint=models.CheckConstraint(condition=models.Q(('idle_minutes', None), ('idle_minutes__range', (1, 10080)), _connector='OR'), name='idle_minutes_range'),
        ),
        migrations.AddConstraint(
            model_name='programme',
            constraint=models.CheckConstraint(condition=models.Q(('idle_below_percent__range', (1, 100))), name='idle_below_percent_range'),
        ),
    ]
