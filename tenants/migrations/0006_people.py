"""Invitations, requests to join, contacts by duty; seats that end at once; mail to an address without an account."""

import django.db.models.deletion
import django.db.models.functions.datetime
import uuid
from django.conf import settings
from django.db import migrations, models

from tenants.wall.row_security import protect


class Migration(migrations.Migration):

    dependencies = [
        ('tenants', '0005_allowed_regions'),
    ]

    operations = [
        migrations.CreateModel(
            name='Contact',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('duty', models.CharField(choices=[('business', 'business'), ('technical', 'technical'), ('billing', 'billing'), ('security', 'security'), ('data', 'data protection'), ('on_call', 'on call')], max_length=12, verbose_name='duty')),
                ('name', models.CharField(max_length=120, verbose_name='name')),
                ('email', models.EmailField(blank=True, max_length=254, verbose_name='e-mail address')),
                ('phone', models.CharField(blank=True, max_length=40, verbose_name='telephone')),
                ('timezone', models.CharField(default='UTC', max_length=64, verbose_name='time zone')),
                ('hours', models.CharField(blank=True, max_length=80, verbose_name='hours')),
                ('checked_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('checked_by', models.CharField(max_length=60)),
                ('version', models.PositiveIntegerField(default=1)),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='Invitation',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('email', models.EmailField(max_length=254, verbose_name='e-mail address')),
                ('role', models.CharField(choices=[('programme_manager', 'programme_manager'), ('programme_officer', 'programme_officer'), ('lead_architect', 'lead_architect'), ('account_team', 'account_team'), ('frameworks_specialist', 'frameworks_specialist'), ('service_engineer', 'service_engineer'), ('auditor', 'auditor'), ('automation', 'automation'), ('business_lead', 'business_lead'), ('technical_lead', 'technical_lead'), ('platform_engineer', 'platform_engineer'), ('ml_engineer', 'ml_engineer'), ('viewer', 'viewer')], max_length=24, verbose_name='role')),
                ('team', models.CharField(blank=True, max_length=40, verbose_name='component')),
                ('starts_on', models.DateField(verbose_name='from')),
                ('ends_on', models.DateField(blank=True, null=True, verbose_name='until')),
                ('language', models.CharField(default='en', max_length=8, verbose_name='language')),
                ('state', models.CharField(default='open', max_length=12)),
                ('issue', models.PositiveSmallIntegerField(default=1)),
                ('digest', models.CharField(max_length=64, unique=True)),
                ('expires_at', models.DateTimeField()),
                ('invited_by', models.CharField(max_length=60)),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='JoinRequest',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('email', models.EmailField(max_length=254, verbose_name='e-mail address')),
                ('name', models.CharField(max_length=120, verbose_name='name')),
                ('message', models.CharField(blank=True, max_length=500, verbose_name='message')),
                ('language', models.CharField(default='en', max_length=8, verbose_name='language')),
                ('state', models.CharField(default='open', max_length=12)),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.RemoveConstraint(
            model_name='membership',
            name='membership_role_known',
        ),
        migrations.AddField(
            model_name='assignment',
            name='ended_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='delivery',
            name='address',
            field=models.EmailField(blank=True, max_length=254),
        ),
        migrations.AddField(
            model_name='membership',
            name='confirmed_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='membership',
            name='created_at',
            field=models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
        ),
        migrations.AddField(
            model_name='membership',
            name='ended_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='person',
            name='signed_out',
            field=models.PositiveIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name='programme',
            name='confirm_access_days',
            field=models.PositiveSmallIntegerField(default=90, help_text="After how many days a participant's lead confirms again who has access."),
        ),
        migrations.AddField(
            model_name='programme',
            name='invitation_days',
            field=models.PositiveSmallIntegerField(default=7, help_text='How long the link of an invitation opens.'),
        ),
        migrations.AlterField(
            model_name='delivery',
            name='person',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AlterField(
            model_name='membership',
            name='role',
            field=models.CharField(choices=[('programme_manager', 'programme_manager'), ('programme_officer', 'programme_officer'), ('lead_architect', 'lead_architect'), ('account_team', 'account_team'), ('frameworks_specialist', 'frameworks_specialist'), ('service_engineer', 'service_engineer'), ('auditor', 'auditor'), ('automation', 'automation'), ('business_lead', 'business_lead'), ('technical_lead', 'technical_lead'), ('platform_engineer', 'platform_engineer'), ('ml_engineer', 'ml_engineer'), ('viewer', 'viewer')], max_length=24),
        ),
        migrations.AddConstraint(
            model_name='delivery',
            constraint=models.UniqueConstraint(condition=models.Q(('person', None)), fields=('tenant', 'address', 'channel', 'kind', 'key'), name='one_delivery_each_address'),
        ),
        migrations.AddConstraint(
            model_name='membership',
            constraint=models.CheckConstraint(condition=models.Q(('role__in', ('programme_manager', 'programme_officer', 'lead_architect', 'account_team', 'frameworks_specialist', 'service_engineer', 'auditor', 'automation', 'business_lead', 'technical_lead', 'platform_engineer', 'ml_engineer', 'viewer'))), name='membership_role_known'),
        ),
        migrations.AddField(
            model_name='contact',
            name='person',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='contact',
            name='tenant',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant'),
        ),
        migrations.AddField(
            model_name='invitation',
            name='person',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='invitation',
            name='tenant',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant'),
        ),
        migrations.AddField(
            model_name='joinrequest',
            name='tenant',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant'),
        ),
        migrations.AddIndex(
            model_name='contact',
            index=models.Index(fields=['tenant', 'duty', 'id'], name='contact_duty'),
        ),
        migrations.AddConstraint(
            model_name='contact',
            constraint=models.UniqueConstraint(fields=('tenant', 'id'), name='tenants_contact_tenant_id'),
        ),
        migrations.AddConstraint(
            model_name='contact',
            constraint=models.CheckConstraint(condition=models.Q(('duty__in', ['business', 'technical', 'billing', 'security', 'data', 'on_call'])), name='contact_duty_known'),
        ),
        migrations.AddIndex(
            model_name='invitation',
            index=models.Index(fields=['tenant', '-created_at', '-id'], name='invitation_newest'),
        ),
        migrations.AddConstraint(
            model_name='invitation',
            constraint=models.UniqueConstraint(fields=('tenant', 'id'), name='tenants_invitation_tenant_id'),
        ),
        migrations.AddConstraint(
            model_name='invitation',
            constraint=models.UniqueConstraint(condition=models.Q(('state', 'open')), fields=('tenant', 'email'), name='one_open_invitation'),
        ),
        migrations.AddConstraint(
            model_name='invitation',
            constraint=models.CheckConstraint(condition=models.Q(('role__in', ('programme_manager', 'programme_officer', 'lead_architect', 'account_team', 'frameworks_specialist', 'service_engineer', 'auditor', 'automation', 'business_lead', 'technical_lead', 'platform_engineer', 'ml_engineer', 'viewer'))), name='invitation_role_known'),
        ),
        migrations.AddConstraint(
            model_name='invitation',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['accepted', 'expired', 'open', 'withdrawn'])), name='invitation_state_known'),
        ),
        migrations.AddIndex(
            model_name='joinrequest',
            index=models.Index(fields=['tenant', '-created_at', '-id'], name='join_request_newest'),
        ),
        migrations.AddConstraint(
            model_name='joinrequest',
            constraint=models.UniqueConstraint(fields=('tenant', 'id'), name='tenants_joinrequest_tenant_id'),
        ),
        migrations.AddConstraint(
            model_name='joinrequest',
            constraint=models.UniqueConstraint(condition=models.Q(('state', 'open')), fields=('tenant', 'email'), name='one_open_join_request'),
        ),
        migrations.AddConstraint(
            model_name='joinrequest',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['accepted', 'declined', 'expired', 'open'])), name='join_request_state_known'),
        ),
        protect("tenants_invitation"),
        protect("tenants_joinrequest"),
        protect("tenants_contact"),
    ]
