"""Counts the inputs of each sender over the last minute, and stops those above the limit."""

import time
from typing import Any

from limnos.builtin.rate_limit.window import Window
from limnos.sdk.outcome import PASS, Deny, Outcome
from limnos.sdk.plugin import Plugin

plugin = Plugin()
_window = Window()


@plugin.stage("on_input")
def rate_limit(payload: dict[str, Any]) -> Outcome:
    """One input; a sender is who speaks, from where."""
    most = int(plugin.settings.get("inputs_per_minute", 20))
    wait_s = _window.admit((payload["source"], payload["principal"]), most, time.monotonic())
    if wait_s is None:
        return PASS
    return Deny(f"more than {most} inputs a minute; the next one may come in {wait_s:.0f} s")
