"""Hides what the scanner takes for a secret. A heuristic: it does not know every secret."""

from typing import Any

from limnos.sdk.outcome import PASS, Outcome, Rewrite
from limnos.sdk.plugin import Plugin
from limnos.sdk.scan import Scanner

plugin = Plugin()
_scanner = Scanner()


@plugin.stage("after_toolcall")
def redact_results(payload: dict[str, Any]) -> Outcome:
    """The text of a result, and of its error."""
    error = payload.get("error")
    new = {**payload, "text": _scanner.hide(payload["text"])}
    if error is not None:
        new["error"] = {
            **error,
            "detail": _scanner.hide(error["detail"]),
            "hint": _scanner.hide(error["hint"]),
        }
    return PASS if new == payload else Rewrite(new)


@plugin.stage("before_output")
def redact_answers(payload: dict[str, Any]) -> Outcome:
    """The answer."""
    text = _scanner.hide(payload["text"])
    return PASS if text == payload["text"] else Rewrite({"text": text})
