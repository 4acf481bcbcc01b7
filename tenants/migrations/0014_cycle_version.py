"""Adds the version of a cycle, by which two people who change its dates at once notice."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('tenants', '0013_channel_links'),
    ]

    operations = [
        migrations.AddField(
            model_name='cycle',
            name='version',
            field=models.PositiveIntegerField(default=1),
        ),
        migrations.AlterField(
            model_name='cycle',
            name='code',
            field=models.SlugField(max_length=20, verbose_name='code'),
        ),
        migrations.AlterField(
            model_name='cycle',
            name='ends_on',
            field=models.DateField(blank=True, null=True, verbose_name='last day'),
        ),
        migrations.AlterField(
            model_name='cycle',
            name='final_report_due',
            field=models.DateField(blank=True, null=True, verbose_name='final report due'),
        ),
        migrations.AlterField(
            model_name='cycle',
            name='launch_day',
            field=models.DateField(blank=True, null=True, verbose_name='launch day'),
        ),
        migrations.AlterField(
            model_name='cycle',
            name='name',
            field=models.CharField(max_length=80, verbose_name='name'),
        ),
        migrations.AlterField(
            model_name='cycle',
            name='stage_gate_on',
            field=models.DateField(blank=True, null=True, verbose_name='stage gate'),
        ),
        migrations.AlterField(
            model_name='cycle',
            name='starts_on',
            field=models.DateField(verbose_name='first day'),
        ),
    ]
