"""Starting a kernel for a command, and closing it within a limit."""

import asyncio
import importlib
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Annotated, NamedTuple

from limnos.agent.settings import KEYS, Key, Settings, load, parse_value
from limnos.frontends.cli.console import Console
from limnos.frontends.cli.private import refuse_key
from limnos.frontends.cli.words import Option
from limnos.kernel.errors import SettingsError
from limnos.process.privacy import keep_private
from limnos.service.client import Kernel, OpenRequest
from limnos.service.local import local_kernel

_CLOSE_SECONDS = 10.0
_WHERE = "the command line"
_REMOTE = "limnos.service.remote"  # not needed where no daemon is
_FIELDS = {"mode": "mode", "model": "model", "steps": "steps", "cap.turn": "max_cost"}
_FLAGS = {
    "mode": ("--mode", "ask"),
    "model": ("--model", "NAME"),
    "steps": ("--steps", "25"),
    "cap.turn": ("--max-cost", "1.50"),
}


class Flags(NamedTuple):
    """Settings that were given on the command line; None leaves them to the other layers."""

    mode: Annotated[
        str | None,
        Option("--mode", metavar="MODE", help="ask (default), auto, yolo; see limnos help modes"),
    ] = None
    model: Annotated[str | None, Option("--model", metavar="NAME", help="for this run only")] = None
    steps: Annotated[int | None, Option("--steps", metavar="N", help="at most N steps (25)")] = None
    max_cost: Annotated[str | None, Option("--max-cost", metavar="X", help="stop at this cost (none)")] = None

    def settings(self) -> Mapping[str, str]:
        """As settings keys and texts.

        Raises SettingsError that names the flag of a wrong value, UsageError for a model that may be a key.
        """
        refuse_key("--model", self.model or "")
        named = {"mode": self.mode, "model": self.model, "steps": self.steps, "cap.turn": self.max_cost}
        given = {name: str(value) for name, value in named.items() if value is not None}
        for name, text in given.items():
            _check(KEYS[name], text)
        return given


NO_FLAGS = Flags()


class Consent(NamedTuple):
    """What the person agreed to on the command line, before it is asked."""

    trust: Annotated[bool, Option("--trust", help="trust this folder, for this run")] = False
    yes: Annotated[bool, Option("--yes", help="yes to fetching the model when it is missing")] = False


NO_CONSENT = Consent()


def open_request(
    console: Console, flags: Flags, consent: Consent = NO_CONSENT, session: str | None = None
) -> OpenRequest:
    """How to open `session`, or a new one in this folder."""
    return OpenRequest(
        session=session,
        cwd=None if session else console.folder,
        mode=flags.mode,
        model=flags.model,
        steps=flags.steps,
        max_cost=flags.max_cost,
        trust=consent.trust,
        attended=console.terminal.can_ask,
    )


def flag_of(key: str) -> str:
    """The flag that sets `key`; empty when none does."""
    return _FLAGS[key][0] if key in _FLAGS else ""


def _check(key: Key, text: str) -> None:
    flag, example = _FLAGS[key.name]
    try:
        parse_value(key, text, _WHERE)
    except SettingsError as error:
        what = error.what.removeprefix(f"{key.name} in {_WHERE} ")
        stored = error.fix.startswith("limnos config")
        fix = f"for example {flag} {example}" if stored else error.fix
        raise SettingsError(f"{flag} {what}", fix) from None


@asynccontextmanager
async def kernel(console: Console, flags: Flags = NO_FLAGS) -> AsyncGenerator[Kernel]:
    """The kernel of the daemon that holds this home, or else one in this process with these flags.

    It is closed within ten seconds.
    """
    keep_private()
    settings = load(console.environment, flags.settings())
    running = _daemon(console, settings) or local_kernel(settings, console.environment)
    try:
        yield running
    finally:
        await _bounded(running.close)


def _daemon(console: Console, settings: Settings) -> Kernel | None:
    """The kernel of a daemon; without one this costs one look at the disk."""
    home = console.environment.home
    if not os.path.exists(home / "run" / "socket"):
        return None
    given = {
        field: getattr(settings, KEYS[name].attribute)
        for name, field in _FIELDS.items()
        if console.environment.text(KEYS[name].variable)
    }
    connected: Kernel | None = importlib.import_module(_REMOTE).remote_kernel(home, given)
    return connected


async def _bounded(close: Callable[[], Awaitable[None]]) -> None:
    try:
        await asyncio.wait_for(close(), _CLOSE_SECONDS)
    except TimeoutError:
        return
