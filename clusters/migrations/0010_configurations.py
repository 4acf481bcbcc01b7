"""Adds configurations of clusters, kept by a participant in versions that never change."""

import django.db.models.deletion
import django.db.models.functions.datetime
import uuid
from django.db import migrations, models

from tenants.wall.row_security import append_only, protect, tie


class Migration(migrations.Migration):

    dependencies = [
        ('clusters', '0009_account_access'),
        ('tenants', '0004_deliveries'),
    ]

    operations = [
        migrations.CreateModel(
            name='ClusterConfiguration',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('name', models.CharField(max_length=63, verbose_name='name')),
                ('newest', models.PositiveIntegerField(default=1)),
                ('architecture', models.CharField(blank=True, max_length=40)),
                ('architecture_version', models.CharField(blank=True, max_length=20)),
                ('region', models.CharField(blank=True, max_length=20)),
                ('main_type', models.CharField(blank=True, max_length=40)),
                ('nodes', models.PositiveIntegerField(default=0)),
                ('usable', models.BooleanField(default=False)),
                ('changed_at', models.DateTimeField()),
                ('version', models.PositiveIntegerField(default=1)),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='ConfigurationVersion',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('number', models.PositiveIntegerField()),
                ('origin', models.CharField(choices=[('form', 'the form'), ('text', 'a text'), ('file', 'a file'), ('cluster', 'a cluster')], max_length=8)),
                ('origin_name', models.CharField(blank=True, max_length=200)),
                ('kind', models.CharField(max_length=16)),
                ('text', models.TextField()),
                ('beside', models.TextField(blank=True)),
                ('body', models.JSONField(default=dict)),
                ('kept', models.JSONField(default=dict)),
                ('digest', models.CharField(max_length=64)),
                ('architecture', models.CharField(blank=True, max_length=40)),
                ('architecture_version', models.CharField(blank=True, max_length=20)),
                ('region', models.CharField(blank=True, max_length=20)),
                ('az_id', models.CharField(blank=True, max_length=20)),
                ('main_type', models.CharField(blank=True, max_length=40)),
                ('nodes', models.PositiveIntegerField(default=0)),
                ('usable', models.BooleanField(default=False)),
                ('author', models.CharField(max_length=60)),
                ('reason', models.CharField(blank=True, max_length=300)),
                ('configuration', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='clusters.clusterconfiguration')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.AddIndex(
            model_name='clusterconfiguration',
            index=models.Index(fields=['tenant', 'name', 'id'], name='configuration_by_name'),
        ),
        migrations.AddConstraint(
            model_name='clusterconfiguration',
            constraint=models.UniqueConstraint(fields=('tenant', 'id'), name='clusters_clusterconfiguration_tenant_id'),
        ),
        migrations.AddConstraint(
            model_name='clusterconfiguration',
            constraint=models.UniqueConstraint(fields=('tenant', 'name'), name='configuration_name'),
        ),
        migrations.AddConstraint(
            model_name='configurationversion',
            constraint=models.UniqueConstraint(fields=('tenant', 'id'), name='clusters_configurationversion_tenant_id'),
        ),
        migrations.AddConstraint(
            model_name='configurationversion',
            constraint=models.UniqueConstraint(fields=('tenant', 'configuration', 'number'), name='configuration_version_number'),
        ),
        protect("clusters_clusterconfiguration"),
        protect("clusters_configurationversion"),
        tie("clusters_configurationversion", "configuration_id", "clusters_clusterconfiguration"),
        append_only("clusters_configurationversion"),
    ]
