"""A job as a manifest of Kubernetes: read from what a person sent, and refused in a sentence where it cannot be launched."""

import json
from typing import Any

import yaml
from django.utils.translation import gettext as _

from clusters.launchers import manifests
from tenants.web.problems import Refused

LARGEST = 1_000_000


def is_manifest(text: str) -> bool:
    """What begins with `#!` is a script; everything else that a person launches is a manifest."""
    return not text.startswith("#!")


def read(text: str) -> dict[str, Any]:
    """The one object of a file in YAML or JSON. Raises Refused."""
    if len(text) > LARGEST:
        raise _refused(_("A manifest has at most %(most)s characters.") % {"most": f"{LARGEST:,}"})
    try:
        if any(isinstance(token, yaml.AliasToken) for token in yaml.scan(text, Loader=yaml.SafeLoader)):
            raise _refused(_("The manifest uses an alias (*name); write what it stands for."))
        told = [one for one in yaml.safe_load_all(text) if one is not None]
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark else 1
        raise _refused(_("The manifest cannot be read as YAML: see line %(line)s.") % {"line": line}) from error
    if len(told) != 1 or not isinstance(told[0], dict):
        raise _refused(_("A manifest holds one object; this one holds %(count)s.") % {"count": len(told)})
    return json_like(told[0])


def json_like(thing: dict[str, Any]) -> dict[str, Any]:
    """YAML knows dates and keys that are no text; the API of Kubernetes does not."""
    found: dict[str, Any] = json.loads(json.dumps(thing, default=str))
    return found


def checked(text: str, namespace: str) -> dict[str, Any]:
    """The manifest of a job that may be launched in this namespace. Raises Refused with what to change."""
    thing = read(text)
    kind, meta = thing.get("kind"), thing.get("metadata") or {}
    known = {name: f"{group}/{version}" for name, (group, version, _plural) in manifests.KINDS.items()}
    if kind not in known or thing.get("apiVersion") != known[kind]:
        raise _refused(
            _("The manifest is of kind “%(kind)s” (%(version)s); a job is one of: %(known)s.")
            % {
                "kind": str(kind)[:60],
                "version": str(thing.get("apiVersion"))[:60],
                "known": ", ".join(f"{name} ({version})" for name, version in known.items()),
            }
        )
    if not isinstance(meta, dict) or meta.get("namespace", namespace) != namespace:
        asked = meta.get("namespace") if isinstance(meta, dict) else meta
        raise _refused(
            _("The manifest asks for the namespace “%(asked)s”; jobs of this cluster run in “%(namespace)s”.")
            % {"asked": str(asked)[:63], "namespace": namespace}
        )
    try:
        pods = manifests.pods(thing)
        list(manifests.containers(thing))
        manifests.accelerators(thing)
        manifests.marked(thing, namespace, manifests.Mark("name", "token"))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _refused(
            _("The manifest does not describe the pods of a %(kind)s: %(what)s is missing or of another type.")
            % {"kind": kind, "what": str(error)[:80]}
        ) from error
    if not 1 <= pods <= 10_000:
        raise _refused(_("The manifest asks for %(pods)s pods; a job has 1 to 10,000.") % {"pods": pods})
    return thing


def _refused(sentence: str) -> Refused:
    return Refused("job_manifest", sentence, status=422, field="script")
