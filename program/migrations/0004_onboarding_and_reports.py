"""Adds onboarding with its list, and the reports that a participation owes."""

import django.db.models.deletion
import django.db.models.functions.datetime
import uuid
from django.conf import settings
from django.db import migrations, models

from tenants.wall.row_security import protect, tie


class Migration(migrations.Migration):

    dependencies = [
        ('program', '0003_sessions_and_attendance'),
        ('tenants', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Onboarding',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('held_at', models.DateTimeField(verbose_name='held')),
                ('minutes', models.PositiveIntegerField(verbose_name='minutes')),
                ('completed_on', models.DateField(blank=True, null=True, verbose_name='completed on')),
                ('lead', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('participation', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.participation')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='OnboardingStep',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('position', models.PositiveSmallIntegerField()),
                ('text', models.CharField(max_length=200, verbose_name='what is to be done')),
                ('done', models.BooleanField(default=False, verbose_name='done')),
                ('onboarding', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='program.onboarding')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='Report',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('kind', models.CharField(choices=[('monthly_utilisation', 'monthly utilisation'), ('stage_gate_report', 'stage gate report'), ('final_report', 'final report')], max_length=20, verbose_name='kind')),
                ('period', models.CharField(max_length=10, verbose_name='period')),
                ('due_on', models.DateField(verbose_name='due on')),
                ('state', models.CharField(default='not_started', max_length=12)),
                ('version', models.PositiveIntegerField(default=1)),
                ('participation', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.participation')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.AddConstraint(
            model_name='onboarding',
            constraint=models.UniqueConstraint(fields=('tenant', 'id'), name='program_onboarding_tenant_id'),
        ),
        migrations.AddConstraint(
            model_name='onboarding',
            constraint=models.UniqueConstraint(fields=('tenant', 'participation'), name='onboarding_once'),
        ),
        migrations.AddConstraint(
            model_name='onboardingstep',
            constraint=models.UniqueConstraint(fields=('tenant', 'id'), name='program_onboardingstep_tenant_id'),
        ),
        migrations.AddConstraint(
            model_name='onboardingstep',
            constraint=models.UniqueConstraint(fields=('tenant', 'onboarding', 'position'), name='onboarding_step_once'),
        ),
        migrations.AddIndex(
            model_name='report',
            index=models.Index(fields=['tenant', 'due_on', 'id'], name='report_due'),
        ),
        migrations.AddConstraint(
            model_name='report',
            constraint=models.UniqueConstraint(fields=('tenant', 'id'), name='program_report_tenant_id'),
        ),
        migrations.AddConstraint(
            model_name='report',
            constraint=models.UniqueConstraint(fields=('tenant', 'participation', 'kind', 'period'), name='report_once'),
        ),
        migrations.AddConstraint(
            model_name='report',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['accepted', 'disputed', 'draft', 'late', 'not_started', 'submitted'])), name='report_state_known'),
        ),
        protect("program_onboarding"),
        tie("program_onboarding", "participation_id", "tenants_participation"),
        protect("program_onboardingstep"),
        tie("program_onboardingstep", "onboarding_id", "program_onboarding"),
        protect("program_report"),
        tie("program_report", "participation_id", "tenants_participation"),
    ]
