"""A kernel in a daemon, through the same door: everything that one in the process does, over a socket."""

import asyncio
from pathlib import Path

import pytest

from limnos.kernel.errors import LimitError, SettingsError, UsageError
from limnos.kernel.events import (
    ApprovalAnswered,
    ApprovalAsked,
    CallProposed,
    Event,
    InputInjected,
    TextDelta,
    TurnFinished,
    TurnResumed,
    TurnStarted,
    TurnSuspended,
)
from limnos.kernel.seams import Answer
from limnos.service.client import OpenRequest, Send, Session
from limnos.service.place import MOST_PATH
from limnos.service.remote import remote_kernel
from limnos.store.audit import read_history
from limnos.wire.frames import Notification
from tests.service.daemons import daemon_of, opened, raw
from tests.service.house import House, Talk, answering, call, of_type, run, step
from tests.store.disks import full_disk

WRITE = call("write_file", path="a.txt", content="x")


def test_without_a_daemon_there_is_no_remote_kernel(tmp_path: Path) -> None:
    house = House(tmp_path)
    assert remote_kernel(house.home, {}) is None
    (house.home / "run").mkdir()
    (house.home / "run" / "socket").write_text("left behind")
    assert remote_kernel(house.home, {}) is None


def test_a_turn_with_a_question_goes_over_the_socket_as_it_does_in_the_process(tmp_path: Path) -> None:
    house = House(tmp_path)

    with daemon_of(house, step("I write.", WRITE), step("done now")) as running:

        async def story() -> Talk:
            kernel = running.kernel()
            talk = await house.open(kernel)
            assert (await talk.say("write it", answering("once"))).reason == "done"
            assert list(await talk.session.history()) == [event for event in talk.heard if event.persisted]
            assert not talk.session.interrupted
            assert talk.session.last_seq == talk.heard[-1].seq
            assert "write it" in kernel.export(talk.session.id, "markdown")
            assert [row.id for row in kernel.sessions()] == [talk.session.id]
            newest = kernel.newest_in(str(house.work))
            assert newest is not None
            assert newest.id == talk.session.id
            assert kernel.path(talk.session.id) == talk.session.path
            kernel.rename(talk.session.id, "a title")
            undone = await talk.session.undo()
            assert undone is not None
            assert undone.removed
            fork = kernel.fork(talk.session.id)
            assert fork != talk.session.id
            await talk.session.close()
            await kernel.close()
            return talk

        talk = run(story())

    assert not (house.work / "a.txt").exists()
    assert talk.of(TextDelta)
    assert house.divergence(talk) is None


def test_errors_come_as_what_they_are(tmp_path: Path) -> None:
    house = House(tmp_path)

    with daemon_of(house, step("one two three four", delay=0.05)) as running:

        async def story() -> None:
            kernel = running.kernel()
            for how, kind in (
                (OpenRequest("s00000"), UsageError),
                (OpenRequest(cwd="/nowhere/at/all"), UsageError),
                (OpenRequest(cwd=str(house.work), mode="maybe"), SettingsError),
            ):
                with pytest.raises(kind) as caught:
                    await kernel.open(how)
                assert caught.value.fix
            talk = await house.open(kernel)
            for n in range(256):
                talk.send(f"{n}")
            talk.send("the first runs")
            with pytest.raises(LimitError):
                talk.send("too many")
            assert talk.session.drop(0) is not None
            assert talk.session.drop(1000) is None
            assert len(talk.session.queued()) >= 254
            with pytest.raises(UsageError):
                await talk.session.stop_job("none")
            assert talk.session.jobs() == []
            await kernel.close()

        run(story())


def test_interrupts_and_injected_inputs_go_over_the_socket(tmp_path: Path) -> None:
    house = House(tmp_path)
    slow = step("one two three four", delay=0.02)

    with daemon_of(house, slow, step("urgent"), step("and on")) as running:

        async def story() -> Talk:
            kernel = running.kernel()
            talk = await house.open(kernel)
            sent: list[int] = []

            def react(session: Session, event: Event) -> None:
                if isinstance(event, TextDelta) and not sent:
                    sent.append(1)
                    session.inject(Send("and this", "i", "test"))
                    session.send(Send("fire!", "f", "test", level=4, interrupt=True))

            await talk.say("plan", react)
            await talk.ended(react)
            await kernel.close()
            return talk

        talk = run(story())

    assert len(talk.of(TurnSuspended)) == len(talk.of(TurnResumed)) == len(talk.of(InputInjected)) == 1
    assert {event.principal for event in talk.of(TurnStarted)} == {"owner"}


def test_a_client_that_lost_its_connection_misses_nothing_and_hears_nothing_twice(tmp_path: Path) -> None:
    house = House(tmp_path)
    steps = [step(f"reply {n} with words", call("now"), delay=0.002) for n in range(8)]

    with daemon_of(house, *steps, step("the end")) as running:

        async def story() -> Talk:
            kernel = running.kernel()
            talk = await house.open(kernel)
            cut: list[int] = []

            def react(session: Session, event: Event) -> None:
                if isinstance(event, CallProposed):
                    cut.append(event.seq)
                    running.hang_up()

            await talk.say("go", react)
            assert len(cut) == 8
            await kernel.close()
            return talk

        talk = run(story())

    numbers = [event.seq for event in talk.heard]
    assert numbers == sorted(set(numbers))
    written = [event.seq for event in read_history(Path(talk.session.path)).events]
    heard = [event.seq for event in talk.heard if event.persisted]
    assert heard == [number for number in written if number <= numbers[-1]]


def test_a_reader_that_is_too_slow_is_told_and_catches_up_from_the_disk(tmp_path: Path) -> None:
    house = House(tmp_path)
    words = " ".join(f"{n}" for n in range(30_000))

    with daemon_of(house, step(words), step("second")) as running, raw(running) as slow:
        session = opened(slow, house.work)
        subscription = slow.result("session.events", session=session, after=0)
        with raw(running) as other:
            other.result("session.send", session=session, text="go", client_id="g")
            other.result("session.events", session=session, after=0)
            while True:
                frame = other.read()
                event = getattr(frame, "params", {}).get("event", {})
                if event.get("type") == "turn_finished" or getattr(frame, "method", "") == "events.end":
                    break
        last, ends = 0, None
        while ends is None:
            frame = slow.read()
            assert frame is not None
            told = getattr(frame, "params", {})
            if getattr(frame, "method", "") == "events.end":
                ends = told
            else:
                assert told["event"]["seq"] > last
                last = told["event"]["seq"]
        assert ends == {"subscription": subscription, "reason": "resync"}

        async def story() -> Talk:
            kernel = running.kernel()
            talk = await house.open(kernel, session=session)
            await talk.say("again", client_id="again")
            await kernel.close()
            return talk

        talk = run(story())

    assert [event.input for event in talk.of(TurnStarted)] == ["go", "again"]


def test_the_end_of_a_turn_that_a_full_disk_refused_is_told_to_who_subscribes_after_it(
    tmp_path: Path,
) -> None:
    with full_disk(tmp_path / "disk") as disk:
        house = House(disk.folder)
        with daemon_of(house, step("answer")) as running, raw(running) as person:
            session = opened(person, house.work)
            state = person.result("session.state", session=session)
            with disk.filled(Path(state["path"]).stat().st_size):
                person.result("session.send", session=session, text="x" * 5000, client_id="1")
                person.result("session.state", session=session)
                person.result("session.events", session=session, after=state["last_seq"])
                frame = person.read()
            assert isinstance(frame, Notification)
            assert frame.params["event"]["type"] == "turn_finished"
            assert "full" in frame.params["event"]["message"]


def test_several_clients_are_in_one_session_and_the_last_one_out_closes_it(tmp_path: Path) -> None:
    house = House(tmp_path)

    with daemon_of(house, step("", WRITE), step("ok")) as running:

        async def story() -> None:
            first, second = running.kernel(), running.kernel()
            talk = await house.open(first)
            other = Talk(await second.open(OpenRequest(talk.session.id)))
            talk.send("go")
            asked = await other.ended(until=ApprovalAsked)
            await talk.ended(until=ApprovalAsked)
            assert talk.session.answer(asked.approval, Answer("once", source="first"))
            assert not other.session.answer(asked.approval, Answer("no", source="second"))
            await other.ended()
            state = first.daemon()
            assert state is not None
            assert state.sessions == 1
            await talk.session.close()
            assert (await other.session.history())[-1].type == "turn_finished"
            await other.session.close()
            state = first.daemon()
            assert state is not None
            assert state.sessions == 0
            assert [event.source for event in other.of(ApprovalAnswered)] == ["first"]
            await first.close()
            await second.close()

        run(story())


def test_a_turn_goes_on_when_its_client_leaves_and_can_be_watched_again(tmp_path: Path) -> None:
    house = House(tmp_path)

    with daemon_of(house, step("one two three four five six", delay=0.05)) as running:

        async def story() -> Talk:
            kernel = running.kernel()
            talk = await house.open(kernel)
            talk.send("go")
            await talk.ended(until=TextDelta)
            await talk.session.close()
            await kernel.close()
            again = running.kernel()
            session = await again.open(OpenRequest(talk.session.id))
            settled = await session.history(settled=True)
            assert not of_type(settled, TurnStarted)
            later = Talk(session, list(settled))
            assert (await later.ended()).reason == "done"
            await again.close()
            return later

        talk = run(story())

    assert [event.input for event in talk.of(TurnStarted)] == ["go"]


def test_what_is_larger_than_a_frame_comes_whole(tmp_path: Path) -> None:
    house = House(tmp_path)
    content = "x" * 999_930
    write = call("write_file", path="a.txt", content=content)

    with daemon_of(house, step("", write), step("ok"), context_tokens=10_000_000) as running:

        async def story() -> Talk:
            kernel = running.kernel()
            talk = await house.open(kernel, mode="yolo")
            assert (await talk.say("go")).reason == "done"
            assert list(await talk.session.history()) == [event for event in talk.heard if event.persisted]
            assert len(kernel.export(talk.session.id, "openai")) > len(content)
            await kernel.close()
            return talk

        talk = run(story())

    [proposed] = talk.of(CallProposed)
    assert proposed.arguments == {"path": "a.txt", "content": content}


def test_a_home_with_a_long_name_has_a_daemon_too(tmp_path: Path) -> None:
    house = House(tmp_path / ("n" * 100) / ("m" * 100))
    assert len(str(house.home)) > MOST_PATH

    with daemon_of(house, step("hello")) as running:

        async def story() -> None:
            kernel = running.kernel()
            talk = await house.open(kernel)
            assert (await talk.say("hi")).reason == "done"
            await kernel.close()

        run(story())


def test_a_daemon_that_ends_terminates_its_turns_and_tells_its_clients(tmp_path: Path) -> None:
    house = House(tmp_path)

    with daemon_of(house, step("one two three four five six", delay=0.1)) as running:

        async def story() -> TurnFinished:
            kernel = running.kernel()
            talk = await house.open(kernel)
            talk.send("go")
            listening = asyncio.create_task(talk.ended())
            while not talk.of(TextDelta):
                await asyncio.sleep(0.01)
            await asyncio.to_thread(running.end)
            ended = await listening
            await kernel.close()
            return ended

        assert run(story()).reason == "terminated"
    assert not list((house.home / "run").glob("socket"))
