"""Calls that a model writes as its answer's text, because its server's template is not the one it learned.

`{"name": "list_dir", "arguments": {}}`, alone, in a code fence or in `<tool_call>` tags, is a call when it is
the whole answer and names a tool that was offered. Anything else stays text.
"""

import re
from collections.abc import Iterable
from typing import Any, cast

from limnos.kernel.arguments import ParseFailure, parse_arguments, parse_json
from limnos.kernel.messages import ToolCall
from limnos.providers.calls import mint_id

LONGEST = 20_000
_KEYS = ("name", "arguments", "parameters")
_OPENING = re.compile(r"\s*(?:```(?:json|tool_call)?[ \t]*\n\s*|<tool_call>\s*)?\{\s*")
_STARTS = ("{", "```{", "```json{", "```tool_call{", "<tool_call>{")
_BETWEEN = re.compile(r"\}\s*\n\s*\{")
_TAGGED = re.compile(r"<tool_call>\s*(.*?)\s*</tool_call>", re.DOTALL)
_FENCED = re.compile(r"```(?:json|tool_call)?[ \t]*\n(.*?)\n?\s*```", re.DOTALL)


class SpokenCalls:
    """Holds back an answer that may turn out to be a call, and decides at its end."""

    def __init__(self, tools: Iterable[str]) -> None:
        self._tools = frozenset(tools)
        self._held = ""
        self._open = bool(self._tools)

    def feed(self, text: str) -> str:
        """What can be shown now."""
        if not self._open:
            return text
        self._held += text
        if len(self._held) <= LONGEST and _may_become_call(self._held):
            return ""
        return self.release()

    def release(self) -> str:
        """What was held back, as text."""
        held, self._held, self._open = self._held, "", False
        return held

    def calls(self) -> tuple[ToolCall, ...]:
        """The calls that the held answer is; none when it is text, which then waits for `release`."""
        found = [self._call(piece) for piece in _pieces(self._held)] if self._held.strip() else []
        if not found or None in found:
            return ()
        self._held = ""
        return tuple(call for call in found if call is not None)

    def _call(self, piece: str) -> ToolCall | None:
        value = parse_json(piece)
        if isinstance(value, ParseFailure) or not isinstance(value, dict):
            return None
        given = cast("dict[str, Any]", value)
        raw = given.get("arguments", given.get("parameters", {}))
        name = given.get("name")
        if name not in self._tools or not set(given) <= set(_KEYS) or not isinstance(raw, dict | str):
            return None
        arguments = parse_arguments(cast("dict[str, Any] | str", raw))
        if isinstance(arguments, ParseFailure):
            return None
        return ToolCall(mint_id(), str(name), arguments, piece)


def _may_become_call(text: str) -> bool:
    """Whether some continuation of `text` is a call."""
    opening = _OPENING.match(text)
    if opening is None:
        begun = "".join(text.split())
        return any(start.startswith(begun) for start in _STARTS)
    rest = text[opening.end() :]
    return any(f'"{key}"'.startswith(rest[: len(key) + 2]) for key in _KEYS)


def _pieces(text: str) -> list[str]:
    """The JSON texts that make up the whole of `text`."""
    for pattern in (_TAGGED, _FENCED):
        pieces = pattern.findall(text)
        if pieces and not pattern.sub("", text).strip():
            return pieces
    return [f"{{{piece}}}" for piece in _BETWEEN.split(text.strip()[1:-1])]
