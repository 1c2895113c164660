"""What the door to files costs: a read through `sdk.files` against a bare `open().read()`, in one run.

usage: python benchmarks/files.py [--quick] [--data FOLDER]

Unit: seconds a read, median over rounds; the two contenders take turns within a round, so that a busy
machine slows both. The file of 1 kB lies one folder below the root, as most do; the door also refuses a home
of limnos beside it. `--data` names a folder to put the files in (another disk); a temporary one if absent.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from limnos.sdk.beneath import has_openat2
from limnos.sdk.files import Files

SIZES = {"1kb": (1_000, 400), "10mb": (10_000_000, 4)}  # bytes, reads in one timing
TARGETS = {"read_1kb_ratio": 2.0, "read_10mb_ratio": 1.1}


def seconds(read: Callable[[], bytes], count: int, size: int) -> float:
    """Seconds a read over `count` reads; each must have given the whole file."""
    done = 0
    start = time.perf_counter()
    for _ in range(count):
        done += len(read())
    taken = time.perf_counter() - start
    if done != count * size:
        raise SystemExit(f"{done} of {count * size} bytes were read: this is no measurement")
    return taken / count


def measure(folder: Path, rounds: int) -> dict[str, float]:
    """The ratios of the medians, and a table on standard output."""
    root, home = folder / "work", folder / "home"
    (root / "src").mkdir(parents=True)
    home.mkdir()
    files = Files(root, refused=(home,))
    figures: dict[str, float] = {}
    print("| file | reads | bare, us | through the door, us | ratio |\n|---|---|---|---|---|")
    for name, (size, count) in SIZES.items():
        path = root / "src" / name
        path.write_bytes(os.urandom(size))
        bare = partial_bare(str(path))
        door = partial_door(files, f"src/{name}")
        pairs = [(seconds(bare, count, size), seconds(door, count, size)) for _ in range(rounds)]
        one, other = (statistics.median(column) for column in zip(*pairs, strict=True))
        figures[f"read_{name}_ratio"] = round(other / one, 3)
        print(f"| {name} | {rounds * count} | {one * 1e6:.1f} | {other * 1e6:.1f} | {other / one:.2f} |")
    return figures


def partial_bare(path: str) -> Callable[[], bytes]:
    """The baseline."""

    def read() -> bytes:
        with open(path, "rb") as file:
            return file.read()

    return read


def partial_door(files: Files, name: str) -> Callable[[], bytes]:
    """The contender."""
    return lambda: files.read(name)


def main() -> int:
    """Measure, print the table, end with one JSON object; 1 when a target is missed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--data", type=Path, help="a folder to put the files in")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.data) as folder:
        figures = measure(Path(folder), 15 if given.quick else 61)
    ok = all(figures[name] <= target for name, target in TARGETS.items())
    print(json.dumps({**figures, "openat2": has_openat2(), "ok": ok}))
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
