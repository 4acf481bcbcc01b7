"""Adds sessions for several participants, and who was at a session or a review."""

import django.db.models.deletion
import django.db.models.functions.datetime
import uuid
from django.conf import settings
from django.db import migrations, models

from tenants.wall.row_security import office


class Migration(migrations.Migration):

    dependencies = [
        ('program', '0002_review_procedure'),
        ('tenants', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Session',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('code', models.CharField(max_length=20)),
                ('kind', models.CharField(choices=[('mass_enablement', 'opening for all participants'), ('workshop', 'workshop'), ('clinic', 'clinic'), ('office_hours', 'office hours'), ('event', 'event')], max_length=16, verbose_name='kind')),
                ('title', models.CharField(max_length=200, verbose_name='title')),
                ('starts_at', models.DateTimeField(verbose_name='begins')),
                ('minutes', models.PositiveIntegerField(verbose_name='minutes')),
                ('format', models.CharField(blank=True, max_length=20, verbose_name='format')),
                ('recurrence', models.CharField(blank=True, max_length=80, verbose_name='repeats')),
                ('agenda', models.JSONField(default=list, verbose_name='agenda')),
                ('materials', models.JSONField(default=list, verbose_name='materials')),
                ('registered', models.PositiveIntegerField(default=0, verbose_name='registered')),
                ('attended', models.PositiveIntegerField(blank=True, null=True, verbose_name='attended')),
                ('answers', models.PositiveIntegerField(blank=True, null=True, verbose_name='answers to the survey')),
                ('satisfaction', models.DecimalField(blank=True, decimal_places=1, max_digits=2, null=True, verbose_name='satisfaction')),
                ('cycle', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.cycle')),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
        ),
        migrations.CreateModel(
            name='Attendance',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('part', models.CharField(choices=[('attendee', 'took part'), ('speaker', 'spoke')], default='attendee', max_length=8)),
                ('person', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('review', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='attendance', to='program.review')),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
                ('session', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='attendance', to='program.session')),
            ],
        ),
        migrations.AddConstraint(
            model_name='session',
            constraint=models.UniqueConstraint(fields=('cycle', 'code'), name='session_code'),
        ),
        migrations.AddConstraint(
            model_name='session',
            constraint=models.CheckConstraint(condition=models.Q(('satisfaction', None), ('satisfaction__range', (1, 5)), _connector='OR'), name='session_satisfaction'),
        ),
        migrations.AddConstraint(
            model_name='attendance',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('review', None), ('session__isnull', False)), models.Q(('review__isnull', False), ('session', None)), _connector='OR'), name='attendance_of_one'),
        ),
        migrations.AddConstraint(
            model_name='attendance',
            constraint=models.UniqueConstraint(fields=('review', 'person'), name='attendance_review'),
        ),
        migrations.AddConstraint(
            model_name='attendance',
            constraint=models.UniqueConstraint(fields=('session', 'person'), name='attendance_session'),
        ),
        office("program_session"),
        office("program_attendance"),
    ]
