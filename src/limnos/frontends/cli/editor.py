"""The line that a person is writing. Pure: keys in, text and caret out; it knows no terminal."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from limnos.frontends.cli.cells import graphemes
from limnos.frontends.cli.keys import Key
from limnos.frontends.cli.times import counted

# A large paste stands in the line as one character of a private plane and is put back when it is sent.
_FIRST_CHIP = 0x10F000
_CHIP_LINES = 10
_WORD_LEFT = re.compile(r"\S+\s*\Z")
_WORD_RIGHT = re.compile(r"\s*\S+")


@dataclass(slots=True)
class Editor:
    """Text, caret (a place in `text`), what was cut, and the inputs of this session to go back to."""

    text: str = ""
    caret: int = 0
    history: list[str] = field(default_factory=list[str])
    begun: float = 0.0
    _cut: str = ""
    _place: int | None = None
    _draft: str = ""
    _chips: dict[str, str] = field(default_factory=dict[str, str])

    def press(self, key: Key, now: float) -> bool:
        """Apply a key; False when it means nothing to an editor. `now` is when a new line began."""
        empty = not self.text
        if key.name == "text":
            self._insert(key.text)
        elif key.name == "paste":
            self._insert(self._chip(key.text))
        elif key.name in _EDITS:
            _EDITS[key.name](self)
        else:
            return False
        if empty and self.text:
            self.begun = now
        return True

    def take(self) -> str:
        """The whole line with pastes put back; the editor is empty afterwards."""
        text = self.expanded()
        self.set("", 0.0)
        self._place = None
        return text

    def set(self, text: str, now: float) -> None:
        """Put `text` into the line, the caret at its end."""
        self.text, self.caret, self.begun = text, len(text), now

    def remember(self, text: str) -> None:
        """Add an input to the history unless it repeats the last one."""
        if text and self.history[-1:] != [text]:
            self.history.append(text)

    def expanded(self) -> str:
        """The text that would be sent."""
        return "".join(self._chips.get(character, character) for character in self.text)

    def shown(self, text: str) -> str:
        """`text` of this editor as a person sees it: pastes as their number of lines."""
        return "".join(
            f"[pasted {counted(self._chips[c].count(chr(10)) + 1, 'line')}]" if c in self._chips else c
            for c in text
        )

    @property
    def continues(self) -> bool:
        """Whether Enter makes a new line here: the text before the caret ends with a backslash."""
        return self.text[: self.caret].endswith("\\")

    def break_line(self) -> None:
        """Replace the backslash before the caret by a line end."""
        self._delete(1)
        self._insert("\n")

    def _chip(self, text: str) -> str:
        if text.count("\n") < _CHIP_LINES:
            return text
        chip = chr(_FIRST_CHIP + len(self._chips))
        self._chips[chip] = text
        return chip

    def _insert(self, text: str) -> None:
        self.text = self.text[: self.caret] + text + self.text[self.caret :]
        self.caret += len(text)

    def _delete(self, count: int) -> str:
        """Take `count` characters before the caret away."""
        gone = self.text[self.caret - count : self.caret]
        self.text = self.text[: self.caret - count] + self.text[self.caret :]
        self.caret -= count
        return gone

    def _before(self) -> str:
        """The character, as a person sees it, before the caret."""
        start = self.text.rfind("\n", 0, self.caret) + 1
        return (list(graphemes(self.text[start : self.caret])) or [self.text[: self.caret][-1:]])[-1]

    def _after(self) -> str:
        rest = self.text[self.caret :]
        return next(graphemes(rest.split("\n")[0]), rest[:1])

    def backspace(self) -> None:
        self._delete(len(self._before()))

    def delete_after(self) -> None:
        self.text = self.text[: self.caret] + self.text[self.caret + len(self._after()) :]

    def left(self) -> None:
        self.caret -= len(self._before())

    def right(self) -> None:
        self.caret += len(self._after())

    def home(self) -> None:
        self.caret = self.text.rfind("\n", 0, self.caret) + 1

    def end(self) -> None:
        end = self.text.find("\n", self.caret)
        self.caret = len(self.text) if end < 0 else end

    def word_left(self) -> None:
        found = _WORD_LEFT.search(self.text[: self.caret])
        self.caret = found.start() if found else 0

    def word_right(self) -> None:
        found = _WORD_RIGHT.match(self.text, self.caret)
        self.caret = found.end() if found else len(self.text)

    def cut_word(self) -> None:
        end = self.caret
        self.word_left()
        start, self.caret = self.caret, end
        self._cut = self._delete(end - start)

    def cut_all(self) -> None:
        if self.text:
            self._cut, self.text, self.caret = self.text, "", 0

    def cut_rest(self) -> None:
        start = self.caret
        self.end()
        self._cut = self._delete(self.caret - start) or self._cut

    def yank(self) -> None:
        self._insert(self._cut)

    def new_line(self) -> None:
        self._insert("\n")

    def up(self) -> None:
        start = self.text.rfind("\n", 0, self.caret)
        if start >= 0:
            column = self.caret - start - 1
            above = self.text.rfind("\n", 0, start)
            self.caret = min(above + 1 + column, start)
        elif self.history and self._place != 0:
            self._recall(len(self.history) - 1 if self._place is None else self._place - 1)

    def down(self) -> None:
        end = self.text.find("\n", self.caret)
        if end >= 0:
            column = self.caret - self.text.rfind("\n", 0, self.caret) - 1
            below = self.text.find("\n", end + 1)
            self.caret = min(end + 1 + column, len(self.text) if below < 0 else below)
        elif self._place is not None:
            self._recall(self._place + 1)

    def _recall(self, place: int) -> None:
        if self._place is None:
            self._draft = self.text
        if place >= len(self.history):
            self._place, text = None, self._draft
        else:
            self._place, text = place, self.history[place]
        self.text, self.caret = text, len(text)


_EDITS: dict[str, Callable[[Editor], None]] = {
    name: edit
    for names, edit in (
        ("backspace", Editor.backspace),
        ("delete", Editor.delete_after),
        ("left ctrl-b", Editor.left),
        ("right ctrl-f", Editor.right),
        ("home ctrl-a", Editor.home),
        ("end ctrl-e", Editor.end),
        ("up ctrl-p", Editor.up),
        ("down ctrl-n", Editor.down),
        ("ctrl-left alt-left alt-b", Editor.word_left),
        ("ctrl-right alt-right alt-f", Editor.word_right),
        ("ctrl-w alt-backspace", Editor.cut_word),
        ("ctrl-u", Editor.cut_all),
        ("ctrl-k", Editor.cut_rest),
        ("ctrl-y", Editor.yank),
        ("newline", Editor.new_line),
    )
    for name in names.split()
}
