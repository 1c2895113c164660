"""Code runs in the sandbox: it reads the folder, changes nothing, sends nothing, and ends in time."""

import os
import socket
import threading
from pathlib import Path

import pytest

from limnos.agent.toolbox.code import Code
from limnos.builtin.code import scratch as scratches
from limnos.builtin.code.scratch import Scratch, is_full, removed, removed_leftovers
from limnos.builtin.code.tools import leave
from limnos.kernel.events import ApprovalAsked, CallFinished, CallStarted, Event
from limnos.kernel.tools import Output, asks_of, findings_of
from limnos.process.profile import NoSandbox
from limnos.service.client import Session
from tests.agent.tools import Toolbox
from tests.builtin.children import running
from tests.processes import ends, sleep_of_its_own
from tests.service.house import House, Talk, call, run, step


@pytest.fixture
def box(tmp_path: Path) -> Toolbox:
    return Toolbox(tmp_path / "work")


def failed(box: Toolbox, name: str, **arguments: object) -> Output:
    output = box.call(name, **arguments)
    assert isinstance(output, Output)
    assert output.error is not None
    return output


@pytest.mark.parametrize(
    ("name", "code"),
    [("run_python", "print(6 * 7)"), ("run_node", "console.log(6 * 7)")],
)
def test_code_says_what_it_prints_and_needs_no_yes_in_a_sandbox(box: Toolbox, name: str, code: str) -> None:
    assert box.text(name, code=code) == "42\n"
    assert not asks_of(box.tools[name], {"code": code})
    assert not findings_of(box.tools[name], {"code": code}).always


def test_without_a_sandbox_every_call_asks_in_every_mode(
    box: Toolbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = box.commands.bench._replace(sandbox=lambda: NoSandbox("not here", "install it"))
    monkeypatch.setattr(box.commands, "_bench", bare)
    tool = box.tools["run_python"]

    assert asks_of(tool, {"code": "1"})
    assert "not here" in findings_of(tool, {"code": "1"}).always


def test_the_folder_can_be_read_by_its_names_and_not_changed(box: Toolbox) -> None:
    (box.root / "data.csv").write_text("1\n2\n")
    assert box.text("run_python", code="print(sum(map(int, open('data.csv'))))") == "3\n"

    for code in ("open('new', 'w')", "open('data.csv', 'a')", "import os; os.remove('data.csv')"):
        assert "Read-only file system" in failed(box, "run_python", code=code).text
    assert sorted(path.name for path in box.root.iterdir()) == ["data.csv"]


def test_the_scratch_folder_is_kept_for_the_session_and_gone_with_it(box: Toolbox) -> None:
    place = Path(box.text("run_python", code="import os; print(os.environ['SCRATCH'])").strip())
    box.text("run_python", code="import os; open(os.environ['SCRATCH'] + '/x', 'w').write('kept')")
    assert box.text(
        "run_node", code="console.log(require('fs').readFileSync(process.env.SCRATCH + '/x', 'utf8'))"
    )

    leave(box.session)

    assert not place.exists()


def test_no_byte_leaves_the_machine_nor_reaches_a_server_on_it(box: Toolbox) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        code = f"import socket; socket.create_connection(('127.0.0.1', {server.getsockname()[1]}), 2)"
        assert "ConnectionRefusedError" in failed(box, "run_python", code=code).text
        server.setblocking(False)
        with pytest.raises(BlockingIOError):
            server.accept()


def test_keys_and_the_state_of_limnos_are_out_of_sight(box: Toolbox) -> None:
    (box.root / ".limnos").mkdir()
    (box.root / ".limnos" / "secrets.toml").write_text("key")

    assert box.text(
        "run_python", code="import os; print(os.listdir('.limnos'), sorted(os.environ))"
    ).startswith("[]")


def test_endless_code_is_killed_with_what_it_started(box: Toolbox) -> None:
    sleep = sleep_of_its_own()
    code = f"import subprocess; print('begun', flush=True); subprocess.run({sleep.split()!r})"
    output = failed(box, "run_python", code=code, timeout_s=1)

    assert output.error is not None
    assert output.error.reason == "timeout"
    assert output.text == "begun\n"
    assert ends(sleep)


def test_much_output_is_kept_at_both_ends(box: Toolbox) -> None:
    text = box.text("run_python", code="print('begin'); print('x' * 5_000_000); print('end')")

    assert text.startswith("begin\n")
    assert text.endswith("end\n")
    assert len(text) < 1_000_200


@pytest.mark.parametrize(
    "code",
    [
        "x = bytearray(3 << 30)",
        "f = open('/tmp/x', 'wb')\nfor i in range(4000): f.write(bytes(1 << 20))",
        "for i in range(9):\n f = open(f'/dev/shm/{i}', 'wb')\n for j in range(60): f.write(bytes(1 << 20))",
    ],
)
def test_memory_is_bounded_also_as_files(box: Toolbox, code: str) -> None:
    assert failed(box, "run_python", code=code).exit


def test_who_writes_too_much_is_killed_and_the_scratch_folder_emptied(
    box: Toolbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scratches, "MOST_BYTES", 1 << 20)
    code = """import os, time
with open(os.environ['SCRATCH'] + '/big', 'wb') as file:
    file.write(bytes(4 << 20))
time.sleep(1000)"""
    output = failed(box, "run_python", code=code)

    assert output.summary == "killed, wrote too much"
    assert box.text("run_python", code="import os; print(os.listdir(os.environ['SCRATCH']))") == "[]\n"


@pytest.mark.parametrize("given", [{}, {"code": ""}, {"code": "1", "timeout_s": 301}, {"code": 5}])
def test_arguments_that_do_not_fit_run_nothing(box: Toolbox, given: dict[str, object]) -> None:
    assert box.fault("run_python", **given).reason == "invalid_arguments"


def test_a_language_that_is_not_installed_has_no_tool(box: Toolbox, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    os.symlink("/bin/sh", tmp_path / "bin" / "python3")
    bare = box.commands.bench._replace(environment={"PATH": str(tmp_path / "bin")})
    box.commands._bench = bare  # pyright: ignore[reportPrivateUsage]
    code = Code(box.commands, tmp_path)

    assert code.looked_at(box.tools["run_node"]) is None
    assert code.looked_at(box.tools["run_python"]) is not None


def test_folders_that_code_closed_count_as_full_and_are_removed_and_links_are_not_followed(
    tmp_path: Path,
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").touch()
    scratch = Scratch(tmp_path / "scratch")
    (scratch.path / "link").symlink_to(outside)
    (scratch.path / "closed").mkdir()
    (scratch.path / "closed" / "x").touch()
    (scratch.path / "closed").chmod(0)
    assert is_full(scratch.path) == (os.geteuid() != 0)

    removed(scratch.path)

    assert not scratch.path.exists()
    assert (outside / "kept").exists()


def test_leftovers_of_dead_processes_are_removed_and_those_of_living_ones_stay(tmp_path: Path) -> None:
    (tmp_path / "all" / "dead").mkdir(parents=True)
    living = Scratch(tmp_path / "all" / "living")

    removed_leftovers(tmp_path / "all")

    assert living.path.exists()
    assert not (tmp_path / "all" / "dead").exists()


def nobody_is_asked(session: Session, event: Event) -> None:
    assert not isinstance(event, ApprovalAsked)


def test_in_a_session_code_runs_unasked_and_its_folder_goes_when_the_session_ends(tmp_path: Path) -> None:
    house = House(tmp_path)
    (house.work / "n.txt").write_text("20\n22\n")

    async def story() -> Talk:
        kernel = house.kernel(
            step("", call("tools_open", plugin="code"), expect=["run_python"]),
            step("", call("run_python", code="print(sum(map(int, open('n.txt'))))")),
            step("", call("run_node", code="process.exit(3)"), expect=["42"]),
            step("It is 42.", expect=["exit status 3"]),
        )
        talk = await house.open(kernel)
        assert (await talk.say("sum", nobody_is_asked)).reason == "done"
        assert [one.name for one in (house.home / "plugin-data/code/scratch").iterdir()]
        await kernel.close()
        return talk

    talk = run(story())

    assert [event.sandbox for event in talk.of(CallStarted)] == ["none", "bwrap", "bwrap"]
    assert list((house.home / "plugin-data/code/scratch").iterdir()) == []
    assert house.divergence(talk) is None


def test_a_plugin_that_is_killed_in_mid_call_is_a_failure_and_its_code_ends(tmp_path: Path) -> None:
    house, sleep = House(tmp_path), sleep_of_its_own()
    killed = threading.Event()

    def kill(session: Session, event: Event) -> None:
        if event.type == "call_progress" and not killed.is_set():
            killed.set()
            os.kill(running()["code"], 9)

    async def story() -> Talk:
        code = f"import subprocess; print('begun', flush=True); subprocess.run({sleep.split()!r})"
        kernel = house.kernel(
            step("", call("run_python", code=code)),
            step("It ended.", expect=["what the call did is unknown"]),
        )
        talk = await house.open(kernel)
        await talk.say("go", kill)
        await kernel.close()
        return talk

    talk = run(story())

    assert killed.is_set()
    assert talk.of(CallFinished)[0].outcome == "failed"
    assert ends(sleep)
