"""Lines of a terminal as data: pieces of text, each with the role that gives it a colour."""

from collections.abc import Iterable
from typing import Literal, NamedTuple, TypeAlias

Role: TypeAlias = Literal["", "ok", "bad", "warn", "accent", "dim", "bold", "text"]


class Span(NamedTuple):
    """A piece of one line. Its text is safe to show: outside text went through `escapes` before."""

    text: str
    role: Role = ""


Line: TypeAlias = tuple[Span, ...]

TEXT_INDENT = Span("  ", "text")

# The sixteen colours of the person's own theme; bold and dim are attributes.
_CODES: dict[Role, str] = {"ok": "32", "bad": "31", "warn": "33", "accent": "36", "dim": "2", "bold": "1"}


def line(*parts: str | Span) -> Line:
    """A line of pieces; plain strings have no role."""
    return tuple(part if isinstance(part, Span) else Span(part) for part in parts if part)


def is_text(spans: Line) -> bool:
    """Whether a row is a model's text, which begins in column 3."""
    return spans[:1] == (TEXT_INDENT,)


def plain(spans: Iterable[Span]) -> str:
    """The text of a line without its roles."""
    return "".join(span.text for span in spans)


def painted(spans: Iterable[Span], colour: bool) -> str:
    """The line as a terminal gets it; without `colour` it holds no escape code. No blanks at its end."""
    return "".join(
        f"\x1b[{_CODES[span.role]}m{span.text}\x1b[0m" if colour and span.role in _CODES else span.text
        for span in spans
    ).rstrip(" ")
