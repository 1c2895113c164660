"""The window of a session as lines: `/context` and `limnos context`."""

from collections.abc import Sequence
from datetime import datetime

from limnos.frontends.cli.escapes import one_line
from limnos.frontends.cli.look import Look
from limnos.frontends.cli.spans import Line, Span, line
from limnos.frontends.cli.times import counted, thousands, when
from limnos.kernel.window_view import ColdUnit, WindowPart, WindowUnit, WindowView

_SHOWN = 12  # units, the newest; --json has all


def window_lines(look: Look, view: WindowView, shown: int = _SHOWN) -> list[Line]:
    """Sizes, categories, the newest units with their state, and what has sunk."""
    if not view.budget and not view.units:
        return [look.signed("idle", "nothing was sent yet")]
    rows = [_sizes(view), line(Span("  tokens  share", "dim"))]
    rows += [_part(view, part) for part in view.parts if part.tokens]
    if view.units:
        rows.append(line(Span("  number  tokens  what", "dim")))
    if len(view.units) > shown:
        rows.append(line(f"          {counted(len(view.units) - shown, 'older one')}"))
    rows += [look.cut(_unit(unit)) for unit in view.units[-shown:]]
    if view.cold:
        sunk = counted(view.cold, "step or message", "steps and messages")
        text = f"{look.signs.water} {sunk} of this session under the waterline  /recall lists them"
        rows.append(line(Span(text, "accent")))
    return rows


def cold_lines(look: Look, units: Sequence[ColdUnit], now: datetime) -> list[Line]:
    """What has sunk, a line each, and how it comes back."""
    if not units:
        return [look.signed("idle", "nothing of this session has sunk, or nothing of it fits")]
    rows = [
        look.cut(
            line(
                f"{unit.id.removeprefix('#'):>8}  {when(unit.time, now, look.zone)}  {unit.kind}  ",
                Span(f"{unit.why}  " if unit.why else "", "dim"),
                one_line(unit.about),
            )
        )
        for unit in units
    ]
    return [*rows, line(f"next: /recall {units[0].id.removeprefix('#')}")]


def _sizes(view: WindowView) -> Line:
    share = 100 * view.used / view.budget if view.budget else 0
    parts = [f"budget {thousands(view.budget)}", f"used {thousands(view.used)}, {share:.0f} %"]
    parts.append(f"reserve {thousands(view.reserve)}")
    if view.reuse >= 0:
        parts.append(f"repeated from the request before {100 * view.reuse:.0f} %")
    return line("   ".join(parts))


def _part(view: WindowView, part: WindowPart) -> Line:
    share = 100 * part.tokens / view.budget if view.budget else 0
    return line(f"{part.tokens:>8,}  {share:>4.0f} %  {part.name}")


def _unit(unit: WindowUnit) -> Line:
    state = f"{unit.state}: " if unit.state else ""
    return line(
        f"{unit.id.removeprefix('#'):>8}  {unit.tokens:>6,}  {unit.kind}  {state}{one_line(unit.about)}"
    )
