"""The moves between window and shelf as the fold of a session's events."""

import random

import pytest

from limnos.kernel.conversation import Conversation, fold
from limnos.kernel.event_base import Event
from limnos.kernel.events import (
    CallFinished,
    CallProposed,
    ContextChanged,
    MemoryRecalled,
    ReplyFinished,
    StepFinished,
    StepsRecalled,
    TurnFinished,
    TurnStarted,
    UnitPinned,
)
from limnos.kernel.saved import may_be_saved, restored, saved
from limnos.kernel.units import MemoryShelf, Recalled, Step


class History:
    """The events of a session, numbered as they come."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.turn = 0

    def add(self, event: Event) -> Event:
        """The event with its number."""
        numbered = event.changed(seq=len(self.events) + 1, time="2026-03-14T20:31:04.118Z", turn=self.turn)
        self.events.append(numbered)
        return numbered

    def ask(self, text: str) -> None:
        """A turn begins."""
        self.turn += 1
        self.add(
            TurnStarted(
                input=text, source="cli", principal="owner", client_id=f"m{self.turn}", persona="default",
                model="x", mode="ask",
            )
        )  # fmt: skip

    def act(self, name: str) -> str:
        """A step with one call; its id."""
        call = f"c{len(self.events)}"
        first = self.add(ReplyFinished(text="", finish="tool_calls"))
        self.add(CallProposed(call=call, tool=name, arguments={}))
        self.add(CallFinished(call=call, tool=name, outcome="done", text=name))
        self.add(StepFinished(text="", calls=[call]))
        return f"#{first.seq}"

    def end(self) -> None:
        """The turn is over."""
        self.add(StepFinished(text="done"))
        self.add(TurnFinished(reason="done", exit=0, steps=1, calls=1, ms=1, tokens=1))

    def sink(self, *units: str) -> None:
        """A prune."""
        self.add(ContextChanged(reason="pruned", used=1, budget=2, reserve=1, sunk=list(units), ledger="a b"))

    def window(self) -> Conversation:
        """What the window holds after all of it."""
        return fold(self.events, shelf=MemoryShelf())


def ids(conversation: Conversation) -> list[str]:
    """The ids of the units, in order."""
    return [unit.id for unit in conversation.units]


def test_a_sunk_unit_leaves_the_window_and_a_recalled_one_stands_at_its_place_in_time() -> None:
    story = History()
    story.ask("first")
    one, two = story.act("one"), story.act("two")
    story.end()
    whole = ids(story.window())
    story.sink(one, two)
    story.ask("second")
    assert not {one, two} & set(ids(story.window()))
    story.add(StepsRecalled(units=[one], call="c"))
    story.act("three")
    after = story.window()
    assert [unit for unit in ids(after) if unit in whole] == [unit for unit in whole if unit != two]
    back = after.units[ids(after).index(one)]
    assert isinstance(back, Step)
    assert [result.call_id for result in back.results.values()] == [back.calls[0].id]
    assert after.window.held == {one}
    assert after.window.sunk == 1
    assert after.window.ledger == "a b"


def test_without_a_shelf_nothing_leaves_the_conversation() -> None:
    story = History()
    story.ask("first")
    one = story.act("one")
    story.sink(one)
    assert one in ids(fold(story.events))


def test_what_memory_says_stands_before_the_input_of_its_turn_and_is_held_by_no_shelf() -> None:
    story = History()
    story.ask("first")
    story.end()
    story.ask("second")
    said = ids(story.window())[-1]
    recalled = story.add(MemoryRecalled(query="second", text="[a copy]", hits=[{"unit": "#1", "why": "x"}]))
    story.act("one")
    window = story.window()
    place = ids(window).index(f"#{recalled.seq}")
    assert isinstance(window.units[place], Recalled)
    assert ids(window)[place + 1] == said
    assert "#1" in window.window.seen
    story.sink(f"#{recalled.seq}")
    assert story.window().window.sunk == 0


def test_a_held_unit_is_free_again_in_the_next_turn_and_a_pinned_one_is_not() -> None:
    story = History()
    story.ask("first")
    one = story.act("one")
    story.end()
    story.sink(one)
    story.ask("second")
    story.add(StepsRecalled(units=[one], call="c"))
    story.add(UnitPinned(unit=one))
    story.end()
    story.ask("third")
    window = story.window().window
    assert not window.held
    assert window.pinned == {one}


def test_recalling_what_stands_in_the_window_doubles_nothing() -> None:
    story = History()
    story.ask("first")
    one = story.act("one")
    story.add(StepsRecalled(units=[one, one, "#999"], call="c"))
    assert ids(story.window()).count(one) == 1


@pytest.mark.parametrize("seed", range(20))
def test_a_session_saved_between_turns_goes_on_as_if_it_had_never_been_closed(seed: int) -> None:
    chance, story, steps = random.Random(seed), History(), list[str]()
    for turn in range(12):
        story.ask(f"turn {turn}")
        if chance.random() < 0.3:
            story.add(MemoryRecalled(query="q", text="[a copy]", hits=[{"unit": "x#4", "why": "y"}]))
        for _ in range(chance.randrange(4)):
            steps.append(story.act("tool"))
            if chance.random() < 0.4:
                story.sink(*chance.sample(steps, min(2, len(steps))))
            if chance.random() < 0.4:
                story.add(StepsRecalled(units=chance.sample(steps, 1), call="c"))
        story.end()
    cut = (
        chance.choice([place for place, one in enumerate(story.events) if isinstance(one, TurnFinished)]) + 1
    )
    shelf = MemoryShelf()
    before = fold(story.events[:cut], shelf=shelf)
    assert may_be_saved(before)
    again = restored(
        saved(before), before.units, call_ids=before.call_ids, client_ids=before.client_ids, shelf=shelf
    )
    straight = story.window()
    for event in story.events[cut:]:
        again.apply(event)
    assert ids(again) == ids(straight), f"seed {seed}"
    assert saved(again) == saved(straight)
    assert again.call_ids == straight.call_ids
