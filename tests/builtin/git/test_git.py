"""Git reads without a yes and runs nothing outside the sandbox; a commit shows what it will hold."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from limnos.kernel.events import ApprovalAsked, CallFinished, Event
from limnos.kernel.messages import ToolError
from limnos.kernel.seams import Answer
from limnos.kernel.tools import asks_of, findings_of
from limnos.process.profile import NoSandbox
from limnos.service.client import Session
from tests.agent.tools import Toolbox
from tests.service.house import House, Talk, answering, call, run, step

READS = ("git_status", "git_diff", "git_log", "git_show", "git_blame")
Git = Callable[..., str]


def git(folder: Path, *words: str) -> str:
    """Real git, of a person with a name and without settings."""
    environment = {"PATH": os.environ["PATH"], "HOME": "/nowhere", "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        ("git", "-C", str(folder), "-c", "user.name=U", "-c", "user.email=u@x", *words),
        env=environment,
        capture_output=True,
        check=False,
    )
    return done.stdout.decode("utf-8", "backslashreplace")


def repository(folder: Path) -> Path:
    """An empty repository of a person."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-b", "main")
    git(folder, "config", "user.name", "U")
    git(folder, "config", "user.email", "u@x")
    return folder


@pytest.fixture
def box(tmp_path: Path) -> Toolbox:
    """A repository in a folder with a blank in its name, with one commit."""
    folder = repository(tmp_path / "my work")
    (folder / "a b.txt").write_text("one\ntwo\n")
    git(folder, "add", ".")
    git(folder, "commit", "-m", "first")
    return Toolbox(folder)


def refused(box: Toolbox, name: str, /, **arguments: object) -> ToolError:
    """Why nobody is asked and nothing runs."""
    preflight = box.tools[name].preflight
    assert preflight is not None
    error = preflight(arguments)
    assert error is not None
    return error


def test_reads_need_no_yes_in_a_sandbox_and_always_one_without(
    box: Toolbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not any(asks_of(box.tools[name], {"path": "x"}) for name in READS)

    bare = box.commands.bench._replace(sandbox=lambda: NoSandbox("not here", "install it"))
    monkeypatch.setattr(box.commands, "_bench", bare)

    assert all(asks_of(box.tools[name], {"path": "x"}) for name in READS)
    assert all("not here" in findings_of(box.tools[name], {"path": "x"}).always for name in READS)


def test_status_diff_log_show_and_blame_tell_what_is_there(box: Toolbox) -> None:
    (box.root / "a b.txt").write_text("one\n2\n")
    (box.root / "new.txt").touch()

    assert "modified:   a b.txt" in box.text("git_status")
    assert "new.txt" in box.text("git_status")
    assert "-two\n+2\n" in box.text("git_diff")
    assert "-two\n+2\n" in box.text("git_diff", ref="HEAD", path="a b.txt")
    assert box.text("git_diff", path="new.txt") == "No differences."
    assert box.text("git_diff", staged=True) == "No differences."
    assert box.text("git_log").endswith("first\n")
    assert "+two\n" in box.text("git_show")
    assert "a b.txt" in box.text("git_show", ref="HEAD", path="a b.txt")
    assert box.text("git_show", ref="HEAD:a b.txt") == "one\ntwo\n"
    assert "(U " in box.text("git_blame", path="a b.txt", start_line=2, lines=1, ref="HEAD")


def test_an_empty_repository_a_detached_head_and_a_conflict_are_told_as_they_are(
    tmp_path: Path, box: Toolbox
) -> None:
    empty = Toolbox(repository(tmp_path / "empty"))
    assert "No commits yet" in empty.text("git_status")
    assert empty.fault("git_log").reason == "failed"

    git(box.root, "checkout", "-b", "other")
    (box.root / "a b.txt").write_text("theirs\n")
    git(box.root, "commit", "-am", "theirs")
    git(box.root, "checkout", "main")
    (box.root / "a b.txt").write_text("ours\n")
    git(box.root, "commit", "-am", "ours")
    git(box.root, "merge", "other")
    assert "both modified:   a b.txt" in box.text("git_status")
    assert "<<<<<<< HEAD" in box.text("git_diff")

    (box.root / "a b.txt").write_text("both\n")
    assert "+both\n" in box.preview("git_commit", message="merged", paths=["a b.txt"]).text
    box.text("git_commit", message="merged", paths=["a b.txt"])
    assert len(git(box.root, "log", "-1", "--format=%P").split()) == 2

    git(box.root, "checkout", "--detach")
    assert "HEAD detached at" in box.text("git_status")


def test_names_that_are_no_text_are_shown_as_escapes_and_taken_back_as_such(box: Toolbox) -> None:
    Path(os.fsdecode(os.fsencode(box.root) + b"/caf\xe9.txt")).write_text("x\n")
    (box.root / "größe.txt").write_text("y\n")

    assert "caf\\xe9.txt" in box.text("git_status")
    assert "größe.txt" in box.text("git_status")
    box.text("git_commit", message="both", paths=["caf\\xe9.txt", "größe.txt"])
    assert "+x\n" in box.text("git_show", path="caf\\xe9.txt")


def test_a_linked_worktree_can_be_read_and_not_committed_to(tmp_path: Path, box: Toolbox) -> None:
    git(box.root, "worktree", "add", str(tmp_path / "tree"), "-b", "tree")
    tree = Toolbox(tmp_path / "tree")

    assert "On branch tree" in tree.text("git_status")
    assert "first" in tree.text("git_log")
    assert refused(tree, "git_commit", message="x").reason == "unavailable"


def test_a_folder_that_only_says_it_is_a_worktree_shows_nothing(tmp_path: Path, box: Toolbox) -> None:
    git(box.root, "worktree", "add", str(tmp_path / "tree"), "-b", "tree")
    (tmp_path / "liar").mkdir()
    (tmp_path / "liar" / ".git").write_bytes((tmp_path / "tree" / ".git").read_bytes())

    assert refused(Toolbox(tmp_path / "liar"), "git_log").reason == "unavailable"


def test_where_no_repository_is_or_it_begins_above_it_is_said_with_what_to_do(
    tmp_path: Path, box: Toolbox
) -> None:
    assert refused(Toolbox(tmp_path / "plain"), "git_status").reason == "not_found"
    assert "start limnos in" in refused(Toolbox(box.root / "sub"), "git_status").hint


@pytest.mark.parametrize("ref", ["--output=/tmp/x", "-p", "a b", "HEAD\n", "HEAD\x00", "*", "--"])
def test_no_argument_is_ever_an_option(box: Toolbox, ref: str) -> None:
    for name in ("git_diff", "git_log", "git_show"):
        assert refused(box, name, ref=ref).reason == "invalid_arguments"
    assert refused(box, "git_blame", path="a b.txt", ref=ref).reason == "invalid_arguments"
    assert refused(box, "git_branch", name=ref).reason == "invalid_arguments"


def test_a_path_that_looks_like_an_option_or_a_pattern_is_a_path(box: Toolbox) -> None:
    assert box.text("git_diff", path="--output=made") == "No differences."
    assert box.text("git_log", path=":(glob)*") == "No commits."
    assert not (box.root / "made").exists()
    (box.root / "--all").write_text("x\n")
    assert "+x\n" in box.preview("git_commit", message="--amend", paths=["--all"]).text
    box.text("git_commit", message="--amend", paths=["--all"])
    assert git(box.root, "log", "--format=%s").split() == ["--amend", "first"]


def test_what_the_repository_is_set_up_to_run_runs_nowhere_it_could_do_harm(
    tmp_path: Path, box: Toolbox
) -> None:
    mark = box.root / "ran"
    program = tmp_path / "planted"
    program.write_text(f"#!/bin/sh\ntouch '{mark}'; cat\n")
    program.chmod(0o755)
    inside = box.root / "planted"
    inside.write_bytes(program.read_bytes())
    inside.chmod(0o755)
    for name in (
        "core.fsmonitor", "diff.external", "diff.x.textconv", "diff.x.command", "core.pager", "core.editor",
        "filter.x.clean", "filter.x.smudge", "core.sshCommand", "gpg.program",
    ):  # fmt: skip
        git(box.root, "config", name, "./planted")
    git(box.root, "config", "log.showSignature", "true")
    (box.root / ".gitattributes").write_text("* diff=x filter=x\n")
    (box.root / "a b.txt").write_text("changed\n")

    for name in READS:
        box.call(name, **({"path": "a b.txt"} if name == "git_blame" else {}))
    box.preview("git_commit", message="x", paths=["a b.txt"])

    assert not mark.exists()
    git(box.root, "diff")
    assert mark.exists()  # the negative twin: git as a person calls it


def test_hooks_do_not_run_and_the_question_says_so(box: Toolbox) -> None:
    for hook in ("pre-commit", "commit-msg", "post-commit", "prepare-commit-msg", "post-checkout"):
        file = box.root / ".git" / "hooks" / hook
        file.parent.mkdir(exist_ok=True)
        file.write_text("#!/bin/sh\ntouch hooked\n")
        file.chmod(0o755)
    (box.root / "n.txt").write_text("n\n")

    assert (
        "hooks of the repository do not run"
        in box.preview("git_commit", message="x", paths=["n.txt"]).reasons
    )
    box.text("git_commit", message="with n", paths=["n.txt"])
    box.text("git_branch", name="other", switch=True)

    assert not (box.root / "hooked").exists()
    assert git(box.root, "branch", "--show-current") == "other\n"


def test_a_question_shows_exactly_what_the_commit_will_hold(box: Toolbox) -> None:
    (box.root / "a b.txt").write_text("one\nchanged\n")
    (box.root / "new.txt").write_text("new\n")
    (box.root / "other.txt").write_text("staged before\n")
    git(box.root, "add", "other.txt")
    index = (box.root / ".git" / "index").read_bytes()
    shown = box.preview("git_commit", message="two files", paths=["a b.txt", "new.txt"]).text

    assert shown.startswith("two files\n\n")
    assert "+changed\n" in shown
    assert "+new\n" in shown
    assert "staged before" not in shown
    assert (box.root / ".git" / "index").read_bytes() == index

    box.text("git_commit", message="two files", paths=["a b.txt", "new.txt"])
    assert git(box.root, "show", "--format=", "--name-only").splitlines() == ["a b.txt", "new.txt"]


def test_nothing_to_commit_is_said_before_anybody_is_asked(box: Toolbox) -> None:
    assert "nothing to commit" in box.preview("git_commit", message="x").fault.detail
    assert "nothing to commit" in box.preview("git_commit", message="x", paths=["a b.txt"]).fault.detail
    assert "did not match" in box.preview("git_commit", message="x", paths=["absent"]).fault.detail


def test_a_branch_is_made_gone_to_and_not_made_twice(box: Toolbox) -> None:
    box.text("git_branch", name="feature/x")
    assert git(box.root, "branch", "--show-current") == "main\n"
    box.text("git_branch", name="feature/x", switch=True)
    assert git(box.root, "branch", "--show-current") == "feature/x\n"
    assert "already exists" in getattr(box.call("git_branch", name="main"), "text", "")


def test_a_huge_diff_is_kept_at_both_ends(box: Toolbox) -> None:
    (box.root / "a b.txt").write_text("".join(f"line {n}\n" for n in range(400_000)))
    text = box.text("git_diff")

    assert "bytes left out" in text
    assert text.endswith("+line 399999\n")
    assert len(text) < 1_000_200


def test_in_a_session_a_commit_is_asked_and_what_changed_meanwhile_is_not_committed(tmp_path: Path) -> None:
    house = House(tmp_path)
    repository(house.work)
    (house.work / "n.txt").write_text("shown\n")
    commit = call("git_commit", message="one", paths=["n.txt"])

    def change(session: Session, event: Event) -> None:
        if isinstance(event, ApprovalAsked):
            assert "+shown\n" in (event.preview or "")
            (house.work / "n.txt").write_text("something else\n")
            session.answer(event.approval, Answer("once", source="test"))

    async def story() -> Talk:
        kernel = house.kernel(
            step("", call("git_status"), commit),
            step("Moved.", expect=["no longer what was looked at"]),
            step("", commit),
            step("Committed.", expect=["1 file changed"]),
        )
        talk = await house.open(kernel)
        await talk.say("commit", change)
        await talk.say("again", answering("once"))
        await kernel.close()
        return talk

    talk = run(story())

    assert [event.outcome for event in talk.of(CallFinished)] == ["done", "denied", "done"]
    assert git(house.work, "show", "HEAD:n.txt") == "something else\n"
