"""Adds duty rosters: who of a team is on from when to when."""

import django.db.models.deletion
import django.db.models.functions.datetime
import uuid
from django.conf import settings
from django.db import migrations, models

from tenants.wall.row_security import office


class Migration(migrations.Migration):

    dependencies = [
        ('tenants', '0014_cycle_version'),
    ]

    operations = [
        migrations.CreateModel(
            name='DutyShift',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('team', models.CharField(max_length=40, verbose_name='team')),
                ('part', models.CharField(choices=[('primary', 'primary'), ('deputy', 'deputy')], default='primary', max_length=8, verbose_name='part')),
                ('starts_at', models.DateTimeField()),
                ('ends_at', models.DateTimeField()),
                ('zone', models.CharField(max_length=64, verbose_name='time zone')),
                ('person', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'indexes': [models.Index(fields=['team', 'ends_at'], name='duty_shift_team')],
                'constraints': [models.CheckConstraint(condition=models.Q(('ends_at__gt', models.F('starts_at'))), name='duty_shift_has_length'), models.CheckConstraint(condition=models.Q(('part__in', ['primary', 'deputy'])), name='duty_part_known')],
            },
        ),
        office('tenants_dutyshift'),
    ]
