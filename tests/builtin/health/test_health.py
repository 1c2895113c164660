"""How the machine does, from what the machine says."""

import os
from pathlib import Path

import pytest

from limnos import __version__
from limnos.builtin.health import host
from limnos.builtin.health.host import look
from limnos.kernel.events import ApprovalAsked, CallFinished, Event
from limnos.service.client import Session
from tests.agent.tools import Toolbox
from tests.service.house import House, Talk, call, run, step


def test_it_tells_what_the_machine_is_and_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").symlink_to("/bin/sh")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    text = Toolbox(tmp_path / "work").text("health")

    assert f"limnos {__version__} on {os.uname().sysname}" in text
    assert "not installed: node, bwrap, rg, chromium" in text
    for said in ("up: ", "processors: ", "memory: ", "disk of the working folder: "):
        assert said in text


def test_the_figures_are_those_of_the_system(tmp_path: Path) -> None:
    found, disk = look(str(tmp_path)), os.statvfs(tmp_path)

    assert found.disk == disk.f_blocks * disk.f_frsize
    assert found.memory == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert 0 < found.available <= found.memory
    assert found.uptime_s
    assert found.processors >= 1
    assert set(found.missing) <= set(host.PROGRAMS)


def test_arguments_are_refused_and_a_folder_that_is_gone_is_a_failure(tmp_path: Path) -> None:
    box = Toolbox(tmp_path / "work")
    assert box.fault("health", anything=1).reason == "invalid_arguments"
    with pytest.raises(FileNotFoundError):
        look(str(tmp_path / "gone"))


def test_in_a_session_nobody_is_asked(tmp_path: Path) -> None:
    house = House(tmp_path)

    def nobody_is_asked(session: Session, event: Event) -> None:
        assert not isinstance(event, ApprovalAsked)

    async def story() -> Talk:
        kernel = house.kernel(step("", call("health")), step("Well.", expect=["processors: "]))
        talk = await house.open(kernel)
        await talk.say("how is it", nobody_is_asked)
        await kernel.close()
        return talk

    talk = run(story())

    assert talk.of(CallFinished)[0].outcome == "done"
    assert house.divergence(talk) is None
