"""Turns from the first message to the last event."""

import asyncio
from decimal import Decimal

import pytest

from limnos.context.budget import WindowSettings
from limnos.kernel.approvals import GateSettings
from limnos.kernel.errors import StorageError
from limnos.kernel.events import Event, InputInjected, TextDelta, TurnFinished, Warned
from limnos.kernel.limits import WRAP_UP, Caps
from limnos.kernel.messages import Arguments, ToolCall, text_of
from limnos.kernel.seams import Answer, Principal
from limnos.kernel.stream import EventStream
from limnos.kernel.tools import Output, Preview, Tool, ToolContext, ToolFailure
from limnos.providers.scripted import Scripted
from limnos.testing.doubles import ListedAnswers, MemoryLog
from tests.kernel.turns import Ran, Setting, call, echo_tool, step


def test_an_answer_without_calls_ends_the_turn() -> None:
    setting = Setting(Scripted([step("Hello there.")]))

    end = setting.run()

    assert (end.reason, end.exit, end.steps, end.calls) == ("done", 0, 1, 0)
    assert setting.events("step_finished")[-1].text == "Hello there."
    assert "".join(event.text for event in setting.heard if isinstance(event, TextDelta)) == "Hello there."


def test_a_call_runs_and_its_result_reaches_the_model() -> None:
    ran = Ran()
    model = Scripted([step("", call("echo", text="a")), step("Done.", expect=("echo a",))])
    setting = Setting(model, [echo_tool(ran)])

    end = setting.run()

    assert end.reason == "done"
    assert ran.order == ["echo:a"]
    assert model.unused == 0


def test_intent_is_on_disk_before_the_effect() -> None:
    seen: list[bool] = []
    setting = Setting(Scripted([step("", call("probe")), step("ok")]))

    async def look(arguments: Arguments, context: ToolContext) -> Output:
        started = setting.events("call_started")
        seen.append(bool(started) and started[0].seq in setting.log.durable)
        return Output("looked")

    setting.registry.register(Tool("probe", "looks at the log", {"type": "object"}, look))
    setting.run()

    assert seen == [True]


def test_the_final_answer_is_durable_before_anybody_may_rely_on_it() -> None:
    setting = Setting(Scripted([step("Final.")]))

    setting.run()

    assert setting.events("step_finished")[-1].seq in setting.log.durable


def test_every_call_of_a_reply_gets_one_result_in_call_order() -> None:
    ran = Ran()
    calls = (call("echo", "c1", text="1"), call("missing", "c2"), call("echo", "c3", text="3"))
    setting = Setting(Scripted([step("", *calls), step("ok")]), [echo_tool(ran)])

    setting.run()

    messages = setting.conversation.units[1].messages()
    assert [message.result.call_id for message in messages[1:] if message.result] == ["c1", "c2", "c3"]
    assert [message.result.outcome for message in messages[1:] if message.result] == [
        "done",
        "failed",
        "done",
    ]


def test_parallel_safe_neighbours_run_together_and_others_alone() -> None:
    running: list[int] = [0]
    most: dict[str, int] = {}

    def tool(name: str, safe: bool) -> Tool:
        async def execute(arguments: Arguments, context: ToolContext) -> Output:
            running[0] += 1
            most[name] = max(most.get(name, 0), running[0])
            await asyncio.sleep(0)
            running[0] -= 1
            return Output("ok")

        return Tool(name, "counts who runs", {"type": "object"}, execute, parallel_safe=safe)

    calls = [call("safe", "1"), call("safe", "2"), call("alone", "3"), call("safe", "4")]
    setting = Setting(Scripted([step("", *calls), step("ok")]), [tool("safe", True), tool("alone", False)])

    setting.run()

    assert most == {"safe": 2, "alone": 1}


def test_approvals_come_one_at_a_time_and_in_order() -> None:
    ran = Ran()
    approver = ListedAnswers(Answer("once"), Answer("no", "not this one"))
    calls = [call("write", "c1", text="1"), call("write", "c2", text="2")]
    setting = Setting(
        Scripted([step("", *calls), step("ok", expect=("not this one",))]),
        [echo_tool(ran, "write", effects="local", needs_approval=True)],
        approver,
    )

    setting.run()

    assert [question.call for question in approver.asked] == ["c1", "c2"]
    assert ran.order == ["write:1"]


def test_without_an_approver_what_needs_a_yes_is_denied() -> None:
    ran = Ran()
    model = Scripted([step("", call("write")), step("I could not.")])
    setting = Setting(model, [echo_tool(ran, "write", effects="local", needs_approval=True)])

    end = setting.run()

    assert ran.order == []
    assert (end.reason, end.exit) == ("denied", 4)
    assert model.requests[1].tools == ()


def test_only_the_owner_answers() -> None:
    ran = Ran()
    approver = ListedAnswers(Answer("once", principal=Principal("guest")))
    setting = Setting(
        Scripted([step("", call("write")), step("no")]),
        [echo_tool(ran, "write", effects="local", needs_approval=True)],
        approver,
    )

    setting.run()

    assert ran.order == []
    assert setting.events("approval_answered")[0].answer == "no"


def test_a_guest_does_not_reach_private_tools_even_in_mode_yolo() -> None:
    ran = Ran()
    setting = Setting(
        Scripted([step("", call("mail")), step("no")]),
        [echo_tool(ran, "mail", private=True)],
        gate=GateSettings("yolo"),
    )

    setting.run(principal="guest")

    assert ran.order == []


def test_a_reply_cut_at_its_token_limit_runs_nothing() -> None:
    ran = Ran()
    model = Scripted(
        [
            step("", call("echo", "c1", text="half"), finish="length"),
            step("", call("echo", "c2", text="whole")),
            step("ok"),
        ]
    )
    setting = Setting(model, [echo_tool(ran)])

    end = setting.run()

    assert ran.order == ["echo:whole"]
    assert setting.events("call_finished")[0].error["reason"] == "invalid_arguments"
    assert end.reason == "done"


def test_three_identical_failures_end_the_turn() -> None:
    bad = [step("", ToolCall(f"c{n}", "echo", None, '{"text": "a', "cut off", True)) for n in range(3)]
    setting = Setting(Scripted(bad), [echo_tool(Ran())])

    end = setting.run()

    assert end.reason == "limit"
    assert "3 times in the same way" in end.message


def test_a_third_identical_call_is_answered_and_not_run() -> None:
    ran = Ran()
    model = Scripted([*(step("", call("echo", f"c{n}", text="a")) for n in range(3)), step("ok")])
    setting = Setting(model, [echo_tool(ran)])

    setting.run()

    assert ran.order == ["echo:a", "echo:a"]
    assert setting.events("call_finished")[2].error["reason"] == "refused"


def test_edit_and_test_in_turn_is_normal_work() -> None:
    ran = Ran()
    script = []
    for n in range(4):
        script += [
            step("", call("edit", f"e{n}", text=str(n))),
            step("", call("check", f"t{n}", text="same")),
        ]
    setting = Setting(
        Scripted([*script, step("ok")]), [echo_tool(ran, "edit", effects="local"), echo_tool(ran, "check")]
    )

    setting.run()

    assert ran.order.count("check:same") == 4


def test_an_incomplete_reply_is_kept_marked_and_tried_once_more() -> None:
    model = Scripted([step("Half an ans", finish="incomplete"), step("A whole answer.")])
    setting = Setting(model)

    end = setting.run()

    assert end.reason == "done"
    assert setting.clock.slept == [1.0]
    first, second = setting.events("step_finished")
    assert (first.complete, first.text) == (False, "Half an ans")
    assert second.text == "A whole answer."
    assert "Half" not in "".join(text_of(message.parts) for message in model.requests[1].messages)


def test_a_reply_that_breaks_off_twice_is_a_failure_that_keeps_the_text() -> None:
    setting = Setting(Scripted([step("one", finish="incomplete"), step("two", finish="error")]))

    end = setting.run()

    assert (end.reason, end.exit) == ("failed", 1)
    assert setting.events("step_finished")[-1].text == "two"


def test_a_failed_model_ends_the_turn_with_a_closing_message() -> None:
    setting = Setting(Scripted([step(error="unavailable")]))

    end = setting.run()

    assert end.reason == "failed"
    assert setting.conversation.units[-1].messages()[0].role == "assistant"


def test_a_context_overflow_is_rendered_smaller_and_asked_again() -> None:
    model = Scripted([step(error="overflow"), step("fits now")])
    setting = Setting(model)

    end = setting.run()

    assert end.reason == "done"
    assert len(model.requests) == 2


def test_a_third_overflow_gives_up() -> None:
    setting = Setting(Scripted([step(error="overflow")] * 3))

    assert setting.run().reason == "failed"


def test_the_step_limit_names_itself_and_its_setting() -> None:
    model = Scripted([step("", call("echo", f"c{n}", text=str(n))) for n in range(3)])
    setting = Setting(model, [echo_tool(Ran())], caps=Caps(steps=3))

    end = setting.run()

    assert (end.reason, end.exit) == ("limit", 3)
    assert "3 steps" in end.message
    assert "config set steps 6" in end.fix


def test_a_money_cap_stops_before_the_next_request() -> None:
    model = Scripted([step("", call("echo", "c1", text="1")), step("never")])
    setting = Setting(
        model,
        [echo_tool(Ran())],
        caps=Caps(day_cost=Decimal("0.01")),
        prices=lambda name, usage: (Decimal("0.02"), "USD"),
    )

    end = setting.run()

    assert end.reason == "limit"
    assert "cap for a day" in end.message
    assert model.unused == 1


def test_near_the_limit_the_model_is_told_once_to_wrap_up() -> None:
    model = Scripted([*(step("", call("echo", f"c{n}", text=str(n))) for n in range(4)), step("ok")])
    setting = Setting(model, [echo_tool(Ran())], caps=Caps(steps=5))

    setting.run()

    told = [WRAP_UP in text_of(request.messages[-1].parts) for request in model.requests]
    assert told.count(True) == 1


def test_a_cancelled_call_gets_its_result_and_the_turn_its_closing_message() -> None:
    setting = Setting(Scripted([step("", call("slow", "c1"), call("slow", "c2"))]))

    async def wait(arguments: Arguments, context: ToolContext) -> Output:
        setting.cancel.request("stopped")
        await asyncio.Event().wait()
        return Output("never")

    setting.registry.register(Tool("slow", "never ends", {"type": "object"}, wait))
    end = setting.run()

    assert (end.reason, end.exit) == ("stopped", 130)
    assert [event.outcome for event in setting.events("call_finished")] == ["cancelled", "cancelled"]
    assert setting.conversation.units[-1].messages()[-1].role == "assistant"


def end_of_a_turn_with_a_deaf_tool(setting: Setting, stops: int) -> TurnFinished:
    """Stop a turn, once or twice, whose tool never ends and does not listen."""
    release: list[asyncio.Event] = []

    async def deaf(arguments: Arguments, context: ToolContext) -> Output:
        for _ in range(stops):
            asyncio.get_running_loop().call_soon(setting.cancel.request, "stopped")
        release.append(asyncio.Event())
        while not release[0].is_set():
            try:
                await release[0].wait()
            except asyncio.CancelledError:
                continue
        return Output("late")

    async def whole() -> TurnFinished:
        try:
            return await asyncio.wait_for(setting.loop.run(setting.turn()), 5)
        finally:
            release[0].set()

    setting.registry.register(Tool("deaf", "does not listen", {"type": "object"}, deaf))
    return asyncio.run(whole())


def test_a_tool_that_ignores_its_cancellation_does_not_hold_the_turn() -> None:
    setting = Setting(Scripted([step("", call("deaf"))]))
    setting.cancel.grace_seconds = 0.01

    assert end_of_a_turn_with_a_deaf_tool(setting, stops=1).reason == "stopped"


def test_a_tool_that_breaks_is_a_result_and_not_an_exception() -> None:
    async def broken(arguments: Arguments, context: ToolContext) -> Output:
        raise ZeroDivisionError("oh")

    setting = Setting(
        Scripted([step("", call("broken")), step("ok", expect=("ZeroDivisionError",))]),
        [Tool("broken", "breaks", {"type": "object"}, broken)],
    )

    assert setting.run().reason == "done"


def test_a_tool_that_is_too_slow_is_told_so() -> None:
    async def slow(arguments: Arguments, context: ToolContext) -> Output:
        await asyncio.Event().wait()
        return Output("never")

    setting = Setting(
        Scripted([step("", call("slow")), step("ok", expect=("the work was abandoned",))]),
        [Tool("slow", "is slow", {"type": "object"}, slow, timeout_s=0.01)],
    )

    assert setting.run().reason == "done"


def test_an_input_injected_in_mid_turn_is_read_before_the_next_step() -> None:
    model = Scripted([step("", call("inject")), step("ok", expect=("use the staging branch",))])
    setting = Setting(model)
    turn = setting.turn()

    async def inject(arguments: Arguments, context: ToolContext) -> Output:
        turn.inbox.append(
            InputInjected(input="use the staging branch", source="t", principal="owner", client_id="x")
        )
        return Output("ok")

    setting.registry.register(Tool("inject", "injects", {"type": "object"}, inject))
    end = asyncio.run(setting.loop.run(turn))

    assert end.reason == "done"
    assert model.unused == 0


def test_a_repeated_provider_id_is_replaced_by_one_of_ours() -> None:
    ran = Ran()
    model = Scripted(
        [step("", call("echo", "x", text="1")), step("", call("echo", "x", text="2")), step("ok")]
    )
    setting = Setting(model, [echo_tool(ran)])

    setting.run()

    ids = [event.call for event in setting.events("call_proposed")]
    assert ids[0] == "x"
    assert len(set(ids)) == 2


def test_a_large_result_goes_to_a_blob_with_head_tail_and_the_way_to_the_rest() -> None:
    async def big(arguments: Arguments, context: ToolContext) -> Output:
        return Output("start " + "x" * 5000 + " end")

    model = Scripted([step("", call("big")), step("ok", expect=("start ", " end", "block_read"))])
    setting = Setting(model, [Tool("big", "is big", {"type": "object"}, big)], inline_characters=400)

    setting.run()

    finished = setting.events("call_finished")[0]
    assert finished.short
    assert len(setting.blobs.get(finished.block)) == 5010
    assert len(finished.text) < 700


@pytest.mark.parametrize("tokens", [300, 600, 1200])
def test_a_long_session_still_renders_whole_steps_within_its_budget(tokens: int) -> None:
    script = []
    for n in range(30):
        script += [step("", call("echo", f"c{n}", text="word " * 30)), step(f"answer {n}")]
    model = Scripted(script, context_tokens=tokens * 4)
    setting = Setting(model, [echo_tool(Ran())], window=WindowSettings(reserve=tokens))

    for n in range(30):
        assert setting.run(f"question {n}").reason == "done"

    for request in model.requests:
        calls = [one.id for message in request.messages for one in message.calls]
        results = [message.result.call_id for message in request.messages if message.result]
        assert calls == results
    assert any("left this window" in text_of(message.parts) for message in model.requests[-1].messages)


def test_a_preview_that_breaks_is_said_and_the_question_still_asked() -> None:
    def broken(arguments: Arguments) -> Preview:
        raise ZeroDivisionError

    ran = Ran()
    approver = ListedAnswers(Answer("no"))
    setting = Setting(
        Scripted([step("", call("write")), step("ok")]),
        [echo_tool(ran, "write", needs_approval=True, preview=broken)],
        approver,
    )

    setting.run()

    assert "cannot be shown: ZeroDivisionError" in approver.asked[0].reasons[0]


def test_a_call_that_would_fail_fails_at_once_and_nobody_is_asked() -> None:
    def failing(arguments: Arguments) -> Preview:
        raise ToolFailure("not_found", "no such place", "look elsewhere")

    ran = Ran()
    approver = ListedAnswers()
    setting = Setting(
        Scripted([step("", call("write")), step("ok")]),
        [echo_tool(ran, "write", needs_approval=True, preview=failing)],
        approver,
    )

    assert setting.run().reason == "done"
    assert (ran.order, approver.asked) == ([], [])
    finished = setting.events("call_finished")[0]
    assert (finished.outcome, finished.error["detail"]) == ("failed", "no such place")


def test_always_without_a_rule_is_a_no_and_written_as_one() -> None:
    ran = Ran()
    setting = Setting(
        Scripted([step("", call("write")), step("ok")]),
        [echo_tool(ran, "write", needs_approval=True)],
        ListedAnswers(Answer("always")),
    )

    setting.run()

    assert ran.order == []
    assert setting.events("approval_answered")[0].answer == "no"


def test_when_the_log_cannot_be_written_no_neighbour_goes_on_unrecorded() -> None:
    setting = Setting(Scripted([step("", call("full", "1"), call("slow", "2"))]))
    ended: list[str] = []

    async def fill(arguments: Arguments, context: ToolContext) -> Output:
        setting.log.append = _refuse  # type: ignore[method-assign]
        return Output("")

    async def slow(arguments: Arguments, context: ToolContext) -> Output:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("slow")
        return Output("")

    for name, act in (("full", fill), ("slow", slow)):
        setting.registry.register(Tool(name, name, {"type": "object"}, act, parallel_safe=True))

    with pytest.raises(StorageError):
        setting.run()
    assert ended == ["slow"]


def _refuse(event: Event, *, durable: bool = False) -> None:
    raise StorageError("the disk is full", "free some space")


def test_numbers_that_somebody_may_have_seen_are_not_given_again_after_a_crash() -> None:
    setting = Setting(Scripted([]))
    setting.turn()
    last = setting.log.events[-1].seq

    reopened = EventStream("s1", MemoryLog(), setting.clock, setting.conversation)

    assert reopened.emit(Warned(code="x", text="y")).seq > last + 1000


def test_a_second_stop_skips_the_grace_time() -> None:
    setting = Setting(Scripted([step("", call("deaf"))]))
    setting.cancel.grace_seconds = 3600

    assert end_of_a_turn_with_a_deaf_tool(setting, stops=2).reason == "stopped"


def test_a_tool_that_cancels_itself_is_a_failure_and_not_a_stop() -> None:
    async def odd(arguments: Arguments, context: ToolContext) -> Output:
        raise asyncio.CancelledError

    setting = Setting(
        Scripted([step("", call("odd")), step("ok", expect=("cancelled from inside",))]),
        [Tool("odd", "cancels itself", {"type": "object"}, odd)],
    )

    assert setting.run().reason == "done"


def test_after_a_denial_new_input_gives_the_tools_back() -> None:
    model = Scripted([step("", call("write")), step("I may not."), step("ok")])
    setting = Setting(model, [echo_tool(Ran(), "write", needs_approval=True)])
    turn = setting.turn()
    said = InputInjected(input="then only look", source="t", principal="owner", client_id="x")
    setting.stream.listen(
        lambda event: (
            turn.inbox.append(said)
            if event.type == "text_delta" and not turn.inbox and model.unused == 1
            else None
        )
    )

    end = asyncio.run(setting.loop.run(turn))

    assert end.reason == "done"
    assert [bool(request.tools) for request in model.requests] == [True, False, True]


def test_a_subject_that_breaks_asks_instead_of_ending_the_turn() -> None:
    def broken(arguments: Arguments) -> str:
        raise ZeroDivisionError

    ran = Ran()
    approver = ListedAnswers(Answer("once"))
    setting = Setting(
        Scripted([step("", call("look")), step("ok")]), [echo_tool(ran, "look", subject=broken)], approver
    )

    assert setting.run().reason == "done"
    assert len(approver.asked) == 1


def test_what_a_stopped_reply_used_still_counts() -> None:
    setting = Setting(Scripted([step("several words that stream", delay=0.001)]))
    setting.stream.listen(
        lambda event: setting.cancel.request("stopped") if event.type == "text_delta" else None
    )

    end = setting.run()

    assert end.reason == "stopped"
    assert end.tokens > 0


def test_a_conversation_knows_what_its_open_turn_has_used() -> None:
    setting = Setting(
        Scripted([step("one", usage=(100, 20))]), prices=lambda name, usage: (Decimal("0.25"), "USD")
    )

    setting.run()

    assert (setting.conversation.last.tokens, setting.conversation.last.cost) == (120, Decimal("0.25"))


def test_a_reply_that_drips_ends_with_the_time_of_its_turn() -> None:
    setting = Setting(Scripted([step("word " * 1000, delay=0.01)]), caps=Caps(seconds=0.05))

    end = setting.run()

    assert end.reason == "limit"
    assert "0.05 s" in end.message
