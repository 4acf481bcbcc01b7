"""Let a review be under way between open and published: each participant's minutes are made by themselves."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('program', '0005_sessions_and_evidence'),
    ]

    operations = [
        migrations.RemoveConstraint(model_name='review', name='review_state_known'),
        migrations.AddConstraint(
            model_name='review',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['draft', 'in_session', 'locked', 'published', 'publishing'])), name='review_state_known'),
        ),
    ]
