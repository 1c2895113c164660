"""`limnos sessions`."""

import asyncio
from collections.abc import Sequence
from typing import Annotated

from limnos.frontends.cli.console import Console
from limnos.frontends.cli.escapes import one_line
from limnos.frontends.cli.starting import kernel
from limnos.frontends.cli.times import when
from limnos.frontends.cli.words import Option
from limnos.kernel.errors import UsageError
from limnos.service.client import SessionState, SessionSummary

_SIGNS: dict[SessionState, str] = {
    "working": "you",
    "waiting": "ask",
    "interrupted": "ask",
    "done": "done",
    "failed": "failed",
    "unreadable": "failed",
}
_STATES: dict[SessionState, str] = {"waiting": "waiting for you"}


def sessions(
    console: Console,
    as_json: Annotated[bool, Option("--json", help="one record a line")] = False,
    limit: Annotated[int | None, Option("--limit", metavar="N", help="the newest N only")] = None,
) -> None:
    """List sessions, newest first."""
    if limit is not None and limit < 1:
        raise UsageError(f"--limit is {limit}, and must be at least 1", "limnos sessions --limit 10")
    found = asyncio.run(_found(console, limit))
    if as_json:
        for session in found:
            console.record(
                {
                    "id": session.id,
                    "state": session.state,
                    "updated": session.updated,
                    "persona": session.persona,
                    "title": session.title,
                    "last_seq": session.last_seq,
                    "path": session.path,
                }
            )
        return
    people = console.terminal.columns_for_lists
    rows = [
        (
            session.id,
            _STATES.get(session.state, session.state) if people else session.state,
            when(session.updated, console.now(), console.look.zone) if people else session.updated,
            session.persona,
            session.title,
        )
        for session in found
    ]
    header = ("id", "state", "when", "persona", "title")
    if not found and people:
        console.say("no sessions yet  next: limnos")
        return
    console.rows(header, rows, [_SIGNS.get(session.state, "idle") for session in found])
    if people:
        _say_more(console, found)


def _say_more(console: Console, found: Sequence[SessionSummary]) -> None:
    """What a cut row may hide of an unreadable session, and which one to open."""
    for session in found:
        if session.state == "unreadable":
            text = f"{session.id}: {session.title}"
            console.say_line(console.look.signed("failed", one_line(text)))
    usable = [session for session in found if session.state != "unreadable"]
    asking = [session for session in usable if session.state in ("waiting", "interrupted")]
    if usable:
        console.say(f"next: limnos open {one_line((asking or usable)[0].id)}")


async def _found(console: Console, limit: int | None) -> list[SessionSummary]:
    async with kernel(console) as running:
        return running.sessions(limit)


FUNCTIONS = {"": sessions}
