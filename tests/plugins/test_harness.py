"""The harness for tests of plugins, and the plugin that `limnos plugins new` writes with a test in it."""

import asyncio
import gc
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from limnos.plugins.reading import read_manifest
from limnos.plugins.scaffold import scaffold
from limnos.sdk.harness import Harness, Progress, Surroundings, in_process, over_wire
from limnos.sdk.outcome import PASS, Answer, Deny, Rewrite
from limnos.sdk.peer import NoAnswerError
from limnos.sdk.plugin import Call, Output, Plugin, ToolFailure
from limnos.sdk.wire import RefusedError
from limnos.testing.plugins import run_conformance
from tests.plugins.hosting import descriptors

plugin = Plugin()
sent: list[tuple[str, str]] = []
closed: list[str] = []
over, ended = threading.Event(), threading.Event()


@plugin.tool
def repeat(call: Call, text: str, times: int = 1) -> Output:
    call.report("half", 0.5)
    plugin.log("repeated")
    return Output(text * times, summary=call.cwd, exit=0)


@plugin.tool
def ask(call: Call, question: str) -> str:
    return plugin.kernel.request("llm.complete", prompt=question)["text"]


@plugin.tool
def fail(call: Call) -> str:
    raise ToolFailure("not_found", "nothing is here", "look elsewhere")


@plugin.tool
def wait(call: Call) -> str:
    plugin.log("waiting")
    ended.clear()
    try:
        while True:
            call.check()
            time.sleep(0.005)
    finally:
        ended.set()


@plugin.tool
def late(call: Call) -> str:
    plugin.log("begun")
    over.wait(10)
    return "late"


@plugin.tool
async def sleep(call: Call) -> str:
    await asyncio.sleep(60)
    return "never"


@plugin.stage("on_input")
def look(payload: dict) -> object:
    word = payload["text"].split()[0]
    return {
        "no": Deny("it says no"),
        "hello": Answer("Hello to you."),
        "loud": Rewrite({"text": payload["text"].upper()}),
    }.get(word, PASS)


@plugin.channel("page")
def page(to: str, text: str) -> None:
    if to == "nobody":
        raise ValueError("nobody is there")
    sent.append((to, text))


@plugin.on_session_closed
def left(session: str) -> None:
    closed.append(session)


AROUND = Surroundings(
    provides=("lamp",),
    settings={"colour": "red"},
    answers={"llm.complete": lambda given: {"text": given["prompt"][::-1]}},
)


@pytest.fixture
def running() -> Harness:
    with in_process(plugin, AROUND) as started:
        yield started


def test_a_call_returns_what_the_tool_returns_and_what_it_told_meanwhile(running: Harness) -> None:
    done = running.call("repeat", {"text": "ab", "times": 2}, cwd="/work")

    assert done == Output("abab", "/work", 0)
    assert running.progress == [Progress("c1", "half", 0.5)]
    assert running.logs == ["repeated"]
    assert running.facilities == ("lamp",)


def test_large_texts_go_both_ways_through_the_arena(running: Harness) -> None:
    text = "é" * 100_000

    assert running.call("repeat", {"text": text, "times": 3}).text == text * 3
    assert running.peer.arena.leased == 0


def test_what_the_plugin_asks_is_answered_as_the_test_says_and_kept(running: Harness) -> None:
    assert running.call("ask", {"question": "why"}).text == "yhw"
    assert running.asked == [("llm.complete", {"prompt": "why"})]
    with in_process(plugin) as other, pytest.raises(RefusedError, match=r"no answer to llm\.complete"):
        other.call("ask", {"question": "why"})


def test_a_tool_that_cannot_do_it_says_why(running: Harness) -> None:
    error = running.call("fail").error

    assert error is not None
    assert (error.reason, error.detail, error.hint) == ("not_found", "nothing is here", "look elsewhere")
    with pytest.raises(RefusedError, match="unexpected keyword argument"):
        running.call("repeat", {"no": "such argument"})


@pytest.mark.parametrize("tool", ["wait", "sleep"])
def test_a_call_can_be_stopped(running: Harness, tool: str) -> None:
    pending = running.begin(tool)
    running.cancel(pending)
    error = running.result(pending).error

    assert error is not None
    assert error.detail == "the call was stopped"


def test_a_call_without_an_answer_ends_the_wait(running: Harness) -> None:
    pending = running.begin("wait")

    with pytest.raises(NoAnswerError, match=r"nothing came in 0\.05 s"):
        running.result(pending, 0.05)
    running.cancel(pending)


def test_a_stage_has_each_of_its_outcomes(running: Harness) -> None:
    assert running.stage("look", {"text": "fine"}) == PASS
    assert running.stage("look", {"text": "no way"}) == Deny("it says no")
    assert running.stage("look", {"text": "hello"}) == Answer("Hello to you.")
    assert running.stage("look", {"text": "loud " * 20_000}) == Rewrite({"text": "LOUD " * 20_000})
    with pytest.raises(RefusedError, match="no handler other"):
        running.stage("other", {})


def test_a_channel_settings_and_the_end_of_a_session_reach_the_plugin(running: Harness) -> None:
    running.send("page", "ada", "Rain.")
    with pytest.raises(RefusedError, match="nobody is there"):
        running.send("page", "nobody", "Rain.")
    running.change_settings({"colour": "blue"})
    running.close_session("s1")
    running.stop()

    assert sent == [("ada", "Rain.")]
    assert plugin.settings == {"colour": "blue"}
    assert running.peer.until(lambda: closed == ["s1"])


def test_the_sdk_imports_no_event_loop_and_starts_no_programs() -> None:
    code = "import sys, limnos.sdk.plugin; print({'asyncio', 'subprocess', 'tomllib'} & {*sys.modules})"

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=30, check=True
    )

    assert done.stdout == "set()\n"


def test_nothing_is_left_when_it_is_closed_or_forgotten() -> None:
    before = descriptors()
    for _ in range(20):
        in_process(plugin).call("repeat", {"text": "a"})
    gc.collect()

    assert not descriptors() - before


def test_a_program_that_is_no_plugin_is_said_to_be_none() -> None:
    before = descriptors()
    with pytest.raises(NoAnswerError, match="closed the wire"):
        over_wire([sys.executable, "-c", "pass"])
    with pytest.raises(OSError, match="no-such-program"):
        over_wire(["no-such-program"])

    assert not descriptors() - before


def test_a_process_that_ignores_its_end_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("limnos.sdk.harness.END_S", 0.2)
    file = Path(__file__).with_name("faulty.py")
    with over_wire([sys.executable, str(file), "no end"]) as started:
        assert started.process is not None
        pid = started.process.pid

    assert not os.path.exists(f"/proc/{pid}")


@pytest.mark.parametrize("runner", [["unittest"], ["pytest", "-q", "-p", "no:cacheprovider"]])
def test_the_test_of_a_new_plugin_passes(tmp_path: Path, runner: list[str]) -> None:
    folder = scaffold("my-weather", tmp_path)

    done = subprocess.run(
        [sys.executable, "-B", "-W", "error", "-m", *runner],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout or "Ran 2 tests" in done.stderr


def test_a_new_plugin_keeps_to_the_protocol(tmp_path: Path) -> None:
    folder = scaffold("my-weather", tmp_path)

    assert read_manifest(folder).name == "my-weather"
    report = run_conformance(folder)
    assert report.passed, report.text()


def test_the_test_of_the_python_example_passes() -> None:
    folder = Path(__file__).parents[2] / "docs" / "examples" / "plugins" / "python"

    done = subprocess.run(
        [sys.executable, "-B", "-W", "error", "-m", "unittest"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0, done.stderr


def test_what_is_still_at_work_when_it_is_closed_is_heard_by_nobody() -> None:
    with in_process(plugin) as first:
        for _ in range(3):
            first.begin("late")
        assert first.peer.until(lambda: first.logs == ["begun"] * 3)
    with in_process(plugin) as second:
        over.set()
        for _ in range(20):
            assert second.stage("look", {"text": "fine"}) == PASS
        assert second.call("late").text == "late"
        assert all(len(one) == 1 for one in second.peer.replies.values())


def test_calls_that_are_still_at_work_when_it_is_closed_are_stopped() -> None:
    with in_process(plugin) as first:
        first.begin("wait")
        assert first.peer.until(lambda: first.logs == ["waiting"])

    assert ended.wait(10)
