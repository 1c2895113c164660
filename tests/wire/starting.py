"""Start a plugin's process with inherited descriptors and talk to it, never for longer than a limit."""

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from limnos.wire.arena import Arena
from limnos.wire.ring import EventRing, Registration
from tests.architecture.source import ROOT

LIMIT_S = 120.0


class Plugin:
    """A started process."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self.process = process
        self._rest = b""

    def say(self, value: object) -> None:
        """One line to the plugin."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(value).encode() + b"\n")
        self.process.stdin.flush()

    def hear(self) -> Any:
        """Its next line."""
        assert self.process.stdout is not None
        end = time.monotonic() + LIMIT_S
        while b"\n" not in self._rest:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0.0, end - time.monotonic()))
            assert ready, "the plugin says nothing"
            piece = os.read(self.process.stdout.fileno(), 65_536)
            assert piece, f"the plugin ended with {self.process.wait(10)}"
            self._rest += piece
        line, _, self._rest = self._rest.partition(b"\n")
        return json.loads(line)

    def ask(self, value: object) -> Any:
        """Say and hear."""
        self.say(value)
        return self.hear()

    def kill(self) -> None:
        """End it at once."""
        self.process.kill()
        self.process.wait(10)


@contextmanager
def started(job: str, descriptors: Sequence[int], **arguments: object) -> Iterator[Plugin]:
    """A process that does a job of tests/wire/plugin.py; ended at the end."""
    command = [sys.executable, "-m", "tests.wire.plugin", job, json.dumps(arguments)]
    process = subprocess.Popen(
        command, cwd=ROOT, pass_fds=descriptors, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with process:
        try:
            yield Plugin(process)
        finally:
            process.kill()


def with_arena(job: str, arena: Arena, **arguments: object) -> "Any":
    """A job that has the arena."""
    return started(job, [arena.descriptor], arena=arena.descriptor, size=arena.size, **arguments)


def with_ring(job: str, ring: EventRing, reader: Registration, **arguments: object) -> "Any":
    """A job that reads the ring."""
    known = {"ring": ring.descriptor, "eventfd": reader.eventfd, "after": reader.after}
    return started(job, [ring.descriptor, reader.eventfd], **known, **arguments)


def held() -> tuple[int, int]:
    """How many descriptors this process has open, and how many segments of limnos it maps."""
    maps = Path("/proc/self/maps").read_text()
    return len(os.listdir("/proc/self/fd")), maps.count("memfd:limnos-")
