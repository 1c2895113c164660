"""What `limnos plugins` does for those who write plugins: begin one, run its tests, check it."""

import asyncio
import codecs
import importlib.util
import shutil
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Annotated

from limnos.agent.settings import COMMAND_MARK
from limnos.frontends.cli.console import Console
from limnos.frontends.cli.escapes import one_line, visible
from limnos.frontends.cli.output import to_stdout
from limnos.frontends.cli.plugins_view import each_fault_shown
from limnos.frontends.cli.words import Argument, Option
from limnos.kernel.errors import LimitError, StorageError, UsageError
from limnos.plugins.reading import FILE, read_manifest
from limnos.plugins.scaffold import scaffold
from limnos.process.capture import run
from limnos.process.spawn import ChildSpec
from limnos.testing.plugins import run_conformance, run_conformance_of

_TEST_SECONDS = 300
_Name = Annotated[str, Argument(metavar="NAME", help="the name of the plugin")]


def new_plugin(
    console: Console,
    name: _Name,
    folder: Annotated[str, Option("--folder", metavar="DIR", help="where it is to lie (here)")] = ".",
) -> None:
    """Begin a plugin in Python, with a test."""
    made = scaffold(name, Path(folder))
    console.done(f"wrote {one_line(str(made))}", f"limnos plugins test {one_line(str(made))}")


def run_tests(
    console: Console,
    folder: Annotated[str, Argument(metavar="DIR", help="the folder of the plugin")],
    seconds: Annotated[int, Option("--seconds", metavar="N", help="at most N seconds (300)")] = _TEST_SECONDS,
) -> int:
    """Run the tests of a plugin, with your rights."""
    if seconds < 1:
        raise UsageError(f"--seconds is {seconds}, and must be at least 1", "limnos plugins test DIR")
    place = _plugin_folder(console, folder)
    spec = ChildSpec((sys.executable, "-B", "-m", *_runner()), str(place), _test_environment(console))
    done = asyncio.run(run(spec, timeout_s=seconds, on_output=_PassedOn()))
    if done.timed_out:
        raise LimitError(f"the tests took more than {seconds} s", "limnos plugins test DIR --seconds N")
    return 1 if done.exit else 0


def check_conformance(
    console: Console,
    words: Annotated[list[str], Argument(metavar="DIR", help="the folder of the plugin, or a command")],
    as_json: Annotated[bool, Option("--json", help="one record a line")] = False,
) -> int:
    """Check that a plugin keeps to the protocol; runs with your rights."""
    if Path(words[0]).is_dir():
        report = run_conformance(_plugin_folder(console, words[0]))
    else:
        report = run_conformance_of([_program(words[0]), *words[1:]], Path.cwd())
    if as_json:
        for one in report.found:
            console.record(one._asdict())
    else:
        console.data(f"{visible(report.text())}\n")
    return 0 if report.passed else 1


def _program(name: str) -> str:
    """The file of a program. Raises UsageError."""
    found = shutil.which(name)
    if found is None:
        raise UsageError(
            f"{one_line(name)} is neither a folder nor a program", "limnos plugins conformance DIR"
        )
    return str(Path(found).absolute())


def _plugin_folder(console: Console, folder: str) -> Path:
    """The folder of a plugin whose manifest can be read."""
    place = Path(folder).absolute()
    if not (place / FILE).is_file():
        raise UsageError(f"{one_line(folder)} is no folder of a plugin", "limnos plugins new NAME makes one")
    with each_fault_shown(console):
        read_manifest(place)
    return place


def _runner() -> tuple[str, ...]:
    if importlib.util.find_spec("pytest") is not None:
        return "pytest", "-q", "-p", "no:cacheprovider"
    return "unittest", "discover"


def _test_environment(console: Console) -> Mapping[str, str]:
    known = console.environment.child_environment()
    return {name: value for name, value in known.items() if name != COMMAND_MARK}


class _PassedOn:
    """Prints what a program says as it comes; where it cannot be printed the program runs on."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def __call__(self, data: bytes) -> None:
        with suppress(BrokenPipeError, StorageError):
            to_stdout(visible(self._decoder.decode(data)))
