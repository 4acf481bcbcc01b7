"""Finds words on a page that no translation could reach: a pseudo-language wraps every message, and data is known."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from typing import Any

import pytest
from django.apps import apps
from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import translation

from clusters import architectures, facts
from clusters.jobs import templates as job_templates
from clusters.plans.prices import prices
from clusters.request_forms import IMAGE_EXAMPLE
from tenants.models import DataIngest
from tenants.web.templatetags import show

OPENS, CLOSES = "⟦", "⟧"
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d")
LETTER = re.compile(r"[^\W\d_]")
SEEN_ATTRIBUTES = ("title", "aria-label", "placeholder", "alt", "label", "data-label", "aria-valuetext")
SILENT = {"script", "style", "svg", "pre", "code", "samp", "kbd", "textarea"}
# Words of a closed list are shown in words of ours, so the word itself on a page is a finding and not data.
CLOSED = {
    "state",
    "severity",
    "severity_then",
    "state_then",
    "role",
    "duty",
    "audience",
    "agenda_group",
    "kind",
    "type",
    "medium",
    "subject",
}
WORDS = {*show.FAMILIES, *show.SEVERITIES, *show.ROLES}
# Names that every language writes alike.
NAMES = {
    "Cohort", "UTC", "SHA", "AWS", "EKS", "FSx", "EFS", "HyperPod", "Slurm", "Kubernetes", "GiB", "TiB", "MB", "JSON", "YAML", "CSV", "XLSX", "VPC",
    "TP", "PP", "DP", "CP", "EP", "SP", "s3", "NCCL_DEBUG=INFO", "ID", "IP", "API", "NCCL", "EC2", "SageMaker", "ParallelCluster", "CIDR", "sbatch", "ZeRO", "MB/s/TiB", "MB/s",
    "InstanceStress", "InstanceConnectivity", "SINGLE_AZ_1", "SINGLE_AZ_2", "SINGLE_AZ_HA_1", "SINGLE_AZ_HA_2", "MULTI_AZ_1",
    IMAGE_EXAMPLE, "WANDB_MODE=offline", "Grafana", "Prometheus", *DataIngest.Snowball.values,
    "English", "日本語", *facts.CHIPS.values(),  # a language is called by its own name in every language
}  # fmt: skip


@contextmanager
def pseudo_language() -> Iterator[None]:
    """Every message that goes through gettext comes back in ⟦brackets⟧."""
    real = translation._trans

    def wrapped(text: Any) -> str:
        return f"{OPENS}{text}{CLOSES}" if str(text) else str(text)

    with pytest.MonkeyPatch.context() as patch:
        for name, function in {
            "gettext": lambda message: wrapped(message),
            "ngettext": lambda one, many, number: wrapped(one if number == 1 else many),
            "pgettext": lambda context, message: wrapped(message),
            "npgettext": lambda context, one, many, number: wrapped(one if number == 1 else many),
        }.items():
            patch.setattr(real, name, function)
        yield


class Words(HTMLParser):
    """The text that a person meets on a page: between tags, and in the attributes that are read out or shown."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, str]] = []
        self.silent = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.silent += tag in SILENT
        given = dict(attrs)
        seen = [name for name in given if name in SEEN_ATTRIBUTES or (tag == "div" and name.startswith("data-"))]
        if tag == "input" and given.get("type") in ("submit", "button", "reset"):
            seen.append("value")
        self.found += [(f"<{tag} {name}>", given[name] or "") for name in seen]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        self.silent -= tag in SILENT

    def handle_endtag(self, tag: str) -> None:
        self.silent -= tag in SILENT

    def handle_data(self, data: str) -> None:
        if not self.silent and data.strip():
            self.found.append(("text", data))


class Data:
    """What the fixtures wrote into the database: shown as it is in every language."""

    def __init__(self, values: Iterable[str]) -> None:
        whole = sorted(
            {value.strip() for value in values if LETTER.search(value)} - WORDS | NAMES, key=len, reverse=True
        )
        self.pattern = re.compile("|".join(rf"(?<!\w){_capital_or_not(value)}(?!\w)" for value in whole))
        self.all = "\n".join(whole)

    def explains(self, text: str) -> bool:
        """Whether nothing is left of `text` but data, names, numbers and signs; initials and cut ends are parts of data."""
        rest = self.pattern.sub(" ", MOMENT.sub(" ", text)).strip()
        if len(rest) <= 2 or not LETTER.search(rest):
            return True
        return rest.endswith("…") and rest.removesuffix("…") in self.all


def _capital_or_not(value: str) -> str:
    """A pattern for it as it was written and as a page begins a line with it."""
    first, rest = value[0], re.escape(value[1:])
    return (f"[{first.lower()}{first.upper()}]" if first.isascii() and first.isalpha() else re.escape(first)) + rest


def stored() -> Iterator[str]:
    """Every text in the database that is nobody's closed list. Run as the owner, whom row security does not bind."""
    for model in apps.get_models():
        for row in _rows(model):
            for value in row:
                yield from _texts(value)


def catalogue() -> Iterator[str]:
    """Names that the provider gave: types, Regions, zones, quotas."""
    known, listed = facts.load(), prices(settings.PRICE_FILE)
    yield from (each.written_for for each in job_templates.templates())
    yield from known.instances
    yield from (listed.title, listed.currency)  # what the operator of the portal wrote
    for each in architectures.architectures():
        yield each.made_by.name
    yield from {found.family for found in known.instances.values()}
    yield from (found.accelerator for found in known.instances.values())
    for region, zones in known.zones.items():
        yield from (region, *zones)


def _rows(model: type[models.Model]) -> list[tuple[Any, ...]]:
    kinds = (models.CharField, models.TextField, models.JSONField, models.UUIDField, ArrayField)
    names = [
        field.name
        for field in model._meta.concrete_fields
        if isinstance(field, kinds) and field.name not in CLOSED and not field.choices
    ]
    return list(model._base_manager.values_list(*names)) if names else []


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _texts(name) if name.isupper() else ()  # a variable's name is shown, a key of ours is not
            yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner)
    elif value is not None:
        yield str(value)
        yield from str(value).splitlines()


def untranslated(html: str, data: Data) -> list[str]:
    """The texts of a page that are neither a message nor data."""
    page = Words()
    page.feed(html)
    return [f"{where}: {text.strip()[:120]}" for where, text in page.found if not data.explains(without_messages(text))]


def without_messages(text: str) -> str:
    """What stands outside all brackets."""
    while (shorter := re.sub(rf"{OPENS}[^{OPENS}{CLOSES}]*{CLOSES}", " ", text)) != text:
        text = shorter
    return re.sub(rf"{OPENS}[^{CLOSES}]*$", " ", text)  # a message that was cut short
