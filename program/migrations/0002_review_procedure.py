"""The whole weekly review: decisions, action items, minutes that are edited and locked, addenda; and planned launches."""

import django.db.models.deletion
import django.db.models.functions.datetime
import uuid
from django.conf import settings
from django.db import migrations, models

from tenants.wall.row_security import append_only, office, protect, tie

# Locking is the end of minutes: what comes after is an addendum.
LOCKED = migrations.RunSQL(
    """
    create function refuse_change_of_locked_minutes() returns trigger language plpgsql as $$
    begin raise exception 'locked minutes do not change' using errcode = '23514'; end $$;
    create trigger locked_minutes_stay before update or delete on program_minutes
    for each row when (old.locked_at is not null) execute function refuse_change_of_locked_minutes();
    """,
    """
    drop trigger locked_minutes_stay on program_minutes;
    drop function refuse_change_of_locked_minutes();
    """,
)


class Migration(migrations.Migration):

    dependencies = [
        ('clusters', '0001_initial'),
        ('program', '0001_initial'),
        ('support', '0002_case_severity_raised_at'),
        ('tenants', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='minutes',
            name='edited_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='minutes',
            name='edited_by',
            field=models.CharField(blank=True, max_length=60),
        ),
        migrations.AddField(
            model_name='minutes',
            name='locked_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='minutes',
            name='version',
            field=models.PositiveIntegerField(default=1),
        ),
        migrations.AddField(
            model_name='review',
            name='chair',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='review',
            name='held_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='review',
            name='locked_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='review',
            name='scribe',
            field=models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddField(
            model_name='reviewitem',
            name='accepted_as_block',
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name='reviewitem',
            name='late',
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name='reviewitem',
            name='outcome',
            field=models.CharField(blank=True, choices=[('settled', 'settled'), ('block', 'accepted as a block'), ('follow_up', 'taken up outside the meeting'), ('ended', 'resolved in the meeting')], max_length=10, verbose_name='outcome'),
        ),
        migrations.AddField(
            model_name='reviewitem',
            name='times_reason',
            field=models.CharField(blank=True, max_length=300, verbose_name='why it is here again'),
        ),
        migrations.CreateModel(
            name='Decision',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('audience', models.CharField(choices=[('shared', 'shared with the participant'), ('internal', 'internal')], default='internal', max_length=8)),
                ('number', models.CharField(max_length=20)),
                ('text', models.CharField(max_length=500, verbose_name='decision')),
                ('reason', models.TextField(blank=True, max_length=2000, verbose_name='reason')),
                ('authority', models.CharField(blank=True, max_length=80, verbose_name='authority')),
                ('decided_on', models.DateField(verbose_name='decided on')),
                ('affects', models.CharField(blank=True, max_length=200, verbose_name='affects')),
                ('review_id', models.UUIDField(null=True)),
                ('recorded_by', models.CharField(max_length=60)),
                ('case', models.ForeignKey(blank=True, db_constraint=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='support.case')),
                ('decided_by', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('supersedes', models.ForeignKey(blank=True, db_constraint=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='program.decision')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='ActionItem',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('audience', models.CharField(choices=[('shared', 'shared with the participant'), ('internal', 'internal')], default='internal', max_length=8)),
                ('number', models.CharField(max_length=20)),
                ('text', models.CharField(max_length=300, verbose_name='what is to be done')),
                ('due', models.DateField(verbose_name='by')),
                ('due_at_first', models.DateField()),
                ('due_changes', models.PositiveIntegerField(default=0)),
                ('times_carried', models.PositiveIntegerField(default=0)),
                ('kind', models.CharField(choices=[('prevent', 'prevent'), ('detect', 'detect'), ('mitigate', 'mitigate'), ('inform', 'inform')], default='prevent', max_length=8, verbose_name='kind')),
                ('state', models.CharField(default='open', max_length=8)),
                ('evidence', models.URLField(blank=True, max_length=500, verbose_name='evidence')),
                ('ended_on', models.DateField(blank=True, null=True)),
                ('ended_why', models.CharField(blank=True, max_length=300)),
                ('review_id', models.UUIDField(null=True)),
                ('version', models.PositiveIntegerField(default=1)),
                ('case', models.ForeignKey(blank=True, db_constraint=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='support.case')),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
                ('decision', models.ForeignKey(blank=True, db_constraint=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='program.decision')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='Launch',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('name', models.CharField(max_length=80, verbose_name='name')),
                ('day', models.DateField(verbose_name='day')),
                ('state', models.CharField(default='planned', max_length=8)),
                ('planned_by', models.CharField(max_length=60)),
                ('stopped_why', models.CharField(blank=True, max_length=300)),
                ('version', models.PositiveIntegerField(default=1)),
                ('cycle', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.cycle')),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
        ),
        migrations.CreateModel(
            name='LaunchCluster',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('launch_id', models.UUIDField()),
                ('launch_name', models.CharField(max_length=80)),
                ('day', models.DateField()),
                ('wave', models.PositiveSmallIntegerField(default=1)),
                ('name', models.CharField(max_length=63)),
                ('region', models.CharField(max_length=20)),
                ('instance_type', models.CharField(max_length=30)),
                ('planned', models.PositiveIntegerField()),
                ('accelerators', models.PositiveIntegerField()),
                ('body', models.JSONField(null=True)),
                ('findings', models.JSONField(default=list)),
                ('checked_at', models.DateTimeField(null=True)),
                ('verdict', models.CharField(choices=[('open', 'not decided'), ('go', 'go'), ('no_go', 'no go')], default='open', max_length=8)),
                ('verdict_why', models.CharField(blank=True, max_length=300)),
                ('verdict_by', models.CharField(blank=True, max_length=60)),
                ('started_at', models.DateTimeField(null=True)),
                ('version', models.PositiveIntegerField(default=1)),
                ('account', models.ForeignKey(blank=True, db_constraint=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='clusters.cloudaccount')),
                ('cluster', models.ForeignKey(blank=True, db_constraint=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='clusters.cluster')),
                ('participation', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.participation')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='LaunchWave',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('number', models.PositiveSmallIntegerField()),
                ('starts_at', models.DateTimeField(null=True)),
                ('state', models.CharField(default='planned', max_length=8)),
                ('version', models.PositiveIntegerField(default=1)),
                ('launch', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='waves', to='program.launch')),
                ('tenant', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
        ),
        migrations.CreateModel(
            name='Addendum',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('text', models.TextField(max_length=5000, verbose_name='text')),
                ('author', models.CharField(max_length=60)),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('minutes', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='program.minutes')),
                ('tenant', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant')),
            ],
            options={
                'abstract': False,
                'constraints': [models.UniqueConstraint(fields=('tenant', 'id'), name='program_addendum_tenant_id')],
            },
        ),
        migrations.AddIndex(
            model_name='decision',
            index=models.Index(fields=['tenant', '-decided_on', '-id'], name='decision_newest'),
        ),
        migrations.AddConstraint(
            model_name='decision',
            constraint=models.UniqueConstraint(fields=('tenant', 'id'), name='program_decision_tenant_id'),
        ),
        migrations.AddConstraint(
            model_name='decision',
            constraint=models.UniqueConstraint(fields=('tenant', 'number'), name='decision_number'),
        ),
        migrations.AddConstraint(
            model_name='decision',
            constraint=models.CheckConstraint(condition=models.Q(('audience__in', ['shared', 'internal'])), name='decision_audience_known'),
        ),
        migrations.AddIndex(
            model_name='actionitem',
            index=models.Index(fields=['tenant', 'state', 'due', 'id'], name='action_item_due'),
        ),
        migrations.AddConstraint(
            model_name='actionitem',
            constraint=models.UniqueConstraint(fields=('tenant', 'id'), name='program_actionitem_tenant_id'),
        ),
        migrations.AddConstraint(
            model_name='actionitem',
            constraint=models.UniqueConstraint(fields=('tenant', 'number'), name='action_item_number'),
        ),
        migrations.AddConstraint(
            model_name='actionitem',
            constraint=models.CheckConstraint(condition=models.Q(('audience__in', ['shared', 'internal'])), name='action_item_audience_known'),
        ),
        migrations.AddConstraint(
            model_name='actionitem',
            constraint=models.CheckConstraint(condition=models.Q(('kind__in', ['prevent', 'detect', 'mitigate', 'inform'])), name='action_item_kind_known'),
        ),
        migrations.AddConstraint(
            model_name='actionitem',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['done', 'dropped', 'open'])), name='action_item_state_known'),
        ),
        migrations.AddConstraint(
            model_name='launch',
            constraint=models.UniqueConstraint(fields=('cycle', 'day', 'name'), name='launch_once'),
        ),
        migrations.AddConstraint(
            model_name='launch',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['done', 'planned', 'running', 'stopped'])), name='launch_state_known'),
        ),
        migrations.AddConstraint(
            model_name='launchcluster',
            constraint=models.UniqueConstraint(fields=('tenant', 'id'), name='program_launchcluster_tenant_id'),
        ),
        migrations.AddConstraint(
            model_name='launchcluster',
            constraint=models.UniqueConstraint(fields=('tenant', 'launch_id', 'name'), name='launch_cluster_once'),
        ),
        migrations.AddConstraint(
            model_name='launchcluster',
            constraint=models.CheckConstraint(condition=models.Q(('verdict__in', ['open', 'go', 'no_go'])), name='launch_cluster_verdict_known'),
        ),
        migrations.AddConstraint(
            model_name='launchwave',
            constraint=models.UniqueConstraint(fields=('launch', 'number'), name='launch_wave_number'),
        ),
        migrations.AddConstraint(
            model_name='launchwave',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['planned', 'started'])), name='launch_wave_state_known'),
        ),
        LOCKED,
        protect("program_addendum"),
        append_only("program_addendum"),
        tie("program_addendum", "minutes_id", "program_minutes"),
        protect("program_decision", audience=True),
        append_only("program_decision"),
        tie("program_decision", "supersedes_id", "program_decision"),
        tie("program_decision", "case_id", "support_case"),
        protect("program_actionitem", audience=True),
        tie("program_actionitem", "case_id", "support_case"),
        tie("program_actionitem", "decision_id", "program_decision"),
        office("program_launch"),
        office("program_launchwave"),
        protect("program_launchcluster"),
        tie("program_launchcluster", "participation_id", "tenants_participation"),
        tie("program_launchcluster", "account_id", "clusters_cloudaccount"),
        tie("program_launchcluster", "cluster_id", "clusters_cluster"),
    ]
