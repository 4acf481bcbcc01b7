"""Forms of a launch: a script or manifest of one's own, or a template with its parameters."""

import re
from collections.abc import Mapping
from typing import Any

from django import forms
from django.db.models import QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from clusters.actions import job_options
from clusters.jobs import lint as job_lint
from clusters.jobs.templates import Parameter, Template
from clusters.jobs.templates.checks import Place
from clusters.models import Job

STARTING_SCRIPT = """#!/bin/bash
#SBATCH --open-mode=append
set -euo pipefail
export FI_PROVIDER=efa

AUTO_RESUME=()
if [[ -d /opt/sagemaker_cluster ]]; then AUTO_RESUME=(--auto-resume=1); fi

echo "job $SLURM_JOB_ID on $SLURM_JOB_NUM_NODES nodes: $SLURM_JOB_NODELIST"
srun "${AUTO_RESUME[@]}" --ntasks-per-node=1 hostname
"""
PREFIX = "p-"
WHEN = ("begin_at", "after", "after_how", "array", "idle_minutes", "idle_cancels")
MONO = {"spellcheck": "false", "class": "mono", "autocapitalize": "off", "autocomplete": "off"}


class Launching(forms.Form):
    """What every launch has. `again` is the job that it is made from."""

    name = forms.CharField(label=gettext_lazy("Name"), max_length=120)
    partition = forms.ChoiceField(
        label=gettext_lazy("Partition"), help_text=gettext_lazy("Each compute group is a partition of its name.")
    )
    nodes = forms.IntegerField(label=gettext_lazy("Nodes"), min_value=1)
    time_limit_minutes = forms.IntegerField(
        label=gettext_lazy("Time limit"),
        min_value=1,
        max_value=2_147_483_647,
        required=False,
        help_text=gettext_lazy("Empty: as long as the partition allows."),
    )
    environment = forms.CharField(
        label=gettext_lazy("Environment"),
        required=False,
        max_length=20_000,
        widget=forms.Textarea(attrs={"rows": 2, "placeholder": "WANDB_MODE=offline", **MONO}),
        help_text=gettext_lazy("One NAME=value a line. Values are kept sealed: afterwards only the names are shown."),
    )
    keep_as = forms.CharField(
        label=gettext_lazy("Save the script as"),
        required=False,
        max_length=60,
        help_text=gettext_lazy("A name; the next version of it is saved, and the job says which one it ran."),
    )
    begin_at = forms.DateTimeField(
        label=gettext_lazy("Start not before"),
        required=False,
        help_text=gettext_lazy("Empty: as soon as there is room."),
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}, format="%Y-%m-%dT%H:%M"),
    )
    after = forms.ModelChoiceField(
        label=gettext_lazy("Start after"),
        queryset=None,
        required=False,
        empty_label=gettext_lazy("No other job"),
    )
    after_how = forms.ChoiceField(label=gettext_lazy("If that one"), choices=Job.How.choices, required=False)
    array = forms.CharField(
        label=gettext_lazy("Array"),
        max_length=60,
        required=False,
        help_text=gettext_lazy("Tasks of one script, for instance 0-3, or 0-9%2 for two at a time. Empty: one job."),
    )
    idle_minutes = forms.IntegerField(
        label=gettext_lazy("Silent for"),
        min_value=1,
        max_value=job_options.LONGEST_IDLE,
        required=False,
        help_text=gettext_lazy("After how long without a line of output it is said that the job idles."),
    )
    idle_cancels = forms.BooleanField(label=gettext_lazy("Then cancel it"), required=False)
    accept = forms.BooleanField(label=gettext_lazy("Launch it with its warnings"), required=False)
    again = forms.UUIDField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, places: Mapping[str, Place], others: QuerySet[Job], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["idle_minutes"].unit = _("minutes")
        if any(place.kubernetes for place in places.values()):
            for name in job_options.OF_SLURM:
                del self.fields[name]
        else:
            self.fields["after"].queryset = others
        most = max((place.nodes for place in places.values()), default=0)
        self.fields["partition"].choices = [
            (name, _("%(name)s (%(most)s nodes)") % {"name": name, "most": place.nodes})
            for name, place in places.items()
        ]
        self.fields["nodes"].widget.attrs["max"] = max(most, 1)
        self.fields["nodes"].unit = _("of %(most)s") % {"most": most}
        self.fields["time_limit_minutes"].unit = _("minutes")
        left = min((place.minutes_left for place in places.values() if place.minutes_left is not None), default=None)
        if left is not None:
            sentence = _("The reservation of its nodes ends in %(left)s minutes, %(days)s days.")
            told = {"left": f"{max(left, 0):,}", "days": f"{max(left, 0) / 1440:.1f}"}
            self.fields["time_limit_minutes"].help_text = sentence % told

    def clean_after_how(self) -> str:
        return self.cleaned_data["after_how"] if self.cleaned_data.get("after") else ""

    def options(self) -> dict[str, Any]:
        """What `launch_job` takes beside nodes and time."""
        return {name: self.cleaned_data[name] for name in WHEN if name in self.fields}

    def when(self) -> tuple[Any, list[forms.BoundField]]:
        return _("When, and for how long without a word"), [self[name] for name in WHEN if name in self.fields]

    def clean_environment(self) -> dict[str, str]:
        told: dict[str, str] = {}
        for line in self.cleaned_data["environment"].splitlines():
            if not line.strip():
                continue
            name, sign, value = line.partition("=")
            if not sign or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name.strip()):
                raise forms.ValidationError(_("“%(line)s” is not NAME=value.") % {"line": line[:80]})
            told[name.strip()] = value.strip()
        return told


class LaunchForm(Launching):
    """A script or manifest of one's own, typed, pasted or as a file; the file counts where there is one."""

    script = forms.CharField(
        label=gettext_lazy("Script"),
        max_length=job_lint.LARGEST,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 16, **MONO}),
        help_text=gettext_lazy("What sbatch would get. It begins with #! and runs on the first node of the job."),
    )
    file = forms.FileField(label=gettext_lazy("Or a file"), required=False)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["script"].required = not self.files.get("file")
        if any(place.kubernetes for place in kwargs["places"].values()):
            self.fields["partition"].label = _("Group")
            self.fields["partition"].help_text = _("Where a script runs. A manifest says it itself.")
            self.fields["nodes"].help_text = _("For a script. A manifest says it itself.")
            self.fields["script"].label = _("Manifest or script")
            self.fields["script"].help_text = _(
                "A PyTorchJob, HyperPodPyTorchJob or TrainJob in YAML or JSON. Or a script, which begins with #! and runs "
                "in every pod, in the first image of the cluster's configuration."
            )
        first = ("name", "partition", "nodes", "time_limit_minutes", "script", "file")
        last = ("environment", "keep_as", "accept")
        self.groups = [
            (_("What runs, and where"), [self[name] for name in first]),
            self.when(),
            (_("More"), [self[name] for name in last]),
        ]

    def clean(self) -> dict[str, Any]:
        told: dict[str, Any] = super().clean() or {}
        file = told.get("file")
        if file is None:
            # A browser sends line ends of Windows for what was typed; those of a file are the file's own.
            told["script"] = str(told.get("script", "")).replace("\r\n", "\n")
            return told
        if file.size > job_lint.LARGEST:
            sentence = _("The file has %(n)s bytes; it may have %(most)s.")
            raise forms.ValidationError({"file": sentence % {"n": f"{file.size:,}", "most": f"{job_lint.LARGEST:,}"}})
        try:
            told["script"] = file.read().decode()
        except UnicodeDecodeError:
            raise forms.ValidationError({"file": _("The file is no text in UTF-8.")}) from None
        return told


class TemplateForm(Launching):
    """A template's parameters beside what every launch has; whether they fit, `checks` says."""

    def __init__(self, *args: Any, template: Template, starting: Mapping[str, Any], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.template = template
        images = [name for place in kwargs["places"].values() for name, _file in place.images]
        self.fields["image"] = forms.ChoiceField(
            label=_("Image"),
            required=False,
            choices=[("", _("None: what the nodes have")), *((name, name) for name in dict.fromkeys(images))],
            help_text=_("By its digest, as the cluster's configuration names it.") if images else "",
        )
        for name, parameter in template.parameters.items():
            self.fields[PREFIX + name] = _field(parameter, starting.get(name, parameter.default))
        self.groups = self._grouped()

    def _grouped(self) -> list[tuple[Any, list[forms.BoundField]]]:
        first = ("name", "partition", "nodes", "time_limit_minutes", "image")
        last = ("environment", "keep_as", "accept")
        own = [PREFIX + name for name in self.template.parameters]
        return [
            (_("Where it runs"), [self[name] for name in first]),
            (_(self.template.title), [self[name] for name in own]),
            self.when(),
            (_("More"), [self[name] for name in last]),
        ]

    def parameters(self) -> dict[str, Any]:
        """What was filled in, by the template's own names."""
        return {name: self.cleaned_data.get(PREFIX + name, "") for name in self.template.parameters}


def _field(parameter: Parameter, initial: Any) -> forms.Field:
    told: dict[str, Any] = {
        "label": _(parameter.label),
        "help_text": _(parameter.help) if parameter.help else "",
        "initial": initial,
        "required": parameter.required,
    }
    field: forms.Field
    if parameter.kind == "integer":
        field = forms.IntegerField(min_value=parameter.minimum, max_value=parameter.maximum, **told)
    elif parameter.kind == "choice":
        field = forms.ChoiceField(choices=[(each, each) for each in parameter.choices], **told)
    else:
        widget = forms.Textarea(attrs={"rows": 2, **MONO}) if parameter.kind == "words" else forms.TextInput(attrs=MONO)
        field = forms.CharField(max_length=4000, widget=widget, **told)
    if parameter.unit:
        field.unit = _(parameter.unit)
    return field
