"""What memory holds and decided, as lines."""

from collections.abc import Sequence
from datetime import datetime

from limnos.agent.fates import TERMS, Account, Fate
from limnos.context.sources import Hit
from limnos.frontends.cli.cells import wrap
from limnos.frontends.cli.escapes import one_line
from limnos.frontends.cli.look import Look
from limnos.frontends.cli.spans import Line, Span, line
from limnos.frontends.cli.times import when
from limnos.memory.showing import Shown

_HEADS = {"exact": "exact", "lexical": "words", "dense": "dense", "neighbour": "next", "recency": "recent"}
_REASONS = {
    "question": "what the turn is about",
    "recalled": "recalled for this turn",
    "pinned": "pinned",
    "held": "brought back for this turn",
    "recent": "among the newest",
    "relevant": "relevant to the turn",
    "runaway": "a runaway, over 1/4 of the budget",
    "cold": "older, and less relevant",
}
_FATES = {"kept": "stays", "sunk": "sank", "recalled": "copied", "back": "back"}


def hit_lines(look: Look, hits: Sequence[Hit], now: datetime) -> list[Line]:
    """Each hit with its id, time and why it came, and the beginning of its text."""
    rows: list[Line] = []
    for hit in hits:
        marks = [hit.why, "" if hit.certain else "uncertain", "" if hit.trust == "trusted" else "untrusted"]
        stamp = when(hit.time, now, look.zone)
        head = f"{one_line(hit.unit)}  {stamp}  {hit.kind}  {one_line('  '.join(filter(None, marks)))}"
        rows += wrap(line(head), look.cells, "  ")
        rows += wrap(line("  ", Span(one_line(hit.text), "dim")), look.cells, "  ")
    return rows


def unit_lines(look: Look, units: Sequence[Shown], now: datetime) -> list[Line]:
    """A line for each unit: its id, when, in which layer, what it is, and its beginning."""
    return [
        look.cut(
            line(
                f"{unit.unit:>8}  {when(unit.time, now, look.zone)}  {unit.holder:<6}  {unit.kind:<4}  ",
                "" if unit.trust == "trusted" else Span("untrusted  ", "warn"),
                one_line(unit.text),
            )
        )
        for unit in units
    ]


def account_lines(look: Look, account: Account) -> list[Line]:
    """A decision with a row for each unit: its score by term, and why."""
    rows = [line(f"#{account.seq} {account.text}")]
    terms = [term for term in TERMS if any(term in fate.terms for fate in account.fates)]
    if account.fates:
        heads = "".join(f"{_HEADS.get(term, term):>8}" for term in terms)
        rows.append(look.cut(line(Span(f"    step   tokens    score{heads}  result and reason", "dim"))))
    return rows + [look.cut(_fate(fate, terms)) for fate in account.fates]


def _fate(fate: Fate, terms: Sequence[str]) -> Line:
    tokens = f"{fate.tokens:,}" if fate.tokens else "-"
    score = f"{fate.score:.2f}" if fate.terms else "-"
    shares = "".join(f"{fate.terms[term]:>8.2f}" if term in fate.terms else f"{'-':>8}" for term in terms)
    reason = _REASONS.get(fate.why, fate.why)
    unit = fate.unit.removeprefix("#")
    return line(
        f"{unit:>8} {tokens:>8} {score:>8}{shares}  {_FATES.get(fate.fate, fate.fate)}: {one_line(reason)}"
    )
