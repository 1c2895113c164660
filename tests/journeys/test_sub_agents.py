"""Work that is shared out: whole sessions with sub-agents, seen through terminal and kernel."""

import os
import signal
from pathlib import Path
from typing import Any

from limnos.frontends.cli.accessible import Speaker
from limnos.frontends.cli.transcript import Transcript
from limnos.kernel.events import (
    AgentFinished,
    CallFinished,
    CallProgress,
    Event,
    TurnFinished,
)
from limnos.service.client import Session
from limnos.store.audit import read_history
from tests.frontends.cli.support import look, text
from tests.journeys.test_plugins_die import pid_of
from tests.service.house import House, Talk, answering, call, of_type, run, step
from tests.soak.kernel.test_kills import nobody_in


def spawn(task: str, **more: Any) -> dict[str, Any]:
    return call("spawn_agent", task=task, **more)


def shared_out(house: House) -> Talk:
    """Two read a file each, side by side; one of them writes what it found."""
    for name in ("a", "b"):
        (house.work / f"{name}.txt").write_text(f"{name} is here\n")

    async def story() -> Talk:
        talk = await house.open(
            house.kernel(
                step("", spawn("read a.txt", role="reader"), spawn("copy b.txt", role="copier")),
                step("", call("read_file", path="a.txt"), to="read a.txt"),
                step("a.txt says: a is here", to="read a.txt", expect=["a is here"]),
                step("", call("read_file", path="b.txt"), call("list_dir"), to="copy b.txt"),
                step("", call("write_file", path="c.txt", content="b is here\n"), to="copy b.txt"),
                step("copied to c.txt", to="copy b.txt"),
                step("Both are done.", expect=["a.txt says: a is here", "copied to c.txt"]),
            )
        )
        await talk.say("share it out", answering("once"))
        return talk

    return run(story())


def test_work_is_shared_out_and_comes_back(tmp_path: Path) -> None:
    house = House(tmp_path)
    talk = shared_out(house)

    assert (house.work / "c.txt").read_text() == "b is here\n"
    assert [event.reason for event in talk.of(TurnFinished)] == ["done"]
    assert house.divergence(talk) is None


def test_the_terminal_shows_a_line_for_each_step_of_a_sub_agent(tmp_path: Path) -> None:
    talk = shared_out(House(tmp_path))
    transcript = Transcript(look())

    rows = text([row for event in talk.heard for row in transcript.apply(event)])

    assert [row for row in rows if row.startswith("  ↳ 1")] == ["  ↳ 1 reader: read_file a.txt"]
    assert [row for row in rows if row.startswith("  ↳ 2")] == [
        "  ↳ 2 copier: read_file b.txt, and 1 more",
        "  ↳ 2 copier: write_file c.txt",
    ]
    assert rows[-1] == "  Both are done."
    assert transcript.answer == "Both are done."


def test_accessible_mode_says_when_a_sub_agent_begins_and_ends(tmp_path: Path) -> None:
    talk = shared_out(House(tmp_path))
    speaker = Speaker()

    rows = [row for event in talk.heard for row in speaker.lines(event)]

    told = [row for row in rows if row.startswith("sub-agent 1")]
    assert told[0] == "sub-agent 1 reader begins: read a.txt."
    assert told[1].startswith("sub-agent 1 reader ends: done after 2 steps, 1 call, ")
    assert len(told) == 2
    assert any("asked by sub-agent 2, copier" in row for row in rows)


def test_a_plugin_killed_under_a_sub_agent_fails_that_call_and_no_other(tmp_path: Path) -> None:
    house = House(tmp_path)
    (house.work / "a.txt").write_text("hello\n")

    async def story() -> Talk:
        talk = await house.open(
            house.kernel(
                step("", spawn("wait"), spawn("read on")),
                step("", call("run_command", command="echo begun; sleep 1000"), to="wait"),
                step("It died.", to="wait", expect=["the plugin shell ended during this call"]),
                step("", call("read_file", path="a.txt"), to="read on"),
                step("It says hello.", to="read on", expect=["hello"]),
                step("One died."),
            )
        )

        def react(session: Session, event: Event) -> None:
            answering("once")(session, event)
            if isinstance(event, CallProgress):
                os.kill(pid_of("shell"), signal.SIGKILL)

        await talk.say("do it", react)
        return talk

    talk = run(story())

    outcomes = {event.tool: event.outcome for event in talk.of(CallFinished) if event.agent}
    assert outcomes == {"run_command": "failed", "read_file": "done"}
    assert [event.reason for event in talk.of(AgentFinished)] == ["done", "done"]
    assert [event.reason for event in talk.of(TurnFinished)] == ["done"]
    assert house.divergence(talk) is None


def test_closing_the_kernel_leaves_no_process_of_a_sub_agent_and_no_call_without_a_result(
    tmp_path: Path,
) -> None:
    house = House(tmp_path)

    async def story() -> Talk:
        kernel = house.kernel(
            step("", spawn("wait")),
            step("", call("run_command", command="echo begun; sleep 1000"), to="wait"),
        )
        talk = await house.open(kernel)
        await talk.say("do it", answering("once"), until=CallProgress)
        assert not nobody_in(house.work, 0)
        await kernel.close()
        return talk

    talk = run(story())
    events = read_history(Path(talk.session.path)).events

    assert nobody_in(house.work)
    assert [event.outcome for event in of_type(events, CallFinished)] == ["cancelled", "cancelled"]
    assert [event.reason for event in of_type(events, AgentFinished)] == ["terminated"]
    assert [event.reason for event in of_type(events, TurnFinished)] == ["terminated"]
    assert house.divergence(talk) is None
