"""Adds what a training job tells of itself: its output, steps, ranks, faults, and the door of its reporter."""

import django.db.models.deletion
import django.db.models.functions.datetime
import tenants.secret_fields
import uuid
from django.db import migrations, models

from tenants.wall.row_security import protect, tie


class Migration(migrations.Migration):

    dependencies = [
        ('clusters', '0018_pair_tests'),
        ('tenants', '0005_allowed_regions'),
    ]

    operations = [
        migrations.CreateModel(
            name='JobFault',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('attempt', models.PositiveIntegerField()),
                ('at', models.DateTimeField()),
                ('fault_kind', models.CharField(max_length=14)),
                ('rank', models.PositiveIntegerField(null=True)),
                ('host', models.CharField(blank=True, max_length=120)),
                ('xid', models.PositiveIntegerField(null=True)),
                ('text', models.CharField(max_length=500)),
                ('job', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='clusters.job')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'abstract': False,
                'indexes': [models.Index(fields=['tenant', 'job', '-at'], name='job_fault_newest')],
                'constraints': [models.UniqueConstraint(fields=('tenant', 'id'), name='clusters_jobfault_tenant_id'), models.CheckConstraint(condition=models.Q(('fault_kind__in', ('xid', 'communicator', 'out_of_memory', 'device', 'lost_process', 'exception'))), name='job_fault_kind')],
            },
        ),
        migrations.CreateModel(
            name='JobOutput',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('number', models.PositiveIntegerField()),
                ('first_line', models.PositiveBigIntegerField()),
                ('lines', models.PositiveIntegerField()),
                ('size', models.PositiveIntegerField()),
                ('text', models.TextField()),
                ('until', models.DateTimeField()),
                ('job', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='clusters.job')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'abstract': False,
                'constraints': [models.UniqueConstraint(fields=('tenant', 'id'), name='clusters_joboutput_tenant_id'), models.UniqueConstraint(fields=('tenant', 'job', 'number'), name='job_output_once')],
            },
        ),
        migrations.CreateModel(
            name='JobPoint',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('attempt', models.PositiveIntegerField()),
                ('step', models.PositiveBigIntegerField()),
                ('at', models.DateTimeField()),
                ('source', models.CharField(default='log', max_length=8)),
                ('loss', models.FloatField(null=True)),
                ('loss_word', models.CharField(blank=True, max_length=3)),
                ('tokens_per_second', models.FloatField(null=True)),
                ('samples_per_second', models.FloatField(null=True)),
                ('tflops', models.FloatField(null=True)),
                ('mfu', models.FloatField(null=True)),
                ('learning_rate', models.FloatField(null=True)),
                ('grad_norm', models.FloatField(null=True)),
                ('step_seconds', models.FloatField(null=True)),
                ('batch', models.FloatField(null=True)),
                ('consumed_tokens', models.FloatField(null=True)),
                ('consumed_samples', models.FloatField(null=True)),
                ('job', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='clusters.job')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'abstract': False,
                'constraints': [models.UniqueConstraint(fields=('tenant', 'id'), name='clusters_jobpoint_tenant_id'), models.UniqueConstraint(fields=('tenant', 'job', 'attempt', 'step'), name='job_point_once'), models.CheckConstraint(condition=models.Q(('loss_word__in', ('', 'nan', 'inf'))), name='job_point_loss_word'), models.CheckConstraint(condition=models.Q(('source__in', ('log', 'reporter'))), name='job_point_source')],
            },
        ),
        migrations.CreateModel(
            name='JobProgress',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('log_position', models.TextField(blank=True)),
                ('log_lines', models.PositiveBigIntegerField(default=0)),
                ('log_format', models.CharField(blank=True, max_length=40)),
                ('carry', models.JSONField(default=dict)),
                ('last_line_at', models.DateTimeField(null=True)),
                ('step', models.PositiveBigIntegerField(null=True)),
                ('step_at', models.DateTimeField(null=True)),
                ('total_steps', models.PositiveBigIntegerField(null=True)),
                ('world', models.PositiveIntegerField(null=True)),
                ('timeout_seconds', models.FloatField(null=True)),
                ('checkpoint_path', models.CharField(blank=True, max_length=500)),
                ('resumed_step', models.PositiveBigIntegerField(null=True)),
                ('resumed_at', models.DateTimeField(null=True)),
                ('resumed_attempt', models.PositiveIntegerField(null=True)),
                ('drilled_at', models.DateTimeField(null=True)),
                ('loss_word', models.CharField(blank=True, max_length=3)),
                ('loss_word_step', models.PositiveBigIntegerField(null=True)),
                ('stalled_since', models.DateTimeField(null=True)),
                ('job', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='clusters.job')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'abstract': False,
                'constraints': [models.UniqueConstraint(fields=('tenant', 'id'), name='clusters_jobprogress_tenant_id'), models.UniqueConstraint(fields=('tenant', 'job'), name='job_progress_once'), models.CheckConstraint(condition=models.Q(('loss_word__in', ('', 'nan', 'inf'))), name='job_progress_loss_word')],
            },
        ),
        migrations.CreateModel(
            name='JobRank',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('rank', models.PositiveIntegerField()),
                ('host', models.CharField(blank=True, max_length=120)),
                ('attempt', models.PositiveIntegerField()),
                ('heard_at', models.DateTimeField()),
                ('text', models.CharField(blank=True, max_length=300)),
                ('source', models.CharField(default='log', max_length=8)),
                ('job', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='clusters.job')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'abstract': False,
                'constraints': [models.UniqueConstraint(fields=('tenant', 'id'), name='clusters_jobrank_tenant_id'), models.UniqueConstraint(fields=('tenant', 'job', 'rank'), name='job_rank_once'), models.CheckConstraint(condition=models.Q(('source__in', ('log', 'reporter'))), name='job_rank_source')],
            },
        ),
        migrations.CreateModel(
            name='JobReporter',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('token', tenants.secret_fields.SecretField()),
                ('made_at', models.DateTimeField()),
                ('used_at', models.DateTimeField(null=True)),
                ('reports', models.PositiveBigIntegerField(default=0)),
                ('minute', models.DateTimeField(null=True)),
                ('this_minute', models.PositiveIntegerField(default=0)),
                ('job', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='clusters.job')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'abstract': False,
                'constraints': [models.UniqueConstraint(fields=('tenant', 'id'), name='clusters_jobreporter_tenant_id'), models.UniqueConstraint(fields=('tenant', 'job'), name='one_job_reporter')],
            },
        ),
        protect("clusters_jobprogress"),
        tie("clusters_jobprogress", "job_id", "clusters_job"),
        protect("clusters_jobpoint"),
        tie("clusters_jobpoint", "job_id", "clusters_job"),
        protect("clusters_joboutput"),
        tie("clusters_joboutput", "job_id", "clusters_job"),
        protect("clusters_jobrank"),
        tie("clusters_jobrank", "job_id", "clusters_job"),
        protect("clusters_jobfault"),
        tie("clusters_jobfault", "job_id", "clusters_job"),
        protect("clusters_jobreporter"),
        tie("clusters_jobreporter", "job_id", "clusters_job"),
    ]
