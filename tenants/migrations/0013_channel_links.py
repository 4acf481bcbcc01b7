"""Lets a link of the record be a channel in which people talk."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('tenants', '0012_imports'),
    ]

    operations = [
        migrations.AlterField(
            model_name='monitoringlink',
            name='kind',
            field=models.CharField(choices=[('grafana', 'Grafana'), ('prometheus', 'Prometheus'), ('experiments', 'experiment tracker'), ('channel', 'channel'), ('other', 'other')], max_length=12, verbose_name='kind'),
        ),
    ]
