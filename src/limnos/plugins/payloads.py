"""What goes to a plugin and comes back: parameters checked, large payloads through its arena."""

import json
from collections.abc import Mapping
from typing import Any, Final, TypeVar, cast, get_args

from limnos.kernel.arguments import ParseFailure, parse_json
from limnos.kernel.messages import ErrorReason, ToolError
from limnos.kernel.tools import Output
from limnos.wire.arena import Arena, RangeError
from limnos.wire.methods import INLINE, Params

P = TypeVar("P", bound=Params)
_MOST_WORDS: Final = 4_000  # characters of a reason, a hint, a summary: the text is the place for more
_REASONS: Mapping[str, ErrorReason] = {one: one for one in get_args(ErrorReason)}


class PayloadError(ValueError):
    """What the plugin sent is not of the form that the protocol wants."""


def read(kind: type[P], given: Mapping[str, Any]) -> P:
    """The parameters of a method. Raises PayloadError that names the field."""
    known = {name: value for name, value in given.items() if name in kind.fields}
    try:
        kind.check(known)
        return kind(**known)
    except TypeError as error:
        raise PayloadError(f"wrong parameters of {kind.type}: {error}") from None


def filled(arena: Arena, shared: bool, name: str, value: Mapping[str, Any]) -> dict[str, Any]:
    """The field `name` for a frame: the object itself, or the range of the arena that it is written to.

    `shared` says whether the plugin uses its arena. Raises `ArenaFull`.
    """
    if not shared:
        return {name: value}
    data = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
    if len(data) <= INLINE:
        return {name: value}
    return {f"{name}_at": arena.write(arena.lease(len(data)), data)}


def given_back(arena: Arena, fields: Any) -> None:
    """Release the ranges that fields name: those of a request that has its answer, or of an answer.

    Of an answer anything may have been sent; what is no range, or was given back before, is left alone.
    """
    given = cast("dict[str, Any]", fields) if isinstance(fields, dict) else {}
    for name, at in given.items():
        if name.endswith("_at") and isinstance(at, dict):
            arena.release(cast("dict[str, Any]", at).get("lease", 0))


def text(arena: Arena, given: Mapping[str, Any], name: str) -> str:
    """The text `name` of an answer. Raises PayloadError."""
    at = given.get(f"{name}_at")
    if at is not None:
        return taken(arena, at).decode("utf-8", "replace")
    value = given.get(name, "")
    if not isinstance(value, str):
        raise PayloadError(f"{name} is no text")
    return value


def taken(arena: Arena, at: Any) -> bytes:
    """A copy of a range, which is given back. Raises PayloadError."""
    if not isinstance(at, dict):
        raise PayloadError("a range is an object with lease, offset and size")
    known = cast("dict[str, Any]", at)
    try:
        return arena.copy(known)
    except RangeError as error:
        raise PayloadError(str(error)) from None
    finally:
        arena.release(known.get("lease", 0))


def value(arena: Arena, given: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The object `name` of an answer. Raises PayloadError."""
    found: Any = given.get(name)
    if (at := given.get(f"{name}_at")) is not None:
        said = taken(arena, at).decode("utf-8", "replace")
        found = parse_json(said, most=len(said))
    if isinstance(found, ParseFailure) or not isinstance(found, dict):
        raise PayloadError(f"{name} is no object")
    return cast("dict[str, Any]", found)


def output(arena: Arena, answer: Any, origin: str) -> Output:
    """What a tool returned. `origin` is what its text counts as, unless the plugin may name another.

    Raises PayloadError.
    """
    if not isinstance(answer, dict):
        raise PayloadError("the answer to tool.call is no object")
    given = cast("dict[str, Any]", answer)
    status, summary = given.get("exit"), given.get("summary", "")
    if not (status is None or type(status) is int) or not isinstance(summary, str):
        raise PayloadError("exit is a whole number, summary a text")
    return Output(
        text(arena, given, "text"), summary[:_MOST_WORDS], status, _error(given.get("error")), origin
    )


def _error(given: Any) -> ToolError | None:
    if given is None:
        return None
    if not isinstance(given, dict):
        raise PayloadError("error is no object")
    error = cast("dict[str, Any]", given)
    detail, hint = (str(error.get(name, ""))[:_MOST_WORDS] for name in ("detail", "hint"))
    return ToolError(_REASONS.get(str(error.get("reason")), "failed"), detail, hint)
