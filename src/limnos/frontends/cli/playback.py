"""Playing a recorded session back: its lines with their times, idle gaps folded."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from limnos.frontends.cli.escapes import one_line
from limnos.frontends.cli.look import Look
from limnos.frontends.cli.spans import Line, Span, line
from limnos.frontends.cli.times import clock, counted, duration, parse
from limnos.frontends.cli.transcript import Transcript
from limnos.kernel.events import Event, TurnStarted

GAP_SECONDS = 10.0
_STAMP = 10


class Frame(NamedTuple):
    """What one event adds: its lines, and the seconds since the event before."""

    event: Event
    rows: Sequence[Line]
    seconds: float


def frames(look: Look, events: Sequence[Event]) -> Iterator[Frame]:
    """One frame per event that shows something; a long gap is a line of its own."""
    session = events[0].session if events else ""
    transcript = Transcript(look, continue_with=f"limnos open {one_line(session)}")
    before = waited = 0.0
    for event in events:
        stamp = parse(event.time)
        now = stamp.timestamp() if stamp else before
        gap = max(0.0, now - before) if before else 0.0
        before, waited = now, waited + gap
        rows = transcript.apply(event)
        if not rows:
            continue
        shown = [_stamped(look, event, row) for row in rows if row]
        if waited > GAP_SECONDS:
            shown.insert(0, line(" " * _STAMP, Span(f"{duration(waited * 1000)} of nothing, folded", "dim")))
        yield Frame(event, shown, 0.0 if waited > GAP_SECONDS else waited)
        waited = 0.0


def summary(events: Sequence[Event]) -> str:
    """`4 turns, 218 events, 41 min, 6 min without gaps`."""
    stamps = [found.timestamp() for event in events if (found := parse(event.time))]
    steps = [max(0.0, late - early) for early, late in pairwise(stamps)]
    whole, active = sum(steps), sum(step for step in steps if step <= GAP_SECONDS)
    turns = sum(isinstance(event, TurnStarted) for event in events)
    text = f"{counted(turns, 'turn')}, {counted(len(events), 'event')}, {duration(whole * 1000)}"
    return text if active == whole else f"{text}, {duration(active * 1000)} without gaps"


def _stamped(look: Look, event: Event, row: Line) -> Line:
    return look.cut(line(f"{clock(event.time, look.zone, seconds=True):<{_STAMP}}", *row))
