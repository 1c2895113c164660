"""What running a command inside the sandbox costs over running it bare.

usage: python benchmarks/sandbox.py [--quick] [--repeat N]

Unit: milliseconds from the start of `/bin/true` to its known end, the launcher included, median of runs that
alternate between bare and sandboxed in one process, in a workspace that is a git repository with 200 files
and lies beside this file.
The sandbox is the one that commands get: mounts, stand-ins, filter and Landlock rules. Target: at most 15 ms
more than bare.
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
from pathlib import Path

from limnos.process.capture import run
from limnos.process.profile import Profile
from limnos.process.sandbox import NoSandbox, Sandbox, probe
from limnos.process.spawn import ChildSpec

TARGET_MS = 15.0


def workspace(folder: Path) -> Path:
    """A repository of 20 folders with 10 files each."""
    for number in range(200):
        file = folder / f"part{number % 20}" / f"file{number}.txt"
        file.parent.mkdir(exist_ok=True)
        file.write_text(str(number))
    subprocess.run(("git", "init", "--quiet", str(folder)), check=True)
    return folder


async def bare(spec: ChildSpec) -> None:
    """One run without a sandbox."""
    assert (await run(spec, timeout_s=20)).exit == 0


async def sandboxed(sandbox: Sandbox, spec: ChildSpec, profile: Profile) -> None:
    """One run inside."""
    with sandbox.enter(spec, profile) as inner:
        done = await run(inner, timeout_s=20)
    assert done.exit == 0, done.output


async def measure(sandbox: Sandbox, folder: Path, repeat: int) -> tuple[list[float], list[float]]:
    """Milliseconds of each bare and each sandboxed run."""
    spec = ChildSpec(("/bin/true",), str(folder), {"PATH": os.environ["PATH"], "HOME": str(Path.home())})
    profile = Profile(str(folder), (str(Path.home() / ".limnos"),))
    plain: list[float] = []
    inside: list[float] = []
    for _ in range(repeat):
        began = time.perf_counter()
        await bare(spec)
        between = time.perf_counter()
        await sandboxed(sandbox, spec, profile)
        plain.append((between - began) * 1000)
        inside.append((time.perf_counter() - between) * 1000)
    return plain, inside


def main() -> int:
    """Measure, print the table, end with one JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="fewer repetitions")
    parser.add_argument("--repeat", type=int, default=200)
    parser.add_argument("--data", help="ignored: this benchmark needs none")
    given = parser.parse_args()
    sandbox = probe()
    if isinstance(sandbox, NoSandbox):
        raise SystemExit(f"{sandbox.why}; {sandbox.fix}")
    with tempfile.TemporaryDirectory(dir=Path(__file__).parent) as folder:
        repeat = 40 if given.quick else given.repeat
        plain, inside = asyncio.run(measure(sandbox, workspace(Path(folder)), repeat))
    added = [more - less for less, more in zip(plain, inside, strict=True)]
    print(f"{len(plain)} paired runs\n| run | ms, median | min | max |\n|---|---|---|---|")
    for name, values in (("bare", plain), ("sandboxed", inside), ("added", added)):
        print(f"| {name} | {statistics.median(values):.2f} | {min(values):.2f} | {max(values):.2f} |")
    said = {
        "bare_ms": round(statistics.median(plain), 2),
        "sandboxed_ms": round(statistics.median(inside), 2),
        "added_ms": round(statistics.median(added), 2),
    }
    print(json.dumps({**said, "ok": said["added_ms"] <= TARGET_MS}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
