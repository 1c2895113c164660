"""The plugin that is looked at, and what it is tried with: arguments, stage payloads, forms of answers."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple, cast, get_args

from limnos.kernel.messages import ErrorReason
from limnos.plugins.manifest import Manifest, StageDeclaration, ToolDeclaration
from limnos.plugins.schemas import defaults
from limnos.sdk.harness import Harness, Surroundings, over_wire

Json = dict[str, Any]

TEXT: Final = 'Grüße, "Ada" 😀\\ \u2028 \x01 日本\nline two\t.'
LONG_TEXT: Final = "word " * 20_000
REASONS: Final = get_args(ErrorReason)
ACTIONS: Final = {"pass": None, "rewrite": "payload", "deny": "reason", "answer": "text"}
_MOST: Final = 60  # the largest number that is tried: a tool may take it as seconds
_LIMITING: Final = ("enum", "const", "pattern", "format", "maxLength")
_MESSAGE: Final[Json] = {"role": "user", "text": TEXT}
_CALL: Final[Json] = {"id": "c1", "name": "read_file", "arguments": {"path": "notes.txt"}}
PAYLOADS: Final[Mapping[str, Json]] = {
    "on_input": {"text": TEXT, "source": "terminal", "principal": "owner"},
    "pre_action": {"messages": [_MESSAGE, {"role": "assistant", "text": "", "calls": [_CALL]}]},
    "post_action": {"text": TEXT, "calls": [_CALL]},
    "before_toolcall": {"call": "c1", "tool": "read_file", "plugin": "files", "arguments": {"path": "a"}},
    "after_toolcall": {
        "tool": "read_file",
        "plugin": "files",
        "call": "c1",
        "outcome": "done",
        "text": TEXT,
        "error": None,
    },
    "before_output": {"text": TEXT},
    "after_output": {"text": TEXT},
}


class LeftOut(Exception):  # noqa: N818 - nothing is wrong
    """The plugin has nothing that this check could be done with; says what is missing."""


class Subject(NamedTuple):
    """The plugin that is looked at. `samples` are arguments by tool, for tools to be tried with them."""

    folder: Path
    manifest: Manifest
    samples: Mapping[str, Mapping[str, Any]] = {}
    command: tuple[str, ...] = ()  # in place of the entry of the folder

    @property
    def around(self) -> Surroundings:
        """What it is told at the start."""
        manifest = self.manifest
        return Surroundings(
            manifest.name,
            defaults(manifest.settings),
            arena=manifest.limits.arena,
            provides=manifest.provides,
        )

    def started(self) -> Harness:
        """It, running."""
        return over_wire(self.command or self.folder, self.around, cwd=str(self.folder))

    def tries(self, *, long: bool = False) -> list[tuple[str, Mapping[str, Any]]]:
        """Tools with arguments to call them with. Raises LeftOut when there are none."""
        known = {tool.name: tool for tool in harmless(self.manifest)}
        made = [(name, arguments(tool, long=long) or {}) for name, tool in known.items()]
        found = [*self.samples.items(), *(one for one in made if one[0] not in self.samples)]
        if not found:
            raise LeftOut('it has no tool with effects = "none" that needs no approval')
        return found

    def texted(self) -> tuple[ToolDeclaration, str]:
        """A tool with an argument that takes any text, and its name. Raises LeftOut when there is none."""
        for tool in harmless(self.manifest):
            if name := text_argument(tool):
                return tool, name
        raise LeftOut("it has no tool without effects that takes a text")


def harmless(manifest: Manifest) -> list[ToolDeclaration]:
    """The tools that may be tried with made-up arguments: without effects, and nobody is asked about them."""
    return [
        tool
        for tool in manifest.tools
        if tool.effects == "none" and not tool.needs_approval and arguments(tool) is not None
    ]


def arguments(tool: ToolDeclaration, *, long: bool = False) -> Json | None:
    """Arguments that fit the schema; `long` ones make much work. None when none can be made up."""
    known = cast("Json", tool.parameters.get("properties", {}))
    made: Json = {}
    for name in cast("list[str]", tool.parameters.get("required", [])):
        value = _value(known.get(name, {}), long)
        if value is None:
            return None
        made[name] = value
    return made


def text_argument(tool: ToolDeclaration) -> str:
    """The name of an argument that takes any text; empty when there is none."""
    known = cast("Json", tool.parameters.get("properties", {}))
    for name in cast("list[str]", tool.parameters.get("required", [])):
        schema = cast("Json", known.get(name, {}))
        if schema.get("type") == "string" and not any(word in schema for word in _LIMITING):
            return name
    return ""


def _value(schema: Json, long: bool) -> Any:
    for word in ("const", "default"):
        if word in schema:
            return schema[word]
    if schema.get("enum"):
        return schema["enum"][0]
    match schema.get("type"):
        case "string":
            return _string(schema, long)
        case "integer" | "number":
            return _number(schema, long)
        case "boolean":
            return False
        case "array" if not schema.get("minItems"):
            return []
        case "object" if not schema.get("required"):
            return {}
        case _:
            return None


def _string(schema: Json, long: bool) -> str | None:
    if "pattern" in schema or "format" in schema:
        return None
    if long and "maxLength" not in schema:
        return LONG_TEXT
    return "Ada"[: schema.get("maxLength", 3)].ljust(schema.get("minLength", 0), "a")


def _number(schema: Json, long: bool) -> int | float:
    least = max(schema.get("minimum", 1), schema.get("exclusiveMinimum", 0) + 1)
    return max(least, min(schema.get("maximum", least), _MOST)) if long else least


def answer_fault(answer: Any) -> str:
    """What is wrong with the form of an answer to `tool.call`; empty when nothing is."""
    if not isinstance(answer, dict):
        return f"an answer that is no object: {shown(answer)}"
    given = cast("Json", answer)
    kinds: list[tuple[str, type | tuple[type, ...]]] = [
        ("text", str),
        ("text_at", dict),
        ("summary", str),
        ("exit", (int, type(None))),
        ("error", (dict, type(None))),
        ("stopped", bool),
    ]
    wrong = [name for name, kind in kinds if name in given and not isinstance(given[name], kind)]
    if wrong:
        return f"{', '.join(wrong)} of another type: {shown(given)}"
    if "text" in given and "\0" in given["text"]:
        return "a text with U+0000"
    return _error_fault(given["error"]) if given.get("error") is not None else ""


def _error_fault(error: Json) -> str:
    if error.get("reason") not in REASONS:
        return f"error.reason {error.get('reason')!r}, which is none of {', '.join(REASONS)}"
    if not isinstance(error.get("detail"), str) or not error["detail"]:
        return "an error without a detail"
    if not isinstance(error.get("hint", ""), str):
        return "a hint that is no text"
    return ""


def outcome_fault(declared: StageDeclaration, answer: Any) -> str:
    """What is wrong with the form of an answer to `stage.run`; empty when nothing is."""
    given = cast("Json", answer) if isinstance(answer, dict) else {}
    action = given.get("action")
    if action not in ACTIONS:
        return f"the action {action!r}: {shown(answer)}"
    field = ACTIONS[action]
    if field is not None and field not in given and f"{field}_at" not in given:
        return f"{action} without {field}"
    if action == "rewrite" and not declared.rewrites:
        return "a rewrite of a handler that does not declare rewrites = true"
    return ""


def shown(value: Any) -> str:
    """A value for a report, on one line."""
    try:
        return json.dumps(value, ensure_ascii=False)[:160]
    except (TypeError, ValueError):
        return repr(value)[:160]
