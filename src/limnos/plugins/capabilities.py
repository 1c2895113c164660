"""Who may call what: a method needs the capability that its row in the table names, or it is refused."""

from collections.abc import Iterable

from limnos.wire.methods import Params, SettingsGet, SettingsSet
from limnos.wire.table import CORE, TO_KERNEL

FILES = "files"
CROSS = "settings_cross"


def refusal(plugin: str, capabilities: Iterable[str], method: str) -> str:
    """Why `plugin` may not call `method`, and how that is changed; empty when it may."""
    known = TO_KERNEL.get(method)
    if known is None:
        return f"there is no method {method} that a plugin may call"
    if known.capability == CORE or holds(capabilities, known.capability):
        return ""
    example = f"{known.capability}:PATH" if known.capability == FILES else known.capability
    return (
        f"{method} takes the capability {known.capability}, which {plugin} has not:"
        f' add "{example}" to capabilities in its plugin.toml, then run limnos plugins lock'
    )


def crossing(plugin: str, capabilities: Iterable[str], params: Params) -> str:
    """Why `plugin` may not reach for another plugin's settings with these parameters; empty when it may."""
    other = params.plugin if isinstance(params, SettingsGet | SettingsSet) else ""
    if other in ("", plugin) or holds(capabilities, CROSS):
        return ""
    return (
        f"{params.type} of {other} takes the capability {CROSS}, which {plugin} has not:"
        f' add "{CROSS}" to capabilities in its plugin.toml, then run limnos plugins lock'
    )


def holds(capabilities: Iterable[str], wanted: str) -> bool:
    """Whether `wanted` is among the capabilities; `files` is whenever one of `files:PATH` is."""
    return any(one == wanted or (wanted == FILES and one.startswith(f"{FILES}:")) for one in capabilities)
