"""Adds up to how many accelerator-hours a request for capacity is small."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('tenants', '0007_data_milestones_results'),
    ]

    operations = [
        migrations.AddField(
            model_name='programme',
            name='small_request_hours',
            field=models.PositiveIntegerField(default=0, help_text='Requests for capacity of up to so many accelerator-hours within 30 days are granted at once.'),
        ),
    ]
