"""What the API server refuses: objects are checked against the published schema of their kind, field by field."""

import functools
import importlib
import json
import re
from collections.abc import Iterator
from importlib import resources
from typing import Any

import jsonschema
import referencing
import referencing.jsonschema

from clusters.sandbox.kubernetes.kinds import Kind
from clusters.sandbox.kubernetes.quantities import amount

RELEASE = "v1.33.0-local"
CORE = "urn:kubernetes"
DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
DNS_START = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
DNS_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?")
RFC1123 = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an"
    " alphanumeric character"
)
# Enums and ranges that the definitions of the CRDs carry beside the published types.
ENUMS = {
    "cleanPodPolicy": ("All", "Running", "None"),
    "restartPolicy": ("Always", "OnFailure", "Never", "ExitCode"),
    "imagePullPolicy": ("Always", "IfNotPresent", "Never"),
}
POD_TEMPLATE = {"$ref": f"{CORE}#/$defs/io.k8s.api.core.v1.PodTemplateSpec"}
TEXT, COUNT = {"type": "string"}, {"type": "integer"}
# The kind of HyperPod's training operator has no published schema but the template that its command line fills.
HYPERPOD = {
    "type": "object",
    "required": ["spec"],
    "properties": {
        "spec": {
            "type": "object",
            "required": ["replicaSpecs"],
            "properties": {
                "nprocPerNode": TEXT,
                "runPolicy": {
                    "type": "object",
                    "properties": {
                        "cleanPodPolicy": {"enum": ["All", "OnlyComplete", "None"]},
                        "jobMaxRetryCount": COUNT,
                        "suspend": {"type": "boolean"},
                        "activeDeadlineSeconds": COUNT,
                        "startPolicy": TEXT,
                        "ttlSecondsAfterFinished": COUNT,
                        "restartPolicy": {
                            "type": "object",
                            "properties": {
                                "numRestartBeforeFullJobRestart": COUNT,
                                "evalPeriodSeconds": COUNT,
                                "maxFullJobRestarts": COUNT,
                            },
                        },
                        "logMonitoringConfiguration": {
                            "type": "array",
                            "items": {
                                "type": "object",
                                "required": ["name"],
                                "properties": {
                                    "name": TEXT,
                                    "logPattern": TEXT,
                                    "expectedStartCutOffInSeconds": COUNT,
                                    "expectedRecurringFrequencyInSeconds": COUNT,
                                },
                            },
                        },
                    },
                },
                "replicaSpecs": {
                    "type": "array",
                    "minItems": 1,
                    "items": {
                        "type": "object",
                        "required": ["name", "template"],
                        "properties": {
                            "name": TEXT,
                            "replicas": {"type": "integer", "minimum": 0},
                            "maxReplicas": COUNT,
                            "spares": COUNT,
                            "template": POD_TEMPLATE,
                        },
                    },
                },
                "elasticPolicy": {"type": "object"},
            },
        }
    },
}
ANY_OBJECT: dict[str, Any] = {"type": "object"}


def problems(kind: Kind, thing: dict[str, Any], strict: bool = False) -> list[tuple[str, str, str]]:
    """(field, reason, message) of everything that is wrong with an object, as causes of a Status name them."""
    found = list(_names(kind, thing))
    for error in _validator(kind.name).iter_errors(thing):
        found.append(_cause(error))
    if not found:
        found += list(_walk(thing.get("spec") or {}, "spec"))
        found += _rules(kind, thing)
    return found


def unknown(kind: Kind, thing: dict[str, Any]) -> list[str]:
    """The fields that the schema does not know: an error where the caller asked for strictness."""
    return sorted(set(_unknown(_schema(kind.name), thing, "")))


def _cause(error: Any) -> tuple[str, str, str]:
    while error.context:
        error = max(error.context, key=lambda one: len(one.path))
    path = _path(error.absolute_path)
    if error.validator == "required":
        missing = error.message.split("'")[1]
        return f"{path}.{missing}".strip("."), "FieldValueRequired", "Required value"
    if error.validator == "enum":
        allowed = ", ".join(f'"{one}"' for one in error.validator_value)
        return path, "FieldValueNotSupported", f'Unsupported value: "{error.instance}": supported values: {allowed}'
    if error.validator == "type":
        wanted = error.validator_value
        wanted = next((one for one in wanted if one != "null"), "") if isinstance(wanted, list) else wanted
        have = {str: "string", int: "integer", bool: "boolean", dict: "object", list: "array", float: "number"}
        name = have.get(type(error.instance), "null")
        return (
            path,
            "FieldValueTypeInvalid",
            f'Invalid value: "{name}": {path} in body must be of type {wanted}: "{name}"',
        )
    return path, "FieldValueInvalid", f"Invalid value: {json.dumps(error.instance)[:80]}: {error.message[:200]}"


def _path(parts: Any) -> str:
    text = ""
    for part in parts:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.lstrip(".")


def _names(kind: Kind, thing: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    name = str(thing.get("metadata", {}).get("name") or "")
    if not name:
        yield "metadata.name", "FieldValueRequired", "Required value: name or generateName is required"
        return
    longest = 63 if kind.runs or kind.plural in ("namespaces", "localqueues") else 253
    pattern = DNS_START if kind.runs else DNS_LABEL if longest == 63 else DNS_NAME
    if len(name) > longest:
        yield (
            "metadata.name",
            "FieldValueInvalid",
            f'Invalid value: "{name}": must be no more than {longest} characters',
        )
    elif not pattern.fullmatch(name):
        yield "metadata.name", "FieldValueInvalid", f'Invalid value: "{name}": {RFC1123}'
    for key, value in (thing["metadata"].get("labels") or {}).items():
        if not isinstance(value, str) or len(value) > 63 or not LABEL_VALUE.fullmatch(value):
            yield "metadata.labels", "FieldValueInvalid", f'Invalid value: "{value}": a valid label must be of 63 characters or less, of alphanumeric characters, \'-\', \'_\' or \'.\' ({key})'  # fmt: skip


def _walk(value: Any, path: str) -> Iterator[tuple[str, str, str]]:
    """Quantities and enums, wherever they stand."""
    if isinstance(value, list):
        for index, one in enumerate(value):
            yield from _walk(one, f"{path}[{index}]")
        return
    if not isinstance(value, dict):
        return
    for key, inner in value.items():
        where = f"{path}.{key}"
        if key in ("requests", "limits") and isinstance(inner, dict):
            yield from _quantities(inner, where)
        elif key in ENUMS and isinstance(inner, str) and inner not in ENUMS[key]:
            allowed = ", ".join(f'"{one}"' for one in ENUMS[key])
            yield where, "FieldValueNotSupported", f'Unsupported value: "{inner}": supported values: {allowed}'
        elif key == "resources" and isinstance(inner, dict):
            yield from _walk(inner, where)
            yield from _extended(inner, where)
        else:
            yield from _walk(inner, where)


def _quantities(told: dict[str, Any], path: str) -> Iterator[tuple[str, str, str]]:
    for name, value in told.items():
        try:
            number = amount(value)
        except ValueError:
            words = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
            yield f"{path}[{name}]", "FieldValueInvalid", f'Invalid value: "{value}": {words}'
            continue
        if number < 0:
            yield (
                f"{path}[{name}]",
                "FieldValueInvalid",
                f'Invalid value: "{value}": must be greater than or equal to 0',
            )
        elif "/" in name and number != int(number):
            yield f"{path}[{name}]", "FieldValueInvalid", f'Invalid value: "{value}": must be an integer'


def _extended(resources: dict[str, Any], path: str) -> Iterator[tuple[str, str, str]]:
    """Devices cannot be lent: a limit is needed, and a request has to equal it."""
    limits, requests = resources.get("limits") or {}, resources.get("requests") or {}
    for name in [name for name in requests if "/" in name]:
        if name not in limits:
            yield (
                f"{path}.limits",
                "FieldValueRequired",
                "Required value: Limit must be set for non overcommitable resources",
            )
        elif str(limits[name]) != str(requests[name]):
            yield (
                f"{path}.requests",
                "FieldValueInvalid",
                f'Invalid value: "{requests[name]}": must be equal to {name} limit',
            )


def _rules(kind: Kind, thing: dict[str, Any]) -> list[tuple[str, str, str]]:
    """What webhooks of the operators refuse beyond the types."""
    found = []
    spec = thing.get("spec") or {}
    if kind.name == "PyTorchJob":
        roles = spec.get("pytorchReplicaSpecs") or {}
        for role in roles:
            if role not in ("Master", "Worker"):
                found.append((f"spec.pytorchReplicaSpecs[{role}]", "FieldValueInvalid",
                              f'Invalid value: "{role}": must be one of [Master Worker]'))  # fmt: skip
        if int((roles.get("Master") or {}).get("replicas", 1)) != 1:
            found.append(("spec.pytorchReplicaSpecs[Master].replicas", "FieldValueForbidden", "Forbidden: must be 1"))
        for role, told in roles.items():
            containers = told["template"]["spec"]["containers"]
            if not any(one.get("name") == "pytorch" for one in containers):
                found.append((f"spec.pytorchReplicaSpecs[{role}]", "FieldValueRequired",
                              "Required value: must have at least one container with name pytorch"))  # fmt: skip
    return found


def _unknown(schema: Any, value: Any, path: str) -> Iterator[str]:
    schema = _resolved(schema)
    if isinstance(value, list) and isinstance(schema.get("items"), dict):
        for index, one in enumerate(value):
            yield from _unknown(schema["items"], one, f"{path}[{index}]")
    if not isinstance(value, dict) or "properties" not in schema:
        if isinstance(value, dict) and isinstance(schema.get("additionalProperties"), dict):
            for key, one in value.items():
                yield from _unknown(schema["additionalProperties"], one, f"{path}.{key}")
        return
    for key, one in value.items():
        if key not in schema["properties"]:
            if path or key not in ("apiVersion", "kind", "metadata", "status"):
                yield f"{path}.{key}".lstrip(".")
            continue
        yield from _unknown(schema["properties"][key], one, f"{path}.{key}".lstrip("."))


def _resolved(schema: Any) -> dict[str, Any]:
    while isinstance(schema, dict) and ("$ref" in schema or "anyOf" in schema or "allOf" in schema):
        if "$ref" in schema:
            base, _, pointer = schema["$ref"].partition("#")
            root: Any = (
                _core()
                if base in ("", CORE, "_definitions.json")
                and "io.k8s." in pointer
                and pointer.split("/")[2] in _core()["$defs"]
                else _train_job()
            )
            for part in pointer.strip("/").split("/"):
                root = root[part]
            schema = root
        else:
            choices = schema.get("anyOf") or schema["allOf"]
            schema = next((one for one in choices if one.get("type") != "null"), {})
    return dict(schema) if isinstance(schema, dict) else {}


@functools.cache
def _core() -> dict[str, Any]:
    """The definitions of one release of Kubernetes, every reference within them."""
    folder = resources.files("kubernetes_validate") / "kubernetes-json-schema" / RELEASE
    text = (folder / "_definitions.json").read_text()
    return {**json.loads(text.replace("_definitions.json#", "#")), "$id": CORE}


@functools.cache
def _train_job() -> dict[str, Any]:
    models = importlib.import_module("kubeflow_trainer_api.models")
    schema: dict[str, Any] = models.TrainerV1alpha1TrainJob.model_json_schema()
    # The generator makes objects of types that are written as text or as a number.
    for name in [name for name in schema["$defs"] if name.endswith(("ResourceQuantity", "IntOrString"))]:
        schema["$defs"][name] = {"type": ["string", "number"]}
    return schema


@functools.cache
def _schema(name: str) -> dict[str, Any]:
    if name in ("Pod", "Secret", "Namespace", "Event"):
        return {"$ref": f"{CORE}#/$defs/io.k8s.api.core.v1.{name}"}
    if name == "PyTorchJob":
        return {**_training("KubeflowOrgV1PyTorchJob"), "required": ["spec"]}
    if name == "HyperPodPyTorchJob":
        return HYPERPOD
    if name == "TrainJob":
        return {**_train_job(), "required": ["spec"]}
    return ANY_OBJECT


def _training(name: str) -> dict[str, Any]:
    """A JSON schema from the types that a class of the training operator's package publishes."""
    plain = {
        "str": TEXT, "int": COUNT, "bool": {"type": "boolean"}, "float": {"type": "number"}, "datetime": TEXT,
        "object": {},
    }  # fmt: skip
    if name in plain:
        return dict(plain[name])
    if name.startswith("list["):
        return {"type": "array", "items": _training(name[5:-1])}
    if name.startswith("dict("):
        return {"type": "object", "additionalProperties": _training(name[5:-1].split(", ")[1])}
    if name == "V1PodTemplateSpec":
        return dict(POD_TEMPLATE)
    models = importlib.import_module("kubeflow.training.models")
    told = getattr(models, name, None)
    if told is None:
        return dict(ANY_OBJECT)
    types, names = told.openapi_types, told.attribute_map
    schema: dict[str, Any] = {"type": "object", "properties": {names[key]: _training(types[key]) for key in types}}
    if name == "KubeflowOrgV1PyTorchJobSpec":
        schema["required"] = ["pytorchReplicaSpecs"]
    return schema


@functools.cache
def _validator(name: str) -> Any:
    registry = referencing.Registry().with_resource(
        CORE, referencing.Resource.from_contents(_core(), referencing.jsonschema.DRAFT202012)
    )
    return jsonschema.Draft202012Validator(_schema(name), registry=registry)
