"""A call that says much is told at a pace, and its newest words are never lost."""

import asyncio

from limnos.kernel.conversation import Conversation
from limnos.kernel.events import CallProgress, Event
from limnos.kernel.messages import Arguments
from limnos.kernel.progress import LONGEST, PAUSE_S, Progress
from limnos.kernel.stream import EventStream
from limnos.kernel.tools import Output, Tool, ToolContext
from limnos.providers.scripted import Scripted
from limnos.testing.doubles import FixedClock, MemoryLog
from tests.kernel.turns import Setting, call, step


class HandClock(FixedClock):
    """A clock whose sleepers wake when it is moved."""

    def __init__(self) -> None:
        super().__init__()
        self._sleepers: list[tuple[float, asyncio.Event]] = []

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock is moved that far."""
        woken = asyncio.Event()
        self._sleepers.append((self.monotonic() + seconds, woken))
        await woken.wait()

    async def pass_time(self, seconds: float) -> None:
        """Let everybody fall asleep, move on, and let those who wake now do their work."""
        await asyncio.sleep(0)
        self.move(seconds)
        for until, woken in self._sleepers:
            if until <= self.monotonic() + 1e-6:
                woken.set()
        for _ in range(3):
            await asyncio.sleep(0)


class Listening:
    """A stream on a clock turned by hand, and what it told."""

    def __init__(self) -> None:
        self.clock = HandClock()
        self.events: list[Event] = []
        stream = EventStream("s1", MemoryLog(), self.clock, Conversation())
        stream.listen(self.events.append)
        self.progress = Progress("c1", stream)

    @property
    def told(self) -> list[str]:
        return [event.text for event in self.events if isinstance(event, CallProgress)]


def test_the_first_report_comes_at_once_and_the_next_ones_gathered_ten_times_a_second() -> None:
    async def story() -> None:
        heard = Listening()
        heard.progress("a")
        heard.progress("b")
        heard.progress("c", 0.5)
        assert heard.told == ["a"]
        await heard.clock.pass_time(PAUSE_S)
        assert heard.told == ["a", "bc"]
        assert [event.fraction for event in heard.events if isinstance(event, CallProgress)] == [None, 0.5]
        heard.progress("d")
        assert heard.told == ["a", "bc"]
        await heard.clock.pass_time(PAUSE_S)
        await heard.clock.pass_time(PAUSE_S)
        heard.progress("e")
        assert heard.told == ["a", "bc", "d", "e"]
        heard.progress.close()

    asyncio.run(story())


def test_a_flood_of_output_is_ten_short_events_a_second_that_end_with_the_newest() -> None:
    async def story() -> None:
        heard = Listening()
        for _ in range(10):
            for number in range(1000):
                heard.progress(f"line {number}\n" * 50)
            await heard.clock.pass_time(PAUSE_S)
        heard.progress.close()
        assert len(heard.told) <= 11
        assert all(len(text) <= LONGEST for text in heard.told)
        assert heard.told[-1].endswith("line 999\n")

    asyncio.run(story())


def test_the_end_of_a_call_tells_what_is_left_and_then_nothing_more() -> None:
    async def story() -> None:
        heard = Listening()
        heard.progress("a")
        heard.progress("b")
        heard.progress.close()
        heard.progress("too late")
        await heard.clock.pass_time(PAUSE_S)
        assert heard.told == ["a", "b"]

    asyncio.run(story())


def test_what_a_call_told_comes_before_its_result_and_its_result_is_whole() -> None:
    text = "".join(f"line {number}\n" for number in range(2000))

    async def talk(arguments: Arguments, context: ToolContext) -> Output:
        for row in text.splitlines(keepends=True):
            context.report(row)
        return Output(text)

    tool = Tool("talk", "talks", {"type": "object"}, talk)
    setting = Setting(Scripted([step("", call("talk")), step("ok", expect=(text,))]), tools=[tool])
    setting.run("go")

    kinds = [event.type for event in setting.heard if event.type.startswith("call_")]
    assert kinds[-1] == "call_finished"
    assert 2 <= kinds.count("call_progress") <= 3


def test_how_far_a_call_is_stays_known_when_it_says_something_else() -> None:
    async def story() -> list[float | None]:
        heard = Listening()
        heard.progress("a")
        heard.progress("", 0.5)
        heard.progress("b")
        heard.progress.close()
        return [event.fraction for event in heard.events if isinstance(event, CallProgress)]

    assert asyncio.run(story()) == [None, 0.5]


def test_a_fraction_that_is_none_is_not_told() -> None:
    async def story() -> list[float | None]:
        told: list[float | None] = []
        for fraction in (float("nan"), float("inf"), -1.0, 7.0):
            heard = Listening()
            heard.progress("a", fraction)
            heard.progress.close()
            told += [event.fraction for event in heard.events if isinstance(event, CallProgress)]
        return told

    assert asyncio.run(story()) == [None, None, 0.0, 1.0]
