"""Adds what an article says, how it once read, and the cases that it came out of or solved; published ones are shown."""

import django.db.models.deletion
import django.db.models.functions.datetime
import uuid
from django.db import migrations, models

from tenants.wall.row_security import office, protect, shown, tie


class Migration(migrations.Migration):

    dependencies = [
        ('support', '0004_case_internal_version'),
        ('tenants', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='ArticleUse',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('kind', models.CharField(choices=[('origin', 'the article came out of it'), ('solved', 'solved by the article')], max_length=6)),
                ('audience', models.CharField(choices=[('shared', 'shared with the participant'), ('internal', 'internal')], default='internal', max_length=8)),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='ArticleVersion',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, editable=False, primary_key=True, serialize=False)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('number', models.PositiveIntegerField()),
                ('title', models.CharField(max_length=200)),
                ('body', models.TextField(blank=True, max_length=50000)),
                ('author', models.CharField(max_length=60)),
            ],
        ),
        migrations.AddField(
            model_name='article',
            name='author',
            field=models.CharField(blank=True, max_length=60),
        ),
        migrations.AddField(
            model_name='article',
            name='body',
            field=models.TextField(blank=True, max_length=50000, verbose_name='text'),
        ),
        migrations.AddField(
            model_name='article',
            name='category',
            field=models.CharField(blank=True, max_length=30, verbose_name='category'),
        ),
        migrations.AddField(
            model_name='article',
            name='changed_at',
            field=models.DateTimeField(db_default=django.db.models.functions.datetime.Now()),
        ),
        migrations.AddField(
            model_name='article',
            name='published_at',
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name='article',
            name='version',
            field=models.PositiveIntegerField(default=1),
        ),
        migrations.AlterField(
            model_name='article',
            name='state',
            field=models.CharField(default='draft', max_length=10),
        ),
        migrations.AddConstraint(
            model_name='article',
            constraint=models.CheckConstraint(condition=models.Q(('state__in', ['draft', 'published'])), name='article_state_known'),
        ),
        migrations.AddField(
            model_name='articleuse',
            name='article',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='uses', to='support.article'),
        ),
        migrations.AddField(
            model_name='articleuse',
            name='case',
            field=models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='support.case'),
        ),
        migrations.AddField(
            model_name='articleuse',
            name='tenant',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant'),
        ),
        migrations.AddField(
            model_name='articleversion',
            name='article',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='versions', to='support.article'),
        ),
        migrations.AddField(
            model_name='articleversion',
            name='tenant',
            field=models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='+', to='tenants.tenant'),
        ),
        migrations.AddIndex(
            model_name='articleuse',
            index=models.Index(fields=['article'], name='article_used'),
        ),
        migrations.AddConstraint(
            model_name='articleuse',
            constraint=models.UniqueConstraint(fields=('tenant', 'id'), name='support_articleuse_tenant_id'),
        ),
        migrations.AddConstraint(
            model_name='articleuse',
            constraint=models.UniqueConstraint(fields=('tenant', 'case', 'article'), name='article_use_once'),
        ),
        migrations.AddConstraint(
            model_name='articleversion',
            constraint=models.UniqueConstraint(fields=('article', 'number'), name='article_version_once'),
        ),
        office("support_articleversion"),
        shown("support_article", "audience = 'shared' and state = 'published'"),
        protect("support_articleuse", audience=True),
        tie("support_articleuse", "case_id", "support_case"),
    ]
