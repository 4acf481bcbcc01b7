"""Adds what an account says of itself, the full check before something is applied with its lines, and verdicts of templates."""

import django.db.models.deletion
import django.db.models.functions.datetime
import uuid
from django.db import migrations, models

from tenants.wall.row_security import protect, tie


class Migration(migrations.Migration):

    dependencies = [
        ('clusters', '0012_watching_and_software'),
        ('tenants', '0005_allowed_regions'),
    ]

    operations = [
        migrations.CreateModel(
            name='Preflight',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('generation', models.PositiveIntegerField()),
                ('began_at', models.DateTimeField()),
                ('ended_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('verdict', models.CharField(choices=[('pass', 'fits'), ('fail', 'does not fit')], max_length=4)),
                ('passed', models.PositiveSmallIntegerField()),
                ('failed', models.PositiveSmallIntegerField()),
                ('unknown', models.PositiveSmallIntegerField()),
                ('minded', models.PositiveSmallIntegerField()),
                ('why', models.TextField(blank=True)),
                ('cluster', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='clusters.cluster')),
                ('operation', models.ForeignKey(blank=True, db_constraint=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='clusters.operation')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='PreflightLine',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('position', models.PositiveSmallIntegerField()),
                ('code', models.CharField(max_length=40)),
                ('verdict', models.CharField(choices=[('fail', 'Does not fit'), ('unknown', 'Not known'), ('mind', 'Mind'), ('pass', 'Fits')], max_length=7)),
                ('who', models.CharField(max_length=16)),
                ('field', models.CharField(max_length=200)),
                ('unit', models.CharField(blank=True, max_length=20)),
                ('told', models.JSONField(default=dict)),
                ('known_at', models.DateTimeField(null=True)),
                ('preflight', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='clusters.preflight')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='TemplateVerdict',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('digest', models.CharField(max_length=64)),
                ('region', models.CharField(max_length=20)),
                ('linter', models.CharField(max_length=20)),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('problems', models.JSONField(default=list)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('digest', 'region', 'linter'), name='template_verdict_once')],
            },
        ),
        migrations.CreateModel(
            name='AccountFact',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('region', models.CharField(max_length=20)),
                ('kind', models.CharField(max_length=20)),
                ('body', models.JSONField(default=dict)),
                ('read_at', models.DateTimeField(null=True)),
                ('tried_at', models.DateTimeField()),
                ('error', models.TextField(blank=True)),
                ('account', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='clusters.cloudaccount')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'abstract': False,
                'constraints': [models.UniqueConstraint(fields=('tenant', 'id'), name='clusters_accountfact_tenant_id'), models.UniqueConstraint(fields=('tenant', 'account', 'region', 'kind'), name='account_fact_once')],
            },
        ),
        migrations.AddConstraint(
            model_name='preflight',
            constraint=models.UniqueConstraint(fields=('tenant', 'id'), name='clusters_preflight_tenant_id'),
        ),
        migrations.AddConstraint(
            model_name='preflight',
            constraint=models.UniqueConstraint(fields=('tenant', 'cluster', 'generation'), name='preflight_once'),
        ),
        migrations.AddConstraint(
            model_name='preflight',
            constraint=models.CheckConstraint(condition=models.Q(('verdict__in', ['pass', 'fail'])), name='preflight_verdict_known'),
        ),
        migrations.AddConstraint(
            model_name='preflight',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('failed', 0), ('verdict', 'pass')), models.Q(('failed__gt', 0), ('verdict', 'fail')), _connector='OR'), name='preflight_fails_by_a_line'),
        ),
        migrations.AddConstraint(
            model_name='preflightline',
            constraint=models.UniqueConstraint(fields=('tenant', 'id'), name='clusters_preflightline_tenant_id'),
        ),
        migrations.AddConstraint(
            model_name='preflightline',
            constraint=models.UniqueConstraint(fields=('tenant', 'preflight', 'position'), name='preflight_line_place'),
        ),
        migrations.AddConstraint(
            model_name='preflightline',
            constraint=models.CheckConstraint(condition=models.Q(('verdict__in', ['fail', 'unknown', 'mind', 'pass'])), name='preflight_line_verdict_known'),
        ),
        protect("clusters_accountfact"),
        protect("clusters_preflight"),
        protect("clusters_preflightline"),
        tie("clusters_accountfact", "account_id", "clusters_cloudaccount"),
        tie("clusters_preflight", "cluster_id", "clusters_cluster"),
        tie("clusters_preflight", "operation_id", "clusters_operation"),
        tie("clusters_preflightline", "preflight_id", "clusters_preflight"),
    ]
