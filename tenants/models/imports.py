"""A file of rows that somebody sent: what it would change, and whether it did."""

from django.db import models

from tenants.models.tenancy import TenantOwned
from tenants.states import IMPORT, checked


class Import(TenantOwned):
    """One file that is checked first and applied afterwards, whole or not at all. The file lies beside it as an attachment.

    `changes` are the first rows that differ: {line, what, name, cells: [[column, old, new]]}; `marks` hold [line, digest] of
    all of them, so that whoever applies gets what was shown. `meanwhile` are lines that differ from an earlier look.
    """

    class Format(models.TextChoices):
        CSV = "csv", "CSV"
        XLSX = "xlsx", "XLSX"
        YAML = "yaml", "YAML"

    SUBJECT = "import"
    MOVES = IMPORT

    table = models.CharField(max_length=24)
    name = models.CharField(max_length=200)
    format = models.CharField(max_length=4, choices=Format.choices)
    state = models.CharField(max_length=12, default="checking")
    person = models.ForeignKey("tenants.Person", models.PROTECT, related_name="+")
    asked_by = models.CharField(max_length=60)
    role = models.CharField(max_length=24)  # of whoever sent it, at the place where it was sent
    rows = models.PositiveIntegerField(default=0)
    done = models.PositiveIntegerField(default=0)
    added = models.PositiveIntegerField(default=0)
    changed = models.PositiveIntegerField(default=0)
    same = models.PositiveIntegerField(default=0)
    problem_count = models.PositiveIntegerField(default=0)
    problems = models.JSONField(default=list)
    changes = models.JSONField(default=list)
    marks = models.JSONField(default=list)
    meanwhile = models.JSONField(default=list)
    ended_at = models.DateTimeField(null=True)
    version = models.PositiveIntegerField(default=1)

    class Meta(TenantOwned.Meta):
        constraints = [*TenantOwned.Meta.constraints, checked("import", IMPORT)]
        indexes = [models.Index(fields=["tenant", "-created_at", "-id"], name="import_newest")]

    def __str__(self) -> str:
        return self.name
