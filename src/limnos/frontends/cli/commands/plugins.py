"""`limnos plugins`: what is installed, what it may do, and whether it starts."""

from pathlib import Path
from typing import Annotated, Any

from limnos.frontends.cli import plugins_control
from limnos.frontends.cli.ancestry import refuse_own_commands
from limnos.frontends.cli.console import Console
from limnos.frontends.cli.escapes import one_line
from limnos.frontends.cli.plugin_authors import check_conformance, new_plugin, run_tests
from limnos.frontends.cli.plugins_view import (
    SIGNS,
    each_fault_shown,
    require_yes,
    say_candidate,
    say_change,
    state,
)
from limnos.frontends.cli.words import Argument, Option
from limnos.kernel.errors import UsageError
from limnos.plugins.catalogue import catalogue
from limnos.plugins.choices import Choices, read_choices
from limnos.plugins.graph import as_lines, as_record, as_svg, graph_of
from limnos.plugins.install import Candidate, disable, enable, install, remove
from limnos.plugins.locked import Broken, Lock, Locked
from limnos.plugins.locking import Change, accept, propose
from limnos.plugins.own_settings import change_settings, read_settings
from limnos.plugins.places import builtin_folders, log_of
from limnos.sdk.schema import SchemaValidator
from limnos.service.client import PluginState
from limnos.store.log_lines import last_lines
from limnos.store.whole import storage_error, write_whole

_DENIED = 4
_TEST_SECONDS = 300
_Name = Annotated[str, Argument(metavar="NAME", help="the name of the plugin")]
_Yes = Annotated[bool, Option("--yes", help="say yes to what would be asked")]


def list_plugins(
    console: Console,
    as_json: Annotated[bool, Option("--json", help="one record a line")] = False,
) -> None:
    """Show all plugins and whether they start."""
    found = _catalogue(console)
    plugins: list[Locked | Broken] = sorted([*found.plugins, *found.broken], key=lambda one: one.name)
    live = plugins_control.states(console.environment)
    if as_json:
        for one in plugins:
            console.record(_record(one, live.get(one.name)))
        return
    people = console.terminal.columns_for_lists
    if not plugins and people:
        console.say("no plugin is installed  next: limnos plugins install FOLDER")
        return
    header = ("name", "state", "version", "tools", "what it is")
    states = [state(one, live.get(one.name)) for one in plugins]
    rows = [
        _row(one, word, why if not people else "") for one, (word, why) in zip(plugins, states, strict=True)
    ]
    console.rows(header, rows, [SIGNS[word] for word, _ in states])
    for one, (word, why) in zip(plugins, states, strict=True):
        if people and why:
            console.say_line(console.look.signed(SIGNS[word], one_line(f"{one.name}: {why}")))


def install_plugin(
    console: Console,
    source: Annotated[str, Argument(metavar="SOURCE", help="a folder, a zip or a tar.gz")],
    yes: _Yes = False,
) -> int:
    """Install a plugin; shows what it may do, and asks."""
    refuse_own_commands("installing plugins")

    def confirmed(candidate: Candidate) -> bool:
        say_candidate(console, candidate)
        return yes or require_yes(console, "install it?", f"limnos plugins install {one_line(source)} --yes")

    with each_fault_shown(console):
        standing = install(Path(source), console.environment.home, builtin_folders(), confirmed)
    if standing is None:
        console.say_line(console.look.signed("idle", "nothing was installed"))
        return _DENIED
    plugins_control.renew(console.environment)
    text = f"installed {standing.name} {standing.manifest.version}"
    if standing.disabled:
        console.done(f"{text}; it is disabled", f"limnos plugins enable {standing.name}")
    else:
        console.done(text, "limnos plugins list")
    return 0


def remove_plugin(console: Console, name: _Name, yes: _Yes = False) -> int:
    """Delete a plugin with its data and its settings."""
    refuse_own_commands("removing plugins")
    question = f"delete {one_line(name)}, its data and its settings?"
    if not yes and not require_yes(console, question, f"limnos plugins remove {one_line(name)} --yes"):
        console.say_line(console.look.signed("idle", "nothing was deleted"))
        return _DENIED
    remove(name, console.environment.home, builtin_folders())
    plugins_control.renew(console.environment)
    console.done(f"removed {one_line(name)}, its data and its settings", "limnos plugins list")
    return 0


def enable_plugin(console: Console, name: _Name) -> None:
    """Let a disabled plugin start again."""
    refuse_own_commands("enabling plugins")
    with each_fault_shown(console):
        enable(name, console.environment.home, builtin_folders())
    plugins_control.renew(console.environment)
    console.done(f"{one_line(name)} is enabled, from the next session on", "limnos plugins list")


def disable_plugin(console: Console, name: _Name) -> None:
    """Keep a plugin from starting, its guards too."""
    refuse_own_commands("disabling plugins")
    lock = disable(name, console.environment.home, builtin_folders())
    plugins_control.renew(console.environment)
    console.done(f"{one_line(name)} is disabled; it does not start again", "limnos plugins list")
    for one in lock.plugins:
        if one.down:
            console.say_line(console.look.signed("ask", one_line(f"{one.name} is down: {one.down}")))


def lock_plugins(
    console: Console,
    prefer: Annotated[
        str, Option("--prefer", metavar="FACILITY=NAME", help="the plugin that is to provide a facility")
    ] = "",
    check: Annotated[
        bool, Option("--check", help="only say what changed; exit 1 when something did")
    ] = False,
    as_json: Annotated[bool, Option("--json", help="each change as a record")] = False,
    yes: _Yes = False,
) -> int:
    """Accept plugins as they are now; shows what changed, and asks."""
    if not check:
        refuse_own_commands("accepting plugins")
    home = console.environment.home
    with each_fault_shown(console):
        proposal = propose(home, builtin_folders(), _preferring(read_choices(home), prefer))
    _check_preference(proposal.lock, prefer)
    for change in proposal.changes:
        if as_json:
            console.record(_change(change))
        else:
            say_change(console, change)
    if check:
        return 1 if proposal.changes else 0
    if proposal.changes and not yes and not require_yes(console, "accept that?", "limnos plugins lock --yes"):
        console.say_line(console.look.signed("idle", "nothing was accepted; changed plugins stay down"))
        return _DENIED
    accept(home, proposal)
    plugins_control.renew(console.environment)
    console.done(f"locked {len(proposal.lock.plugins)} plugins", "limnos plugins list")
    return 0


def show_graph(
    console: Console,
    as_json: Annotated[bool, Option("--json", help="one record")] = False,
    svg: Annotated[str, Option("--svg", metavar="FILE", help="write a picture of it")] = "",
) -> None:
    """Show who waits for whom at a start."""
    live = plugins_control.states(console.environment).values()
    graph = graph_of(_catalogue(console), {one.name: one.start_ms for one in live if one.start_ms})
    if svg:
        try:
            write_whole(Path(svg).absolute(), as_svg(graph).encode())
        except OSError as error:
            raise storage_error(Path(svg).absolute(), error, "try again") from None
        console.done(f"wrote {one_line(svg)}")
    if as_json:
        console.record(as_record(graph))
    elif not svg:
        for row in as_lines(graph):
            console.data(f"{one_line(row)}\n")


def restart(console: Console, name: _Name) -> None:
    """Restart a plugin of the running limnos."""
    plugins_control.restart(console.environment, _known(console, name))
    console.done(f"{one_line(name)} is restarted", f"limnos plugins logs {one_line(name)}")


def stop(console: Console, name: _Name) -> None:
    """Stop a plugin of the running limnos."""
    plugins_control.stop(console.environment, _known(console, name))
    console.done(f"{one_line(name)} is stopped", f"limnos plugins restart {one_line(name)}")


def logs(
    console: Console,
    name: _Name,
    lines: Annotated[int, Option("--lines", metavar="N", help="the newest N lines (100)")] = 100,
) -> None:
    """Show what a plugin wrote, and what happened to it."""
    if lines < 1:
        fix = f"limnos plugins logs {one_line(name)} --lines 100"
        raise UsageError(f"--lines is {lines}, and must be at least 1", fix)
    for row in last_lines(log_of(console.environment.home, _known(console, name)), lines):
        console.data(f"{one_line(row)}\n")


def set_setting(
    console: Console,
    name: _Name,
    key: Annotated[str, Argument(metavar="KEY", help="the setting; without it all are shown")] = "",
    value: Annotated[str, Argument(metavar="VALUE", help="its new value")] = "",
) -> None:
    """Show or change what a plugin is set to, from its next start on."""
    locked = _catalogue(console).get(_known(console, name))
    home = console.environment.home
    if locked is None:
        raise UsageError(f"{one_line(name)} cannot be used", "limnos plugins list")
    if value:
        refuse_own_commands("changing settings of plugins")
        change_settings(home, locked.manifest, {key: value}, SchemaValidator())
    for known, current in read_settings(home, locked.manifest).items():
        if key in ("", known):
            console.data(f"{one_line(known)} = {one_line(str(current))}\n")


def _catalogue(console: Console) -> Lock:
    return catalogue(console.environment.home, builtin_folders())


def _known(console: Console, name: str) -> str:
    found = _catalogue(console)
    if name not in {one.name for one in (*found.plugins, *found.broken)}:
        raise UsageError(f"no plugin is called {one_line(name)}", "limnos plugins list")
    return name


def _row(plugin: Locked | Broken, word: str, why: str) -> tuple[str, ...]:
    """One row; `why` stands in the place of the description."""
    if isinstance(plugin, Broken):
        return plugin.name, word, "", "", why
    manifest = plugin.manifest
    return plugin.name, word, manifest.version, str(len(manifest.tools)), why or manifest.description


def _record(plugin: Locked | Broken, live: PluginState | None) -> dict[str, Any]:
    word, why = state(plugin, live)
    if isinstance(plugin, Broken):
        return {"name": plugin.name, "state": word, "reason": why, "folder": plugin.folder}
    manifest = plugin.manifest
    return {
        "name": plugin.name,
        "state": word,
        "reason": why,
        "folder": manifest.folder,
        "version": manifest.version,
        "description": manifest.description,
        "builtin": manifest.builtin,
        "start": manifest.start,
        "capabilities": list(manifest.capabilities),
        "provides": list(manifest.provides),
        "needs": [need._asdict() for need in plugin.needs],
        "tools": [tool.name for tool in manifest.tools],
        "pid": live.pid if live is not None else 0,
        "starts": live.generation if live is not None else 0,
    }


def _change(change: Change) -> dict[str, Any]:
    return {
        "name": change.name,
        "change": change.kind,
        "files": {kind: list(paths) for kind, paths in change.files._asdict().items()},
        "capabilities_added": list(change.added),
    }


def _preferring(choices: Choices, wish: str) -> Choices:
    if not wish:
        return choices
    facility, _, name = wish.partition("=")
    if not facility or not name:
        raise UsageError(f"--prefer is {one_line(wish)}", "limnos plugins lock --prefer files=NAME")
    return choices._replace(prefer={**choices.prefer, facility: name})


def _check_preference(lock: Lock, wish: str) -> None:
    facility, _, name = wish.partition("=")
    preferred = lock.get(name)
    if wish and (preferred is None or facility not in preferred.manifest.provides):
        raise UsageError(f"{one_line(name)} does not provide {one_line(facility)}", "limnos plugins graph")


FUNCTIONS = {
    "list": list_plugins,
    "install": install_plugin,
    "remove": remove_plugin,
    "enable": enable_plugin,
    "disable": disable_plugin,
    "lock": lock_plugins,
    "graph": show_graph,
    "logs": logs,
    "restart": restart,
    "stop": stop,
    "set": set_setting,
    "new": new_plugin,
    "test": run_tests,
    "conformance": check_conformance,
}
