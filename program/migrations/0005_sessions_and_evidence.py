"""Adds what the pages of sessions, onboarding and reports keep: registrations, evidence, texts; announced sessions are shown."""

import django.db.models.deletion
import django.db.models.functions.datetime
import uuid
from django.conf import settings
from django.db import migrations, models

from tenants.wall.row_security import protect, shown

# A tick of before becomes the state that it was.
TICKS = "update program_onboardingstep set state = 'done' where done"
UNTICKS = "update program_onboardingstep set done = true where state = 'done'"


class Migration(migrations.Migration):

    dependencies = [
        ('program', '0004_onboarding_and_reports'),
        ('tenants', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Registration',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('cancelled_at', models.DateTimeField(blank=True, null=True)),
                ('came', models.BooleanField(blank=True, null=True)),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.RemoveConstraint(
            model_name='report',
            name='report_state_known',
        ),
        migrations.AddField(
            model_name='onboardingstep',
            name='bus_gbps',
            field=models.DecimalField(blank=True, decimal_places=2, max_digits=8, null=True, verbose_name='bus bandwidth'),
        ),
        migrations.AddField(
            model_name='onboardingstep',
            name='done_on',
            field=models.DateField(blank=True, null=True, verbose_name='done on'),
        ),
        migrations.AddField(
            model_name='onboardingstep',
            name='link',
            field=models.CharField(blank=True, max_length=500, verbose_name='link'),
        ),
        migrations.AddField(
            model_name='onboardingstep',
            name='measure',
            field=models.CharField(blank=True, choices=[('', 'nothing is measured'), ('nccl', 'NCCL or NCCOM test')], max_length=8),
        ),
        migrations.AddField(
            model_name='onboardingstep',
            name='nodes',
            field=models.PositiveIntegerField(blank=True, null=True, verbose_name='nodes'),
        ),
        migrations.AddField(
            model_name='onboardingstep',
            name='note',
            field=models.CharField(blank=True, max_length=500, verbose_name='what proves it'),
        ),
        migrations.AddField(
            model_name='onboardingstep',
            name='settled_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='onboardingstep',
            name='settled_by',
            field=models.CharField(blank=True, max_length=60),
        ),
        migrations.AddField(
            model_name='onboardingstep',
            name='state',
            field=models.CharField(default='open', max_length=14),
        ),
        migrations.RunSQL(TICKS, UNTICKS),
        migrations.RemoveField(
            model_name='onboardingstep',
            name='done',
        ),
        migrations.AddField(
            model_name='onboardingstep',
            name='version',
            field=models.PositiveIntegerField(default=1),
        ),
        migrations.AddField(
            model_name='onboardingstep',
            name='why',
            field=models.CharField(blank=True, max_length=300, verbose_name='why it does not apply'),
        ),
        migrations.AddField(
            model_name='report',
            name='answer',
            field=models.CharField(blank=True, max_length=500, verbose_name='why it came back'),
        ),
        migrations.AddField(
            model_name='report',
            name='answered_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='report',
            name='answered_by',
            field=models.CharField(blank=True, max_length=60),
        ),
        migrations.AddField(
            model_name='report',
            name='handed_in_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='report',
            name='handed_in_by',
            field=models.CharField(blank=True, max_length=60),
        ),
        migrations.AddField(
            model_name='report',
            name='text',
            field=models.TextField(blank=True, max_length=20000, verbose_name='text'),
        ),
        migrations.AddField(
            model_name='session',
            name='announced_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='session',
            name='cancelled_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='session',
            name='cancelled_why',
            field=models.CharField(blank=True, max_length=300),
        ),
        migrations.AddField(
            model_name='session',
            name='place',
            field=models.CharField(blank=True, max_length=300, verbose_name='where'),
        ),
        migrations.AddField(
            model_name='session',
            name='prerequisites',
            field=models.CharField(blank=True, max_length=300, verbose_name='what to bring or know'),
        ),
        migrations.AddField(
            model_name='session',
            name='seats',
            field=models.PositiveIntegerField(blank=True, null=True, verbose_name='seats'),
        ),
        migrations.AddField(
            model_name='session',
            name='version',
            field=models.PositiveIntegerField(default=1),
        ),
        migrations.AddIndex(
            model_name='session',
            index=models.Index(fields=['starts_at', 'id'], name='session_by_day'),
        ),
        migrations.AddConstraint(
            model_name='onboardingstep',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('state', 'not_applicable'), _negated=True), models.Q(('why', ''), _negated=True), _connector='OR'), name='onboarding_step_why'),
        ),
        migrations.AddConstraint(
            model_name='onboardingstep',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['done', 'not_applicable', 'open'])), name='onboarding_step_state_known'),
        ),
        migrations.AddConstraint(
            model_name='report',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['accepted', 'disputed', 'draft', 'late', 'not_started', 'returned', 'submitted'])), name='report_state_known'),
        ),
        migrations.AddConstraint(
            model_name='session',
            constraint=models.CheckConstraint(condition=models.Q(('answers', None), ('attended__gte', models.F('answers')), _connector='OR'), name='session_answers'),
        ),
        migrations.AddField(
            model_name='registration',
            name='person',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='registration',
            name='session',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='program.session'),
        ),
        migrations.AddField(
            model_name='registration',
            name='tenant',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant'),
        ),
        migrations.AddConstraint(
            model_name='registration',
            constraint=models.UniqueConstraint(fields=('tenant', 'id'), name='program_registration_tenant_id'),
        ),
        migrations.AddConstraint(
            model_name='registration',
            constraint=models.UniqueConstraint(fields=('tenant', 'session', 'person'), name='registration_once'),
        ),
        protect("program_registration"),
        shown("program_session", "announced_at is not null"),
    ]
