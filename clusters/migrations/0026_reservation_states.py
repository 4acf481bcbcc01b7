"""Gives reservations a state and warnings of their end, and lets one be wanted before it is bought."""

from django.db import migrations, models

# What is in the record was bought; the work that follows each tells at once what it is now, and warns of its end.
KEPT = """
update clusters_reservation set state = 'bought';
insert into clusters_ledgerrow
  (id, tenant_id, ledger, participation_id, region, instance_type, option, delta, why, by, reservation_id, quota)
select gen_random_uuid(), tenant_id, 'reservation', participation_id, region, instance_type, kind, count,
  'as it was before rows were kept', 'engine', id, ''
from clusters_reservation where count > 0;
insert into tenants_due (kind, ref, tenant_id, due_at)
select 'reservation', id::text, tenant_id, now() from clusters_reservation;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('clusters', '0025_agent_log_characters'),
        ('tenants', '0008_small_requests'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='reservation',
            name='reservation_once',
        ),
        migrations.AddField(
            model_name='reservation',
            name='state',
            field=models.CharField(default='wanted', max_length=8),
        ),
        migrations.AddField(
            model_name='reservation',
            name='version',
            field=models.PositiveIntegerField(default=1),
        ),
        migrations.AddField(
            model_name='reservation',
            name='warned',
            field=models.PositiveSmallIntegerField(blank=True, null=True),
        ),
        migrations.AlterField(
            model_name='reservation',
            name='external_id',
            field=models.CharField(blank=True, max_length=200),
        ),
        migrations.AlterField(
            model_name='reservation',
            name='kind',
            field=models.CharField(choices=[('training_plan', 'training plan'), ('capacity_block', 'Capacity Block'), ('odcr', 'on-demand capacity reservation'), ('on_demand', 'on demand, nothing reserved')], max_length=16),
        ),
        migrations.AddConstraint(
            model_name='reservation',
            constraint=models.UniqueConstraint(condition=models.Q(('external_id', ''), _negated=True), fields=('tenant', 'external_id'), name='reservation_once'),
        ),
        migrations.AddConstraint(
            model_name='reservation',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['wanted', 'ended']), models.Q(('external_id', ''), _negated=True), ('kind', 'on_demand'), _connector='OR'), name='reservation_named_when_bought'),
        ),
        migrations.AddConstraint(
            model_name='reservation',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['active', 'bought', 'ended', 'wanted'])), name='reservation_state_known'),
        ),
        migrations.RunSQL(KEPT, migrations.RunSQL.noop),
    ]
