"""A participation may have its own rule of what counts against its budget; whether a role refuses us without the id is known."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('clusters', '0028_budgets'),
        ('tenants', '0017_imports_and_budget_counts'),
    ]

    operations = [
        migrations.AddField(
            model_name='budgetwatch',
            name='counts',
            field=models.CharField(blank=True, choices=[('', 'as the programme has it'), ('spent', 'what is spent'), ('bound', 'what is spent and bound')], max_length=5, verbose_name='what is new counts against'),
        ),
        migrations.AddField(
            model_name='cloudaccount',
            name='guarded',
            field=models.CharField(choices=[('yes', 'yes'), ('no', 'no'), ('unknown', 'unknown')], default='unknown', max_length=7),
        ),
        migrations.AddConstraint(
            model_name='budgetwatch',
            constraint=models.CheckConstraint(condition=models.Q(('counts__in', ['', 'spent', 'bound'])), name='budget_watch_counts_known'),
        ),
        migrations.AddConstraint(
            model_name='cloudaccount',
            constraint=models.CheckConstraint(condition=models.Q(('guarded__in', ('yes', 'no', 'unknown'))), name='account_guarded_known'),
        ),
    ]
