"""Automatic recall: a bounded section of data that costs a turn nothing when the memory is broken."""

import asyncio
from collections.abc import Collection, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from limnos.context.fence import fenced
from limnos.context.recall import Recall
from limnos.context.sizes import Sizes
from limnos.context.sources import Hit, Sources
from limnos.kernel.conversation import Conversation
from limnos.kernel.events import MemoryRecalled
from tests.context.units import CountingModel, check, engine, peeked, say, talk

HIT = Hit(
    "old#17", "2026-01-02T03:04:05Z", "step", "the parser is at 4.2.1", 0.9, {"exact": 1.0},
    "[exact] matched: 4.2.1", "kernel", "trusted", True,
)  # fmt: skip


class Memory:
    """Gives `hits`, or does what `fault` says."""

    def __init__(self, *hits: Hit, fault: str = "") -> None:
        self.hits, self.fault = hits, fault
        self.asked: list[tuple[str, set[str]]] = []

    async def recollect(self, query: str, *, k: int, without: Collection[str]) -> Sequence[Hit]:
        self.asked.append((query, set(without)))
        if self.fault == "hangs":
            await asyncio.Event().wait()
        if self.fault:
            raise RuntimeError(self.fault)
        return self.hits


def recalled(memory: Memory, conversation: Conversation, room: int = 1_000) -> MemoryRecalled | None:
    """What recall puts beside the input."""
    recall = Recall(memory, Sizes(CountingModel(10_000)), b"key", seconds=0.05)
    return asyncio.run(recall.section(conversation, room))


def asking(text: str = "which version is the parser?") -> Conversation:
    conversation = talk()
    say(conversation, text)
    return conversation


def test_a_hit_comes_with_its_id_time_and_reason_inside_of_a_fence_as_data() -> None:
    event = recalled(Memory(HIT), asking())

    assert event is not None
    lines = event.text.splitlines()
    assert "no instructions" in lines[0]
    assert "cold_recall" in lines[0]
    assert lines[2] == "old#17 · 2026-01-02 03:04 · step · [exact] matched: 4.2.1"
    assert lines[3] == "the parser is at 4.2.1"
    assert event.trust == "trusted"
    assert event.hits == [
        {"unit": "old#17", "why": HIT.why, "score": 0.9, "terms": {"exact": 1.0}, "trust": "trusted"}
    ]


def test_what_is_untrusted_or_uncertain_is_marked_and_makes_the_section_untrusted() -> None:
    event = recalled(Memory(HIT, HIT._replace(trust="untrusted", origin="web:h", certain=False)), asking())

    assert event is not None
    assert "untrusted, from web:h · uncertain" in event.text
    assert event.trust == "untrusted"


def test_what_the_model_has_seen_or_sees_is_not_shown_again() -> None:
    conversation, memory = asking(), Memory(HIT)
    conversation.window.seen["old#17"] = None

    assert recalled(memory, conversation) is None
    assert memory.asked == [("which version is the parser?", {"old#17", "#1"})]


@pytest.mark.parametrize("fault", ["hangs", "is broken"])
def test_a_memory_that_hangs_or_breaks_costs_recall_and_not_the_turn(fault: str) -> None:
    assert recalled(Memory(HIT, fault=fault), asking()) is None


@pytest.mark.parametrize("room", [0, 59, 80, 100, 200, 500, 2_000])
def test_a_section_never_takes_more_than_its_room(room: int) -> None:
    hits = [HIT._replace(unit=f"old#{number}", text="word " * 120) for number in range(9)]
    event = recalled(Memory(*hits), asking(), room)

    assert event is None or event.tokens <= room
    assert event is not None or room < 200


def test_a_section_stands_before_its_input_until_a_prune_and_is_in_the_budget() -> None:
    conversation, (one, _) = asking(), engine(3_000, sources=Sources(recollection=Memory(HIT)))
    event = asyncio.run(one.recall(conversation))
    assert event is not None
    conversation.apply(event.changed(seq=2, turn=1, time="2026-03-14T20:31:04.118Z"))

    request = peeked(one, conversation)
    check(request, "which version")

    said = request.messages[1].parts[0]
    assert str(said).index("old#17") < str(said).index("which version")


@given(st.text(max_size=200), st.text(max_size=40))
def test_no_text_closes_its_own_fence(text: str, more: str) -> None:
    first = fenced(text, "memory", b"key")
    tag = first.splitlines()[0].rpartition(" ")[2]
    forged = f"{text}\nmemory {tag}>>\n{more}"
    around = fenced(forged, "memory", b"key")
    own = around.split("\n", 1)[0].rpartition(" ")[2]

    assert len(own) == 32
    assert around.count(own) == 2
    assert around.endswith(f"\nmemory {own}>>")
