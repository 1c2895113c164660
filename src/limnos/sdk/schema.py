"""Arguments and their JSON Schema: checked strictly, except for scalars that a model wrote in another way."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from limnos import lazy
from limnos.kernel.seams import Invalid, Valid, Validation

_INTEGER = re.compile(r"-?[0-9]{1,300}")
_DECIMAL = re.compile(r"-?[0-9]{1,300}(\.[0-9]{1,300})?")


class SchemaValidator:
    """Implements `kernel.seams.Validator`; compiled schemas are kept, remote references are never fetched."""

    def __init__(self) -> None:
        self._compiled: dict[int, tuple[Mapping[str, Any], Any]] = {}

    def __call__(self, schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> Validation:
        """Check `arguments`; the texts `true`, `false` and plain decimals become scalars where wanted.

        So does a number without a fraction become an integer: to JSON Schema 2.0 is one, to a tool it is not.
        """
        place = find_nul(arguments)
        if place:
            return Invalid(f"{place} holds a NUL character", "send the value without it")
        try:
            validator = self._validator(schema)
            value = cast("dict[str, Any]", lenient(schema, dict(arguments)))
            errors = list(validator.iter_errors(value))
        except ValueError as error:
            return Invalid(
                f"the schema of this tool is broken: {error}", "use another tool and tell the person"
            )
        if not errors:
            return Valid(value)
        details = [f"{_place(error)}: {str(error.message)[:300]}" for error in errors[:3]]
        return Invalid("; ".join(details), _hint(schema))

    def _validator(self, schema: Mapping[str, Any]) -> Any:
        known = self._compiled.get(id(schema))
        if known is None or known[0] is not schema:
            compiled = lazy.jsonschema_rs.Draft202012Validator(
                dict(schema), retriever=_refuse, validate_formats=False
            )
            known = self._compiled[id(schema)] = (schema, compiled)
        return known[1]


def object_schema(required: Sequence[str], **properties: Any) -> dict[str, Any]:
    """The schema of arguments that have these properties and no others."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def _refuse(uri: str) -> Any:
    raise ValueError(f"the reference {uri} is not fetched")


def _place(error: Any) -> str:
    path = ".".join(str(part) for part in error.instance_path)
    return path or "arguments"


def _hint(schema: Mapping[str, Any]) -> str:
    required = cast("list[str]", schema.get("required", []))
    names = ", ".join(schema.get("properties", {}))
    return f"fields: {names or 'none'}; required: {', '.join(required) or 'none'}"


def find_nul(value: Any, place: str = "") -> str:
    """The dotted place of the first text with a NUL character, or the empty text."""
    if isinstance(value, str):
        return (place or "a value") if "\x00" in value else ""
    items: list[tuple[Any, Any]] = []
    if isinstance(value, Mapping):
        items = list(cast("Mapping[Any, Any]", value).items())
        if any("\x00" in str(key) for key, _ in items):
            return f"a name in {place or 'the arguments'}"
    elif isinstance(value, list):
        items = list(enumerate(cast("list[Any]", value)))
    for key, item in items:
        found = find_nul(item, f"{place}.{key}" if place else str(key))
        if found:
            return found
    return ""


def lenient(schema: Any, value: Any) -> Any:
    """`value` with texts and floats turned into what `schema` wants, where they can mean nothing else."""
    if not isinstance(schema, Mapping):
        return value
    known = cast("Mapping[str, Any]", schema)
    if isinstance(value, dict):
        properties = cast("Mapping[str, Any]", known.get("properties", {}))
        pairs = cast("dict[str, Any]", value).items()
        return {key: lenient(properties.get(key), item) for key, item in pairs}
    if isinstance(value, list):
        return [lenient(known.get("items"), item) for item in cast("list[Any]", value)]
    wanted = _types(known.get("type"))
    if isinstance(value, float):
        return int(value) if value.is_integer() and "integer" in wanted and "number" not in wanted else value
    return _scalar(wanted, value) if isinstance(value, str) else value


def _types(wanted: Any) -> list[Any]:
    return cast("list[Any]", wanted) if isinstance(wanted, list) else [wanted]


def _scalar(wanted: list[Any], text: str) -> Any:
    if "string" in wanted:
        return text
    if "boolean" in wanted and text in ("true", "false"):
        return text == "true"
    if ("integer" in wanted or "number" in wanted) and _INTEGER.fullmatch(text):
        return int(text)
    if "number" in wanted and _DECIMAL.fullmatch(text):
        return float(text)
    return text
