"""Commands: what comes back, what is bounded, and that nothing is left running."""

import asyncio
from pathlib import Path

import pytest

from limnos.kernel.tools import Output
from tests.agent.tools import Toolbox
from tests.processes import ends, sleep_of_its_own


@pytest.fixture
def box(tmp_path: Path) -> Toolbox:
    return Toolbox(tmp_path / "work")


def ran(box: Toolbox, command: str, **more: object) -> Output:
    output = box.call("run_command", command=command, **more)
    assert isinstance(output, Output)
    return output


def test_output_and_status_come_back_in_order_and_live(box: Toolbox) -> None:
    output = ran(box, "echo out; echo err >&2; echo end")

    assert (output.text, output.exit, output.error) == ("out\nerr\nend\n", 0, None)
    assert "".join(box.said) == output.text


def test_silence_is_said_to_be_silence(box: Toolbox) -> None:
    assert ran(box, "true").text == "(exit 0, no output)"


@pytest.mark.parametrize(
    ("command", "exit_status", "says"),
    [
        ("exit 3", 3, "exit status 3"),
        ("kill -9 $$", 137, "as after signal 9"),
        ("no-such-program", 127, "127"),
        ("if", 2, "2"),
    ],
)
def test_a_failed_command_is_a_failure_with_its_output(
    box: Toolbox, command: str, exit_status: int, says: str
) -> None:
    output = ran(box, f"echo before\n{command}")

    assert output.exit == exit_status
    assert output.error is not None
    assert output.error.reason == "failed"
    assert says in output.error.detail
    assert output.error.hint
    if command != "if":
        assert output.text.startswith("before\n")


def test_much_output_is_kept_at_both_ends(box: Toolbox) -> None:
    output = ran(box, "echo begin; head -c 5000000 /dev/zero | tr '\\0' x; echo; echo finish")

    assert len(output.text) < 1_000_200
    assert output.text.startswith("begin\n")
    assert output.text.endswith("finish\n")
    assert "bytes left out" in output.text


def test_output_that_is_no_text_is_shown_as_well_as_can_be(box: Toolbox) -> None:
    assert ran(box, "printf 'a\\xff\\0b'").text == "a\ufffd\x00b"


def test_a_command_that_takes_too_long_is_killed_with_its_children(box: Toolbox) -> None:
    sleep = sleep_of_its_own()
    output = ran(box, f"{sleep} & echo begun; wait", timeout_s=1)

    assert output.error is not None
    assert (output.error.reason, output.text) == ("timeout", "begun\n")
    assert "killed" in output.error.detail
    assert ends(sleep)


def test_a_command_that_ignores_its_end_is_killed(box: Toolbox) -> None:
    sleep = sleep_of_its_own()
    output = ran(box, f"trap '' TERM; ({sleep}); while true; do sleep 0.1; done", timeout_s=1)

    assert output.error is not None
    assert ends(sleep)


def test_a_cancelled_command_is_killed_with_its_children(box: Toolbox) -> None:
    sleep = sleep_of_its_own()

    async def story() -> None:
        work = asyncio.ensure_future(box.start("run_command", command=f"{sleep} & echo begun; wait"))
        while "begun\n" not in box.said:
            await asyncio.sleep(0)
        work.cancel()
        with pytest.raises(asyncio.CancelledError):
            await work

    asyncio.run(asyncio.wait_for(story(), 30))

    assert ends(sleep)


def test_what_a_command_leaves_in_the_background_is_gone_when_it_ends(box: Toolbox) -> None:
    sleep = sleep_of_its_own()
    output = ran(box, f"({sleep} &) ; setsid {sleep} & echo done")

    assert output.text == "done\n"
    assert ends(sleep)


def test_a_command_sees_the_declared_environment_and_no_key(
    box: Toolbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "not-for-you")
    monkeypatch.setenv("LIMNOS_HOME", "/secret")

    names = {line.split("=")[0] for line in ran(box, "env").text.splitlines()}

    assert {"PATH", "HOME", "TERM"} <= names
    assert names <= {"PATH", "HOME", "TERM", "PWD", "OLDPWD", "SHLVL", "_"}


def test_a_command_reads_nothing_from_us_and_runs_in_the_folder(box: Toolbox) -> None:
    assert ran(box, "cat; pwd -P").text == f"{box.root.resolve()}\n"


def test_a_folder_that_is_gone_is_unavailable(box: Toolbox) -> None:
    box.root.rmdir()

    assert box.fault("run_command", command="true").reason == "unavailable"


def test_a_command_line_that_is_too_long_is_a_failure(box: Toolbox) -> None:
    assert box.fault("run_command", command="true " + "x" * 3_000_000).reason in ("unavailable", "failed")


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"command": ""},
        {"command": "a\x00b"},
        {"command": "true", "timeout_s": 0},
        {"command": "true", "timeout_s": 1e9},
    ],
)
def test_arguments_that_do_not_fit_run_nothing(box: Toolbox, arguments: dict[str, object]) -> None:
    assert box.fault("run_command", **arguments).reason == "invalid_arguments"


def test_it_shows_the_whole_command(box: Toolbox) -> None:
    tool = box.tools["run_command"]

    assert tool.private
    assert box.preview("run_command", command="rm -rf x\n# harmless").text == "rm -rf x\n# harmless"
