"""Forms of cases: filters, opening one, and one form for each thing that is done with a case."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django import forms
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from clusters.models import Cluster, Job
from support import states
from support.escalation import components
from support.models import Case, CaseNote
from support.writing import version_of
from tenants.models import Membership, Person, Tenant, holding
from tenants.wall import roles
from tenants.web.templatetags.show import SEVERITIES, words

ANY = ("", _("Any"))
OPEN, ENDED, ALL = "open", "ended", "all"
MINE, NOBODY = "me", "nobody"
KINDS = [("problem", _("Problem: something does not work")), ("inquiry", _("Inquiry: a question, nothing is broken"))]
SEVERITY_CHOICES = [(word, SEVERITIES[word]) for word in states.SEVERITIES]


def owners_of(tenants: Iterable[Tenant]) -> dict[UUID, list[tuple[str, Any]]]:
    """For each tenant who may own its cases, by organisation: the office's people and the participant's own."""
    ids = [tenant.pk for tenant in tenants]
    seats = Membership.objects.filter(holding(), Q(tenant__is_office=True) | Q(tenant__in=ids), person__is_active=True)
    seats = seats.exclude(role__in=(roles.AUTOMATION, roles.AUDITOR)).select_related("person", "tenant")
    office: dict[str, list[tuple[str, str]]] = {}
    theirs: dict[UUID, dict[str, list[tuple[str, str]]]] = {pk: {} for pk in ids}
    for seat in seats.order_by("person__name", "person__email"):
        groups = office if seat.tenant.is_office else theirs[seat.tenant_id]
        groups.setdefault(seat.tenant.name, []).append((str(seat.person_id), f"{seat.person}, {words(seat.role)}"))
    return {pk: [("", _("Choose a person")), *office.items(), *theirs[pk].items()] for pk in ids}


class OwnerField(forms.ChoiceField):
    """A person from a list; the cleaned value is the person."""

    def clean(self, value: Any) -> Person | None:
        chosen = super().clean(value)
        return Person.objects.get(pk=chosen) if chosen else None


class CaseFilters(forms.Form):
    q = forms.CharField(label=_("Search"), required=False, max_length=80)
    state = forms.ChoiceField(label=_("State"), required=False)
    severity = forms.ChoiceField(label=_("Severity"), required=False, choices=[ANY, *SEVERITY_CHOICES])
    tenant = forms.ChoiceField(label=_("Participant"), required=False)
    owner = forms.ChoiceField(label=_("Owner"), required=False)

    def __init__(self, *args: Any, tenants: list[Tenant], owners: list[Person], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["q"].widget.attrs |= {"type": "search", "data-slash": ""}
        self.fields["state"].choices = [
            ("", _("All open")),
            (ENDED, _("All ended")),
            (ALL, _("All")),
            *((word, words(word)) for word in states.CASE),
        ]
        people = [(str(person.pk), str(person)) for person in owners]
        self.fields["owner"].choices = [ANY, (MINE, _("Mine")), (NOBODY, _("Nobody yet")), *people]
        if len(tenants) > 1:
            self.fields["tenant"].choices = [ANY, *((tenant.slug, tenant.name) for tenant in tenants)]
        else:
            del self.fields["tenant"]

    def chosen(self) -> dict[str, str]:
        """The filters that say something and may be used."""
        return {name: value for name, value in self.cleaned_data.items() if value} if self.is_valid() else {}


class FileForm(forms.Form):
    """A file for a case; who may read it is chosen by staff alone."""

    file = forms.FileField(
        label=_("File"),
        max_length=200,
        help_text=_("Up to 20 MiB. Take out passwords and keys before you send it."),
        error_messages={
            "required": _("Choose a file."),
            "empty": _("The file is empty."),
            "max_length": _("The file's name has %(length)d characters; %(max)d are allowed."),
        },
    )
    audience = forms.ChoiceField(label=_("Who may read it"), choices=CaseNote.AUDIENCES, widget=forms.RadioSelect)

    def __init__(self, *args: Any, internal: bool, **kwargs: Any) -> None:
        super().__init__(*args, auto_id="file_%s", **kwargs)  # the form for a note stands on the same page
        if not internal:
            del self.fields["audience"]


class OpenForm(forms.Form):
    """A case that a person opens. Built inside the tenant's scope, so only its own clusters can be named."""

    title = forms.CharField(label=_("What is wrong, in one line"), max_length=200)
    type = forms.ChoiceField(label=_("Kind"), choices=KINDS, initial="problem", widget=forms.RadioSelect)
    severity = forms.ChoiceField(
        label=_("Severity"),
        choices=SEVERITY_CHOICES,
        initial="normal",
        help_text=_("Critical is answered within 15 minutes, urgent within 1 hour, high 4, normal 12, low 24 hours."),
    )
    cluster = forms.ChoiceField(label=_("Cluster"), required=False)
    text = forms.CharField(
        label=_("What happened"),
        max_length=20_000,
        widget=forms.Textarea(attrs={"rows": 8}),
        help_text=_("What you saw, since when, what you already tried. It becomes the first shared note."),
    )
    job = forms.UUIDField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        rows = Cluster.objects.exclude(state="deleted").order_by("name").values_list("pk", "name")
        self.fields["cluster"].choices = [("", _("None in particular")), *((str(pk), name) for pk, name in rows)]

    def clean_cluster(self) -> Cluster | None:
        chosen = self.cleaned_data["cluster"]
        return Cluster.objects.get(pk=chosen) if chosen else None

    def clean_job(self) -> Job | None:
        chosen: UUID | None = self.cleaned_data["job"]
        found = Job.objects.select_related("cluster").filter(pk=chosen).first() if chosen else None
        if chosen and found is None:
            raise forms.ValidationError(_("There is no such job here."))
        return found


class ForWhomForm(forms.Form):
    tenant = forms.ChoiceField(label=_("Participant"))

    def __init__(self, *args: Any, tenants: list[Tenant], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["tenant"].choices = [("", _("Choose a participant")), *((one.slug, one.name) for one in tenants)]


class NoteForm(forms.Form):
    """A note. Staff say each time who may read it; for others there is nothing to choose."""

    text = forms.CharField(label=_("Write a note"), max_length=20_000, widget=forms.Textarea(attrs={"rows": 4}))
    audience = forms.ChoiceField(label=_("Who may read it"), widget=forms.RadioSelect)

    def __init__(self, *args: Any, case: Case, internal: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if internal:
            shared = _("Shared with %(name)s") % {"name": case.tenant.name}
            self.fields["audience"].choices = [("shared", shared), ("internal", _("Internal, staff only"))]
        else:
            del self.fields["audience"]


class CaseForm(forms.Form):
    """Something done with a case; `version` is what the person was looking at."""

    version = forms.IntegerField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, case: Case, **kwargs: Any) -> None:
        super().__init__(*args, **{"initial": {}, **kwargs})
        self.initial = {"version": version_of(case), **self.first(case), **self.initial}
        if "owner" in self.fields:
            self.fields["owner"].choices = owners_of([case.tenant])[case.tenant_id]

    def first(self, case: Case) -> dict[str, Any]:
        """What the fields begin with."""
        return {}

    def keep_with(self, version: int) -> None:
        """Keep what was typed, but for the newest version: the person has now seen it."""
        self.data = self.data.copy()
        self.data[self.add_prefix("version")] = str(version)


class WhyForm(CaseForm):
    why = forms.CharField(
        label=_("Why"), max_length=300, help_text=_("It stands in the history, for the participant too.")
    )


class MitigateForm(CaseForm):
    why = forms.CharField(
        label=_("What was done"),
        max_length=300,
        help_text=_("Training goes on; the cause is not known, so the case stays open."),
    )


class AssignForm(CaseForm):
    owner = OwnerField(label=_("Owner"))

    def first(self, case: Case) -> dict[str, Any]:
        return {"owner": case.owner_id}


class AskForm(CaseForm):
    version = None  # type: ignore[assignment]  # a question is new text, and loses nothing of anybody's
    text = forms.CharField(
        label=_("Question"),
        max_length=20_000,
        widget=forms.Textarea(attrs={"rows": 5}),
        help_text=_("Shared. The resolution clock pauses until they answer; the age goes on."),
    )


class PlanForm(CaseForm):
    owner = OwnerField(label=_("Owner"))
    next_step = forms.CharField(label=_("Next step"), max_length=300, help_text=_("Begin with a verb."))
    due = forms.DateField(label=_("By"), widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"))

    def first(self, case: Case) -> dict[str, Any]:
        return {"owner": case.owner_id, "next_step": case.next_step, "due": case.next_step_due}


class SeverityForm(WhyForm):
    severity = forms.ChoiceField(label=_("Severity"), choices=SEVERITY_CHOICES)
    field_order = ["severity", "why"]

    def first(self, case: Case) -> dict[str, Any]:
        return {"severity": case.severity}


class WaitForm(WhyForm):
    whom = forms.ChoiceField(
        label=_("For what"),
        choices=[
            ("provider", _("the provider's answer")),
            ("decision", _("a decision")),
            ("date", _("a date that is agreed")),
        ],
        widget=forms.RadioSelect,
    )
    field_order = ["whom", "why"]


class EscalateForm(WhyForm):
    component = forms.ChoiceField(label=_("Service team"), help_text=_("Its engineers see this case and its evidence."))
    field_order = ["component", "why"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["component"].choices = [("", _("Choose a team")), *((name, name) for name in components())]

    def first(self, case: Case) -> dict[str, Any]:
        return {"component": case.component}


class ResolveForm(CaseForm):
    cause = forms.ChoiceField(label=_("Cause"), choices=[("", _("Choose a cause")), *Case.Cause.choices])
    cause_text = forms.CharField(
        label=_("What it was"),
        max_length=20_000,
        required=False,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text=_("So that the next one who meets it finds it."),
    )
    lost_hours = forms.DecimalField(
        label=_("Instance hours lost"), required=False, min_value=0, max_digits=10, decimal_places=2
    )

    def first(self, case: Case) -> dict[str, Any]:
        lost = case.job.lost_hours if case.job else None
        return {"lost_hours": lost, "cause": case.cause, "cause_text": case.cause_text}
