"""Names with wildcards, in all the ways that shells and other tools write them."""

import re
from collections.abc import Callable, Iterator
from typing import Any

from limnos import lazy
from limnos.sdk.plugin import ToolFailure

_TOKEN = re.compile(r"(?:(?<![^/{,])\*\*/)+|\*+|\[[!^]?\]?[^\]/]*\]|[?{},]|.", re.DOTALL)


def name_matcher(pattern: str, *, any_case: bool = False) -> Callable[[str], bool]:
    """Whether a whole relative name fits: `*`, `?`, `[a-z]`, `{a,b}`, and `**/` for any folders or none.

    A pattern without a folder fits in each; `*` goes over folders too. Linear in time (RE2).
    Raises ToolFailure.
    """
    anywhere = "" if "/" in pattern else "(?:.*/)?"
    re2: Any = lazy.re2
    options = re2.Options()
    options.log_errors = False
    options.case_sensitive = not any_case
    try:
        compiled = re2.compile(f"(?s)/?{anywhere}{''.join(_translated(pattern, re2.escape))}", options)
    except (re2.error, UnicodeEncodeError) as error:
        said = error.args[0].decode() if isinstance(error.args[0], bytes) else str(error)
        raise ToolFailure(
            "invalid_arguments", f"{pattern[:80]!r} is no pattern of names: {said}", "use * and ?"
        ) from None
    return lambda name: compiled.fullmatch(f"/{name}") is not None


def _translated(pattern: str, escape: Callable[[str], str]) -> Iterator[str]:
    braces = {"{": "(?:", ",": "|", "}": ")"} if _balanced(pattern) else {}
    depth = 0
    for token in _TOKEN.findall(pattern):
        depth += (token == "{") - (token == "}")
        in_braces = token in braces and (depth > 0 or token == "}")
        yield braces[token] if in_braces else _expression(token, escape)


def _expression(token: str, escape: Callable[[str], str]) -> str:
    if token.endswith("*/"):
        return "(?:.*/)?"
    if token[0] == "*":
        return ".*"
    if token == "?":
        return "."
    return _characters(token) if len(token) > 1 else escape(token)


def _balanced(pattern: str) -> bool:
    depth = 0
    for token in _TOKEN.findall(pattern):
        depth += (token == "{") - (token == "}")
        if depth < 0:
            return False
    return depth == 0


def _characters(token: str) -> str:
    """`[!a-c]` as an expression: only its `-` keeps a meaning."""
    inner = token[1:-1]
    negated = inner[:1] in ("!", "^")
    named = re.sub(r"[\\\[\]^&~|]", r"\\\g<0>", inner[negated:])
    return f"[{'^' if negated else ''}{named}]"
