"""Frames: one JSON-RPC 2.0 message a line, both ways. Read strictly: the other side may be anybody."""

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeAlias, cast

from limnos.kernel.arguments import ParseFailure, parse_json

PROTOCOL: Final = 1
LIMIT: Final = 1_000_000  # bytes of one frame with its newline

# JSON-RPC's own codes, and from -32000 on ours.
UNREADABLE, INVALID, NO_METHOD, BAD_PARAMETERS, FAULT = -32700, -32600, -32601, -32602, -32603
REFUSED, UNAVAILABLE, FULL, TOO_LARGE = -32000, -32001, -32002, -32003

Id: TypeAlias = int | str


class Request(NamedTuple):
    """Wants one `Reply` or `Failure` with the same id."""

    id: Id
    method: str
    params: Mapping[str, Any]


class Notification(NamedTuple):
    """Wants nothing back."""

    method: str
    params: Mapping[str, Any]


class Reply(NamedTuple):
    """What a request came to."""

    id: Id
    result: Any


class Failure(NamedTuple):
    """Why a request came to nothing; without an id when what came could not be read."""

    id: Id | None
    code: int
    message: str
    hint: str = ""


Frame: TypeAlias = Request | Notification | Reply | Failure


class FrameError(ValueError):
    """Bytes that are no frame, or a frame that may not be sent; `code` as in a failure."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


_ENCODE = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def encode(frame: Frame) -> bytes:
    """One line with its newline. Raises FrameError for what is no JSON, or larger than a frame may be."""
    try:
        line = _ENCODE({"jsonrpc": "2.0", **_members(frame)}).encode("utf-8", "replace") + b"\n"
    except (TypeError, ValueError, RecursionError) as error:
        raise FrameError(INVALID, f"this cannot be sent as JSON: {error}") from None
    if len(line) > LIMIT:
        raise FrameError(TOO_LARGE, f"a frame of {len(line):,} bytes is larger than {LIMIT:,}")
    return line


def decode(line: bytes) -> Frame:
    """The frame of one line, with or without its newline. Raises FrameError that says what is wrong."""
    if len(line) > LIMIT:
        raise FrameError(TOO_LARGE, f"a frame of {len(line):,} bytes is larger than {LIMIT:,}")
    try:
        value = parse_json(line.decode())
    except UnicodeDecodeError as error:
        raise FrameError(UNREADABLE, f"byte {error.start} is not UTF-8") from None
    if isinstance(value, ParseFailure):
        raise FrameError(UNREADABLE, value.detail)
    if not isinstance(value, dict):
        raise FrameError(INVALID, "a frame is one JSON object")
    return _frame(cast("dict[str, Any]", value))


def _members(frame: Frame) -> dict[str, Any]:
    match frame:
        case Request(id=number, method=method, params=params):
            return {"id": number, "method": method, "params": params}
        case Notification(method=method, params=params):
            return {"method": method, "params": params}
        case Reply(id=number, result=result):
            return {"id": number, "result": result}
        case Failure(id=number, code=code, message=message, hint=hint):
            data = {"data": {"hint": hint}} if hint else {}
            return {"id": number, "error": {"code": code, "message": message, **data}}


def _frame(value: dict[str, Any]) -> Frame:
    if value.get("jsonrpc") != "2.0":
        raise FrameError(INVALID, 'a frame has "jsonrpc": "2.0"')
    if "method" in value:
        return _call(value)
    if "error" in value:
        return _failure(value)
    if "result" in value:
        return Reply(_id(value), value["result"])
    raise FrameError(INVALID, "a frame has a method, a result or an error")


def _call(value: dict[str, Any]) -> Request | Notification:
    method, params = value["method"], value.get("params", {})
    if not isinstance(method, str) or not isinstance(params, dict):
        raise FrameError(INVALID, "a method is a text, its params are an object")
    known = cast("dict[str, Any]", params)
    return Request(_id(value), method, known) if "id" in value else Notification(method, known)


def _failure(value: dict[str, Any]) -> Failure:
    number = _id(value) if value.get("id") is not None else None
    error = value["error"]
    given = cast("dict[str, Any]", error) if isinstance(error, dict) else {}
    code, message = given.get("code"), given.get("message")
    if type(code) is not int or not isinstance(message, str):
        raise FrameError(INVALID, "an error is an object with a code and a message")
    data = given.get("data")
    hint = cast("dict[str, Any]", data).get("hint") if isinstance(data, dict) else ""
    return Failure(number, code, message, hint if isinstance(hint, str) else "")


def _id(value: dict[str, Any]) -> Id:
    number = value.get("id")
    if isinstance(number, str) or type(number) is int:
        return number
    raise FrameError(INVALID, "an id is a whole number or a text")
