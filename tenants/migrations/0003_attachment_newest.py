"""List a tenant's files newest first without sorting them."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("tenants", "0002_modalities_may_be_empty")]

    operations = [
        migrations.AddIndex(
            model_name="attachment",
            index=models.Index(fields=["tenant", "-created_at", "-id"], name="attachment_newest"),
        ),
    ]
