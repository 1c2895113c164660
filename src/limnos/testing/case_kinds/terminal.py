"""Cases `terminal`: what the command line makes of bytes that it must not obey."""

import base64
import importlib
import os
from typing import Any, cast

from limnos.agent.shell import Place, inspect
from limnos.kernel.approvals import MAX_PARTS
from limnos.kernel.events import ApprovalAsked, StepFinished
from limnos.sdk.files import shown

_PLACE = Place(cwd="/home/u/project", home="/home/u", state="/home/u/.limnos", user="u")
_WIDE = 10_000_000  # cells: nothing wraps


def check(case: dict[str, Any]) -> str | None:
    """None when all that must be readable is, and nothing else got through; else what is wrong."""
    outside = base64.b64decode(case["bytes_b64"]).decode("utf-8", "surrogateescape")
    rendered = _rendered(case["context"], outside)
    try:
        data = rendered.encode()
    except UnicodeEncodeError:
        return f"what is shown is no text: {rendered!r}"
    for wanted in case["expect"]["visible_contains"]:
        choices = cast("list[str]", wanted if isinstance(wanted, list) else [wanted])
        if not any(choice.casefold() in rendered.casefold() for choice in choices):
            return f"{choices} cannot be read in {rendered[:2000]!r}"
    for lacking in map(base64.b64decode, case["expect"]["lacks_b64"]):
        if lacking in data:
            return f"{lacking[:80]!r} got through in {rendered[:2000]!r}"
    if case["context"] in ("log", "filename") and len(rendered.splitlines()) > 1:
        return f"it takes more than one line: {rendered[:2000]!r}"
    return None


def _rendered(context: str, outside: str) -> str:
    match context:
        case "terminal":
            return _answer(outside)
        case "approval":
            return _question(outside)
        case "card":
            return _front_end("escapes").card_text(outside)
        case "log":
            return _front_end("escapes").one_line(outside)
        case "filename":
            return _front_end("escapes").one_line(shown(os.fsdecode(os.fsencode(outside))))
        case _:
            raise ValueError(f"no text is shown in {context!r}")


def _front_end(name: str) -> Any:
    """A module of the command line, by name: front ends stand above this folder, and a case tests one."""
    return importlib.import_module(f"limnos.frontends.cli.{name}")


def _lines(rows: Any) -> str:
    return "\n".join(_front_end("spans").plain(row) for row in rows)


def _look() -> Any:
    return _front_end("look").Look(lambda: _WIDE, home="")


def _answer(text: str) -> str:
    transcript = _front_end("transcript").Transcript(_look(), chat=False)
    return _lines(transcript.apply(StepFinished(text=text, turn=1, step=1)))


def _question(command: str) -> str:
    """The question of the gate with what it read of the command."""
    findings = inspect(command, _PLACE).findings
    words = [list(part.words) for part in findings.parts[:MAX_PARTS] if part.words]
    asked = ApprovalAsked(
        approval="k7f2",
        call="c1",
        tool="run_command",
        arguments={"command": command},
        hash="",
        reasons=["it can change anything", *findings.reasons],
        cwd=_PLACE.cwd,
        parts=words if len(words) > 1 else [],
    )
    return _lines(_front_end("approvals").question_lines(_look(), asked))
