"""Adds what a cluster is watched with, its images and charts, and the participants' own scripts for nodes."""

import django.db.models.deletion
import django.db.models.functions.datetime
import tenants.secret_fields
import uuid
from django.db import migrations, models

from tenants.wall.row_security import append_only, protect, tie


class Migration(migrations.Migration):

    dependencies = [
        ('clusters', '0011_ways_out'),
        ('tenants', '0005_allowed_regions'),
    ]

    operations = [
        migrations.AddField(
            model_name='cloudaccount',
            name='identity_center',
            field=models.CharField(choices=[('yes', 'yes'), ('no', 'no'), ('unknown', 'unknown')], default='unknown', max_length=7),
        ),
        migrations.AddField(
            model_name='job',
            name='image',
            field=models.CharField(blank=True, max_length=63),
        ),
        migrations.AddField(
            model_name='job',
            name='image_digest',
            field=models.CharField(blank=True, max_length=71),
        ),
        migrations.CreateModel(
            name='NodeSetup',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('name', models.CharField(max_length=40)),
                ('newest', models.PositiveIntegerField(default=0)),
                ('changed_at', models.DateTimeField()),
                ('version', models.PositiveIntegerField(default=1)),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='NodeSetupVersion',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('number', models.PositiveIntegerField()),
                ('text', models.TextField()),
                ('sha256', models.CharField(max_length=64)),
                ('findings', models.JSONField(default=list)),
                ('author', models.CharField(max_length=60)),
                ('reason', models.CharField(blank=True, max_length=300)),
                ('setup', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='clusters.nodesetup')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='Alert',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('fingerprint', models.CharField(max_length=64)),
                ('starts_at', models.DateTimeField()),
                ('ends_at', models.DateTimeField(null=True)),
                ('name', models.CharField(max_length=120)),
                ('severity', models.CharField(default='normal', max_length=8)),
                ('summary', models.CharField(blank=True, max_length=500)),
                ('node', models.CharField(blank=True, max_length=120)),
                ('labels', models.JSONField(default=dict)),
                ('state', models.CharField(default='firing', max_length=8)),
                ('told', models.PositiveIntegerField(default=1)),
                ('last_told_at', models.DateTimeField()),
                ('cluster', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='clusters.cluster')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'abstract': False,
                'indexes': [models.Index(fields=['tenant', 'cluster', '-starts_at'], name='alert_newest')],
                'constraints': [models.UniqueConstraint(fields=('tenant', 'id'), name='clusters_alert_tenant_id'), models.UniqueConstraint(fields=('tenant', 'cluster', 'fingerprint', 'starts_at'), name='alert_once'), models.CheckConstraint(condition=models.Q(('severity__in', ['critical', 'urgent', 'high', 'normal', 'low'])), name='alert_severity'), models.CheckConstraint(condition=models.Q(('state__in', ['firing', 'resolved'])), name='alert_state_known')],
            },
        ),
        migrations.CreateModel(
            name='AlertIntake',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('token', tenants.secret_fields.SecretField()),
                ('before', tenants.secret_fields.SecretField(blank=True, default='')),
                ('before_until', models.DateTimeField(null=True)),
                ('made_by', models.CharField(max_length=60)),
                ('made_at', models.DateTimeField()),
                ('used_at', models.DateTimeField(null=True)),
                ('cluster', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='clusters.cluster')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'abstract': False,
                'constraints': [models.UniqueConstraint(fields=('tenant', 'id'), name='clusters_alertintake_tenant_id'), models.UniqueConstraint(fields=('tenant', 'cluster'), name='one_alert_intake')],
            },
        ),
        migrations.CreateModel(
            name='ContainerImage',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('revision', models.PositiveIntegerField()),
                ('name', models.CharField(max_length=63)),
                ('registry', models.CharField(max_length=120)),
                ('repository', models.CharField(max_length=256)),
                ('digest', models.CharField(max_length=71)),
                ('until_revision', models.PositiveIntegerField(null=True)),
                ('cluster', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='clusters.cluster')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'abstract': False,
                'constraints': [models.UniqueConstraint(fields=('tenant', 'id'), name='clusters_containerimage_tenant_id'), models.UniqueConstraint(fields=('tenant', 'cluster', 'name', 'digest', 'revision'), name='image_once'), models.CheckConstraint(condition=models.Q(('digest__regex', '^sha256:[0-9a-f]{64}$')), name='image_digest')],
            },
        ),
        migrations.CreateModel(
            name='InstalledChart',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('name', models.CharField(max_length=63)),
                ('chart_version', models.CharField(max_length=40)),
                ('namespace', models.CharField(max_length=63)),
                ('sha256', models.CharField(blank=True, max_length=64)),
                ('installed_at', models.DateTimeField()),
                ('recorded_by', models.CharField(max_length=60)),
                ('cluster', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='clusters.cluster')),
                ('operation', models.ForeignKey(blank=True, db_constraint=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='clusters.operation')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'abstract': False,
                'constraints': [models.UniqueConstraint(fields=('tenant', 'id'), name='clusters_installedchart_tenant_id'), models.UniqueConstraint(fields=('tenant', 'cluster', 'name', 'installed_at'), name='chart_once')],
            },
        ),
        migrations.AddConstraint(
            model_name='nodesetup',
            constraint=models.UniqueConstraint(fields=('tenant', 'id'), name='clusters_nodesetup_tenant_id'),
        ),
        migrations.AddConstraint(
            model_name='nodesetup',
            constraint=models.UniqueConstraint(fields=('tenant', 'name'), name='node_setup_name'),
        ),
        migrations.AddConstraint(
            model_name='nodesetupversion',
            constraint=models.UniqueConstraint(fields=('tenant', 'id'), name='clusters_nodesetupversion_tenant_id'),
        ),
        migrations.AddConstraint(
            model_name='nodesetupversion',
            constraint=models.UniqueConstraint(fields=('tenant', 'setup', 'number'), name='node_setup_number'),
        ),
        protect("clusters_nodesetup"),
        protect("clusters_nodesetupversion"),
        tie("clusters_nodesetupversion", "setup_id", "clusters_nodesetup"),
        protect("clusters_alert"),
        tie("clusters_alert", "cluster_id", "clusters_cluster"),
        protect("clusters_alertintake"),
        tie("clusters_alertintake", "cluster_id", "clusters_cluster"),
        protect("clusters_containerimage"),
        tie("clusters_containerimage", "cluster_id", "clusters_cluster"),
        protect("clusters_installedchart"),
        tie("clusters_installedchart", "cluster_id", "clusters_cluster"),
        tie("clusters_installedchart", "operation_id", "clusters_operation"),
        append_only("clusters_nodesetupversion"),
    ]
