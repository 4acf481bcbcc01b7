"""Data that arrives, milestones, evaluations, results and links to what watches a project; layers and planned evaluations."""

import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
import uuid
from django.db import migrations, models

from tenants.wall.row_security import protect, tie


class Migration(migrations.Migration):

    dependencies = [
        ('tenants', '0006_people'),
    ]

    operations = [
        migrations.AddField(
            model_name='trainingmodel',
            name='evaluation_plan',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=60), blank=True, default=list, help_text='Benchmarks, with commas between them.', size=None, verbose_name='evaluations planned'),
        ),
        migrations.AddField(
            model_name='trainingmodel',
            name='layers',
            field=models.PositiveIntegerField(blank=True, null=True, verbose_name='layers'),
        ),
        migrations.AlterField(
            model_name='trainingmodel',
            name='modalities',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=40), blank=True, default=list, help_text='With commas: text, 16-bit image.', size=None, verbose_name='modalities'),
        ),
        migrations.CreateModel(
            name='DataIngest',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('version', models.PositiveIntegerField(default=1)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('name', models.CharField(max_length=120, verbose_name='data')),
                ('method', models.CharField(choices=[('snowball', 'Snowball'), ('datasync', 'DataSync'), ('s3_copy', 'copy to S3'), ('repository', 'import through Lustre'), ('preparing', 'prepared by a job'), ('other', 'another way')], max_length=12, verbose_name='way')),
                ('engine_id', models.CharField(blank=True, help_text='As the provider calls it, for instance JID….', max_length=120, verbose_name='job or task')),
                ('engine_state', models.CharField(blank=True, choices=[('New', 'New'), ('PreparingAppliance', 'PreparingAppliance'), ('PreparingShipment', 'PreparingShipment'), ('InTransitToCustomer', 'InTransitToCustomer'), ('WithCustomer', 'WithCustomer'), ('InTransitToAWS', 'InTransitToAWS'), ('WithAWSSortingFacility', 'WithAWSSortingFacility'), ('WithAWS', 'WithAWS'), ('InProgress', 'InProgress'), ('Complete', 'Complete'), ('Cancelled', 'Cancelled'), ('Listing', 'Listing'), ('Pending', 'Pending')], max_length=24, verbose_name='state of the Snowball job')),
                ('planned_tb', models.DecimalField(blank=True, decimal_places=3, max_digits=10, null=True, validators=[django.core.validators.MinValueValidator(0)], verbose_name='planned (TB)')),
                ('arrived_tb', models.DecimalField(blank=True, decimal_places=3, max_digits=10, null=True, validators=[django.core.validators.MinValueValidator(0)], verbose_name='arrived (TB)')),
                ('prefix', models.CharField(blank=True, max_length=300, validators=[django.core.validators.RegexValidator('^s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/\\S*)?$', 'An S3 prefix looks like s3://bucket/folder/.')], verbose_name='S3 prefix')),
                ('read_by', models.CharField(blank=True, help_text='The Spark or Slurm jobs that read it.', max_length=200, verbose_name='read by')),
                ('due_on', models.DateField(blank=True, null=True, verbose_name='expected on')),
                ('ready_on', models.DateField(blank=True, help_text='Empty: not ready. The first training job warns as long as data is not ready.', null=True, verbose_name='ready since')),
                ('participation', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.participation')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'abstract': False,
                'constraints': [models.UniqueConstraint(fields=('tenant', 'id'), name='tenants_dataingest_tenant_id'), models.UniqueConstraint(fields=('tenant', 'participation', 'name'), name='ingest_name'), models.CheckConstraint(condition=models.Q(('engine_state', ''), ('method', 'snowball'), _connector='OR'), name='ingest_state_of_snowball'), models.CheckConstraint(condition=models.Q(models.Q(('planned_tb', None), ('planned_tb__gte', 0), _connector='OR'), models.Q(('arrived_tb', None), ('arrived_tb__gte', 0), _connector='OR')), name='ingest_amounts')],
            },
        ),
        migrations.CreateModel(
            name='Evaluation',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('version', models.PositiveIntegerField(default=1)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('model_code', models.CharField(help_text='The code of a model of this record.', max_length=40, verbose_name='model')),
                ('benchmark', models.CharField(max_length=120, verbose_name='benchmark')),
                ('score', models.DecimalField(decimal_places=4, max_digits=14, verbose_name='score')),
                ('unit', models.CharField(blank=True, max_length=30, verbose_name='unit')),
                ('higher_is_better', models.BooleanField(default=True, verbose_name='higher is better')),
                ('measured_on', models.DateField(verbose_name='measured on')),
                ('at_amount', models.DecimalField(blank=True, decimal_places=3, max_digits=12, null=True, validators=[django.core.validators.MinValueValidator(0)], verbose_name='after')),
                ('link', models.CharField(blank=True, max_length=400, validators=[django.core.validators.URLValidator(['https', 'http'], message='A link begins with https:// or http://.')], verbose_name='link')),
                ('participation', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.participation')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'abstract': False,
                'constraints': [models.UniqueConstraint(fields=('tenant', 'id'), name='tenants_evaluation_tenant_id'), models.UniqueConstraint(fields=('tenant', 'participation', 'model_code', 'benchmark', 'measured_on'), name='evaluation_once')],
            },
        ),
        migrations.CreateModel(
            name='Milestone',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('version', models.PositiveIntegerField(default=1)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('title', models.CharField(max_length=160, verbose_name='milestone')),
                ('kind', models.CharField(choices=[('data', 'data'), ('training', 'training'), ('gate', 'stage gate'), ('release', 'release'), ('other', 'other')], max_length=12, verbose_name='kind')),
                ('due_on', models.DateField(verbose_name='due on')),
                ('done_on', models.DateField(blank=True, null=True, verbose_name='done on')),
                ('remark', models.CharField(blank=True, max_length=300, verbose_name='remark')),
                ('participation', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.participation')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'abstract': False,
                'constraints': [models.UniqueConstraint(fields=('tenant', 'id'), name='tenants_milestone_tenant_id'), models.UniqueConstraint(fields=('tenant', 'participation', 'title'), name='milestone_title')],
            },
        ),
        migrations.CreateModel(
            name='MonitoringLink',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('version', models.PositiveIntegerField(default=1)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('kind', models.CharField(choices=[('grafana', 'Grafana'), ('prometheus', 'Prometheus'), ('experiments', 'experiment tracker'), ('other', 'other')], max_length=12, verbose_name='kind')),
                ('name', models.CharField(max_length=120, verbose_name='name')),
                ('link', models.CharField(max_length=400, validators=[django.core.validators.URLValidator(['https', 'http'], message='A link begins with https:// or http://.')], verbose_name='link')),
                ('exporters', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=40), blank=True, default=list, size=None, verbose_name='exporters')),
                ('alert_tested_on', models.DateField(blank=True, null=True, verbose_name='alert tested on')),
                ('participation', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.participation')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'abstract': False,
                'constraints': [models.UniqueConstraint(fields=('tenant', 'id'), name='tenants_monitoringlink_tenant_id'), models.UniqueConstraint(fields=('tenant', 'participation', 'name'), name='monitoring_name')],
            },
        ),
        migrations.CreateModel(
            name='Result',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('version', models.PositiveIntegerField(default=1)),
                ('updated_at', models.DateTimeField(auto_now=True)),
                ('kind', models.CharField(choices=[('model', 'model'), ('dataset', 'data'), ('paper', 'paper'), ('code', 'program'), ('demo', 'demonstration'), ('other', 'other')], max_length=12, verbose_name='kind')),
                ('title', models.CharField(max_length=200, verbose_name='title')),
                ('openness', models.CharField(choices=[('open', 'open'), ('weights', 'open weights'), ('restricted', 'on conditions'), ('closed', 'not published')], max_length=12, verbose_name='openness')),
                ('licence', models.CharField(blank=True, max_length=120, verbose_name='licence')),
                ('link', models.CharField(blank=True, max_length=400, validators=[django.core.validators.URLValidator(['https', 'http'], message='A link begins with https:// or http://.')], verbose_name='link')),
                ('published_on', models.DateField(blank=True, null=True, verbose_name='published on')),
                ('participation', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.participation')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'abstract': False,
                'constraints': [models.UniqueConstraint(fields=('tenant', 'id'), name='tenants_result_tenant_id'), models.UniqueConstraint(fields=('tenant', 'participation', 'kind', 'title'), name='result_once')],
            },
        ),
            protect("tenants_dataingest"),
        tie("tenants_dataingest", "participation_id", "tenants_participation"),
        protect("tenants_evaluation"),
        tie("tenants_evaluation", "participation_id", "tenants_participation"),
        protect("tenants_milestone"),
        tie("tenants_milestone", "participation_id", "tenants_participation"),
        protect("tenants_monitoringlink"),
        tie("tenants_monitoringlink", "participation_id", "tenants_participation"),
        protect("tenants_result"),
        tie("tenants_result", "participation_id", "tenants_participation"),
    ]
