"""One chunk object of a streamed reply, in whatever dialect, read into one form."""

import json
from collections.abc import ItemsView, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

from limnos.providers.surrogates import whole

Json = dict[str, Any]

_REASONING = ("reasoning_content", "reasoning", "reasoning_text", "thinking")
_PART_TEXTS = ("text", "thinking", "content", "summary", "refusal")
_THOUGHTS = ("thinking", "reasoning", "reasoning_text", "reasoning.text")


class _RepeatedKeys(dict[str, Any]):
    """An object that had a key twice: written out again it still has, so that strict readers refuse it."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self._pairs = pairs

    def items(self) -> ItemsView[str, Any]:  # pyright: ignore[reportIncompatibleMethodOverride]
        return cast("ItemsView[str, Any]", self._pairs)


def _object(pairs: list[tuple[str, Any]]) -> Json:
    value = dict(pairs)
    return value if len(value) == len(pairs) else _RepeatedKeys(pairs)


_DECODER = json.JSONDecoder(object_pairs_hook=_object)


def values(text: str) -> Iterator[Any]:
    """The JSON values of `text`: one, or one a line. Lines that can't be read are left out."""
    try:
        yield _DECODER.decode(text)
    except (ValueError, RecursionError):
        for line in text.split("\n") if "\n" in text else ():
            try:
                yield _DECODER.decode(line)
            except (ValueError, RecursionError):
                continue


@dataclass(frozen=True, slots=True)
class Fragment:
    """A piece of a call. None and blank mean absent: `index`, `id` and `name` alike.

    It stood at `place` in a list of `among`.
    """

    index: int | None = None
    id: str | None = None
    name: str | None = None
    arguments: str = ""
    place: int = 0
    among: int = 1

    @property
    def starts_object(self) -> bool:
        """Whether the arguments could be the first ones of a call."""
        return self.arguments.lstrip().startswith("{")

    @property
    def has_arguments(self) -> bool:
        """Whether there is more than white space."""
        return bool(self.arguments.strip())


class Chunk(NamedTuple):
    """What one chunk says about choice 0. `error` is the provider's own text."""

    text: str = ""
    reasoning: str = ""
    signature: str | None = None
    fragments: tuple[Fragment, ...] = ()
    finish: str | None = None
    usage: Json | None = None
    error: str | None = None
    whole_message: bool = False


def read_chunk(value: object) -> Chunk:
    """Read a chunk object; anything else is an empty chunk."""
    if not isinstance(value, dict):
        return Chunk()
    chunk = cast("Json", value)
    choice = _first_choice(chunk)
    delta, is_message = _delta(choice)
    text, thought = _content(delta)
    reasoning, signature = _reasoning(delta)
    return Chunk(
        text=text,
        reasoning=reasoning or thought,
        signature=signature,
        fragments=_fragments(delta),
        finish=_text(choice.get("finish_reason")),
        usage=_usage(chunk, choice),
        error=error_text(chunk) or _error_value(choice.get("error")),
        whole_message=is_message,
    )


def error_text(value: object) -> str | None:
    """What an error object says, in the forms that servers use; None when it is no error."""
    if not isinstance(value, dict):
        return None
    chunk = cast("Json", value)
    if (named := _error_value(chunk.get("error"))) is not None:
        return named
    if chunk.get("object") == "error" or chunk.get("type") == "error" or "choices" not in chunk:
        return _text(chunk.get("message")) or _error_value(chunk.get("detail"))
    return None


def _error_value(value: object) -> str | None:
    if isinstance(value, str):
        return whole(value.strip()) or None
    if isinstance(value, list):
        return json.dumps(value)[:2000] if value else None
    fields = _dict(value)
    if not fields:
        return None
    message = _text(fields.get("message")) or json.dumps(fields)[:2000]
    code = fields.get("code") or fields.get("type")
    return whole(f"{message} ({code})" if isinstance(code, str | int) else message)


def _first_choice(chunk: Json) -> Json:
    for place, item in enumerate(_list(chunk.get("choices"))):
        choice = _dict(item)
        index = _index(choice.get("index"))
        if (place if index is None else index) == 0:
            return choice
    return {}


def _delta(choice: Json) -> tuple[Json, bool]:
    """The delta of a choice, or the message that a server sent in its place."""
    if delta := _dict(choice.get("delta")):
        return delta, False
    message = _dict(choice.get("message"))
    if not message and isinstance(choice.get("text"), str):
        message = {"content": choice["text"]}
    return message, bool(message)


def _content(delta: Json) -> tuple[str, str]:
    """The text of a delta, and reasoning that stands in its content parts."""
    content = delta.get("content")
    if isinstance(content, str):
        return content or _plain(delta.get("refusal")), ""
    parts = _list(content) or ([content] if _dict(content) else [])
    texts: list[str] = []
    thoughts: list[str] = []
    for part in parts:
        kind = _dict(part).get("type")
        (thoughts if kind in _THOUGHTS else texts).append(_part_text(part))
    return "".join(texts) or _plain(delta.get("refusal")), "".join(thoughts)


def _part_text(part: object) -> str:
    """The text of a content part, which may be a text, an object or a list of these."""
    if isinstance(part, str):
        return part
    if isinstance(part, list):
        return "".join(_part_text(item) for item in cast("list[object]", part))
    fields = _dict(part)
    return next((_part_text(fields[name]) for name in _PART_TEXTS if fields.get(name)), "")


def _reasoning(delta: Json) -> tuple[str, str | None]:
    """The first reasoning field that says something: two fields with the same text count once."""
    details = [_dict(item) for item in _list(delta.get("reasoning_details"))]
    signature = next((s for item in details if (s := _text(item.get("signature")))), None)
    for name in _REASONING:
        if text := _part_text(delta.get(name)):
            return text, signature
    return "".join(_plain(item.get("text")) or _plain(item.get("summary")) for item in details), signature


def _fragments(delta: Json) -> tuple[Fragment, ...]:
    listed = delta.get("tool_calls")
    items = _list(listed) or ([listed] if _dict(listed) else [])
    if not items and (legacy := _dict(delta.get("function_call"))):
        items = [{"function": legacy}]
    return tuple(_fragment(_dict(item), place, len(items)) for place, item in enumerate(items) if _dict(item))


def _fragment(item: Json, place: int, among: int) -> Fragment:
    function = _dict(item.get("function")) or item
    given = function.get("arguments")
    if given is None:
        given = function.get("parameters")
    return Fragment(
        index=_index(item.get("index")),
        id=whole(_text(item.get("id")) or "") or None,
        name=_text(function.get("name")),
        arguments=given if isinstance(given, str) else "" if given is None else json.dumps(given),
        place=place,
        among=among,
    )


def _usage(chunk: Json, choice: Json) -> Json | None:
    for holder in (chunk, choice, _dict(chunk.get("x_groq"))):
        if usage := _dict(holder.get("usage")):
            return usage
    return None


def _dict(value: object) -> Json:
    return cast("Json", value) if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def _plain(value: object) -> str:
    return value if isinstance(value, str) else ""


def _text(value: object) -> str | None:
    """A text that is not blank; numbers count as text, since some servers send ids so."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return value if isinstance(value, str) and value.strip() else None


def _index(value: object) -> int | None:
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdigit():
        return int(value.strip()[:9])
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
