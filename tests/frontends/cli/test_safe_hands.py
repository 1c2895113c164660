"""What a person does about rules, trust, jobs and undo: on the command line and in the chat."""

import json
import os
from pathlib import Path

import pytest

from tests.frontends.cli.support import Tty, limnos, script, work_folder

ECHO = {"name": "run_command", "arguments": {"command": "make check"}}
WRITE = {"name": "write_file", "arguments": {"path": "a.txt", "content": "new\n"}}


def chat(folder: Path, *steps: dict[str, object], **variables: str) -> Tty:
    tty = Tty.start(folder, LIMNOS_MODEL=script(folder, *steps), **variables)
    tty.wait_for("type a task")
    return tty


def leave(tty: Tty) -> None:
    tty.send("\x04")
    assert tty.end() == 0


def makefile(folder: Path) -> None:
    (work_folder(folder) / "Makefile").write_text("check:\n\t@echo checked\n")


def test_a_rule_is_stored_listed_explained_and_removed(tmp_path: Path) -> None:
    added = limnos(tmp_path, "approvals", "add", "allow", "ls *", "--example", "ls -la")
    assert added.returncode == 0
    assert "allow run_command `ls *`" in added.stderr
    (record,) = map(json.loads, limnos(tmp_path, "approvals", "list", "--json").stdout.splitlines())
    assert (record["effect"], record["match"], record["scope"]) == ("allow", "ls *", "persona")
    assert record["folder"] == str(tmp_path / "work")
    assert record["program"] == os.path.realpath("/usr/bin/ls")
    explained = json.loads(limnos(tmp_path, "approvals", "explain", "ls -la | sh", "--json").stdout)
    assert explained["verdict"] == "ask"
    assert record["id"] in explained["parts"][0]["notes"][0]
    assert explained["parts"][1]["text"] == "sh"
    assert limnos(tmp_path, "approvals", "remove", record["id"]).returncode == 0
    assert limnos(tmp_path, "approvals", "list").stdout == ""


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("add", "permit", "ls"), "the effect is permit"),
        (("add", "allow", "git *", "--counter-example", "git log"), "covers its counter-example"),
        (("add", "allow", "git status", "--example", "git push"), "does not cover its example"),
        (("remove", "r-000000"), "no rule is called r-000000"),
        (("explain",), "COMMAND"),
    ],
)
def test_what_cannot_be_done_with_rules_is_said_with_its_fix(
    tmp_path: Path, arguments: tuple[str, ...], says: str
) -> None:
    done = limnos(tmp_path, "approvals", *arguments)

    assert done.returncode == 2
    assert says in done.stderr
    assert "fix: " in done.stderr
    assert limnos(tmp_path, "approvals", "list").stdout == ""


def test_a_hard_denial_is_explained_with_what_to_do_instead(tmp_path: Path) -> None:
    done = limnos(tmp_path, "approvals", "explain", "rm -rf ~", "--mode", "yolo")

    assert "is denied in mode yolo" in done.stdout
    assert "because" in done.stdout
    assert "instead" in done.stdout


def test_a_command_of_the_agent_may_not_change_rules_trust_or_settings(tmp_path: Path) -> None:
    for arguments in (
        ("approvals", "add", "allow", "*"),
        ("approvals", "remove", "r-000000"),
        ("trust", "add"),
        ("config", "set", "mode", "yolo"),
        ("config", "unset", "mode"),
        ("trust", "remove"),
        ("secrets", "set", "x"),
        ("secrets", "remove", "x"),
        ("model", "use", "qwen2.5-coder-0.5b"),
    ):
        done = limnos(tmp_path, *arguments, LIMNOS_COMMAND="1")
        assert done.returncode == 4, arguments
        assert "for a person" in done.stderr
    assert limnos(tmp_path, "approvals", "list", LIMNOS_COMMAND="1").returncode == 0


def test_always_for_this_persona_stops_the_next_identical_question_after_a_restart(tmp_path: Path) -> None:
    makefile(tmp_path)
    first = chat(tmp_path, {"calls": [ECHO]}, {"text": "Went on."})
    first.wait_for("›")
    first.send("check\r")
    first.wait_for("n no")
    first.let_question_be_read()
    first.send("a\r")
    first.wait_for("allow run_command `make check`")
    first.wait_for("2 this persona")
    first.send("2\r")
    first.wait_for("always in this persona")
    first.wait_for("Went on.")
    leave(first)

    second = chat(tmp_path, {"calls": [ECHO]}, {"text": "Went on."})
    second.wait_for("›")
    second.send("check\r")
    shown = second.wait_for("Went on.")
    assert "n no" not in shown
    leave(second)


def test_a_question_names_every_part_and_what_is_special_about_it(tmp_path: Path) -> None:
    calls = [{"name": "run_command", "arguments": {"command": "git status && sort -o x y"}}]
    tty = chat(tmp_path, {"calls": calls}, {"text": "Went on."})
    tty.wait_for("›")
    tty.send("sort\r")
    shown = tty.wait_for("v all")
    assert "part 1  git status" in shown
    assert "part 2  sort -o x y" in shown
    tty.let_question_be_read()
    tty.send("n\r")
    tty.wait_for("denied by you")
    leave(tty)


def test_the_questions_can_be_told_not_to_offer_always(tmp_path: Path) -> None:
    makefile(tmp_path)
    tty = chat(tmp_path, {"calls": [ECHO]}, {"text": "Went on."}, LIMNOS_APPROVAL_ALWAYS="hide")
    tty.wait_for("›")
    tty.send("check\r")
    assert "always" not in tty.wait_for("v all")
    tty.let_question_be_read()
    tty.send("y\r")
    tty.wait_for("Went on.")
    leave(tty)


def test_undo_takes_the_newest_change_of_a_file_back(tmp_path: Path) -> None:
    tty = chat(tmp_path, {"calls": [WRITE]}, {"text": "Written."})
    tty.wait_for("›")
    tty.send("write\r")
    tty.wait_for("n no")
    tty.let_question_be_read()
    tty.send("y\r")
    tty.wait_for("Written.")
    assert (work_folder(tmp_path) / "a.txt").read_text() == "new\n"
    tty.send("/undo\r")
    tty.wait_for("a.txt is gone again")
    assert not (work_folder(tmp_path) / "a.txt").exists()
    tty.send("/undo\r")
    tty.wait_for("no change of a file")
    leave(tty)


def test_jobs_are_shown_listed_and_ended(tmp_path: Path) -> None:
    begin = {"name": "run_command", "arguments": {"command": "sleep 1000", "background": True}}
    tty = chat(tmp_path, {"calls": [begin]}, {"text": "Begun."})
    tty.wait_for("›")
    tty.send("/jobs\r")
    tty.wait_for("no job was started")
    tty.send("begin\r")
    tty.wait_for("n no")
    tty.let_question_be_read()
    tty.send("y\r")
    tty.wait_for("job1 running  sleep 1000")
    tty.wait_for("Begun.")
    tty.send("/jobs stop job1\r")
    tty.wait_for("job1 stopped")
    leave(tty)


def test_a_folder_with_a_guide_is_asked_about_once(tmp_path: Path) -> None:
    (work_folder(tmp_path) / "AGENTS.md").write_text("Answer in rhymes.\n")
    first = chat(tmp_path, {"text": "Yes."})
    first.wait_for("Trust it? [y/N]")
    first.send("y\r")
    first.wait_for("is trusted")
    first.wait_for("›")
    leave(first)

    second = chat(tmp_path, {"text": "Yes."})
    assert "Trust it?" not in second.wait_for("›")
    leave(second)
    assert limnos(tmp_path, "trust", "list").stdout.startswith("trusted\t")
    assert limnos(tmp_path, "trust", "remove").returncode == 0


def test_a_guide_reaches_the_model_only_once_the_folder_is_trusted(tmp_path: Path) -> None:
    (work_folder(tmp_path) / "AGENTS.md").write_text("Answer in rhymes.\n")
    model = script(tmp_path, {"text": "ok", "expect": ["Answer in rhymes."]})

    assert limnos(tmp_path, "run", "hello", LIMNOS_MODEL=model).returncode != 0
    assert limnos(tmp_path, "run", "--trust", "hello", LIMNOS_MODEL=model).returncode == 0


def test_a_folder_without_words_for_agents_is_not_asked_about(tmp_path: Path) -> None:
    tty = chat(tmp_path, {"text": "Yes."})
    assert "Trust it?" not in tty.wait_for("›")
    leave(tty)
