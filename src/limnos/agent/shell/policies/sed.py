"""sed: printing, substituting, deleting lines of its output. Its scripts can also write, run and read."""

import re

from limnos.agent.shell.options import UNSEEN, Call, Options, Policy, read_options

POLICY = Policy(
    "nEre:l:suzb",
    "quiet silent regexp-extended expression: line-length: separate unbuffered "
    "null-data posix sandbox debug help version",
    (("i? in-place?", "edits its files in place"), ("f: file:", UNSEEN)),
)
_ADDRESS = re.compile(r"(\d+(~\d+)?|\$)")
_BLANKS = re.compile(r"[ \t;\n]*")
_PLAIN = frozenset("pPdDnNgGhHx=lzF")
_LABEL = re.compile(r"[ \t]*[A-Za-z0-9_.-]*")
_WORDS = {
    "w": "writes a file",
    "W": "writes a file",
    "e": "runs a command",
    "r": "reads a further file",
    "R": "reads a further file",
}


class _NotKnownError(Exception):
    """The script does something that is not known to be harmless; the text says what."""


def sed_fault(call: Call) -> str:
    """Why this sed does more than print."""
    options = read_options(POLICY, call.args)
    if options.faults:
        return options.faults[0]
    scripts = scripts_of(options)
    if not scripts:
        return "has no script that could be read"
    if call.unseen == "words" and "--" not in call.args:
        return "gets words that nobody saw, which may be flags"
    try:
        _Script("\n".join(scripts)).read()
    except _NotKnownError as error:
        return str(error)
    return ""


def scripts_of(options: Options) -> list[str]:
    """The scripts on the command line."""
    named = options.values.get("-e", []) + options.values.get("--expression", [])
    return named or list(options.operands[:1])


class _Script:
    def __init__(self, text: str) -> None:
        self._text = text
        self._place = 0

    def read(self) -> None:
        while True:
            blanks = _BLANKS.match(self._text, self._place)
            assert blanks is not None
            self._place = blanks.end()
            if self._place >= len(self._text):
                return
            self._addresses()
            self._command()

    def _next(self) -> str:
        char = self._text[self._place : self._place + 1]
        self._place += 1
        return char

    def _peek(self) -> str:
        return self._text[self._place : self._place + 1]

    def _addresses(self) -> None:
        if not self._address():
            return
        self._blanks()
        if self._peek() == ",":
            self._place += 1
            self._blanks()
            if self._peek() in ("+", "~"):
                self._place += 1
            if not self._address():
                raise _NotKnownError("has an address that is not known")
        self._blanks()

    def _blanks(self) -> None:
        while self._peek() in (" ", "\t"):
            self._place += 1

    def _address(self) -> bool:
        match = _ADDRESS.match(self._text, self._place)
        if match:
            self._place = match.end()
            return True
        if self._peek() not in ("/", "\\"):
            return False
        self._place += self._peek() == "\\"
        self._delimited(self._next())
        while self._peek() in ("I", "M"):
            self._place += 1
        return True

    def _delimited(self, sign: str) -> None:
        """Skip to behind the next `sign` that no backslash stands before."""
        if sign in ("", "\n", "\\"):
            raise _NotKnownError("has a script that cannot be read")
        while (char := self._next()) != sign:
            if char == "":
                raise _NotKnownError("has a script that cannot be read")
            if char == "[" and sign != "[":
                raise_if_ambiguous(self._text, self._place, sign)
            if char == "\\":
                self._place += 1

    def _command(self) -> None:
        while self._peek() in ("!", " "):
            self._place += 1
        char = self._next()
        if char in ("{", "}") or (char and char in _PLAIN):
            return
        if char == "#":
            end = self._text.find("\n", self._place)
            self._place = len(self._text) if end < 0 else end
        elif char == "s":
            self._substitute()
        elif char == "y":
            sign = self._next()
            self._delimited(sign)
            self._delimited(sign)
        elif char in ("q", "Q", ":", "b", "t", "T") and char:
            label = _LABEL.match(self._text, self._place)
            assert label is not None
            self._place = label.end()
        elif char in ("a", "i", "c") and char:
            self._added()
        else:
            raise _NotKnownError(f"has a script that {_WORDS.get(char, 'is not known to be harmless')}")
        if self._peek() not in ("", " ", "\t", ";", "\n", "}"):
            raise _NotKnownError("has a script that cannot be read")

    def _substitute(self) -> None:
        sign = self._next()
        self._delimited(sign)
        self._delimited(sign)
        while (char := self._peek()) and (char.isdigit() or char in "gpiIMmew"):
            if char in "ew":
                raise _NotKnownError(f"has a script that {_WORDS[char]}")
            self._place += 1

    def _added(self) -> None:
        while (char := self._next()) not in ("", "\n"):
            if char == "\\":
                self._place += 1
        self._place -= 1


def raise_if_ambiguous(text: str, place: int, sign: str) -> None:
    """A delimiter inside `[…]` ends the expression for one sed and not for another: not known."""
    end = text.find("]", place + 1)
    if end > 0 and sign in text[place:end]:
        raise _NotKnownError("has a script that cannot be read for sure")
