"""Forms of the meeting screen: a note, a decision, an action item, and what becomes of those that are due."""

from datetime import date
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from program.models import ActionItem, ReviewItem
from support.forms import OwnerField
from tenants.models import Tenant

DAY = {"type": "date"}
THEIRS, ALL = "participant", "programme"


def audiences(tenant: Tenant) -> list[tuple[str, Any]]:
    """Who may read it; what belongs to the office alone has nobody to share it with."""
    internal = ("internal", _("Internal: only the programme's staff"))
    return (
        [internal]
        if tenant.is_office
        else [("shared", _("Shared: %(name)s reads it") % {"name": tenant.name}), internal]
    )


def day_field(label: Any, **options: Any) -> forms.DateField:
    return forms.DateField(label=label, widget=forms.DateInput(attrs=dict(DAY), format="%Y-%m-%d"), **options)


class NoteForm(forms.Form):
    """A note on the item's case; whoever writes says each time who may read it."""

    text = forms.CharField(label=_("Note"), max_length=20_000, widget=forms.Textarea(attrs={"rows": 3}))
    audience = forms.ChoiceField(label=_("Who may read it"), widget=forms.RadioSelect)

    def __init__(self, *args: Any, tenant: Tenant, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["audience"].choices = audiences(tenant)


class DecisionForm(forms.Form):
    """A decision: it never changes, a later one supersedes it."""

    text = forms.CharField(label=_("Decision"), max_length=500, widget=forms.Textarea(attrs={"rows": 2}))
    reason = forms.CharField(
        label=_("Reason"), max_length=2_000, required=False, widget=forms.Textarea(attrs={"rows": 2})
    )
    decided_by = OwnerField(label=_("Decided by"))
    authority = forms.CharField(label=_("Authority"), max_length=80, required=False, help_text=_("In which capacity."))
    affects = forms.CharField(label=_("Affects"), max_length=200, required=False)
    concerns = forms.ChoiceField(label=_("Concerns"), widget=forms.RadioSelect)
    audience = forms.ChoiceField(label=_("Who may read it"), widget=forms.RadioSelect)

    def __init__(self, *args: Any, tenant: Tenant, owners: list[Any], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["decided_by"].choices = owners
        self.fields["audience"].choices = audiences(tenant)
        _concerns(self, tenant)

    def clean(self) -> dict[str, Any]:
        return _of_the_office(self, super().clean() or self.cleaned_data)


class ActionForm(forms.Form):
    """An action item: verb and object, one person, one date."""

    text = forms.CharField(label=_("What is to be done"), max_length=300, help_text=_("Begin with a verb."))
    owner = OwnerField(label=_("Owner"))
    due = day_field(_("By"))
    kind = forms.ChoiceField(label=_("Kind"), choices=ActionItem.Kind.choices)
    concerns = forms.ChoiceField(label=_("Concerns"), widget=forms.RadioSelect)
    audience = forms.ChoiceField(label=_("Who may read it"), widget=forms.RadioSelect)

    def __init__(self, *args: Any, tenant: Tenant, owners: list[Any], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["owner"].choices = owners
        self.fields["audience"].choices = audiences(tenant)
        _concerns(self, tenant)

    def clean(self) -> dict[str, Any]:
        return _of_the_office(self, super().clean() or self.cleaned_data)


def _concerns(form: forms.Form, tenant: Tenant) -> None:
    if tenant.is_office:
        del form.fields["concerns"]
        return
    form.fields["concerns"].choices = [(THEIRS, tenant.name), (ALL, _("the programme as a whole"))]
    form.initial.setdefault("concerns", THEIRS)


def _of_the_office(form: forms.Form, told: dict[str, Any]) -> dict[str, Any]:
    """What concerns everybody is the office's, and the office shares with nobody."""
    if told.get("concerns") == ALL and told.get("audience") == "shared":
        form.add_error("audience", _("What concerns the whole programme is kept by the office: choose internal."))
    return told


class EndForm(forms.Form):
    """An action item that is due: done with its evidence, or dropped with the reason."""

    outcome = forms.ChoiceField(
        label=_("Outcome"), choices=[("done", _("done")), ("dropped", _("dropped"))], widget=forms.RadioSelect
    )
    why = forms.CharField(label=_("Why it is dropped"), max_length=300, required=False)
    evidence = forms.URLField(label=_("Evidence"), max_length=500, required=False, assume_scheme="https")
    version = forms.IntegerField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, row: ActionItem, **kwargs: Any) -> None:
        kwargs["initial"] = {"outcome": "done", "evidence": row.evidence, "version": row.version}
        super().__init__(*args, **kwargs)


class MoveForm(forms.Form):
    """Another date for an action item, with the reason."""

    due = day_field(_("New date"))
    why = forms.CharField(label=_("Why the date moves"), max_length=300)
    version = forms.IntegerField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, row: ActionItem, **kwargs: Any) -> None:
        kwargs["initial"] = {"due": row.due, "version": row.version}
        super().__init__(*args, **kwargs)


class ReopenForm(forms.Form):
    why = forms.CharField(label=_("Why"), max_length=300)
    version = forms.IntegerField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, row: ActionItem, **kwargs: Any) -> None:
        kwargs["initial"] = {"version": row.version}
        super().__init__(*args, **kwargs)


class SettledForm(forms.Form):
    """Owner, next step and date of an item, and from the third time on why it is here again."""

    owner = OwnerField(label=_("Owner"))
    next_step = forms.CharField(label=_("Next step"), max_length=300, help_text=_("Begin with a verb."))
    due = day_field(_("By"))
    reason = forms.CharField(
        label=_("Why it is here again"),
        max_length=300,
        help_text=_("The participant reads it in its minutes."),
    )
    version = forms.IntegerField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, item: ReviewItem, owners: list[Any], **kwargs: Any) -> None:
        kwargs["initial"] = {
            # What was planned since the cut-off is the better beginning; the meeting confirms or changes it.
            "owner": item.owner_id or item.case.owner_id,
            "next_step": item.next_step or item.case.next_step,
            "due": item.next_step_due or item.case.next_step_due,
            "reason": item.times_reason,
            "version": item.version,
        }
        super().__init__(*args, **kwargs)
        self.fields["owner"].choices = owners
        self.use_required_attribute = False
        if item.times_on_agenda < 3:
            del self.fields["reason"]


def keep_with(form: forms.Form, version: int) -> None:
    """Keep what was typed, but for the newest version: the person has now seen it."""
    form.data = form.data.copy()
    form.data[form.add_prefix("version")] = str(version)


def week_after(day: date) -> date:
    """The usual date of an action item: the next review."""
    return date.fromordinal(day.toordinal() + 7)
