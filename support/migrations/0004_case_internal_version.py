"""Count internal notes apart: a customer's version must not move when something internal happens."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('support', '0003_articles'),
    ]

    operations = [
        migrations.AddField(
            model_name='case',
            name='internal_version',
            field=models.PositiveIntegerField(default=0),
        ),
    ]
