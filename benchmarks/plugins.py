"""What plugins cost: a call's round trip, 100 MB through the arena, the start of 28, memory at rest.

usage: python benchmarks/plugins.py [--quick] [--plugins N] [--megabytes N] [--calls N]

Round trip: microseconds from the request to the answer of a tool that does nothing, over the wire alone (no
gate, no audit), beside a blocking echo over two pipes with a child in the same interpreter; median of batches
that alternate in one run. Target: at most 3 times the echo.
Payload: a result of 100 MB that the tool has in memory, until limnos has its bytes, on the path that files
and search use, beside one copy of as many bytes. Target: at least 50 % of the copy's speed.
Start: N eager plugins of which some need others, until the last is ready. Target: at most 1.3 times the
larger of the critical path (each start alone, summed along the longest chain) and the processor time of all
starts divided by the cores.
Memory: a kernel process at rest with all built-in plugins known and none started; at most 90 MB. The sum of
the PSS of all processes is told when all plugins of the start run.
"""

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from limnos.agent.clock import SystemClock
from limnos.plugins.feed import Feed
from limnos.plugins.host import Host, Member
from limnos.plugins.manifest import MIB, Manifest, PluginLimits, ToolDeclaration
from limnos.plugins.payloads import taken
from limnos.plugins.process import Surroundings
from limnos.plugins.services import Services
from limnos.plugins.unit import Unit
from limnos.process.profile import NoSandbox
from limnos.testing.doubles import MemoryBlobs

ECHO = "import os\nwhile data := os.read(0, 65536):\n    os.write(1, data)\n"
PLUGIN = """
from limnos.sdk.plugin import Call, Output, Plugin
plugin = Plugin()
held = {}

@plugin.tool
def nothing(call: Call) -> str:
    return ""

@plugin.tool
def make(call: Call, size: int) -> str:
    held["data"] = "x" * size
    return ""

@plugin.tool
def give(call: Call) -> Output:
    return Output(held["data"])

plugin.run()
"""
ANYTHING: dict[str, Any] = {"type": "object", "properties": {}}
TARGETS = {"round_trip_ratio": 3.0, "payload_percent": 50.0, "start_ratio": 1.3, "idle_kernel_mb": 90.0}
TICKS = os.sysconf("SC_CLK_TCK")


def manifest(folder: Path, name: str, **more: Any) -> Manifest:
    """A plugin in Python with the SDK."""
    file = folder / "bench.py"
    file.write_text(PLUGIN)
    tools = tuple(ToolDeclaration(one, "for the benchmark", ANYTHING) for one in ("nothing", "make", "give"))
    entry = (sys.executable, "-I", str(file))
    return Manifest(name, "1", "for the benchmark", str(folder), entry, tools=tools, builtin=True, **more)


def host_of(folder: Path, *members: Member) -> Host:
    """A host as a kernel has it."""
    clock, blobs = SystemClock(), MemoryBlobs()
    around = Surroundings(clock, folder / "data", (), lambda _: {}, lambda: NoSandbox("not needed", ""))
    return Host(members, around, Services(clock, blobs, {}), Feed(blobs, ()))


def echo_us(calls: int, frame: bytes) -> Callable[[], float]:
    """A function that measures a batch of blocking echoes, in microseconds for one."""
    child = subprocess.Popen(
        (sys.executable, "-I", "-S", "-c", ECHO), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdin is not None
    assert child.stdout is not None
    write, read = child.stdin.fileno(), child.stdout.fileno()

    def batch() -> float:
        began = time.perf_counter()
        for _ in range(calls):
            os.write(write, frame)
            os.read(read, 65536)
        return (time.perf_counter() - began) / calls * 1e6

    batch()
    return batch


async def trip_us(unit: Unit, calls: int) -> float:
    """Microseconds of one empty tool call."""
    began = time.perf_counter()
    done = 0
    for number in range(calls):
        await unit.ask("tool.call", call=f"c{number}", tool="nothing", cwd="/", arguments={})
        done += 1
    assert done == calls
    return (time.perf_counter() - began) / calls * 1e6


async def round_trips(folder: Path, calls: int, batches: int) -> dict[str, float]:
    """Echo and empty call, in batches that alternate."""
    host = host_of(folder, Member(manifest(folder, "one")))
    unit = host.unit("one")
    await unit.ready()
    echo = echo_us(calls, b"x" * 120)
    await trip_us(unit, calls)
    echoes, trips = [], []
    for _ in range(batches):
        echoes.append(echo())
        trips.append(await trip_us(unit, calls))
    await host.close()
    echo_median, trip_median = statistics.median(echoes), statistics.median(trips)
    print(f"pipe echo       {echo_median:8.1f} µs  ({calls * batches} calls)")
    print(f"empty tool call {trip_median:8.1f} µs  ({calls * batches} calls)")
    return {
        "echo_us": echo_median,
        "round_trip_us": trip_median,
        "round_trip_ratio": trip_median / echo_median,
    }


async def payloads(folder: Path, size: int, repeat: int) -> dict[str, float]:
    """A large result, and one copy of as many bytes."""
    limits = PluginLimits(arena=max(2 * size, 16 * MIB))
    host = host_of(folder, Member(manifest(folder, "large", limits=limits)))
    unit = host.unit("large")
    await unit.request("tool.call", call="m", tool="make", cwd="/", arguments={"size": size})
    source, copies, results = memoryview(b"x" * size), [], []
    for number in range(repeat + 1):
        began = time.perf_counter()
        copy = bytes(source)
        copies.append(time.perf_counter() - began)
        began = time.perf_counter()
        answer = await unit.request("tool.call", call=f"g{number}", tool="give", cwd="/", arguments={})
        assert unit.arena is not None
        got = taken(unit.arena, answer["text_at"])
        results.append(time.perf_counter() - began)
        assert len(got) == len(copy) == size
    await host.close()
    copy_ms, result_ms = (statistics.median(one[1:]) * 1000 for one in (copies, results))
    print(f"one copy        {copy_ms:8.1f} ms  ({size / 1e6:g} MB, {repeat} times)")
    print(f"tool result     {result_ms:8.1f} ms  ({size / 1e6:g} MB, {repeat} times)")
    return {"copy_ms": copy_ms, "payload_ms": result_ms, "payload_percent": copy_ms / result_ms * 100}


def chains(folder: Path, count: int) -> list[Member]:
    """Plugins of which every fourth begins a chain of four that need each other."""
    members = []
    for number in range(count):
        name, first = f"p{number:02}", number % 4 == 0
        needs = () if first else (f"p{number - 1:02}",)
        made = manifest(folder, name, start="eager", provides=(name,), needs=needs)
        members.append(Member(made._replace(tools=()), needs))
    return members


def cpu_s(pid: int) -> float:
    """Processor time of a process and of the children it waited for, in seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return sum(map(int, fields[11:15])) / TICKS


def pss_mb(pid: int) -> float:
    """Its proportional share of memory, in MB."""
    rows = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(row.split()[1]) for row in rows if row.startswith("Pss:")) / 1000


async def alone_ms(folder: Path) -> float:
    """The start of one plugin with nothing beside it; the median of five."""
    found = []
    for _ in range(5):
        host = host_of(folder, Member(manifest(folder, "alone")))
        began = time.perf_counter()
        await host.unit("alone").ready()
        found.append((time.perf_counter() - began) * 1000)
        await host.close()
    return statistics.median(found)


async def starts(folder: Path, count: int) -> dict[str, float]:
    """The start of all, its bounds, and what they take at rest."""
    alone = await alone_ms(folder)
    host = host_of(folder, *chains(folder, count))
    own = time.process_time()
    began = time.perf_counter()
    await host.begin(daemon=True)
    wall = (time.perf_counter() - began) * 1000
    pids = [one.pid for one in host.standings]
    assert all(pids), host.standings
    cpu = (time.process_time() - own + sum(map(cpu_s, pids))) * 1000
    pss = sum(map(pss_mb, (*pids, os.getpid())))
    await host.close()
    cores = len(os.sched_getaffinity(0))
    bound = max(alone * min(4, count), cpu / cores)
    print(f"start of one    {alone:8.1f} ms")
    bounds = f"critical path {alone * 4:.0f}, processor time / cores {cpu / cores:.0f}"
    print(f"start of {count}    {wall:8.1f} ms  ({bounds})")
    print(f"PSS of all      {pss:8.1f} MB")
    return {
        "start_one_ms": alone, "start_ms": wall, "start_bound_ms": bound, "start_ratio": wall / bound,
        "pss_mb": pss,
    }  # fmt: skip


IDLE = """
import asyncio, os, sys
from pathlib import Path
from limnos.agent.settings import load, read_environment
from limnos.service.client import OpenRequest
from limnos.service.local import local_kernel
async def main():
    given = {"LIMNOS_HOME": sys.argv[1], "LIMNOS_MODEL": "scripted:" + sys.argv[2]}
    environment = read_environment({**os.environ, **given})
    kernel = local_kernel(load(environment), environment)
    await kernel.open(OpenRequest(cwd=sys.argv[3]))
    print(Path("/proc/self/status").read_text().split("VmRSS:")[1].split()[0], flush=True)
    await kernel.close()
asyncio.run(main())
"""


def idle(folder: Path) -> dict[str, float]:
    """The memory of a kernel with an open session and no plugin started."""
    script = folder / "script.json"
    script.write_text(json.dumps({"steps": []}))
    done = subprocess.run(
        (sys.executable, "-c", IDLE, str(folder / "home"), str(script), str(folder)),
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    size = int(done.stdout) / 1000
    print(f"idle kernel     {size:8.1f} MB")
    return {"idle_kernel_mb": size}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="fewer calls and plugins, for CI")
    parser.add_argument("--plugins", type=int, default=28, help="how many plugins start")
    parser.add_argument("--megabytes", type=int, default=100, help="the size of the payload")
    parser.add_argument("--calls", type=int, default=2000, help="calls in one of nine batches")
    given = parser.parse_args()
    calls, batches = (200, 3) if given.quick else (given.calls, 9)
    size = (10 if given.quick else given.megabytes) * 1_000_000
    count = 8 if given.quick else given.plugins
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="limnos-bench-") as name:
        folder = Path(name)
        figures |= asyncio.run(round_trips(folder, calls, batches))
        figures |= asyncio.run(payloads(folder, size, 5))
        figures |= asyncio.run(starts(folder, count))
        figures |= idle(folder)
    missed = [
        name
        for name, target in TARGETS.items()
        if (figures[name] < target if name == "payload_percent" else figures[name] > target)
    ]
    rounded = {name: round(value, 3) for name, value in figures.items()}
    print(json.dumps({**rounded, "missed": missed, "ok": given.quick or not missed}))
    return 0 if given.quick or not missed else 1


if __name__ == "__main__":
    sys.exit(main())
