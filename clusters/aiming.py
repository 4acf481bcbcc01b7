"""How a job's measured pace stands against its model's own amount and the cycle's stage gate, and what if it were another."""

from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Any

from django import forms
from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from clusters.jobs import showing as job_showing
from clusters.jobs.logs.forecast import Aim, Pace, Target, WhatIf, aim
from clusters.models import Job
from tenants.models import TrainingModel

UNKNOWN: dict[str, Any] = {
    "no_target": gettext_lazy("its model has no target in the record."),
    "no_done": gettext_lazy("nobody recorded how much of its model is done."),
    "not_measured": gettext_lazy("what its model is counted in was not measured."),
    "unit": gettext_lazy("its model is counted in hours of data, which no job measures."),
    "no_progress": gettext_lazy("at that pace it never ends."),
    "stale": gettext_lazy("the newest measure is older than an hour."),
}


class WhatIfForm(forms.Form):
    """Another number of nodes, another MFU or speed, days that will be lost; and of which model."""

    model = forms.ChoiceField(label=gettext_lazy("Model"), required=False)
    nodes = forms.IntegerField(label=gettext_lazy("Nodes"), min_value=1, max_value=100_000, required=False)
    mfu = forms.FloatField(label=gettext_lazy("MFU, percent"), min_value=0.1, max_value=100, required=False)
    speed = forms.FloatField(
        label=gettext_lazy("Throughput, percent of now"), min_value=1, max_value=1_000, required=False
    )
    lost_days = forms.FloatField(label=gettext_lazy("Days lost"), min_value=0, max_value=365, required=False)

    def __init__(self, asked: Any, *, models: Sequence[TrainingModel], measured: Pace | None, nodes: int) -> None:
        names = {"model", "nodes", "mfu", "speed", "lost_days"}
        super().__init__(asked if names & set(asked) else None, initial={"nodes": nodes})
        self.measured, self.now_nodes = measured, nodes
        self.fields["model"].choices = [("", _("not chosen")), *((one.code, one.name) for one in models)]
        if len(models) < 2:
            del self.fields["model"]
        for name in ("mfu", "speed", "lost_days"):
            self.fields[name].widget.attrs |= {"step": "any", "inputmode": "decimal"}

    def clean(self) -> dict[str, Any]:
        told: dict[str, Any] = super().clean() or {}
        if told.get("mfu") is None:
            return told
        if told.get("speed") is not None:
            self.add_error("speed", _("Ask for another MFU or for another throughput, not for both."))
        if self.measured is None or not self.measured.mfu:
            self.add_error("mfu", _("Its MFU was not measured, so another one says nothing. Ask by the throughput."))
        return told

    def question(self) -> WhatIf | None:
        """What is asked; None where nothing is, or nothing that makes sense."""
        if not self.is_bound or not self.is_valid():
            return None
        told = self.cleaned_data
        if all(told.get(name) is None for name in ("nodes", "mfu", "speed", "lost_days")):
            return None
        speed = told["speed"] / 100 if told.get("speed") is not None else 1.0
        if told.get("mfu") is not None and self.measured and self.measured.mfu:
            speed = told["mfu"] / self.measured.mfu
        nodes = told["nodes"] / self.now_nodes if told.get("nodes") and self.now_nodes else 1.0
        return WhatIf(nodes, speed, told.get("lost_days") or 0.0)

    def words(self) -> str:
        """The question, as a person says it."""
        told = self.cleaned_data
        said = [
            (told.get("nodes"), _("%(n)s nodes")),
            (told.get("mfu"), _("%(n)s %% MFU")),
            (told.get("speed"), _("%(n)s %% of the throughput")),
            (told.get("lost_days"), _("%(n)s days lost")),
        ]
        return ", ".join(words % {"n": _number(value)} for value, words in said if value is not None)


def models_of(job: Job) -> list[TrainingModel]:
    """The models in the record of the participation that the job's cluster belongs to."""
    return list(TrainingModel.objects.filter(participation_id=job.cluster.participation_id).order_by("code"))


def chosen(models: Sequence[TrainingModel], code: str) -> TrainingModel | None:
    """The one with that code; without a code the only one. None where that is not clear: a guess would look measured."""
    if code:
        return next((one for one in models if one.code == code), None)
    return models[0] if len(models) == 1 else None


def gate_of(job: Job) -> datetime | None:
    """The end of the day of the stage gate."""
    return end_of(job.cluster.participation.cycle.stage_gate_on)


def end_of(day: date | None) -> datetime | None:
    return datetime(day.year, day.month, day.day, 23, 59, tzinfo=UTC) if day else None


def reckoned(job: Job, model: TrainingModel, found: Pace | None, now: datetime, asked: WhatIf | None = None) -> Aim:
    target = Target(model.amount_unit, model.target_amount, model.done_amount)
    return aim(target, found, now, gate_of(job), asked, live=job.state == "running")


def laid_out(
    job: Job, models: Sequence[TrainingModel], form: WhatIfForm, found: Pace | None, now: datetime
) -> dict[str, Any]:
    """What the page says of the model, as it is and as it is asked."""
    code = str(form.data.get("model", ""))[:40] if form.is_bound else ""
    model = chosen(models, code)
    question = form.question()
    gate = gate_of(job)
    context: dict[str, Any] = {"models": models, "aim_model": model, "gate_at": gate, "what_if_words": ""}
    if question is not None:
        context["what_if_words"] = form.words()
    if model is None:
        return context
    context["aim"] = _rows(model, reckoned(job, model, found, now), gate)
    if question is not None:
        context["what_if_aim"] = _rows(model, reckoned(job, model, found, now, question), gate)
    return context


def _rows(model: TrainingModel, told: Aim, gate: datetime | None) -> dict[str, Any]:
    unit = str(model.get_amount_unit_display())
    percent = round(100 * told.by_gate / float(model.target_amount)) if told.by_gate and model.target_amount else None
    return {
        "done": _number(model.done_amount) if model.done_amount is not None else "",
        "target": _of(model.target_amount, unit),
        "per_day": _of(told.per_day, unit),
        "ends_at": told.ends_at,
        "unknown": UNKNOWN.get(told.unknown, ""),
        "gate": job_showing.against(gate, told.ends_at) if gate else None,
        "by_gate": _of(told.by_gate, unit),
        "by_gate_percent": percent,
        "needed": _of(told.needed_per_day, unit),
    }


def _of(value: Any, unit: str) -> str:
    """A number with its unit; empty where it is not known."""
    if value is None:
        return ""
    return f"{_number(value)} × {unit}" if unit[:1].isdigit() else f"{_number(value)} {unit}"  # 402 × 10億トークン


def _number(value: Any) -> str:
    value = float(value)
    digits = 0 if abs(value) >= 1000 or value == int(value) else (1 if abs(value) >= 1 else 3)
    return number_format(round(value, digits), decimal_pos=digits, use_l10n=True, force_grouping=True)
