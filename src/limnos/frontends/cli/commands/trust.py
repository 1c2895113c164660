"""`limnos trust`: the folders whose settings and words to agents count."""

from typing import Annotated

from limnos.agent.trust import TrustFile, waiting_in
from limnos.frontends.cli.ancestry import refuse_own_commands
from limnos.frontends.cli.console import Console
from limnos.frontends.cli.escapes import one_line
from limnos.frontends.cli.words import Option


def list_folders(
    console: Console,
    as_json: Annotated[bool, Option("--json", help="one record a line")] = False,
) -> None:
    """Show the folders you were asked about, and what you said."""
    found = TrustFile(console.environment.home).listed()
    if as_json:
        for one in found:
            console.record(one._asdict())
        return
    if not found and console.terminal.columns_for_lists:
        console.say("no folder is trusted yet  next: limnos trust add")
        return
    rows = [(_state(one.answer, current=one.current), one.added, one.path) for one in found]
    console.rows(("state", "since", "folder"), rows)


def add(console: Console) -> None:
    """Trust this folder: its settings and its AGENTS.md or CLAUDE.md count."""
    refuse_own_commands("trusting a folder")
    TrustFile(console.environment.home).remember(
        console.folder, "trusted", console.now().isoformat(timespec="seconds")
    )
    waiting = waiting_in(console.folder)
    counts = f"; {' and '.join(waiting)} counts now" if waiting else ""
    console.done(f"{_shown(console)} is trusted{counts}", "limnos")


def remove(console: Console) -> None:
    """Trust this folder no more; you are asked again when it matters."""
    refuse_own_commands("changing trust")
    if not TrustFile(console.environment.home).forget(console.folder):
        console.say_line(console.look.signed("idle", "nothing was stored about this folder"))
        return
    console.done(f"{_shown(console)} is not trusted any more", "limnos trust list")


def _shown(console: Console) -> str:
    return one_line(console.look.path(console.folder))


def _state(answer: str, *, current: bool) -> str:
    return answer if current else f"{answer}, but replaced since"


FUNCTIONS = {"list": list_folders, "add": add, "remove": remove}
