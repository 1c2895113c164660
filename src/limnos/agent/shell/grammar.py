"""Tokens as a tree: lists, pipelines, simple and compound commands. What does not fit is a fault.

A lenient reader: after a fault it goes on, so that everything that bash might run is in the tree.
"""

import re
from typing import NamedTuple, TypeAlias

from limnos.agent.shell.lexer import TOO_DEEP, Lexer
from limnos.agent.shell.pieces import Piece, Token

MAX_NESTING = 25
_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\[[^]]*\])?\+?=")
_REDIRECTIONS = frozenset({"<", ">", ">>", ">|", ">&", "<&", "<>", "&>", "&>>", "<<", "<<-", "<<<"})
_ENDS_COMMAND = frozenset({";", "&", "\n", "&&", "||", "|", "|&", ")", ";;", ";&", ";;&"})
_BETWEEN = frozenset({"then", "elif", "else", "do"})
_LOOPS = {"if": "fi", "while": "done", "until": "done"}


class Redirect(NamedTuple):
    """`operator` with its target word; of a here-document `body` is what it feeds."""

    operator: str
    descriptor: str
    target: Token | None
    body: tuple[Piece, ...] = ()


class Assignment(NamedTuple):
    """`name=value`; `indexed` when an array or one of its elements is set."""

    name: str
    value: tuple[Piece, ...]
    indexed: bool = False


class Simple(NamedTuple):
    """Words, and what stands around them."""

    words: tuple[Token, ...]
    assignments: tuple[Assignment, ...] = ()
    redirects: tuple[Redirect, ...] = ()


class Compound(NamedTuple):
    """A construct with commands inside. `kind` is its first word; `(`, `((`, `[[` and `function` too.

    `head` are words that are no command (of a loop, a test, a case); `name` is a function's or a variable's.
    """

    kind: str
    body: "tuple[Item, ...]" = ()
    head: tuple[Token, ...] = ()
    name: str = ""
    redirects: tuple[Redirect, ...] = ()


Node: TypeAlias = Simple | Compound


class Pipeline(NamedTuple):
    """Stages joined by `|` or `|&` (in `joins`, one less than stages). `prefix`: words `!`, `time`, `-p`."""

    stages: tuple[Node, ...]
    joins: tuple[str, ...] = ()
    prefix: tuple[str, ...] = ()


class Item(NamedTuple):
    """One pipeline of a list; `after` is `;`, `&&` or `||`, what joins it to the one before."""

    after: str
    pipeline: Pipeline
    background: bool = False


class Tree(NamedTuple):
    """A whole text; with faults it may not be what bash makes of it."""

    items: tuple[Item, ...]
    faults: tuple[str, ...]


def read(text: str, depth: int = 0) -> Tree:
    """The tree of `text`; `depth` counts the texts around it."""
    lexer = Lexer(text, depth)
    tokens = lexer.tokens()
    return read_tokens(tokens, lexer.faults)


def read_tokens(tokens: tuple[Token, ...], faults: list[str] | None = None) -> Tree:
    """The tree of what stands inside a substitution."""
    reader = _Reader(tokens, [] if faults is None else list(faults))
    items = reader.whole()
    return Tree(tuple(items), tuple(reader.faults))


class _Reader:
    def __init__(self, tokens: tuple[Token, ...], faults: list[str]) -> None:
        self._tokens = tokens
        self._place = 0
        self._nesting = 0
        self.faults = faults

    def whole(self) -> list[Item]:
        items: list[Item] = []
        while self._place < len(self._tokens):
            items += self._list(frozenset())
            if self._place < len(self._tokens):
                self._fault(f"{self._here()!r} is out of place")
                self._place += 1
        return items

    def _fault(self, sentence: str) -> None:
        if len(self.faults) < 20:
            self.faults.append(sentence)

    def _peek(self) -> Token | None:
        return self._tokens[self._place] if self._place < len(self._tokens) else None

    def _here(self) -> str:
        token = self._peek()
        return token.text if token else ""

    def _is_operator(self, *texts: str) -> bool:
        token = self._peek()
        return token is not None and token.kind == "operator" and token.text in texts

    def _is_word(self, *texts: str) -> bool:
        token = self._peek()
        return token is not None and token.kind == "word" and token.text in texts

    def _newlines(self) -> None:
        while self._is_operator("\n"):
            self._place += 1

    def _list(self, closers: frozenset[str]) -> list[Item]:
        items: list[Item] = []
        after = ";"
        while True:
            self._newlines()
            token = self._peek()
            if token is None or token.text in closers:
                break
            if token.kind == "word" and token.text in _BETWEEN:
                if not closers:
                    self._fault(f"{token.text!r} is out of place")
                self._place += 1
                continue
            if token.kind == "operator" and token.text in _ENDS_COMMAND:
                if token.text == ")" and not closers:
                    break
                self._fault(f"a command is missing before {token.text!r}")
                self._place += 1
                continue
            pipeline = self._pipeline()
            background = self._is_operator("&")
            items.append(Item(after, pipeline, background))
            after = self._separator(closers)
        if after != ";":
            self._fault(f"a command is missing after {after!r}")
        return items

    def _separator(self, closers: frozenset[str]) -> str:
        token = self._peek()
        if token is None or token.text in closers:
            return ";"
        if token.kind == "operator" and token.text in (";", "&", "\n", "&&", "||"):
            self._place += 1
            return token.text if token.text in ("&&", "||") else ";"
        self._fault(f"{token.text!r} is out of place")
        return ";"

    def _pipeline(self) -> Pipeline:
        prefix: list[str] = []
        while self._is_word("!", "time"):
            prefix.append(self._here())
            self._place += 1
            if prefix[-1] == "time" and self._is_word("-p"):
                prefix.append("-p")
                self._place += 1
        stages = [self._command()]
        joins: list[str] = []
        while self._is_operator("|", "|&"):
            joins.append(self._here())
            self._place += 1
            self._newlines()
            token = self._peek()
            if token is None or (token.kind == "operator" and token.text in _ENDS_COMMAND):
                self._fault("a command is missing behind a pipe")
            stages.append(self._command())
        return Pipeline(tuple(stages), tuple(joins), tuple(prefix))

    def _command(self) -> Node:
        token = self._peek()
        if token is None:
            return self._simple()
        if self._nesting >= MAX_NESTING:
            self.faults.append(TOO_DEEP)
            return self._simple()
        self._nesting += 1
        node = self._compound(token)
        self._nesting -= 1
        if node is None:
            return self._simple()
        redirects: list[Redirect] = []
        while self._is_operator(*_REDIRECTIONS):
            redirects.append(self._redirect())
        return node._replace(redirects=tuple(redirects)) if redirects else node

    def _compound(self, token: Token) -> Compound | None:
        if token.kind == "operator":
            return self._bracketed(token)
        match token.text:
            case "{":
                return self._enclosed("{", "}")
            case "if" | "while" | "until":
                return self._enclosed(token.text, _LOOPS[token.text])
            case "for" | "select":
                return self._loop(token.text)
            case "case":
                return self._case()
            case "[[":
                return self._test()
            case "function":
                return self._function(named=False)
            case "coproc":
                return self._coproc()
            case _:
                following = self._tokens[self._place + 1 : self._place + 3]
                if [one.text for one in following] == ["(", ")"] and following[0].kind == "operator":
                    return self._function(named=True)
                return None

    def _bracketed(self, token: Token) -> Compound | None:
        if token.text == "(":
            return self._enclosed("(", ")")
        if token.text == "((":
            self._place += 1
            return Compound("((", head=(token,))
        return None

    def _enclosed(self, kind: str, closer: str) -> Compound:
        self._place += 1
        body = self._list(frozenset({closer}))
        self._expect(closer)
        if not body:
            self._fault(f"nothing stands inside {kind!r}")
        return Compound(kind, tuple(body))

    def _expect(self, closer: str) -> None:
        if self._here() == closer:
            self._place += 1
        else:
            self._fault(f"{closer!r} is missing")

    def _loop(self, kind: str) -> Compound:
        self._place += 1
        head: list[Token] = []
        name = self._here()
        while (token := self._peek()) is not None and not self._is_operator(";", "\n"):
            if token.kind == "operator" and token.text != "((":
                break
            if token.text in ("do", "{") and head:
                break
            head.append(token)
            self._place += 1
        while self._is_operator(";", "\n"):
            self._place += 1
        closer = "}" if self._is_word("{") else "done"
        if self._is_word("{", "do"):
            self._place += 1
        else:
            self._fault("a loop has no body")
        body = self._list(frozenset({closer}))
        self._expect(closer)
        return Compound(kind, tuple(body), tuple(head), name)

    def _case(self) -> Compound:
        self._place += 1
        head: list[Token] = []
        body: list[Item] = []
        while (token := self._peek()) is not None and not self._is_word("in", "esac"):
            head.append(token)
            self._place += 1
        self._place += 1
        while self._peek() is not None and not self._is_word("esac"):
            while (token := self._peek()) is not None and not self._is_operator(")"):
                if token.kind == "word":
                    head.append(token)
                self._place += 1
            self._place += 1
            body += self._list(frozenset({";;", ";&", ";;&", "esac"}))
            while self._is_operator(";;", ";&", ";;&", "\n"):
                self._place += 1
        self._expect("esac")
        return Compound("case", tuple(body), tuple(head))

    def _test(self) -> Compound:
        head: list[Token] = []
        while (token := self._peek()) is not None and not self._is_word("]]"):
            head.append(token)
            self._place += 1
        self._expect("]]")
        return Compound("[[", head=tuple(head))

    def _function(self, named: bool) -> Compound:
        self._place += 0 if named else 1
        name = self._here()
        self._place += 1
        if self._is_operator("("):
            self._place += 1
            self._expect(")")
        self._newlines()
        body = self._command()
        return Compound("function", (Item(";", Pipeline((body,))),), name=name)

    def _coproc(self) -> Compound:
        self._place += 1
        following = self._tokens[self._place + 1 : self._place + 2]
        name = ""
        if following and following[0].text in ("{", "(", "while", "for", "if", "until", "case"):
            name = self._here()
            self._place += 1
        body = self._command()
        return Compound("coproc", (Item(";", Pipeline((body,))),), name=name)

    def _simple(self) -> Simple:
        words: list[Token] = []
        assignments: list[Assignment] = []
        redirects: list[Redirect] = []
        while (token := self._peek()) is not None:
            if token.kind == "operator" and token.text in _REDIRECTIONS:
                redirects.append(self._redirect())
            elif token.kind == "operator":
                break
            elif not words and (found := _ASSIGNMENT.match(token.text)):
                self._place += 1
                assignments.append(self._assignment(token, found))
            else:
                words.append(token)
                self._place += 1
        if not (words or assignments or redirects):
            self._fault(f"{self._here()!r} is out of place")
            if self._is_operator("(", "(("):
                self._place += 1
        return Simple(tuple(words), tuple(assignments), tuple(redirects))

    def _assignment(self, token: Token, found: re.Match[str]) -> Assignment:
        value = _behind(token.pieces, found.end())
        if found.end() < len(token.text) or not self._is_operator("(", "(("):
            return Assignment(found.group(1), value, found.group(2) is not None)
        pieces: list[Piece] = []
        level = 0
        while (inner := self._peek()) is not None:
            self._place += 1
            pieces += inner.pieces
            level += {"(": 1, ")": -1}.get(inner.text, 0) if inner.kind == "operator" else 0
            if level <= 0 and inner.kind == "operator":
                break
        return Assignment(found.group(1), tuple(pieces), True)

    def _redirect(self) -> Redirect:
        token = self._tokens[self._place]
        self._place += 1
        target = self._peek()
        if target is None or target.kind != "word":
            self._fault(f"a file is missing behind {token.text!r}")
            return Redirect(token.text, token.descriptor, None, token.pieces)
        self._place += 1
        return Redirect(token.text, token.descriptor, target, token.pieces)


def _behind(pieces: tuple[Piece, ...], length: int) -> tuple[Piece, ...]:
    """The pieces of `name=value` behind the sign; an assignment's name is never quoted."""
    first, *rest = pieces
    if len(first.text) < length:
        return pieces
    left = Piece("plain", first.text[length:])
    return (left, *rest) if left.text else tuple(rest)
