"""The checks of conformance: the examples pass in three languages, and each fault is found by its check."""

import shutil
import sys
from pathlib import Path

import pytest

from limnos.testing.plugin_checks import CHECKS
from limnos.testing.plugins import run_conformance, run_conformance_of
from tests.architecture.source import ROOT

EXAMPLES = ROOT / "docs" / "examples" / "plugins"
MANIFEST = """\
name = "faulty"
version = "1"
description = "Has a fault."
protocol = 1
entry = ["./run.sh"]
provides = ["echo"]

[[tools]]
name = "echo"
description = "says it again"
effects = "none"
needs_approval = false
[tools.parameters.text]
type = "string"
description = "what"
required = true

[[tools]]
name = "wait"
description = "waits"
effects = "none"
needs_approval = false
[tools.parameters.seconds]
type = "integer"
description = "how long"
minimum = 1
maximum = 60
required = true

[[stages]]
name = "look"
stage = "on_input"
"""
FAULTS = {
    "protocol": "handshake",
    "any version": "handshake.version",
    "ready twice": "start.ready",
    "no facility": "start.ready",
    "busy loop": "ping.busy",
    "any method": "method.unknown",
    "garbage": "frame.garbage",
    "pieces": "frame.pieces",
    "short lines": "frame.large",
    "ids": "frame.ids",
    "no arena": "arena.arguments",
    "two answers": "call.concurrent",
    "no answer": "call.concurrent",
    "no cancel": "call.cancel",
    "nul": "call.unicode",
    "number": "call.unicode",
    "no error": "call.error",
    "wrong error": "call.error",
    "descriptors": "call.descriptors",
    "outcome": "stage.outcome",
    "rewrite": "stage.outcome",
    "no stop": "stop",
    "no end": "stop.orphan",
    "print": "output.clean",
}


@pytest.mark.parametrize("language", ["shell", "node", "python"])
def test_an_example_keeps_to_the_protocol(language: str) -> None:
    assert shutil.which({"shell": "sh", "node": "node", "python": "python3"}[language])

    report = run_conformance(EXAMPLES / language)

    assert report.passed, report.text()
    assert sum(one.state == "left out" for one in report.found) <= 1, report.text()


def faulty(folder: Path, fault: str) -> Path:
    """The folder of a plugin with that fault."""
    shutil.copy(Path(__file__).with_name("faulty.py"), folder / "faulty.py")
    (folder / "plugin.toml").write_text(MANIFEST)
    run = folder / "run.sh"
    run.write_text(f"#!/bin/sh\nexec {sys.executable} faulty.py '{fault}'\n")
    run.chmod(0o700)
    return folder


def test_a_plugin_by_hand_passes_all_checks(tmp_path: Path) -> None:
    report = run_conformance(faulty(tmp_path, "none"))

    assert {one.state for one in report.found} == {"passed"}, report.text()


def test_a_command_without_a_manifest_is_checked_for_what_needs_no_tool() -> None:
    report = run_conformance_of(["sh", "plugin.sh"], EXAMPLES / "shell")

    assert report.passed, report.text()
    assert {one.id for one in report.found if one.state == "left out"} == {
        "ping.busy",
        "arena.arguments",
        "call.concurrent",
        "call.cancel",
        "call.unicode",
        "call.descriptors",
        "stage.outcome",
    }
    assert not run_conformance_of(["no-such-program"], EXAMPLES).passed


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_found_by_its_check(fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("limnos.testing.plugin_checks.ANSWER_S", 1.0)
    monkeypatch.setattr("limnos.testing.plugin_checks.BUSY_S", 2.0)
    monkeypatch.setattr("limnos.testing.plugin_checks.END_S", 1.0)
    monkeypatch.setattr("limnos.sdk.harness.END_S", 0.5)
    monkeypatch.setattr("limnos.testing.plugins.CHECKS", [one for one in CHECKS if one.id == FAULTS[fault]])

    report = run_conformance(faulty(tmp_path, fault))

    assert [one.state for one in report.found] == ["failed"], report.text()
    assert report.found[0].came
    assert report.as_json()["passed"] is False


def test_every_check_finds_a_fault() -> None:
    assert {one.id for one in CHECKS} == set(FAULTS.values())
