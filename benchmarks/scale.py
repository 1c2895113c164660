"""B3: what memory costs as it grows, in ratios to the float32 matrix product of the same size.

usage: python benchmarks/scale.py [--quick] [--data FOLDER] [--sizes 100,1000,10000,100000]

Unit: milliseconds of processor time a turn, median over questions: on a machine that others use the clock on
the wall, which is given too, shows mostly them. A turn asks memory once for what to recall (words, exact
tokens and vectors of all cold steps; the rows and previews of the hits; the section made of them) and weighs
the 40 units of its window, of which the better half stays. The logs are real ones of one long session, with
texts from recorded transcripts; vectors are synthetic, and making the vector of a question is not counted.
Each size is measured in a process of its own, the product in the same process in turns with the engine. Both
have one thread for matrices: where other programs run, two that wait for each other take ten times as long.
"""

import argparse
import asyncio
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from limnos.agent.clock import SystemClock
from limnos.kernel.events import (
    CallFinished,
    CallProposed,
    CallStarted,
    ContextChanged,
    Event,
    ReplyFinished,
    SessionStarted,
    StepFinished,
    StepsRecalled,
    TurnFinished,
    TurnStarted,
)
from limnos.kernel.stream import EventStream
from limnos.memory import rows
from limnos.memory.memory import Memory, Options
from limnos.memory.search import Question
from limnos.store.audit import line_of

HERE = Path(__file__).parent
DATA = HERE.parent.parent / "shared" / "data" / "transcripts"
SIZES = (100, 1000, 10_000, 100_000)
DIMENSIONS = 384
QUESTIONS = 30
WINDOW = 40  # units
STEPS = 10  # a turn
TEXT_CHARS = 700
TARGETS = {"product": 1.5, "product_ms": 3.0, "growth": 2.0, "memory": 1.5, "open_ms": 1000.0}
SESSION = "scale"


class Synthetic:
    """An embedder whose vectors are drawn by chance; a question costs nothing."""

    fingerprint, dimensions = "synthetic", DIMENSIONS

    def __init__(self) -> None:
        self._chance = np.random.default_rng(7)

    async def passages(self, texts: Sequence[str]) -> Any:
        """Random rows."""
        return self._chance.standard_normal((len(texts), DIMENSIONS)).astype(np.float32)

    async def query(self, text: str) -> Any:
        """A random row."""
        return self._chance.standard_normal(DIMENSIONS).astype(np.float32)

    async def close(self) -> None:
        """Nothing is held."""


def texts_in(folder: Path) -> list[str]:
    """Pieces of what was said, called and returned in the transcripts."""
    found: list[str] = []
    for path in sorted(folder.glob("*.jsonl")):
        with path.open(encoding="utf-8") as file:
            for line, _ in zip(file, range(2000), strict=False):
                found += strings(json.loads(line))
    pieces = [text[start : start + TEXT_CHARS] for text in found for start in range(0, len(text), TEXT_CHARS)]
    return [piece for piece in pieces if len(piece) > 60]


def strings(value: Any) -> Iterator[str]:
    """All texts in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from strings(one)


def session(texts: list[str], steps: int) -> Iterator[Event]:
    """The events of one session; at the end of a turn all of it but the newest sinks."""
    chance, kinds = random.Random(1), ("read_file", "run_command", "search_files")
    yield SessionStarted(persona="main", cwd="/work", program="limnos")
    window: list[int] = []
    seq = done = 0
    for turn in range(1, steps // STEPS + 2):
        seq = yield from _numbered(
            turn, seq + (turn == 1),
            TurnStarted(input=chance.choice(texts), source="b", principal="owner", client_id=f"m{turn}",
                        persona="main", model="m", mode="auto"),
        )  # fmt: skip
        window.append(seq)
        for step in range(STEPS):
            call, tool, arguments = f"c{done}", chance.choice(kinds), {"path": chance.choice(texts)[:60]}
            seq = yield from _numbered(turn, seq, ReplyFinished(text=chance.choice(texts)[:200]))
            window.append(seq)
            seq = yield from _numbered(
                turn, seq,
                CallProposed(call=call, tool=tool, arguments=arguments),
                CallStarted(call=call, hash="h", arguments=arguments),
                CallFinished(call=call, tool=tool, outcome="done", text=chance.choice(texts)),
                StepFinished(text=f"step {step}", calls=[call]),
            )  # fmt: skip
            done += 1
        sunk, window = window[:-WINDOW], window[-WINDOW:]
        if sunk:
            changed = ContextChanged(
                reason="pruned", used=1, budget=1, reserve=1, sunk=[f"#{one}" for one in sunk]
            )
            seq = yield from _numbered(turn, seq, changed)
        ended = TurnFinished(reason="done", exit=0, steps=STEPS, calls=STEPS, ms=1, tokens=1)
        seq = yield from _numbered(turn, seq, ended)


def _numbered(turn: int, seq: int, *events: Event) -> Iterator[Event]:
    for event in events:
        seq += 1
        yield event.changed(turn=turn, step=1, seq=seq)
    return seq


def build(folder: Path, texts: list[str], steps: int) -> dict[str, float]:
    """A persona whose one session has `steps` steps, projected, with vectors."""
    path = folder / "sessions" / "2026" / "01" / f"20260101T000000-{SESSION}.jsonl"
    path.parent.mkdir(parents=True)
    with path.open("wb") as file:
        for number, event in enumerate(session(texts, steps), 1):
            time_ = f"2026-01-01T00:00:00.{number % 1000:03}Z"
            file.write(line_of(event.changed(seq=event.seq or 1, time=time_, session=SESSION)))
    memory = Memory(folder, SystemClock())
    began = time.perf_counter()
    memory.catch_up()
    projected = time.perf_counter() - began
    chance = np.random.default_rng(3)
    units = memory.database.read(lambda c: [row[0] for row in c.execute("SELECT id FROM units ORDER BY id")])

    def vectors(connection: Any) -> None:
        stamp = rows.tick(connection)
        made = ((unit, "synthetic", stamp, half(chance)) for unit in units)
        connection.executemany("INSERT INTO vectors VALUES(?, ?, ?, ?)", made)

    memory.database.write(vectors)
    asyncio.run(memory.search(Question(texts[0])))  # the words are read now, and stored when it closes
    memory.close()
    return {
        "projected_s": round(projected, 2),
        "units": len(units),
        "log_mb": round(path.stat().st_size / 1e6, 1),
    }


def half(chance: np.random.Generator) -> bytes:
    """A random unit vector as it is stored."""
    row = chance.standard_normal(DIMENSIONS)
    return (row / np.linalg.norm(row)).astype(np.float16).tobytes()


def resident() -> int:
    """Bytes of memory that this process has in use."""
    fields = Path("/proc/self/statm").read_text(encoding="ascii").split()
    return int(fields[1]) * 4096


async def measure(folder: Path, texts: list[str]) -> dict[str, Any]:
    """All figures of one store."""
    memory = Memory(folder, SystemClock(), Options(Synthetic()))
    path = next((folder / "sessions").rglob("*.jsonl"))
    began = time.perf_counter()
    resumed = memory.resume(SESSION, path)
    opened = time.perf_counter() - began
    if resumed.whole:
        raise SystemExit("the session was read whole: this is no measurement")
    stream = EventStream(SESSION, resumed.log, SystemClock(), resumed.conversation)
    memory.attach(stream, path)
    before = resident()
    began = time.perf_counter()
    await memory.warm()
    loaded = time.perf_counter() - began
    used = resident() - before
    units = memory.database.read(lambda c: c.execute("SELECT count(*) FROM units").fetchall()[0][0])
    figures = await turns(memory, stream, texts, units)
    figures |= {"open_ms": opened * 1e3, "load_ms": loaded * 1e3, "units": units}
    figures |= {"memory_mb": used / 1e6, "vectors_mb": units * DIMENSIONS * 4 / 1e6}
    figures |= moves(memory, stream)
    memory.detach(SESSION)
    resumed.log.close()
    memory.close()
    return figures


async def turns(memory: Memory, stream: EventStream, texts: list[str], units: int) -> dict[str, float]:
    """The engine and the product, in turns."""
    chance = random.Random(5)
    matrix = np.random.default_rng(4).standard_normal((units, DIMENSIONS)).astype(np.float32)
    asked = np.random.default_rng(6).standard_normal((QUESTIONS + 5, DIMENSIONS)).astype(np.float32)
    engine: list[float] = []
    product: list[float] = []
    wall: list[float] = []
    found = 0
    for number in range(QUESTIONS + 5):
        question = chance.choice(texts)[:200]
        began = time.process_time()
        matrix @ asked[number]
        product.append(time.process_time() - began)
        began, began_wall = time.process_time(), time.perf_counter()
        found += await turn(memory, stream, question)
        engine.append(time.process_time() - began)
        wall.append(time.perf_counter() - began_wall)
    if not found:
        raise SystemExit("nothing was ever found: this is no measurement")
    middle = statistics.median
    figures = {"engine_ms": engine, "product_ms": product, "engine_wall_ms": wall}
    return {name: middle(times[5:]) * 1e3 for name, times in figures.items()} | {"found": found}


async def turn(memory: Memory, stream: EventStream, question: str) -> int:
    """One pass of memory: recall with its section, then what of the window stays; how many were recalled."""
    units = stream.conversation.units
    standing = {unit.id for unit in units}
    hits = await memory.recollection(SESSION).recollect(question, k=8, without=standing)
    section = "\n".join(f"{hit.unit} {hit.time} {hit.why}\n{hit.text}" for hit in hits)
    scores = await memory.relevance(SESSION).scores(question, units)
    order = sorted(range(len(units)), key=lambda at: scores[at].score, reverse=True)
    kept = {units[at].id for at in order[: len(units) // 2]}
    return len(hits) if section and kept else 0


def moves(memory: Memory, stream: EventStream) -> dict[str, float]:
    """What it costs to sink ten units and to bring them back, rows included."""
    taken: dict[str, list[float]] = {"sink_ms": [], "recall_ms": []}

    def timed(name: str, run: Callable[[], object]) -> None:
        began = time.perf_counter()
        run()
        memory.flush(SESSION)
        taken[name].append((time.perf_counter() - began) * 1e3)

    memory.flush(SESSION)
    for _ in range(12):
        ids = [unit.id for unit in stream.conversation.units[:10]]
        changed = ContextChanged(reason="pruned", used=1, budget=1, reserve=1, sunk=ids)
        timed("sink_ms", lambda changed=changed: stream.emit(changed))
        timed("recall_ms", lambda ids=ids: stream.emit(StepsRecalled(units=ids)))
        if {unit.id for unit in stream.conversation.units} < set(ids):
            raise SystemExit("units were lost: this is no measurement")
    return {name: statistics.median(values) for name, values in taken.items()}


def size(data: Path, steps: int) -> dict[str, Any]:
    """Build a store and measure it in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="scale-") as folder:
        built = build(Path(folder), texts_in(data), steps)
        command = [sys.executable, __file__, "--measure", folder, "--data", str(data)]
        one_thread = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=1800, check=False, env=one_thread
        )
        if done.returncode:
            raise SystemExit(f"{steps} steps failed:\n{done.stderr[-2000:]}")
        return built | json.loads(done.stdout.strip().splitlines()[-1])


def main() -> int:
    """Measure, print the table, end with one JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="up to 10,000 steps")
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--sizes", default="")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure is not None:
        print(json.dumps(asyncio.run(measure(given.measure, texts_in(given.data)))))
        return 0
    sizes = [int(one) for one in given.sizes.split(",") if one] or list(SIZES[:3] if given.quick else SIZES)
    figures = {steps: size(given.data, steps) for steps in sizes}
    print(
        "| steps | units | engine ms | product ms | allowed ms | sink ms | recall ms | open ms | memory MB |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for steps, one in figures.items():
        cells = [one["engine_ms"], one["product_ms"], allowed(one), one["sink_ms"], one["recall_ms"]]
        cells += [one["open_ms"], one["memory_mb"]]
        print(f"| {steps} | {one['units']} | " + " | ".join(f"{cell:.2f}" for cell in cells) + " |")
    print(json.dumps(summary(figures)))
    return 0


def allowed(one: dict[str, Any]) -> float:
    """Milliseconds that a turn may take."""
    return TARGETS["product"] * one["product_ms"] + TARGETS["product_ms"]


def summary(figures: dict[int, dict[str, Any]]) -> dict[str, Any]:
    """The figures under the names of the benchmark table, and whether they meet its targets."""
    largest = figures[max(figures)]
    apart = {steps: one["engine_ms"] - one["product_ms"] for steps, one in figures.items()}
    small, large = apart.get(100), apart.get(10_000)
    growth = max(large / small, small / large) if small and large else None
    said: dict[str, Any] = {
        "sizes": {str(steps): {k: round(v, 3) for k, v in one.items()} for steps, one in figures.items()},
        "memory_ratio": round(largest["memory_mb"] / largest["vectors_mb"], 3),
        "open_ms": round(largest["open_ms"], 1),
        "growth_100_to_10000": None if growth is None else round(growth, 2),
        "turns": QUESTIONS,
    }
    said["ok"] = (
        all(one["engine_ms"] <= allowed(one) for one in figures.values())
        and said["memory_ratio"] <= TARGETS["memory"]
        and said["open_ms"] <= TARGETS["open_ms"]
        and (growth is None or growth <= TARGETS["growth"])
    )
    return said


if __name__ == "__main__":
    sys.exit(main())
