"""Adds that people may be erased, and who asked for it and who did it."""

import django.db.models.deletion
import django.db.models.functions.datetime
import uuid
from django.conf import settings
from django.db import migrations, models

from tenants.wall.row_security import office


class Migration(migrations.Migration):

    dependencies = [
        ('tenants', '0009_programme_rules'),
    ]

    operations = [
        migrations.AddField(
            model_name='person',
            name='erased_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.CreateModel(
            name='Erasure',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('state', models.CharField(default='open', max_length=12)),
                ('reason', models.CharField(max_length=300, verbose_name='reason')),
                ('decided_at', models.DateTimeField(null=True)),
                ('asked_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('decided_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('person', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'indexes': [models.Index(fields=['-created_at', '-id'], name='erasure_newest')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('state', 'open')), fields=('person',), name='one_open_erasure'), models.CheckConstraint(condition=models.Q(('state__in', ['declined', 'done', 'open'])), name='erasure_state_known')],
            },
        ),
        office('tenants_erasure'),
    ]
