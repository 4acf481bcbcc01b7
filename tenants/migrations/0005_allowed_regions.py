"""Adds where the data of a participation may lie."""

import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('tenants', '0004_deliveries'),
    ]

    operations = [
        migrations.AddField(
            model_name='participation',
            name='allowed_regions',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=20), blank=True, default=list, size=None, verbose_name='allowed Regions'),
        ),
    ]
