"""Adds the articles that came out of cases."""

import django.db.models.deletion
import django.db.models.functions.datetime
import uuid
from django.db import migrations, models

from tenants.wall.row_security import office


class Migration(migrations.Migration):

    dependencies = [
        ('support', '0002_case_severity_raised_at'),
        ('tenants', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='Article',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('code', models.CharField(max_length=20)),
                ('title', models.CharField(max_length=200, verbose_name='title')),
                ('audience', models.CharField(choices=[('shared', 'shared with the participant'), ('internal', 'internal')], default='internal', max_length=8)),
                ('state', models.CharField(choices=[('draft', 'draft'), ('published', 'published')], default='draft', max_length=10)),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('tenant', 'code'), name='article_code')],
            },
        ),
        office("support_article"),
    ]
