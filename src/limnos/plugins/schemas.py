"""Schemas in a `plugin.toml`: of a tool's arguments, and of the plugin's settings."""

import os
from collections.abc import Iterator, Mapping
from math import isfinite
from pathlib import Path as FilePath
from typing import Any, Final, cast

from limnos import lazy
from limnos.kernel.arguments import ParseFailure, parse_json
from limnos.plugins.lines import Path
from limnos.plugins.tables import MOST_TEXT, Page, Table, shown, text_fault
from limnos.sdk.regular import read_regular
from limnos.sdk.schema import object_schema

MOST_SCHEMA: Final = 32 * 1024  # bytes
KINDS: Final = ("string", "integer", "number", "boolean", "array", "object")
_DETAILS = (
    "enum", "default", "minimum", "maximum", "minLength", "maxLength", "pattern", "items", "minItems",
    "maxItems", "properties", "additionalProperties",
)  # fmt: skip
_SETTING_KINDS = ("string", "integer", "number", "boolean")
_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,),
}  # fmt: skip
_ANY: Final[Mapping[str, Any]] = object_schema(())


def read_parameters(table: Table) -> Mapping[str, Any]:
    """The schema from `[tools.parameters.NAME]` tables."""
    properties: dict[str, Any] = {}
    required: list[str] = []
    for name, one in table.named("parameters"):
        schema = {"type": one.choice("type", KINDS, None), "description": one.text("description")}
        schema |= {key: one.values[key] for key in _DETAILS if one.has(key)}
        if one.flag("required", False):
            required.append(name)
        one.finish()
        plain = _is_plain(one.page, one.path, schema)
        properties[name] = schema if plain else {}
    schema = object_schema(required, **properties)
    _check(table, "parameters", schema)
    return schema


def read_schema(table: Table, folder: FilePath) -> Mapping[str, Any]:
    """The schema that `schema` holds, or that stands in the file of the plugin which it names."""
    value = table.values["schema"]
    if isinstance(value, dict):
        schema = cast("dict[str, Any]", value)
        if not _is_plain(table.page, (*table.path, "schema"), schema):
            return _ANY
    else:
        found = _from_file(table, folder)
        if found is None:
            return _ANY
        schema = found
    if schema.get("type") != "object":
        table.fault("schema", "is not for an object", 'write type = "object" and properties')
        return _ANY
    _check(table, "schema", schema)
    return schema


def read_settings(table: Table) -> Mapping[str, Any]:
    """The schema of `[settings.NAME]` tables: each with type, description and default."""
    properties: dict[str, Any] = {}
    for name in table.values:
        one = table.table(name)
        kind = one.choice("type", _SETTING_KINDS, None)
        schema: dict[str, Any] = {"type": kind, "description": one.text("description")}
        if one.has("enum"):
            schema["enum"] = list(one.texts("enum"))
        if one.has("default"):
            schema["default"] = one.values["default"]
            _check_default(one, schema)
        one.finish()
        properties[name] = schema
    return object_schema((), **properties)


def defaults(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The values that a plugin's settings have until somebody changes them."""
    properties = cast("Mapping[str, Mapping[str, Any]]", settings.get("properties", {}))
    return {name: schema["default"] for name, schema in properties.items() if "default" in schema}


def _check_default(one: Table, schema: Mapping[str, Any]) -> None:
    value, kind = schema["default"], schema["type"]
    right = type(value) in _TYPES.get(kind, ()) and not (isinstance(value, float) and not isfinite(value))
    if not right:
        one.fault("default", f"is {shown(value)}", f"write a value of type {kind}")
    elif "enum" in schema and value not in schema["enum"]:
        one.fault("default", f"is {shown(value)}", "write one of enum")


def _from_file(table: Table, folder: FilePath) -> dict[str, Any] | None:
    name = table.text("schema")
    if not name:
        return None
    path = folder / name
    if os.path.isabs(name) or ".." in name.split("/") or path.is_symlink():
        table.fault(
            "schema", f"is {shown(name)}: it leads out of the plugin", "name a file beside plugin.toml"
        )
        return None
    try:
        text = read_regular(path, MOST_SCHEMA).decode()
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) else "it is no UTF-8"
        table.fault("schema", f"names {shown(name)}, which cannot be read: {said}", "put the file there")
        return None
    value = parse_json(text)
    if isinstance(value, dict):
        return cast("dict[str, Any]", value)
    said = value.detail if isinstance(value, ParseFailure) else "it is no object"
    table.fault("schema", f"names {shown(name)}, which is no JSON Schema: {said}", "mend that file")
    return None


def _is_plain(page: Page, path: Path, value: Any) -> bool:
    """Whether JSON can hold `value`; a date, an infinity or a secret character is noted as a fault."""
    wrong = list(_not_plain(path, value))
    for place, one in wrong:
        page.fault(place, f"is {shown(one)}, which JSON cannot hold", "write a text or a finite number")
    return not wrong


def _not_plain(path: Path, value: Any) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, dict):
        for key, item in cast("dict[str, Any]", value).items():
            yield from _not_plain((*path, key), item)
    elif isinstance(value, list):
        for number, item in enumerate(cast("list[Any]", value)):
            yield from _not_plain((*path, number), item)
    elif not isinstance(value, str | bool | int | float) or (
        isinstance(value, float) and not isfinite(value)
    ):
        yield path, value


def _check(table: Table, key: str, schema: Mapping[str, Any]) -> None:
    """Note what makes `schema` no schema for arguments, and each property without a description."""
    properties = schema.get("properties", {})
    for name, one in cast("Mapping[str, Any]", properties).items() if isinstance(properties, dict) else ():
        described = isinstance(one, dict) and str(cast("dict[str, Any]", one).get("description", "")).strip()
        if key == "schema" and not described:
            fix = "say in a sentence what it is"
            place = (*table.path, key, "properties", name)
            table.page.fault(place, "has no description", fix)
    wrong = next(filter(None, (text_fault(text, MOST_TEXT) for text in _texts(schema))), "")
    if wrong:
        table.fault(key, f"has a text that {wrong}", "write it anew")
    try:
        lazy.jsonschema_rs.Draft202012Validator(dict(schema), retriever=_refuse, validate_formats=False)
    except ValueError as error:
        if not table.page.faults:
            table.fault(key, f"is no JSON Schema: {shown(str(error))[1:-1]}", "mend it")


def _texts(value: Any) -> Iterator[str]:
    """Every text in a schema, its keys too."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in cast("dict[str, Any]", value).items():
            yield key
            yield from _texts(item)
    elif isinstance(value, list):
        for item in cast("list[Any]", value):
            yield from _texts(item)


def _refuse(uri: str) -> Any:
    raise ValueError(f"the reference {uri} is not fetched")
