"""Terminals: opened and typed into after a yes, read within bounds, and none outlives its session."""

import asyncio
import os
import re
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from limnos.builtin.terminals.terminal import MAX_KEPT
from limnos.builtin.terminals.tools import MAX_OPEN, close_all
from limnos.kernel.deciding import Standing, decide
from limnos.kernel.events import ApprovalAsked, CallFinished, CallStarted, Event
from limnos.kernel.messages import ToolError
from limnos.kernel.seams import Answer, Rule
from limnos.kernel.tools import Output, asks_of, findings_of
from limnos.process.profile import NoSandbox
from limnos.service.client import Session
from tests.agent.tools import Toolbox
from tests.builtin.children import running
from tests.processes import ends, sleep_of_its_own
from tests.service.house import House, Talk, answering, call, run, step

Story = Callable[[Toolbox], Awaitable[None]]


def play(box: Toolbox, story: Story) -> None:
    async def whole() -> None:
        try:
            await asyncio.wait_for(story(box), 60)
        finally:
            await close_all()

    asyncio.run(whole())


@pytest.fixture
def box(tmp_path: Path) -> Toolbox:
    return Toolbox(tmp_path / "work")


async def text(box: Toolbox, name: str, /, **arguments: object) -> str:
    output = await box.start(name, **arguments)
    assert isinstance(output, Output), output
    assert output.error is None, output.error
    box.said.append(output.text)
    return output.text


async def fault(box: Toolbox, name: str, /, **arguments: object) -> ToolError:
    output = await box.start(name, **arguments)
    error = output.error if isinstance(output, Output) else output
    assert error is not None, output
    return error


async def until(box: Toolbox, wanted: str) -> None:
    """Read on until `wanted` was shown, now or by an earlier call."""
    while wanted not in re.sub(r"\[term1: open\]\n(\(nothing new\))?", "", "".join(box.said)):
        await text(box, "terminal_read", terminal="term1", wait_s=20)


def test_a_program_asks_back_and_is_answered(box: Toolbox) -> None:
    async def story(box: Toolbox) -> None:
        await text(box, "terminal_open", command="bash -c 'read -p \"name? \" n; echo hello $n'")
        await until(box, "name? ")
        await text(box, "terminal_write", terminal="term1", text="Ada\n", wait_s=0)
        await until(box, "hello Ada")
        await until(box, "ended, exit 0")

    play(box, story)


def test_a_shell_has_job_control_and_a_controlling_terminal(box: Toolbox) -> None:
    async def story(box: Toolbox) -> None:
        await text(box, "terminal_open")
        await text(
            box, "terminal_write", terminal="term1", text="bash -c 'echo up-$((1+1)); cat'\n", wait_s=0
        )
        await until(box, "up-2")
        await text(box, "terminal_write", terminal="term1", text="\x03", wait_s=5)
        await until(box, "^C\r\n$ ")
        await text(box, "terminal_write", terminal="term1", text="echo after-$?\n", wait_s=0)
        await until(box, "after-130")
        await text(box, "terminal_resize", terminal="term1", columns=100, rows=30)
        await text(box, "terminal_write", terminal="term1", text="stty size\n", wait_s=0)
        await until(box, "30 100")

    play(box, story)


def test_it_runs_in_the_sandbox_of_commands(box: Toolbox) -> None:
    async def story(box: Toolbox) -> None:
        line = "echo x > made; echo x > .git/hooks/pre-commit"
        await text(box, "terminal_open", command=f'bash -c "{line}"')
        await until(box, "ended")

    (box.root / ".git" / "hooks").mkdir(parents=True)
    play(box, story)

    assert (box.root / "made").exists()
    assert list((box.root / ".git" / "hooks").iterdir()) == []
    assert box.tools["terminal_open"].sandbox is not None
    assert box.tools["terminal_open"].sandbox({"command": "true"}) == "bwrap"


def test_much_output_keeps_the_newest_and_says_what_is_gone(box: Toolbox) -> None:
    async def story(box: Toolbox) -> None:
        await text(
            box,
            "terminal_open",
            command="bash -c 'read x; head -c 3000000 /dev/zero | tr \"\\0\" x; echo end'",
        )
        await text(box, "terminal_write", terminal="term1", text="\n", wait_s=0)
        while "ended" not in await text(box, "terminal_read"):
            await asyncio.sleep(0)
        shown = await text(box, "terminal_read", terminal="term1")
        assert "bytes are gone" in shown
        assert shown.endswith("end\r\n")
        assert len(shown) < MAX_KEPT + 200

    play(box, story)


def test_letters_that_come_in_two_pieces_are_whole(box: Toolbox) -> None:
    async def story(box: Toolbox) -> None:
        await text(
            box,
            "terminal_open",
            command=r"""bash -c 'stty -echo; echo go; read x; printf "\303"; read; printf "\244."; read'""",
        )
        await until(box, "go")
        shown = await text(box, "terminal_write", terminal="term1", text="\n", wait_s=1)
        shown += await text(box, "terminal_write", terminal="term1", text="\n", wait_s=1)
        assert "ä." in re.sub(r"\[term1: open\]\n|\r\n", "", shown)

    play(box, story)


def test_what_is_not_there_is_said_with_what_is(box: Toolbox) -> None:
    async def story(box: Toolbox) -> None:
        assert "no terminal was opened" in (await text(box, "terminal_read")).lower()
        assert (await fault(box, "terminal_read", terminal="term7")).reason == "not_found"
        await text(box, "terminal_open", command="cat")
        await text(box, "terminal_close", terminal="term1")
        for name, more in (("terminal_write", {"text": "x"}), ("terminal_close", {}), ("terminal_read", {})):
            assert "term1 is closed" in (await fault(box, name, terminal="term1", **more)).detail
        assert "term1: closed" in await text(box, "terminal_read")

    play(box, story)


def test_an_ended_program_takes_nothing_more(box: Toolbox) -> None:
    async def story(box: Toolbox) -> None:
        await text(box, "terminal_open", command="bash -c 'exit 3'")
        await until(box, "ended, exit 3")
        error = await fault(box, "terminal_write", terminal="term1", text="x")
        assert "its program has ended" in error.detail

    play(box, story)


def test_too_many_are_refused_and_all_end_with_the_session(box: Toolbox) -> None:
    sleep = sleep_of_its_own()

    async def story(box: Toolbox) -> None:
        for _ in range(MAX_OPEN):
            await text(box, "terminal_open", command=f"bash -c '{sleep} & {sleep}'")
        assert "open already" in (await fault(box, "terminal_open", command="cat")).detail

    play(box, story)
    assert ends(sleep)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("terminal_write", {"terminal": "term1", "text": ""}),
        ("terminal_write", {"terminal": "term1", "text": "x" * 60_001}),
        ("terminal_resize", {"terminal": "term1", "columns": 0, "rows": 5}),
        ("terminal_read", {"terminal": "term1", "wait_s": 51}),
    ],
)
def test_arguments_that_do_not_fit_do_nothing(box: Toolbox, name: str, given: dict[str, object]) -> None:
    assert box.fault(name, **given).reason == "invalid_arguments"


def test_a_shell_asks_in_every_mode_and_a_command_as_run_command_does(box: Toolbox) -> None:
    tool, command = box.tools["terminal_open"], box.tools["run_command"]
    yolo = Standing("yolo", needs_yes=True)

    assert decide(findings_of(tool, {}), (), yolo) == "ask"
    assert decide(findings_of(tool, {}), (Rule("allow", "terminal_open", "*"),), yolo) == "ask"
    for line in ("ls -l", "ls $(x)", "rm -rf /", "make; ls"):
        given = {"command": line}
        assert findings_of(tool, given) == findings_of(command, given)
    rule = box.preview("terminal_open", command="ls -l").rule
    assert rule is not None
    assert (rule.tool, rule.match) == (
        "terminal_open",
        box.preview("run_command", command="ls -l").rule.match,
    )


def test_typing_asks_unless_a_rule_allows_exactly_this_text(box: Toolbox) -> None:
    tool = box.tools["terminal_write"]
    box.views.terminals.order({"command": "cat"})
    given = {"terminal": "term1", "text": "yes\n"}
    standing = Standing("auto", asks_of(tool, given))
    preview = box.preview("terminal_write", **given)

    assert decide(findings_of(tool, given), (), standing) == "ask"
    assert preview.text == "yes\n"
    assert "cat" in preview.reasons[0]
    assert decide(findings_of(tool, given), (preview.rule,), standing) == "allow"
    assert decide(findings_of(tool, {**given, "text": "no\n"}), (preview.rule,), standing) == "ask"
    assert box.preview("terminal_write", terminal="term1", text="ls *\n").rule is None
    assert box.preview("terminal_write", terminal="term1", text="\x1b[A").rule is None


def test_what_no_command_may_do_cannot_be_typed(box: Toolbox) -> None:
    found = findings_of(box.tools["terminal_write"], {"terminal": "term1", "text": "rm -rf /\n"})

    assert found.denied is not None


def test_nobody_is_asked_about_a_terminal_that_is_not_there(box: Toolbox) -> None:
    preflight = box.tools["terminal_write"].preflight
    assert preflight is not None

    error = preflight({"terminal": "term1", "text": "x"})

    assert error is not None
    assert error.reason == "not_found"


def test_without_a_sandbox_opening_and_typing_ask_in_every_mode(
    box: Toolbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = box.commands.bench._replace(sandbox=lambda: NoSandbox("not here", "install it"))
    monkeypatch.setattr(box.commands, "_bench", bare)

    for name, given in (
        ("terminal_open", {"command": "ls"}),
        ("terminal_write", {"terminal": "t", "text": "x"}),
    ):
        assert "not here" in findings_of(box.tools[name], given).always


def test_in_a_session_it_is_asked_shown_and_ends_with_the_session(tmp_path: Path) -> None:
    house, sleep = House(tmp_path), sleep_of_its_own()

    async def story() -> Talk:
        kernel = house.kernel(
            step("", call("terminal_open")),
            step("", call("terminal_write", terminal="term1", text=f"{sleep} &\necho up-$((1+1))\n")),
            step("", call("terminal_write", terminal="term9", text="x"), expect=["up-2"]),
            step("Done.", expect=["there is no terminal 'term9'"]),
        )
        talk = await house.open(kernel)
        assert (await talk.say("go", answering("once"))).reason == "done"
        assert "terminals" in running()
        await kernel.close()
        return talk

    talk = run(story())

    assert [event.tool for event in talk.of(ApprovalAsked)] == ["terminal_open", "terminal_write"]
    assert talk.of(ApprovalAsked)[1].preview == f"{sleep} &\necho up-$((1+1))\n"
    assert ends(sleep)
    assert house.divergence(talk) is None


def test_a_plugin_that_is_killed_takes_its_terminals_with_it(tmp_path: Path) -> None:
    house, sleep = House(tmp_path), sleep_of_its_own()

    def react(session: Session, event: Event) -> None:
        if isinstance(event, ApprovalAsked):
            session.answer(event.approval, Answer("once", source="test"))
        if isinstance(event, CallStarted) and event.arguments.get("wait_s") == 50:
            os.kill(running()["terminals"], 9)

    async def story() -> Talk:
        kernel = house.kernel(
            step("", call("terminal_open", command=sleep)),
            step("", call("terminal_read", terminal="term1", wait_s=50)),
            step("Gone.", expect=["what the call did is unknown"]),
        )
        talk = await house.open(kernel)
        await talk.say("go", react)
        await kernel.close()
        return talk

    talk = run(story())

    assert talk.of(CallFinished)[-1].outcome == "failed"
    assert ends(sleep)
