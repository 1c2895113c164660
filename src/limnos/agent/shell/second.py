"""A second, independent reading of a command, by tree-sitter's grammar of bash.

Our own reading decides. Where the two differ, one of them is wrong about what bash does: that is asked
about, and what only the second reading finds is looked at as well.
"""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from limnos import lazy
from limnos.agent.shell.lexer import Lexer
from limnos.agent.shell.place import Place
from limnos.agent.shell.words import text_of

if TYPE_CHECKING:
    import tree_sitter

_COMMANDS = frozenset({"command", "test_command", "declaration_command", "unset_command"})
_NO_WORDS = frozenset(
    {"file_redirect", "herestring_redirect", "heredoc_redirect", "variable_assignment", "comment"}
)
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
        for node in _nodes(tree):
            spans = _spans(node) if node.type == "command" else [(node.start_byte, node.end_byte)]
            words = [word for first, last in _joined(data, spans) for word in _words(data[first:last], place)]
            if words := without_time(words):
                found.append(tuple(words))
            if len(found) >= MAX_COMMANDS:
                break
        return found, not tree.root_node.has_error


def _nodes(tree: "tree_sitter.Tree") -> "Iterator[tree_sitter.Node]":
    """The simple commands, in order, without recursion."""
    cursor = tree.walk()
    while True:
        node = cursor.node
        if node is not None and node.type in _COMMANDS:
            yield node
        if cursor.goto_first_child():
            continue
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return


def _spans(node: "tree_sitter.Node") -> list[tuple[int, int]]:
    """Where the words of a command stand. The grammar counts words behind a redirection to its target."""
    spans = [(one.start_byte, one.end_byte) for one in node.children if one.type not in _NO_WORDS]
    around = node.parent
    if around is None or around.type != "redirected_statement":
        return spans
    for redirect in around.children:
        if redirect.type == "file_redirect":
            targets = [one for one in redirect.named_children if one.type != "file_descriptor"]
            spans += [(one.start_byte, one.end_byte) for one in targets[1:]]
    return spans


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
