"""Adds files of rows that are checked first and imported afterwards."""

import django.db.models.deletion
import django.db.models.functions.datetime
import uuid
from django.conf import settings
from django.db import migrations, models

from tenants.wall.row_security import protect


class Migration(migrations.Migration):

    dependencies = [
        ('tenants', '0011_budgets'),
    ]

    operations = [
        migrations.CreateModel(
            name='Import',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('table', models.CharField(max_length=24)),
                ('name', models.CharField(max_length=200)),
                ('format', models.CharField(choices=[('csv', 'CSV'), ('xlsx', 'XLSX'), ('yaml', 'YAML')], max_length=4)),
                ('state', models.CharField(default='checking', max_length=12)),
                ('asked_by', models.CharField(max_length=60)),
                ('role', models.CharField(max_length=24)),
                ('rows', models.PositiveIntegerField(default=0)),
                ('done', models.PositiveIntegerField(default=0)),
                ('added', models.PositiveIntegerField(default=0)),
                ('changed', models.PositiveIntegerField(default=0)),
                ('same', models.PositiveIntegerField(default=0)),
                ('problem_count', models.PositiveIntegerField(default=0)),
                ('problems', models.JSONField(default=list)),
                ('changes', models.JSONField(default=list)),
                ('marks', models.JSONField(default=list)),
                ('meanwhile', models.JSONField(default=list)),
                ('ended_at', models.DateTimeField(null=True)),
                ('version', models.PositiveIntegerField(default=1)),
                ('person', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'abstract': False,
                'indexes': [models.Index(fields=['tenant', '-created_at', '-id'], name='import_newest')],
                'constraints': [models.UniqueConstraint(fields=('tenant', 'id'), name='tenants_import_tenant_id'), models.CheckConstraint(condition=models.Q(('state__in', ['applying', 'cancelled', 'checked', 'checking', 'faulty', 'imported'])), name='import_state_known')],
            },
        ),
        protect('tenants_import'),
    ]
