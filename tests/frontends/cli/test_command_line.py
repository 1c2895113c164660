"""The command line, each rule a test."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from limnos.frontends.cli import checks
from limnos.frontends.cli.table import COMMANDS
from limnos.process import sandbox
from limnos.providers.catalogue import entry
from limnos.providers.weights import Weights
from limnos.testing.model_server import JSON, Answer, ModelServer
from tests.frontends.cli.support import Tty, environment, limnos, script, work_folder

SAYS_HELLO = {"text": "Hello **there**.\n\n- one"}
HELP = """\
limnos: an agent you can leave running

  limnos                            chat in this folder
  limnos run "make the tests pass"
  git diff | limnos run "review this" -

Work      run  open  sessions  replay  export  context  rename  fork
Trust     approvals  trust  config  secrets  doctor
Memory    memory
Grow      model  plugins
Service   up  down  logs  status  completion

  --json   events or records, one a line     --accessible  nothing is redrawn
  --plain  no columns    --no-color          --no-input    never ask
  --debug  show the traceback of an error    --version
limnos help COMMAND; limnos help guide: the guide, and where to report
"""
RUN_HELP = """\
limnos run TASK: one task, one answer, then it ends

  limnos run "Which file here is the largest?"
  cat build.log | limnos run "why did this fail" -

  TASK           what to do; - reads more from stdin
  --json         every event, one a line; the last is turn_finished
  --mode MODE    ask (default), auto, yolo; see limnos help modes
  --model NAME   for this run only
  --steps N      at most N steps (25)
  --max-cost X   stop at this cost (none)
  --continue ID  go on with a session
  --trust        trust this folder, for this run
  --yes          yes to fetching the model when it is missing
exit: 0 done, 1 failed, 2 usage, 3 limit, 4 denied or nobody to ask, 130 stopped
"""


def test_the_first_help_is_one_screen_and_golden(tmp_path: Path) -> None:
    assert limnos(tmp_path, "--help").stdout == HELP


def test_a_command_explains_itself_with_examples_first(tmp_path: Path) -> None:
    assert limnos(tmp_path, "run", "--help").stdout == RUN_HELP


@pytest.mark.parametrize("name", COMMANDS)
def test_help_anywhere_wins_and_fits_a_screen(tmp_path: Path, name: str) -> None:
    asked = limnos(tmp_path, name, "-h")
    assert asked.stdout == limnos(tmp_path, "help", name).stdout
    assert asked.returncode == 0
    assert asked.stdout.startswith(f"limnos {name}")
    rows = asked.stdout.split("\n")
    assert len(rows) <= 24
    assert all(len(row) <= 80 and row == row.rstrip() for row in rows)


def test_help_needs_neither_the_parser_nor_the_event_loop(tmp_path: Path) -> None:
    code = "import sys\nfrom limnos.__main__ import main\nsys.argv = ['limnos', '--help']\n"
    code += "try: main()\nexcept SystemExit: pass\n"
    code += (
        "print(sorted({'typer', 'asyncio', 'dataclasses', 'prompt_toolkit', 'httpx2'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment(tmp_path), check=True
    )
    assert done.stdout.endswith("[]\n")


@pytest.mark.parametrize(
    ("arguments", "fix"),
    [
        (["sesions"], "limnos sessions"),
        (["sess"], "limnos sessions"),
        (["sessions", "--jsno"], "limnos sessions --json"),
        (["sessions", "--js"], "limnos sessions --json"),
        (["model", "lst"], "limnos model list"),
        (["run"], 'limnos run "Which file here is the largest?"'),
        (["run", "x", "--steps", "many"], "limnos help run"),
        (["open"], "limnos help open"),
        (["config", "get", "stps"], None),
        (["--nonsense"], "limnos --help"),
    ],
)
def test_a_wrong_word_is_exit_2_with_a_fix_and_nothing_on_stdout(
    tmp_path: Path, arguments: list[str], fix: str | None
) -> None:
    done = limnos(tmp_path, *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    first, last = done.stderr.strip().split("\n")
    assert first.startswith("error: ")
    assert last.startswith("fix: ")
    assert fix is None or last == f"fix: {fix}"


def test_the_answer_is_exact_on_stdout_and_nothing_else_is(tmp_path: Path) -> None:
    done = limnos(tmp_path, "run", "hi", LIMNOS_MODEL=script(tmp_path, SAYS_HELLO))
    assert (done.returncode, done.stdout, done.stderr) == (0, "Hello **there**.\n\n- one\n", "")


def test_json_is_one_event_a_line_and_ends_with_the_reason(tmp_path: Path) -> None:
    done = limnos(tmp_path, "run", "hi", "--json", LIMNOS_MODEL=script(tmp_path, SAYS_HELLO))
    events = [json.loads(row) for row in done.stdout.splitlines()]
    assert all(event["v"] == 1 for event in events)
    assert events[0]["type"] == "turn_started"
    assert events[-1]["type"] == "turn_finished"
    assert (events[-1]["reason"], events[-1]["exit"]) == ("done", 0)


def test_json_ends_with_a_terminal_event_also_when_no_turn_began(tmp_path: Path) -> None:
    done = limnos(tmp_path, "run", "hi", "--json", LIMNOS_MODEL="scripted:/nowhere.json")
    (row,) = done.stdout.splitlines()
    assert json.loads(row)["type"] == "turn_finished"
    assert json.loads(row)["exit"] == done.returncode != 0
    assert done.stderr.strip().split("\n")[-1].startswith("fix: ")


def test_every_list_has_records_for_programs(tmp_path: Path) -> None:
    model = script(tmp_path, SAYS_HELLO)
    limnos(tmp_path, "run", "title of it", LIMNOS_MODEL=model)
    for arguments in (
        ["sessions"],
        ["model", "list"],
        ["config", "list"],
        ["doctor"],
        ["status"],
        ["secrets", "list"],
    ):
        done = limnos(tmp_path, *arguments, "--json", LIMNOS_MODEL=model)
        assert all(isinstance(json.loads(row), dict) for row in done.stdout.splitlines()), arguments
    identity, state, time, persona, title = limnos(tmp_path, "sessions").stdout.rstrip("\n").split("\t")
    assert (state, persona, title) == ("done", "default", "title of it")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", time)
    assert identity.isalnum()


@pytest.mark.parametrize("limit", ["-1", "0"])
def test_a_limit_below_one_is_a_usage_error(tmp_path: Path, limit: str) -> None:
    done = limnos(tmp_path, "sessions", "--limit", limit)
    assert done.returncode == 2
    assert (
        done.stderr == f"error: --limit is {limit}, and must be at least 1\nfix: limnos sessions --limit 10\n"
    )


def test_piped_output_has_no_escapes_no_boxes_and_no_blanks_at_the_end(tmp_path: Path) -> None:
    model = script(tmp_path, SAYS_HELLO)
    for arguments in (
        ["--help"],
        ["sessions"],
        ["model", "list"],
        ["config", "list"],
        ["doctor"],
        ["run", "x"],
    ):
        done = limnos(tmp_path, *arguments, LIMNOS_MODEL=model)
        for row in (done.stdout + done.stderr).split("\n"):
            assert not re.search(r"[\x1b\r╭│─]|\s$", row), arguments


def test_a_closed_pipe_is_not_a_failure(tmp_path: Path) -> None:
    for arguments in ("config list", "--help"):
        command = f"{sys.executable} -m limnos {arguments} | head -1 >/dev/null; echo ${{PIPESTATUS[0]}}"
        done = subprocess.run(
            ["bash", "-c", command], capture_output=True, text=True, env=environment(tmp_path), check=True
        )
        assert done.stdout.strip() in ("0", "141")
        assert done.stderr == ""


def test_a_reader_that_is_gone_before_the_end_is_141(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "limnos", "config", "list"],
        stdout=writer, stderr=subprocess.PIPE, env=environment(tmp_path), check=False,
    )  # fmt: skip
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize(
    "variables", [{"PYTHONIOENCODING": "cp1252"}, {"LC_ALL": "C"}, {"PYTHONIOENCODING": "cp936"}]
)
def test_no_encoding_makes_it_crash(tmp_path: Path, variables: dict[str, str]) -> None:
    model = script(tmp_path, {"text": "构建失败 🌍"})
    for arguments in (["--help"], ["run", "为什么"], ["sessions"], ["doctor"], ["config", "get", "模型"]):
        done = limnos(tmp_path, *arguments, LIMNOS_MODEL=model, **variables)
        assert "Traceback" not in done.stderr
        assert "made a mistake" not in done.stderr


def test_a_task_comes_from_stdin_with_a_dash(tmp_path: Path) -> None:
    model = script(tmp_path, {"text": "ok", "expect": ["review this", "+ a line"]})
    assert (
        limnos(tmp_path, "run", "review this", "-", given="+ a line\n", LIMNOS_MODEL=model).stdout == "ok\n"
    )
    model = script(tmp_path, {"text": "ok", "expect": ["only stdin"]})
    assert limnos(tmp_path, "run", "-", given="only stdin\n", LIMNOS_MODEL=model).returncode == 0


def test_without_a_terminal_nothing_is_asked_and_the_exit_code_says_so(tmp_path: Path) -> None:
    push = {"calls": [{"name": "run_command", "arguments": {"command": "git push origin main"}}]}
    model = script(tmp_path, push, {"text": "I did not publish."})
    done = limnos(tmp_path, "run", "Publish the docs", LIMNOS_MODEL=model)
    assert done.returncode == 4
    assert done.stdout == "I did not publish.\n"
    rows = done.stderr.strip().split("\n")
    assert rows[0].startswith("- run_command  git push origin main  denied")
    assert rows[-2].startswith("error: 1 call was denied")
    assert rows[-1].startswith("fix: ")


def test_nothing_is_fetched_without_a_yes(tmp_path: Path) -> None:
    for arguments in (["run", "hi"], ["run", "hi", "--no-input"], []):
        done = limnos(tmp_path, *arguments, XDG_CACHE_HOME=str(tmp_path / "cache"))
        assert done.returncode == 2
        assert "limnos model get qwen2.5-coder-1.5b" in done.stderr.strip().split("\n")[-1]
        assert not (tmp_path / "cache").exists()


def test_without_a_moving_row_a_person_is_told_that_the_model_is_loaded(tmp_path: Path) -> None:
    model = entry("smollm2-135m")
    file = Weights(tmp_path / "cache", {}).file(model)
    for arguments, told in ((["run", "hi"], 1), (["run", "hi", "--json"], 0)):
        file.parent.mkdir(parents=True)
        with file.open("wb") as sparse:
            sparse.truncate(model.size)
        done = limnos(tmp_path, *arguments, "--model", model.name, XDG_CACHE_HOME=str(tmp_path / "cache"))
        said, what = done.stderr.splitlines()[:told], done.stderr.splitlines()[told]
        assert said == ["loading smollm2-135m, 512 MB of memory"][:told]
        assert what.startswith("error: "), "the file is not the pinned one"


def test_a_limit_is_exit_3_with_the_command_that_goes_on(tmp_path: Path) -> None:
    step = {"calls": [{"name": "list_dir", "arguments": {"path": "."}}]}
    done = limnos(
        tmp_path,
        "run",
        "x",
        "--steps",
        "1",
        LIMNOS_MODEL=script(tmp_path, step, {"text": "partly"}, {"text": "x"}),
    )
    assert done.returncode == 3
    identity = limnos(tmp_path, "sessions").stdout.split("\t")[0]
    assert done.stderr.strip().split("\n")[-1] == f"fix: limnos run --continue {identity} --steps 2"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_closes_the_turn_and_keeps_the_session(tmp_path: Path, number: signal.Signals) -> None:
    slow = {"text": "word " * 5000, "delay": 0.02}
    child = subprocess.Popen(
        [sys.executable, "-m", "limnos", "run", "x", "--json"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=environment(tmp_path, LIMNOS_MODEL=script(tmp_path, slow)), cwd=work_folder(tmp_path),
    )  # fmt: skip
    assert child.stdout
    for row in child.stdout:
        if json.loads(row)["type"] == "text_delta":
            break
    child.send_signal(number)
    out, err = child.communicate(timeout=30)
    events = [json.loads(row) for row in out.splitlines()]
    stopped = number is signal.SIGINT
    assert child.returncode == (130 if stopped else 143)
    assert events[-1]["reason"] == ("stopped" if stopped else "terminated")
    said = "stopped by you" if stopped else "terminated"
    assert re.fullmatch(rf"{said}; turn closed, session \w+ kept", err.strip().split("\n")[-1])


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["secrets", "set", "x", "--key-file", "/nope"], "there is no file that --key-file names"),
        (["secrets", "set", "x", "--key-file", "latin"], "latin is no text in UTF-8"),
        (
            ["secrets", "set", "x", "--key-file", "/dev/zero"],
            "/dev/zero cannot be read: it is no regular file",
        ),
        (["secrets", "set", "x", "--key-file", "pipe"], "pipe cannot be read: it is no regular file"),
        (["secrets", "set", "x", "--key-file", "."], ". cannot be read: Is a directory"),
        (["secrets", "set", "x", "--key-file", "huge"], "huge cannot be read: it has more than 64,000 bytes"),
        (["run", "fix", "it"], "the task came in 2 parts, without quotes around it"),
        (["run", "x", "--model", "scripted:pipe"], "the script pipe cannot be read: it is no regular file"),
        (["run", "x", "--model", "scripted:latin"], "the script latin is broken: "),
        (
            ["model", "get", "qwen2.5-coder-0.5b", "--from", "pipe"],
            "pipe cannot be read: it is no regular file",
        ),
        (["replay", "pipe"], "there is no session and no file 'pipe'"),
        (["replay", "huge"], "huge has 600,000,000 bytes, and a session at most 500,000,000"),
        (["config", "unset", "nope"], "no setting is called nope"),
        (["replay", "latin"], "latin is no session"),
        (["replay", "latin", "--verify"], "latin is no session"),
        (["replay", "latin", "--speed", "nan"], "--speed is nan, not 0 or at least 0.001"),
        (["replay", "latin", "--speed", "-1"], "--speed is -1, not 0 or at least 0.001"),
        (["replay", "latin", "--speed", "1e-300"], "--speed is 1e-300, not 0 or at least 0.001"),
    ],
)
def test_what_is_not_there_is_a_usage_error(tmp_path: Path, arguments: list[str], error: str) -> None:
    folder = work_folder(tmp_path)
    (folder / "latin").write_bytes(b"caf\xe9\n")
    os.mkfifo(folder / "pipe")
    with (folder / "huge").open("wb") as file:
        file.truncate(600_000_000)
    done = limnos(tmp_path, *arguments, XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert done.returncode == 2
    what, fix = done.stderr.splitlines()
    assert what.startswith(f"error: {error}")
    assert fix.startswith("fix: ")


def test_a_piped_key_is_read_no_further_than_a_key_can_be(tmp_path: Path) -> None:
    done = limnos(tmp_path, "secrets", "set", "x", given="k" * 70_000)
    assert done.returncode == 2
    assert done.stderr == (
        "error: the first line of stdin has more than 64,000 characters\nfix: pipe only the key\n"
    )


def test_sessions_are_renamed_forked_exported_and_replayed(tmp_path: Path) -> None:
    model = script(tmp_path, SAYS_HELLO)
    limnos(tmp_path, "run", "hi", LIMNOS_MODEL=model)
    identity = limnos(tmp_path, "sessions").stdout.split("\t")[0]
    renamed = limnos(tmp_path, "rename", identity, "better title")
    assert renamed.stderr == f"✓ {identity} is now: better title  next: limnos open {identity}\n"
    fork = limnos(tmp_path, "fork", identity).stdout.strip()
    assert {row.split("\t")[0] for row in limnos(tmp_path, "sessions").stdout.splitlines()} == {
        identity,
        fork,
    }
    assert "Hello **there**." in limnos(tmp_path, "export", identity).stdout
    assert json.loads(limnos(tmp_path, "export", identity, "--format", "openai").stdout)
    played = limnos(tmp_path, "replay", identity)
    assert "1 turn" in played.stderr
    assert "Hello there." in played.stdout
    verified = limnos(tmp_path, "replay", identity, "--verify")
    assert verified.returncode == 0
    assert "1 reply and 0 results as recorded, no divergence" in verified.stdout
    assert limnos(tmp_path, "open", "nosuch", LIMNOS_MODEL=model).returncode == 2


def test_a_changed_record_is_named_before_the_damage(tmp_path: Path) -> None:
    limnos(tmp_path, "run", "hi", LIMNOS_MODEL=script(tmp_path, SAYS_HELLO))
    (log,) = (tmp_path / "home").rglob("*.jsonl")
    records = log.read_bytes().replace(b'"input":"hi"', b'"input":"ho"').split(b"\n")
    log.write_bytes(b"\n".join([*records[:-2], b"no record", *records[-2:]]))

    done = limnos(tmp_path, "replay", str(log), "--verify")

    assert done.returncode == 1
    first, goes_to, damage, shows = done.stderr.strip().split("\n")
    assert re.match(r"error: #\d+ ", first)
    assert goes_to.startswith(f"fix: limnos replay {log} --at ")
    assert damage == f"error: parts of {log} are damaged"
    assert shows == "fix: limnos replay shows what is left"


def test_an_unknown_error_is_two_lines_and_its_traceback_lies_in_the_log(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "personas").write_text("a file where a folder belongs")
    done = limnos(tmp_path, "run", "x", LIMNOS_MODEL=script(tmp_path, SAYS_HELLO))
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert len(done.stderr.strip().split("\n")) == 2


def test_a_read_only_home_is_tolerated_by_what_only_reads(tmp_path: Path) -> None:
    missing = str(tmp_path / "nowhere" / "home")
    for arguments in (["sessions"], ["config", "list"], ["model", "list"], ["status"]):
        assert limnos(tmp_path, *arguments, LIMNOS_HOME=missing).returncode == 0
    assert not Path(missing).exists()


def test_completion_knows_every_command(tmp_path: Path) -> None:
    for shell in ("bash", "zsh", "fish"):
        made = limnos(tmp_path, "completion", shell).stdout
        assert all(name in made for name in COMMANDS)
    assert limnos(tmp_path, "completion", "tcsh").returncode == 2
    checked = subprocess.run(
        ["bash", "-n"],
        input=limnos(tmp_path, "completion", "bash").stdout,
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0


def test_doctor_fails_with_a_fix_when_the_model_is_missing(tmp_path: Path) -> None:
    done = limnos(tmp_path, "doctor", "--json", XDG_CACHE_HOME=str(tmp_path / "cache"))
    found = {record["check"]: record for record in map(json.loads, done.stdout.splitlines())}
    assert done.returncode == 1
    assert found["model"]["fix"] == "limnos model get qwen2.5-coder-1.5b"
    piped = limnos(tmp_path, "doctor", XDG_CACHE_HOME=str(tmp_path / "cache")).stdout
    assert "model\tfailed\tqwen2.5-coder-1.5b is not on this machine\t" in piped
    assert all(record["fix"] for record in found.values() if record["state"] == "failed")


def test_doctor_says_which_sandbox_there_is(tmp_path: Path) -> None:
    done = limnos(tmp_path, "doctor", LIMNOS_MODEL=script(tmp_path, SAYS_HELLO))
    assert "sandbox\tdone\tbubblewrap, system call filter, Landlock " in done.stdout


def test_doctor_says_that_there_is_no_sandbox_and_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "probe", lambda: sandbox.probe("/nowhere"))
    found = checks.sandbox_check()
    assert found.state == "ask"
    assert "every one asks" in found.text
    assert found.fix


def test_a_server_that_does_not_answer_is_not_taken_into_use(tmp_path: Path) -> None:
    limnos(tmp_path, "config", "set", "providers.x.base_url", "http://127.0.0.1:9")
    limnos(tmp_path, "config", "set", "providers.x.model", "m")

    done = limnos(tmp_path, "model", "use", "x/m")

    assert done.returncode == 1
    assert "127.0.0.1:9" in done.stderr
    config = (tmp_path / "home" / "config.toml").read_text()
    assert "x/m" not in config


def _own(folder: Path, address: str) -> None:
    limnos(folder, "config", "set", "providers.own.base_url", address)
    limnos(folder, "config", "set", "providers.own.model", "m")


def _model_check(folder: Path) -> dict[str, str]:
    done = limnos(folder, "doctor", "--json")
    return next(record for record in map(json.loads, done.stdout.splitlines()) if record["check"] == "model")


def test_doctor_says_that_nothing_listens_at_a_configured_server(tmp_path: Path) -> None:
    _own(tmp_path, "http://127.0.0.1:9/v1")
    found = _model_check(tmp_path)
    assert found["state"] == "failed"
    assert "127.0.0.1:9" in found["text"]
    assert found["fix"] == "start the server, or correct providers.own.base_url"


@pytest.mark.parametrize(("status", "state"), [(200, "done"), (404, "done"), (401, "failed")])
def test_doctor_asks_a_configured_server_for_its_models_alone(
    tmp_path: Path, status: int, state: str
) -> None:
    async def checked() -> tuple[dict[str, str], list[tuple[str, str]]]:
        async with ModelServer([Answer((b'{"data": []}',), status, dict(JSON))]) as server:
            await asyncio.to_thread(_own, tmp_path, server.url)
            found = await asyncio.to_thread(_model_check, tmp_path)
            return found, [(request.method, request.path) for request in server.requests]

    found, requests = asyncio.run(checked())
    assert (found["state"], requests) == (state, [("GET", "/v1/models")])


def test_a_session_that_cannot_be_read_is_named_with_its_way_out_beside_the_others(tmp_path: Path) -> None:
    limnos(tmp_path, "run", "hi", LIMNOS_MODEL=script(tmp_path, SAYS_HELLO))
    good = limnos(tmp_path, "sessions").stdout.split("\t")[0]
    folder = next((tmp_path / "home").glob("personas/default/sessions/*/*"))
    (folder / "20260101T000000-sbad00.jsonl").write_bytes(b"no record")

    listed = limnos(tmp_path, "sessions")
    assert (listed.returncode, listed.stderr) == (0, "")
    rows = [row.split("\t") for row in listed.stdout.splitlines()]
    assert [row[:2] for row in rows] == [[good, "done"], ["sbad00", "unreadable"]]
    assert "sbad00.jsonl holds no record that can be read; put it back" in rows[1][4]

    shown = Tty.start(tmp_path, "sessions", columns=1000)  # the words of a long path wrap anywhere
    shown.wait_for("sbad00  unreadable")
    shown.wait_for("sbad00:")
    shown.wait_for("holds no record")
    shown.wait_for("move it out of this folder")
    shown.wait_for(f"next: limnos open {good}")
    assert shown.end() == 0

    assert f"limnos open {good}" in limnos(tmp_path, "status").stdout
    piped = limnos(tmp_path, given="/sessions\n", LIMNOS_MODEL=script(tmp_path, SAYS_HELLO))
    assert good in piped.stdout + piped.stderr
    assert "sbad00  unreadable" in piped.stdout + piped.stderr
