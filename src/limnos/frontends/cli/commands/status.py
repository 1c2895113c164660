"""`limnos status`."""

import asyncio
from collections import Counter
from typing import Annotated

from limnos.agent.settings import load
from limnos.frontends.cli.console import Console
from limnos.frontends.cli.escapes import one_line
from limnos.frontends.cli.fetching import chosen_name
from limnos.frontends.cli.starting import kernel
from limnos.frontends.cli.times import counted, duration, parse, when
from limnos.frontends.cli.words import Option
from limnos.service.client import DaemonState, SessionSummary

_LABEL = 10


def status(console: Console, as_json: Annotated[bool, Option("--json", help="one record")] = False) -> None:
    """Show what is there and what works now."""
    found, daemon = asyncio.run(_found(console))
    settings = load(console.environment)
    states = Counter(session.state for session in found)
    model = chosen_name(settings)
    home = str(console.environment.home)
    if as_json:
        told = None if daemon is None else {**daemon._asdict(), "uptime_s": _uptime(console, daemon)}
        record = {"home": home, "model": model, "mode": settings.mode, "sessions": dict(states)}
        console.record({**record, "daemon": told})
        return
    counts = ", ".join(f"{count} {state}" for state, count in states.items()) or "none yet"
    rows = [
        ("kernel", _where(console, daemon)),
        ("home", console.look.path(one_line(home))),
        ("model", f"{one_line(model)}, mode {settings.mode}"),
        ("sessions", counts),
    ]
    usable = [session for session in found if session.state != "unreadable"]
    if usable:
        last = max(usable, key=lambda session: session.updated)
        people = console.terminal.columns_for_lists
        stamp = when(last.updated, console.now(), console.look.zone) if people else last.updated
        rows.append(("last", f"{stamp}  next: limnos open {one_line(last.id)}"))
    for label, text in rows:
        console.data(
            f"{label:<{_LABEL}} {text}\n" if console.terminal.columns_for_lists else f"{label}\t{text}\n"
        )


def _where(console: Console, daemon: DaemonState | None) -> str:
    if daemon is None:
        return "in this process; no daemon"
    up = duration(_uptime(console, daemon) * 1000)
    open_ones = f"{counted(daemon.sessions, 'session')} open, {daemon.busy} working"
    clients = counted(daemon.clients, "connection")
    return f"daemon {one_line(daemon.version)}, process {daemon.pid}, up {up}, {open_ones}, {clients}"


def _uptime(console: Console, daemon: DaemonState) -> int:
    """Seconds since the daemon was started."""
    started = parse(daemon.started)
    return max(0, int((console.now() - started).total_seconds())) if started else 0


async def _found(console: Console) -> tuple[list[SessionSummary], DaemonState | None]:
    async with kernel(console) as running:
        return running.sessions(), running.daemon()


FUNCTIONS = {"": status}
