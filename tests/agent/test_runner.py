"""One open session: its queue, its questions, its listeners, who may do what, and how it ends."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from limnos.kernel.errors import LimitError, UsageError
from limnos.kernel.events import (
    ApprovalAnswered,
    ApprovalAsked,
    CallFinished,
    CallStarted,
    Event,
    InputInjected,
    TextDelta,
    TurnFinished,
    TurnResumed,
    TurnStarted,
)
from limnos.kernel.seams import Answer
from limnos.service.client import Send, Session
from tests.service.house import House, React, Talk, answering, call, run, silent, step
from tests.store.disks import full_disk

LONG = step("one two three four", delay=0.02)
READ = call("read_file", path="a.txt")


def at_word(word: str, act: Callable[[Session], None]) -> React:
    """React once, when the model has said `word`."""
    done: list[bool] = []

    def react(session: Session, event: Event) -> None:
        if isinstance(event, TextDelta) and word in event.text and not done:
            done.append(True)
            act(session)

    return react


def test_inputs_are_answered_in_order_one_turn_at_a_time(tmp_path: Path) -> None:
    house = House(tmp_path)

    async def story() -> Talk:
        talk = await house.open(
            kernel := house.kernel(*(step(f"answer {n}", expect=[f"input {n}"]) for n in range(5)))
        )
        for n in range(5):
            talk.send(f"input {n}")
        for _ in range(5):
            await talk.ended()
        await kernel.close()
        return talk

    talk = run(story())

    assert [event.input for event in talk.of(TurnStarted)] == [f"input {n}" for n in range(5)]
    order = [event.type for event in talk.heard if event.type in ("turn_started", "turn_finished")]
    assert order == ["turn_started", "turn_finished"] * 5


def test_the_queue_has_a_bound_and_says_so(tmp_path: Path) -> None:
    house = House(tmp_path)

    async def story() -> None:
        kernel = house.kernel(LONG)
        talk = await house.open(kernel)
        for n in range(256):
            talk.send(f"{n}")
        with pytest.raises(LimitError) as caught:
            talk.send("one too many")
        assert "256" in caught.value.what
        assert caught.value.fix
        assert len(talk.session.queued()) == 256
        dropped = talk.session.drop(0)
        assert dropped is not None
        assert dropped.text == "0"
        assert talk.session.drop(400) is None
        assert talk.session.drop(-1) is None
        talk.send("now there is room")
        await kernel.close()

    run(story())


def test_a_repeated_message_id_is_answered_once_also_after_a_restart(tmp_path: Path) -> None:
    house = House(tmp_path)

    async def story() -> Talk:
        kernel = house.kernel(step("once"), step("second"))
        talk = await house.open(kernel)
        talk.send("hello", client_id="same")
        talk.send("hello", client_id="same")
        await talk.ended()
        talk.send("hello", client_id="same")
        await talk.say("hello", client_id="other")
        await kernel.close()
        kernel = house.kernel(step("third"))
        again = await house.open(kernel, session=talk.session.id)
        again.send("hello", client_id="same")
        await again.say("new", client_id="new")
        await kernel.close()
        return again

    talk = run(story())

    assert [event.client_id for event in talk.of(TurnStarted)] == ["same", "other", "new"]


def test_a_message_sent_at_the_very_end_of_a_turn_is_answered(tmp_path: Path) -> None:
    house = House(tmp_path)

    async def story() -> None:
        kernel = house.kernel(step("a"), step("b"), step("c"))
        talk = await house.open(kernel)

        def send_next(session: Session, event: Event) -> None:
            if isinstance(event, TurnFinished) and len(talk.of(TurnFinished)) < 3:
                talk.send(f"next {event.seq}")

        await talk.say("first", send_next)
        await talk.ended(send_next)
        assert (await talk.ended(send_next)).reason == "done"
        await kernel.close()

    run(story())


def test_a_stop_keeps_the_queue_and_the_next_input_goes_behind_it(tmp_path: Path) -> None:
    house = House(tmp_path)

    async def story() -> Talk:
        kernel = house.kernel(LONG, step("b"), step("c"))
        talk = await house.open(kernel)

        def queue_and_stop(session: Session) -> None:
            talk.send("second")
            session.stop()

        await talk.say("first", at_word("two", queue_and_stop))
        assert [message.text for message in talk.session.queued()] == ["second"]
        await talk.say("third")
        await talk.ended()
        await kernel.close()
        return talk

    talk = run(story())

    assert [event.input for event in talk.of(TurnStarted)] == ["first", "second", "third"]
    assert [event.reason for event in talk.of(TurnFinished)] == ["stopped", "done", "done"]


@pytest.mark.parametrize("way", ["send", "inject"])
def test_what_is_said_while_a_turn_is_being_stopped_is_answered(tmp_path: Path, way: str) -> None:
    house = House(tmp_path)

    async def story() -> Talk:
        kernel = house.kernel(LONG, step("b"), step("c"))
        talk = await house.open(kernel)

        def stop_and_correct(session: Session) -> None:
            talk.send("second")
            session.stop()
            getattr(session, way)(Send("no, this", "late", "test"))

        await talk.say("first", at_word("two", stop_and_correct))
        await talk.ended()
        await talk.ended()
        await kernel.close()
        return talk

    talk = run(story())

    assert sorted(event.input for event in talk.of(TurnStarted)) == ["first", "no, this", "second"]
    assert [event.reason for event in talk.of(TurnFinished)] == ["stopped", "done", "done"]


def test_an_input_that_a_full_disk_refused_still_waits_and_is_answered_when_there_is_room(
    tmp_path: Path,
) -> None:
    with full_disk(tmp_path / "disk") as disk:
        house = House(disk.folder)

        async def story() -> Talk:
            kernel = house.kernel(step("answer"))
            talk = await house.open(kernel)
            with disk.filled(Path(talk.session.path).stat().st_size):
                refused = await talk.say("x" * 5000)
                assert "full" in refused.message
                assert [message.text for message in talk.session.queued()] == ["x" * 5000]
            talk.heard.clear()
            talk.session.resume()
            await talk.ended(until=TurnStarted)
            await talk.ended()
            await kernel.close()
            return talk

        talk = run(story())

        assert [event.reason for event in talk.of(TurnFinished)] == ["done"]


@pytest.mark.parametrize("way", ["send", "inject"])
def test_an_input_beyond_all_bounds_is_refused_with_the_way_out(tmp_path: Path, way: str) -> None:
    house = House(tmp_path)

    async def story() -> None:
        kernel = house.kernel(LONG)
        talk = await house.open(kernel)
        talk.send("first")
        await talk.ended(until=TextDelta)
        with pytest.raises(UsageError) as caught:
            getattr(talk.session, way)(Send("x" * 1_000_001, "long", "test"))
        assert "file" in caught.value.fix
        for n in range(256):
            getattr(talk.session, way)(Send("more", f"n{n}", "test"))
        with pytest.raises(LimitError):
            getattr(talk.session, way)(Send("one too many", "more", "test"))
        await kernel.close()
        with pytest.raises(UsageError):
            getattr(talk.session, way)(Send("hello?", "closed", "test"))

    run(story())


def test_the_longest_input_comes_back_whole_at_the_next_opening(tmp_path: Path) -> None:
    house = House(tmp_path)
    text = "\n" * 1_000_000

    async def story() -> None:
        kernel = house.kernel(step("a"))
        talk = await house.open(kernel)
        await talk.say(text)
        await kernel.close()
        kernel = house.kernel(step("b"))
        again = await house.open(kernel, session=talk.session.id)
        assert [event.input for event in again.of(TurnStarted)] == [text]
        await kernel.close()

    run(story())


def test_an_injected_input_joins_the_running_turn(tmp_path: Path) -> None:
    house = House(tmp_path)

    async def story() -> Talk:
        kernel = house.kernel(LONG, step("Paris then.", expect=["one two three four", "make it Paris"]))
        talk = await house.open(kernel)
        await talk.say(
            "plan",
            at_word("two", lambda session: session.inject(Send("make it Paris", "x"))),
        )
        talk.session.inject(Send("make it Paris", "x"))
        assert talk.session.queued() == []
        await kernel.close()
        return talk

    talk = run(story())

    assert [event.input for event in talk.of(InputInjected)] == ["make it Paris"]
    assert len(talk.of(TurnStarted)) == len(talk.of(TurnFinished)) == 1
    assert house.divergence(talk) is None


def test_an_input_injected_too_late_begins_the_next_turn(tmp_path: Path) -> None:
    house = House(tmp_path)

    async def story() -> Talk:
        kernel = house.kernel(step("one two", delay=0.02), step("late one", expect=["late"]))
        talk = await house.open(kernel)

        def inject_and_stop(session: Session) -> None:
            session.inject(Send("late", "x"))
            session.stop()

        await talk.say("first", at_word("two", inject_and_stop))
        assert [message.text for message in talk.session.queued()] == ["late"]
        talk.session.inject(Send("late", "x"))
        assert len(talk.session.queued()) == 1
        await talk.say("again")
        await kernel.close()
        return talk

    talk = run(story())

    assert [event.input for event in talk.of(TurnStarted)] == ["first", "late"]


def test_without_a_running_turn_an_injected_input_begins_one(tmp_path: Path) -> None:
    house = House(tmp_path)

    async def story() -> None:
        kernel = house.kernel(step("hello"))
        talk = await house.open(kernel)
        talk.session.inject(Send("hi", "x"))
        assert (await talk.ended()).reason == "done"
        await kernel.close()

    run(story())


def test_a_question_is_answered_once_and_nothing_else_can_be_answered(tmp_path: Path) -> None:
    house = House(tmp_path)
    answers: list[bool] = []

    def twice(session: Session, event: Event) -> None:
        if isinstance(event, ApprovalAsked):
            answers.append(session.answer("none", Answer("once")))
            answers.append(session.answer(event.approval, Answer("once", source="a")))
            answers.append(session.answer(event.approval, Answer("no", source="b")))

    async def story() -> Talk:
        kernel = house.kernel(step("", call("write_file", path="a.txt", content="x")), step("ok"))
        talk = await house.open(kernel)
        await talk.say("write", twice)
        answers.append(talk.session.answer(talk.of(ApprovalAsked)[0].approval, Answer("once")))
        await kernel.close()
        return talk

    talk = run(story())

    assert answers == [False, True, False, False]
    assert [event.source for event in talk.of(ApprovalAnswered)] == ["a"]
    assert (house.work / "a.txt").read_text() == "x"


def test_two_listeners_hear_the_same_and_each_event_once(tmp_path: Path) -> None:
    house = House(tmp_path)

    async def listen(session: Session, after: int) -> list[Event]:
        heard: list[Event] = []
        async for event in session.events(after):
            heard.append(event)
            await asyncio.sleep(0)
        return heard

    async def story() -> list[list[Event]]:
        kernel = house.kernel(step("a b c", call("now")), step("d e f"), step("g"))
        talk = await house.open(kernel)
        listeners = [asyncio.create_task(listen(talk.session, 0)) for _ in range(2)]
        await talk.say("one")
        late = asyncio.create_task(listen(talk.session, 0))
        behind = asyncio.create_task(listen(talk.session, talk.heard[-1].seq))
        await talk.say("two")
        await kernel.close()
        return [await listener for listener in (*listeners, late, behind)]

    first, second, late, behind = run(story())

    assert first == second
    for heard in (first, late, behind):
        numbers = [event.seq for event in heard]
        assert numbers == sorted(set(numbers))
    persisted = [event for event in first if event.persisted]
    assert [event for event in late if event.persisted] == persisted
    assert [event for event in behind if event.persisted] == [e for e in persisted if e.seq >= behind[0].seq]


def test_a_listener_that_comes_after_the_close_gets_the_history_and_an_end(tmp_path: Path) -> None:
    house = House(tmp_path)

    async def story() -> None:
        kernel = house.kernel(step("a"))
        talk = await house.open(kernel)
        await talk.say("one")
        await kernel.close()
        await talk.session.close()
        kinds = [event.type async for event in talk.session.events()]
        assert kinds[-1] == "turn_finished"

    run(story())


def test_a_closed_session_takes_no_input(tmp_path: Path) -> None:
    house = House(tmp_path)

    async def story() -> None:
        kernel = house.kernel(step("a"))
        talk = await house.open(kernel)
        await kernel.close()
        with pytest.raises(UsageError) as caught:
            talk.send("hello?")
        assert talk.session.id in caught.value.fix

    run(story())


def test_closing_in_mid_turn_ends_it_within_the_grace_time_and_frees_the_session(tmp_path: Path) -> None:
    house = House(tmp_path)

    async def story() -> Talk:
        kernel = house.kernel(
            step("", call("run_command", command="trap '' TERM; echo go; sleep 100")), grace_seconds=0.3
        )
        talk = await house.open(kernel)
        started = asyncio.Event()

        def note(session: Session, event: Event) -> None:
            answering("once")(session, event)
            if event.type == "call_progress":
                started.set()

        listening = asyncio.create_task(talk.say("run", note))
        await started.wait()
        talk.send("queued")
        await kernel.close()
        assert (await listening).reason == "terminated"
        again = await house.open(kernel2 := house.kernel(step("b")), session=talk.session.id)
        assert not again.session.interrupted
        await kernel2.close()
        return talk

    talk = run(story())

    assert [event.outcome for event in talk.of(CallFinished)] == ["cancelled"]


@pytest.mark.parametrize("principal", ["guest", "guest:7", "member", "channel", "chat:42", "made up"])
def test_who_is_not_the_owner_does_not_reach_private_tools(tmp_path: Path, principal: str) -> None:
    house = House(tmp_path)
    (house.work / "a.txt").write_text("private")

    async def story() -> Talk:
        kernel = house.kernel(step("", READ), step("no"), mode="yolo")
        talk = await house.open(kernel)
        await talk.say("read it", principal=principal)
        await kernel.close()
        return talk

    talk = run(story())

    assert [event.outcome for event in talk.of(CallFinished)] == ["denied"]
    assert house.divergence(talk) is None


def test_a_guest_who_speaks_into_the_owners_turn_takes_its_rights_away_for_the_rest(tmp_path: Path) -> None:
    house = House(tmp_path)
    (house.work / "a.txt").write_text("private")

    async def story() -> Talk:
        kernel = house.kernel(
            step("one two", READ, delay=0.02),
            step("", call("read_file", path="a.txt", lines=1)),
            step("so"),
            step("", READ),
            step("yes"),
        )
        talk = await house.open(kernel)
        await talk.say(
            "read",
            at_word("two", lambda session: session.inject(Send("me too", "x", principal="guest"))),
        )
        await talk.say("mine again")
        await kernel.close()
        return talk

    talk = run(story())

    assert [event.outcome for event in talk.of(CallFinished)] == ["done", "denied", "done"]
    assert house.divergence(talk) is None


def test_continuing_a_guests_turn_does_not_make_it_the_owners(tmp_path: Path) -> None:
    house = House(tmp_path)
    (house.work / "a.txt").write_text("private")

    async def story() -> Talk:
        kernel = house.kernel(step("one two", call("now")), step("three four", delay=0.2))
        talk = await house.open(kernel)
        await talk.say("hi", silent, until=CallFinished, principal="guest:7")
        lines = Path(talk.session.path).read_bytes()
        await kernel.close()
        Path(talk.session.path).write_bytes(lines)  # as if the process had died here
        kernel = house.kernel(step("", READ), step("no"))
        again = await house.open(kernel, session=talk.session.id)
        again.session.resume("test")
        await again.ended()
        await kernel.close()
        return again

    talk = run(story())

    assert talk.of(TurnResumed)[0].principal == "guest:7"
    assert talk.of(CallFinished)[-1].outcome == "denied"
    assert len(talk.of(CallStarted)) == 1
    assert house.divergence(talk) is None
