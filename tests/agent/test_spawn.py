"""Sub-agents: a task of their own, the same gate, the turn's caps, and one end for whatever they began."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from limnos.agent.build import Opening, home, open_session
from limnos.agent.scheduling import Input
from limnos.agent.settings import load
from limnos.kernel.conversation import fold
from limnos.kernel.events import (
    AgentFinished,
    AgentStarted,
    ApprovalAnswered,
    ApprovalAsked,
    CallFinished,
    CallProposed,
    CallStarted,
    Event,
    StageNote,
    StepFinished,
    TurnFinished,
)
from limnos.kernel.messages import ToolCall, text_of
from limnos.kernel.model import Request
from limnos.kernel.recovery import close_open_calls
from limnos.kernel.stages import CallPayload, Deny, Handler, Pass, Payload, Pipeline
from limnos.kernel.stream import EventStream
from limnos.providers.embedded_prompt import prefix
from limnos.providers.scripted import Scripted, ScriptStep
from limnos.service.client import Session
from limnos.store.audit import read_history
from limnos.testing.doubles import FixedClock, MemoryLog
from tests.service.house import House, React, Talk, answering, call, of_type, run, step

COMMAND = "echo hello >> made.txt"
YES = answering("once")


def spawn(task: str, **more: Any) -> dict[str, Any]:
    return call("spawn_agent", task=task, **more)


def talked(house: House, *steps: dict[str, Any], react: React = YES, **settings: object) -> Talk:
    """A session of one turn, whose record is confirmed."""

    async def story() -> Talk:
        talk = await house.open(house.kernel(*steps, **settings))
        await talk.say("do it", react)
        return talk

    talk = run(story())
    assert house.divergence(talk) is None
    return talk


def answers(talk: Talk) -> list[CallFinished]:
    """The results of the session's own calls."""
    return [event for event in talk.of(CallFinished) if not event.agent]


def ends(talk: Talk) -> dict[str, AgentFinished]:
    return {event.agent: event for event in talk.of(AgentFinished)}


def dangling(events: list[Event]) -> set[str]:
    """Calls, questions and sub-agents that were begun and have not exactly one end."""
    begun = [event.call for event in of_type(events, CallProposed)]
    begun += [event.approval for event in of_type(events, ApprovalAsked)]
    begun += [event.agent for event in of_type(events, AgentStarted)]
    ended = [event.call for event in of_type(events, CallFinished)]
    ended += [event.approval for event in of_type(events, ApprovalAnswered)]
    ended += [event.agent for event in of_type(events, AgentFinished)]
    return {name for name in {*begun, *ended} if begun.count(name) != 1 or ended.count(name) != 1}


def test_a_sub_agent_works_on_its_own_and_hands_back_its_last_message(tmp_path: Path) -> None:
    house = House(tmp_path)
    (house.work / "a.txt").write_text("alpha\n")

    talk = talked(
        house,
        step("I ask somebody.", spawn("What does a.txt say?", role="reader")),
        step(
            "I look.", call("read_file", path="a.txt"), to="sub-agent 1", expect=["as reader", "a.txt say?"]
        ),
        step("It says alpha.", to="sub-agent 1", expect=["alpha"]),
        step("alpha", expect=["do it", "It says alpha."]),
    )

    (result,) = answers(talk)
    assert (result.outcome, result.text, result.summary) == (
        "done",
        "It says alpha.",
        "reader: done after 2 steps",
    )
    started, ended = talk.of(AgentStarted)[0], ends(talk)["1"]
    assert (started.role, started.task, started.max_steps) == ("reader", "What does a.txt say?", 8)
    assert (ended.reason, ended.steps, ended.calls, ended.had_effects) == ("done", 2, 1, False)
    assert started.call == ended.call == result.call


def test_what_a_sub_agent_does_is_in_the_log_and_not_in_the_conversation(tmp_path: Path) -> None:
    house = House(tmp_path)
    (house.work / "a.txt").write_text("alpha\n")

    talk = talked(
        house,
        step("", spawn("read a.txt")),
        step("I look.", call("read_file", path="a.txt"), to="sub-agent"),
        step("alpha it is", to="sub-agent"),
        step("done"),
    )

    events = list(read_history(Path(talk.session.path)).events)
    assert [event.agent for event in of_type(events, StepFinished)] == ["1", "1", "", ""]
    conversation = fold(events)
    assert [type(unit).__name__ for unit in conversation.units] == ["Said", "Step", "Step"]
    assert conversation.title == "do it"
    (ended,) = talk.of(TurnFinished)
    assert (ended.steps, ended.calls) == (2, 1)
    assert ended.tokens > ends(talk)["1"].tokens > 0
    assert conversation.last.tokens == ended.tokens


def test_three_work_at_once_and_a_fourth_waits(tmp_path: Path) -> None:
    tasks = [f"task {name}" for name in ("one", "two", "three", "four")]
    talk = talked(
        House(tmp_path),
        step("", *(spawn(task) for task in tasks)),
        *(step(f"answer to {task}", to=task, delay=0.02) for task in tasks),
        step("all done"),
    )

    order = [event.type for event in talk.heard if isinstance(event, AgentStarted | AgentFinished)]
    assert order[:4] == ["agent_started"] * 3 + ["agent_finished"]
    assert {event.text for event in answers(talk)} == {f"answer to {task}" for task in tasks}
    assert {event.agent: event.task for event in talk.of(AgentStarted)} == {
        str(place): task for place, task in enumerate(tasks, 1)
    }


def test_a_sub_agent_has_sub_agents_and_these_have_none(tmp_path: Path) -> None:
    talk = talked(
        House(tmp_path),
        step("", spawn("outer task", role="boss")),
        step("", spawn("inner task", role="hand"), to="outer task"),
        step("", spawn("deepest task"), to="inner task"),
        step("I could not go deeper.", to="inner task", expect=["there is no tool 'spawn_agent'"]),
        step("The hand said so.", to="outer task", expect=["I could not go deeper."]),
        step("done"),
    )

    assert [event.agent for event in talk.of(AgentStarted)] == ["1", "1/1"]
    assert ends(talk)["1"].tokens > ends(talk)["1/1"].tokens
    assert not dangling(talk.heard)


def test_a_sub_agent_ends_at_its_budget_and_says_so(tmp_path: Path) -> None:
    talk = talked(
        House(tmp_path),
        step("", spawn("look around", max_steps=2)),
        step("First I list.", call("list_dir"), to="look around"),
        step("Then I look for files.", call("find_files", pattern="*"), to="look around"),
        step("It found nothing in time."),
    )

    (result,) = answers(talk)
    assert result.outcome == "done"
    assert result.text == "Then I look for files.\n\n[stopped at 2 steps, the budget of this sub-agent]"
    assert ends(talk)["1"].reason == "limit"
    assert [event.reason for event in talk.of(TurnFinished)] == ["done"]


def test_more_steps_than_twelve_are_refused(tmp_path: Path) -> None:
    talk = talked(House(tmp_path), step("", spawn("x", max_steps=13)), step("no"))

    (result,) = answers(talk)
    assert (result.error or {})["reason"] == "invalid_arguments"
    assert not talk.of(AgentStarted)


def test_its_tokens_count_in_the_turn_and_the_caps_of_the_turn_hold(tmp_path: Path) -> None:
    talk = talked(
        House(tmp_path),
        step("", spawn("spend"), usage=[100, 100]),
        step("I spend.", call("list_dir"), to="spend", usage=[900, 100]),
        turn_tokens=1000,
    )

    (result,) = answers(talk)
    assert "stopped at 1200 tokens, the limit of a turn is 1000" in result.text
    (ended,) = talk.of(TurnFinished)
    assert (ended.reason, ended.tokens) == ("limit", 1200)


def test_an_answer_that_is_too_long_is_cut_and_the_rest_can_be_read(tmp_path: Path) -> None:
    house = House(tmp_path)
    long = " ".join(f"word{number}" for number in range(4000))

    async def story() -> Talk:
        talk = await house.open(
            house.kernel(
                step("", spawn("write much")),
                step(long, to="write much"),
                step("done"),
                context_tokens=400_000,
            )
        )
        await talk.say("do it")
        return talk

    talk = run(story())
    (result,) = answers(talk)
    block = ends(talk)["1"].block

    assert len(long) > 20_000
    assert result.text.startswith(long[:20_000])
    assert len(result.text) < 20_200
    assert f"block_read(block={block!r}, start=20000)" in result.text
    assert house.divergence(talk) is None


@pytest.mark.parametrize("name", ["rm_everything", "plan_update", "tools_open"])
def test_a_tool_that_it_cannot_have_is_named(tmp_path: Path, name: str) -> None:
    talk = talked(House(tmp_path), step("", spawn("x", tools=["read_file", name])), step("no"))

    (result,) = answers(talk)
    assert (result.error or {})["reason"] == "not_found"
    assert f"a sub-agent cannot have '{name}'" in (result.error or {})["detail"]
    assert not talk.of(AgentStarted)


def test_it_has_only_the_tools_that_were_named(tmp_path: Path) -> None:
    talk = talked(
        House(tmp_path),
        step("", spawn("list", tools=["list_dir"])),
        step("", call("list_dir"), call("run_command", command="true"), to="sub-agent"),
        step("one worked", to="sub-agent"),
        step("done"),
    )

    own = [event for event in talk.of(CallFinished) if event.agent]
    assert sorted((event.tool, event.outcome) for event in own) == [
        ("list_dir", "done"),
        ("run_command", "failed"),
    ]


def test_its_calls_are_asked_about_under_its_name_and_a_no_is_a_no(tmp_path: Path) -> None:
    house = House(tmp_path)
    talk = talked(
        house,
        step("", spawn("make it", role="maker")),
        step("", call("run_command", command=COMMAND), to="make it"),
        step("They said no.", to="make it", expect=["the person said no"]),
        step("done"),
        react=answering("no"),
    )

    (asked,) = talk.of(ApprovalAsked)
    assert asked.agent == "1"
    assert asked.reasons[0] == "asked by sub-agent 1, maker"
    assert not (house.work / "made.txt").exists()
    assert ends(talk)["1"].reason == "denied"
    assert "They said no." in answers(talk)[0].text


def test_questions_of_neighbours_come_one_at_a_time(tmp_path: Path) -> None:
    house = House(tmp_path)
    talk = talked(
        house,
        step("", spawn("make one"), spawn("make two")),
        *(step("", call("run_command", command=COMMAND), to=f"make {name}") for name in ("one", "two")),
        *(step("made", to=f"make {name}") for name in ("one", "two")),
        step("done"),
    )

    order = [event.type for event in talk.heard if isinstance(event, ApprovalAsked | ApprovalAnswered)]
    assert order == ["approval_asked", "approval_answered"] * 2
    assert (house.work / "made.txt").read_text() == "hello\nhello\n"
    assert ends(talk)["1"].had_effects
    assert ends(talk)["2"].had_effects


def test_an_always_of_a_sub_agent_holds_in_the_session(tmp_path: Path) -> None:
    house = House(tmp_path)
    talk = talked(
        house,
        step("", spawn("touch it")),
        step("", call("run_command", command="touch made.txt"), to="touch it"),
        step("made", to="touch it"),
        step("", call("run_command", command="touch made.txt")),
        step("done"),
        react=answering("always"),
    )

    assert len(talk.of(ApprovalAsked)) == 1
    assert [event.outcome for event in answers(talk)] == ["done", "done"]


def test_what_failed_before_a_sub_agent_changed_something_may_be_tried_again(tmp_path: Path) -> None:
    house = House(tmp_path)
    check = call("run_command", command="test -e made.txt")
    talk = talked(
        house,
        step("", check),
        step("", check),
        step("", spawn("make it")),
        step("", call("run_command", command=COMMAND), to="make it"),
        step("made", to="make it"),
        step("", check),
        step("done"),
    )

    assert [event.outcome for event in answers(talk)] == ["failed", "failed", "done", "done"]


def test_a_model_that_fails_a_sub_agent_fails_that_call_only(tmp_path: Path) -> None:
    talk = talked(
        House(tmp_path),
        step("", spawn("x")),
        step("", error="refused", to="sub-agent"),
        step("It failed."),
    )

    (result,) = answers(talk)
    assert result.outcome == "failed"
    assert ends(talk)["1"].reason == "failed"
    assert [event.reason for event in talk.of(TurnFinished)] == ["done"]


def test_stopping_the_turn_stops_the_sub_agents_and_every_call_has_one_result(tmp_path: Path) -> None:
    house = House(tmp_path)

    def react(session: Session, event: Event) -> None:
        answering("once")(session, event)
        heard.append(event)
        running = [one for one in of_type(heard, CallStarted) if one.agent]
        if len(running) == 3 and isinstance(event, CallStarted):
            session.stop("stopped")

    heard: list[Event] = []

    async def story() -> Talk:
        talk = await house.open(
            house.kernel(
                step("", spawn("sleep one"), spawn("sleep two")),
                step("", call("run_command", command="sleep 1000"), to="sleep one"),
                step("", spawn("sleep below"), to="sleep two"),
                step("", call("run_command", command="sleep 1001"), to="sleep below"),
            )
        )
        await talk.say("do it", react)
        left = [task for task in asyncio.all_tasks() if "Child.work" in repr(task)]
        assert not left
        return talk

    talk = run(story())
    assert not dangling(talk.heard)
    assert [event.outcome for event in talk.of(CallFinished)] == ["cancelled"] * 5
    assert {event.reason for event in talk.of(AgentFinished)} == {"stopped"}
    assert [event.type for event in talk.heard][-1] == "turn_finished"
    assert house.divergence(talk) is None


def test_stopping_while_a_sub_agent_asks_closes_the_question(tmp_path: Path) -> None:
    def react(session: Session, event: Event) -> None:
        if isinstance(event, ApprovalAsked):
            session.stop("stopped")

    talk = talked(
        House(tmp_path),
        step("", spawn("make it"), spawn("make it too")),
        step("", call("run_command", command=COMMAND), to="make it"),
        step("", call("run_command", command=COMMAND), to="make it too"),
        react=react,
    )

    assert not dangling(talk.heard)
    assert [event.answer for event in talk.of(ApprovalAnswered)] == ["cancelled"]
    assert [event.reason for event in talk.of(TurnFinished)] == ["stopped"]


def test_what_a_dead_process_left_of_sub_agents_is_closed_wherever_it_died(tmp_path: Path) -> None:
    house = House(tmp_path)
    talk = talked(
        house,
        step("", spawn("outer"), spawn("other")),
        step("", spawn("inner"), to="outer"),
        step("I make.", call("run_command", command=COMMAND), call("list_dir"), to="inner"),
        step("made", to="inner"),
        step("all made", to="outer"),
        step("", call("list_dir"), to="other"),
        step("looked", to="other"),
        step("done"),
    )
    events = list(read_history(Path(talk.session.path)).events)

    for died in range(2, len(events)):
        log = MemoryLog()
        left = fold(events[:died])
        close_open_calls(EventStream(talk.session.id, log, FixedClock(), left))
        whole = [*events[:died], *log.events]
        open_questions = {event.approval for event in of_type(events, ApprovalAsked) if not event.agent}
        assert dangling(whole) <= open_questions, f"died after {died} events"
        assert not left.agents.open
        finished = {event.call: event.outcome for event in of_type(whole, CallFinished)}
        started = {event.call for event in of_type(events[:died], CallStarted)}
        ended = {event.call for event in of_type(events[:died], CallFinished)}
        assert all(finished[name] == "unknown" for name in started - ended)
        paths = [event.agent for event in of_type(events[:died], AgentStarted)]
        assert left.agents.take_path("") == str(len([path for path in paths if "/" not in path]) + 1)


async def first_request(house: House, model: str, **settings: object) -> Request:
    """What a session asks a model of this name first."""
    environment = house.environment(memory_recall="off", **settings)
    base, chosen = home(environment), load(environment)
    session = f"s{house.scripts:05}"
    scripted = Scripted([ScriptStep("hello")], model)
    opening = Opening(base.files.new_path(session), session, str(house.work))
    runner = open_session(base, chosen, scripted, opening)
    runner.submit(Input("hello", "m1", "test", "owner"))
    async for event in runner.events(0):
        if isinstance(event, TurnFinished):
            break
    await runner.close()
    return scripted.requests[0]


def test_the_embedded_model_is_told_of_sub_agents_only_when_asked_to(tmp_path: Path) -> None:
    house = House(tmp_path)

    async def story() -> list[Request]:
        return [await first_request(house, "embedded/m", agents=how) for how in ("auto", "off", "on")]

    auto, off, on = run(story())
    assert auto == off
    assert prefix(auto.tools) == prefix(off.tools)
    assert "spawn_agent" in [tool.name for tool in on.tools]
    assert "agents" not in repr(auto.messages[0])


def test_other_models_are_told_in_one_line_and_open_the_group(tmp_path: Path) -> None:
    house = House(tmp_path)
    request = run(first_request(house, "remote/m"))

    assert "- agents (1 tools): spawn_agent" in text_of(request.messages[0].parts)
    assert "spawn_agent" not in [tool.name for tool in request.tools]
    talk = talked(
        house,
        step("", call("tools_open", plugin="agents")),
        step("", spawn("x"), expect=["Now offered: spawn_agent"]),
        step("y", to="sub-agent"),
        step("z"),
    )
    assert [event.outcome for event in answers(talk)] == ["done", "done"]


def test_with_agents_off_there_is_no_such_tool(tmp_path: Path) -> None:
    talk = talked(House(tmp_path), step("", spawn("x")), step("no"), agents="off")

    (result,) = answers(talk)
    assert (result.error or {})["reason"] == "not_found"


def test_a_fork_is_never_cut_inside_a_sub_agent(tmp_path: Path) -> None:
    house = House(tmp_path)
    talk = talked(
        house,
        step("", call("list_dir")),
        step("", spawn("x")),
        step("", call("list_dir"), to="sub-agent"),
        step("y", to="sub-agent"),
        step("z"),
    )
    files = home(house.environment()).files
    last = next(event for event in talk.of(StepFinished) if event.agent == "1" and event.text == "y")

    forked = read_history(files.fork(talk.session.id, "f00001", last.seq)).events

    assert not dangling(list(forked))
    assert not [event for event in forked if event.agent]


def test_the_stages_see_its_calls_and_may_deny_them(tmp_path: Path) -> None:
    house = House(tmp_path)

    async def guard(payload: Payload) -> Deny | Pass:
        assert isinstance(payload, CallPayload)
        return Deny("not the list") if payload.tool == "list_dir" else Pass()

    environment = house.environment()
    steps = [
        ScriptStep("", (ToolCall("c1", "spawn_agent", {"task": "x"}, "{}"),)),
        ScriptStep("", (ToolCall("c2", "list_dir", {}, "{}"),), to="sub-agent"),
        ScriptStep("I was denied.", to="sub-agent", expect=("not the list",)),
        ScriptStep("done"),
    ]

    async def story() -> list[Event]:
        base, heard = home(environment), list[Event]()
        base.plugins.attach = attach
        opening = Opening(base.files.new_path("s0"), "s0", str(house.work))
        runner = open_session(base, load(environment), Scripted(steps), opening)
        runner.submit(Input("go", "m1", "test", "owner"))
        async for event in runner.events(0):
            heard.append(event)
            if isinstance(event, TurnFinished):
                break
        await runner.close()
        return heard

    def attach(pipeline: Pipeline) -> Callable[[], None]:
        pipeline.attach(Handler("guard", "before_toolcall", guard))
        return lambda: None

    events = run(story())
    (note,) = [event for event in of_type(events, StageNote) if event.action == "deny"]
    assert (note.agent, note.detail) == ("1", "not the list")
    assert [event.outcome for event in of_type(events, CallFinished)] == ["denied", "done"]
