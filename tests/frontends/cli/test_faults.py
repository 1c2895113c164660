"""A mistake inside a callback reaches people as two lines."""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

from limnos.frontends.cli.faults import faults_to
from tests.frontends.cli.support import environment, script, work_folder


def test_what_a_callback_raises_is_handed_over_and_nothing_is_logged() -> None:
    heard: list[BaseException] = []

    async def story() -> None:
        with faults_to(heard.append):
            asyncio.get_running_loop().call_soon(int, "no number")
            await asyncio.sleep(0)
        assert asyncio.get_running_loop().get_exception_handler() is None

    asyncio.run(story())
    assert [type(fault) for fault in heard] == [ValueError]


def test_an_input_that_cannot_be_read_ends_the_chat_with_two_lines(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    variables = environment(tmp_path, LIMNOS_MODEL=script(tmp_path, {"text": "never"}))
    done = subprocess.run(
        [sys.executable, "-m", "limnos"],
        stdin=writer, capture_output=True, text=True,
        env=variables, cwd=work_folder(tmp_path), timeout=60, check=False,
    )  # fmt: skip
    os.close(writer)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    what, fix = done.stderr.strip().split("\n")[-2:]
    assert what.startswith("error: limnos made a mistake: OSError")
    assert fix.startswith("fix: report it with ")


def test_a_folder_that_was_removed_meanwhile_is_told_in_two_lines(tmp_path: Path) -> None:
    folder = work_folder(tmp_path) / "gone"
    folder.mkdir()
    done = subprocess.run(
        ["bash", "-c", f"rmdir ../gone; {sys.executable} -m limnos run hi"],
        capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60, check=False,
        env=environment(tmp_path, LIMNOS_MODEL=script(tmp_path, {"text": "never"})), cwd=folder,
    )  # fmt: skip

    what, fix = done.stderr.splitlines()
    assert (done.returncode, fix) == (2, "fix: go to a folder that is there")
    assert what == "error: the folder that limnos was started in is gone"


def test_a_home_below_a_file_names_the_variable_that_says_where_it_lies(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = subprocess.run(
        [sys.executable, "-m", "limnos", "run", "hi"],
        capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60, check=False,
        env=environment(
            tmp_path,
            LIMNOS_MODEL=script(tmp_path, {"text": "never"}),
            LIMNOS_HOME=str(tmp_path / "file" / "home"),
        ),
        cwd=work_folder(tmp_path),
    )  # fmt: skip

    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "fix: make it writable, or name another home in LIMNOS_HOME"
