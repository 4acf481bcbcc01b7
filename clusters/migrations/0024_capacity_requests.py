"""Adds requests for capacity, with who decided them, out of which budget line and why."""

import django.core.serializers.json
import django.db.models.deletion
import django.db.models.functions.datetime
import uuid
from django.db import migrations, models

from tenants.wall.row_security import protect, tie


class Migration(migrations.Migration):

    dependencies = [
        ('clusters', '0023_capacity_ledger'),
        ('tenants', '0008_small_requests'),
    ]

    operations = [
        migrations.CreateModel(
            name='CapacityRequest',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('number', models.CharField(max_length=20)),
                ('kind', models.CharField(choices=[('more', 'more'), ('fewer', 'fewer: give back'), ('longer', 'for longer'), ('region', 'in another Region')], max_length=8)),
                ('instance_type', models.CharField(max_length=30)),
                ('region', models.CharField(max_length=20)),
                ('to_region', models.CharField(blank=True, max_length=20)),
                ('option', models.CharField(blank=True, choices=[('', 'any way of buying'), ('on_demand', 'on demand'), ('odcr', 'on-demand capacity reservation'), ('capacity_block', 'Capacity Block'), ('training_plan', 'training plan')], max_length=14)),
                ('instances', models.PositiveIntegerField()),
                ('starts_on', models.DateField()),
                ('ends_on', models.DateField(null=True)),
                ('reason', models.CharField(max_length=1000)),
                ('effect', models.JSONField(default=dict, encoder=django.core.serializers.json.DjangoJSONEncoder)),
                ('state', models.CharField(default='waiting', max_length=10)),
                ('rule', models.CharField(blank=True, max_length=12)),
                ('budget_line', models.CharField(blank=True, max_length=120)),
                ('why', models.CharField(blank=True, max_length=1000)),
                ('asked_by', models.CharField(max_length=60)),
                ('decided_by', models.CharField(blank=True, max_length=60)),
                ('decided_at', models.DateTimeField(null=True)),
                ('version', models.PositiveIntegerField(default=1)),
                ('participation', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.participation')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.AddField(
            model_name='ledgerrow',
            name='request',
            field=models.ForeignKey(blank=True, db_constraint=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='rows', to='clusters.capacityrequest'),
        ),
        migrations.AddConstraint(
            model_name='capacityrequest',
            constraint=models.UniqueConstraint(fields=('tenant', 'id'), name='clusters_capacityrequest_tenant_id'),
        ),
        migrations.AddConstraint(
            model_name='capacityrequest',
            constraint=models.UniqueConstraint(fields=('tenant', 'number'), name='capacity_request_number'),
        ),
        migrations.AddConstraint(
            model_name='capacityrequest',
            constraint=models.CheckConstraint(condition=models.Q(('ends_on', None), ('ends_on__gte', models.F('starts_on')), _connector='OR'), name='capacity_request_dates'),
        ),
        migrations.AddConstraint(
            model_name='capacityrequest',
            constraint=models.CheckConstraint(condition=models.Q(('instances__gt', 0)), name='capacity_request_says_something'),
        ),
        migrations.AddConstraint(
            model_name='capacityrequest',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['declined', 'granted', 'waiting', 'withdrawn'])), name='capacity_request_state_known'),
        ),
        tie("clusters_capacityrequest", "participation_id", "tenants_participation"),
        tie("clusters_ledgerrow", "request_id", "clusters_capacityrequest"),
        protect("clusters_capacityrequest"),
    ]
