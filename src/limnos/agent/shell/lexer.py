"""The text of a command as tokens, in the way bash reads it: quotes, expansions, here-documents, no grammar.

It never raises. What bash would refuse, or what is nested deeper than `MAX_DEPTH`, is a fault.
"""

import re
from typing import NamedTuple

from limnos.agent.shell.pieces import Kind, Piece, Token
from limnos.agent.shell.spelling import decode

MAX_DEPTH = 16
TOO_DEEP = "substitutions are nested too deep"
MAX_LOOKS = 300_000  # characters looked at to tell arithmetic from parentheses, in one text
BLANKS = " \t"
_BEFORE_COMMAND = frozenset({"if", "then", "elif", "else", "while", "until", "do", "for", "!", "time", "{"})
META = frozenset(" \t\n;&|()<>")
_STARTS_OPERATOR = frozenset(";&|()<>")
_OPERATORS = re.compile(r";;&|;;|;&|;|&&|&>>|&>|&|\|\||\|&|\||\(|\)|<<<|<<-|<<|<&|<>|<|>>|>&|>\||>")
_PLAIN = re.compile(r"[^ \t\n;&|()<>\\'\"$`]+")
_LONE = re.compile(r"[A-Za-z0-9_./=:,@%+-]+(?=[ \t\n;&|]|\Z)")  # a whole word, the usual case
_IN_DOUBLE = re.compile(r"[^\\\"$`]+")
_PARAMETER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!_-]")


class _Pending(NamedTuple):
    place: int
    strips_tabs: bool


class Lexer:
    """Reads one text. `faults` says what bash would not accept, in short plain sentences."""

    def __init__(self, text: str, depth: int = 0, around: "Lexer | None" = None) -> None:
        self._text = text
        self._place = 0
        self._depth = depth
        self.faults: list[str] = around.faults if around else []
        self._looks: list[int] = around._looks if around else [MAX_LOOKS]

    def tokens(self, inside: bool = False) -> tuple[Token, ...]:
        """All tokens, or with `inside` those up to the parenthesis that closes a substitution."""
        found: list[Token] = []
        pending: list[_Pending] = []
        open_: list[str] = []
        while self._skip_blanks():
            if self._text[self._place] == "\n":
                found.append(Token("operator", "\n", (), self._place))
                self._place += 1
                self._read_bodies(found, pending)
                continue
            starts_operator = self._text[self._place] in _STARTS_OPERATOR
            token = (self._operator(found) if starts_operator else None) or self._word()
            if token.kind == "word":
                _note_case(token.text, found, open_)
                found.append(token)
                continue
            if token.text == "(":
                open_.append("(")
            elif token.text == ")" and open_[-1:] != ["case"]:
                if inside and not open_:
                    return tuple(found)
                del open_[-1:]
            if token.text in ("<<", "<<-"):
                pending.append(_Pending(len(found), token.text == "<<-"))
            found.append(token)
        if inside:
            self.faults.append("a substitution is not closed")
        if pending:
            self.faults.append("a here-document has no body")
        return tuple(found)

    def _skip_blanks(self) -> bool:
        text, length = self._text, len(self._text)
        while self._place < length:
            char = text[self._place]
            if char in BLANKS:
                self._place += 1
            elif text.startswith("\\\n", self._place):
                self._place += 2
            elif char == "#":
                end = text.find("\n", self._place)
                self._place = length if end < 0 else end
            else:
                return True
        return False

    def _operator(self, found: list[Token]) -> Token | None:
        start = self._place
        match = _OPERATORS.match(self._text, start)
        if match is None or self._at_process():
            return None
        starts_command = not found or found[-1].kind == "operator" or found[-1].text in _BEFORE_COMMAND
        if self._text.startswith("((", start) and starts_command:
            inner = self._arithmetic_end(start + 2)
            if inner is not None:
                self._place = inner + 2
                return Token("operator", "((", self._sub(self._text[start + 2 : inner]), start)
        self._place = match.end()
        return Token("operator", match.group(), (), start)

    def _at_process(self) -> bool:
        return self._text.startswith(("<(", ">("), self._place)

    def _arithmetic_end(self, start: int) -> int | None:
        """Where the `))` stands that closes an arithmetic expression, None when it is something else."""
        level = 0
        for place in range(start, min(len(self._text), start + self._looks[0])):
            self._looks[0] -= 1
            char = self._text[place]
            if char == "(":
                level += 1
            elif char == ")":
                if level == 0:
                    return place if self._text.startswith("))", place) else None
                level -= 1
        if self._looks[0] <= 0 and "too many parentheses" not in self.faults:
            self.faults.append("too many parentheses")
        return None

    def _word(self) -> Token:
        start = self._place
        if lone := _LONE.match(self._text, start):
            self._place = lone.end()
            return Token("word", lone.group(), (Piece("plain", lone.group()),), start)
        pieces: list[Piece] = []
        while self._place < len(self._text):
            char = self._text[self._place]
            if self._at_process():
                pieces.append(self._substitution("process", 2, False))
            elif char in META:
                break
            elif char == "'":
                pieces.append(self._single())
            elif char == '"':
                self._place += 1
                pieces += self._double()
            else:
                self._unquoted(char, pieces)
        raw = self._text[start : self._place]
        if self._text[self._place : self._place + 1] in ("<", ">") and _names_descriptor(raw):
            match = _OPERATORS.match(self._text, self._place)
            assert match is not None
            self._place = match.end()
            return Token("operator", match.group(), (), start, raw)
        return Token("word", raw.replace("\\\n", ""), tuple(pieces), start)

    def _unquoted(self, char: str, pieces: list[Piece]) -> None:
        if char == "\\":
            following = self._text[self._place + 1 : self._place + 2]
            self._place += 2
            if not following:
                self.faults.append("a backslash stands at the end")
            if following != "\n":
                pieces.append(Piece("quoted", following, True))
        elif char == "$":
            pieces += self._dollar(False)
        elif char == "`":
            pieces.append(self._backtick(False))
        else:
            match = _PLAIN.match(self._text, self._place)
            assert match is not None
            self._place = match.end()
            pieces.append(Piece("plain", match.group()))

    def _single(self) -> Piece:
        end = self._text.find("'", self._place + 1)
        if end < 0:
            self.faults.append("a quote is not closed")
            end = len(self._text)
        piece = Piece("quoted", self._text[self._place + 1 : end], True)
        self._place = end + 1
        return piece

    def _double(self, closed_by: str = '"') -> list[Piece]:
        """The pieces up to the closing quote; with `closed_by` empty up to the end of the text."""
        pieces = [Piece("quoted", "", True)]
        while self._place < len(self._text):
            char = self._text[self._place]
            if char == '"' and closed_by:
                self._place += 1
                return pieces
            if char == "\\":
                pieces.append(self._escape_in_double())
            elif char == "$":
                pieces += self._dollar(True)
            elif char == "`":
                pieces.append(self._backtick(True))
            else:
                match = _IN_DOUBLE.match(self._text, self._place)
                end = match.end() if match else self._place + 1
                pieces.append(Piece("quoted", self._text[self._place : end], True))
                self._place = end
        if closed_by:
            self.faults.append("a quote is not closed")
        return pieces

    def _escape_in_double(self) -> Piece:
        following = self._text[self._place + 1 : self._place + 2]
        self._place += 2
        if following == "\n":
            return Piece("quoted", "", True)
        return Piece("quoted", following if following in ("$", "`", '"', "\\") else "\\" + following, True)

    def _dollar(self, quoted: bool) -> list[Piece]:
        text, place = self._text, self._place
        following = text[place + 1 : place + 2]
        if following == "'" and not quoted:
            return [self._spelled()]
        if following == '"' and not quoted:
            self._place += 2
            inner = tuple(self._double())
            return [Piece("strange", text[place : self._place], quoted, inner=inner)]
        if text.startswith("$((", place):
            end = self._arithmetic_end(place + 3)
            if end is not None:
                self._place = end + 2
                return [
                    Piece("arithmetic", text[place : end + 2], quoted, inner=self._sub(text[place + 3 : end]))
                ]
        if following == "(":
            return [self._substitution("command", 2, quoted)]
        if following == "{":
            return [self._parameter(quoted)]
        if following == "[":
            end = text.find("]", place)
            self._place = end + 1 if end > 0 else len(text)
            return [
                Piece("arithmetic", text[place : self._place], quoted, inner=self._sub(text[place + 2 : end]))
            ]
        return [self._named(quoted)]

    def _named(self, quoted: bool) -> Piece:
        start = self._place
        match = _PARAMETER.match(self._text, start + 1)
        if match is None:
            self._place += 1
            return Piece("quoted" if quoted else "plain", "$", quoted)
        name = match.group()
        if name[0].isdigit():
            name = name[0]
        self._place = start + 1 + len(name)
        return Piece("variable", self._text[start : self._place], quoted, name)

    def _substitution(self, kind: Kind, opening: int, quoted: bool) -> Piece:
        start = self._place
        if self._depth >= MAX_DEPTH:
            self.faults.append(TOO_DEEP)
            self._place = len(self._text)
            return Piece("strange", self._text[start:], quoted)
        inner = Lexer(self._text, self._depth + 1, self)
        inner._place = start + opening
        tokens = inner.tokens(inside=True)
        self._place = inner._place
        return Piece(kind, self._text[start : self._place], quoted, tokens=tokens)

    def _backtick(self, quoted: bool) -> Piece:
        start = place = self._place + 1
        inner: list[str] = []
        escapable = '$`\\"' if quoted else "$`\\"
        while place < len(self._text) and self._text[place] != "`":
            if self._text[place] == "\\" and self._text[place + 1 : place + 2] in tuple(escapable):
                place += 1
            inner.append(self._text[place : place + 1])
            place += 1
        if place >= len(self._text):
            self.faults.append("a substitution is not closed")
        self._place = place + 1
        shown = self._text[start - 1 : place + 1]
        if self._depth >= MAX_DEPTH:
            self.faults.append(TOO_DEEP)
            return Piece("strange", shown, quoted)
        tokens = Lexer("".join(inner), self._depth + 1, self).tokens()
        return Piece("command", shown, quoted, tokens=tokens)

    def _parameter(self, quoted: bool) -> Piece:
        start = self._place
        self._place += 2
        sign = self._text[self._place : self._place + 1]
        match = _PARAMETER.match(self._text, self._place)
        odd = match is None or (sign in ("!", "#") and self._text[self._place + 1 : self._place + 2] != "}")
        name = match.group() if match and not odd else ""
        self._place += len(name)
        inner = self._until_brace(quoted)
        shown = self._text[start : self._place]
        operator = "".join(piece.text for piece in inner[:1])
        if odd or operator.startswith(("@", "[")):
            return Piece("strange", shown, quoted, name, inner)
        return Piece("variable", shown, quoted, name, inner)

    def _until_brace(self, quoted: bool) -> tuple[Piece, ...]:
        pieces: list[Piece] = []
        if self._depth >= MAX_DEPTH:
            self.faults.append(TOO_DEEP)
            self._place = len(self._text)
            return ()
        self._depth += 1
        while self._place < len(self._text):
            char = self._text[self._place]
            if char == "}":
                self._place += 1
                self._depth -= 1
                return tuple(pieces)
            if char == "'" and not quoted:
                pieces.append(self._single())
            elif char == '"':
                self._place += 1
                pieces += self._double()
            elif char in "\\$`":
                self._unquoted(char, pieces)
            else:
                pieces.append(Piece("plain", char))
                self._place += 1
        self._depth -= 1
        self.faults.append("a brace is not closed")
        return tuple(pieces)

    def _spelled(self) -> Piece:
        """A dollar quote, decoded. Escapes that spell a character by number make it `spelled`."""
        text, by_number, end = decode(self._text, self._place + 2)
        if end >= len(self._text):
            self.faults.append("a quote is not closed")
        self._place = end + 1
        return Piece("spelled" if by_number else "quoted", text, True)

    def _sub(self, text: str) -> tuple[Piece, ...]:
        """Expansions inside text that is no word: arithmetic, the body of a here-document."""
        if self._depth >= MAX_DEPTH:
            self.faults.append(TOO_DEEP)
            return ()
        return tuple(Lexer(text, self._depth + 1, self)._double(closed_by=""))

    def _read_bodies(self, found: list[Token], pending: list[_Pending]) -> None:
        for place, strips_tabs in pending:
            mark = found[place + 1] if place + 1 < len(found) else None
            if mark is None or mark.kind != "word":
                self.faults.append("a here-document has no end mark")
                continue
            end = "".join(piece.text for piece in mark.pieces)
            body = self._body(end, strips_tabs)
            is_text = any(piece.quoted for piece in mark.pieces)
            pieces = (Piece("quoted", body, True),) if is_text else self._sub(body)
            found[place] = found[place]._replace(pieces=pieces)
        pending.clear()

    def _body(self, end: str, strips_tabs: bool) -> str:
        lines: list[str] = []
        while self._place < len(self._text):
            stop = self._text.find("\n", self._place)
            stop = len(self._text) if stop < 0 else stop
            line = self._text[self._place : stop]
            self._place = min(stop + 1, len(self._text))
            line = line.lstrip("\t") if strips_tabs else line
            if line == end:
                return "".join(lines)
            lines.append(line + "\n")
        self.faults.append("a here-document is not closed")
        return "".join(lines)


def _note_case(word: str, before: list[Token], open_: list[str]) -> None:
    """Inside `case` a pattern ends at a parenthesis that closes nothing."""
    if word == "esac" and open_[-1:] == ["case"]:
        del open_[-1:]
    elif word == "case" and (
        not before or before[-1].kind == "operator" or before[-1].text in _BEFORE_COMMAND
    ):
        open_.append("case")


def _names_descriptor(raw: str) -> bool:
    return (raw.isascii() and raw.isdigit()) or bool(re.fullmatch(r"\{[A-Za-z_][A-Za-z0-9_]*\}", raw))
