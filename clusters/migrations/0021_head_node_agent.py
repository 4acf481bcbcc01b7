"""Adds the agent on a head node: its token and last report, its orders, what jobs printed and used; and how a cluster is reached."""

import django.db.models.deletion
import django.db.models.functions.datetime
import tenants.secret_fields
import uuid
from django.db import migrations, models

from tenants.wall.row_security import protect, tie


class Migration(migrations.Migration):

    dependencies = [
        ('clusters', '0020_job_scripts'),
        ('tenants', '0005_allowed_regions'),
    ]

    operations = [
        migrations.CreateModel(
            name='AgentLog',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('name', models.CharField(max_length=128)),
                ('turn', models.PositiveIntegerField(default=1)),
                ('starts_at', models.PositiveBigIntegerField(default=0)),
                ('ends_at', models.PositiveBigIntegerField(default=0)),
                ('text', models.TextField(blank=True)),
                ('received_at', models.DateTimeField()),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='AgentOrder',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('number', models.PositiveIntegerField()),
                ('kind', models.CharField(choices=[('submit', 'Submit'), ('cancel', 'Cancel'), ('hold', 'Hold'), ('release', 'Release'), ('requeue', 'Requeue'), ('node', 'Node')], max_length=8)),
                ('key', models.CharField(max_length=200)),
                ('target', models.CharField(max_length=128)),
                ('arguments', tenants.secret_fields.SecretField(blank=True, default='')),
                ('taken_at', models.DateTimeField(null=True)),
                ('taken_by', models.CharField(blank=True, max_length=32)),
                ('answered_at', models.DateTimeField(null=True)),
                ('went_well', models.BooleanField(null=True)),
                ('external_id', models.CharField(blank=True, max_length=60)),
                ('told', models.CharField(blank=True, max_length=2000)),
                ('told_at', models.DateTimeField(null=True)),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='AgentRun',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('external_id', models.CharField(max_length=60)),
                ('attempt', models.PositiveIntegerField()),
                ('name', models.CharField(max_length=200)),
                ('engine_state', models.CharField(max_length=40)),
                ('started_at', models.DateTimeField(null=True)),
                ('ended_at', models.DateTimeField()),
                ('node_names', models.JSONField(default=list)),
                ('accelerators', models.PositiveIntegerField(null=True)),
                ('exit_code', models.IntegerField(null=True)),
                ('signal', models.IntegerField(null=True)),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='HeadNodeAgent',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('digest', models.CharField(max_length=64)),
                ('before_digest', models.CharField(blank=True, max_length=64)),
                ('before_until', models.DateTimeField(null=True)),
                ('undelivered', tenants.secret_fields.SecretField(blank=True, default='')),
                ('made_by', models.CharField(max_length=60)),
                ('made_at', models.DateTimeField()),
                ('delivered_at', models.DateTimeField(null=True)),
                ('revoked_at', models.DateTimeField(null=True)),
                ('connected_at', models.DateTimeField(null=True)),
                ('last_seen_at', models.DateTimeField(null=True)),
                ('agent_version', models.CharField(blank=True, max_length=20)),
                ('boot', models.CharField(blank=True, max_length=64)),
                ('identity', models.CharField(blank=True, max_length=32)),
                ('host', models.CharField(blank=True, max_length=120)),
                ('username', models.CharField(blank=True, max_length=64)),
                ('slurm_version', models.CharField(blank=True, max_length=40)),
                ('trouble', models.CharField(blank=True, max_length=500)),
                ('jobs', models.JSONField(default=list)),
                ('jobs_digest', models.CharField(blank=True, max_length=64)),
                ('jobs_at', models.DateTimeField(null=True)),
                ('nodes', models.JSONField(default=list)),
                ('nodes_digest', models.CharField(blank=True, max_length=64)),
                ('nodes_at', models.DateTimeField(null=True)),
                ('accounts', models.BooleanField(null=True)),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.AddField(
            model_name='cluster',
            name='reach',
            field=models.CharField(choices=[('direct', 'directly'), ('agent', 'by the agent on its head node')], default='direct', max_length=6),
        ),
        migrations.AddConstraint(
            model_name='cluster',
            constraint=models.CheckConstraint(condition=models.Q(('reach__in', ['direct', 'agent'])), name='cluster_reach_known'),
        ),
        migrations.AddField(
            model_name='agentlog',
            name='cluster',
            field=models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='clusters.cluster'),
        ),
        migrations.AddField(
            model_name='agentlog',
            name='tenant',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant'),
        ),
        migrations.AddField(
            model_name='agentorder',
            name='cluster',
            field=models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='clusters.cluster'),
        ),
        migrations.AddField(
            model_name='agentorder',
            name='tenant',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant'),
        ),
        migrations.AddField(
            model_name='agentrun',
            name='cluster',
            field=models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='clusters.cluster'),
        ),
        migrations.AddField(
            model_name='agentrun',
            name='tenant',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant'),
        ),
        migrations.AddField(
            model_name='headnodeagent',
            name='cluster',
            field=models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='clusters.cluster'),
        ),
        migrations.AddField(
            model_name='headnodeagent',
            name='tenant',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant'),
        ),
        migrations.AddConstraint(
            model_name='agentlog',
            constraint=models.UniqueConstraint(fields=('tenant', 'id'), name='clusters_agentlog_tenant_id'),
        ),
        migrations.AddConstraint(
            model_name='agentlog',
            constraint=models.UniqueConstraint(fields=('tenant', 'cluster', 'name'), name='agent_log_once'),
        ),
        migrations.AddIndex(
            model_name='agentorder',
            index=models.Index(condition=models.Q(('answered_at__isnull', True)), fields=['tenant', 'cluster', 'number'], name='agent_order_open'),
        ),
        migrations.AddConstraint(
            model_name='agentorder',
            constraint=models.UniqueConstraint(fields=('tenant', 'id'), name='clusters_agentorder_tenant_id'),
        ),
        migrations.AddConstraint(
            model_name='agentorder',
            constraint=models.UniqueConstraint(fields=('tenant', 'cluster', 'key'), name='agent_order_once'),
        ),
        migrations.AddConstraint(
            model_name='agentorder',
            constraint=models.UniqueConstraint(fields=('tenant', 'cluster', 'number'), name='agent_order_number'),
        ),
        migrations.AddConstraint(
            model_name='agentorder',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', ['submit', 'cancel', 'hold', 'release', 'requeue', 'node'])), name='agent_order_kind'),
        ),
        migrations.AddConstraint(
            model_name='agentorder',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('answered_at__isnull', True), ('went_well__isnull', True)), models.Q(('answered_at__isnull', False), ('went_well__isnull', False)), _connector='OR'), name='agent_order_answer'),
        ),
        migrations.AddIndex(
            model_name='agentrun',
            index=models.Index(fields=['tenant', 'cluster', 'ended_at'], name='agent_run_by_end'),
        ),
        migrations.AddConstraint(
            model_name='agentrun',
            constraint=models.UniqueConstraint(fields=('tenant', 'id'), name='clusters_agentrun_tenant_id'),
        ),
        migrations.AddConstraint(
            model_name='agentrun',
            constraint=models.UniqueConstraint(fields=('tenant', 'cluster', 'external_id', 'attempt'), name='agent_run_once'),
        ),
        migrations.AddConstraint(
            model_name='headnodeagent',
            constraint=models.UniqueConstraint(fields=('tenant', 'id'), name='clusters_headnodeagent_tenant_id'),
        ),
        migrations.AddConstraint(
            model_name='headnodeagent',
            constraint=models.UniqueConstraint(fields=('tenant', 'cluster'), name='one_agent_per_cluster'),
        ),
        protect("clusters_headnodeagent"),
        tie("clusters_headnodeagent", "cluster_id", "clusters_cluster"),
        protect("clusters_agentorder"),
        tie("clusters_agentorder", "cluster_id", "clusters_cluster"),
        protect("clusters_agentlog"),
        tie("clusters_agentlog", "cluster_id", "clusters_cluster"),
        protect("clusters_agentrun"),
        tie("clusters_agentrun", "cluster_id", "clusters_cluster"),
    ]
