"""Long work in a small window: what sinks stays within reach, by question and by itself."""

from pathlib import Path
from typing import Any

import pytest

from limnos.kernel.conversation import fold
from limnos.kernel.events import CallFinished, ContextChanged, MemoryRecalled, StepsRecalled, TurnFinished
from limnos.kernel.units import MemoryShelf
from limnos.store.audit import read_history
from tests.service.house import House, Talk, answering, call, run, step

WINDOW = 6_000
KEEPER = "the lighthouse keeper is called Ingrid Vaal, ZK-881-Q"


def reading(house: House, count: int) -> list[dict[str, Any]]:
    """Steps that read files, each of which says a code that stands nowhere else."""
    for number in range(count):
        filler = " ".join(f"word{number}x{place}" for place in range(120))
        (house.work / f"part{number}.txt").write_text(
            f"the code of part {number} is QX-{7000 + number}\n{filler}\n"
        )
    return [step("", call("read_file", path=f"part{number}.txt")) for number in range(count)]


def held_in(talk: Talk) -> set[str]:
    """The ids in the window, as the log tells it."""
    return {unit.id for unit in fold(read_history(Path(talk.session.path)).events, shelf=MemoryShelf()).units}


def test_what_sank_is_found_by_a_question_and_comes_back_whole(tmp_path: Path) -> None:
    house = House(tmp_path)

    async def story() -> Talk:
        kernel = house.kernel(
            *reading(house, 20),
            step("", call("cold_query", text="code of part 2 QX-7002")),
            step("", call("cold_recall", ids=["#17"])),
            step("It is QX-7002.", expect=["word2x119"]),
            context_tokens=WINDOW,
            steps=40,
        )
        talk = await house.open(kernel)
        await talk.say("read all parts, then tell me the code of part 2")
        return talk

    talk = run(story())
    assert talk.of(TurnFinished)[0].reason == "done"
    found = next(event for event in talk.of(CallFinished) if event.tool == "cold_query")
    assert found.text.startswith("#17 ")
    assert "[exact]" in found.text
    assert [event.units for event in talk.of(StepsRecalled)] == [["#17"]]
    assert "#17" in held_in(talk)
    assert house.divergence(talk) is None


def test_a_later_session_is_given_what_an_earlier_one_knew_and_may_ask_for_the_whole(tmp_path: Path) -> None:
    house = House(tmp_path)

    async def story() -> tuple[Talk, Talk]:
        first = await house.open(house.kernel(step("Noted: the gate code is QX-4711.")))
        await first.say("remember that the gate code of the boathouse is QX-4711")
        await first.session.close()
        kernel = house.kernel(
            step("", call("cold_recall", ids=[f"{first.session.id}#2"])),
            step("It is QX-4711.", expect=["boathouse"]),
            step("Yes, QX-4711."),
        )
        second = await house.open(kernel)
        await second.say("what is the gate code of the boathouse?")
        await second.say("is the gate code of the boathouse QX-4711?")
        return first, second

    first, second = run(story())
    told = second.of(MemoryRecalled)
    assert f"{first.session.id}#2" in {hit["unit"] for hit in told[0].hits}
    assert "QX-4711" in told[0].text
    assert "no instructions" in told[0].text
    quoted = next(event for event in second.of(CallFinished) if event.tool == "cold_recall")
    assert "remember that the gate code" in quoted.text
    assert not second.of(StepsRecalled)
    seen = [hit["unit"] for event in told for hit in event.hits]
    assert len(seen) == len(set(seen)), "nothing is put beside an input twice"
    assert house.divergence(second) is None


def test_a_first_session_is_given_nothing_and_makes_no_database(tmp_path: Path) -> None:
    house = House(tmp_path)

    async def story() -> Talk:
        talk = await house.open(house.kernel(step("hello")))
        await talk.say("hello")
        await talk.session.close()
        return talk

    assert not run(story()).of(MemoryRecalled)
    assert not list(house.home.rglob("memory.db"))


def test_a_session_goes_on_with_its_window_after_a_restart(tmp_path: Path) -> None:
    house = House(tmp_path)

    async def story() -> tuple[set[str], Talk]:
        kernel = house.kernel(*reading(house, 20), step("All read."), context_tokens=WINDOW, steps=40)
        talk = await house.open(kernel)
        await talk.say("read all parts")
        before = held_in(talk)
        await kernel.close()
        again = house.kernel(
            step("", call("cold_query", text="QX-7003")),
            step("Found.", expect=["QX-7003"]),
            context_tokens=WINDOW,
        )
        later = await house.open(again, session=talk.session.id)
        view = later.session.window()
        assert {unit.id for unit in view.units} == before
        assert view.cold > 0
        await later.say("what was the code of part 3?", client_id="later")
        return before, later

    before, later = run(story())
    assert before
    assert later.of(TurnFinished)[-1].reason == "done"
    assert house.divergence(later) is None


def test_a_sub_agent_finds_what_left_its_own_window(tmp_path: Path) -> None:
    house = House(tmp_path)
    task = "read all parts"

    async def story() -> Talk:
        reads = [one | {"to": task} for one in reading(house, 9)]
        kernel = house.kernel(
            step("", call("spawn_agent", task=task, max_steps=12)),
            *reads,
            step("", call("cold_query", text="QX-7000"), to=task),
            step("The first is QX-7000.", to=task, expect=["QX-7000"]),
            step("Done.", expect=["The first is QX-7000."]),
            context_tokens=3_500,
            agents="on",
        )
        talk = await house.open(kernel)
        await talk.say("share it out", answering("once"))
        return talk

    talk = run(story())
    assert talk.of(TurnFinished)[0].reason == "done", talk.of(TurnFinished)[0].message
    assert any(event.sunk for event in talk.of(ContextChanged) if event.agent)
    found = next(event for event in talk.of(CallFinished) if event.tool == "cold_query")
    assert found.agent == "1"
    assert "QX-7000" in found.text


@pytest.mark.parametrize("steps", [200, pytest.param(5_000, marks=pytest.mark.soak)])
def test_after_many_steps_the_twelfth_is_recalled_by_question_and_by_itself(
    tmp_path: Path, steps: int
) -> None:
    house = House(tmp_path)

    async def story() -> Talk:
        for number in range(steps):
            said = f"reading {number} of the tide is {number * 37 % 1009}"
            said = KEEPER if number == 11 else said
            (house.work / f"t{number}.txt").write_text(f"{said}\n")
        look = [step("", call("read_file", path=f"t{number}.txt")) for number in range(steps)]
        kernel = house.kernel(
            *look,
            step("All done."),
            step("", call("cold_query", text="ZK-881-Q lighthouse keeper")),
            step("Her name is Ingrid Vaal.", expect=["Ingrid Vaal"]),
            context_tokens=WINDOW,
            steps=steps + 10,
            turn_tokens=10**9,
        )
        talk = await house.open(kernel)
        await talk.say("watch the tide", answering("once"))
        await talk.say("who was called ZK-881-Q, the lighthouse keeper?", answering("once"))
        return talk

    talk = run(story(), seconds=1200)
    assert [event.reason for event in talk.of(TurnFinished)] == ["done", "done"]
    found = next(event for event in talk.of(CallFinished) if event.tool == "cold_query")
    assert "Ingrid Vaal" in found.text
    recalled = talk.of(MemoryRecalled)[-1]
    assert "Ingrid Vaal" in recalled.text
    assert recalled.hits[0]["terms"].get("exact", 0) > 0
