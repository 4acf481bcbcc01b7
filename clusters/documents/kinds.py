"""What a file is, by what it says: a configuration of ours, of ParallelCluster, a request to HyperPod, or something beside. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from clusters.architectures.configuration import Configuration
from clusters.documents import hyperpod, parallelcluster, placeholders
from clusters.documents.reading import Read, Unreadable, read
from clusters.findings import Finding
from clusters.wording import gettext_noop

KINDS: Mapping[str, str] = {
    "cohort": gettext_noop("a configuration of Cohort"),
    "parallelcluster": gettext_noop("a configuration file of ParallelCluster"),
    "hyperpod": gettext_noop("a request to HyperPod (CreateCluster)"),
    "provisioning": gettext_noop("provisioning parameters of HyperPod"),
    "parameters": gettext_noop("parameters of a CloudFormation stack"),
    "template": gettext_noop("a CloudFormation template"),
    "manifest": gettext_noop("a Kubernetes manifest"),
    "unknown": gettext_noop("nothing that is known here"),
}
CLUSTERS = frozenset({"cohort", "parallelcluster", "hyperpod", "parameters"})  # what a cluster can be made of


@dataclass(frozen=True)
class Understood:
    """A file in our words. `document` is what a cluster would be made of, `kept` what it says beside that, unchanged."""

    kind: str
    source: Read
    name: str = ""
    document: Mapping[str, Any] | None = None
    kept: Mapping[str, Any] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()


def kind_of(value: Any) -> str:
    if isinstance(value, list):
        parameters = value and all(isinstance(each, Mapping) and "ParameterKey" in each for each in value)
        return "parameters" if parameters else "unknown"
    if not isinstance(value, Mapping):
        return "unknown"
    for kind, signs in {
        "cohort": ("architecture", "instance_groups"),
        "template": ("Resources", "AWSTemplateFormatVersion"),
        "hyperpod": ("InstanceGroups", "RestrictedInstanceGroups"),
        "parallelcluster": ("HeadNode", "Scheduling"),
        "provisioning": ("controller_group", "worker_groups", "workload_manager"),
        "manifest": ("apiVersion",),
    }.items():
        if any(sign in value for sign in signs):
            return kind
    return "unknown"


def understand(text: str, beside: str = "") -> Understood:
    """What the text is and says. Raises Unreadable. `beside`: the provisioning parameters that belong to a request."""
    source = _source(text)
    kind = kind_of(source.value)
    found = [*source.notes, *([] if kind == "template" else placeholders.findings(text))]
    if kind == "cohort":
        known = Configuration.__dataclass_fields__
        name = source.value.get("name", "")
        document = {key: value for key, value in source.value.items() if key in known}
        kept = {key: value for key, value in source.value.items() if key not in known and key != "name"}
        return Understood(kind, source, name if isinstance(name, str) else "", document, kept, tuple(found))
    if kind == "parallelcluster":
        document, kept, more = parallelcluster.document(source.value)
        return Understood(kind, source, "", document, kept, (*found, *more))
    if kind in ("hyperpod", "parameters"):
        told = hyperpod.of_parameters(source.value) if kind == "parameters" else source.value
        roles, rest = _beside(beside)
        name, document, kept, more = hyperpod.document(told, roles)
        return Understood(kind, source, name, document, kept, (*found, *rest, *more))
    code = "kind_unknown" if kind == "unknown" else "kind_beside"
    return Understood(kind, source, findings=(*found, Finding(code, "refused", "file", KINDS[kind])))


def _source(text: str) -> Read:
    try:
        return read(text, tags="AWSTemplateFormatVersion" in text or "\nResources:" in text)
    except Unreadable as error:
        if error.finding.code == "read_template":
            error.more = tuple(placeholders.findings(text))
        raise


def _beside(text: str) -> tuple[Mapping[str, Any] | None, tuple[Finding, ...]]:
    if not text.strip():
        return None, ()
    try:
        source = read(text)
    except Unreadable as error:
        return None, (error.finding,)
    if kind_of(source.value) != "provisioning":
        return None, (Finding("not_provisioning", "refused", "beside", kind_of(source.value)),)
    return source.value, tuple(placeholders.findings(text))
