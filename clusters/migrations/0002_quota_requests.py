"""Adds what was asked of the provider, and what came of it."""

import django.db.models.deletion
import django.db.models.functions.datetime
import uuid
from django.db import migrations, models

from tenants.wall.row_security import protect, tie


class Migration(migrations.Migration):

    dependencies = [
        ('clusters', '0001_initial'),
        ('tenants', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='QuotaRequest',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('number', models.CharField(max_length=20)),
                ('region', models.CharField(max_length=20, verbose_name='Region')),
                ('instance_type', models.CharField(max_length=30, verbose_name='instance type')),
                ('instances', models.PositiveIntegerField(verbose_name='instances')),
                ('provider_unit', models.CharField(max_length=20, verbose_name="provider's unit")),
                ('provider_value', models.PositiveIntegerField(verbose_name="provider's value")),
                ('reason', models.CharField(blank=True, max_length=300, verbose_name='reason')),
                ('state', models.CharField(default='pending', max_length=12)),
                ('requested_on', models.DateField(verbose_name='asked on')),
                ('decided_on', models.DateField(blank=True, null=True, verbose_name='decided on')),
                ('version', models.PositiveIntegerField(default=1)),
                ('participation', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.participation')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'abstract': False,
                'constraints': [models.UniqueConstraint(fields=('tenant', 'id'), name='clusters_quotarequest_tenant_id'), models.UniqueConstraint(fields=('tenant', 'number'), name='quota_request_number'), models.CheckConstraint(condition=models.Q(('state__in', ['approved', 'case_opened', 'denied', 'pending'])), name='quota_request_state_known')],
            },
        ),
        protect("clusters_quotarequest"),
        tie("clusters_quotarequest", "participation_id", "tenants_participation"),
    ]
