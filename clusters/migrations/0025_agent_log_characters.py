from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ('clusters', '0024_capacity_requests'),
    ]

    operations = [
        migrations.AddField(
            model_name='agentlog',
            name='characters',
            field=models.PositiveBigIntegerField(default=0),
        ),
        migrations.RunSQL(
            'update clusters_agentlog set characters = length(text)', migrations.RunSQL.noop
        ),
    ]
