"""What crosses the waterline, as lines: steps that sank or came back, what memory put beside an input."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from limnos.frontends.cli.cells import wrap
from limnos.frontends.cli.escapes import one_line
from limnos.frontends.cli.look import Look
from limnos.frontends.cli.spans import Line, Span, line
from limnos.frontends.cli.times import counted
from limnos.kernel.events import ContextChanged, MemoryRecalled, StepsRecalled

Moved: TypeAlias = ContextChanged | MemoryRecalled | StepsRecalled
_NAMED = 4


def moved_lines(look: Look, event: Moved) -> list[Line]:
    """The lines of an event; none when nothing moved."""
    match event:
        case ContextChanged():
            if not event.sunk:
                return []
            text = event.marker or f"{counted(len(event.sunk), 'step')} sank  /recall lists them"
        case StepsRecalled():
            what = "step {} is" if len(event.units) == 1 else "steps {} are"
            text = f"{what.format(_listed(event.units))} back in the window until this turn ends"
        case MemoryRecalled():
            if not event.hits:
                return []
            text = f"memory put beside this message: {_named(event.hits)}"
    return wrap(line(Span(f"{look.signs.water} {one_line(text)}", "accent")), look.cells, "  ")


def _listed(units: Sequence[str]) -> str:
    return ", ".join(unit.removeprefix("#") for unit in units)


def _named(hits: Sequence[Mapping[str, Any]]) -> str:
    """The first hits with why they came, in short."""
    parts = [f"{_listed([str(hit.get('unit', ''))])} {hit.get('why', '')}".strip() for hit in hits[:_NAMED]]
    more = f" and {len(hits) - _NAMED} more" if len(hits) > _NAMED else ""
    return "; ".join(parts) + more
