"""The rules of the programme, for its office to read and change."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from tenants import programme_settings
from tenants.models import Programme
from tenants.wall import roles
from tenants.wall.access import allow, at_the_office
from tenants.web.attempt import attempt, posted, see_other


class RulesForm(forms.ModelForm):
    """Every rule with its limits, as its column has them."""

    version = forms.IntegerField(
        label=gettext_lazy("Version"), widget=forms.HiddenInput, min_value=1, max_value=2_147_483_647
    )

    class Meta:
        model = Programme
        fields = programme_settings.CHANGEABLE
        widgets = {
            "second_step_since": forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
            "cutoff_time": forms.TimeInput(attrs={"type": "time"}, format="%H:%M"),
        }

    @property
    def groups(self) -> list[tuple[Any, list[Any]]]:
        return [
            (_("The programme"), [self[name] for name in programme_settings.WHO]),
            (_("The weekly review"), [self[name] for name in programme_settings.REVIEW]),
            (_("The tracking record"), [self[name] for name in programme_settings.RECORD]),
            (_("People and signing in"), [self[name] for name in programme_settings.PEOPLE]),
            (_("Approvals"), [self[name] for name in programme_settings.APPROVAL]),
            (_("When jobs are kept away from a node"), [self[name] for name in programme_settings.QUARANTINE]),
            (_("When a job is said to be idle"), [self[name] for name in programme_settings.IDLE]),
            (_("What may be launched"), [self[name] for name in programme_settings.GRANTS]),
            (_("When a budget is reached"), [self[name] for name in programme_settings.BUDGET]),
        ]

    @property
    def told(self) -> list[tuple[Any, list[tuple[Any, Any]]]]:
        """The same to read: each field with its value in words."""
        return [(legend, [(field, self._words(field.name)) for field in fields]) for legend, fields in self.groups]

    def _words(self, name: str) -> Any:
        value = getattr(self.instance, name)
        if isinstance(value, list):
            return ", ".join(map(str, value))
        words = getattr(self.instance, f"get_{name}_display", None)
        return words() if words else value


@allow(roles.STAFF)
@require_http_methods(["GET"])
def rules(request: HttpRequest) -> HttpResponse:
    """The rules as they are."""
    at_the_office(request)
    row = programme_settings.programme()
    form = RulesForm(instance=row, initial={"version": row.version})
    return _shown(request, form, None, 200)


@allow(roles.PUBLISH)
@require_http_methods(["GET", "POST"])
def change_rules(request: HttpRequest) -> HttpResponse:
    """Change them."""
    at_the_office(request)
    row = programme_settings.programme()
    form = RulesForm(posted(request), instance=row, initial={"version": row.version})
    refused, status = None, 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            values = {name: form.cleaned_data[name] for name in programme_settings.CHANGEABLE}
            _row, refused = attempt(
                programme_settings.change,
                values=values,
                version=form.cleaned_data["version"],
                office=request.tenant,
                by=request.actor,
            )
            if refused is None:
                messages.success(request, _("The rules are changed. They count from the next look on."))
                return see_other(reverse("rules", args=[request.tenant.slug]))
            status = refused.status
    return _shown(request, form, refused, status)


def _shown(request: HttpRequest, form: RulesForm, refused: Any, status: int) -> HttpResponse:
    may_change = request.role in roles.PUBLISH
    context = {
        "form": form, "refused": refused, "office": request.tenant, "may_change": may_change,
        "may_take_all": request.role in roles.TAKE_ALL, "file_name": f"{form.instance.code}.yaml",
    }  # fmt: skip
    return render(request, "program/rules.html", context, status=status)
