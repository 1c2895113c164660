"""The guard that hides secrets: off until enabled; then no result shows one, also when it is killed."""

import asyncio
import os
import signal
from pathlib import Path

import pytest

from limnos.agent.plugins import Plugins
from limnos.builtin.redact.guard import redact_answers, redact_results
from limnos.kernel.events import CallFinished, CallStarted, Event, StepFinished
from limnos.plugins.catalogue import catalogue
from limnos.plugins.choices import read_choices
from limnos.plugins.install import disable, enable
from limnos.plugins.places import builtin_folders
from limnos.sdk.outcome import PASS, Rewrite
from limnos.service.client import Session
from tests.builtin.children import running
from tests.service.house import House, Talk, answering, call, run, step

KEY = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF3hJ6"
READ = call("read_file", path="notes.txt")


def house_with_a_secret(tmp_path: Path, *, enabled: bool = True) -> House:
    house = House(tmp_path)
    (house.work / "notes.txt").write_text(f"token: {KEY}\n" + "\n" * 5 + "the end\n")
    if enabled:
        enable("redact", house.home, builtin_folders())
    return house


def holding(folder: Path, value: str) -> list[str]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path.name for path in files if value.encode() in path.read_bytes()]


def test_a_secret_in_a_result_reaches_neither_the_model_nor_the_disk(tmp_path: Path) -> None:
    house = house_with_a_secret(tmp_path)

    async def story() -> Talk:
        kernel = house.kernel(
            step("", READ, call("run_command", command="cat notes.txt; false")),
            step("", call("read_file", path=f"gone-{KEY}"), expect=["[hidden: "]),
            step(f"it is {KEY}", expect=["[hidden: "]),
        )
        talk = await house.open(kernel)
        await talk.say("read it", answering("once"))
        assert set(running()) >= {"redact"}
        await kernel.close()
        return talk

    talk = run(story())

    for finished in talk.of(CallFinished)[:2]:
        assert KEY not in finished.text
        assert "[hidden: " in finished.text
    assert KEY not in repr(talk.of(CallFinished)[2].error)
    assert KEY not in talk.of(StepFinished)[-1].text
    assert house.divergence(talk) is None


def test_nothing_on_the_disk_holds_what_a_result_held(tmp_path: Path) -> None:
    house = house_with_a_secret(tmp_path)

    async def story() -> None:
        kernel = house.kernel(step("", READ), step("Read.", expect=["[hidden: "]))
        talk = await house.open(kernel)
        await talk.say("read it")
        await kernel.close()

    run(story())

    assert holding(house.home, KEY) == []


def test_without_the_guard_the_secret_is_in_the_log(tmp_path: Path) -> None:
    """The negative twin."""
    house = house_with_a_secret(tmp_path, enabled=False)

    async def story() -> None:
        kernel = house.kernel(step("", READ), step("Read.", expect=[KEY]))
        talk = await house.open(kernel)
        await talk.say("read it")
        assert "redact" not in running()
        await kernel.close()

    run(story())

    assert holding(house.home, KEY)


def test_a_killed_guard_lets_nothing_pass_until_it_is_back(tmp_path: Path) -> None:
    house = house_with_a_secret(tmp_path)
    calls = 0

    def kill(session: Session, event: Event) -> None:
        nonlocal calls
        if isinstance(event, CallStarted):
            calls += 1
            if calls == 2:
                os.kill(running()["redact"], signal.SIGKILL)

    async def story() -> Talk:
        kernel = house.kernel(
            step("", READ),
            step("", READ, expect=["[hidden: "]),
            step("Withheld.", expect=["the result was withheld: guard redact_results"]),
            step("", READ),
            step("Back.", expect=["[hidden: "]),
        )
        talk = await house.open(kernel)
        await talk.say("read it twice", kill)
        await is_running(kernel._base.plugins)  # pyright: ignore[reportPrivateUsage]
        await talk.say("and again")
        await kernel.close()
        return talk

    talk = run(story())

    assert [event.outcome for event in talk.of(CallFinished)] == ["done", "failed", "done"]
    assert all(KEY not in event.text for event in talk.of(CallFinished))
    assert talk.of(StepFinished)[2].text.startswith("[withheld: guard redact_answers")


async def is_running(plugins: Plugins) -> None:
    """Until the guard runs again, one second after it was killed."""
    async with asyncio.timeout(30):
        while plugins.host.unit("redact").state != "running":
            await asyncio.sleep(0.01)


def test_it_is_off_until_a_person_enables_it_and_says_so(tmp_path: Path) -> None:
    found = catalogue(tmp_path, builtin_folders())
    for name in ("redact", "rate_limit"):
        assert found.get(name).disabled
    assert not any(plugin.name in ("redact", "rate_limit") for plugin, _ in found.stages)

    enable("redact", tmp_path, builtin_folders())
    found = catalogue(tmp_path, builtin_folders())
    assert not found.get("redact").disabled
    assert found.get("rate_limit").disabled
    assert read_choices(tmp_path).enabled == {"redact"}
    assert catalogue(tmp_path, builtin_folders()) == found

    disable("redact", tmp_path, builtin_folders())
    assert catalogue(tmp_path, builtin_folders()).get("redact").disabled


def test_choices_that_cannot_be_read_leave_the_guard_as_it_was(tmp_path: Path) -> None:
    enable("redact", tmp_path, builtin_folders())
    (tmp_path / "plugins.json").write_text("{")

    found = catalogue(tmp_path, builtin_folders())

    assert not found.get("redact").disabled
    assert found.get("rate_limit").disabled


@pytest.mark.parametrize("text", ["nothing here", "", "a" * 100_000])
def test_what_holds_no_secret_passes_as_it_is(text: str) -> None:
    assert redact_answers({"text": text}) is PASS
    assert redact_results({"text": text, "error": None}) is PASS


def test_errors_are_hidden_too() -> None:
    error = {"reason": "failed", "detail": f"no {KEY}", "hint": KEY}
    outcome = redact_results({"text": "", "error": error, "call": "c1"})

    assert isinstance(outcome, Rewrite)
    assert KEY not in repr(outcome)
    assert outcome.payload["call"] == "c1"
