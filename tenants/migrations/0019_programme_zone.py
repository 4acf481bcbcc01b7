"""Lets the database refuse a zone of the programme that it does not know: every question for today's rows reckons with it."""

import tenants.models.tenancy
from django.db import migrations, models

KNOWN = "CHECK (timezone(timezone, timestamptz '2026-01-01 00:00:00+00') IS NOT NULL)"


class Migration(migrations.Migration):

    dependencies = [
        ('tenants', '0018_participation_days_and_gate'),
    ]

    operations = [
        migrations.AlterField(
            model_name='programme',
            name='timezone',
            field=models.CharField(default='UTC', help_text='Cut-offs, days and months of the programme are those of this zone.', max_length=64, validators=[tenants.models.tenancy.a_zone, tenants.models.tenancy.a_zone_of_the_database], verbose_name='time zone'),
        ),
        migrations.RunSQL(
            f"ALTER TABLE tenants_programme ADD CONSTRAINT programme_zone_known {KNOWN}",
            "ALTER TABLE tenants_programme DROP CONSTRAINT programme_zone_known",
        ),
    ]
