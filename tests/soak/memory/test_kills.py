"""kill -9 at seeded moments of sink and recall: every unit has one holder, that which the log gives it."""

import asyncio
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from limnos.kernel.conversation import fold
from limnos.kernel.units import MemoryShelf, Recalled
from limnos.memory.memory import Memory, Options
from limnos.memory.states import state_of
from limnos.store.audit import read_history
from limnos.testing.doubles import FixedClock
from tests.architecture.source import ROOT
from tests.memory.embedders import WordEmbedder
from tests.memory.lives import path_of
from tests.memory.tables import dump
from tests.memory.test_projection import standing as of_window

SEED = 20261201
DEADLINE_S = 60


def killed_at(seed: int, folder: Path) -> None:
    """Run the victim and kill it after a seeded number of lines and a seeded delay."""
    chance = random.Random(seed)
    after, delay = chance.randrange(1, 90), chance.random() * 0.03
    with subprocess.Popen(
        [sys.executable, "-m", "tests.soak.memory.victim", str(folder), str(seed)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
    ) as victim:
        assert victim.stdout is not None
        for number, _ in enumerate(victim.stdout):
            if number >= after:
                break
        time.sleep(delay)  # the moment of death is the random input here
        victim.send_signal(signal.SIGKILL)
        victim.wait(DEADLINE_S)


def check(seed: int, folder: Path) -> None:
    """One kill, one opening, all promises."""
    killed_at(seed, folder)
    path = path_of(folder, "victim")
    memory = Memory(folder, FixedClock(), Options(WordEmbedder()))
    assert [one for one in memory.verify() if one.what != "nothing of it is here yet"] == [], f"seed {seed}"
    resumed = memory.resume("victim", path)
    history = read_history(path)
    expected = fold(history.events, history.last_seq, MemoryShelf())
    ours = resumed.conversation
    shown = [unit.messages() for unit in ours.units]
    assert shown == [unit.messages() for unit in expected.units], f"seed {seed}"
    assert of_window(ours) == of_window(expected), f"seed {seed}"
    if not expected.unfinished and not expected.agents.open:
        assert state_of(ours) == state_of(expected), f"seed {seed}"
    resumed.log.close()
    memory.catch_up()
    assert memory.verify() == [], f"seed {seed}"
    asked = "SELECT seq, holder FROM units WHERE agent = ''"
    rows = memory.database.read(lambda connection: connection.execute(asked).fetchall())
    standing = {unit.seq for unit in expected.units if not isinstance(unit, Recalled)}
    open_step = expected.open_step
    standing -= {open_step.seq} if open_step else set()
    assert {seq for seq, holder in rows if holder == "window"} == standing, f"seed {seed}"
    assert set(Counter(seq for seq, _ in rows).values()) <= {1}, f"seed {seed}"
    before = memory.database.read(dump)
    memory.rebuild()
    after = memory.database.read(dump)
    assert {**after, "states": 0} == {**before, "states": 0}, f"seed {seed}"
    asyncio.run(_embedded(memory))
    assert memory.verify() == [], f"seed {seed}"
    memory.close()


async def _embedded(memory: Memory) -> None:
    memory.embedding.start()
    await asyncio.wait_for(memory.embedding.finish(), DEADLINE_S)


@pytest.mark.parametrize("number", range(50))
def test_a_process_killed_while_it_sinks_and_recalls_leaves_one_holder_for_each_unit(
    number: int, tmp_path: Path
) -> None:
    check(SEED + number, tmp_path)


@pytest.mark.soak
@pytest.mark.parametrize("number", range(500))
def test_five_hundred_kills_while_it_sinks_and_recalls(number: int, tmp_path: Path) -> None:
    check(SEED + 1000 + number, tmp_path)
