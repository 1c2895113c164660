"""A second, independent reading of a command, by tree-sitter's grammar of bash.

Our own reading decides. Where the two differ, one of them is wrong about what bash does: that is asked
about, and what only the second reading finds is looked at as well.
"""

import re
from collections.abc import Iterator, Sequence

from limnos import lazy
from limnos.agent.shell.lexer import Lexer
from limnos.agent.shell.place import Place
from limnos.agent.shell.words import text_of

_COMMANDS = frozenset({"command", "test_command", "declaration_command", "unset_command"})
_NO_WORDS = frozenset({"file_redirect", "herestring_redirect", "heredoc_redirect", "variable_assignment", "comment"})
_LONE = re.compile(rb"[A-Za-z0-9_./:,@%+-]+")
MAX_COMMANDS = 2_000


class Second:
    """Keeps the parser, which is slow to make."""

    def __init__(self) -> None:
        language = lazy.tree_sitter.Language(lazy.tree_sitter_bash.language())
        self._parser = lazy.tree_sitter.Parser(language)

    def commands(self, text: str, place: Place) -> tuple[list[tuple[str, ...]], bool]:
        """The words of all simple commands in order, and whether the text was read without a fault."""
        data = text.encode("utf-8", "replace")
        tree = self._parser.parse(data)
        found: list[tuple[str, ...]] = []
        for first, last, kind, children in self._nodes(tree):
            if kind == "command":
                words = [word for start, end in _joined(data, children) for word in _words(data[start:end], place)]
            else:
                words = list(_words(data[first:last], place))
            if words := without_time(words):
                found.append(tuple(words))
            if len(found) >= MAX_COMMANDS:
                break
        return found, not tree.root_node.has_error

    def _nodes(self, tree: object) -> Iterator[tuple[int, int, str, list[tuple[int, int]]]]:
        cursor = tree.walk()  # type: ignore[attr-defined]
        down = True
        while True:
            node = cursor.node
            if down and node.type in _COMMANDS:
                children = [(one.start_byte, one.end_byte) for one in node.children if one.type not in _NO_WORDS]
                yield node.start_byte, node.end_byte, node.type, children
            if down and cursor.goto_first_child():
                continue
            if cursor.goto_next_sibling():
                down = True
                continue
            if not cursor.goto_parent():
                return
            down = False


def without_time(words: Sequence[str]) -> Sequence[str]:
    """The keyword `time` is part of a command for one reading and not for the other."""
    if words and words[0] == "time":
        return words[2:] if words[1:2] == ["-p"] or words[1:2] == ("-p",) else words[1:]
    return words


def _joined(data: bytes, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Pieces that touch, or that only a continued line parts, are one word."""
    joined: list[tuple[int, int]] = []
    for first, last in spans:
        if joined and not data[joined[-1][1] : first].replace(b"\\\n", b""):
            joined[-1] = (joined[-1][0], last)
        else:
            joined.append((first, last))
    return joined


def _words(data: bytes, place: Place) -> Iterator[str]:
    if _LONE.fullmatch(data):
        yield data.decode("ascii")
        return
    for token in Lexer(data.decode("utf-8", "replace")).tokens():
        if token.kind == "word":
            yield text_of(token.pieces, place).shown
