"""What the text of a command is cut into: pieces of words, words and operators."""

from typing import Literal, NamedTuple, TypeAlias

Kind: TypeAlias = Literal[
    "plain", "quoted", "spelled", "variable", "command", "process", "arithmetic", "strange"
]


class Piece(NamedTuple):
    """A stretch of a word. `text` is its characters or, when the shell replaces it, how it is written.

    Kinds: `plain` and `quoted` characters, `spelled` out by escapes of a dollar quote; what is replaced:
    a `variable` (its `name`; `inner` is the word behind an operator), the output of a `command`, the name
    of a `process`, `arithmetic`, and what is `strange` (indirection, translation).
    """

    kind: Kind
    text: str
    quoted: bool = False
    name: str = ""
    inner: "tuple[Piece, ...]" = ()
    tokens: "tuple[Token, ...]" = ()


class Token(NamedTuple):
    """A word or an operator; a newline is the operator LF, `((…))` the operator `((` with its pieces.

    `descriptor` is the number or `{name}` glued before a redirection. The pieces of `<<` are the body.
    """

    kind: Literal["word", "operator"]
    text: str
    pieces: tuple[Piece, ...] = ()
    start: int = 0
    descriptor: str = ""


def takes_output(piece: Piece) -> bool:
    """Whether a piece is `>(…)`, a command that reads what the command writes."""
    return piece.kind == "process" and piece.text.startswith(">")
