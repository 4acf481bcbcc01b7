"""Adds budgets as rows whose sum holds, how each stands to its limit, exchange rates, and the price files of their time."""

import django.core.serializers.json
import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
import uuid
from django.db import migrations, models

from tenants.wall.row_security import append_only, protect, tie


class Migration(migrations.Migration):

    dependencies = [
        ('clusters', '0027_job_activity'),
        ('tenants', '0011_budgets'),
    ]

    operations = [
        migrations.CreateModel(
            name='PriceList',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('digest', models.CharField(max_length=64, unique=True)),
                ('title', models.CharField(max_length=200)),
                ('dated', models.DateField()),
                ('expires', models.DateField()),
                ('currency', models.CharField(max_length=3)),
                ('fictional', models.BooleanField()),
                ('tables', models.JSONField(encoder=django.core.serializers.json.DjangoJSONEncoder)),
                ('kept_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
        ),
        migrations.AlterField(
            model_name='operation',
            name='second_person',
            field=models.CharField(blank=True, choices=[('', 'nobody else'), ('size', 'somebody else: it takes more instances than are free of approval'), ('data', 'somebody else: data would be gone, or no longer where jobs look for it'), ('budget', 'somebody: the budget is used up, and nodes would go')], max_length=8),
        ),
        migrations.CreateModel(
            name='BudgetRow',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('line', models.CharField(max_length=120, verbose_name='budget line')),
                ('delta', models.DecimalField(decimal_places=2, max_digits=16)),
                ('currency', models.CharField(max_length=3)),
                ('why', models.CharField(max_length=300, verbose_name='why')),
                ('reference', models.CharField(blank=True, max_length=120, verbose_name='reference')),
                ('moved', models.UUIDField(null=True)),
                ('by', models.CharField(max_length=60)),
                ('participation', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.participation')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'abstract': False,
                'indexes': [models.Index(fields=['tenant', 'participation', '-created_at'], name='budget_newest')],
                'constraints': [models.UniqueConstraint(fields=('tenant', 'id'), name='clusters_budgetrow_tenant_id')],
            },
        ),
        migrations.CreateModel(
            name='BudgetWatch',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('state', models.CharField(default='within', max_length=8)),
                ('since', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('warned', models.PositiveSmallIntegerField(default=0)),
                ('rule', models.CharField(blank=True, choices=[('', 'as the programme has it'), ('tell', 'tell'), ('refuse', 'tell, and refuse what is new at the limit'), ('stop', 'tell, refuse, and stop jobs at the limit')], max_length=6, verbose_name='rule')),
                ('paused_until', models.DateTimeField(null=True)),
                ('paused_why', models.CharField(blank=True, max_length=300)),
                ('paused_by', models.CharField(blank=True, max_length=60)),
                ('version', models.PositiveIntegerField(default=1)),
                ('participation', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.participation')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'abstract': False,
                'constraints': [models.UniqueConstraint(fields=('tenant', 'id'), name='clusters_budgetwatch_tenant_id'), models.UniqueConstraint(fields=('tenant', 'participation'), name='one_budget_watch'), models.CheckConstraint(condition=models.Q(('rule__in', ['', 'tell', 'refuse', 'stop'])), name='budget_watch_rule_known'), models.CheckConstraint(condition=models.Q(('state__in', ['notice', 'stopped', 'stopping', 'within'])), name='budget_watch_state_known')],
            },
        ),
        migrations.CreateModel(
            name='ExchangeRate',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('of', models.CharField(max_length=3, verbose_name='one of')),
                ('rate', models.DecimalField(decimal_places=8, max_digits=18, validators=[django.core.validators.MinValueValidator(0)], verbose_name='is')),
                ('currency', models.CharField(max_length=3)),
                ('starts_on', models.DateField(verbose_name='from')),
                ('source', models.CharField(max_length=200, verbose_name='source')),
                ('by', models.CharField(max_length=60)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('programme', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.programme')),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('rate__gt', 0)), name='exchange_rate_says_something')],
            },
        ),
        tie("clusters_budgetrow", "participation_id", "tenants_participation"),
        tie("clusters_budgetwatch", "participation_id", "tenants_participation"),
        protect("clusters_budgetrow"),
        protect("clusters_budgetwatch"),
        append_only("clusters_budgetrow"),
        append_only("clusters_exchangerate"),
        append_only("clusters_pricelist"),
    ]
