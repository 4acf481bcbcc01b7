"""Says what a participation is about, when and on whose machines, and how its stage gate was decided; bounds more of the record."""

import datetime
import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('tenants', '0017_imports_and_budget_counts'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='dataingest',
            name='ingest_state_of_snowball',
        ),
        migrations.AddField(
            model_name='participation',
            name='abstract',
            field=models.TextField(blank=True, max_length=5000, verbose_name='abstract'),
        ),
        migrations.AddField(
            model_name='participation',
            name='ends_on',
            field=models.DateField(blank=True, help_text='Empty: that of its cycle.', null=True, validators=[django.core.validators.MinValueValidator(datetime.date(2000, 1, 1)), django.core.validators.MaxValueValidator(datetime.date(2100, 12, 31))], verbose_name='last day'),
        ),
        migrations.AddField(
            model_name='participation',
            name='gate',
            field=models.CharField(blank=True, choices=[('passed', 'passed'), ('conditions', 'passed on conditions'), ('failed', 'not passed')], max_length=12, verbose_name='stage gate'),
        ),
        migrations.AddField(
            model_name='participation',
            name='gate_on',
            field=models.DateField(blank=True, null=True, verbose_name='stage gate decided on'),
        ),
        migrations.AddField(
            model_name='participation',
            name='gate_why',
            field=models.CharField(blank=True, max_length=500, verbose_name='why the stage gate was decided so'),
        ),
        migrations.AddField(
            model_name='participation',
            name='provider',
            field=models.CharField(blank=True, help_text='Whose computing power it trains on. Empty: not said.', max_length=120, verbose_name='provider'),
        ),
        migrations.AddField(
            model_name='participation',
            name='starts_on',
            field=models.DateField(blank=True, help_text='Empty: that of its cycle.', null=True, validators=[django.core.validators.MinValueValidator(datetime.date(2000, 1, 1)), django.core.validators.MaxValueValidator(datetime.date(2100, 12, 31))], verbose_name='first day'),
        ),
        migrations.AlterField(
            model_name='dataingest',
            name='engine_state',
            field=models.CharField(blank=True, choices=[('New', 'New'), ('PreparingAppliance', 'PreparingAppliance'), ('PreparingShipment', 'PreparingShipment'), ('InTransitToCustomer', 'InTransitToCustomer'), ('WithCustomer', 'WithCustomer'), ('InTransitToAWS', 'InTransitToAWS'), ('WithAWSSortingFacility', 'WithAWSSortingFacility'), ('WithAWS', 'WithAWS'), ('InProgress', 'InProgress'), ('Complete', 'Complete'), ('Cancelled', 'Cancelled'), ('Listing', 'Listing'), ('Pending', 'Pending'), ('QUEUED', 'QUEUED'), ('LAUNCHING', 'LAUNCHING'), ('PREPARING', 'PREPARING'), ('TRANSFERRING', 'TRANSFERRING'), ('VERIFYING', 'VERIFYING'), ('CANCELLING', 'CANCELLING'), ('SUCCESS', 'SUCCESS'), ('ERROR', 'ERROR'), ('PENDING', 'PENDING'), ('EXECUTING', 'EXECUTING'), ('SUCCEEDED', 'SUCCEEDED'), ('FAILED', 'FAILED'), ('CANCELING', 'CANCELING'), ('CANCELED', 'CANCELED')], max_length=24, verbose_name='state of the job or task'),
        ),
        migrations.AlterField(
            model_name='frameworkuse',
            name='context_parallel',
            field=models.PositiveIntegerField(blank=True, null=True, validators=[django.core.validators.MinValueValidator(1)], verbose_name='context parallel'),
        ),
        migrations.AlterField(
            model_name='frameworkuse',
            name='data_parallel',
            field=models.PositiveIntegerField(blank=True, null=True, validators=[django.core.validators.MinValueValidator(1)], verbose_name='data parallel'),
        ),
        migrations.AlterField(
            model_name='frameworkuse',
            name='expert_parallel',
            field=models.PositiveIntegerField(blank=True, null=True, validators=[django.core.validators.MinValueValidator(1)], verbose_name='expert parallel'),
        ),
        migrations.AlterField(
            model_name='frameworkuse',
            name='fsdp',
            field=models.PositiveIntegerField(blank=True, null=True, validators=[django.core.validators.MinValueValidator(1)], verbose_name='fully sharded over'),
        ),
        migrations.AlterField(
            model_name='frameworkuse',
            name='pipeline_parallel',
            field=models.PositiveIntegerField(blank=True, null=True, validators=[django.core.validators.MinValueValidator(1)], verbose_name='pipeline parallel'),
        ),
        migrations.AlterField(
            model_name='frameworkuse',
            name='sequence_parallel',
            field=models.PositiveIntegerField(blank=True, null=True, validators=[django.core.validators.MinValueValidator(1)], verbose_name='sequence parallel'),
        ),
        migrations.AlterField(
            model_name='frameworkuse',
            name='tensor_parallel',
            field=models.PositiveIntegerField(blank=True, null=True, validators=[django.core.validators.MinValueValidator(1)], verbose_name='tensor parallel'),
        ),
        migrations.AlterField(
            model_name='trainingmodel',
            name='done_amount',
            field=models.DecimalField(blank=True, decimal_places=3, max_digits=12, null=True, validators=[django.core.validators.MinValueValidator(0)], verbose_name='done so far'),
        ),
        migrations.AlterField(
            model_name='trainingmodel',
            name='target_amount',
            field=models.DecimalField(blank=True, decimal_places=3, max_digits=12, null=True, validators=[django.core.validators.MinValueValidator(0)], verbose_name='target'),
        ),
        migrations.AddConstraint(
            model_name='dataingest',
            constraint=models.CheckConstraint(condition=models.Q(('engine_state', ''), ('method__in', ['snowball', 'datasync', 'repository']), _connector='OR'), name='ingest_state_of_its_way'),
        ),
        migrations.AddConstraint(
            model_name='participation',
            constraint=models.CheckConstraint(condition=models.Q(('starts_on', None), ('ends_on', None), ('ends_on__gte', models.F('starts_on')), _connector='OR'), name='participation_days'),
        ),
        migrations.AddConstraint(
            model_name='participation',
            constraint=models.CheckConstraint(condition=models.Q(('gate__in', ['', 'passed', 'conditions', 'failed'])), name='participation_gate_known'),
        ),
    ]
