"""Cases `secrets`: what the scanner hides, and what it leaves alone."""

import re
from typing import Any
from urllib.parse import quote

from limnos.sdk.scan import Scanner

_RUN = 12


def check(case: dict[str, Any]) -> str | None:
    """None when the secrets of the case are hidden, or its text is kept; else what is left."""
    pieces: list[str] = case["text"]
    text = "".join(pieces)
    configured: list[str] = case.get("configured", [])
    kept = Scanner(configured).hide(text)
    if case["expect"]["action"] == "keep":
        return None if kept == text else f"changed to {kept!r}"
    for begin, end in case["expect"]["spans"]:
        if left := _left("".join(pieces[begin:end]), kept):
            return f"{left!r} of a secret is still there: {kept!r}"
    encoded = [form for value in configured for form in (value, quote(value, safe=""))]
    return next(
        (f"{form!r} is still there" for form in encoded if re.search(re.escape(form), kept, re.I)), None
    )


def _left(secret: str, kept: str) -> str:
    if len(secret) <= _RUN:
        return secret if secret in kept else ""
    runs = (secret[place : place + _RUN] for place in range(len(secret) - _RUN + 1))
    return next((run for run in runs if run in kept), "")
