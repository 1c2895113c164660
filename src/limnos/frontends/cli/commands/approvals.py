"""`limnos approvals`: the rules that were stored, and what the gate makes of a command."""

from pathlib import Path
from typing import Annotated, NamedTuple

from limnos.agent.explaining import Explained, explained
from limnos.agent.rules import EFFECTS, SHELL, Kept, program_word, short_name
from limnos.agent.settings import load
from limnos.agent.workbench import commands_of, reading_of, rules_of
from limnos.frontends.cli.ancestry import refuse_own_commands
from limnos.frontends.cli.console import Console
from limnos.frontends.cli.escapes import command_text, one_line
from limnos.frontends.cli.words import Argument, Option
from limnos.kernel.errors import UsageError
from limnos.kernel.seams import Rule

_SANDBOXES = {
    "bwrap": "the sandbox, without the network",
    "bwrap+net": "the sandbox, with the network",
    "none": "no sandbox: with your rights",
}
_VERDICTS = {
    "allow": ("done", "runs without a question"),
    "ask": ("ask", "asks"),
    "deny": ("failed", "is denied"),
}


def list_rules(
    console: Console,
    as_json: Annotated[bool, Option("--json", help="one record a line")] = False,
) -> None:
    """Show the stored rules, and where each holds."""
    kept = rules_of(console.environment, console.folder).listed()
    if as_json:
        for one in kept:
            console.record({"id": one.id, **one.rule._asdict(), "file": str(one.path)})
        return
    if not kept and console.terminal.columns_for_lists:
        console.say(
            "no rules yet  next: answer a question with a, or limnos approvals add allow 'git status*'"
        )
        return
    console.rows(("id", "effect", "tool", "in", "match"), [_row(console, one) for one in kept])


def explain(
    console: Console,
    words: Annotated[list[str], Argument(metavar="COMMAND", help="a command line, in quotes")],
    mode: Annotated[str | None, Option("--mode", metavar="MODE", help="as in mode ask, auto or yolo")] = None,
    as_json: Annotated[bool, Option("--json", help="one record")] = False,
) -> None:
    """Say what the gate would do with a command here, part by part."""
    if not " ".join(words).strip():
        raise UsageError("there is no COMMAND to explain", "limnos approvals explain 'git status'")
    settings = load(console.environment, {"mode": mode} if mode else {})
    commands = commands_of(console.environment, settings, console.folder)
    found = explained(
        commands,
        rules_of(console.environment, console.folder).rules(),
        settings,
        console.folder,
        " ".join(words),
    )
    if as_json:
        console.record(found.record())
        return
    _show(console, found)


class Examples(NamedTuple):
    """What a new rule has to cover, and what it must leave alone."""

    example: Annotated[
        str | None, Option("--example", metavar="TEXT", help="something that it must cover")
    ] = None
    counter: Annotated[
        str | None, Option("--counter-example", metavar="TEXT", help="something that it must not cover")
    ] = None


NO_EXAMPLES = Examples()


def add(
    console: Console,
    effect: Annotated[str, Argument(metavar="EFFECT", help="allow, ask or deny")],
    match: Annotated[str, Argument(metavar="PATTERN", help="the command or path; * stands for any text")],
    tool: Annotated[str, Option("--tool", metavar="TOOL", help="the tool it is for (run_command)")] = SHELL,
    everywhere: Annotated[bool, Option("--everywhere", help="in every folder, not in this one only")] = False,
    examples: Examples = NO_EXAMPLES,
) -> None:
    """Store a rule for this folder, or with --everywhere for all."""
    refuse_own_commands("changing rules")
    if effect not in EFFECTS:
        raise UsageError(f"the effect is {one_line(effect)}", f"one of: {', '.join(EFFECTS)}")
    _check_reach(console, effect, tool, match)
    scope, folder = ("everywhere", "") if everywhere else ("persona", str(Path(console.folder).resolve()))
    program = ""
    if tool == SHELL and effect == "allow":
        program = reading_of(console.environment, console.folder).locate(program_word(match))
    rule = Rule(effect, tool, match, scope, folder, program)
    covered, spared = [examples.example or ""], [examples.counter or ""]
    rules_of(console.environment, console.folder).add(rule, [*filter(None, covered)], [*filter(None, spared)])
    console.done(f"stored {short_name(rule)}: {_said(rule)}", "limnos approvals explain 'COMMAND'")


def _check_reach(console: Console, effect: str, tool: str, match: str) -> None:
    """Refuse a rule that can cover nothing, or everything: neither is what somebody means."""
    if tool != SHELL or effect != "allow":
        return
    if not match.strip("* "):
        raise UsageError(f"allow {match} would let every command pass", "name a program: allow 'git status*'")
    found = reading_of(console.environment, console.folder).understand(match.replace("*", ""))
    if len(found.parts) > 1 or (found.reasons and "*" in match):
        raise UsageError(
            f"a rule covers one simple command, and {match} is more", "store one rule for each of its parts"
        )


def remove(
    console: Console,
    name: Annotated[str, Argument(metavar="ID", help="the id of the rule, from limnos approvals list")],
) -> None:
    """Forget a rule; the next call that it covered asks again."""
    refuse_own_commands("changing rules")
    kept = rules_of(console.environment, console.folder).remove(name)
    console.done(f"removed {_said(kept.rule)}", "limnos approvals list")


def _said(rule: Rule) -> str:
    return one_line(f"{rule.effect} {rule.tool} `{rule.match}`")


def _row(console: Console, kept: Kept) -> tuple[str, ...]:
    rule = kept.rule
    place = console.look.path(rule.folder) if rule.folder else "any folder"
    return kept.id, rule.effect, rule.tool, place, rule.match


def _show(console: Console, found: Explained) -> None:
    sign, said = _VERDICTS[found.verdict]
    console.show(console.look.signed(sign, f"{command_text(found.command)} {said} in mode {found.mode}"))
    for reason in found.reasons:
        console.data(f"  because {one_line(reason)}\n")
    if found.instead:
        console.data(f"  instead {one_line(found.instead)}\n")
    for part in found.parts:
        console.data(f"  part    {command_text(one_line(part.text))}\n")
        for note in part.notes:
            console.data(f"          {one_line(note)}\n")
    console.data(f"  runs as {command_text(one_line(found.runs))}\n")
    console.data(f"  in      {_SANDBOXES.get(found.sandbox, found.sandbox)}\n")


FUNCTIONS = {"list": list_rules, "explain": explain, "add": add, "remove": remove}
