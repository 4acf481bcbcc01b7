"""Adds the quarantine of nodes that failed again and again."""

import django.db.models.deletion
import django.db.models.functions.datetime
import uuid
from django.db import migrations, models

from tenants.wall.row_security import protect, tie


class Migration(migrations.Migration):

    dependencies = [
        ('clusters', '0016_usage'),
        ('tenants', '0005_allowed_regions'),
    ]

    operations = [
        migrations.CreateModel(
            name='Quarantine',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('instance_id', models.CharField(blank=True, max_length=30)),
                ('began_at', models.DateTimeField()),
                ('reason', models.CharField(max_length=300)),
                ('evidence', models.JSONField(default=list)),
                ('strikes', models.PositiveSmallIntegerField(default=0)),
                ('held_by', models.CharField(max_length=60)),
                ('lifted_at', models.DateTimeField(null=True)),
                ('lifted_by', models.CharField(blank=True, max_length=60)),
                ('lifted_because', models.CharField(blank=True, max_length=300)),
                ('cluster', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='clusters.cluster')),
                ('node', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='clusters.node')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'abstract': False,
                'indexes': [models.Index(condition=models.Q(('lifted_at', None)), fields=['tenant', 'cluster'], name='quarantine_open')],
                'constraints': [models.UniqueConstraint(fields=('tenant', 'id'), name='clusters_quarantine_tenant_id'), models.UniqueConstraint(condition=models.Q(('lifted_at', None)), fields=('tenant', 'node'), name='one_quarantine')],
            },
        ),
        protect("clusters_quarantine"),
        tie("clusters_quarantine", "cluster_id", "clusters_cluster"),
        tie("clusters_quarantine", "node_id", "clusters_node"),
    ]
