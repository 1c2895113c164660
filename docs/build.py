"""Writes the generated pages of the documentation; with --check says which are out of date instead."""

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, get_args, get_type_hints

from limnos.agent.provider_table import PROVIDER_HELP, PROVIDER_KEYS
from limnos.agent.settings import KEYS
from limnos.kernel.events import EVENT_TYPES, EXIT_CODES, PROTOCOL_VERSION, Event
from limnos.kernel.fields import REQUIRED, Fields
from limnos.wire.frames import LIMIT, PROTOCOL
from limnos.wire.table import CAPABILITIES, CORE, TO_KERNEL, TO_PLUGIN, WITHHELD, Method, Table

DOCS = Path(__file__).parent


def events_page() -> str:
    """docs/protocol/events.md, from the event types."""
    lines = [
        "# Events",
        "",
        "Generated from `limnos.kernel.events` by `docs/build.py`. Everything that happens is one event; the",
        "terminal, `--json`, the audit log and replay are views of the same stream. Later versions only add",
        "types and fields: ignore what you do not know.",
        "",
        "Every event is one JSON object with these fields:",
        "",
        "| field | type | meaning |",
        "|---|---|---|",
        f"| `v` | int | version of this protocol, {PROTOCOL_VERSION} |",
        "| `seq` | int | number in the session, growing; what is not persisted leaves gaps on disk |",
        "| `time` | str | ISO 8601 in UTC with milliseconds |",
        "| `session` | str | id of the session |",
        "| `turn`, `step` | int | from 1; 0 outside of any |",
        "| `agent` | str | only in what a sub-agent did: its path, `1`, or `1/2` for the second of `1` |",
        "| `type` | str | one of those below |",
        "| `sum` | str | on disk only: a checksum of the rest of the line, to notice a byte that changed |",
        "",
        "The last event of a turn is always `turn_finished`. Its `exit` is the exit status of `limnos run`:",
        ", ".join(f"{reason} {code}" for reason, code in EXIT_CODES.items()) + ".",
        "",
    ]
    for name, kind in EVENT_TYPES.items():
        lines += [*_event(name, kind), ""]
    return "\n".join(lines)


def _event(name: str, kind: type[Event]) -> Iterator[str]:
    yield f"## `{name}`"
    yield ""
    yield " ".join((kind.__doc__ or "").split())
    yield ""
    yield from _fields(kind, {item: value for item, value in kind.fields.items() if item not in Event.fields})


def _fields(kind: type[Fields], own: Mapping[str, object]) -> Iterator[str]:
    """A table of the fields `own` of a kind of event or of parameters."""
    hints = get_type_hints(kind)
    if own:
        yield "| field | type | default |"
        yield "|---|---|---|"
    for item, default in own.items():
        shown = "required" if default is REQUIRED else f"`{default!r}`"
        yield f"| `{item}` | `{_shown(hints[item])}` | {shown} |"


def _shown(hint: Any) -> str:
    text = hint.__name__ if isinstance(hint, type) and not get_args(hint) else str(hint)
    plain = re.sub(r"(\w+\.)+", "", text).replace("|", "or")
    return (
        plain.replace("Sequence", "list")
        .replace("Mapping[str, Any]", "object")
        .replace("Mapping[str, int]", "object of int")
        .replace("Mapping[str, str]", "object of str")
        .replace("dict[str, Any]", "object")
    )


def methods_page() -> str:
    """docs/protocol/methods.md, from the methods and their table."""
    lines = [
        "# Methods and capabilities of plugins",
        "",
        "Generated from `limnos.wire.methods` and `limnos.wire.table` by `docs/build.py`. How they are used,",
        "and what is answered, stands in [the protocol](plugins.md); its version is "
        f"{PROTOCOL}, a frame has at most {LIMIT:,} bytes.",
        "",
        "A *request* wants one answer, a *notification* none. Unknown fields are ignored, on both sides.",
        "",
        "## Capabilities",
        "",
        "A plugin lists in its `plugin.toml` what it may do. Without any it may call the methods marked",
        "*every plugin*. A method that stands nowhere on this page is refused.",
        "",
        "| capability | what it allows | methods |",
        "|---|---|---|",
        *(f"| `{name}` | {what} | {_taking(name)} |" for name, what in CAPABILITIES.items()),
        "",
        "No capability gives these: " + ", ".join(WITHHELD) + ".",
        "",
        "## From limnos to the plugin",
        "",
        *_methods(TO_PLUGIN, lambda method: ""),
        "## From the plugin to limnos",
        "",
        *_methods(TO_KERNEL, lambda method: f" Capability: {_capability(method)}."),
    ]
    return "\n".join(lines)


def _taking(capability: str) -> str:
    names = [name for name, method in TO_KERNEL.items() if method.capability == capability.rstrip(":")]
    return ", ".join(f"`{name}`" for name in names) or "–"


def _capability(method: Method) -> str:
    return "every plugin" if method.capability == CORE else f"`{method.capability}`"


def _methods(table: Table, said: Callable[[Method], str]) -> Iterator[str]:
    for name, method in table.items():
        kind = "Request" if method.answers else "Notification"
        yield f"### `{name}`"
        yield ""
        yield f"{kind}.{said(method)} {' '.join((method.params.__doc__ or '').split())}"
        yield ""
        if method.params.fields:
            yield from _fields(method.params, method.params.fields)
            yield ""


def settings_page() -> str:
    """docs/reference/settings.md, from the settings' keys."""
    lines = [
        "# Settings",
        "",
        "Generated from `limnos.agent.settings` by `docs/build.py`. A value comes from the first of:",
        "a flag, the environment variable, `.limnos/config.toml` of a trusted workspace (a few keys only),",
        "`config.toml` in `LIMNOS_HOME`, `/etc/limnos/config.toml`, the default.",
        "`limnos config --explain KEY` says which one won.",
        "",
        "| key | variable | default | meaning |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| `{key.name}` | `{key.variable}` | `{key.default!r}` | {key.help} |" for key in KEYS.values()
    ]
    lines += [
        "",
        "## Providers",
        "",
        "Each table `[providers.NAME]` is an OpenAI-compatible server; use it as `NAME/MODEL`. Its fields:",
        "",
        "| field | type | meaning |",
        "|---|---|---|",
        *(f"| `{name}` | {kind.__name__} | {PROVIDER_HELP[name]} |" for name, kind in PROVIDER_KEYS.items()),
        "",
        "`api_key` is `env:VARIABLE` or `secret:NAME`, never the key itself. Prices are per million tokens.",
        "",
    ]
    return "\n".join(lines)


PAGES = {
    "protocol/events.md": events_page,
    "protocol/methods.md": methods_page,
    "reference/settings.md": settings_page,
}


def main(arguments: list[str]) -> int:
    """Write the pages, or with --check compare them."""
    stale = 0
    for name, page in PAGES.items():
        path = DOCS / name
        text = page()
        if arguments == ["--check"]:
            if not path.exists() or path.read_text(encoding="utf-8") != text:
                print(
                    f"{path.relative_to(DOCS.parent)} is out of date; run: python docs/build.py",
                    file=sys.stderr,
                )
                stale += 1
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
