"""Adds what became of an item in a meeting that was held before Cohort."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('program', '0006_review_publishing'),
    ]

    operations = [
        migrations.AlterField(
            model_name='reviewitem',
            name='outcome',
            field=models.CharField(blank=True, choices=[('settled', 'settled'), ('block', 'accepted as a block'), ('follow_up', 'taken up outside the meeting'), ('ended', 'resolved in the meeting'), ('carried', 'carried over to the next review'), ('resolved', 'resolved before the next review')], max_length=10, verbose_name='outcome'),
        ),
    ]
