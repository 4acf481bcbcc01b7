"""Forms in which a configuration comes in: as text, as files, or from a cluster that is there."""

from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from clusters.documents import reading
from clusters.forms import ANY, Filters
from clusters.models import Cluster
from clusters.request_forms import LARGEST_DOCUMENT, PLAIN

USES = [ANY, ("yes", gettext_lazy("Ready to be requested")), ("no", gettext_lazy("Not yet"))]
MONO = PLAIN | {"class": "mono"}


class ConfigurationFilters(Filters):
    usable = forms.ChoiceField(label=gettext_lazy("Use"), required=False, choices=USES)
    field_order = ["q", "tenant", "usable"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        del self.fields["state"]


class FileOrText(forms.Form):
    """The same thing as a text or as a file; the file wins."""

    text = forms.CharField(
        label=gettext_lazy("Configuration"),
        max_length=LARGEST_DOCUMENT,
        required=False,
        strip=False,
        widget=forms.Textarea(attrs=MONO | {"rows": 20}),
        help_text=gettext_lazy(
            "JSON or YAML: a configuration of Cohort, a configuration file of ParallelCluster, or a request to HyperPod."
        ),
    )
    file = forms.FileField(label=gettext_lazy("Or a file of it"), required=False, max_length=200, allow_empty_file=True)
    beside = forms.CharField(
        label=gettext_lazy("Provisioning parameters"),
        max_length=LARGEST_DOCUMENT,
        required=False,
        strip=False,
        widget=forms.Textarea(attrs=MONO | {"rows": 6}),
        help_text=gettext_lazy(
            "For a request to HyperPod with Slurm: the file that says which group is the controller."
        ),
    )
    reason = forms.CharField(label=gettext_lazy("What is new in it"), max_length=300, required=False)

    def clean(self) -> dict[str, Any]:
        told = super().clean() or {}
        file = told.get("file")
        if file is not None:
            if file.size > reading.LARGEST:
                sizes = {"asked": f"{file.size:,}", "allowed": f"{reading.LARGEST:,}"}
                self.add_error("file", _("The file has %(asked)s bytes; the most is %(allowed)s.") % sizes)
                return told
            try:
                told["text"] = reading.decoded(file.read())
            except reading.Unreadable as error:
                self.add_error("file", error.finding.sentence(_))
        return told

    def source(self) -> dict[str, str]:
        """What an action takes of it."""
        told = self.cleaned_data
        file = told.get("file")
        return {
            "text": told.get("text", ""),
            "beside": told.get("beside", ""),
            "reason": told.get("reason", ""),
            "origin": "file" if file else "text",
            "origin_name": file.name if file else "",
        }


class CheckForm(FileOrText):
    """A file that is only looked at: a script, a template, a manifest, a configuration."""

    name = forms.CharField(
        label=gettext_lazy("Name of the file"),
        max_length=120,
        required=False,
        widget=forms.TextInput(attrs=PLAIN),
    )
    field_order = ["name", "text", "file"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        del self.fields["beside"], self.fields["reason"]
        self.fields["text"].label = _("Text")
        self.fields["text"].help_text = _(
            "A shell script, a template of CloudFormation, a manifest for Kubernetes, or a configuration. It is looked at "
            "here and not saved."
        )

    def clean(self) -> dict[str, Any]:
        told = super().clean()
        if not self.errors and not told.get("text", "").strip():
            self.add_error("text", _("Paste something, or choose a file."))
        return told

    def told(self) -> tuple[str, str]:
        """Name and text. A browser sends what was pasted with the ends of lines of Windows, whatever they were."""
        source = self.source()
        text = source["text"] if source["origin_name"] else source["text"].replace("\r\n", "\n")
        return self.cleaned_data.get("name") or source["origin_name"] or "file", text


class KeepForm(FileOrText):
    """A new configuration."""

    name = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=63,
        required=False,
        help_text=gettext_lazy("Empty: the name that stands in it."),
    )
    cluster = forms.ModelChoiceField(
        label=gettext_lazy("Or as a cluster has it"), queryset=None, required=False, empty_label="—"
    )
    field_order = ["name", "text", "file", "beside", "cluster", "reason"]

    def __init__(self, *args: Any, clusters: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["cluster"].queryset = clusters

    def chosen(self) -> Cluster | None:
        found: Cluster | None = self.cleaned_data.get("cluster")
        return found


class EditForm(FileOrText):
    """Another version of one; `version` is what the person was looking at."""

    version = forms.IntegerField(required=False, widget=forms.HiddenInput)
