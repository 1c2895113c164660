"""`limnos memory`: what is remembered, why it stands where it does, and whether it is whole."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Annotated

from limnos.agent.build import home
from limnos.agent.fates import Account, accounts_in
from limnos.frontends.cli.ancestry import refuse_own_commands
from limnos.frontends.cli.console import Console
from limnos.frontends.cli.escapes import one_line
from limnos.frontends.cli.memory_lines import account_lines, hit_lines, unit_lines
from limnos.frontends.cli.spans import line
from limnos.frontends.cli.times import counted
from limnos.frontends.cli.words import Argument, Option
from limnos.kernel.errors import UsageError
from limnos.memory.hits import Answer
from limnos.memory.memory import Memory
from limnos.memory.overview import overview
from limnos.memory.search import Question
from limnos.service.remote import remote_kernel

_Json = Annotated[bool, Option("--json", help="one record a line")]
_MOST = 100


@asynccontextmanager
async def _memory(console: Console, *, level: bool = True) -> AsyncGenerator[Memory]:
    """The memory of the persona; `level`: with all that the logs hold by now."""
    persona = home(console.environment).memory
    try:
        memory = persona.get()
        if level:
            await asyncio.to_thread(memory.catch_up)
        for notice in memory.database.take_notices():
            console.complain(notice.text, notice.fix)
        yield memory
    finally:
        await persona.close()


def show(
    console: Console,
    unit: Annotated[
        str, Argument(metavar="ID", help="a session, or one of its units, such as s7k2m4#31")
    ] = "",
    limit: Annotated[int, Option("--limit", metavar="N", help="the newest N units")] = 20,
    as_json: _Json = False,
) -> None:
    """Show what is remembered: of all sessions, of one, or one unit whole."""
    _check_limit(limit, "limnos memory show --limit 20")

    async def run() -> None:
        async with _memory(console) as memory:
            if "#" in unit:
                _show_unit(console, memory, unit, as_json=as_json)
            elif unit:
                _show_session(console, memory, unit, limit, as_json=as_json)
            else:
                _show_all(console, memory, as_json=as_json)

    asyncio.run(run())


def _show_all(console: Console, memory: Memory, *, as_json: bool) -> None:
    rows = overview(memory.database)
    if as_json:
        for row in rows:
            console.record(row._asdict())
        return
    if not rows:
        console.say("nothing is remembered yet  next: limnos")
        return
    table = [(row.session, *(f"{count:,}" for count in row[1:])) for row in rows]
    console.rows(("session", "window", "cold", "graph", "untrusted"), table, ["idle"] * len(rows))
    console.say(f"next: limnos memory show {rows[0].session}")


def _show_session(console: Console, memory: Memory, session: str, limit: int, *, as_json: bool) -> None:
    units = memory.show(session, limit)
    if not units:
        raise UsageError(f"nothing is remembered of a session {session!r}", "limnos memory show")
    if as_json:
        for unit in units:
            console.record({**unit._asdict(), "session": session})
        return
    for row in unit_lines(console.look, units, console.now()):
        console.show(row)
    console.say(f"next: limnos memory show {session}{units[-1].unit}")


def _show_unit(console: Console, memory: Memory, name: str, *, as_json: bool) -> None:
    found = memory.quote(name)
    if found is None:
        raise UsageError(f"nothing is remembered as {name!r}", "limnos memory show")
    if as_json:
        console.record(found._asdict())
        return
    console.show(line(f"{one_line(name)}  {found.time}  from {one_line(found.origin)}, {found.trust}"))
    for text in found.text.splitlines():
        console.show(line("  ", one_line(text)))
    if found.cut:
        session, _, seq = name.partition("#")
        console.say(f"there is more of it  next: limnos replay {session} --at {seq}")


def search(
    console: Console,
    words: Annotated[list[str], Argument(metavar="WORDS", help="what to look for")],
    limit: Annotated[int, Option("--limit", metavar="N", help="at most N hits")] = 8,
    recent: Annotated[bool, Option("--recent", help="the newest first among those that fit")] = False,
    as_json: _Json = False,
) -> int:
    """Search all that is remembered; nothing moves. Exit 1: nothing found."""
    _check_limit(limit, "limnos memory search WORDS --limit 8")
    text = " ".join(words)

    async def run() -> Answer:
        async with _memory(console) as memory:
            question = Question(text, limit, scope="all", sort="recent" if recent else "relevance")
            return await memory.search(question)

    answer = asyncio.run(run())
    if as_json:
        for hit in answer.hits:
            console.record(hit._asdict() | {"terms": dict(hit.terms)})
        return 0 if answer.hits else 1
    for token in answer.missing:
        console.say(f"no record of {one_line(token)}: it stands nowhere in memory")
    if answer.note:
        console.say(answer.note)
    for row in hit_lines(console.look, answer.hits, console.now()):
        console.show(row)
    if not answer.hits:
        console.say("nothing found; that does not mean that it never was: try other words")
        return 1
    console.say(f"next: limnos memory show {one_line(answer.hits[0].unit)}")
    return 0


def explain(
    console: Console,
    session: Annotated[str, Argument(metavar="ID", help="a session")],
    turn: Annotated[
        int | None,
        Option("--turn", metavar="N", help="a turn; without it the newest in which something moved"),
    ] = None,
    as_json: _Json = False,
) -> None:
    """Say for a turn why each step stayed, sank or came back."""
    path = home(console.environment).files.find(session)
    chosen, accounts = accounts_in(path, turn)
    if as_json:
        for account in accounts:
            record = account._asdict() | {"turn": chosen}
            record["fates"] = [fate._asdict() | {"terms": dict(fate.terms)} for fate in account.fates]
            console.record(record)
        return
    if not accounts:
        what = f"in turn {chosen}" if chosen else "in this session"
        console.say(f"nothing sank and nothing came back {what}: all of it stands in the window")
        return
    _say_accounts(console, chosen, accounts)


def _say_accounts(console: Console, turn: int, accounts: Sequence[Account]) -> None:
    console.show(line(f"turn {turn}"))
    for account in accounts:
        for row in account_lines(console.look, account):
            console.show(row)


def verify(console: Console, as_json: _Json = False) -> int:
    """Compare the memory with the logs. Exit 1 when something is wrong."""

    async def run() -> int:
        async with _memory(console) as memory:
            findings = await asyncio.to_thread(memory.verify)
            for one in findings:
                if as_json:
                    console.record(one._asdict())
                else:
                    console.complain(f"{one_line(one.where)}: {one_line(one.what)}", one.fix)
            if findings:
                return 1
            if not as_json:
                units = sum(row.window + row.cold + row.graph for row in overview(memory.database))
                told = f"{counted(units, 'unit')}, each with one holder, as the logs say"
                console.show(console.look.signed("done", told))
            return 0

    return asyncio.run(run())


def rebuild(console: Console) -> None:
    """Make the memory again from the logs of all sessions."""
    refuse_own_commands("rebuilding the memory")
    daemon = remote_kernel(console.environment.home, {})
    if daemon is not None:
        asyncio.run(daemon.close())
        raise UsageError("a daemon works with the memory", "limnos down, then limnos memory rebuild")

    async def run() -> int:
        async with _memory(console, level=False) as memory:
            return await asyncio.to_thread(memory.rebuild)

    sessions = asyncio.run(run())
    console.show(console.look.signed("done", f"memory made again from {counted(sessions, 'session')}"))


def gc(console: Console) -> None:
    """Remove payloads and vectors that nothing names any more."""
    refuse_own_commands("removing payloads")

    async def run() -> str:
        async with _memory(console) as memory:
            swept = await asyncio.to_thread(memory.gc)
            removed = f"{counted(swept.payloads, 'payload')} of {swept.bytes:,} bytes"
            return f"{removed} and {counted(swept.rows, 'row')} removed"

    console.show(console.look.signed("done", asyncio.run(run())))


def _check_limit(limit: int, fix: str) -> None:
    if not 1 <= limit <= _MOST:
        raise UsageError(f"--limit is {limit}, not 1 to {_MOST}", fix)


FUNCTIONS = {
    "show": show,
    "search": search,
    "explain": explain,
    "verify": verify,
    "rebuild": rebuild,
    "gc": gc,
}
