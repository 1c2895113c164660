"""Tool calls as lines: one head per call, the decisive line of a failure, neighbouring reads as one line."""

import json
import posixpath
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from limnos.frontends.cli.cells import cut, expand_tabs, width, wrap
from limnos.frontends.cli.escapes import one_line, visible
from limnos.frontends.cli.look import ROLES, Look
from limnos.frontends.cli.spans import Line, Span, line
from limnos.frontends.cli.times import counted, duration
from limnos.kernel.events import CallFinished, CallProposed

_SUBJECTS = ("command", "path", "query", "pattern", "url", "text", "name", "task")
_DECISIVE = re.compile(r"error|fail|exception|denied|not found|no such|cannot|fatal", re.IGNORECASE)
_WORTH_A_TIME = 100
_MANY_LINES = 3
_LEAST_SUBJECT = 24


def ran(proposed: CallProposed, arguments: dict[str, Any]) -> CallProposed:
    """The call as it runs: a person may have edited what was proposed."""
    return proposed if arguments == proposed.arguments else proposed.changed(arguments=arguments)


class Call(NamedTuple):
    """A call that ended: what was proposed and its one result."""

    proposed: CallProposed
    finished: CallFinished

    @property
    def is_read(self) -> bool:
        """Done without an effect: it may share a line with its neighbours."""
        return self.finished.outcome == "done" and self.proposed.effects == "none"


def subject(arguments: dict[str, Any] | None) -> str:
    """What a call is about, on one line: its command, path or query, else its arguments."""
    if not arguments:
        return ""
    for name in _SUBJECTS:
        value = arguments.get(name)
        if isinstance(value, str) and value:
            return one_line(f'"{value}"' if name in ("query", "text", "task") else value)
    return one_line(json.dumps(arguments, ensure_ascii=False))


def head(look: Look, sign: Span, call: CallProposed, after: str = "") -> Line:
    """`✓ run_command  make test  4 s`: the subject gives way when the row is too narrow."""
    return _head(look, sign, call.tool, subject(call.arguments), after)


def _head(look: Look, sign: Span, tool: str, about: str, after: str) -> Line:
    tail = f"  {after}" if after else ""
    room = look.cells - 4 - width(one_line(tool)) - width(tail)
    shown = cut(about, max(0, room), look.signs.cut)
    return line(sign, " ", one_line(tool), f"  {shown}" if shown else "", tail)


def _reasoned(look: Look, sign: str, call: CallProposed, after: str) -> list[Line]:
    """A head with its reason behind it, or below it when the subject would have no room."""
    mark, about = Span(getattr(look.signs, sign), ROLES[sign]), subject(call.arguments)
    room = look.cells - 6 - width(one_line(call.tool)) - width(after)
    if room >= min(width(about), _LEAST_SUBJECT):
        return [head(look, mark, call, after)]
    word, _, reason = after.partition(": ")
    rows = wrap(line(reason), look.cells - 2) if reason else []
    return [head(look, mark, call, word), *(line("  ", *row) for row in rows)]


def finished_lines(look: Look, call: Call, *, show: bool) -> list[Line]:
    """The lines of a call that ended; `show` names the command that prints all of it."""
    finished = call.finished
    match finished.outcome:
        case "done":
            return [_success(look, call, show)]
        case "failed":
            return _failure(look, call, show)
        case "unknown":
            text = "outcome unknown: limnos ended while it ran"
            more = "  It is not run again by itself. Look, then tell limnos what happened."
            return [*_reasoned(look, "ask", call.proposed, text), line(more)]
        case "cancelled":
            after = f"cancelled after {duration(finished.ms)}" if finished.ms else "cancelled"
            return _reasoned(look, "idle", call.proposed, after)
        case _:
            detail = one_line(str((finished.error or {}).get("detail", "")))
            return _reasoned(look, "idle", call.proposed, f"denied: {detail}" if detail else "denied")


def group_line(look: Look, calls: Sequence[Call]) -> Line:
    """`✓ read_file  3 files in tests: conftest.py, cli/conftest.py, cli/test_run.py`."""
    sign, tool = Span(look.signs.done, "ok"), one_line(calls[0].proposed.tool)
    paths = [str((call.proposed.arguments or {}).get("path") or "") for call in calls]
    if all(paths):
        folder = posixpath.commonpath(paths) if len({path[0] == "/" for path in paths}) == 1 else ""
        folder = posixpath.dirname(folder) if folder in paths else folder
        names = [posixpath.relpath(path, folder) if folder else path for path in paths]
        text = (
            f"{len(calls)} files" + (f" in {look.path(folder)}" if folder else "") + ": " + ", ".join(names)
        )
    else:
        text = f"{counted(len(calls), 'call')}: " + ", ".join(
            subject(call.proposed.arguments) for call in calls
        )
    return look.cut(line(sign, " ", tool, "  ", one_line(text)))


def tail_lines(look: Look, text: str, count: int) -> list[Line]:
    """The last `count` lines of output, each cut to one row of column 3."""
    lines = [row for row in visible(text).split("\n") if row.strip()][-count:]
    return [look.cut(line("  ", expand_tabs(row))) for row in lines]


def _success(look: Look, call: Call, show: bool) -> Line:
    finished = call.finished
    about, summary = subject(call.proposed.arguments), one_line(finished.summary)
    if about and about in summary:
        about, summary = summary, ""
    after = [summary] if summary and finished.exit is None else []
    if finished.ms >= _WORTH_A_TIME:
        after.append(duration(finished.ms))
    after += _more(look, finished) if show else []
    return _head(look, Span(look.signs.done, "ok"), finished.tool, about, "  ".join(after))


def _more(look: Look, finished: CallFinished) -> list[str]:
    """The command that prints all of a result: of each shell command with output, else of a long one."""
    count = len(_filled(finished.text))
    if count < (1 if finished.exit is not None else _MANY_LINES + 1):
        return []
    return [f"/show {finished.seq}" + ("" if look.narrow else f" for {counted(count, 'line')}")]


def _filled(text: str) -> list[str]:
    return [row for row in visible(text).split("\n") if row.strip()]


def _failure(look: Look, call: Call, show: bool) -> list[Line]:
    finished, error = call.finished, call.finished.error or {}
    reason = str(error.get("reason", "failed"))
    if finished.exit is not None and reason == "failed":
        reason = f"exit {finished.exit}"
    parts = ["failed" + (f", {one_line(reason)}" if reason != "failed" else "")]
    if finished.ms >= _WORTH_A_TIME:
        parts.append(duration(finished.ms))
    after = ", ".join(parts)
    if show:
        after = "  ".join((after, *_more(look, finished)))
    lines = _filled(finished.text)
    detail = str(error.get("detail", "")) if finished.exit is None else ""
    decisive = detail or next((row for row in reversed(lines) if _DECISIVE.search(row)), "")
    decisive = decisive or (lines[-1] if lines else "")
    rows = [look.cut(head(look, Span(look.signs.failed, "bad"), call.proposed, after))]
    if decisive:
        rows.append(look.cut(line("  ", one_line(decisive.strip()))))
    return rows


def job_line(look: Look, name: str, command: str, state: str, status: int | None) -> Line:
    """One background command: its name, what became of it, and the command."""
    ended = f", exit {status}" if status is not None else ""
    sign = "you" if state == "running" else "done" if status == 0 else "idle"
    return look.signed(sign, f"{one_line(name)} {state}{ended}  {one_line(command)}")
