"""Whether a plugin, in whatever language, keeps to the protocol: `run_conformance(folder).text()`.

It starts the program, without a sandbox and with your rights, and calls those of its tools that have no
effects.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from limnos.plugins.manifest import Manifest
from limnos.plugins.reading import read_manifest
from limnos.sdk.peer import NoAnswerError
from limnos.sdk.wire import RefusedError
from limnos.testing.plugin_checks import CHECKS, Check, LeftOut, Subject
from limnos.wire.arena import RangeError


class Found(NamedTuple):
    """What a check found. `came` is what came instead, or why it was left out; empty when it passed."""

    id: str
    sentence: str
    state: Literal["passed", "failed", "left out"]
    came: str = ""


class Report(NamedTuple):
    """All checks of one plugin, in order."""

    plugin: str
    found: tuple[Found, ...]

    @property
    def passed(self) -> bool:
        """Whether none failed."""
        return all(one.state != "failed" for one in self.found)

    def text(self) -> str:
        """For people: one line for each check, then a sum."""
        lines = [
            f"{one.state:8}  {one.id}: {one.sentence}{f'; came: {one.came}' if one.state == 'failed' else ''}"
            f"{f' ({one.came})' if one.state == 'left out' else ''}"
            for one in self.found
        ]
        counts = [sum(one.state == state for one in self.found) for state in ("passed", "failed", "left out")]
        return "\n".join([*lines, "{}: {} passed, {} failed, {} left out".format(self.plugin, *counts)])

    def as_json(self) -> dict[str, Any]:
        """The same as one JSON object."""
        return {
            "plugin": self.plugin,
            "passed": self.passed,
            "checks": [one._asdict() for one in self.found],
        }


def run_conformance(folder: Path, samples: Mapping[str, Mapping[str, Any]] | None = None) -> Report:
    """Check the plugin in `folder`. `samples` are arguments for tools that could not be called otherwise.

    Raises ManifestError when its `plugin.toml` is wrong. Takes some seconds; every wait has a limit.
    """
    return _report(Subject(folder, read_manifest(folder), samples or {}))


def run_conformance_of(command: Sequence[str], folder: Path) -> Report:
    """Check a program that has no `plugin.toml` yet, run in `folder`; what needs tools is left out."""
    manifest = Manifest(Path(command[0]).name, "0", "a command", str(folder), tuple(command))
    return _report(Subject(folder, manifest, command=tuple(command)))


def _report(subject: Subject) -> Report:
    return Report(subject.manifest.name, tuple(_found(check, subject) for check in CHECKS))


def _found(check: Check, subject: Subject) -> Found:
    try:
        came = check.run(subject)
    except LeftOut as reason:
        return Found(check.id, check.sentence, "left out", str(reason))
    except RefusedError as refused:
        came = f"it refused: {refused}"
    except (NoAnswerError, RangeError, OSError, TypeError) as error:
        came = str(error)
    return Found(check.id, check.sentence, "failed" if came else "passed", came)
