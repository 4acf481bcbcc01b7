"""Makes what was granted and what clusters hold rows of a ledger, of which every number is a sum."""

import django.db.models.deletion
import django.db.models.functions.datetime
import uuid
from django.db import migrations, models

from tenants.wall.row_security import append_only, protect, tie

# What is there already becomes a first row each. Which way a cluster's instances were bought is put right at its next change.
KEPT = """
insert into clusters_ledgerrow
  (id, tenant_id, ledger, participation_id, region, instance_type, option, delta, why, by, grant_id, cluster_id, quota)
select gen_random_uuid(), tenant_id, 'grant', participation_id, region, instance_type, '', approved_instances,
  'as it was before rows were kept', 'engine', id, null, ''
from clusters_quotagrant where approved_instances > 0
union all
select gen_random_uuid(), tenant_id, 'use', participation_id, region, main_type, 'on_demand', accelerated_wanted,
  'as it was before rows were kept', 'engine', null, id, ''
from clusters_cluster where state <> 'deleted' and accelerated_wanted > 0;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('clusters', '0022_job_runs'),
        ('tenants', '0005_allowed_regions'),
    ]

    operations = [
        migrations.AddField(
            model_name='quotagrant',
            name='unlimited',
            field=models.BooleanField(default=False, verbose_name='no limit'),
        ),
        migrations.CreateModel(
            name='LedgerRow',
            fields=[
                ('starts_on', models.DateField(db_default=django.db.models.functions.datetime.Now())),
                ('ends_on', models.DateField(blank=True, null=True)),
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('ledger', models.CharField(choices=[('grant', 'granted by the programme'), ('quota', 'allowed by the provider'), ('reservation', 'reserved'), ('use', 'held by clusters')], max_length=12)),
                ('region', models.CharField(max_length=20)),
                ('instance_type', models.CharField(blank=True, max_length=30)),
                ('option', models.CharField(blank=True, choices=[('', 'any way of buying'), ('on_demand', 'on demand'), ('odcr', 'on-demand capacity reservation'), ('capacity_block', 'Capacity Block'), ('training_plan', 'training plan')], max_length=14)),
                ('delta', models.BigIntegerField()),
                ('why', models.CharField(blank=True, max_length=300)),
                ('by', models.CharField(max_length=60)),
                ('cluster', models.ForeignKey(blank=True, db_constraint=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='clusters.cluster')),
                ('grant', models.ForeignKey(blank=True, db_constraint=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='rows', to='clusters.quotagrant')),
                ('operation', models.ForeignKey(blank=True, db_constraint=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='clusters.operation')),
                ('participation', models.ForeignKey(blank=True, db_constraint=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.participation')),
                ('quota', models.CharField(blank=True, max_length=230)),
                ('account', models.ForeignKey(blank=True, db_constraint=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='clusters.cloudaccount')),
                ('reservation', models.ForeignKey(blank=True, db_constraint=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='clusters.reservation')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'abstract': False,
                'indexes': [models.Index(fields=['tenant', 'participation', 'ledger', 'region', 'instance_type'], name='ledger_sums'), models.Index(condition=models.Q(('ledger', 'use')), fields=['tenant', 'cluster'], name='ledger_of_cluster')],
                'constraints': [models.UniqueConstraint(fields=('tenant', 'id'), name='clusters_ledgerrow_tenant_id'), models.CheckConstraint(condition=models.Q(('delta', 0), _negated=True), name='ledger_delta_says_something'), models.CheckConstraint(condition=models.Q(('ends_on', None), ('ends_on__gte', models.F('starts_on')), _connector='OR'), name='ledger_dates')],
            },
        ),
        tie("clusters_ledgerrow", "participation_id", "tenants_participation"),
        tie("clusters_ledgerrow", "grant_id", "clusters_quotagrant"),
        tie("clusters_ledgerrow", "account_id", "clusters_cloudaccount"),
        tie("clusters_ledgerrow", "reservation_id", "clusters_reservation"),
        tie("clusters_ledgerrow", "cluster_id", "clusters_cluster"),
        tie("clusters_ledgerrow", "operation_id", "clusters_operation"),
        migrations.RunSQL(KEPT, migrations.RunSQL.noop),
        protect("clusters_ledgerrow"),
        append_only("clusters_ledgerrow"),
        migrations.RemoveField(
            model_name='quotagrant',
            name='approved_instances',
        ),
    ]
