"""A file that changes nothing is over once it was checked; what is bound may count against a budget too."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('tenants', '0016_programme_settings'),
    ]

    operations = [
        migrations.RemoveConstraint(
            model_name='import',
            name='import_state_known',
        ),
        migrations.AddField(
            model_name='programme',
            name='budget_counts',
            field=models.CharField(choices=[('spent', 'what is spent'), ('bound', 'what is spent and bound')], default='spent', help_text='Where what is bound counts too, nothing is launched or granted that would bind more than is left. Jobs are stopped only for what is spent. A participant may have its own rule.', max_length=5, verbose_name='what is new counts against'),
        ),
        migrations.AddConstraint(
            model_name='import',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['applying', 'cancelled', 'checked', 'checking', 'faulty', 'imported', 'unchanged'])), name='import_state_known'),
        ),
        migrations.AddConstraint(
            model_name='programme',
            constraint=models.CheckConstraint(condition=models.Q(('budget_counts__in', ['spent', 'bound'])), name='budget_counts_known'),
        ),
    ]
