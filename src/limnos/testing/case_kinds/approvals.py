"""Cases `approvals`: shell commands, rules and a mode; what the gate decides."""

from typing import Any

from limnos.agent.shell.inspect import inspect
from limnos.agent.shell.place import Place
from limnos.kernel.deciding import Standing, decide
from limnos.kernel.findings import Findings
from limnos.kernel.seams import Rule

PLACE = Place(cwd="/home/u/project", home="/home/u", state="/home/u/.limnos", user="u")


def check(case: dict[str, Any]) -> str | None:
    """None when the gate decides as expected and the parts that are named are among those reported."""
    findings = inspect(case["command"], PLACE).findings
    rules = [
        Rule(rule["effect"], rule["tool"], rule["match"]) for rule in case["rules"] if rule["tool"] == "shell"
    ]
    got = decide(findings, rules, Standing(case["mode"], needs_yes=True))
    if got == "ask" and not case.get("approver", True):
        got = "deny"
    expect: str | list[str] = case["expect"]
    wanted = [expect] if isinstance(expect, str) else expect
    if got not in wanted:
        return f"{got} instead of {wanted}: {_why(findings)}"
    reported = {words for part in findings.parts for words in (part.words, *part.also)}
    missing = [words for words in case.get("parts", []) if tuple(words) not in reported]
    return f"parts {missing} are missing" if missing else None


def _why(findings: Findings) -> str:
    reasons = [*findings.reasons, *(part.reason for part in findings.parts if part.reason)]
    return findings.denied.detail if findings.denied else "; ".join(reasons) or "no rule"
