"""Strict JSON for what models and files say: no guess, no repair, no crash at any depth."""

import json
import re
from typing import Any, NamedTuple, NoReturn, cast

MAX_DEPTH = 64
MAX_DIGITS = 308
MAX_TEXT = 1_000_000

_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)
_BRACKET = re.compile(r"[\[\]{}]")
_STRING_OR_BRACKET = re.compile(f"{_STRING.pattern}|{_BRACKET.pattern}", re.DOTALL)
_LONE_HALF = re.compile("[\ud800-\udfff]")


class ParseFailure(NamedTuple):
    """Why a text is no JSON object; `cut` is true when it ends in the middle of one."""

    detail: str
    hint: str
    cut: bool = False


class _StrictError(ValueError):
    """A text that a lenient reader would accept."""


def parse_arguments(raw: str | dict[str, Any] | None) -> dict[str, Any] | ParseFailure:
    """Read the arguments of a call.

    An absent or blank text is an empty object. Refused: anything but one object, duplicate keys, NaN and
    infinities, more than 64 levels, integers beyond 308 digits, numbers beyond a double, a text cut short.
    Lone surrogates become U+FFFD.
    """
    if raw is None:
        return {}
    if isinstance(raw, dict):
        return checked(raw)
    if not raw.strip():
        return {}
    value = parse_json(raw)
    if isinstance(value, ParseFailure):
        return value
    if isinstance(value, dict):
        return cast("dict[str, Any]", value)
    return ParseFailure(
        f"the arguments are a JSON {_kind(value)}, not an object", 'send one object: {"name": value}'
    )


def checked(value: dict[str, Any]) -> dict[str, Any] | ParseFailure:
    """The same rules for an object that a provider sent already parsed."""
    try:
        text = json.dumps(value, allow_nan=False)
    except (ValueError, TypeError, RecursionError) as error:
        return ParseFailure(f"the arguments are no plain JSON: {error}", "send one JSON object")
    return parse_arguments(text)


def parse_json(text: str, most: int = MAX_TEXT) -> Any | ParseFailure:
    """Read any JSON value of at most `most` characters under the same rules as `parse_arguments`."""
    if len(text) > most:
        return ParseFailure(f"{len(text)} characters, more than {most}", "send it in smaller parts")
    if too_deep(text):
        return ParseFailure(f"nested more than {MAX_DEPTH} levels", "send a flatter value")
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        return _explain(text, error)
    except _StrictError as error:
        return ParseFailure(str(error), "send strict JSON with each key once and finite numbers")
    return _without_lone_halves(value) if "\\u" in text or _LONE_HALF.search(text) else value


def too_deep(text: str, levels: int = MAX_DEPTH) -> bool:
    """Whether brackets outside strings nest deeper than `levels`; linear, without recursion."""
    if text.count("[") + text.count("{") <= levels:
        return False
    depth = 0
    for match in _STRING_OR_BRACKET.finditer(text):
        found = match.group()
        if found in "[{":
            depth += 1
        elif found in "]}":
            depth -= 1
        if depth > levels:
            return True
    return False


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _StrictError(f"the key {key!r} stands twice; which one is meant is a guess")
            seen.add(key)
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise _StrictError(f"{name} is not JSON")


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise _StrictError(f"an integer of {len(digits)} digits is too large")
    return int(digits)


def _number(digits: str) -> float:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise _StrictError(f"the number {digits[:20]} is too large for a double")
    return value


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique, parse_constant=_refuse_constant, parse_int=_integer, parse_float=_number
)


def _explain(text: str, error: json.JSONDecodeError) -> ParseFailure:
    if _ends_inside(text):
        return ParseFailure(
            f"the arguments were cut off after {len(text)} characters",
            "send the call again, in smaller parts",
            cut=True,
        )
    return ParseFailure(f"no JSON: {error.msg} at character {error.pos}", "send one strict JSON object")


def _ends_inside(text: str) -> bool:
    """Whether `text` is the beginning of a longer value: an open string or bracket at its end."""
    if not text.lstrip().startswith(("{", "[")):
        return False
    bare = _STRING.sub(lambda match: '""' if _closed(match.group()) else '"', text)
    if bare.endswith('"') and bare.count('"') % 2:
        return True
    depth = 0
    for match in _BRACKET.finditer(bare):
        depth += 1 if match.group() in "[{" else -1
        if depth == 0 and bare[match.end() :].strip():
            return False
    return depth > 0


def _closed(string: str) -> bool:
    return len(string) > 1 and string.endswith('"') and not _odd_backslashes(string[:-1])


def _odd_backslashes(text: str) -> bool:
    return (len(text) - len(text.rstrip("\\"))) % 2 == 1


def _without_lone_halves(value: Any) -> Any:
    if isinstance(value, str):
        return _LONE_HALF.sub("\ufffd", value)
    if isinstance(value, list):
        return [_without_lone_halves(item) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        pairs = cast("dict[str, Any]", value).items()
        return {_without_lone_halves(key): _without_lone_halves(item) for key, item in pairs}
    return value


def _kind(value: object) -> str:
    match value:
        case list():
            return "list"
        case str():
            return "text"
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case _:
            return "null"
