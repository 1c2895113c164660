"""Stops, crashes, full disks and forks in the middle of a turn, and how the person goes on."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

from limnos.kernel.events import (
    CallFinished,
    CallProgress,
    CallStarted,
    Event,
    SessionStarted,
    StepFinished,
    TextDelta,
    TurnFinished,
    TurnResumed,
    TurnStarted,
)
from limnos.kernel.pairing import check_pairing
from limnos.service.client import Session
from tests.architecture.source import ROOT
from tests.processes import ends, sleep_of_its_own
from tests.service.house import House, Talk, answering, call, is_gone, of_type, run, step
from tests.store.disks import full_disk

SLOW = step("one two three four five six", delay=0.05)
CRASH = """
import asyncio, os, signal, sys
from pathlib import Path
from tests.processes import ends, sleep_of_its_own
from tests.service.house import House, answering, call, step
from limnos.kernel.events import CallProgress, TextDelta

async def main():
    house = House(Path(sys.argv[1]))
    kernel = house.kernel(
        step("I begin.", call("run_command", command="echo ran >> effects; echo said; sleep 30")),
        step("never"),
    )
    talk = await house.open(kernel)
    def react(session, event):
        answering("once")(session, event)
        if isinstance(event, CallProgress) and "said" in event.text:
            os.kill(os.getpid(), signal.SIGKILL)
    await talk.say("do it", react)

asyncio.run(main())
"""


def valid(talk: Talk) -> bool:
    messages = [message for unit in talk.conversation.units for message in unit.messages()]
    return check_pairing(messages).valid


def crashed(house: House) -> str:
    """Let a process die in the middle of a command; returns the session."""
    died = subprocess.run([sys.executable, "-c", CRASH, str(house.root)], cwd=ROOT, timeout=60, check=False)
    assert died.returncode == -signal.SIGKILL
    (log,) = (house.home / "personas").rglob("*.jsonl")
    return log.stem.rsplit("-", 1)[-1]


def test_a_stop_in_mid_stream_keeps_what_was_said_and_the_next_message_works(tmp_path: Path) -> None:
    house = House(tmp_path)

    async def story() -> Talk:
        kernel = house.kernel(SLOW, step("Here I am again.", expect=["one two"]))
        talk = await house.open(kernel)

        def stop_at_two(session: Session, event: Event) -> None:
            if isinstance(event, TextDelta) and "two" in event.text:
                session.stop()

        end = await talk.say("count", stop_at_two)
        assert (end.reason, end.exit) == ("stopped", 130)
        assert (await talk.say("and now?")).reason == "done"
        await kernel.close()
        return talk

    talk = run(story())

    stopped = talk.of(StepFinished)[0]
    assert stopped.text == "one two\n[stopped by you after step 1]"
    assert valid(talk)
    assert house.divergence(talk) is None


def test_a_stop_kills_the_command_that_runs_and_its_children(tmp_path: Path) -> None:
    house = House(tmp_path)
    sleep = sleep_of_its_own()
    command = f"{sleep} & echo ready; wait"

    async def story() -> Talk:
        kernel = house.kernel(step("", call("run_command", command=command)), step("ok"), grace_seconds=1)
        talk = await house.open(kernel)

        def stop_when_ready(session: Session, event: Event) -> None:
            answering("once")(session, event)
            if isinstance(event, CallProgress) and "ready" in event.text:
                session.stop()

        await talk.say("run it", stop_when_ready)
        await kernel.close()
        return talk

    talk = run(story())

    assert [event.outcome for event in talk.of(CallFinished)] == ["cancelled"]
    assert ends(sleep)
    assert valid(talk)
    assert house.divergence(talk) is None


def test_after_a_crash_the_turn_is_continued_and_nothing_runs_twice(tmp_path: Path) -> None:
    house = House(tmp_path)
    session = crashed(house)

    async def story() -> Talk:
        kernel = house.kernel(step("It may have run.", expect=["outcome is unknown", "do it"]))
        assert [row.state for row in kernel.sessions()] == ["interrupted"]
        talk = await house.open(kernel, session=session)
        assert talk.session.interrupted
        talk.session.resume("test")
        assert (await talk.ended()).reason == "done"
        assert not talk.session.interrupted
        assert [row.state for row in kernel.sessions()] == ["done"]
        await kernel.close()
        return talk

    talk = run(story())

    assert (house.work / "effects").read_text() == "ran\n"
    assert [event.outcome for event in talk.of(CallFinished)] == ["unknown"]
    assert talk.of(TurnResumed)[0].unknown == [talk.of(CallStarted)[0].call]
    assert valid(talk)
    assert house.divergence(talk) is None


def test_after_a_crash_a_new_message_ends_the_old_turn_first(tmp_path: Path) -> None:
    house = House(tmp_path)
    session = crashed(house)

    async def story() -> Talk:
        kernel = house.kernel(step("Leave it then.", expect=["outcome is unknown", "never mind"]))
        talk = await house.open(kernel, session=session)
        assert (await talk.say("never mind", client_id="after")).reason == "stopped"
        assert (await talk.ended()).reason == "done"
        await kernel.close()
        return talk

    talk = run(story())

    assert [event.reason for event in talk.of(TurnFinished)] == ["stopped", "done"]
    assert (house.work / "effects").read_text() == "ran\n"
    assert valid(talk)
    assert house.divergence(talk) is None


def test_a_crash_in_the_same_second_leaves_no_process_behind(tmp_path: Path) -> None:
    house = House(tmp_path)
    crashed(house)
    mine = [
        path.parent.name
        for path in Path("/proc").glob("[0-9]*/cwd")
        if _target(path) == str(house.work) and not is_gone(int(path.parent.name))
    ]

    assert mine == []


def _target(link: Path) -> str:
    try:
        return os.readlink(link)
    except OSError:
        return ""


def test_a_full_disk_in_mid_turn_fails_with_the_fix_and_the_turn_goes_on_later(tmp_path: Path) -> None:
    with full_disk(tmp_path / "disk") as disk:
        house = House(disk.folder / "house")

        async def story() -> Talk:
            kernel = house.kernel(
                step("x" * 9000, call("now")),
                step("x" * 9000, call("now", zone="Asia/Tokyo")),
                step("Whole again."),
            )
            talk = await house.open(kernel)
            size = Path(talk.session.path).stat().st_size
            with disk.filled(size + 6000):
                end = await talk.say("what time is it?")
                assert (end.reason, end.exit) == ("failed", 1)
                assert end.message
                assert "/continue" in end.fix
                assert talk.session.interrupted
            talk.session.resume("test")
            assert (await talk.ended()).reason == "done"
            await kernel.close()
            return talk

        talk = run(story())

        seqs = [event.seq for event in talk.heard]
        assert seqs == sorted(set(seqs))
        assert valid(talk)
        assert house.divergence(talk) is None


def test_a_message_that_met_a_full_disk_is_told_and_answered_before_the_next_one(tmp_path: Path) -> None:
    with full_disk(tmp_path / "disk") as disk:
        house = House(disk.folder / "house")

        async def story() -> None:
            kernel = house.kernel(step("Here."), step("And here."))
            talk = await house.open(kernel)
            size = Path(talk.session.path).stat().st_size
            with disk.filled(size):
                end = await talk.say("x" * 10_000)
                assert end.reason == "failed"
                assert end.fix
            assert (await talk.say("now?")).reason == "done"
            assert (await talk.ended()).reason == "done"
            assert [event.input for event in talk.of(TurnStarted)] == ["x" * 10_000, "now?"]
            await kernel.close()

        run(story())


def test_a_fork_goes_its_own_way_and_the_first_session_too(tmp_path: Path) -> None:
    house = House(tmp_path)

    async def story() -> tuple[Talk, Talk]:
        kernel = house.kernel(
            step("First answer."),
            step("", call("now")),
            step("Second answer."),
            step("In the fork.", expect=["First answer.", "what about tea?"]),
            step("In the first.", expect=["Second answer."]),
        )
        first = await house.open(kernel)
        await first.say("one")
        border = first.heard[-1].seq
        await first.say("two")
        fork = await house.open(kernel, session=kernel.fork(first.session.id, border))
        await fork.say("what about tea?", client_id="fork")
        await first.say("three")
        await kernel.close()
        return first, fork

    first, fork = run(story())

    started = of_type(fork.heard, SessionStarted)[0]
    assert started.forked_from == f"{first.session.id}#{first.of(TurnFinished)[0].seq}"
    assert {event.session for event in fork.heard} == {fork.session.id}
    assert [event.text for event in fork.of(StepFinished)] == ["First answer.", "In the fork."]
    assert first.of(StepFinished)[-1].text == "In the first."
    assert house.divergence(first) is None
    assert house.divergence(fork) is None


def test_a_fork_inside_a_turn_ends_that_turn_and_can_be_replayed(tmp_path: Path) -> None:
    house = House(tmp_path)

    async def story() -> Talk:
        kernel = house.kernel(
            step("a", call("now")), step("b", call("now", zone="Asia/Tokyo")), step("c"), step("Here."),
        )  # fmt: skip
        first = await house.open(kernel)
        await first.say("one")
        inside = first.of(StepFinished)[0].seq
        fork = await house.open(kernel, session=kernel.fork(first.session.id, inside))
        await fork.say("two", client_id="fork")
        await kernel.close()
        return fork

    fork = run(story())

    assert [event.reason for event in fork.of(TurnFinished)] == ["stopped", "done"]
    assert valid(fork)
    assert house.divergence(fork) is None


def test_closing_while_a_question_is_open_ends_the_turn_as_terminated(tmp_path: Path) -> None:
    house = House(tmp_path)

    async def story() -> Talk:
        kernel = house.kernel(step("", call("run_command", command="echo never > never")))
        talk = await house.open(kernel)
        asked = asyncio.Event()

        def note(session: Session, event: Event) -> None:
            if event.type == "approval_asked":
                asked.set()

        listening = asyncio.create_task(talk.say("do it", note))
        await asked.wait()
        await kernel.close()
        end = await listening
        assert (end.reason, end.message) == ("terminated", "terminated after step 1")
        return talk

    talk = run(story())

    assert not (house.work / "never").exists()
    assert talk.of(TurnFinished)[0].exit == 143
    assert valid(talk)
    assert house.divergence(talk) is None
