"""Adds calls for applications, the applications, their editions and their scores."""

import django.core.serializers.json
import django.db.models.deletion
import django.db.models.functions.datetime
import uuid
from django.conf import settings
from django.db import migrations, models

from tenants.wall.row_security import office, protect, shown


class Migration(migrations.Migration):

    dependencies = [
        ('program', '0007_outcomes_of_the_past'),
        ('tenants', '0014_cycle_version'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Call',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('title', models.CharField(max_length=200, verbose_name='title')),
                ('text', models.TextField(blank=True, max_length=20000, verbose_name='text')),
                ('opens_at', models.DateTimeField(verbose_name='opens')),
                ('closes_at', models.DateTimeField(verbose_name='closes')),
                ('most_instances', models.PositiveIntegerField(blank=True, null=True, verbose_name='most instances at once')),
                ('most_hours', models.PositiveBigIntegerField(blank=True, null=True, verbose_name='most accelerator-hours')),
                ('small_hours', models.PositiveIntegerField(default=0, verbose_name='small up to')),
                ('state', models.CharField(default='draft', max_length=12)),
                ('version', models.PositiveIntegerField(default=1)),
                ('cycle', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.cycle')),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
        ),
        migrations.CreateModel(
            name='Application',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('number', models.CharField(max_length=20)),
                ('organisation', models.CharField(max_length=120, verbose_name='organisation')),
                ('organisation_kind', models.CharField(blank=True, max_length=40, verbose_name='kind of organisation')),
                ('sector', models.CharField(blank=True, max_length=120, verbose_name='sector')),
                ('staff_size', models.PositiveIntegerField(blank=True, null=True, verbose_name='staff')),
                ('contact_name', models.CharField(blank=True, max_length=120, verbose_name='contact')),
                ('contact_email', models.EmailField(max_length=254, verbose_name='e-mail address')),
                ('language', models.CharField(default='en', max_length=8, verbose_name='language')),
                ('project', models.CharField(blank=True, max_length=300, verbose_name='project')),
                ('summary', models.TextField(blank=True, max_length=5000, verbose_name='what it is about')),
                ('intended', models.TextField(blank=True, max_length=2000, verbose_name='models intended')),
                ('need', models.JSONField(default=list, encoder=django.core.serializers.json.DjangoJSONEncoder)),
                ('procure', models.CharField(blank=True, choices=[('no', 'no'), ('partly', 'partly'), ('yes', 'yes')], max_length=8, verbose_name='can you procure this yourself?')),
                ('procure_how', models.CharField(blank=True, max_length=500, verbose_name='how, or why not')),
                ('provider', models.CharField(blank=True, max_length=120, verbose_name='provider wished for')),
                ('openness', models.TextField(blank=True, max_length=2000, verbose_name='openness plan')),
                ('licence', models.CharField(blank=True, max_length=120, verbose_name='licence')),
                ('state', models.CharField(default='draft', max_length=12)),
                ('edition', models.PositiveIntegerField(default=0)),
                ('digest', models.CharField(blank=True, max_length=64)),
                ('issue', models.PositiveSmallIntegerField(default=1)),
                ('confirmed_at', models.DateTimeField(null=True)),
                ('submitted_at', models.DateTimeField(null=True)),
                ('decided_at', models.DateTimeField(null=True)),
                ('decided_by', models.CharField(blank=True, max_length=60)),
                ('why', models.CharField(blank=True, max_length=1000)),
                ('became', models.UUIDField(null=True)),
                ('version', models.PositiveIntegerField(default=1)),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
                ('call', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='program.call')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='ApplicationScore',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('performance', models.PositiveSmallIntegerField(verbose_name='performance')),
                ('openness', models.PositiveSmallIntegerField(verbose_name='openness')),
                ('feasibility', models.PositiveSmallIntegerField(verbose_name='feasibility')),
                ('reason', models.CharField(max_length=1000, verbose_name='reason')),
                ('application', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='scores', to='program.application')),
                ('reviewer', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('application', 'reviewer'), name='application_score_once'), models.CheckConstraint(condition=models.Q(('performance__range', (1, 5)), ('openness__range', (1, 5)), ('feasibility__range', (1, 5))), name='application_score_range')],
            },
        ),
        migrations.CreateModel(
            name='ApplicationVersion',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('number', models.PositiveIntegerField()),
                ('answers', models.JSONField(encoder=django.core.serializers.json.DjangoJSONEncoder)),
                ('by', models.CharField(max_length=60)),
                ('application', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='versions', to='program.application')),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('application', 'number'), name='application_version_once')],
            },
        ),
        migrations.AddIndex(
            model_name='call',
            index=models.Index(fields=['-opens_at', '-id'], name='call_newest'),
        ),
        migrations.AddConstraint(
            model_name='call',
            constraint=models.CheckConstraint(condition=models.Q(('closes_at__gt', models.F('opens_at'))), name='call_times'),
        ),
        migrations.AddConstraint(
            model_name='call',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['closed', 'draft', 'open'])), name='call_state_known'),
        ),
        migrations.AddIndex(
            model_name='application',
            index=models.Index(fields=['tenant', '-created_at', '-id'], name='application_newest'),
        ),
        migrations.AddConstraint(
            model_name='application',
            constraint=models.UniqueConstraint(fields=('tenant', 'id'), name='program_application_tenant_id'),
        ),
        migrations.AddConstraint(
            model_name='application',
            constraint=models.UniqueConstraint(fields=('call', 'number'), name='application_number'),
        ),
        migrations.AddConstraint(
            model_name='application',
            constraint=models.UniqueConstraint(condition=models.Q(models.Q(('digest', ''), _negated=True), models.Q(('state', 'withdrawn'), _negated=True)), fields=('call', 'contact_email'), name='one_application_an_address'),
        ),
        migrations.AddConstraint(
            model_name='application',
            constraint=models.UniqueConstraint(condition=models.Q(('digest', ''), models.Q(('state', 'withdrawn'), _negated=True)), fields=('tenant', 'call'), name='one_application_a_participant'),
        ),
        migrations.AddConstraint(
            model_name='application',
            constraint=models.UniqueConstraint(condition=models.Q(('digest', ''), _negated=True), fields=('digest',), name='application_link'),
        ),
        migrations.AddConstraint(
            model_name='application',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['declined', 'draft', 'selected', 'submitted', 'waitlisted', 'withdrawn'])), name='application_state_known'),
        ),
        office("program_call"),
        shown("program_call", "state <> 'draft'"),
        protect("program_application"),
        office("program_applicationversion"),
        office("program_applicationscore"),
    ]
