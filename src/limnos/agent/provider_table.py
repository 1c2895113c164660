"""What a table `[providers.NAME]` may hold, checked when it is set and when it is loaded."""

import json
from collections.abc import Mapping
from typing import Any, cast

from limnos.agent.money import money
from limnos.kernel.errors import SettingsError

PROVIDER_KEYS: Mapping[str, type] = {
    "base_url": str, "api_key": str, "model": str, "context_tokens": int, "timeout_s": float,
    "connect_timeout_s": float, "reasoning": str, "reasoning_field": str, "sees_images": bool,
    "max_tokens_field": str, "currency": str, "price_prompt": str, "price_cached": str,
    "price_completion": str, "headers": dict, "extra": dict,
}  # fmt: skip
PROVIDER_HELP: Mapping[str, str] = {
    "base_url": "address of the server",
    "api_key": "where its key lies: secret:NAME or env:NAME",
    "model": "the name by which the server knows the model",
    "context_tokens": "tokens of the model's window",
    "timeout_s": "seconds an answer may take",
    "connect_timeout_s": "seconds a connection may take",
    "reasoning": "keep, pad or drop",
    "reasoning_field": "the field of a message that its reasoning stands in",
    "sees_images": "true: images are sent as images",
    "max_tokens_field": "what the server calls the limit of a reply",
    "currency": "currency of the prices",
    "price_prompt": "price of a million prompt tokens",
    "price_cached": "price of a million cached prompt tokens",
    "price_completion": "price of a million tokens of a reply",
    "headers": "more headers of a request; only their names are shown",
    "extra": "more fields of a request; only their names are shown",
}
_PRICES = ("price_prompt", "price_cached", "price_completion")
# What only says what requests cost; a route has no use for it.
OF_MONEY = frozenset({*_PRICES, "currency"})
_HIDDEN = ("api_key", "headers", "extra")
_MOST = 1e12  # of tokens and of seconds: more is a slip, and no clock could wait for it
_REASONING = ("keep", "pad", "drop")
_EXAMPLES = {
    "context_tokens": "32768",
    "timeout_s": "240",
    "connect_timeout_s": "10",
    "reasoning": "keep",
    "sees_images": "true",
    **dict.fromkeys(_PRICES, "1.50"),
}


def check_provider(name: str, entry: Any) -> None:
    """Raise SettingsError when `[providers.NAME]` has an unknown key or a wrong value.

    One that lacks something is fine until it is used: it must not stand in the way of all the rest.
    """
    if not isinstance(entry, Mapping):
        raise SettingsError(
            f"providers.{name} is no table", f"limnos config set providers.{name}.base_url ADDRESS"
        )
    for key, value in cast("Mapping[str, Any]", entry).items():
        check_field(name, key, value)


def _check_table(where: str, key: str, table: Mapping[str, Any]) -> None:
    """Headers are texts on one line, further fields are JSON; their values may be secret and are not told."""
    for name, value in table.items():
        if key == "headers" and not (isinstance(value, str) and value.isprintable()):
            raise SettingsError(f"{where}.{name} is no text on one line", f"mend {name} in the settings file")
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError):
            what = f"{where}.{name} is nothing that JSON knows"
            raise SettingsError(what, "write a text, a number, true, false, a list or a table") from None


def check_field(name: str, key: str, value: Any) -> None:
    """Raise SettingsError when `providers.NAME.KEY` is unknown or cannot be `value`."""
    kind = PROVIDER_KEYS.get(key)
    if kind is None:
        raise SettingsError(f"providers.{name}.{key} is unknown", f"one of: {', '.join(PROVIDER_KEYS)}")
    where = f"providers.{name}.{key}"
    fix = f"limnos config set {where} {_EXAMPLES.get(key, 'VALUE')}"
    if type(value) is not kind and not (kind is float and type(value) is int):
        shown = "something else" if key in _HIDDEN else repr(value)
        raise SettingsError(f"{where} is {shown}, not a {kind.__name__}", fix)
    if key in _PRICES and value:
        money(str(value), where)
    if kind is dict:
        _check_table(where, key, cast("Mapping[str, Any]", value))
    if kind in (int, float) and not 0 < value <= _MOST:
        raise SettingsError(f"{where} is {value}, not a finite number above 0", fix)
    if key == "reasoning" and value not in _REASONING:
        raise SettingsError(f"{where} is {value!r}, not one of {', '.join(_REASONING)}", fix)
