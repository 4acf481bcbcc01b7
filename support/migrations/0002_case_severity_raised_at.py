"""Keep when a case's severity was last raised: its first response is due from then."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("support", "0001_initial")]

    operations = [
        migrations.AddField(model_name="case", name="severity_raised_at", field=models.DateTimeField(null=True)),
    ]
