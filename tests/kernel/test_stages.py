"""The seven stages: order, outcomes, failures."""

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from limnos.kernel.messages import Message, ToolResult, tool_message
from limnos.kernel.pairing import check_pairing
from limnos.kernel.seams import Principal
from limnos.kernel.stages import (
    Action,
    AnswerWith,
    CallPayload,
    ContextPayload,
    Deny,
    Handler,
    InputPayload,
    OutputPayload,
    Pass,
    Payload,
    Pipeline,
    ReplyPayload,
    ResultPayload,
    Rewrite,
    StageName,
)
from limnos.providers.scripted import Scripted
from tests.kernel.turns import Ran, Setting, call, echo_tool, step


def handler(stage: StageName, act: Callable[[Payload], Action], **more: object) -> Handler:
    async def run(payload: Payload) -> Action:
        return act(payload)

    return Handler(str(more.pop("name", "h")), stage, run, **more)  # type: ignore[arg-type]


def say(text: str) -> Callable[[Payload], Action]:
    def act(payload: Payload) -> Action:
        assert isinstance(payload, OutputPayload)
        return Rewrite(OutputPayload(payload.text + text))

    return act


def test_handlers_that_rewrite_run_by_priority_and_then_by_name() -> None:
    handlers = [
        handler("before_output", say("3"), name="z", rewrites=True, priority=9),
        handler("before_output", say("2"), name="b", rewrites=True, priority=1),
        handler("before_output", say("1"), name="a", rewrites=True, priority=1),
    ]
    setting = Setting(Scripted([step("0")]), handlers=handlers)

    setting.run()

    assert setting.events("step_finished")[-1].text == "0123"


def test_an_answer_on_input_never_reaches_the_model() -> None:
    model = Scripted([])
    setting = Setting(model, handlers=[handler("on_input", lambda _: AnswerWith("at once"))])

    assert setting.run().reason == "done"
    assert setting.events("step_finished")[-1].text == "at once"
    assert model.requests == []


def test_a_denied_input_ends_the_turn_with_its_reason() -> None:
    setting = Setting(Scripted([]), handlers=[handler("on_input", lambda _: Deny("too many messages"))])

    end = setting.run()

    assert (end.reason, end.message) == ("denied", "too many messages")


def test_a_call_denied_by_a_stage_still_has_its_result() -> None:
    ran = Ran()
    setting = Setting(
        Scripted([step("", call("echo")), step("ok", expect=("not today",))]),
        [echo_tool(ran)],
        handlers=[handler("before_toolcall", lambda _: Deny("not today"))],
    )

    setting.run()

    assert ran.order == []
    assert setting.events("call_finished")[0].outcome == "denied"


def test_rewritten_arguments_are_validated_again() -> None:
    def break_arguments(payload: Payload) -> Action:
        assert isinstance(payload, CallPayload)
        return Rewrite(CallPayload(payload.call, payload.tool, payload.plugin, {"text": 5}))

    ran = Ran()
    setting = Setting(
        Scripted([step("", call("echo", text="a")), step("ok")]),
        [echo_tool(ran)],
        handlers=[handler("before_toolcall", break_arguments, rewrites=True)],
    )

    setting.run()

    assert ran.order == []


def test_a_result_can_be_redacted_before_the_model_reads_it() -> None:
    def redact(payload: Payload) -> Action:
        assert isinstance(payload, ResultPayload)
        return Deny("holds a key")

    setting = Setting(
        Scripted([step("", call("echo", text="secret")), step("ok", expect=("withheld",))]),
        [echo_tool(Ran())],
        handlers=[handler("after_toolcall", redact)],
    )

    setting.run()

    assert "secret" not in setting.events("call_finished")[0].text


@pytest.mark.parametrize(
    ("added", "told"),
    [
        ((tool_message(ToolResult("c9", "done")),), "results dropped: 1"),
        ((Message("assistant", (), (call("echo"),)),), "results made up: 1"),
        (
            (Message("assistant", (), (call("echo", "c1"),)), tool_message(ToolResult("c1", "done"))) * 2,
            "calls renamed: 1",
        ),
    ],
)
def test_a_context_that_a_stage_put_into_disorder_is_mended_and_told(
    added: tuple[Message, ...], told: str
) -> None:
    def disorder(payload: Payload) -> Action:
        assert isinstance(payload, ContextPayload)
        return Rewrite(ContextPayload((*payload.messages, *added)))

    model = Scripted([step("ok")])
    setting = Setting(model, handlers=[handler("pre_action", disorder, rewrites=True)])

    setting.run()

    (warning,) = setting.events("warning")
    assert warning.code == "pairing_repaired"
    assert warning.text == f"calls and results of a request did not fit together; {told}"
    assert check_pairing(model.requests[0].messages).valid


def test_calls_can_be_dropped_after_the_reply() -> None:
    def drop(payload: Payload) -> Action:
        assert isinstance(payload, ReplyPayload)
        return Rewrite(ReplyPayload("without calls", ()))

    ran = Ran()
    setting = Setting(
        Scripted([step("", call("echo"))]),
        [echo_tool(ran)],
        handlers=[handler("post_action", drop, rewrites=True)],
    )

    setting.run()

    assert ran.order == []
    assert setting.events("step_finished")[-1].text == "without calls"


async def _hang(payload: Payload) -> Action:
    await asyncio.Event().wait()
    return Pass()


async def _raise(payload: Payload) -> Action:
    raise RuntimeError("broken guard")


@pytest.mark.parametrize("run", [_hang, _raise])
def test_a_failing_guard_denies_and_a_failing_watcher_passes(
    run: Callable[[Payload], Awaitable[Action]],
) -> None:
    payload = InputPayload("hi", "t", Principal())
    guard = Pipeline([Handler("guard", "on_input", run, timeout_s=0.01)])
    watcher = Pipeline([Handler("watcher", "on_input", run, policy="fail_open", timeout_s=0.01)])

    assert asyncio.run(guard.run("on_input", payload)).denied is not None
    passed = asyncio.run(watcher.run("on_input", payload))
    assert passed.denied is None
    assert passed.notes[0].action == "failed"


def test_a_guard_whose_plugin_died_denies_until_it_is_back() -> None:
    pipeline = Pipeline([handler("before_output", lambda _: Pass(), name="scan", plugin="p")])
    pipeline.detach("p", "exit 1")

    verdict = asyncio.run(pipeline.run("before_output", OutputPayload("x")))

    assert verdict.denied == "guard scan is down: exit 1"


def test_a_handler_that_only_looks_may_not_rewrite() -> None:
    pipeline = Pipeline([handler("before_output", say("!"), policy="fail_open")])

    verdict = asyncio.run(pipeline.run("before_output", OutputPayload("x")))

    assert verdict.payload == OutputPayload("x")
    assert verdict.notes[0].action == "failed"
