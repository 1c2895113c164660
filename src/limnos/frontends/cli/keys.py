"""What a terminal sends, as keys. Unknown sequences are swallowed: never typed, never taken as Esc."""

import codecs
import re
from dataclasses import dataclass, field
from typing import NamedTuple

ESCAPE_SECONDS = 0.05
STRING_SECONDS = 1.0
_PASTE_END = "\x1b[201~"
_LONGEST_STRING = 65_536

_CONTROLS = {
    "\r": "enter",
    "\n": "newline",
    "\t": "tab",
    "\x7f": "backspace",
    "\x08": "backspace",
    **{chr(code): f"ctrl-{chr(code + 96)}" for code in range(1, 27) if chr(code) not in "\r\n\t\x08"},
}
_FINALS = {"A": "up", "B": "down", "C": "right", "D": "left", "H": "home", "F": "end"}
_TILDES = {"1": "home", "3": "delete", "4": "end", "5": "page-up", "6": "page-down", "7": "home", "8": "end"}
_MODIFIERS = {"3": "alt-", "5": "ctrl-", "7": "ctrl-alt-"}

_CSI = re.compile(r"\x1b\[([0-?]*)([ -/]*)([@-~])")
_CSI_OPEN = re.compile(r"\x1b\[[0-?]*[ -/]*\Z")
_STRING = re.compile(r"\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)")
_STRING_OPEN = re.compile(r"\x1b[\]PX^_][^\x07\x1b]*\x1b?\Z")


class Key(NamedTuple):
    """One key. `name` is `text` or `paste` with what came in `text`, or the name of a key."""

    name: str
    text: str = ""


@dataclass(slots=True)
class Decoder:
    """Turns bytes into keys; what is not complete yet waits for more bytes or for `flush`."""

    _held: str = ""
    _paste: list[str] | None = None
    _decode: codecs.IncrementalDecoder = field(
        default_factory=lambda: codecs.getincrementaldecoder("utf-8")("replace")
    )

    def feed(self, data: bytes) -> list[Key]:
        """The keys that `data` completes."""
        self._held += self._decode.decode(data)
        found: list[Key] = []
        while self._held:
            step = self._pasted() if self._paste is not None else self._next()
            if step is None:
                break
            found.extend(step)
        return _merged(found)

    @property
    def waits(self) -> float | None:
        """Seconds after which `flush` decides about what is held; None when nothing is."""
        if not self._held or self._paste is not None:
            return None
        return STRING_SECONDS if _STRING_OPEN.match(self._held) else ESCAPE_SECONDS

    def flush(self) -> list[Key]:
        """No more bytes came in time: a lone ESC is the Esc key, a broken sequence is nothing."""
        held, self._held = self._held, ""
        if self._paste is not None:
            self._held = held
            return []
        return [Key("escape")] if held == "\x1b" else []

    def _pasted(self) -> list[Key] | None:
        assert self._paste is not None
        end = self._held.find(_PASTE_END)
        if end < 0:
            keep = _overlap(self._held)
            self._paste.append(self._held[: len(self._held) - keep])
            self._held = self._held[len(self._held) - keep :]
            return None
        text = "".join(self._paste) + self._held[:end]
        self._held, self._paste = self._held[end + len(_PASTE_END) :], None
        return [Key("paste", text.replace("\r\n", "\n").replace("\r", "\n"))]

    def _next(self) -> list[Key] | None:
        first = self._held[0]
        if first == "\x1b":
            return self._sequence()
        self._held = self._held[1:]
        if first in _CONTROLS:
            return [Key(_CONTROLS[first])]
        return [Key("text", first)] if first >= " " and not "\x80" <= first <= "\x9f" else []

    def _sequence(self) -> list[Key] | None:
        held = self._held
        if len(held) == 1 or _CSI_OPEN.match(held):
            return None
        if _STRING_OPEN.match(held):
            if len(held) > _LONGEST_STRING:
                self._held = ""
            return None
        whole = _CSI.match(held) or _STRING.match(held)
        if whole:
            self._held = held[whole.end() :]
            return self._csi(whole[1], whole[3]) if held[1] == "[" else []
        return self._short(held)

    def _csi(self, parameters: str, final: str) -> list[Key]:
        if parameters == "200" and final == "~":
            self._paste = []
            return []
        number, _, modifier = parameters.partition(";")
        name = _TILDES.get(number) if final == "~" else _FINALS.get(final) if number in ("", "1") else None
        return [Key(_MODIFIERS.get(modifier, "") + name)] if name else []

    def _short(self, held: str) -> list[Key] | None:
        if held[1] == "O":
            if len(held) == 2:
                return None
            self._held = held[3:]
            return [Key(_FINALS[held[2]])] if held[2] in _FINALS else []
        if held[1] == "\x1b" or held[1] == "[":
            self._held = held[1:] if held[1] == "\x1b" else held[2:]
            return [Key("escape")] if held[1] == "\x1b" else []
        self._held = held[2:]
        name = _CONTROLS.get(held[1], held[1])
        return [Key(f"alt-{name}")] if name > " " else []


def _overlap(text: str) -> int:
    for length in range(min(len(_PASTE_END) - 1, len(text)), 0, -1):
        if text.endswith(_PASTE_END[:length]):
            return length
    return 0


def _merged(keys: list[Key]) -> list[Key]:
    """Neighbouring typed characters as one key, so that a fast typist costs one redraw."""
    merged: list[Key] = []
    for key in keys:
        if key.name == "text" and merged and merged[-1].name == "text":
            merged[-1] = Key("text", merged[-1].text + key.text)
        else:
            merged.append(key)
    return merged
