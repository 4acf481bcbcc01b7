"""How our routes appear in the OpenAPI document: one stable name each, and the one shape of every refusal."""

import re
from typing import Any

from drf_spectacular.openapi import AutoSchema
from rest_framework import serializers

VERBS = {"GET": "get", "POST": "post", "PATCH": "change", "PUT": "put", "DELETE": "delete"}
REFUSED = "application/problem+json"


class Problem(serializers.Serializer):
    """Every refusal and error (RFC 9457). `code` never changes; further members depend on it."""

    type = serializers.CharField()
    title = serializers.CharField()
    status = serializers.IntegerField()
    code = serializers.CharField(help_text="What went wrong, as a word that never changes.")
    detail = serializers.CharField(help_text="What went wrong and what to do, in a sentence.")
    fields = serializers.DictField(child=serializers.ListField(child=serializers.CharField()), required=False)
    errors = serializers.ListField(
        child=serializers.DictField(), required=False, help_text="Field, value, limit and sentence of each."
    )


class Described(AutoSchema):
    """Names operations by method and address, and lets each answer with a Problem."""

    def get_operation_id(self) -> str:
        words = re.sub(r"[{}]", "", self.path.removeprefix("/api/v1/")).replace("-", "_").strip("/").split("/")
        return "_".join([VERBS.get(self.method, self.method.lower()), *words])

    def get_tags(self) -> list[str]:
        words = [word for word in self.path.removeprefix("/api/v1/").split("/") if word]
        return [words[2] if words[0] == "t" and len(words) > 2 else words[0]]

    def get_auth(self) -> list[dict[str, list[str]]]:
        return [{"token": []}, {"session": []}]

    def _get_response_bodies(self, direction: Any = "response") -> Any:
        bodies = super()._get_response_bodies(direction)
        bodies["default"] = self._get_response_for_code(Problem, "default", media_types=[REFUSED])
        return bodies
