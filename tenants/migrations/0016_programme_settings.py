"""Gives every setting of the programme its limits and words, and adds when the second step of signing in is asked for."""

import datetime
import django.core.validators
import tenants.models.tenancy
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('tenants', '0015_duty_shifts'),
    ]

    operations = [
        migrations.AddField(
            model_name='programme',
            name='second_step_grace_days',
            field=models.PositiveSmallIntegerField(default=14, help_text="Counted from that day, or from the first day of somebody's seat; after them nothing opens without it.", validators=[django.core.validators.MaxValueValidator(90)], verbose_name='days to set it up'),
        ),
        migrations.AddField(
            model_name='programme',
            name='second_step_since',
            field=models.DateField(blank=True, help_text='From this day on people of the office sign in with a second step. Empty: it is their choice.', null=True, validators=[django.core.validators.MinValueValidator(datetime.date(2020, 1, 1)), django.core.validators.MaxValueValidator(datetime.date(2200, 1, 1))], verbose_name='second step for the office since'),
        ),
        migrations.AlterField(
            model_name='programme',
            name='agency',
            field=models.CharField(blank=True, max_length=120, verbose_name='agency'),
        ),
        migrations.AlterField(
            model_name='programme',
            name='approval_over_instances',
            field=models.PositiveIntegerField(default=0, help_text='Requests for more accelerated instances than this need an approval.', validators=[django.core.validators.MaxValueValidator(100000)], verbose_name='approval over instances'),
        ),
        migrations.AlterField(
            model_name='programme',
            name='confirm_access_days',
            field=models.PositiveSmallIntegerField(default=90, help_text="After how many days a participant's lead confirms again who has access.", validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(730)], verbose_name='access confirmed every days'),
        ),
        migrations.AlterField(
            model_name='programme',
            name='currency',
            field=models.CharField(default='USD', max_length=3, validators=[django.core.validators.RegexValidator('^[A-Z]{3}$', 'Three capitals, like JPY.')], verbose_name='currency'),
        ),
        migrations.AlterField(
            model_name='programme',
            name='cutoff_time',
            field=models.TimeField(default='18:00', verbose_name='time of the cut-off'),
        ),
        migrations.AlterField(
            model_name='programme',
            name='cutoff_weekday',
            field=models.PositiveSmallIntegerField(default=2, help_text='0 is Monday.', validators=[django.core.validators.MaxValueValidator(6)], verbose_name='weekday of the cut-off'),
        ),
        migrations.AlterField(
            model_name='programme',
            name='invitation_days',
            field=models.PositiveSmallIntegerField(default=7, help_text='How long the link of an invitation opens.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(90)], verbose_name='invitations open for days'),
        ),
        migrations.AlterField(
            model_name='programme',
            name='name',
            field=models.CharField(max_length=120, verbose_name='name'),
        ),
        migrations.AlterField(
            model_name='programme',
            name='sponsor',
            field=models.CharField(blank=True, max_length=120, verbose_name='sponsor'),
        ),
        migrations.AlterField(
            model_name='programme',
            name='stale_after_days',
            field=models.PositiveSmallIntegerField(default=14, help_text='A record that nobody changed for so long is said to be stale.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(365)], verbose_name='stale after days'),
        ),
        migrations.AlterField(
            model_name='programme',
            name='timezone',
            field=models.CharField(default='UTC', help_text='Cut-offs, days and months of the programme are those of this zone.', max_length=64, validators=[tenants.models.tenancy.a_zone], verbose_name='time zone'),
        ),
    ]
