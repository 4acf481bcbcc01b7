"""What the names and functions in a template mean for one stack, resolved piece by piece."""

import base64
import ipaddress
import re
from dataclasses import dataclass, field
from typing import Any

from clusters.sandbox.cloudformation.template import SUBSTITUTED, as_text, invalid

NO_VALUE = object()
LIST_TYPES = ("CommaDelimitedList",)


@dataclass
class Scope:
    """What names mean while a template is resolved."""

    template: dict[str, Any]
    parameters: dict[str, str]
    pseudo: dict[str, Any]
    zones: list[str]
    physical: dict[str, str] = field(default_factory=dict)
    attributes: dict[str, dict[str, Any]] = field(default_factory=dict)
    imports: dict[str, str] = field(default_factory=dict)

    def holds(self, name: str) -> bool:
        conditions = self.template.get("Conditions") or {}
        if name not in conditions:
            raise invalid(f"Template error: unresolved condition dependency {name}")
        return bool(self.resolve(conditions[name]))

    def included(self, resource: dict[str, Any]) -> bool:
        return not resource.get("Condition") or self.holds(resource["Condition"])

    def resolve(self, piece: Any) -> Any:
        if isinstance(piece, list):
            return [value for value in map(self.resolve, piece) if value is not NO_VALUE]
        if not isinstance(piece, dict):
            return piece
        if len(piece) == 1:
            ((key, value),) = piece.items()
            if key == "Ref":
                return self._ref(value)
            if key == "Condition" and isinstance(value, str):
                return self.holds(value)
            if key.startswith("Fn::"):
                handler = getattr(self, f"_{key[4:].lower()}", None)
                if handler is None:
                    raise invalid(f"Template error: {key} is not supported")
                return handler(value)
        resolved = {key: self.resolve(value) for key, value in piece.items()}
        return {key: value for key, value in resolved.items() if value is not NO_VALUE}

    def _ref(self, name: str) -> Any:
        if name == "AWS::NoValue":
            return NO_VALUE
        if name.startswith("AWS::"):
            return self.pseudo[name[5:]]
        if name in self.parameters:
            kind = self.template["Parameters"][name]["Type"]
            text = self.parameters[name]
            listed = kind.startswith("List<") or kind in LIST_TYPES
            return [part.strip() for part in text.split(",")] if listed else text
        if name in self.physical:
            return self.physical[name]
        raise invalid(f"Template error: {name} is not there: its condition does not hold")

    def _getatt(self, value: Any) -> Any:
        logical, attribute = value.split(".", 1) if isinstance(value, str) else value
        if attribute not in self.attributes.get(logical, {}):
            raise invalid(f"Template error: attribute {attribute} of {logical} is not there")
        return self.attributes[logical][attribute]

    def _sub(self, value: Any) -> str:
        text, own = (value, {}) if isinstance(value, str) else (value[0], self.resolve(value[1]))

        def replace(found: re.Match[str]) -> str:
            if found[1]:
                return "${" + found[2] + "}"
            name = found[2].strip()
            if name in own:
                return as_text(own[name])
            return as_text(self._getatt(name) if "." in name else self._ref(name))

        return SUBSTITUTED.sub(replace, text)

    def _join(self, value: Any) -> str:
        separator, pieces = value
        return str(separator).join(as_text(piece) for piece in self.resolve(pieces))

    def _split(self, value: Any) -> list[str]:
        return str(self.resolve(value[1])).split(value[0])

    def _select(self, value: Any) -> Any:
        number, pieces = int(self.resolve(value[0])), self.resolve(value[1])
        if not 0 <= number < len(pieces):
            raise invalid("Template error: Fn::Select cannot select nonexistent value at index " + str(number))
        return pieces[number]

    def _getazs(self, value: Any) -> list[str]:
        return list(self.zones)

    def _cidr(self, value: Any) -> list[str]:
        block, count, bits = (self.resolve(piece) for piece in (*value, 8)[:3])
        try:
            network = ipaddress.ip_network(str(block))
            subnets = network.subnets(new_prefix=network.max_prefixlen - int(bits))
            found = [str(subnet) for subnet, _ in zip(subnets, range(int(count)), strict=False)]
        except ValueError:
            raise invalid(f"Template error: Fn::Cidr cannot split {block}") from None
        if len(found) < int(count):
            raise invalid(f"Template error: Fn::Cidr: {block} has no {count} blocks of that size")
        return found

    def _if(self, value: Any) -> Any:
        name, then, otherwise = value
        return self.resolve(then if self.holds(name) else otherwise)

    def _equals(self, value: Any) -> bool:
        one, other = (self.resolve(piece) for piece in value)
        return as_text(one) == as_text(other)

    def _not(self, value: Any) -> bool:
        return not self.resolve(value[0])

    def _and(self, value: Any) -> bool:
        return all(self.resolve(piece) for piece in value)

    def _or(self, value: Any) -> bool:
        return any(self.resolve(piece) for piece in value)

    def _findinmap(self, value: Any) -> Any:
        name, first, second = (self.resolve(piece) for piece in value[:3])
        try:
            return self.template["Mappings"][name][first][second]
        except KeyError:
            raise invalid(f"Template error: Unable to get mapping for {name}::{first}::{second}") from None

    def _importvalue(self, value: Any) -> str:
        name = self.resolve(value)
        if name not in self.imports:
            raise invalid(f"No export named {name} found.")
        return self.imports[name]

    def _base64(self, value: Any) -> str:
        return base64.b64encode(str(self.resolve(value)).encode()).decode()
