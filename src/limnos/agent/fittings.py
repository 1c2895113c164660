"""What the runner of a session is made with."""

from collections.abc import Callable
from typing import NamedTuple

from limnos.agent.edit_history import Undone
from limnos.agent.moves import Moves
from limnos.agent.questions import OpenQuestions
from limnos.agent.session_jobs import SessionJobs
from limnos.kernel.events import Event
from limnos.kernel.limits import Meter
from limnos.kernel.loop import Loop


class Fittings(NamedTuple):
    """What a runner needs beside the stream; made by `agent.build`.

    `meter` makes the meter of one turn, `finish` gives back what the session holds (the log and its lock).
    `new_turn` is told how many questions the turn has had, and says how many the one before had.
    """

    loop: Loop
    questions: OpenQuestions
    new_turn: Callable[[int], int]
    names_in: Callable[[str], list[str]]
    meter: Callable[[], Meter]
    history: Callable[[int], list[Event]]
    finish: Callable[[], None]
    jobs: SessionJobs
    moves: Moves
    undo: Callable[[], Undone | None]
    persona: str
    model: str
    mode: str
    attended: bool
    trusted: bool
    grace_seconds: float
