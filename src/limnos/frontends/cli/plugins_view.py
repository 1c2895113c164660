"""Plugins on the screen: their state, what changed in them, what they may do, all that is wrong."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager

from limnos.frontends.cli.console import Console
from limnos.frontends.cli.escapes import one_line
from limnos.kernel.errors import DeniedError, LimnosError
from limnos.plugins.faults import FaultsError
from limnos.plugins.install import Candidate
from limnos.plugins.locked import Broken, Locked
from limnos.plugins.locking import Change
from limnos.plugins.trees import Changes
from limnos.plugins.words import may
from limnos.service.client import PluginState

MOST_FILES = 20
SIGNS = {
    "ready": "done", "running": "done", "starting": "idle", "stopping": "idle", "disabled": "idle",
    "stopped": "failed", "down": "failed", "broken": "failed",
}  # fmt: skip


def state(plugin: Locked | Broken, live: PluginState | None = None) -> tuple[str, str]:
    """A word for how a plugin stands, and why; `live` is how it does in a limnos that runs."""
    if isinstance(plugin, Broken):
        return "broken", plugin.reason
    if plugin.disabled:
        return "disabled", ""
    if live is not None and live.state != "idle":
        return live.state, live.why
    return ("down", plugin.down) if plugin.down else ("ready", "")


@contextmanager
def each_fault_shown(console: Console) -> Generator[None]:
    """Where several things are wrong at once, say each on a line of its own before the error."""
    try:
        yield
    except FaultsError as error:
        if len(error.lines) < 2:
            raise
        for row in error.lines:
            console.say_line(console.look.signed("failed", one_line(row)))
        raise LimnosError(f"{len(error.lines)} things are wrong", error.fix) from None


def say_candidate(console: Console, candidate: Candidate) -> None:
    """What somebody is asked about who installs a plugin."""
    manifest, old = candidate.plugin.manifest, candidate.replaces
    instead = f", in the place of {old.manifest.version}" if old else ""
    console.say(one_line(f"{manifest.name} {manifest.version}{instead}: {manifest.description}"))
    for row in may(manifest, old.manifest.capabilities if old else ()):
        console.say(f"  {one_line(row)}")


def say_change(console: Console, change: Change) -> None:
    """What is different in a plugin since it was accepted."""
    if change.plugin is None:
        console.say(f"{one_line(change.name)}: it is not there any more")
        return
    console.say(one_line(f"{change.name}: {'new' if change.kind == 'new' else 'changed'}"))
    if change.kind == "new":
        for row in may(change.plugin.manifest):
            console.say(f"  {one_line(row)}")
        return
    for row in _files(change.files):
        console.say(f"  {one_line(row)}")
    for capability in change.added:
        row = next(one for one in may(change.plugin.manifest, ("-",)) if f"({capability})" in one)
        console.say(f"  {one_line(row)}")


def require_yes(console: Console, question: str, again: str) -> bool:
    """Ask; where nobody can be asked that is no yes. Raises DeniedError, which names `again` as the way."""
    if not console.terminal.can_ask:
        raise DeniedError(f"nobody can be asked: {question}", again)
    return console.confirm(question)


def _files(changes: Changes) -> Iterator[str]:
    rows = [
        *(f"added    {path}" for path in changes.added),
        *(f"changed  {path}" for path in changes.changed),
        *(f"removed  {path}" for path in changes.removed),
    ]
    yield from rows[:MOST_FILES]
    if len(rows) > MOST_FILES:
        yield f"and {len(rows) - MOST_FILES} more files"
