"""Request bodies of the API: strict JSON in, and every refusal names the field, what was sent, the limit and the way out."""

import difflib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NoReturn

from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.parsers import JSONParser
from rest_framework.request import Request

from tenants.web.problems import Refused

DEEPEST = 32
LIMITS = ("max_value", "min_value", "max_length", "min_length", "max_digits", "decimal_places")


class StrictJSON(JSONParser):
    """The body of a request as one JSON object, read strictly; an empty body is an empty one."""

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Any = None) -> dict[str, Any]:
        return json_object(stream.read())


def json_object(text: bytes) -> dict[str, Any]:
    """One JSON object: no key twice, no NaN, no NUL, no half of a surrogate pair, not deeper than 32. Raises Refused."""
    if not text.strip():
        return {}
    found = strict_object(text)
    for path, problem in _unfit(found, "", 1):
        raise refusal(path, problem, None, "unfit")
    return found


def strict_object(text: bytes) -> dict[str, Any]:
    """One JSON object, no key twice, no NaN; what its texts hold is still to be looked at. Raises Refused (400)."""
    try:
        found = json.loads(text.decode("utf-8"), object_pairs_hook=_once_each, parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        raise Refused(
            "malformed", _("The body is not UTF-8 (byte %(at)s).") % {"at": error.start}, status=400
        ) from None
    except json.JSONDecodeError as error:
        raise Refused(
            "malformed",
            _("The body is not JSON: %(what)s at line %(line)s, column %(column)s.")
            % {"what": error.msg, "line": error.lineno, "column": error.colno},
            status=400,
            line=error.lineno,
            column=error.colno,
        ) from None
    except (RecursionError, ValueError):
        raise Refused("malformed", _("The body holds a number or a nesting that cannot be read."), status=400) from None
    if not isinstance(found, dict):
        raise Refused("malformed", _('The body must be one JSON object, like {"name": …}.'), status=400)
    return found


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _value in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise Refused("malformed", _("The field '%(name)s' is there twice.") % {"name": twice[:60]}, status=400)
    return found


def _no_constant(word: str) -> NoReturn:
    raise Refused("malformed", _("%(word)s is not a number in JSON.") % {"word": word}, status=400)


def _unfit(value: Any, path: str, depth: int) -> Iterator[tuple[str, str]]:
    """What no column can keep, wherever in the body it is."""
    if depth > DEEPEST:
        yield path, _("Nested more than %(most)s levels deep.") % {"most": DEEPEST}
    elif isinstance(value, str):
        if "\x00" in value:
            yield path, _("Holds a NUL character; remove it.")
        elif any("\ud800" <= letter <= "\udfff" for letter in value):
            yield path, _("Holds half of a surrogate pair; send whole characters.")
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from _unfit(name, f"{path}.{name}".lstrip(".")[:80], depth)
            yield from _unfit(inner, f"{path}.{name}".lstrip(".")[:80], depth + 1)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _unfit(inner, f"{path}[{index}]", depth + 1)


def refusal(field: str, sentence: str, value: Any, code: str, **limit: Any) -> Refused:
    """A 422 for one field."""
    field = field.encode("utf-8", "replace").decode().replace("\x00", "␀")
    error = {
        "field": field,
        "sentence": sentence,
        "code": code,
        **({"value": _short(value)} if value is not None else {}),
        **limit,
    }
    return Refused(
        "invalid", f"{field}: {sentence}" if field else sentence, status=422, fields={field: [sentence]}, errors=[error]
    )


def nearest(word: str, known: Iterable[str]) -> str:
    """ ", did you mean …" for a misspelt word, or all that is known."""
    listed = sorted(known)
    close = difflib.get_close_matches(word, listed, n=1, cutoff=0.6)
    if close:
        return _("Did you mean '%(name)s'?") % {"name": close[0]}
    return _("Known are: %(names)s.") % {"names": ", ".join(listed) or "–"}


class Asked(serializers.Serializer):
    """An input: refuses fields that it does not know instead of ignoring them."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, Mapping):
            writable = [name for name, field in self.fields.items() if not field.read_only]
            unknown = {
                name: [
                    serializers.ErrorDetail(
                        _("There is no such field to write. %(hint)s") % {"hint": nearest(name, writable)}, "unknown"
                    )
                ]
                for name in data
                if name not in writable
            }
            if unknown:
                raise serializers.ValidationError(unknown)
        return super().to_internal_value(data)


class AskedModel(Asked, serializers.ModelSerializer):
    """An input whose fields are a model's; the database's own rules across fields are checked where it is saved."""

    def get_validators(self) -> list[Any]:
        return []


def asked(form: type[serializers.Serializer], request: Request, **options: Any) -> dict[str, Any]:
    """The body as `form` reads it. Raises Refused (422) that names each field, its value, the limit and what to do."""
    serializer = form(data=request.data, **options)
    if serializer.is_valid():
        return dict(serializer.validated_data)
    errors = list(_errors(serializer.errors, serializer, request.data, ""))
    first = errors[0]
    raise Refused(
        "invalid",
        f"{first['field']}: {first['sentence']}" if first["field"] else first["sentence"],
        status=422,
        fields={
            error["field"] or "_": [e["sentence"] for e in errors if e["field"] == error["field"]] for error in errors
        },
        errors=errors[:100],
    )


def _errors(found: Any, shape: Any, data: Any, path: str) -> Iterator[dict[str, Any]]:
    if isinstance(found, Mapping):
        for name, inner in found.items():
            at = path if name == "non_field_errors" else f"{path}.{name}".lstrip(".")
            fields = getattr(shape, "fields", {})
            field = fields[name] if name in fields else getattr(shape, "child", None)
            yield from _errors(inner, field, data.get(name) if isinstance(data, Mapping) else data, at)
        return
    for index, inner in enumerate(found):
        if isinstance(inner, Mapping):
            if inner:
                child = getattr(shape, "child", None)
                row = data[index] if isinstance(data, list) and index < len(data) else None
                yield from _errors(inner, child, row, f"{path}[{index}]")
            continue
        limits = {name: getattr(shape, name) for name in LIMITS if getattr(shape, name, None) is not None}
        choices = getattr(shape, "choices", None)
        if choices and len(choices) <= 40:
            limits["allowed"] = [str(choice) for choice in choices]
        sent = {} if data is None or isinstance(data, Mapping) else {"value": _short(data)}
        yield {"field": path[:120], "sentence": str(inner), "code": getattr(inner, "code", "invalid"), **sent, **limits}


def _short(value: Any) -> Any:
    """What was sent, so that its sender finds it again, but not a megabyte of it."""
    if isinstance(value, bool | int | float):
        return value if len(str(value)) <= 40 else f"{str(value)[:40]}…"
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    text = text.encode("utf-8", "replace").decode().replace("\x00", "␀")
    return text if len(text) <= 80 else f"{text[:80]}…"
