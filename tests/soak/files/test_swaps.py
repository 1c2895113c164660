"""Another process swaps names as fast as it can while the door works: nothing outside is ever touched."""

import mmap
import shutil
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from limnos.kernel.tools import ToolFailure
from limnos.sdk.files import Files
from tests.architecture.source import ROOT
from tests.sdk.races import CANARY, ByPath, Outside
from tests.sdk.ways import WAYS, go

NORMAL, SOAK, TORTURE = 50, 1_000, 100_000
DEADLINE_S = 3_000
PATHS = ("sub/a.txt", "top.txt", "sub/deep/a.txt")
OPERATIONS: dict[str, Callable[[Files, str], object]] = {
    "name": lambda files, path: files.name(path),
    "read": lambda files, path: files.read(path),
    "write": lambda files, path: files.write(path, b"ours"),
    "edit": lambda files, path: files.change(path, lambda before: (before or b"")[-8:] + b"x"),
    "list": lambda files, path: files.list(path.rpartition("/")[0] or "."),
    "walk": lambda files, path: list(files.walk(".")),
    "near": lambda files, path: files.near(f"{path}x"),
    "remove": lambda files, path: files.remove(path),
    "restore": lambda files, path: files.restore(path, b"mine", instead_of=None),
}


@contextmanager
def swapping(folder: Path) -> Iterator[tuple[Path, Outside, Callable[[], int]]]:
    """The folder that is worked in, the one outside, and how many swaps there were."""
    work, counter = folder / "work", folder / "counter"
    (work / "sub" / "deep").mkdir(parents=True)
    for path in PATHS:
        (work / path).write_text("mine")
    (work / "sub-link").symlink_to("../outside")
    (work / "top-link").symlink_to("../outside/secret.txt")
    counter.write_bytes(bytes(8))
    command = [sys.executable, "-m", "tests.soak.files.swapper", str(work), str(counter)]
    with closing(Outside(folder / "outside")) as outside, counter.open("r+b") as file:
        swapper = subprocess.Popen(command, cwd=ROOT)
        try:
            with mmap.mmap(file.fileno(), 8) as shared:
                yield work, outside, lambda: int(struct.unpack_from("q", shared, 0)[0])
        finally:
            swapper.kill()
            swapper.wait(10)


def race(operation: str, times: int, folder: Path) -> None:
    """The operation so many times, at least so many swaps, and one that succeeds between them.

    The opposite operation puts back what was taken.
    """
    with swapping(folder) as (work, outside, swaps):
        files = Files(work)
        end = time.monotonic() + DEADLINE_S
        said: set[str] = set()
        done = 0
        while not swaps():
            assert time.monotonic() < end, "the other process does not start"
        first = swaps()
        while done < times or swaps() - first < times or not any(one.startswith("done") for one in said):
            assert time.monotonic() < end, f"{done} of {times} done, {swaps() - first} swaps"
            path = PATHS[done % len(PATHS)]
            said.add(_outcome(OPERATIONS[operation], files, path))
            if operation in ("remove", "restore"):
                other = "restore" if operation == "remove" else "remove"
                said.add(_outcome(OPERATIONS[other], files, path))
            done += 1
        assert outside.accesses() == []
        assert outside.changed() == []
        assert not [one for one in said if CANARY in one or "secret.txt" in one]
    shutil.rmtree(folder / "work")


def _outcome(operation: Callable[[Any, str], object], files: Any, path: str) -> str:
    try:
        return f"done {operation(files, path)!r}"
    except ToolFailure as failure:
        return f"{failure.error.reason} {failure.error.detail}"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_swaps_by_another_process_lead_nowhere(
    operation: str, way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go(way, monkeypatch)
    race(operation, NORMAL, tmp_path)


@pytest.mark.soak
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_thousand_swaps_lead_nowhere(
    operation: str, way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go(way, monkeypatch)
    race(operation, SOAK, tmp_path)


@pytest.mark.torture
@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_hundred_thousand_swaps_lead_nowhere(operation: str, tmp_path: Path) -> None:
    race(operation, TORTURE, tmp_path)


@pytest.mark.soak
@pytest.mark.parametrize("operation", ["read", "write"])
def test_a_door_by_path_lets_the_same_swaps_through(operation: str, tmp_path: Path) -> None:
    with swapping(tmp_path) as (work, outside, _):
        files, end, harmed = ByPath(work), time.monotonic() + 60, False
        while not harmed:
            assert time.monotonic() < end, "the twin was never fooled"
            with suppress(ToolFailure, OSError):
                OPERATIONS[operation](files, "top.txt")
            harmed = bool(outside.accesses())
