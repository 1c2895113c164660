"""How a value looks where programs have written it: found by a plain search, at once."""

import base64
import json
from collections.abc import Iterator
from urllib.parse import quote

_SHORTEST_CODE = 8  # characters of an encoded form: a shorter one may be part of any word


def spellings(value: str) -> list[str]:
    """`value` as programs write it most: plain, percent, JSON, hexadecimal, and base64 at any place."""
    percent, plain = quote(value, safe=""), value.encode("utf-8", "surrogatepass")
    codes = [plain.hex(), plain.hex().upper(), *_in_base64(plain)]
    return [
        value,
        *{percent, percent.lower(), json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
        - {value},
        *(code for code in dict.fromkeys(codes) if len(code) >= _SHORTEST_CODE),
    ]


def _in_base64(data: bytes) -> Iterator[str]:
    """What is the same in base64 whatever stands before and behind: one form for each place in a group."""
    for before, skipped in enumerate((0, 2, 3)):
        kept = (before + len(data)) * 8 // 6
        yield base64.b64encode(bytes(before) + data).decode()[skipped:kept]
        yield base64.urlsafe_b64encode(bytes(before) + data).decode()[skipped:kept]
