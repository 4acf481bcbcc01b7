"""Adds what is being done to a cluster, node by node, and what a deleted one leaves behind."""

import django.db.models.deletion
import django.db.models.functions.datetime
import uuid
from django.db import migrations, models

from tenants.wall.row_security import protect, tie


class Migration(migrations.Migration):

    dependencies = [
        ('clusters', '0007_job_checkpoint'),
        ('tenants', '0001_initial'),
    ]

    operations = [
        migrations.AddField(
            model_name='externalobject',
            name='deletes',
            field=models.PositiveSmallIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='node',
            name='software_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.CreateModel(
            name='Operation',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('kind', models.CharField(choices=[('create', 'creation'), ('change', 'change'), ('software', 'software update'), ('reboot', 'reboot of nodes'), ('replace', 'replacement of nodes'), ('remove', 'removal of nodes'), ('delete', 'deletion')], max_length=8)),
                ('state', models.CharField(default='waiting', max_length=10)),
                ('generation', models.PositiveIntegerField(default=0)),
                ('revision', models.PositiveIntegerField(null=True)),
                ('body', models.JSONField(null=True)),
                ('plan', models.JSONField(default=dict)),
                ('plan_digest', models.CharField(blank=True, max_length=40)),
                ('second_person', models.CharField(blank=True, choices=[('', 'nobody else'), ('size', 'somebody else: it takes more instances than are free of approval'), ('data', 'somebody else: data would be gone, or no longer where jobs look for it')], max_length=8)),
                ('may_stop_jobs', models.BooleanField(default=False)),
                ('removes_nodes', models.BooleanField(default=False)),
                ('asked_by', models.CharField(max_length=60)),
                ('reason', models.CharField(blank=True, max_length=300)),
                ('approved_by', models.CharField(blank=True, max_length=60)),
                ('approved_at', models.DateTimeField(null=True)),
                ('started_at', models.DateTimeField(null=True)),
                ('sent_at', models.DateTimeField(null=True)),
                ('ended_at', models.DateTimeField(null=True)),
                ('cancel_wished_at', models.DateTimeField(null=True)),
                ('usual_minutes', models.PositiveIntegerField(null=True)),
                ('outcome', models.TextField(blank=True)),
                ('evidence', models.JSONField(default=list)),
                ('version', models.PositiveIntegerField(default=1)),
                ('cluster', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='clusters.cluster')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='NodeOrder',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('instance_id', models.CharField(max_length=30)),
                ('result', models.CharField(choices=[('wished', 'not sent yet'), ('accepted', 'accepted'), ('away', 'on its way'), ('done', 'done'), ('refused', 'refused'), ('unclear', 'no answer')], default='wished', max_length=8)),
                ('code', models.CharField(blank=True, max_length=60)),
                ('message', models.TextField(blank=True)),
                ('done_at', models.DateTimeField(null=True)),
                ('node', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='clusters.node')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
                ('operation', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='clusters.operation')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='Leftover',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('kind', models.CharField(max_length=60)),
                ('external_id', models.CharField(max_length=300)),
                ('name', models.CharField(blank=True, max_length=200)),
                ('why', models.CharField(choices=[('kept', 'kept on purpose'), ('stuck', 'could not be deleted'), ('found', 'found by its tags or its network')], max_length=8)),
                ('reason', models.TextField(blank=True)),
                ('size_gib', models.PositiveIntegerField(null=True)),
                ('monthly', models.DecimalField(decimal_places=2, max_digits=12, null=True)),
                ('found_at', models.DateTimeField()),
                ('gone_at', models.DateTimeField(null=True)),
                ('cluster', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='clusters.cluster')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'abstract': False,
                'constraints': [models.UniqueConstraint(fields=('tenant', 'id'), name='clusters_leftover_tenant_id'), models.UniqueConstraint(fields=('tenant', 'cluster', 'kind', 'external_id'), name='leftover_once')],
            },
        ),
        migrations.AddIndex(
            model_name='operation',
            index=models.Index(fields=['tenant', 'cluster', '-created_at', '-id'], name='operation_newest'),
        ),
        migrations.AddConstraint(
            model_name='operation',
            constraint=models.UniqueConstraint(fields=('tenant', 'id'), name='clusters_operation_tenant_id'),
        ),
        migrations.AddConstraint(
            model_name='operation',
            constraint=models.UniqueConstraint(condition=models.Q(('state__in', ['running', 'waiting'])), fields=('tenant', 'cluster'), name='one_operation'),
        ),
        migrations.AddConstraint(
            model_name='operation',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['cancelled', 'done', 'failed', 'running', 'waiting'])), name='operation_state_known'),
        ),
        migrations.AddConstraint(
            model_name='nodeorder',
            constraint=models.UniqueConstraint(fields=('tenant', 'id'), name='clusters_nodeorder_tenant_id'),
        ),
        migrations.AddConstraint(
            model_name='nodeorder',
            constraint=models.UniqueConstraint(fields=('tenant', 'operation', 'node'), name='node_order_once'),
        ),
        protect("clusters_operation"),
        tie("clusters_operation", "cluster_id", "clusters_cluster"),
        protect("clusters_nodeorder"),
        tie("clusters_nodeorder", "operation_id", "clusters_operation"),
        tie("clusters_nodeorder", "node_id", "clusters_node"),
        protect("clusters_leftover"),
        tie("clusters_leftover", "cluster_id", "clusters_cluster"),
    ]
