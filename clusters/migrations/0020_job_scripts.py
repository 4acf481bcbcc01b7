"""Adds the scripts that a participant keeps, and what a job was made from."""

import django.db.models.deletion
import django.db.models.functions.datetime
import uuid
from django.db import migrations, models

from tenants.wall.row_security import protect, tie


class Migration(migrations.Migration):

    dependencies = [
        ('clusters', '0019_job_watching'),
        ('tenants', '0005_allowed_regions'),
    ]

    operations = [
        migrations.AddField(
            model_name='job',
            name='again_of',
            field=models.ForeignKey(blank=True, db_constraint=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='clusters.job'),
        ),
        migrations.AddField(
            model_name='job',
            name='heals',
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name='job',
            name='processes_per_node',
            field=models.PositiveIntegerField(null=True),
        ),
        migrations.AddField(
            model_name='job',
            name='template',
            field=models.CharField(blank=True, max_length=40),
        ),
        migrations.AddField(
            model_name='job',
            name='template_parameters',
            field=models.JSONField(default=dict),
        ),
        migrations.AddField(
            model_name='job',
            name='template_version',
            field=models.CharField(blank=True, max_length=20),
        ),
        migrations.CreateModel(
            name='JobScript',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('name', models.CharField(max_length=60)),
                ('newest', models.PositiveIntegerField(default=0)),
                ('changed_at', models.DateTimeField()),
                ('version', models.PositiveIntegerField(default=1)),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='JobScriptVersion',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('number', models.PositiveIntegerField()),
                ('kind', models.CharField(choices=[('slurm', 'Slurm'), ('kubernetes', 'Kubernetes')], max_length=10)),
                ('text', models.TextField()),
                ('sha256', models.CharField(max_length=64)),
                ('template', models.CharField(blank=True, max_length=40)),
                ('template_version', models.CharField(blank=True, max_length=20)),
                ('parameters', models.JSONField(default=dict)),
                ('findings', models.JSONField(default=list)),
                ('author', models.CharField(max_length=60)),
                ('reason', models.CharField(blank=True, max_length=300)),
                ('script', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='clusters.jobscript')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.AddField(
            model_name='job',
            name='script_version',
            field=models.ForeignKey(blank=True, db_constraint=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='clusters.jobscriptversion'),
        ),
        migrations.AddConstraint(
            model_name='jobscript',
            constraint=models.UniqueConstraint(fields=('tenant', 'id'), name='clusters_jobscript_tenant_id'),
        ),
        migrations.AddConstraint(
            model_name='jobscript',
            constraint=models.UniqueConstraint(fields=('tenant', 'name'), name='job_script_name'),
        ),
        migrations.AddConstraint(
            model_name='jobscriptversion',
            constraint=models.UniqueConstraint(fields=('tenant', 'id'), name='clusters_jobscriptversion_tenant_id'),
        ),
        migrations.AddConstraint(
            model_name='jobscriptversion',
            constraint=models.UniqueConstraint(fields=('tenant', 'script', 'number'), name='job_script_number'),
        ),
        protect("clusters_jobscript"),
        protect("clusters_jobscriptversion"),
        tie("clusters_jobscriptversion", "script_id", "clusters_jobscript"),
        tie("clusters_job", "script_version_id", "clusters_jobscriptversion"),
        tie("clusters_job", "again_of_id", "clusters_job"),
    ]
