"""Reading a command for the gate: its parts, what no rule covers, what is never done, how it runs."""

from typing import NamedTuple

from limnos.agent.shell.collecting import Collector
from limnos.agent.shell.grammar import read
from limnos.agent.shell.place import Place
from limnos.agent.shell.rebuild import Argv, Plan, Text, plan_of
from limnos.agent.shell.second import Second, without_time
from limnos.kernel.findings import Findings

MAX_LENGTH = 100_000
MAX_PARTS = 32
# The second reader needs memory that grows with the square of the signs: a gigabyte at ten times as many.
MAX_READ_TWICE = 20_000
MAX_SIGNS = 2_000
_OTHER_READING = "the text can be read in two ways"
_second: list[Second] = []


class Inspection(NamedTuple):
    """What a command is. `network` are its programs that need the network."""

    findings: Findings
    plan: Plan
    network: tuple[str, ...] = ()


def inspect(command: str, place: Place) -> Inspection:
    """Read `command` as bash would, in `place`. Never raises; what cannot be read is a reason to ask."""
    if fault := _unreadable(command):
        return Inspection(Findings((), (fault,)), Text(command))
    tree = read(command)
    plan = plan_of(command, tree, place)
    collector = Collector(place)
    collector.visit(tree)
    _compare(command, plan, collector, place)
    record = collector.record
    if len(record.parts) > MAX_PARTS:
        record.ask(f"{len(record.parts)} parts are more than can be looked at")
    if isinstance(plan, Text) and not record.asks:
        record.ask("the text runs as it is written, not as it was read")
    return Inspection(record.findings(), plan, tuple(record.network))


def _unreadable(command: str) -> str:
    if len(command) > MAX_LENGTH:
        return f"{len(command)} characters are too long to be read"
    if "\0" in command:
        return "the command holds a NUL character"
    if not command.isascii() and any("\ud800" <= char <= "\udfff" for char in command):
        return "the command holds half a character"
    return ""


def _compare(command: str, plan: Plan, collector: Collector, place: Place) -> None:
    """Let the second reading confirm a rebuilt plan, and add what only it finds in another text."""
    if isinstance(plan, Text) and plan.plain:
        return
    if len(command) > MAX_READ_TWICE or sum(map(command.count, "|&;(){}<>=`$\n")) > MAX_SIGNS:
        collector.record.ask("the command is too long to be read twice")
        return
    if not _second:
        _second.append(Second())
    commands, whole = _second[0].commands(command, place)
    if isinstance(plan, Text):
        seen = {part.words for part in collector.record.parts}
        for words in commands:
            if words not in seen:
                collector.visit_words(words)
        return
    ours = [plan.words] if isinstance(plan, Argv) else plan.commands
    if not whole or commands != [tuple(words) for words in map(without_time, ours) if words]:
        collector.record.ask(_OTHER_READING)


def suggestion(inspection: Inspection) -> str | None:
    """The rule that *always* would store: exactly these words; None when no rule could cover them."""
    parts = inspection.findings.parts
    if len(parts) != 1 or not isinstance(inspection.plan, Argv) or inspection.findings.reasons:
        return None
    words = parts[0].words
    if (
        inspection.findings.denied
        or any("*" in word for word in words)
        or any(char in words[0] for char in " \t\n")
    ):
        return None
    return " ".join(words)


def network_programs(inspection: Inspection) -> tuple[str, ...]:
    """The programs among the parts that need the network, each once, with the subcommand where it decides."""
    return inspection.network
