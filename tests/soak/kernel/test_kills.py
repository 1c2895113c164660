"""kill -9 at seeded moments: nothing acknowledged is lost, no call runs twice, every pairing is valid."""

import asyncio
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from limnos.agent.clock import SystemClock
from limnos.agent.replay import verify
from limnos.agent.settings import load, read_environment
from limnos.kernel.conversation import fold
from limnos.kernel.events import CallFinished, CallProposed, CallStarted, Event, TurnFinished, TurnStarted
from limnos.kernel.pairing import check_pairing
from limnos.service.client import OpenRequest, Send
from limnos.service.local import local_kernel
from limnos.store.audit import read_history
from tests.architecture.source import ROOT

SEED = 20260314
DEADLINE_S = 60


def kill_at(seed: int, folder: Path, *more: str) -> tuple[Path, list[tuple[str, int]]]:
    """Run the victim and kill its group at a seeded event and delay; returns its log and what it said."""
    chance = random.Random(seed)
    home, work = folder / "home", folder / "work"
    home.mkdir()
    work.mkdir()
    after, delay = chance.randrange(2, 110), chance.random() * 0.02
    victim = subprocess.Popen(
        [sys.executable, "-m", "tests.soak.kernel.victim", str(home), str(work), *more],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert victim.stdout is not None
    said: list[tuple[str, int]] = []
    for line in victim.stdout:
        kind, _, number = line.strip().partition(" ")
        if number.isdigit():
            said.append((kind, int(number)))
        if len(said) >= after:
            time.sleep(delay)  # the moment of death is the random input here
            break
    os.killpg(victim.pid, signal.SIGKILL)
    said += [
        (kind, int(number))
        for kind, _, number in (line.strip().partition(" ") for line in victim.stdout.read().split("\n"))
        if number.isdigit()
    ]
    victim.wait(DEADLINE_S)
    victim.stdout.close()
    assert nobody_in(work), f"seed {seed}: a process of the killed one lives on"
    logs = list((home / "personas").rglob("*.jsonl"))
    assert len(logs) == 1
    return logs[0], said


def nobody_in(work: Path, seconds: float = 5) -> bool:
    """Whether no process works in `work`, now or in a moment: the system ends a sandbox one by one."""
    deadline = time.monotonic() + seconds
    while any(_works_in(process) == str(work) for process in Path("/proc").glob("[0-9]*/cwd")):
        if time.monotonic() > deadline:
            return False
    return True


def _works_in(process: Path) -> str:
    try:
        return os.readlink(process)
    except OSError:
        return ""


def effects(folder: Path) -> Counter[str]:
    """How often each command really ran."""
    path = folder / "work" / "effects"
    return Counter(path.read_text().split()) if path.exists() else Counter()


def go_on(folder: Path, log: Path) -> list[Event]:
    """Start again after the crash: continue the interrupted turn, then say one more thing."""
    home = folder / "home"
    script = home / "after.json"
    script.write_text('{"steps": [{"text": "I went on."}, {"text": "I am still here."}]}')
    variables = {"HOME": str(home), "LIMNOS_HOME": str(home), "PATH": os.environ["PATH"]}
    variables["LIMNOS_MODEL"] = f"scripted:{script}"
    environment = read_environment(variables)

    async def run() -> None:
        kernel = local_kernel(load(environment), environment)
        session = await kernel.open(OpenRequest(log.stem.rsplit("-", 1)[-1], cwd=str(folder / "work")))
        if session.interrupted:
            session.resume("test")
        session.send(Send("still there?", "after"))
        async for event in session.events():
            if isinstance(event, TurnFinished) and not session.queued() and not session.interrupted:
                said = fold(read_history(log).events)
                if "after" in said.client_ids:
                    break
        await kernel.close()

    asyncio.run(asyncio.wait_for(run(), DEADLINE_S))
    return list(read_history(log).events)


def check(seed: int, folder: Path, *more: str) -> None:
    """One kill, one restart, all promises."""
    log, said = kill_at(seed, folder, *more)
    before = read_history(log)
    written = {event.seq: event.type for event in before.events}
    for kind, seq in said:
        if kind not in ("text_delta", "reasoning_delta", "call_progress"):
            assert written.get(seq) == kind, f"seed {seed}: event {seq} {kind} was shown and is lost"
    ran = effects(folder)
    assert not [name for name, times in ran.items() if times > 1], f"seed {seed}: ran twice"
    events = go_on(folder, log)
    assert effects(folder) == ran, f"seed {seed}: something ran again after the restart"
    open_calls = {event.call for event in before.events if isinstance(event, CallStarted)} - {
        event.call for event in before.events if isinstance(event, CallFinished)
    }
    after = {event.call: event.outcome for event in events if isinstance(event, CallFinished)}
    assert all(after[call] == "unknown" for call in open_calls), f"seed {seed}: {after}"
    assert all(name in after for name in ran), f"seed {seed}: a call that ran has no result"
    conversation = fold(events)
    messages = [message for unit in conversation.units for message in unit.messages()]
    assert check_pairing(messages).valid, f"seed {seed}: the pairing is broken"
    assert not conversation.unfinished, f"seed {seed}: a turn has no end"
    begun = [event.turn for event in events if isinstance(event, TurnStarted)]
    ended = [event.turn for event in events if isinstance(event, TurnFinished)]
    assert sorted(begun) == sorted(ended), f"seed {seed}: a turn has no end, or two"
    assert not conversation.agents.open, f"seed {seed}: a sub-agent has no end"
    results = Counter(event.call for event in events if isinstance(event, CallFinished))
    proposed = {event.call for event in events if isinstance(event, CallProposed)}
    assert results == Counter(proposed), f"seed {seed}: a call has not exactly one result"
    found = verify(log, SystemClock())
    assert found.divergence is None, f"seed {seed}: {found.divergence}"


@pytest.mark.parametrize("number", range(20))
def test_a_killed_process_loses_nothing_and_repeats_nothing(number: int, tmp_path: Path) -> None:
    check(SEED + number, tmp_path)


@pytest.mark.parametrize("number", range(10))
def test_turns_that_are_set_aside_survive_a_kill(number: int, tmp_path: Path) -> None:
    check(SEED + number, tmp_path, "interrupts")


@pytest.mark.parametrize("number", range(12))
def test_a_process_killed_while_sub_agents_work_loses_nothing_and_repeats_nothing(
    number: int, tmp_path: Path
) -> None:
    check(SEED + number, tmp_path, "family")


@pytest.mark.soak
@pytest.mark.parametrize("number", range(200))
def test_two_hundred_kills_among_interrupts(number: int, tmp_path: Path) -> None:
    check(SEED + number, tmp_path, "interrupts")


@pytest.mark.soak
@pytest.mark.parametrize("number", range(200))
def test_two_hundred_kills_while_sub_agents_work(number: int, tmp_path: Path) -> None:
    check(SEED + 1000 + number, tmp_path, "family")


@pytest.mark.soak
@pytest.mark.parametrize("number", range(200))
def test_two_hundred_kills(number: int, tmp_path: Path) -> None:
    check(SEED + number, tmp_path)


@pytest.mark.torture
def test_twenty_thousand_kills(tmp_path: Path) -> None:
    for number in range(200, 20_000):
        folder = tmp_path / str(number)
        folder.mkdir()
        check(SEED + number, folder)
        shutil.rmtree(folder)
