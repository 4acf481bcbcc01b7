"""A call says what is given, for how long, who pays and whom to ask, and keeps when it was closed."""

import django.core.serializers.json
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ("program", "0008_calls"),
    ]

    operations = [
        migrations.AddField("call", "gives", models.TextField("what is given", max_length=2000, blank=True, default="")),
        migrations.AddField("call", "lasts", models.CharField("for how long", max_length=300, blank=True, default="")),
        migrations.AddField("call", "paid_by", models.CharField("who pays", max_length=300, blank=True, default="")),
        migrations.AddField("call", "ask", models.CharField("whom to ask", max_length=300, blank=True, default="")),
        migrations.AlterField(
            "application",
            "need",
            models.JSONField("time profile", default=list, encoder=django.core.serializers.json.DjangoJSONEncoder),
        ),
        migrations.AddField("call", "closed_at", models.DateTimeField(null=True, blank=True)),
    ]
