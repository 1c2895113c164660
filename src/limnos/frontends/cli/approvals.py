"""The gate's question as a person sees it, and the answer row below it.

The question's body is printed once and stays as a record. Text that is asked about is never cut in a way
that hides an effect: only the middle of very long words is replaced by its length.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias, cast

from limnos.frontends.cli.cells import line_width, wrap
from limnos.frontends.cli.diffs import diff_lines, is_diff
from limnos.frontends.cli.escapes import command_text, one_line, visible
from limnos.frontends.cli.look import Look
from limnos.frontends.cli.spans import Line, Span, line
from limnos.frontends.cli.times import clock, counted, duration
from limnos.kernel.events import ApprovalAnswered, ApprovalAsked
from limnos.kernel.seams import Answer

READABLE_SECONDS = 0.5  # ux.md rule 2: an answer counts once the question was visible for so long
_NEW_VERSION = "type the new version; n is no, an empty line goes back"
_TOO_EARLY = "that came before the question could be read"
_ESCAPE = "\x1b"  # how Alt and the arrows begin where the terminal hands over whole lines
_DIFF_ROWS = 24
_MOST_PARTS = 8  # more would push the head of the question off the screen
_LABEL = 8
Verdict: TypeAlias = Literal["no", "once", "always", "edit", "show"]
_LETTERS: dict[str, Verdict] = {"n": "no", "y": "once", "a": "always", "e": "edit", "v": "show"}
_SPOKEN: dict[str, Verdict] = {"no": "no", "yes": "once", "否": "no", "是": "once"}
_PLACES = {"session": "in this session", "persona": "for this persona", "everywhere": "everywhere"}
_TITLES = {"no": "deny", "once": "allow once", "edit": "put it into your line", "show": "print all of it"}


class Choice(NamedTuple):
    """What a line says to an open question."""

    verdict: Verdict
    reason: str | None = None
    scope: str = "session"


_SCOPES = {str(number): Choice("always", scope=scope) for number, scope in enumerate(_PLACES, 1)}


def _read_choice(text: str, *, may_store: bool) -> Choice | None:
    """`n`, `y`, `a`, `e`, `v`, a whole yes or no, or `n: reason`; None when the line is a message."""
    word = text.strip()
    if word[:2] == "n:":
        return Choice("no", word[2:].strip() or None)
    verdict = _LETTERS.get(word) or _SPOKEN.get(word.lower())
    return None if verdict is None or (verdict == "always" and not may_store) else Choice(verdict)


def question_lines(look: Look, asked: ApprovalAsked) -> list[Line]:
    """The whole question: head with its code, where, what, to whom, from where, and what would change."""
    reason = one_line(asked.reasons[0]) if asked.reasons else "it needs your yes"
    head = look.signed("ask", f"{one_line(asked.tool)} asks: ", reason)
    code = one_line(asked.approval)
    folder = look.path(one_line(asked.cwd))
    if look.narrow or line_width(head) + len(code) + 2 > look.cells:
        rows = [*wrap(head, look.cells, "  "), *_labelled(look, "code", f"{code}, in {folder}")]
    else:
        rows = [look.right(head, code), *_labelled(look, "in", folder)]
    rows.extend(_what(look, asked))
    for more in asked.reasons[1:]:
        rows.extend(_labelled(look, "why", one_line(more)))
    if asked.destinations:
        rows.extend(_labelled(look, "to", ", ".join(one_line(place) for place in asked.destinations)))
    foreign = [one_line(origin) for origin in asked.origins if origin not in ("person", "persona", "kernel")]
    if foreign:
        rows.extend(_labelled(look, "from", f"{', '.join(foreign)}, not trusted", warn=True))
    if asked.preview and asked.preview != asked.arguments.get("command"):
        rows.extend(_preview(look, asked.preview, _DIFF_ROWS))
    return rows


def whole_lines(look: Look, asked: ApprovalAsked) -> list[Line]:
    """Everything that would run, nothing shortened; for `v`."""
    command, shown = asked.arguments.get("command"), asked.preview
    if shown and is_diff(shown):
        return _preview(look, shown, None)
    text = json.dumps(asked.arguments, ensure_ascii=False, indent=2)
    rows = _block(look, visible(command if isinstance(command, str) else text))
    return rows + (_preview(look, shown, None) if shown and shown != command else [])


def rule_lines(look: Look, asked: ApprovalAsked) -> list[Line]:
    """The exact rule that `a` would store, and what each place to store it means."""
    rule: Mapping[str, Any] = asked.rule or {}
    text = f"{rule.get('effect', 'allow')} {rule.get('tool', asked.tool)} `{rule.get('match', '')}`"
    program = rule.get("program")
    rows = _labelled(look, "rule", one_line(text + (f", which is {program}" if program else "")))
    folder = look.path(one_line(str(rule.get("folder") or asked.cwd)))
    return [(), *rows, *_labelled(look, "where", f"1 and 2 hold in {folder} only, 3 in any folder")]


def _scope_row(look: Look) -> Line:
    """The choices after `a`: where the rule shall hold."""
    if look.narrow:
        return _asking("0 back  1 session  2 persona  3 everywhere")
    return _asking("0 back   1 this session   2 this persona   3 everywhere")


def answered_line(look: Look, answered: ApprovalAnswered, *, retry: bool = False) -> Line:
    """The one line that records an answer; `retry` names the command that asks again."""
    after = f"after {duration(answered.after_ms)}"
    match answered.answer:
        case "once":
            return look.signed("done", f"allowed by you, once, {after}")
        case "always":
            rule: Mapping[str, Any] = answered.rule or {}
            scope = str(rule.get("scope", "session"))
            where = "everywhere" if scope == "everywhere" else f"in this {scope}"
            text = f"allowed by you, always {where}, {after}: `{rule.get('match', '')}`"
            return look.cut(look.signed("done", one_line(text)))
        case "edit":
            return look.signed("done", f"allowed by you, edited, {after}")
        case "expired":
            again = "    next: /retry asks again" if retry else ""
            return look.signed("idle", f"denied: no answer in time{again}")
        case "cancelled":
            return look.signed("idle", "not answered, and not run")
        case _:
            why = f": {one_line(answered.reason)}" if answered.reason else ""
            return look.cut(look.signed("idle", f"denied by you {after}{why}"))


class Heard(NamedTuple):
    """What a line or a key meant to an open question: an answer to send, lines to print, text to edit.

    `slip`: it was meant as an answer and is none that the question offers.
    """

    answer: Answer | None = None
    rows: Sequence[Line] = ()
    fill: str | None = None
    slip: bool = False

    def now(self) -> list[Line]:
        """What is edited, for views that cannot put it into the line."""
        if self.fill is None:
            return []
        first, *more = visible(self.fill).split("\n")
        return [line(f"  now: {first}"), *(line("       ", row) for row in more)]


@dataclass(slots=True)
class AnswerRow:
    """The live row of one open question. `visible_at` and `begun` are seconds of one monotonic clock.

    While `editing` a line is the new version of what was asked about; emptying the line ends that.
    """

    asked: ApprovalAsked
    visible_at: float
    choosing: bool = False
    editing: bool = False

    def readable(self, now: float) -> bool:
        """Whether the question has been visible long enough to be answered."""
        return now - self.visible_at >= READABLE_SECONDS

    def choice(self, text: str, begun: float) -> Choice | None:
        """What Enter would answer: only a line begun when the question could be read counts."""
        if not self.readable(begun):
            return None
        if self.choosing:
            place = text.strip()
            return Choice("show") if place == "0" else _SCOPES.get(place)
        return _read_choice(text, may_store=self.asked.rule is not None)

    def hear(self, look: Look, text: str, begun: float) -> Heard | None:
        """Take a line; None when it is a message and no answer."""
        if self.editing:
            return self._hear_edited(look, text)
        choice = self.choice(text, begun)
        if choice is None:
            slip = self._is_slip(text, begun)
            return Heard(rows=[self.refusal(look, text, begun)], slip=True) if slip else None
        if self.choosing:
            self.choosing = False
            if choice.verdict != "always":
                return Heard()
            return Heard(Answer("always", source="tty", scope=choice.scope))
        match choice.verdict:
            case "always":
                self.choosing = True
                return Heard(rows=rule_lines(look, self.asked))
            case "edit":
                self.editing = True
                return Heard(fill=_edit_text(self.asked))
            case "show":
                return Heard(rows=whole_lines(look, self.asked))
            case _:
                return Heard(Answer(choice.verdict, reason=choice.reason, source="tty"))

    def press(self, look: Look, verdict: Literal["no", "once"], now: float) -> Heard:
        """Take an Alt key: an answer whatever the composer holds, but never a yes to what is being edited."""
        if not self.readable(now):
            return Heard(rows=[look.signed("ask", f"{_TOO_EARLY}; press it again")], slip=True)
        if self.editing and verdict == "once":
            text = "not while you edit; Enter runs your version, Ctrl-U goes back"
            return Heard(rows=[look.signed("ask", text)], slip=True)
        return Heard(Answer(verdict, source="tty"))

    def _hear_edited(self, look: Look, text: str) -> Heard:
        if not text.strip():
            self.editing = False
            return Heard()
        if (denial := _denial(text)) is not None:
            return Heard(Answer("no", reason=denial.reason, source="tty"))
        answer = _edited(self.asked, text)
        return (
            Heard(answer) if answer else Heard(rows=[look.signed("ask", "this is no JSON object")], fill=text)
        )

    def row(self, look: Look, text: str, begun: float) -> Line:
        """The row: the choices, or what Enter will do with what stands in the composer."""
        if self.editing:
            return _asking(self._edit_title(text))
        if self.choosing and not text:
            return _scope_row(look)
        if not text:
            return self._choices(look)
        choice = self.choice(text, begun)
        if choice is None and self._is_slip(text, begun):
            return self.refusal(look, text, begun)
        if choice is None:
            long = "Enter queues your line   Alt-N no   Alt-Y once   Ctrl-U first to answer"
            return _asking("Alt-N no  Alt-Y once  Ctrl-U first" if look.narrow else long)
        return _asking(f"Enter: {self._title(choice)}")

    def refusal(self, look: Look, text: str, begun: float) -> Line:
        """Why a line is no answer to the question, and what is one."""
        if not self.readable(begun):
            why = _TOO_EARLY
        elif _ESCAPE in text:
            why = "only letters answer here, no Alt or arrow keys"
        elif text.strip() in _LETTERS:
            why = f"{text.strip()} is not offered here"
        else:
            why = "that is no answer"
        return look.cut(look.signed("ask", f"{why}; answer with {self._offered}"))

    def queued_row(self, look: Look, count: int) -> Line:
        """That lines wait for the answer: they were none."""
        return look.cut(look.signed("you", f"{counted(count, 'line')} queued; answer with {self._offered}"))

    @property
    def _offered(self) -> str:
        if self.choosing:
            return "0, 1, 2, 3"
        return "n, y, a, e, v" if self.asked.rule is not None else "n, y, e, v"

    def _is_slip(self, text: str, begun: float) -> bool:
        """Whether a line is no message either: a letter that is not offered, or a key that came as text."""
        return _ESCAPE in text or (self.readable(begun) and text.strip() in _LETTERS)

    def _edit_title(self, text: str) -> str:
        if not text:
            return _NEW_VERSION
        denial = _denial(text)
        if denial is not None:
            return f"Enter: {self._title(denial)}"
        return "Enter: run your edited version   Esc stops   Ctrl-U back"

    def _title(self, choice: Choice) -> str:
        if self.choosing:
            return "go back" if choice.verdict == "show" else f"allow, and always {_PLACES[choice.scope]}"
        if choice.verdict == "always":
            return "show the rule before it is stored"
        title = _TITLES[choice.verdict]
        if choice.verdict == "once" and len(self.asked.parts) > 1:
            title += f", all {len(self.asked.parts)} parts"
        return title + (f", because: {one_line(choice.reason)}" if choice.reason else "")

    def _choices(self, look: Look) -> Line:
        always = ("  a always" if look.narrow else "   a always...") if self.asked.rule is not None else ""
        if look.narrow:
            return _asking(f"n no  y once{always}  e edit  v all")
        row = _asking(f"n no   y once{always}   e edit   n: reason   v all")
        return look.right(row, f"no at {clock(self.asked.expires, look.zone)}") if self.asked.expires else row


def _asking(text: str) -> Line:
    return line(Span("? ", "warn"), text)


def _edit_text(asked: ApprovalAsked) -> str:
    """What `e` puts into the composer: the command, or the arguments as JSON."""
    command = asked.arguments.get("command")
    return command if isinstance(command, str) else json.dumps(asked.arguments, ensure_ascii=False)


def _edited(asked: ApprovalAsked, text: str) -> Answer | None:
    """The answer to an edit; None when the text is no JSON object."""
    if isinstance(asked.arguments.get("command"), str):
        return Answer("edit", arguments={**asked.arguments, "command": text}, source="tty")
    try:
        arguments = json.loads(text)
    except ValueError:
        return None
    if not isinstance(arguments, dict):
        return None
    return Answer("edit", arguments=cast("dict[str, Any]", arguments), source="tty")


def _denial(text: str) -> Choice | None:
    """A no, which stays one while the command is edited."""
    choice = _read_choice(text, may_store=False)
    return choice if choice is not None and choice.verdict == "no" else None


def _what(look: Look, asked: ApprovalAsked) -> Iterator[Line]:
    command = asked.arguments.get("command")
    if isinstance(command, str):
        yield from _labelled(look, "run", command_text(command))
        if len(asked.parts) > _MOST_PARTS:
            yield from _labelled(look, "parts", f"{len(asked.parts)}, all of them in `run`")
        for number, part in enumerate(asked.parts if len(asked.parts) <= _MOST_PARTS else (), 1):
            yield from _labelled(look, f"part {number}", command_text(one_line(" ".join(part))))
        asked_about = {name: value for name, value in asked.arguments.items() if name != "command"}
    else:
        asked_about = asked.arguments
    for name, value in asked_about.items():
        if asked.preview and name not in ("path", "url"):
            continue
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        yield from _labelled(look, one_line(name), command_text(text))


def _preview(look: Look, preview: str, limit: int | None) -> list[Line]:
    return diff_lines(look, preview, limit) if is_diff(preview) else _block(look, command_text(preview))


def _block(look: Look, text: str) -> list[Line]:
    rows = (wrap(line(row), look.cells - 2) for row in text.split("\n"))
    return [line("  ", *piece) for pieces in rows for piece in pieces]


def _labelled(look: Look, label: str, text: str, *, warn: bool = False) -> list[Line]:
    begin = "  " if look.narrow and label in ("code", "in", "run") else f"  {label:<{_LABEL}}"
    if look.narrow and label not in ("code", "in", "run"):
        begin = f"  {label} "
    elif not begin.endswith(" "):
        begin += " "
    rows: list[Line] = []
    for piece in text.split("\n"):
        spans = (Span(piece, "warn" if warn else ""),)
        for row in wrap(spans, look.cells - len(begin)):
            rows.append(line(begin if not rows else " " * len(begin), *row))
    return rows
