"""What all events share."""

from typing import ClassVar

from limnos.kernel.fields import Fields


class Event(Fields):
    """What all events share. `seq` grows by one per event of a session; `time` is ISO 8601 in UTC.

    `turn` and `step` count from 1; 0 means outside of any. `agent` is empty, or the path of the sub-agent
    that did it: `1` is the first of the session, `1/2` the second that this one began.
    """

    persisted: ClassVar[bool] = True

    seq: int = 0
    time: str = ""
    session: str = ""
    turn: int = 0
    step: int = 0
    agent: str = ""
