"""Reading a session file that may be damaged: what is whole is kept, what is not is reported."""

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice, pairwise
from math import isfinite
from typing import Any, NoReturn, cast

from limnos.kernel.arguments import too_deep

# Far above what a model, a person or a tool may hand in at once, so that only damage is beyond them.
MAX_LINE = 64_000_000
MAX_DEPTH = 200
MAX_PIECES = 100

_NULS = re.compile(rb"\x00+")
_HEAD = re.compile(rb'\{"v":')
_SUM = re.compile(rb',"sum":"([^"]*)"\}$')
_HALF = re.compile(r"\\u[dD][89a-fA-F]")
_ENCODER = json.JSONEncoder(ensure_ascii=False, check_circular=False, allow_nan=False, separators=(",", ":"))


class RecordError(ValueError):
    """A record that no file can hold: it could not be read back."""


@dataclass(slots=True)
class Loaded:
    """The records of a file in order. `torn` is the last line if it was cut; `damaged` counts bad lines.

    `surplus` is how many bytes at the end belong to no record: those of `torn`, or NUL bytes.
    `changed` holds the numbers of whole records that say something else than what was written.
    """

    records: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    torn: bytes = b""
    surplus: int = 0
    damaged: int = 0
    changed: list[int] = field(default_factory=list[int])
    ends_with_newline: bool = True

    @property
    def last_seq(self) -> int:
        """The highest number that was given."""
        return max((record["seq"] for record in self.records), default=0)


def read_records(data: bytes) -> Loaded:
    """Split `data` at LF only and keep every whole record; never raises.

    NUL bytes, left by a power cut, belong to no record. A last line without a newline is kept when it is
    whole, and is `torn` when it is not.
    """
    loaded = Loaded(ends_with_newline=not data or data.endswith(b"\n"))
    *lines, last = data.split(b"\n")
    for line in lines:
        _take(line, loaded)
    if last.strip(b"\x00"):
        if not _take(last, loaded):
            loaded.torn, loaded.surplus = last, len(last)
    elif last:
        loaded.surplus = len(last)
        loaded.damaged += 1
    return loaded


def _take(line: bytes, loaded: Loaded) -> bool:
    """Keep the records of one line; False when there is none although it holds something."""
    if not line or _keep(line, loaded):
        return True
    loaded.damaged += 1
    return sum(_keep(piece, loaded) for piece in _pieces(line)) > 0


def _keep(line: bytes, loaded: Loaded) -> bool:
    record = parse_record(line)
    if record is None:
        return False
    loaded.records.append(record)
    if not _is_as_written(line):
        loaded.damaged += 1
        loaded.changed.append(record["seq"])
    return True


def _pieces(line: bytes) -> Iterator[bytes]:
    """The parts of a damaged line that may be whole: between NUL runs, from one record head to the next.

    Inside a JSON text the quotes of a head are escaped, so a text cannot pass for a record.
    """
    for run in _NULS.split(line):
        # a line holds a few records at most; trying thousands of heads would take minutes
        starts = [match.start() for match in islice(_HEAD.finditer(run), MAX_PIECES)]
        for start, end in pairwise([*starts, len(run)]):
            yield run[start:end]


def parse_record(line: bytes) -> dict[str, Any] | None:
    """The record of one line; None when it is none. Whatever `encode_record` writes is one."""
    if len(line) > MAX_LINE:
        return None
    try:
        text = line.decode("utf-8")
        value = None if too_deep(text, MAX_DEPTH) else _DECODER.decode(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    record = cast("dict[str, Any]", value)
    seq = record.get("seq")
    is_record = type(seq) is int and isinstance(record.get("type"), str) and "v" in record
    return _without_halves(record, text) if is_record else None


def encode_record(record: dict[str, Any]) -> bytes:
    """One line, newline included. Lone surrogates, which no file may hold, become question marks.

    Its last field `sum` is the beginning of the SHA-256 of the line without it: a byte that changes on the
    disk inside a text leaves a valid record, and nothing else would tell. A line without `sum` is fine.
    Raises RecordError for more than 64 MB or 200 levels and for what is no JSON.
    """
    try:
        text = _ENCODER.encode(record)
    except (ValueError, TypeError, RecursionError) as error:
        raise RecordError(f"it is no plain JSON: {error}") from None
    if too_deep(text, MAX_DEPTH):
        raise RecordError(f"it has more than {MAX_DEPTH} levels")
    line = text.encode("utf-8", "replace")
    whole = b'%b,"sum":"%b"}\n' % (line[:-1], _digest(line))
    if len(whole) - 1 > MAX_LINE:
        raise RecordError(f"it has {len(whole)} bytes, more than {MAX_LINE}")
    return whole


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _number(digits: str) -> float:
    value = float(digits)
    if not isfinite(value):
        raise ValueError(f"{digits[:20]} is too large for a double")
    return value


_DECODER = json.JSONDecoder(parse_constant=_refuse, parse_float=_number)


def _without_halves(record: dict[str, Any], text: str) -> dict[str, Any]:
    """Escaped halves of characters, which another program may have written, become question marks."""
    if not _HALF.search(text):
        return record
    return _DECODER.decode(_ENCODER.encode(record).encode("utf-8", "replace").decode())


def _is_as_written(line: bytes) -> bool:
    found = _SUM.search(line)
    return found is None or _digest(line[: found.start()] + b"}") == found.group(1)


def _digest(line: bytes) -> bytes:
    return hashlib.sha256(line).hexdigest()[:16].encode()
