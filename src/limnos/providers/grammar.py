"""A GBNF grammar that lets a local model say only a call of an offered tool, or an answer.

The two forms, with exactly this white space: `{"tool": NAME, "args": {…}}` and `{"answer": TEXT}`.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from limnos.kernel.model import ToolSpec

MAX_DEPTH = 6
MAX_ITEMS = 32
MAX_PROPERTIES = 32

# Chinese, Japanese and Korean: signs, kana, ideographs, syllables, full-width forms.
EAST_ASIAN = r"\u3000-\u30FF\u3400-\u9FFF\uAC00-\uD7AF\uFF00-\uFFEF"
_BASE = r"""
string ::= "\"" char* "\""
char ::= [^"\\\x00-\x1F\x7FEXCLUDED] | "\\" (["\\/bfnrt] | "u" hex hex hex hex)
hex ::= [0-9a-fA-F]
integer ::= "-"? ("0" | [1-9] [0-9]{0,14})
number ::= integer ("." [0-9]{1,15})?
boolean ::= "true" | "false"
value ::= string | number | boolean | "null" | list | object
list ::= "[" (value (", " value){0,31})? "]"
object ::= "{" (string ": " value (", " string ": " value){0,31})? "}"
"""
_SCALARS = {
    "string": "string",
    "integer": "integer",
    "number": "number",
    "boolean": "boolean",
    "null": '"null"',
}


_ANSWER = r'"{\"answer\": "'
_CLOSE = '"}"'


def reply_grammar(tools: Sequence[ToolSpec], *, east_asian: bool = True) -> str:
    """The grammar of one reply when `tools` are offered; without tools only an answer can be said.

    Without `east_asian` no character of these scripts can be said.
    """
    build = _Builder()
    calls = [
        build.rule(f"{_literal(_opening(tool.name))} {build.schema(tool.parameters)} {_CLOSE}")
        for tool in tools
    ]
    answer = build.rule(f"{_ANSWER} string {_CLOSE}")
    base = _BASE.strip().replace("EXCLUDED", "" if east_asian else EAST_ASIAN)
    return "\n".join((f"root ::= {' | '.join((*calls, answer))}", *build.rules, base)) + "\n"


def _opening(tool: str) -> str:
    return f'{{"tool": {json.dumps(tool, ensure_ascii=False)}, "args": '


class _Builder:
    """Collects the rules of nested schemas. What it does not know becomes any JSON value: the arguments are
    validated against the schema after the reply anyway."""

    def __init__(self) -> None:
        self.rules: list[str] = []

    def rule(self, body: str) -> str:
        """Add a rule and return its name."""
        name = f"r{len(self.rules)}"
        self.rules.append(f"{name} ::= {body}")
        return name

    def schema(self, schema: Mapping[str, Any], depth: int = 0) -> str:
        """The expression that stands for a value of `schema`."""
        choices = schema.get("enum", [schema["const"]] if "const" in schema else None)
        if isinstance(choices, list) and choices:
            return self._choice(
                _literal(json.dumps(item, ensure_ascii=False)) for item in cast("list[Any]", choices)
            )
        for keyword in ("anyOf", "oneOf"):
            if isinstance(options := schema.get(keyword), list) and options and depth < MAX_DEPTH:
                return self._choice(
                    self.schema(item, depth + 1) for item in cast("list[dict[str, Any]]", options)
                )
        kind = schema.get("type")
        if isinstance(kind, list):
            return self._choice(
                self.schema({**schema, "type": item}, depth + 1) for item in cast("list[str]", kind)
            )
        return self._typed(kind, schema, depth)

    def _typed(self, kind: object, schema: Mapping[str, Any], depth: int) -> str:
        if isinstance(kind, str) and kind in _SCALARS:
            return _SCALARS[kind]
        if depth >= MAX_DEPTH:
            return "value"
        if kind == "array":
            return self._array(schema, depth)
        if kind == "object" or "properties" in schema:
            return self._object(schema, depth)
        return "value"

    def _choice(self, options: Iterable[str]) -> str:
        return self.rule(" | ".join(options))

    def _array(self, schema: Mapping[str, Any], depth: int) -> str:
        items = schema.get("items")
        item = self.schema(cast("dict[str, Any]", items), depth + 1) if isinstance(items, dict) else "value"
        most = min(MAX_ITEMS, int(schema.get("maxItems", MAX_ITEMS)))
        least = min(most, int(schema.get("minItems", 0)))
        if most == 0:
            return _literal("[]")
        some = f'{item} (", " {item}){{{max(0, least - 1)},{most - 1}}}'
        return self.rule(f'"[" {some if least else f"({some})?"} "]"')

    def _object(self, schema: Mapping[str, Any], depth: int) -> str:
        properties = cast("dict[str, dict[str, Any]]", schema.get("properties") or {})
        if not properties:
            return _literal("{}") if schema.get("additionalProperties") is False or depth == 0 else "object"
        required = set(cast("list[str]", schema.get("required") or []))
        pairs = {
            name: self._pair(name, item, depth) for name, item in list(properties.items())[:MAX_PROPERTIES]
        }
        first = [pair for name, pair in pairs.items() if name in required]
        more = [pair for name, pair in pairs.items() if name not in required]
        return self.rule(f'"{{" {_members(first, more)} "}}"')

    def _pair(self, name: str, schema: Mapping[str, Any], depth: int) -> str:
        key = _literal(f"{json.dumps(name, ensure_ascii=False)}: ")
        return self.rule(f"{key} {self.schema(schema, depth + 1)}")


def _members(required: list[str], optional: list[str]) -> str:
    """The required pairs, then any of the optional ones in their order, with commas between."""
    follow = [f'(", " {pair})?' for pair in optional]
    if required:
        return " ".join((' ", " '.join(required), *follow))
    starts = (" ".join((pair, *follow[place + 1 :])) for place, pair in enumerate(optional))
    return f"({' | '.join(starts)})?"


def _literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\r", "\\r")
    return f'"{escaped}"'
