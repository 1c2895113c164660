"""kill -9 of a plugin at random moments under load: each call has one result, and nothing is left over."""

import asyncio
import os
import random
import secrets
import signal
import time
from collections import Counter
from pathlib import Path

import pytest

from limnos.kernel.tools import ToolFailure
from limnos.plugins.connection import PluginLost, PluginRefused
from limnos.plugins.manifest import Manifest, PluginLimits, ToolDeclaration
from limnos.plugins.unit import Unit
from tests.architecture.source import ROOT
from tests.plugins.hosting import ANYTHING, Bench, bench, children, manifest

CALLERS = 8
CALM_S = 2.0  # of load without kills, to compare with
BEAT_S = 0.005
LIMIT_S = 3600.0
CODE = f"""
import random, sys, time
sys.path.insert(0, {str(ROOT / "src")!r})
from limnos.sdk.plugin import Plugin
plugin = Plugin()

@plugin.tool
def odd_do(call, text, size=0, wait=0.0):
    call.report("working")
    time.sleep(wait)
    return text + "x" * size

@plugin.tool
async def odd_later(call, text):
    import asyncio
    await asyncio.sleep(0.001)
    return text

plugin.run()
"""


def victim(folder: Path) -> Manifest:
    """A plugin with the SDK: quick calls, slow ones, and large answers through the arena."""
    plugin = manifest(folder, "", limits=PluginLimits(arena=4 << 20))
    (folder / "odd.py").write_text(CODE)
    names = ("odd_do", "odd_later")
    return plugin._replace(tools=tuple(ToolDeclaration(name, "does it", ANYTHING) for name in names))


class Load:
    """Callers that call on and on, and what became of their calls."""

    def __init__(self, host: Bench, chance: random.Random) -> None:
        self.begun = 0
        self.outcomes: Counter[str] = Counter()
        self.wrong: list[str] = []
        self._host = host
        self._chance = chance
        self._over = False
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> "Load":
        self._tasks = [asyncio.ensure_future(self._caller()) for _ in range(CALLERS)]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._over = True
        await asyncio.gather(*self._tasks)

    async def _caller(self) -> None:
        while not self._over:
            self.begun += 1
            await self._call(f"text {self.begun}")

    async def _call(self, text: str) -> None:
        size = self._chance.choice((0, 0, 0, 10, 100_000, 300_000))
        try:
            if self._chance.random() < 0.2:
                size, done = 0, await self._host.call("odd_later", text=text)
            else:
                wait = self._chance.choice((0.0, 0.0, 0.002))
                done = await self._host.call(text=text, size=size, wait=wait)
        except ToolFailure as failure:
            self.outcomes[failure.error.reason] += 1
            await asyncio.sleep(BEAT_S)  # as whoever calls again would
            return
        self.outcomes["done"] += 1
        if done.text != text + "x" * size:
            self.wrong.append(f"{text} came to {done.text[:40]!r}")


class Lag:
    """How late the loop wakes somebody who asked to be woken."""

    def __init__(self) -> None:
        self.late: list[float] = []

    async def __aenter__(self) -> "Lag":
        self._task = asyncio.ensure_future(self._beat())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._task.cancel()

    async def _beat(self) -> None:
        while True:
            wanted = time.perf_counter() + BEAT_S
            await asyncio.sleep(BEAT_S)
            self.late.append(time.perf_counter() - wanted)

    @property
    def p99(self) -> float:
        """In seconds."""
        return sorted(self.late)[len(self.late) * 99 // 100]


async def kill(within_s: float, chance: random.Random) -> bool:
    """Kill the plugin at some moment; whether there was one."""
    await asyncio.sleep(chance.random() * within_s)  # the moment is what is random
    pids = [int(line.split()[0]) for line in children() if "zombie" not in line]
    if not pids:
        return False
    os.kill(pids[0], signal.SIGKILL)
    return True


async def kill_twice(host: Bench, unit: Unit, chance: random.Random) -> int:
    """Kill it, and the next one while that starts, or right after; how many were killed."""
    first = await kill(0.03, chance)
    await host.until(lambda: unit.state == "down" and 1.0 in host.clock.slept)
    host.clock.move(1.0)
    await host.until(lambda: unit.state != "down")
    return first + await kill(0.08, chance)


async def five_minutes(host: Bench, unit: Unit) -> None:
    """Let the clock go on far enough for the restart, and for earlier crashes to be forgotten.

    Whoever pings meanwhile gets the answer first: nothing hangs here.
    """
    for _ in range(45):
        await host.until(lambda: unit.state != "starting")
        if unit.state == "running" and unit.process is not None:
            try:
                async with asyncio.timeout(20):
                    await unit.process.connection.request("ping")
            except (PluginLost, PluginRefused):
                await asyncio.sleep(0)
        host.clock.move(7.0)
        await asyncio.sleep(0)


async def rounds(folder: Path, kills: int, seed: int) -> tuple[Load, float, float]:
    """Load without kills, then with them; the load, and the lag of both."""
    chance = random.Random(seed)
    async with bench(folder, victim(folder)) as host:
        await host.call(text="warm")
        unit = host.unit()
        async with Load(host, chance) as load:
            async with Lag() as calm:
                await asyncio.sleep(CALM_S)
            assert set(load.outcomes) == {"done"}
            async with Lag() as storm:
                done = 0
                while done < kills:
                    host.clock.slept.clear()
                    twice = chance.random() < 0.2
                    done += await (kill_twice(host, unit, chance) if twice else kill(0.03, chance))
                    await five_minutes(host, unit)
                    assert unit.state != "stopped", unit.why
        assert unit.generation >= kills
        await host.until(lambda: unit.process is None or not unit.process.connection.waiting)
    return load, calm.p99, storm.p99


def mapped() -> int:
    """How many arenas this process still maps."""
    return Path("/proc/self/maps").read_text().count("memfd:limnos-arena")


def survives(folder: Path, kills: int) -> None:
    """Run it, and look at what came of it."""
    seed = secrets.randbelow(10**6)
    print(f"seed {seed}")
    before = mapped()
    load, calm, storm = asyncio.run(asyncio.wait_for(rounds(folder, kills, seed), LIMIT_S))
    print(f"{load.begun} calls, {dict(load.outcomes)}, lag p99 {calm * 1000:.2f} ms, {storm * 1000:.2f} ms")

    assert not load.wrong, load.wrong[:3]
    assert load.outcomes.total() == load.begun
    assert set(load.outcomes) <= {"done", "unavailable"}, load.outcomes
    assert load.outcomes["unavailable"] > 0
    assert mapped() == before
    assert storm <= 3 * calm, f"{storm * 1000:.2f} ms with kills, {calm * 1000:.2f} ms without"


def test_fifty_kills_under_load_lose_no_call_and_leave_nothing(tmp_path: Path) -> None:
    survives(tmp_path, 50)


@pytest.mark.soak
def test_a_thousand_kills_under_load_lose_no_call_and_leave_nothing(tmp_path: Path) -> None:
    survives(tmp_path, 1000)
