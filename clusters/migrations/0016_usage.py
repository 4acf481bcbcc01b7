"""Adds what accelerators were used for: runs, spells of nodes, days in classes, what is lent and what is disputed."""

import django.core.validators
import django.db.models.deletion
import django.db.models.expressions
import django.db.models.functions.datetime
import uuid
from django.db import migrations, models

from tenants.wall.row_security import protect, tie


class Migration(migrations.Migration):

    dependencies = [
        ('clusters', '0015_orphans'),
        ('tenants', '0005_allowed_regions'),
    ]

    operations = [
        migrations.CreateModel(
            name='AccountingRead',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('kept', models.CharField(choices=[('yes', 'yes'), ('no', 'no'), ('unknown', 'unknown')], default='unknown', max_length=7)),
                ('told', models.TextField(blank=True)),
                ('asked_at', models.DateTimeField(null=True)),
                ('read_until', models.DateTimeField(null=True)),
                ('cluster', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='clusters.cluster')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'abstract': False,
                'constraints': [models.UniqueConstraint(fields=('tenant', 'id'), name='clusters_accountingread_tenant_id'), models.UniqueConstraint(fields=('tenant', 'cluster'), name='one_accounting_read'), models.CheckConstraint(condition=models.Q(('kept__in', ['yes', 'no', 'unknown'])), name='accounting_kept_known')],
            },
        ),
        migrations.CreateModel(
            name='JobRun',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('external_id', models.CharField(max_length=60)),
                ('attempt', models.PositiveIntegerField()),
                ('name', models.CharField(blank=True, max_length=200)),
                ('source', models.CharField(choices=[('accounting', 'accounting of the cluster'), ('watched', 'watched by Cohort')], max_length=10)),
                ('outcome', models.CharField(blank=True, max_length=20)),
                ('engine_state', models.CharField(blank=True, max_length=40)),
                ('started_at', models.DateTimeField(null=True)),
                ('ended_at', models.DateTimeField(null=True)),
                ('counted_until', models.DateTimeField(null=True)),
                ('nodes', models.PositiveIntegerField(null=True)),
                ('accelerators', models.PositiveIntegerField(null=True)),
                ('node_names', models.JSONField(default=list)),
                ('exit_code', models.IntegerField(null=True)),
                ('signal', models.IntegerField(null=True)),
                ('told_at', models.DateTimeField()),
                ('cluster', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='clusters.cluster')),
                ('job', models.ForeignKey(blank=True, db_constraint=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='clusters.job')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'abstract': False,
                'indexes': [models.Index(fields=['tenant', 'cluster', '-started_at'], name='run_newest')],
                'constraints': [models.UniqueConstraint(fields=('tenant', 'id'), name='clusters_jobrun_tenant_id'), models.UniqueConstraint(fields=('tenant', 'cluster', 'external_id', 'attempt'), name='run_once'), models.CheckConstraint(condition=models.Q(('ended_at', None), ('counted_until', models.F('ended_at')), _connector='OR'), name='run_counted_to_its_end'), models.CheckConstraint(condition=models.Q(('source__in', ['accounting', 'watched'])), name='run_source_known')],
            },
        ),
        migrations.CreateModel(
            name='Lending',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('nodes', models.PositiveIntegerField(verbose_name='nodes')),
                ('borrower', models.CharField(max_length=120, verbose_name='lent to')),
                ('reason', models.CharField(max_length=300, verbose_name='why')),
                ('begins_at', models.DateTimeField()),
                ('ends_at', models.DateTimeField(null=True)),
                ('lent_by', models.CharField(max_length=60)),
                ('taken_back_by', models.CharField(blank=True, max_length=60)),
                ('cluster', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='clusters.cluster')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'abstract': False,
                'constraints': [models.UniqueConstraint(fields=('tenant', 'id'), name='clusters_lending_tenant_id'), models.CheckConstraint(condition=models.Q(('ends_at', None), ('ends_at__gte', models.F('begins_at')), _connector='OR'), name='lending_order'), models.UniqueConstraint(condition=models.Q(('ends_at', None)), fields=('tenant', 'cluster'), name='one_open_lending')],
            },
        ),
        migrations.CreateModel(
            name='NodeSpell',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('word', models.CharField(max_length=10)),
                ('began_at', models.DateTimeField()),
                ('ended_at', models.DateTimeField(null=True)),
                ('node', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='clusters.node')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'abstract': False,
                'indexes': [models.Index(fields=['tenant', 'node', 'began_at'], name='spell_in_order')],
                'constraints': [models.UniqueConstraint(fields=('tenant', 'id'), name='clusters_nodespell_tenant_id'), models.UniqueConstraint(condition=models.Q(('ended_at', None)), fields=('tenant', 'node'), name='one_open_spell')],
            },
        ),
        migrations.CreateModel(
            name='UsageDay',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('day', models.DateField()),
                ('zone', models.CharField(max_length=64)),
                ('reserved', models.BigIntegerField(default=0, validators=[django.core.validators.MinValueValidator(0)])),
                ('training', models.BigIntegerField(default=0)),
                ('stalled', models.BigIntegerField(default=0)),
                ('recovering', models.BigIntegerField(default=0)),
                ('waiting_us', models.BigIntegerField(default=0)),
                ('waiting_provider', models.BigIntegerField(default=0)),
                ('waiting_participant', models.BigIntegerField(default=0)),
                ('idle', models.BigIntegerField(default=0)),
                ('lent', models.BigIntegerField(default=0)),
                ('used', models.BigIntegerField(default=0)),
                ('runs', models.PositiveIntegerField(default=0)),
                ('unmeasured', models.PositiveIntegerField(default=0)),
                ('source', models.CharField(choices=[('accounting', 'accounting of the cluster'), ('watched', 'watched by Cohort'), ('nobody', 'not measured')], default='nobody', max_length=10)),
                ('computed_at', models.DateTimeField()),
                ('closed_at', models.DateTimeField(null=True)),
                ('cluster', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='clusters.cluster')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'abstract': False,
                'indexes': [models.Index(fields=['tenant', 'day'], name='usage_by_day')],
                'constraints': [models.UniqueConstraint(fields=('tenant', 'id'), name='clusters_usageday_tenant_id'), models.UniqueConstraint(fields=('tenant', 'cluster', 'day'), name='usage_day_once'), models.CheckConstraint(condition=models.Q(('reserved', django.db.models.expressions.CombinedExpression(django.db.models.expressions.CombinedExpression(django.db.models.expressions.CombinedExpression(django.db.models.expressions.CombinedExpression(django.db.models.expressions.CombinedExpression(django.db.models.expressions.CombinedExpression(django.db.models.expressions.CombinedExpression(models.F('training'), '+', models.F('stalled')), '+', models.F('recovering')), '+', models.F('waiting_us')), '+', models.F('waiting_provider')), '+', models.F('waiting_participant')), '+', models.F('idle')), '+', models.F('lent')))), name='usage_classes_sum'), models.CheckConstraint(condition=models.Q(('idle__gte', 0), ('lent__gte', 0), ('recovering__gte', 0), ('stalled__gte', 0), ('training__gte', 0), ('used__gte', 0), ('waiting_participant__gte', 0), ('waiting_provider__gte', 0), ('waiting_us__gte', 0)), name='usage_not_negative'), models.CheckConstraint(condition=models.Q(('source__in', ['accounting', 'watched', 'nobody'])), name='usage_source_known')],
            },
        ),
        migrations.CreateModel(
            name='UsageDispute',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('month', models.DateField()),
                ('state', models.CharField(default='open', max_length=8)),
                ('reason', models.CharField(max_length=1000, verbose_name='what is wrong')),
                ('claimed_hours', models.DecimalField(decimal_places=2, max_digits=14, null=True, verbose_name='hours as you count them')),
                ('reserved_then', models.BigIntegerField()),
                ('used_then', models.BigIntegerField(null=True)),
                ('disputed_by', models.CharField(max_length=60)),
                ('disputed_at', models.DateTimeField()),
                ('settled_hours', models.DecimalField(decimal_places=2, max_digits=14, null=True, verbose_name='hours that hold')),
                ('answer', models.CharField(blank=True, max_length=1000, verbose_name='answer')),
                ('answered_by', models.CharField(blank=True, max_length=60)),
                ('answered_at', models.DateTimeField(null=True)),
                ('version', models.PositiveIntegerField(default=1)),
                ('cluster', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='clusters.cluster')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'abstract': False,
                'constraints': [models.UniqueConstraint(fields=('tenant', 'id'), name='clusters_usagedispute_tenant_id'), models.UniqueConstraint(condition=models.Q(('state', 'open')), fields=('tenant', 'cluster', 'month'), name='one_open_dispute'), models.CheckConstraint(condition=models.Q(('state__in', ['open', 'settled'])), name='usage_dispute_state_known')],
            },
        ),
        protect("clusters_accountingread"),
        tie("clusters_accountingread", "cluster_id", "clusters_cluster"),
        protect("clusters_jobrun"),
        tie("clusters_jobrun", "cluster_id", "clusters_cluster"),
        tie("clusters_jobrun", "job_id", "clusters_job"),
        protect("clusters_lending"),
        tie("clusters_lending", "cluster_id", "clusters_cluster"),
        protect("clusters_nodespell"),
        tie("clusters_nodespell", "node_id", "clusters_node"),
        protect("clusters_usageday"),
        tie("clusters_usageday", "cluster_id", "clusters_cluster"),
        protect("clusters_usagedispute"),
        tie("clusters_usagedispute", "cluster_id", "clusters_cluster"),
    ]
