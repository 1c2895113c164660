"""Plugins that are killed during a task: the task goes on, and what happened is told to all."""

import os
import signal
from pathlib import Path

import pytest

from limnos.frontends.cli.plugin_lines import plugin_line
from limnos.kernel.events import CallFinished, CallProgress, Event, PluginChanged, TurnFinished
from limnos.service.client import Session
from tests.service.house import House, Talk, answering, call, run, step


def pid_of(plugin: str) -> int:
    """The process of a built-in plugin, which this one started."""
    tasks = Path("/proc/self/task").iterdir()
    started = [int(pid) for task in tasks for pid in (task / "children").read_text().split()]
    wanted = f"limnos.builtin.{plugin}".encode()
    return next(pid for pid in started if wanted in Path(f"/proc/{pid}/cmdline").read_bytes())


def test_a_plugin_killed_during_a_call_fails_that_call_and_no_other(tmp_path: Path) -> None:
    house = House(tmp_path)
    (house.work / "a.txt").write_text("hello\n")
    wait = call("run_command", command="echo begun; sleep 1000")

    async def story() -> Talk:
        talk = await house.open(
            house.kernel(step("", wait), step("", call("read_file", path="a.txt")), step("on"))
        )

        def react(session: Session, event: Event) -> None:
            answering("once")(session, event)
            if isinstance(event, CallProgress):
                os.kill(pid_of("shell"), signal.SIGKILL)

        await talk.say("do it", react)
        return talk

    talk = run(story())
    first, second = talk.of(CallFinished)

    assert first.error is not None
    assert first.error["reason"] == "unavailable"
    assert "the plugin shell ended during this call" in first.error["detail"]
    assert (second.outcome, second.text) == ("done", "hello\n")
    assert [one.reason for one in talk.of(TurnFinished)] == ["done"]
    assert next(plugin_line(one) for one in talk.of(PluginChanged)).startswith("the plugin shell crashed")
    assert house.divergence(talk) is None


@pytest.mark.parametrize(
    ("plugin", "asked"),
    [
        ("files", call("list_dir")),
        ("search", call("find_files", pattern="*.txt")),
        ("shell", call("run_command", command="true")),
    ],
)
def test_a_plugin_killed_between_calls_is_said_to_be_down(
    tmp_path: Path, plugin: str, asked: dict[str, object]
) -> None:
    house = House(tmp_path)

    async def story() -> Talk:
        talk = await house.open(house.kernel(step("", asked), step("", asked), step("on")))

        def react(session: Session, event: Event) -> None:
            answering("once")(session, event)
            if isinstance(event, CallFinished) and event.outcome == "done":
                os.kill(pid_of(plugin), signal.SIGKILL)

        await talk.say("do it twice", react)
        return talk

    talk = run(story())
    first, second = talk.of(CallFinished)

    assert first.outcome == "done"
    assert second.error is not None
    assert second.error["reason"] == "unavailable"
    assert [one.reason for one in talk.of(TurnFinished)] == ["done"]
