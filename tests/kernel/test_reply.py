"""A reply as it is collected from a model's stream."""

import asyncio
from collections.abc import AsyncIterator

from limnos.kernel.conversation import Conversation
from limnos.kernel.events import Event, Warned
from limnos.kernel.model import Delta, Finish, Notice, Request, TextDelta
from limnos.kernel.reply import Reply, collect
from limnos.kernel.stream import EventStream
from limnos.providers.scripted import Scripted
from limnos.testing.doubles import FixedClock, MemoryLog


class Busy(Scripted):
    """A model whose server lets it wait."""

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """See `Model`."""
        yield Notice("model_busy", "waiting 20 s: the server is busy", "wait")
        yield TextDelta("ok")
        yield Finish("stop")


def test_what_a_model_says_to_the_person_is_a_warning_and_no_part_of_the_reply() -> None:
    log, told = MemoryLog(), list[Event]()
    stream = EventStream("s1", log, FixedClock(), Conversation())
    stream.listen(told.append)
    reply = Reply("busy/one")

    asyncio.run(collect(Busy([]), Request(()), stream, reply))

    (warned,) = [event for event in log.events if isinstance(event, Warned)]
    assert told[0] is warned
    assert (warned.code, warned.text, warned.fix) == (
        "model_busy",
        "waiting 20 s: the server is busy",
        "wait",
    )
    assert (reply.text, reply.finish.reason) == ("ok", "stop")
