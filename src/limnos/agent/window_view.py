"""The window of a session by category and by unit, for people: what it holds and what each thing takes."""

from collections.abc import Callable, Sequence
from pathlib import Path

from limnos.kernel.conversation import Conversation, fold, title_of
from limnos.kernel.messages import text_of
from limnos.kernel.units import MemoryShelf, Recalled, Said, Step, Unit
from limnos.kernel.window_view import WindowPart, WindowUnit, WindowView
from limnos.store.audit import read_history


def view_of(conversation: Conversation, count: Callable[[str], int], reuse: float = -1.0) -> WindowView:
    """What the window of `conversation` holds; `count` counts the tokens of a text."""
    window, units = conversation.window, conversation.units
    rows = tuple(_row(conversation, unit, count) for unit in units)
    recalled = sum(row.tokens for row in rows if row.kind == "recalled")
    ledger = count(window.ledger) if window.ledger else 0
    held = sum(row.tokens for row in rows) - recalled
    sizes = window.sizes
    known = [
        WindowPart("ledger", ledger),
        WindowPart("recalled", recalled),
        WindowPart("steps and messages", held),
    ]
    if sizes is None:
        return WindowView(0, 0, 0, tuple(known), rows, window.sunk, reuse)
    rest = max(sizes.used - sizes.system - sum(part.tokens for part in known), 0)
    parts = (WindowPart("system prompt", sizes.system), WindowPart("tools and markers", rest), *known)
    return WindowView(sizes.used, sizes.budget, sizes.reserve, parts, rows, window.sunk, reuse)


def view_of_log(path: Path, count: Callable[[str], int]) -> WindowView:
    """What the window of the session holds whose log is `path`. Raises StorageError."""
    return view_of(fold(read_history(path).events, shelf=MemoryShelf()), count)


def _row(conversation: Conversation, unit: Unit, count: Callable[[str], int]) -> WindowUnit:
    window = conversation.window
    state = "pinned" if unit.id in window.pinned else "held" if unit.id in window.held else ""
    tokens = unit.tokens if unit.tokens is not None else count(_whole(unit))
    return WindowUnit(unit.id, unit.turn, _kind(unit), tokens, state, _about(unit))


def _kind(unit: Unit) -> str:
    return "said" if isinstance(unit, Said) else "recalled" if isinstance(unit, Recalled) else "step"


def _about(unit: Unit) -> str:
    """The beginning of what was said, or the tools of a step."""
    if not isinstance(unit, Step):
        return title_of(unit.text)
    tools: Sequence[str] = tuple(dict.fromkeys(unit.tools))
    return title_of(", ".join(tools) or text_of(unit.parts))


def _whole(unit: Unit) -> str:
    """All texts of a unit that was not counted yet."""
    messages = unit.messages()
    return "\n".join(text_of(one.result.parts if one.result else one.parts) for one in messages)
