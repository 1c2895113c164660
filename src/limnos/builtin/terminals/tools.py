"""The tools `terminal_open`, `terminal_write`, `terminal_read`, `terminal_resize` and `terminal_close`.

What runs in a terminal comes from limnos as the order of the call.
"""

import asyncio
from typing import Any

from limnos.builtin.terminals.terminal import Shown, Terminal
from limnos.sdk.plugin import Call, Output, Plugin, ToolError, ToolFailure
from limnos.sdk.programs import StartError, entering
from limnos.sdk.texts import counted

MAX_OPEN = 8  # terminals of one session whose programs run
FIRST_WAIT_S, WAIT_S, TYPING_S = 1.0, 2.0, 5.0

plugin = Plugin()
_sessions: dict[str, dict[str, Terminal | None]] = {}


@plugin.tool
async def terminal_open(call: Call, command: str = "", **_: Any) -> Output:
    """A program with a terminal of its own."""
    if not call.order:
        raise ToolFailure("refused", "limnos has not prepared this terminal", "call it through limnos")
    terminals = _sessions.setdefault(call.session, {})
    if sum(one is not None and one.running for one in terminals.values()) >= MAX_OPEN:
        raise ToolFailure("failed", f"{MAX_OPEN} terminals are open already", "close one that is not needed")
    name = str(call.order["name"])
    try:
        terminal = Terminal(entering(call.order), command or "a shell")
    except StartError as error:
        return Output("", error=ToolError("unavailable", error.what, error.fix))
    terminals[name] = terminal
    terminal.ending.add_done_callback(lambda _: _tell())
    _tell()
    return _output(name, await terminal.shown(FIRST_WAIT_S))


@plugin.tool
async def terminal_write(call: Call, terminal: str, text: str, wait_s: float = WAIT_S) -> Output:
    """Something typed, and the answer to it."""
    found = _terminal(call, terminal)
    data = text.encode("utf-8", "replace")
    taken = await found.write(data, TYPING_S)
    if taken == len(data):
        return _output(terminal, await found.shown(wait_s))
    what = f"{terminal} took {taken:,} of {len(data):,} bytes"
    why = "its program does not read" if found.running else "its program has ended"
    return _output(terminal, await found.shown(wait_s))._replace(
        error=ToolError("failed", f"{what}: {why}", "read the terminal, then type the rest")
    )


@plugin.tool
async def terminal_read(call: Call, terminal: str = "", wait_s: float = 0.0) -> Output:
    """What is new in one terminal, or all terminals by name."""
    if terminal:
        return _output(terminal, await _terminal(call, terminal).shown(wait_s))
    known = _sessions.get(call.session, {})
    rows = [
        f"{name}: {_said(one.exit)}: {one.command}" if one is not None else f"{name}: closed"
        for name, one in known.items()
    ]
    text = "\n".join(rows) or "No terminal was opened in this session."
    return Output(text, counted(len(rows), "terminal"))


@plugin.tool
async def terminal_resize(call: Call, terminal: str, columns: int, rows: int) -> Output:
    """Another size."""
    _terminal(call, terminal).resize(columns, rows)
    said = f"{terminal} has {columns} columns and {rows} rows"
    return Output(said, said)


@plugin.tool
async def terminal_close(call: Call, terminal: str) -> Output:
    """The end of a terminal and its program, with the last that it showed."""
    found = _terminal(call, terminal)
    await found.close()
    _sessions[call.session][terminal] = None
    return _output(terminal, await found.shown(0))


@plugin.on_session_closed
async def close_terminals(session: str) -> None:
    """Terminals end with their session."""
    terminals = _sessions.pop(session, {})
    await asyncio.gather(*(one.close() for one in terminals.values() if one is not None))


@plugin.on_stop
async def close_all() -> None:
    """And all of them with limnos."""
    await asyncio.gather(*map(close_terminals, tuple(_sessions)))


def _terminal(call: Call, name: str) -> Terminal:
    known = _sessions.get(call.session, {})
    found = known.get(name)
    if found is None:
        still = ", ".join(one for one, terminal in known.items() if terminal is not None) or "none is open"
        what = f"{name} is closed" if name in known else f"there is no terminal {name!r}"
        raise ToolFailure("not_found", what, f"the terminals: {still}")
    return found


def _tell() -> None:
    busy = any(one is not None and one.running for known in _sessions.values() for one in known.values())
    plugin.kernel.notify("busy", busy=busy)


def _output(name: str, shown: Shown) -> Output:
    said = _said(shown.exit)
    text = shown.text
    if shown.skipped:
        text = f"[{shown.skipped:,} bytes are gone: too much was shown since the last look]\n{text}"
    return Output(
        f"[{name}: {said}]\n{text or '(nothing new)'}", f"{name} {said}", shown.exit, origin="command"
    )


def _said(status: int | None) -> str:
    if status is None:
        return "open"
    return f"ended, signal {-status}" if status < 0 else f"ended, exit {status}"
