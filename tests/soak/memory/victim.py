"""A process that sinks and recalls until somebody kills it; it prints a line for each turn and each flush.

usage: python -m tests.soak.memory.victim FOLDER SEED
"""

import asyncio
import sys
from pathlib import Path

from limnos.memory.memory import Memory, Options
from limnos.memory.search import Question
from limnos.testing.doubles import FixedClock
from tests.memory.embedders import WordEmbedder
from tests.memory.lives import Life

TURNS = 60


async def main(folder: str, seed: str) -> None:
    """Live one session, with searches, flushes and vectors in between."""
    memory = Memory(Path(folder), FixedClock(), Options(WordEmbedder()))
    life = Life(Path(folder), "victim", int(seed), memory=memory)
    print("begin", flush=True)
    for number in range(TURNS):
        life.random_turn()
        print("turn", number, flush=True)
        if life.chance.random() < 0.5:
            await asyncio.to_thread(memory.flush, "victim")
            print("flushed", number, flush=True)
        if life.chance.random() < 0.3:
            await memory.search(Question(life.some(), session="victim"))
        await asyncio.sleep(0)
    life.close()
    memory.close()
    print("end", flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
