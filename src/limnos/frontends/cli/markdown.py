"""Markdown for a terminal while it streams: finished blocks come out once, only the open one is read again.

Fence lines stay, prose wraps with hanging indents, a table is source until it closes. Input is outside
text; what comes out is safe to show.
"""

import re
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from limnos.frontends.cli.cells import expand_tabs, fold, pad, width, wrap
from limnos.frontends.cli.escapes import hosts_in_ascii, visible
from limnos.frontends.cli.spans import Line, Role, Span
from limnos.sdk.expression import Expression

Kind: TypeAlias = Literal["prose", "heading", "item", "quote", "code", "fence", "table", "rule", "blank"]

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})[^`]*$")
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_ITEM = re.compile(r"(\s*)([-*+]|\d{1,9}[.)])[ \t]+(.*)$")
_QUOTE = re.compile(r" {0,3}>[ ]?(.*)$")
_RULE = re.compile(r" {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$")
# Spans are at most 2,000 characters long: without a bound, unclosed marks cost time squared.
_INLINE = Expression(
    r"(?P<code>(?P<ticks>`+)(?!`).{1,2000}?(?<!`)(?P=ticks)(?!`))"
    r"|\*\*(?P<bold>\S(?:.{0,2000}?\S)?)\*\*"
    r"|(?<![\w*])\*(?P<soft>[^\s*](?:[^*]{0,2000}[^\s*])?)\*(?![\w*])"
    r"|!?\[(?P<text>[^\[\]]{0,2000})\]\((?P<link>[^()\s]+(?:\([^()\s]*\)[^()\s]*)?)(?:\s+\"[^\"]*\")?\)",
    re.DOTALL,
)
_PROSE_WIDTH = 100


class Block(NamedTuple):
    """A piece of Markdown that is rendered on its own. `mark` is what stands before an item's text."""

    kind: Kind
    text: str = ""
    mark: str = ""


@dataclass(slots=True)
class Reader:
    """Takes text as it streams and gives back the blocks that are final."""

    _tail: str = ""
    _open: list[str] = field(default_factory=list[str])
    _kind: Kind = "prose"
    _mark: str = ""
    _fence: str = ""
    _blank: bool = False
    _begun: bool = False

    def feed(self, text: str) -> list[Block]:
        """Take a piece and return the blocks that it finished."""
        *lines, self._tail = (self._tail + text).replace("\r\n", "\n").split("\n")
        return [block for line in lines for block in self._line(line)]

    def close(self) -> list[Block]:
        """The answer is whole: everything that is still open."""
        blocks = self._line(self._tail) if self._tail else []
        self._tail, self._fence = "", ""
        return blocks + self._flush()

    def pending(self) -> list[Block]:
        """The open block as it stands. A fence that is still being typed is not shown."""
        if self._fence:
            return [Block("code", self._tail)] if self._tail and not self._closes(self._tail) else []
        if self._tail.strip() and not set(self._tail.strip()) - set("`~"):
            return self._peek(self._open)
        trial = Reader(_open=list(self._open), _kind=self._kind, _mark=self._mark, _begun=self._begun)
        trial._blank = self._blank
        return trial._line(self._tail) + trial._flush() if self._tail else self._peek(self._open)

    def _peek(self, lines: list[str]) -> list[Block]:
        return [Block(self._kind, "\n".join(lines), self._mark)] if lines else []

    def _line(self, line: str) -> list[Block]:
        if self._fence:
            return self._fenced(line)
        if not line.strip():
            blocks = self._flush()
            self._blank = self._begun
            return blocks
        if _FENCE.match(line):
            self._fence = line.strip()[0] * 3
            return self._alone(Block("fence", line))
        return self._text(line)

    def _fenced(self, line: str) -> list[Block]:
        if self._closes(line):
            self._fence = ""
            return [Block("fence", line)]
        return [Block("code", line)]

    def _closes(self, line: str) -> bool:
        stripped = line.strip()
        return stripped.startswith(self._fence) and not set(stripped) - set(self._fence)

    def _text(self, line: str) -> list[Block]:
        heading = _HEADING.match(line)
        if heading:
            return self._alone(Block("heading", heading[2] or ""))
        if _RULE.match(line):
            return self._alone(Block("rule", line.strip()))
        item = _ITEM.match(line)
        if item:
            return self._begin("item", item[3], f"{item[1]}{item[2]} ")
        quote = _QUOTE.match(line)
        if quote:
            return self._continue("quote", quote[1])
        if line.lstrip().startswith("|"):
            return self._continue("table", line.strip())
        if self._open and self._kind in ("item", "prose"):
            self._open.append(line.strip())
            return []
        return self._begin("prose", line.strip(), "")

    def _continue(self, kind: Kind, text: str) -> list[Block]:
        if self._open and self._kind == kind:
            self._open.append(text)
            return []
        return self._begin(kind, text, "")

    def _begin(self, kind: Kind, text: str, mark: str) -> list[Block]:
        blocks = self._flush() + self._space()
        self._kind, self._mark, self._open = kind, mark, [text]
        return blocks

    def _alone(self, block: Block) -> list[Block]:
        return [*self._flush(), *self._space(), block]

    def _space(self) -> list[Block]:
        blank = [Block("blank")] if self._blank else []
        self._blank, self._begun = False, True
        return blank

    def _flush(self) -> list[Block]:
        blocks, self._open = self._peek(self._open), []
        return blocks


def render(block: Block, cells: int) -> list[Line]:
    """The rows of a block, each at most `cells` wide; prose at most 100."""
    text = _without_tabs(visible(block.text))
    match block.kind:
        case "blank":
            return [()]
        case "code":
            return fold((Span(text),), cells)
        case "fence" | "rule":
            return fold((Span(text, "dim"),), cells)
        case "heading":
            return wrap((Span(text, "bold"),), min(cells, _PROSE_WIDTH))
        case "table":
            return _table(text, cells)
        case "quote":
            return wrap((Span("> "), *inline(_joined(text))), min(cells, _PROSE_WIDTH), "> ")
        case "item":
            mark = visible(block.mark).replace("\t", "  ")
            return wrap((Span(mark), *inline(_joined(text))), min(cells, _PROSE_WIDTH), " " * width(mark))
        case "prose":
            return wrap(inline(_joined(text)), min(cells, _PROSE_WIDTH))


def inline(text: str) -> Line:
    """Code keeps its ticks, bold is bold, a link is its text and its address."""
    spans: list[Span] = []
    place = 0
    for found in _INLINE.finditer(text):
        spans.append(Span(text[place : found.start()]))
        spans.append(_inline_span(found))
        place = found.end()
    return tuple(span for span in (*spans, Span(text[place:])) if span.text)


def _without_tabs(text: str) -> str:
    """Tabs as blanks in every line."""
    return "\n".join(expand_tabs(line) for line in text.split("\n")) if "\t" in text else text


def _inline_span(found: re.Match[str]) -> Span:
    role: Role = ""
    if found["code"]:
        text, role = found["code"], "accent"
    elif found["bold"]:
        text, role = found["bold"], "bold"
    elif found["link"]:
        link = hosts_in_ascii(found["link"])
        text = link if found["text"] in ("", found["link"]) else f"{found['text']} ({link})"
    else:
        text = found["soft"]
    return Span(text, role)


def _joined(text: str) -> str:
    return " ".join(text.split("\n"))


def _table(source: str, cells: int) -> list[Line]:
    lines = source.split("\n")
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines]
    regular = len(rows) > 1 and all(set(cell) <= set("-: ") for cell in rows[1])
    rows = [rows[0], *rows[2:]] if regular else rows
    columns = max(len(row) for row in rows)
    widths = [max(width(row[n]) if n < len(row) else 0 for row in rows) for n in range(columns)]
    if not regular or sum(widths) + 2 * (columns - 1) > cells:
        return [row for line in lines for row in fold((Span(line),), cells)]
    laid = ["  ".join(pad(cell, widths[n]) for n, cell in enumerate(row)).rstrip() for row in rows]
    return [(Span(laid[0], "bold"),), *((Span(line),) for line in laid[1:])]
