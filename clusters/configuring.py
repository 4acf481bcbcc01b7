"""Configurations that a participant keeps: judged as they come in, written down in versions that never change, compared."""

import difflib
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import yaml
from django.conf import settings
from django.db.models import F, QuerySet
from django.db.models.functions import Now
from django.http import Http404
from django.utils.translation import gettext as _

from clusters import checking, engine_check, node_setups, states
from clusters.architectures.configuration import Configuration, Group, read_configuration
from clusters.documents import kinds, secrets
from clusters.documents.kinds import Understood
from clusters.documents.reading import Unreadable
from clusters.findings import Finding, Refusals
from clusters.models import ClusterConfiguration, ConfigurationVersion
from clusters.plans.changes import Change, differences
from tenants.history import timeline
from tenants.models import Tenant
from tenants.web.problems import Refused, Stale

LONGEST_NAME = 63
LONGEST_COMPARED = 4_000  # lines of each side; beyond that only the words are compared


@dataclass(frozen=True)
class Judged:
    """A text in our words, and all that was found about it without any account."""

    understood: Understood
    configuration: Configuration | None
    findings: tuple[Finding, ...]

    @property
    def usable(self) -> bool:
        return self.configuration is not None and not any(each.level == "refused" for each in self.findings)

    def document(self) -> dict[str, Any]:
        return self.configuration.document() if self.configuration else dict(self.understood.document or {})


def judge(text: str, beside: str = "", *, with_engine: bool = False) -> Judged:
    """What a text is worth. Raises Unreadable. `with_engine` asks a process beside us, so never while rows are locked."""
    understood = kinds.understand(text, beside)
    found = [*understood.findings, *secrets.findings(text), *secrets.findings(beside)]
    if with_engine and understood.kind == "parallelcluster":
        found += engine_check.of_file(understood.source, address=settings.PCLUSTER_SCHEMA)
    configuration = None
    if understood.document is not None:
        try:
            document, unknown = node_setups.resolved(understood.document)
            found += unknown
            configuration = None if unknown else read_configuration(document)
        except Refusals as error:
            found += error.findings
    order = {"refused": 0, "warning": 1, "ok": 2}
    return Judged(understood, configuration, tuple(sorted(found, key=lambda each: order[each.level])))


def judged(text: str, beside: str = "", *, with_engine: bool = False) -> Judged:
    """The same, for who writes: what cannot be read, or must not be kept, is Refused."""
    try:
        told = judge(text, beside, with_engine=with_engine)
    except Unreadable as error:
        found = [error.finding, *error.more]
        sentence = " ".join(each.sentence(_) for each in found[:3])
        raise Refused(
            "unreadable", sentence, status=422, findings=[checking.told(each) for each in found[:100]]
        ) from None
    if secret := next((each for each in told.findings if each.code == "secret_inside"), None):
        raise Refused("secret_inside", f"{secret.sentence(_)} {secret.advice(_)}", status=422)
    if told.understood.kind not in kinds.CLUSTERS:
        kind = _(kinds.KINDS[told.understood.kind])
        sentence = _("This is %(kind)s; no cluster can be made of it alone.") % {"kind": kind}
        raise Refused("not_a_cluster", sentence, status=422, kind=told.understood.kind)
    return told


def keep(
    *,
    tenant: Tenant,
    text: str,
    by: str,
    name: str = "",
    beside: str = "",
    origin: str = "text",
    origin_name: str = "",
    reason: str = "",
    version: int | None = None,
    on_behalf_of: str = "",
) -> ConfigurationVersion:
    """Write down a new version, of a new configuration or of the one of that name.

    Raises Refused: unreadable, secret_inside, not_a_cluster, name_missing, nothing_new; Stale when `version` is older.
    """
    found = judged(text, beside)
    name = " ".join((name or found.understood.name).split())
    if not name or len(name) > LONGEST_NAME or not name.isprintable():
        sentence = _("Give the configuration a name of at most %(most)s characters.") % {"most": LONGEST_NAME}
        raise Refused("name_missing", sentence, status=422)
    row, made = ClusterConfiguration.objects.get_or_create(
        tenant=tenant, name=name, defaults={"changed_at": Now(), "newest": 0}
    )
    row = ClusterConfiguration.objects.select_for_update().get(pk=row.pk)
    if version is not None and row.version != version:
        raise Stale(
            "stale",
            _("Somebody saved a newer version of %(what)s meanwhile. Compare, and save it again.") % {"what": name},
            version=row.version,
        )
    digest = hashlib.sha256(f"{text}\0{beside}".encode()).hexdigest()
    newest = ConfigurationVersion.objects.filter(configuration=row).order_by("-number").first()
    if newest is not None and newest.digest == digest:
        raise Refused("nothing_new", _("This is what version %(number)s says already.") % {"number": newest.number})
    columns = _columns(found)
    kept = ConfigurationVersion.objects.create(
        tenant=tenant,
        configuration=row,
        number=row.newest + 1,
        origin=origin,
        origin_name=origin_name[:200],
        kind=found.understood.kind,
        text=text,
        beside=beside,
        body=found.document(),
        kept=dict(found.understood.kept),
        digest=digest,
        author=by,
        reason=reason[:300],
        **columns,
    )
    columns.pop("az_id")
    ClusterConfiguration.objects.filter(pk=row.pk).update(
        newest=kept.number, version=row.version if made else row.version + 1, changed_at=Now(), **columns
    )
    timeline.record(
        states.CONFIGURATION_KEPT,
        about=row,
        by=by,
        on_behalf_of=on_behalf_of,
        name=name,
        number=kept.number,
        why=reason[:300],
    )
    return kept


def _columns(found: Judged) -> dict[str, Any]:
    document = found.document()
    groups = [each for each in document.get("instance_groups") or [] if isinstance(each, Mapping)]
    counts: dict[str, int] = {}
    for group in groups:
        if group.get("role") == "compute":
            kind = str(group.get("instance_type", ""))[:40]
            counts[kind] = counts.get(kind, 0) + _count(group)
    return {
        "architecture": _word(document, "architecture", 40),
        "architecture_version": _word(document, "version", 20),
        "region": _word(document, "region", 20),
        "az_id": _word(document, "az_id", 20),
        "main_type": max(counts, key=lambda kind: (counts[kind], kind)) if counts else "",
        "nodes": sum(map(_count, groups)),
        "usable": found.usable,
    }


def _count(group: Mapping[str, Any]) -> int:
    """How many, where that is a number; a blank that is still to be filled in counts nothing."""
    count = group.get("count")
    return count if isinstance(count, int) and not isinstance(count, bool) and 0 <= count < 1_000_000 else 0


def _word(document: Mapping[str, Any], name: str, length: int) -> str:
    value = document.get(name)
    return value[:length] if isinstance(value, str) else ""


def configurations() -> QuerySet[ClusterConfiguration]:
    return ClusterConfiguration.objects.select_related("tenant")


def configuration(pk: Any) -> ClusterConfiguration:
    found = configurations().filter(pk=pk).first()
    if found is None:
        raise Http404
    return found


def versions(row: ClusterConfiguration) -> QuerySet[ConfigurationVersion]:
    return ConfigurationVersion.objects.filter(configuration=row).order_by("-number")


def newest_versions() -> QuerySet[ConfigurationVersion]:
    """The newest of each configuration, for choosing one."""
    rows = ConfigurationVersion.objects.filter(number=F("configuration__newest"))
    return rows.select_related("configuration", "tenant").order_by("tenant__name", "configuration__name", "id")


def version(pk: Any) -> ConfigurationVersion:
    found = ConfigurationVersion.objects.select_related("configuration", "tenant").filter(pk=pk).first()
    if found is None:
        raise Http404
    return found


def written(document: Mapping[str, Any], kept: Mapping[str, Any] | None = None) -> str:
    """A document as YAML, with what is kept beside it."""
    ours = _ordered(document, Configuration.__dataclass_fields__)
    if isinstance(groups := ours.get("instance_groups"), list):
        fields = Group.__dataclass_fields__
        ours["instance_groups"] = [_ordered(each, fields) if isinstance(each, Mapping) else each for each in groups]
    whole = {**ours, **{name: value for name, value in (kept or {}).items() if name not in document}}
    return yaml.safe_dump(_plain(whole), sort_keys=False, allow_unicode=True, width=100)


def _ordered(document: Mapping[str, Any], fields: Iterable[str]) -> dict[str, Any]:
    """As a person would write it, since the database keeps no order of fields."""
    first = [name for name in fields if name in document]
    return {name: document[name] for name in [*first, *(name for name in document if name not in first)]}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value


@dataclass(frozen=True)
class Row:
    """One line of two texts side by side; a side without a number has nothing there."""

    left: str = ""
    right: str = ""
    left_number: int | None = None
    right_number: int | None = None

    @property
    def same(self) -> bool:
        return self.left_number is not None and self.right_number is not None and self.left == self.right


@dataclass(frozen=True)
class Compared:
    """Two versions: the differences in words, and both side by side as YAML; None when they are too long for that."""

    words: list[Change]
    rows: list[Row] | None


def compared(old: ConfigurationVersion, new: ConfigurationVersion) -> Compared:
    before, after = {**old.body, **_beside(old)}, {**new.body, **_beside(new)}
    left, right = written(old.body, old.kept).splitlines(), written(new.body, new.kept).splitlines()
    rows = None if max(len(left), len(right)) > LONGEST_COMPARED else side_by_side(left, right)
    return Compared(differences(before, after), rows)


def _beside(row: ConfigurationVersion) -> dict[str, Any]:
    return {name: value for name, value in row.kept.items() if name not in row.body}


def side_by_side(left: list[str], right: list[str]) -> list[Row]:
    rows: list[Row] = []
    for _tag, start, end, other, other_end in difflib.SequenceMatcher(None, left, right).get_opcodes():
        for step in range(max(end - start, other_end - other)):
            here, there = start + step, other + step
            has, had = here < end, there < other_end
            rows.append(
                Row(
                    left[here] if has else "",
                    right[there] if had else "",
                    here + 1 if has else None,
                    there + 1 if had else None,
                )
            )
    return rows
