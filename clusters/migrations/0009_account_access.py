"""Keep whether an account lets us in as a condition with its age, and whether somebody waits for an answer."""

from django.db import migrations, models

KNOWN = """
update clusters_cloudaccount set access = case when denied_reason <> '' then 'no' else 'yes' end,
  access_since = last_contact_at, checked_at = last_contact_at
where denied_reason <> '' or last_contact_at is not null
"""


class Migration(migrations.Migration):

    dependencies = [
        ('clusters', '0008_operations'),
    ]

    operations = [
        migrations.AddField(
            model_name='cloudaccount',
            name='access',
            field=models.CharField(choices=[('yes', 'yes'), ('no', 'no'), ('unknown', 'unknown')], default='unknown', max_length=7),
        ),
        migrations.AddField(model_name='cloudaccount', name='access_since', field=models.DateTimeField(null=True)),
        migrations.AddField(model_name='cloudaccount', name='check_wished_at', field=models.DateTimeField(null=True)),
        migrations.AddField(model_name='cloudaccount', name='checked_at', field=models.DateTimeField(null=True)),
        migrations.AddField(model_name='cloudaccount', name='lost_reason', field=models.TextField(blank=True, default=''), preserve_default=False),
        migrations.RunSQL(KNOWN, migrations.RunSQL.noop, elidable=True),
        migrations.AddConstraint(
            model_name='cloudaccount',
            constraint=models.CheckConstraint(condition=models.Q(('access__in', ('yes', 'no', 'unknown'))), name='account_access_known'),
        ),
    ]
