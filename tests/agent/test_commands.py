"""What a command line comes to in a workspace: its program, what a yes rests on, what cannot work."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from limnos.agent.commands import extra_folders
from limnos.agent.explaining import explained
from limnos.agent.headlines import headline
from limnos.agent.settings import Settings
from limnos.agent.shell import Place, inspect
from limnos.kernel.errors import SettingsError
from limnos.kernel.seams import Rule
from limnos.kernel.tools import Output
from tests.agent import tools
from tests.agent.tools import Toolbox, commands_in

HOST = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


def program(folder: Path, name: str, says: str = "planted") -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho {says}\n")
    path.chmod(0o755)


@pytest.fixture
def with_bin(work: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH that begins with a folder of the workspace, as an activated environment has it."""
    changed = {**tools.ENVIRONMENT, "PATH": f"{work}/bin:{tools.ENVIRONMENT['PATH']}"}
    monkeypatch.setattr(tools, "ENVIRONMENT", changed)
    return work


def test_a_program_that_is_planted_after_the_first_reading_is_seen(with_bin: Path) -> None:
    commands, asked = commands_in(with_bin), {"command": "git status"}
    before, state = commands.findings(asked).parts[0], commands.state(asked)
    program(with_bin, "bin/git")
    after = commands.findings(asked).parts[0]

    assert before.program != after.program == str(with_bin / "bin" / "git")
    assert "bin/git of this folder" in after.reason
    assert commands.state(asked) != state


def test_a_planted_program_gets_no_network_by_name_and_no_rule(with_bin: Path) -> None:
    program(with_bin, "bin/git")
    commands, asked = commands_in(with_bin), {"command": "git fetch"}
    profile = commands.profile(asked)

    assert profile is not None
    assert not profile.network
    assert commands.preview(asked).rule is None


def test_a_tool_that_only_the_workspace_has_is_an_ordinary_program(with_bin: Path) -> None:
    program(with_bin, "bin/project-tool")
    (part,) = commands_in(with_bin).findings({"command": "project-tool"}).parts

    assert (part.program, part.reason) == (str(with_bin / "bin" / "project-tool"), "")


def test_a_yes_rests_on_the_script_that_an_interpreter_runs(work: Path) -> None:
    commands, asked = commands_in(work), {"command": "python3 job.py"}
    (work / "job.py").write_text("print(1)\n")
    before = commands.state(asked)
    info = (work / "job.py").stat()
    (work / "job.py").write_text("print(2)\n")
    os.utime(work / "job.py", ns=(info.st_atime_ns, info.st_mtime_ns))

    assert commands.state(asked) != before


def test_git_out_of_sight_is_said_before_anybody_is_asked(work: Path) -> None:
    (work / ".git").mkdir()
    (work / "sub").mkdir()
    fault = commands_in(work / "sub").preflight({"command": "git status"})
    assert fault is not None
    assert str(work) in fault.hint
    assert commands_in(work / "sub").preflight({"command": "git init new"}) is None
    assert commands_in(work).preflight({"command": "git status"}) is None
    (work / "sub" / ".git").write_text(f"gitdir: {work}/.git/worktrees/sub\n")
    fault = commands_in(work / "sub").preflight({"command": "git log | head"})
    assert fault is not None
    assert "worktree" in fault.detail


def test_what_is_not_installed_is_refused_with_what_does_the_same(work: Path) -> None:
    fault = commands_in(work).preflight({"command": "no-such-program x | cat"})
    assert fault is not None
    assert fault.reason == "unavailable"
    assert commands_in(work).preflight({"command": "no-such-program || cat"}) is None
    if shutil.which("ag") is None:
        instead = commands_in(work).preflight({"command": "ag needle"})
        assert instead is not None
        assert "use " in instead.hint


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("rm -rf node_modules", "rm removes node_modules"),
        ("make clean && rm -r build", "make runs what the Makefile says; rm removes build"),
        ("git checkout -- a.py", "git checkout changes the files of the working tree"),
        ("ls -la", "it only reads, and no rule covers it"),
        ("mv a b", "mv moves a, b"),
        ("echo hi > README.md", "writes README.md"),
        ("frobnicate x", "it runs frobnicate"),
    ],
)
def test_a_question_begins_with_what_the_command_does(command: str, says: str) -> None:
    place = Place("/home/u/project", "/home/u", "/home/u/.limnos", "u")

    assert headline(inspect(command, place).findings.parts) == says


def test_more_folders_must_be_there_and_show_no_home(tmp_path: Path) -> None:
    home, state = tmp_path / "home", tmp_path / "home" / ".limnos"
    for folder in (state, home / "data"):
        folder.mkdir(parents=True)

    assert extra_folders(f"{home}/data:rw", [str(state)], str(home)) == (f"{home}/data:rw",)
    for wrong in ("relative", "/nonexistent", "/", str(home), str(state), str(tmp_path)):
        with pytest.raises(SettingsError) as raised:
            extra_folders(wrong, [str(state)], str(home))
        assert raised.value.fix


def test_commits_carry_the_name_of_the_person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    home.mkdir()
    user = '[user]\n\tname = "A Person"\n\temail = a@example.org\n'
    (home / ".gitconfig").write_text(f"{user}[core]\n\teditor = rm\n")
    monkeypatch.setattr(tools, "ENVIRONMENT", {**tools.ENVIRONMENT, "HOME": str(home)})
    box = Toolbox(tmp_path / "work")
    subprocess.run(("git", "init", "-q", str(box.root)), check=True, env=HOST, timeout=20)
    (box.root / "a").touch()

    box.text("run_command", command="git add a && git commit -qm x")
    assert box.text("run_command", command="git log '--format=%an <%ae>'") == "A Person <a@example.org>\n"
    assert box.text("run_command", command="git config core.editor || echo none") == "none\n"


def test_a_command_that_asks_for_the_network_is_one_more_thing_to_allow(work: Path) -> None:
    commands, asked = commands_in(work), {"command": "ls", "network": True}

    assert commands.preflight(asked) is None
    assert [part.words for part in commands.findings(asked).parts] == [("ls",), ("network",)]
    profile = commands.profile(asked)
    assert profile is not None
    assert profile.network


def test_a_link_that_leads_elsewhere_by_now_is_read_anew(work: Path) -> None:
    commands, asked = commands_in(work), {"command": "echo x > link"}
    (work / "plain").touch()
    (work / "link").symlink_to("plain")
    before, state = commands.findings(asked), commands.state(asked)
    (work / "link").unlink()
    (work / "link").symlink_to(work / ".limnos" / "rules.toml")
    after = commands.findings(asked)

    assert before.denied is None
    assert after.denied is not None
    assert commands.state(asked) != state


@pytest.mark.parametrize("form", ["cat {}/notes.txt", "cp a {}/new.txt", "ls ..", "echo hi >{}/new.txt"])
def test_a_path_that_the_sandbox_does_not_show_is_named(work: Path, tmp_path: Path, form: str) -> None:
    (tmp_path / "notes.txt").write_text("n")
    asked = {"command": form.format(tmp_path)}
    outside = asked["command"].split()[-1].removeprefix(">")

    assert f"the sandbox does not show it {outside}" in commands_in(work).preview(asked).reasons


@pytest.mark.parametrize(
    "command", ["cat {}/a", "ls /usr/bin", "touch /tmp/new", "cat /etc/hosts", "ls /nowhere/at/all"]
)
def test_paths_that_commands_see_or_nobody_has_are_not_named(work: Path, command: str) -> None:
    commands = commands_in(work)

    assert not commands.unseen({"command": command.format(work)})


def test_the_output_says_what_the_sandbox_did_not_show(work: Path, tmp_path: Path) -> None:
    toolbox = Toolbox(work)
    output = toolbox.call("run_command", command=f"touch {tmp_path}/new")

    assert isinstance(output, Output)
    assert f"does not show {tmp_path}/new" in output.text
    assert not (tmp_path / "new").exists()


def test_an_explanation_says_when_a_rule_was_made_for_another_program(work: Path) -> None:
    rules = [Rule("allow", "run_command", "ls*", program="/elsewhere/ls")]
    told = explained(commands_in(work), rules, Settings(), str(work), "ls")

    assert told.verdict == "ask"
    assert "which does not reach so far" in told.parts[0].notes[-1]
