"""What the rules, the mode and a call's findings come to: deny beats ask beats allow."""

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, TypeAlias

from limnos.kernel.findings import Findings, Part, covers, covers_any, matches
from limnos.kernel.seams import Rule

Mode: TypeAlias = Literal["ask", "auto", "yolo"]
Effect: TypeAlias = Literal["deny", "ask", "allow"]


def mode_of(text: str) -> Mode:
    """The mode called `text`; what is none asks."""
    return "auto" if text == "auto" else "yolo" if text == "yolo" else "ask"


class Standing(NamedTuple):
    """What decides where no rule does. `needs_yes`: the tool asks for these arguments.

    `passes_in_auto`: the call is an edit by a file tool inside a trusted workspace.
    """

    mode: Mode
    needs_yes: bool
    passes_in_auto: bool = False


class Verdict(NamedTuple):
    """What becomes of a call before anybody is asked. `moved` says which programs are no longer the same.

    With `deny`, `outcome` is that of the call: failed when it could not have succeeded.
    """

    effect: Effect
    findings: Findings
    moved: Sequence[str] = ()
    outcome: Literal["denied", "failed"] = "denied"


def decide(findings: Findings, rules: Sequence[Rule], standing: Standing) -> Effect:
    """What becomes of a call with these findings; `rules` are those of its tool that hold here."""
    if findings.denied is not None:
        return "deny"
    effect = by_rules(findings, rules)
    if effect == "deny":
        return "deny"
    if findings.always or effect == "ask":
        return "ask"
    if effect == "allow" or standing.mode == "yolo":
        return "allow"
    if findings.reasons:
        return "ask"
    passes = standing.mode == "auto" and standing.passes_in_auto
    return "ask" if standing.needs_yes and not passes else "allow"


def by_rules(findings: Findings, rules: Sequence[Rule]) -> Effect | None:
    """What the rules say; None when they leave it open. Allow needs every part covered."""
    for effect in ("deny", "ask"):
        strict = [rule for rule in rules if rule.effect == effect]
        if any(touches(rule, part) for rule in strict for part in findings.parts):
            return effect
    if not findings.parts or findings.reasons:
        return None
    lenient = [rule for rule in rules if rule.effect == "allow"]
    return "allow" if all(_covered(part, lenient) for part in findings.parts) else None


def replaced_programs(findings: Findings, rules: Iterable[Rule]) -> list[str]:
    """A sentence for each part whose program is another file than the one its allow rule was made for."""
    return [
        f"{part.words[0]} is {part.program or 'not found'} now; the rule was made for {rule.program}"
        for rule in rules
        for part in findings.parts
        if rule.effect == "allow"
        and rule.program not in ("", part.program)
        and part.words
        and covers(rule.match, part.words)
    ]


def touches(rule: Rule, part: Part) -> bool:
    """Whether a rule that denies or asks means `part`."""
    if part.subject:
        return matches(rule.match, part.subject)
    return covers_any(rule.match, (part.words, *part.also))


def _covered(part: Part, rules: Sequence[Rule]) -> bool:
    return any(allows(rule, part) for rule in rules)


def allows(rule: Rule, part: Part) -> bool:
    """Whether a rule that allows covers `part` with all that it does."""
    if part.subject:
        return matches(rule.match, part.subject)
    if rule.program not in ("", part.program) or (part.reason and "*" in rule.match):
        return False
    return covers(rule.match, part.words)
