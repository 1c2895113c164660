"""Interrupts: what goes before what, where a turn may be set aside, and that it always comes to its end."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from limnos.agent.build import Opening, home, model_of, open_session
from limnos.agent.runner import Runner
from limnos.agent.scheduling import Input
from limnos.agent.settings import load
from limnos.kernel.errors import UsageError
from limnos.kernel.events import (
    ApprovalAsked,
    CallFinished,
    CallStarted,
    Event,
    InputDropped,
    StepFinished,
    TextDelta,
    TurnFinished,
    TurnResumed,
    TurnStarted,
    TurnSuspended,
)
from limnos.kernel.pairing import check_pairing
from limnos.kernel.seams import Answer
from limnos.service.client import Send, Session
from limnos.testing.doubles import FixedClock
from tests.service.house import House, React, Talk, answering, call, of_type, run, step

SLOW = step("one two three four", delay=0.02)


def urgent(name: str, level: int = 4) -> Send:
    return Send(name, name, "test", level=level, interrupt=True)


def once(kind: type[Event], act: Callable[[Session, Event], None], word: str = "") -> React:
    """React once, to the first event of a kind (a piece of text: that holds `word`)."""
    done: list[bool] = []

    def react(session: Session, event: Event) -> None:
        if isinstance(event, kind) and not done and word in getattr(event, "text", ""):
            done.append(True)
            act(session, event)

    return react


async def until_ended(talk: Talk, turns: int, react: React) -> None:
    while len(talk.of(TurnFinished)) < turns:
        await talk.ended(react)


def checked(house: House, talk: Talk, turns: int) -> list[str]:
    """That the record holds; what happened to the turns, as words."""
    events = talk.heard
    assert len(of_type(events, TurnFinished)) == turns
    assert {event.turn for event in of_type(events, TurnFinished)} == set(range(1, turns + 1))
    started = [event.call for event in of_type(events, CallStarted)]
    assert len(started) == len(set(started))
    messages = [message for unit in talk.conversation.units for message in unit.messages()]
    assert check_pairing(messages).valid
    assert not talk.conversation.unfinished
    assert house.divergence(talk) is None
    words = {"turn_started": "begin", "turn_suspended": "aside", "turn_resumed": "on", "turn_finished": "end"}
    return [f"{words[event.type]} {event.turn}" for event in events if event.type in words]


def test_an_interrupt_goes_before_the_reply_that_is_on_its_way(tmp_path: Path) -> None:
    house = House(tmp_path)

    async def story() -> Talk:
        kernel = house.kernel(
            SLOW,
            step("urgent done", expect=["goes before turn 1: plan my week"]),
            step("week planned", expect=["go on now with what was set aside: plan my week"]),
        )
        talk = await house.open(kernel)
        react = once(TextDelta, lambda session, _: session.send(urgent("fire!")), "two")
        await talk.say("plan my week", react)
        await until_ended(talk, 2, react)
        await kernel.close()
        return talk

    talk = run(story())

    assert checked(house, talk, 2) == ["begin 1", "aside 1", "begin 2", "end 2", "on 1", "end 1"]
    assert [event.reason for event in talk.of(TurnFinished)] == ["done", "done"]
    assert [event.set_aside for event in talk.of(TurnFinished)] == [1, 0]
    assert talk.of(TurnStarted)[1].interrupts == "turn 1: plan my week"
    assert "one two three four" not in [event.text for event in talk.of(StepFinished)]


def test_a_running_tool_is_never_cut_short_and_never_run_again(tmp_path: Path) -> None:
    house = House(tmp_path)

    async def story() -> Talk:
        count = call("run_command", command="echo x >> count; sleep 0.2; echo end")
        kernel = house.kernel(step("", count), step("urgent done"), step("counted", expect=["end"]))
        talk = await house.open(kernel)
        interrupting = once(CallStarted, lambda session, _: session.send(urgent("fire!")))

        def react(session: Session, event: Event) -> None:
            answering("once")(session, event)
            interrupting(session, event)

        await talk.say("count", react)
        await until_ended(talk, 2, react)
        await kernel.close()
        return talk

    talk = run(story())

    assert checked(house, talk, 2) == ["begin 1", "aside 1", "begin 2", "end 2", "on 1", "end 1"]
    assert [event.outcome for event in talk.of(CallFinished)] == ["done"]
    assert (house.work / "count").read_text() == "x\n"
    finished, aside = talk.of(CallFinished)[0], talk.of(TurnSuspended)[0]
    assert finished.seq < aside.seq
    assert aside.by == "fire!"
    assert talk.of(TurnFinished)[-1].calls == 1


def test_an_open_question_is_answered_before_the_turn_is_set_aside(tmp_path: Path) -> None:
    house = House(tmp_path)

    async def story() -> Talk:
        kernel = house.kernel(
            step("", call("write_file", path="a", content="")), step("urgent"), step("written")
        )
        talk = await house.open(kernel)

        def react(session: Session, event: Event) -> None:
            if isinstance(event, ApprovalAsked):
                session.send(urgent("fire!"))
                assert session.answer(event.approval, Answer("once", source="test"))

        await talk.say("write", react)
        await until_ended(talk, 2, react)
        await kernel.close()
        return talk

    talk = run(story())

    assert checked(house, talk, 2) == ["begin 1", "aside 1", "begin 2", "end 2", "on 1", "end 1"]
    assert (house.work / "a").exists()


@pytest.mark.parametrize(("running", "coming"), [(3, 3), (4, 4), (3, 1), (4, 3)])
def test_an_equal_or_lower_one_waits_for_the_end(tmp_path: Path, running: int, coming: int) -> None:
    house = House(tmp_path)

    async def story() -> Talk:
        kernel = house.kernel(SLOW, step("second"))
        talk = await house.open(kernel)
        react = once(TextDelta, lambda session, _: session.send(urgent("x", coming)), "two")
        talk.session.send(Send("first", "first", "test", level=running))
        await until_ended(talk, 2, react)
        await kernel.close()
        return talk

    assert checked(house, (talk := run(story())), 2) == ["begin 1", "end 1", "begin 2", "end 2"]
    assert not talk.of(TurnSuspended)


def test_a_queued_input_waits_whatever_its_level(tmp_path: Path) -> None:
    house = House(tmp_path)

    async def story() -> Talk:
        kernel = house.kernel(SLOW, step("critical"), step("background"))
        talk = await house.open(kernel)

        def send(session: Session, _: Event) -> None:
            session.send(Send("b", "b", "test", level=1))
            session.send(Send("c", "c", "test", level=4))
            assert [message.text for message in session.queued()] == ["c", "b"]

        react = once(TextDelta, send, "two")
        await talk.say("first", react)
        await until_ended(talk, 3, react)
        await kernel.close()
        return talk

    talk = run(story())

    assert [event.input for event in talk.of(TurnStarted)] == ["first", "c", "b"]
    assert not talk.of(TurnSuspended)


def test_interrupts_pile_up_and_every_turn_comes_to_its_end_in_turn(tmp_path: Path) -> None:
    house = House(tmp_path)

    async def story() -> Talk:
        kernel = house.kernel(SLOW, SLOW, SLOW, step("4"), step("3"), step("2"), step("1"))
        talk = await house.open(kernel)
        levels = iter((2, 3, 4))
        begun: set[int] = set()

        def react(session: Session, event: Event) -> None:
            if isinstance(event, TextDelta) and "two" in event.text and event.turn not in begun:
                begun.add(event.turn)
                level = next(levels, None)
                if level:
                    session.send(urgent(f"level {level}", level))

        talk.session.send(Send("level 1", "level 1", "test", level=1))
        await until_ended(talk, 4, react)
        await kernel.close()
        return talk

    assert checked(house, run(story()), 4) == [
        *("begin 1", "aside 1", "begin 2", "aside 2", "begin 3", "aside 3", "begin 4", "end 4"),
        *("on 3", "end 3", "on 2", "end 2", "on 1", "end 1"),
    ]  # fmt: skip


def test_an_input_for_the_running_turn_goes_with_it_when_it_is_set_aside(tmp_path: Path) -> None:
    house = House(tmp_path)

    async def story() -> Talk:
        kernel = house.kernel(SLOW, step("urgent"), step("Paris", expect=["make it Paris"]))
        talk = await house.open(kernel)

        def send(session: Session, _: Event) -> None:
            session.inject(Send("make it Paris", "x", "test"))
            session.send(urgent("fire!"))

        react = once(TextDelta, send, "two")
        await talk.say("plan", react)
        await until_ended(talk, 2, react)
        talk.session.inject(Send("make it Paris", "x", "test"))
        assert talk.session.queued() == []
        await kernel.close()
        return talk

    checked(house, run(story()), 2)


def test_a_stop_ends_the_interrupt_and_what_was_set_aside_waits_for_the_person(tmp_path: Path) -> None:
    house = House(tmp_path)

    async def story() -> Talk:
        kernel = house.kernel(SLOW, SLOW, step("the end"))
        talk = await house.open(kernel)

        def react(session: Session, event: Event) -> None:
            if isinstance(event, TextDelta) and "two" in event.text and not talk.of(TurnFinished):
                if talk.of(TurnSuspended):
                    session.stop()
                elif not session.queued():
                    session.send(urgent("fire!"))

        await talk.say("plan", react)
        assert talk.of(TurnFinished)[0].turn == 2
        while not talk.session.interrupted:
            await asyncio.sleep(0)
        talk.session.resume("test")
        await until_ended(talk, 2, react)
        await kernel.close()
        return talk

    talk = run(story())

    assert checked(house, talk, 2) == ["begin 1", "aside 1", "begin 2", "end 2", "on 1", "end 1"]
    assert [event.reason for event in talk.of(TurnFinished)] == ["stopped", "done"]


@pytest.mark.parametrize("way", ["continued", "left for something new"])
@pytest.mark.parametrize("died", ["while it was set aside", "in the interrupt", "before the interrupt began"])
def test_what_was_set_aside_survives_the_end_of_the_process(tmp_path: Path, died: str, way: str) -> None:
    house = House(tmp_path)
    count = call("run_command", command="echo x >> count")

    async def story() -> Talk:
        kernel = house.kernel(step("", count), SLOW, step("urgent"), step("never"))
        talk = await house.open(kernel)
        interrupting = once(TextDelta, lambda session, _: session.send(urgent("fire!")), "two")

        def react(session: Session, event: Event) -> None:
            answering("once")(session, event)
            interrupting(session, event)

        await talk.say("count", react)
        await kernel.close()
        return talk

    path = Path(run(story()).session.path)
    lines = path.read_bytes().splitlines(keepends=True)
    marks = {
        "while it was set aside": b'"turn_finished"',
        "in the interrupt": b'"input":"fire!"',
        "before the interrupt began": b'"turn_suspended"',
    }
    cut = next(place for place, one in enumerate(lines) if marks[died] in one) + 1
    path.write_bytes(b"".join(lines[:cut]))
    session = path.stem.rsplit("-", 1)[-1]

    async def again() -> Talk:
        kernel = house.kernel(step("one more"), step("two more"), step("three more"))
        [row] = kernel.sessions()
        assert row.state == "interrupted"
        talk = await house.open(kernel, session=session)
        assert talk.session.interrupted
        turns = {"before the interrupt began": 1}.get(died, 2)
        if way == "continued":
            talk.session.resume("test")
        else:
            talk.send("something new", client_id="new")
            turns += 1
        await until_ended(talk, turns, answering("once"))
        await kernel.close()
        return talk

    talk = run(again())

    turns = len(talk.of(TurnStarted))
    checked(house, talk, turns)
    reasons = [event.reason for event in talk.of(TurnFinished)]
    assert reasons.count("stopped") == (
        0 if way == "continued" else turns - 1 - (died == "while it was set aside")
    )
    assert (house.work / "count").read_text() == "x\n"


def test_closing_ends_what_was_set_aside_and_tells_what_waited(tmp_path: Path) -> None:
    house = House(tmp_path)

    async def story() -> Talk:
        kernel = house.kernel(SLOW, step("b " * 100, delay=0.05))
        talk = await house.open(kernel)

        def react(session: Session, event: Event) -> None:
            if isinstance(event, TextDelta) and "two" in event.text and not session.queued():
                session.send(urgent("fire!"))

        talk.send("plan")
        listening = asyncio.create_task(until_ended(talk, 2, react))
        while len(talk.of(TurnStarted)) < 2:
            await asyncio.sleep(0.01)
        talk.send("queued", client_id="queued")
        await kernel.close()
        await listening
        return talk

    talk = run(story())

    events = [*talk.heard]
    assert [event.reason for event in of_type(events, TurnFinished)] == ["terminated", "terminated"]
    assert not talk.conversation.unfinished


def test_what_waited_or_was_taken_back_has_its_terminal_event(tmp_path: Path) -> None:
    house = House(tmp_path)

    async def story() -> list[InputDropped]:
        kernel = house.kernel(SLOW)
        talk = await house.open(kernel)
        heard: list[InputDropped] = []

        async def listen() -> None:
            async for event in talk.session.events():
                if isinstance(event, InputDropped):
                    heard.append(event)

        listening = asyncio.create_task(listen())
        for name in ("a", "b", "c"):
            talk.send(name, client_id=name)
        talk.session.drop(1)
        await talk.ended(until=TextDelta)
        await kernel.close()
        await listening
        return heard

    assert [(event.client_id, event.reason) for event in run(story())] == [
        ("b", "taken_back"),
        ("c", "closed"),
    ]


def test_a_level_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    house = House(tmp_path)

    async def story() -> None:
        kernel = house.kernel(step("a"))
        talk = await house.open(kernel)
        with pytest.raises(UsageError):
            talk.session.send(Send("x", "x", level=5))
        await kernel.close()

    run(story())


def test_one_that_was_just_resumed_is_safe_for_two_seconds(tmp_path: Path) -> None:
    house = House(tmp_path)
    clock = FixedClock()
    waits: list[float] = []
    slept = asyncio.Event()

    class Slow(FixedClock):
        async def sleep(self, seconds: float) -> None:
            waits.append(seconds)
            await slept.wait()
            self.move(seconds)

    clock = Slow()

    async def story() -> list[str]:
        environment = house.environment(SLOW, step("first"), SLOW, step("second"), step("the end"))
        base, settings = home(environment)._replace(clock=clock), load(environment)
        opening = Opening(base.files.new_path("s1"), "s1", str(house.work))
        runner: Runner = open_session(base, settings, model_of(base, settings), opening)
        runner.submit(Input("plan", "plan", "test", "owner", 1))
        told: list[str] = []
        resumed = False
        async for event in runner.events(0):
            if event.type.startswith("turn"):
                told.append(f"{event.type} {event.turn}")
            resumed = resumed or isinstance(event, TurnResumed)
            if isinstance(event, TextDelta) and "two" in event.text:
                runner.submit(
                    Input("again" if resumed else "x", "again" if resumed else "x", "t", "owner", 4, True)
                )
                assert (runner.turn is not None and not runner.turn.cancel.suspended_by) == resumed
                slept.set()
            if isinstance(event, TurnFinished) and event.turn == 1:
                break
        await runner.close()
        return told

    told = run(story())

    assert waits == [2.0]
    assert told.count("turn_suspended 1") == 2
