"""`limnos run`."""

import asyncio
from typing import Annotated

from limnos.agent.settings import Settings, load
from limnos.frontends.cli.console import Console
from limnos.frontends.cli.fetching import embedded, ensure
from limnos.frontends.cli.oneshot import OneShot
from limnos.frontends.cli.piped import piped_text
from limnos.frontends.cli.starting import NO_CONSENT, NO_FLAGS, Consent, Flags, kernel, open_request
from limnos.frontends.cli.times import memory
from limnos.frontends.cli.words import Argument, Option
from limnos.kernel.errors import LimnosError, UsageError
from limnos.kernel.event_records import to_record
from limnos.kernel.events import TurnFinished
from limnos.kernel.turn import ending_of
from limnos.service.client import OpenRequest


def run(
    console: Console,
    *,
    task: Annotated[
        list[str] | None, Argument(metavar="TASK", help="what to do; - reads more from stdin")
    ] = None,
    as_json: Annotated[
        bool, Option("--json", help="every event, one a line; the last is turn_finished")
    ] = False,
    flags: Flags = NO_FLAGS,
    session: Annotated[str | None, Option("--continue", metavar="ID", help="go on with a session")] = None,
    consent: Consent = NO_CONSENT,
) -> int:
    """One task, one answer, then it ends."""
    try:
        text = _task(console, task or [], session)
        settings = load(console.environment, flags.settings())
        ensure(console, settings, yes=consent.yes)
        if not as_json:
            _say_loading(console, settings)
        how = open_request(console, flags, consent, session)
        return asyncio.run(_run(console, flags, how, text, as_json))
    except LimnosError as error:
        if as_json:
            console.record(to_record(_failed(console, error)))
        raise


async def _run(console: Console, flags: Flags, how: OpenRequest, text: str | None, as_json: bool) -> int:
    async with kernel(console, flags) as running:
        session = await running.open(how)
        return await OneShot(console, session, as_json, flags).run(text)


def _say_loading(console: Console, settings: Settings) -> None:
    """One line for the seconds before the first word, where no row moves meanwhile."""
    model, terminal = embedded(settings), console.terminal
    if model is not None and not (terminal.redraws and terminal.stdout):
        console.say(f"loading {model.name}, {memory(model.memory)} of memory")


def _task(console: Console, words: list[str], session: str | None) -> str | None:
    """The task; `-` stands for stdin. None goes on with a session without a new message."""
    given = [word for word in words if word != "-"]
    if len(given) > 1:
        raise UsageError(
            f"the task came in {len(given)} parts, without quotes around it",
            f'limnos run "{" ".join(given)}"',
        )
    if "-" in words:
        if console.terminal.stdin:
            raise UsageError(
                "`-` reads stdin, and stdin is a terminal", 'git diff | limnos run "review this" -'
            )
        # the question last: small models lose one that a long text follows
        given.insert(0, piped_text(console).strip())
    text = "\n\n".join(given).strip()
    if not text and session is None:
        raise UsageError("limnos run needs a task", 'limnos run "Which file here is the largest?"')
    return text or None


def _failed(console: Console, error: LimnosError) -> TurnFinished:
    """The last line of a run in which no turn could begin."""
    ending = ending_of(error)
    return TurnFinished(
        reason=ending.reason,
        exit=error.exit_code,
        steps=0,
        calls=0,
        ms=0,
        tokens=0,
        message=console.hide(ending.message),
        fix=console.hide(ending.fix),
    )


FUNCTIONS = {"": run}
