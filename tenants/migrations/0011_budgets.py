"""Adds what happens when a budget is reached, and whether a type of which nothing is granted may be launched."""

import django.contrib.postgres.fields
import django.core.validators
import tenants.models.tenancy
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('tenants', '0010_erasure'),
    ]

    operations = [
        migrations.AddField(
            model_name='programme',
            name='budget_notice_hours',
            field=models.PositiveSmallIntegerField(default=72, help_text='So long after the limit was told no job is stopped.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(720)], verbose_name='warning time, hours'),
        ),
        migrations.AddField(
            model_name='programme',
            name='budget_patience_hours',
            field=models.PositiveSmallIntegerField(default=24, help_text='After the warning time a job that saves checkpoints is ended after its next one, at the latest then.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(168)], verbose_name='waiting for a checkpoint, hours'),
        ),
        migrations.AddField(
            model_name='programme',
            name='budget_rule',
            field=models.CharField(choices=[('tell', 'tell'), ('refuse', 'tell, and refuse what is new at the limit'), ('stop', 'tell, refuse, and stop jobs at the limit')], default='refuse', help_text="What happens when a participant's budget is spent. A participant may have its own rule.", max_length=6, verbose_name='at the limit'),
        ),
        migrations.AddField(
            model_name='programme',
            name='budget_warn_at',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.PositiveSmallIntegerField(validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(100)]), default=tenants.models.tenancy.warn_at, help_text='At each its business lead and the account team are told, once. Numbers with commas between them.', size=6, verbose_name='told at percent'),
        ),
        migrations.AddField(
            model_name='programme',
            name='grant_not_set',
            field=models.CharField(choices=[('tell', 'let it through, and say so'), ('refuse', 'refuse it')], default='tell', help_text='A cluster of an instance type of which nobody has said how many the participant may have.', max_length=6, verbose_name='where nothing is granted yet'),
        ),
        migrations.AddConstraint(
            model_name='programme',
            constraint=models.CheckConstraint(condition=models.Q(('grant_not_set__in', ['tell', 'refuse'])), name='grant_not_set_known'),
        ),
        migrations.AddConstraint(
            model_name='programme',
            constraint=models.CheckConstraint(condition=models.Q(('budget_rule__in', ['tell', 'refuse', 'stop'])), name='budget_rule_known'),
        ),
        migrations.AddConstraint(
            model_name='programme',
            constraint=models.CheckConstraint(condition=models.Q(('budget_notice_hours__range', (1, 720))), name='budget_notice_hours_range'),
        ),
        migrations.AddConstraint(
            model_name='programme',
            constraint=models.CheckConstraint(condition=models.Q(('budget_patience_hours__range', (1, 168))), name='budget_patience_hours_range'),
        ),
    ]
