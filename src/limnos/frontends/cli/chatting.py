"""Starting a chat: the first run, the kernel, and the view that this terminal can show."""

import asyncio
import sys

from limnos.agent.settings import load
from limnos.agent.trust import Answer, TrustFile, waiting_in
from limnos.frontends.cli import first_run
from limnos.frontends.cli.chat import Chat
from limnos.frontends.cli.console import Console
from limnos.frontends.cli.escapes import one_line
from limnos.frontends.cli.fetching import chosen_name, ensure
from limnos.frontends.cli.linechat import LineChat
from limnos.frontends.cli.look import CONTINUE
from limnos.frontends.cli.meter import Meter
from limnos.frontends.cli.output import to_stdout
from limnos.frontends.cli.screen import Screen
from limnos.frontends.cli.slash import Desk, Leave
from limnos.frontends.cli.starting import Flags, kernel
from limnos.frontends.cli.transcript import Transcript
from limnos.frontends.cli.tty import RawTerminal
from limnos.kernel.errors import LimnosError
from limnos.service.client import Kernel, OpenRequest, Session


def chat_with(
    console: Console, flags: Flags, how: OpenRequest, *, fork: bool = False, yes: bool = False
) -> int:
    """Chat until the person leaves; the exit code."""
    settings = load(console.environment, flags.settings())
    if console.terminal.can_ask and not yes and first_run.is_first(console, settings):
        if not first_run.choose(console):
            return 0
    else:
        ensure(console, settings, yes=yes)
    if _redraws(console):
        console.greeting.complete(f" in {console.look.path(console.folder)}  next: type a task, or /help")
    if how.session is None:
        _ask_trust(console, how)
    return asyncio.run(_chat(console, flags, how, fork))


def _ask_trust(console: Console, how: OpenRequest) -> None:
    """Ask once whether this folder is trusted, when there is something in it that only counts then."""
    trust = TrustFile(console.environment.home)
    if how.trust or not console.terminal.can_ask or trust.answer(console.folder) is not None:
        return
    waiting = waiting_in(console.folder)
    if not waiting:
        return
    folder = console.look.path(console.folder)
    console.say(f"{' and '.join(waiting)} in {folder} can inform the model, once you trust this folder.")
    answer = console.ask("Trust it? [y/N]").strip().lower()
    said: Answer = "trusted" if answer in ("y", "yes") else "declined"
    trust.remember(console.folder, said, console.now().isoformat(timespec="seconds"))
    console.done(f"{folder} is {'trusted' if said == 'trusted' else 'not trusted'}", "limnos trust list")


async def _chat(console: Console, flags: Flags, how: OpenRequest, fork: bool) -> int:
    async with kernel(console, flags) as running:
        if fork and how.session:
            how = how._replace(session=running.fork(how.session))
        if how.session is None and console.terminal.can_ask:
            _tell_interrupted(console, running)
        session, seen = await running.open(how), False
        while True:
            left = await _one_session(console, running, session, how, seen=seen)
            if left.following is None:
                return left.code
            seen = True
            session, how = await _next_session(console, running, left.following, how)


def _tell_interrupted(console: Console, running: Kernel) -> None:
    """Name the session of this folder that a crash cut short: a new chat must not pass over it in silence."""
    last = running.newest_in(console.folder)
    if last is not None and last.state == "interrupted":
        name = one_line(last.id)
        text = f"session {name} was interrupted  next: limnos open {name}"
        console.say_line(console.look.signed("ask", text))


async def _next_session(
    console: Console, running: Kernel, following: OpenRequest, before: OpenRequest
) -> tuple[Session, OpenRequest]:
    """Open what the person asked for; when that fails say so and go on as before."""
    try:
        session = await running.open(following)
    except LimnosError as error:
        console.fail(error)
        before = before._replace(session=following.session)
        return await running.open(before), before
    console.done(f"model is {following.model}")
    return session, following


async def _one_session(
    console: Console, running: Kernel, session: Session, how: OpenRequest, *, seen: bool
) -> Leave:
    settings = load(console.environment)
    meter = Meter(how.mode or settings.mode, how.model or chosen_name(settings))
    continue_with = CONTINUE if console.terminal.can_ask else f"limnos open {session.id}"
    transcript = Transcript(console.look, continue_with=continue_with, meter=meter)
    desk = Desk(console, running, session, how, transcript, to_stdout)
    try:
        left = await (_on_screen(desk, seen) if _redraws(console) else _in_lines(desk))
    finally:
        await session.close()
    if left.following is None:
        console.say(f"session {session.id} kept  next: limnos open {session.id}")
    return left


async def _on_screen(desk: Desk, seen: bool) -> Leave:
    terminal = RawTerminal(sys.stdin.fileno())
    screen = Screen(terminal.write, desk.console.terminal.size, desk.console.terminal.colour(sys.stdout))
    terminal.enter()
    try:
        return await Chat(desk, terminal, screen, seen).run()
    finally:
        terminal.leave()


async def _in_lines(desk: Desk) -> Leave:
    return await LineChat(desk, desk.console.terminal.accessible).run()


def _redraws(console: Console) -> bool:
    terminal = console.terminal
    return terminal.redraws and terminal.stdin and terminal.stdout and not terminal.no_input
