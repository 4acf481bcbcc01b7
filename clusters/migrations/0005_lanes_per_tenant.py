"""Put what waits into the lane of its own account: two tenants that name one account id shared a lane before."""

from django.db import migrations

LANES = """
update tenants_due d set lane = a.account_id || '/' || c.region || '/' || left(replace(a.id::text, '-', ''), 8)
from clusters_cluster c join clusters_cloudaccount a on a.id = c.account_id
where d.kind in ('cluster', 'cluster-slow', 'jobs') and d.ref = c.id::text;
update tenants_due d set lane = a.account_id || '/' || left(replace(a.id::text, '-', ''), 8)
from clusters_cloudaccount a where d.kind = 'account' and d.ref = a.id::text;
"""


class Migration(migrations.Migration):

    dependencies = [
        ('clusters', '0004_job_environment_sealed'),
        ('tenants', '0001_initial'),
    ]

    operations = [migrations.RunSQL(LANES, migrations.RunSQL.noop, elidable=True)]
