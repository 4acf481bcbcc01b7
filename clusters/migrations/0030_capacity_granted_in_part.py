"""Less than was asked for may be granted, down to the least that helps; what is asked for has words for its history."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('clusters', '0029_budget_counts_and_guarded_accounts'),
    ]

    operations = [
        migrations.AddField(
            model_name='capacityrequest',
            name='granted_instances',
            field=models.PositiveIntegerField(null=True),
        ),
        migrations.AddField(
            model_name='capacityrequest',
            name='granted_until',
            field=models.DateField(null=True),
        ),
        migrations.AddField(
            model_name='capacityrequest',
            name='least',
            field=models.PositiveIntegerField(null=True, verbose_name='At least'),
        ),
        migrations.AlterField(
            model_name='capacityrequest',
            name='ends_on',
            field=models.DateField(null=True, verbose_name='Until'),
        ),
        migrations.AlterField(
            model_name='capacityrequest',
            name='instance_type',
            field=models.CharField(max_length=30, verbose_name='Instance type'),
        ),
        migrations.AlterField(
            model_name='capacityrequest',
            name='instances',
            field=models.PositiveIntegerField(verbose_name='Instances'),
        ),
        migrations.AlterField(
            model_name='capacityrequest',
            name='kind',
            field=models.CharField(choices=[('more', 'more'), ('fewer', 'fewer: give back'), ('longer', 'for longer'), ('region', 'in another Region')], max_length=8, verbose_name='What is wanted'),
        ),
        migrations.AlterField(
            model_name='capacityrequest',
            name='option',
            field=models.CharField(blank=True, choices=[('', 'any way of buying'), ('on_demand', 'on demand'), ('odcr', 'on-demand capacity reservation'), ('capacity_block', 'Capacity Block'), ('training_plan', 'training plan')], max_length=14, verbose_name='How it is bought'),
        ),
        migrations.AlterField(
            model_name='capacityrequest',
            name='reason',
            field=models.CharField(max_length=1000, verbose_name='Why'),
        ),
        migrations.AlterField(
            model_name='capacityrequest',
            name='region',
            field=models.CharField(max_length=20, verbose_name='Region'),
        ),
        migrations.AlterField(
            model_name='capacityrequest',
            name='starts_on',
            field=models.DateField(verbose_name='From'),
        ),
        migrations.AlterField(
            model_name='capacityrequest',
            name='to_region',
            field=models.CharField(blank=True, max_length=20, verbose_name='The other Region'),
        ),
    ]
