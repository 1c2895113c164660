"""What the gate would make of a command, said part by part: for a person who wants to know before."""

import shlex
from collections.abc import Sequence
from typing import Any, NamedTuple

from limnos.agent.commands import SHELL_FLAGS, Commands, argv_of
from limnos.agent.rules import SHELL, short_name
from limnos.agent.settings import Settings
from limnos.kernel.deciding import (
    Effect,
    Mode,
    Standing,
    allows,
    decide,
    mode_of,
    replaced_programs,
    touches,
)
from limnos.kernel.findings import Part, covers
from limnos.kernel.seams import Rule


class ExplainedPart(NamedTuple):
    """One simple command, and what the rules say to it."""

    text: str
    notes: tuple[str, ...]


class Explained(NamedTuple):
    """The decision about a command, its reasons, its parts, and how it would run."""

    command: str
    mode: Mode
    verdict: Effect
    reasons: tuple[str, ...]
    parts: tuple[ExplainedPart, ...]
    runs: str
    sandbox: str
    instead: str = ""

    def record(self) -> dict[str, Any]:
        """As plain JSON."""
        return {**self._asdict(), "parts": [part._asdict() for part in self.parts]}


def explained(
    commands: Commands, rules: Sequence[Rule], settings: Settings, folder: str, command: str
) -> Explained:
    """Ask the gate's own parts what they would do with `command` in `folder`."""
    arguments = {"command": command}
    findings = commands.findings(arguments)
    here = [rule for rule in rules if rule.tool == SHELL and rule.folder in ("", folder)]
    mode = mode_of(settings.mode)
    verdict = decide(findings, here, Standing(mode, needs_yes=True))
    denied = findings.denied
    reasons = (
        *((denied.detail,) if denied is not None else ()),
        *((findings.always,) if findings.always else ()),
        *replaced_programs(findings, here),
        *findings.reasons,
    )
    *shell, last = argv_of(commands.inspection(arguments).plan)
    runs = f"{last}    (by bash)" if tuple(shell) == SHELL_FLAGS else shlex.join([*shell, last])
    parts = tuple(ExplainedPart(shlex.join(part.words), tuple(_notes(part, here))) for part in findings.parts)
    instead = denied.hint if denied is not None else ""
    reasons = tuple(dict.fromkeys(reasons))
    return Explained(command, mode, verdict, reasons, parts, runs, commands.sandbox(arguments), instead)


def _notes(part: Part, rules: Sequence[Rule]) -> list[str]:
    notes = [part.reason] if part.reason else []
    meant = [rule for rule in rules if _means(rule, part)]
    for rule in meant:
        short = rule.effect == "allow" and not allows(rule, part)
        reach = ", which does not reach so far" if short else ""
        notes.append(f"rule {short_name(rule)}: {rule.effect} `{rule.match}`{reach}")
    return notes if meant else [*notes, "no rule covers it"]


def _means(rule: Rule, part: Part) -> bool:
    return covers(rule.match, part.words) if rule.effect == "allow" else touches(rule, part)
