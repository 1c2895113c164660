"""Writes the generated pages of the documentation; with --check says which are out of date instead."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

from limnos.agent.provider_table import PROVIDER_HELP, PROVIDER_KEYS
from limnos.agent.settings import KEYS
from limnos.kernel.events import EVENT_TYPES, EXIT_CODES, PROTOCOL_VERSION, Event
from limnos.kernel.fields import REQUIRED

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
    own = {item: default for item, default in kind.fields.items() if item not in Event.fields}
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
        .replace("dict[str, Any]", "object")
    )


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


PAGES = {"protocol/events.md": events_page, "reference/settings.md": settings_page}


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
