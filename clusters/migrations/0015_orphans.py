"""Adds what is found in an account with our tags and without a cluster that accounts for it."""

import django.db.models.deletion
import django.db.models.functions.datetime
import uuid
from django.db import migrations, models

from tenants.wall.row_security import protect, tie


class Migration(migrations.Migration):

    dependencies = [
        ('clusters', '0014_quota_increases'),
        ('tenants', '0005_allowed_regions'),
    ]

    operations = [
        migrations.CreateModel(
            name='Orphan',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('region', models.CharField(max_length=20)),
                ('kind', models.CharField(choices=[('stack', 'stack'), ('hyperpod', 'HyperPod cluster')], max_length=10)),
                ('external_id', models.CharField(max_length=300)),
                ('name', models.CharField(max_length=128)),
                ('claims', models.CharField(blank=True, max_length=60)),
                ('found_at', models.DateTimeField()),
                ('gone_at', models.DateTimeField(null=True)),
                ('account', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='clusters.cloudaccount')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'abstract': False,
                'constraints': [models.UniqueConstraint(fields=('tenant', 'id'), name='clusters_orphan_tenant_id'), models.UniqueConstraint(fields=('tenant', 'account', 'region', 'external_id'), name='orphan_once'), models.CheckConstraint(condition=models.Q(('kind__in', ['stack', 'hyperpod'])), name='orphan_kind_known')],
            },
        ),
        protect("clusters_orphan"),
        tie("clusters_orphan", "account_id", "clusters_cloudaccount"),
    ]
