"""Adds the search for a node that breaks collectives, and jobs that must have certain nodes."""

import django.db.models.deletion
import django.db.models.functions.datetime
import uuid
from django.db import migrations, models

from tenants.wall.row_security import protect, tie


class Migration(migrations.Migration):

    dependencies = [
        ('clusters', '0017_quarantine'),
        ('tenants', '0005_allowed_regions'),
    ]

    operations = [
        migrations.AddField(
            model_name='job',
            name='pinned',
            field=models.JSONField(default=list),
        ),
        migrations.AlterField(
            model_name='job',
            name='purpose',
            field=models.CharField(choices=[('training', 'training'), ('proof', 'proof of a cluster'), ('probe', 'test of two nodes')], default='training', max_length=8),
        ),
        migrations.CreateModel(
            name='NodeSearch',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('state', models.CharField(default='running', max_length=9)),
                ('asked_by', models.CharField(max_length=60)),
                ('reason', models.CharField(blank=True, max_length=300)),
                ('rounds', models.PositiveSmallIntegerField(default=0)),
                ('began_at', models.DateTimeField()),
                ('ended_at', models.DateTimeField(null=True)),
                ('outcome', models.CharField(blank=True, max_length=300)),
                ('version', models.PositiveIntegerField(default=1)),
                ('cluster', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='clusters.cluster')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='PairTest',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('round', models.PositiveSmallIntegerField()),
                ('result', models.CharField(choices=[('waiting', 'under way'), ('passed', 'passed'), ('failed', 'failed'), ('missing', 'no answer')], default='waiting', max_length=7)),
                ('told', models.CharField(blank=True, max_length=200)),
                ('job', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='clusters.job')),
                ('left', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='clusters.node')),
                ('right', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='clusters.node')),
                ('search', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='clusters.nodesearch')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='SearchedNode',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('instance_id', models.CharField(max_length=30)),
                ('verdict', models.CharField(choices=[('waiting', 'not tested yet'), ('named', 'it is this one'), ('cleared', 'well'), ('unsure', 'nobody can tell'), ('unanswered', 'it did not answer')], default='waiting', max_length=10)),
                ('sure', models.CharField(blank=True, choices=[('', 'not sure'), ('certain', 'certain'), ('likely', 'likely')], max_length=7)),
                ('failed_with', models.JSONField(default=list)),
                ('passed_with', models.JSONField(default=list)),
                ('node', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='clusters.node')),
                ('search', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='clusters.nodesearch')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.AddConstraint(
            model_name='nodesearch',
            constraint=models.UniqueConstraint(fields=('tenant', 'id'), name='clusters_nodesearch_tenant_id'),
        ),
        migrations.AddConstraint(
            model_name='nodesearch',
            constraint=models.UniqueConstraint(condition=models.Q(('state', 'running')), fields=('tenant', 'cluster'), name='one_search'),
        ),
        migrations.AddConstraint(
            model_name='nodesearch',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['cancelled', 'done', 'running'])), name='search_state_known'),
        ),
        migrations.AddConstraint(
            model_name='pairtest',
            constraint=models.UniqueConstraint(fields=('tenant', 'id'), name='clusters_pairtest_tenant_id'),
        ),
        migrations.AddConstraint(
            model_name='pairtest',
            constraint=models.UniqueConstraint(fields=('tenant', 'job'), name='pair_job_once'),
        ),
        migrations.AddConstraint(
            model_name='pairtest',
            constraint=models.CheckConstraint(condition=models.Q(('left', models.F('right')), _negated=True), name='pair_of_two'),
        ),
        migrations.AddConstraint(
            model_name='searchednode',
            constraint=models.UniqueConstraint(fields=('tenant', 'id'), name='clusters_searchednode_tenant_id'),
        ),
        migrations.AddConstraint(
            model_name='searchednode',
            constraint=models.UniqueConstraint(fields=('tenant', 'search', 'node'), name='searched_once'),
        ),
        protect("clusters_nodesearch"),
        tie("clusters_nodesearch", "cluster_id", "clusters_cluster"),
        protect("clusters_searchednode"),
        tie("clusters_searchednode", "search_id", "clusters_nodesearch"),
        tie("clusters_searchednode", "node_id", "clusters_node"),
        protect("clusters_pairtest"),
        tie("clusters_pairtest", "search_id", "clusters_nodesearch"),
        tie("clusters_pairtest", "job_id", "clusters_job"),
        tie("clusters_pairtest", "left_id", "clusters_node"),
        tie("clusters_pairtest", "right_id", "clusters_node"),
    ]
