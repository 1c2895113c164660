"""The event stream as lines."""

from collections.abc import Sequence
from typing import Any

from limnos.frontends.cli.accessible import Speaker
from limnos.frontends.cli.transcript import Transcript
from limnos.kernel.events import (
    ApprovalAnswered,
    ApprovalAsked,
    CallFinished,
    CallProgress,
    CallProposed,
    CallStarted,
    ContextChanged,
    Event,
    InputInjected,
    PlanUpdated,
    ReplyFinished,
    StepFinished,
    TextDelta,
    TurnFinished,
    TurnStarted,
)
from tests.frontends.cli.support import look, text

BEGIN = TurnStarted(
    time="2026-03-14T20:31:04.000Z", turn=1, input="why does the build fail", source="cli", principal="owner",
    client_id="c", persona="default", model="embedded/qwen2.5-coder-1.5b", mode="ask",
)  # fmt: skip
END = TurnFinished(reason="done", exit=0, steps=2, calls=1, ms=6000, tokens=10)
AFTER_3_S = "2026-03-14T20:31:07.500Z"


def _call(call: str, tool: str, arguments: dict[str, Any], **finish: Any) -> list[Event]:
    effects = "local" if tool == "run_command" else "none"
    known: dict[str, Any] = {"outcome": "done", "text": "", "seq": 15}
    return [
        CallProposed(call=call, tool=tool, arguments=arguments, effects=effects),
        CallStarted(call=call, hash="", arguments=arguments, time=BEGIN.time),
        CallFinished(call=call, tool=tool, **{**known, **finish}),
    ]


def _shown(events: Sequence[Event], columns: int = 80) -> list[str]:
    transcript = Transcript(look(columns))
    return text([row for event in events for row in transcript.apply(event)])


def test_a_turn_reads_as_in_the_design() -> None:
    reads = [event for n, name in enumerate(("conftest.py", "cli/conftest.py", "cli/test_run.py"))
             for event in _call(f"r{n}", "read_file", {"path": f"tests/{name}"})]  # fmt: skip
    make = _call(
        "c1", "run_command", {"command": "make test"}, outcome="failed", exit=2, ms=4100,
        text="\n".join(["collecting"] * 210 + ["tests/cli/test_run.py:41: AssertionError", "bye"]),
        error={"reason": "failed", "detail": "exit status 2", "hint": ""},
    )  # fmt: skip
    answer = "The build fails because two files define the same fixture, "
    answer += "and the second one is found first."
    assert _shown([BEGIN, *reads, *make, TextDelta(text=answer), StepFinished(text=answer, step=2), END]) == [
        "› why does the build fail",
        "✓ read_file  3 files in tests: conftest.py, cli/conftest.py, cli/test_run.py",
        "✗ run_command  make test  failed, exit 2, 4.1 s  /show 15 for 212 lines",
        "  tests/cli/test_run.py:41: AssertionError",
        "",
        "  The build fails because two files define the same fixture, and the second one",
        "  is found first.",
    ]


def test_text_that_did_not_stream_is_shown_once() -> None:
    events = [
        BEGIN,
        ReplyFinished(text="Let me look.", step=1),
        *_call("c1", "run_command", {"command": "ls"}, ms=200, exit=0, summary="exit 0"),
        StepFinished(text="Let me look.", calls=["c1"], step=1),
        StepFinished(text="Done.", step=2),
        END,
    ]
    assert _shown(events) == [
        "› why does the build fail", "", "  Let me look.", "", "✓ run_command  ls  0.2 s", "", "  Done.",
    ]  # fmt: skip


def test_a_running_call_shows_its_head_and_its_last_three_lines() -> None:
    transcript = Transcript(look())
    for event in [BEGIN, *_call("c1", "run_command", {"command": "make test"})[:2]]:
        transcript.apply(event)
    for n in range(6):
        transcript.apply(CallProgress(call="c1", text=f"line {n}\n"))
    rows = text(transcript.live(AFTER_3_S))
    assert rows[0].endswith("run_command  make test  3 s")
    assert rows[1:] == ["  line 3", "  line 4", "  line 5"]


def test_while_a_question_is_open_nothing_else_is_printed_and_nothing_is_lost() -> None:
    transcript = Transcript(look())
    asked = ApprovalAsked(
        approval="k7f2", call="c1", tool="run_command", arguments={"command": "x"}, hash="", reasons=["r"]
    )
    transcript.apply(BEGIN)
    assert transcript.apply(asked)
    assert transcript.apply(TextDelta(text="from a sub-agent\n\n")) == []
    assert transcript.live(AFTER_3_S) == []
    answered = ApprovalAnswered(
        approval="k7f2", call="c1", answer="once", principal="owner", source="tty", after_ms=6000
    )
    assert text(transcript.apply(answered)) == [
        "✓ allowed by you, once, after 6 s", "", "  from a sub-agent",
    ]  # fmt: skip
    transcript.apply(END)
    assert transcript.question is None


def test_held_events_follow_the_answer() -> None:
    transcript = Transcript(look())
    transcript.apply(ApprovalAsked(approval="k", call="c1", tool="t", arguments={}, hash="", reasons=["r"]))
    transcript.apply(
        InputInjected(input="use staging", source="cli", principal="owner", client_id="d", step=3)
    )
    rows = transcript.apply(
        ApprovalAnswered(approval="k", call="c1", answer="no", principal="owner", source="tty")
    )
    assert text(rows) == ["- denied by you after 0 s", "› now: use staging", "  taken in before step 4"]


def test_a_denial_by_the_person_is_one_line_and_any_other_denial_says_why() -> None:
    error = {"reason": "refused", "detail": "deletes your home; no mode lifts this", "hint": ""}
    answered = ApprovalAnswered(
        approval="k", call="c1", answer="no", principal="owner", source="tty", after_ms=4000
    )
    by_person = [
        BEGIN,
        answered,
        *_call("c1", "run_command", {"command": "x"}, outcome="denied", error=error),
    ]
    assert _shown(by_person)[1:] == ["- denied by you after 4 s"]
    by_gate = [BEGIN, *_call("c2", "run_command", {"command": "rm -rf ~"}, outcome="denied", error=error)]
    assert _shown(by_gate)[1:] == ["- run_command  rm -rf ~  denied: deletes your home; no mode lifts this"]


def test_after_an_edit_the_tool_line_shows_the_command_that_ran() -> None:
    proposed, _, finished = _call("c1", "run_command", {"command": "rm -r build"}, ms=200, exit=0)
    edit = {"command": "rm -r build/old"}
    answered = ApprovalAnswered(
        approval="k", call="c1", answer="edit", principal="owner", source="tty", arguments=edit, after_ms=2000
    )
    started = CallStarted(call="c1", hash="", arguments=edit, time=BEGIN.time)
    transcript = Transcript(look())
    for event in (BEGIN, proposed, answered, started):
        transcript.apply(event)
    assert text(transcript.live(AFTER_3_S))[0].endswith("run_command  rm -r build/old  3 s")
    assert text(transcript.apply(finished)) == ["✓ run_command  rm -r build/old  0.2 s"]
    speaker = Speaker()
    spoken = [row for event in (proposed, started, finished) for row in speaker.lines(event)]
    assert spoken == ["tool: run_command, rm -r build/old, done."]


def test_each_command_with_output_and_each_long_result_names_the_command_that_shows_it() -> None:
    short = _call("c1", "run_command", {"command": "date"}, exit=0, text="Sunday")
    silent = _call("c2", "run_command", {"command": "true"}, exit=0, seq=18)
    long = _call("c3", "read_file", {"path": "a.py"}, text="x\n" * 40, seq=21)
    events = [BEGIN, *short, *silent, *long, END]
    assert _shown(events)[1:] == [
        "✓ run_command  date  /show 15 for 1 line",
        "✓ run_command  true",
        "✓ read_file  a.py  /show 21 for 40 lines",
    ]
    assert _shown(events, 40)[1] == "✓ run_command  date  /show 15"
    piped = Transcript(look(), chat=False)
    assert "/show" not in "".join(text([row for event in events for row in piped.apply(event)]))


def test_an_edited_command_that_is_denied_is_named_as_edited() -> None:
    error = {"reason": "refused", "detail": "deletes your home", "hint": ""}
    proposed, _, finished = _call("c1", "run_command", {"command": "ls"}, outcome="denied", error=error)
    answered = ApprovalAnswered(
        approval="k",
        call="c1",
        answer="edit",
        principal="owner",
        source="tty",
        arguments={"command": "rm -r ~"},
    )
    assert (
        _shown([BEGIN, proposed, answered, finished])[-1]
        == "- run_command  rm -r ~  denied: deletes your home"
    )


def test_a_stop_says_what_is_left_and_how_to_go_on() -> None:
    calls = [*_call("a", "run_command", {"command": "a"}), *_call("b", "run_command", {"command": "b"})]
    cut = _call("c", "run_command", {"command": "make test"}, outcome="cancelled", ms=12_000)
    stopped = TurnFinished(reason="stopped", exit=130, steps=3, calls=3, ms=1, tokens=1)
    assert _shown([BEGIN, *calls, *cut, stopped])[-2:] == [
        "- run_command  make test  cancelled after 12 s",
        "stopped after step 3: 2 calls done, 1 cancelled  next: /continue",
    ]


def test_an_unknown_outcome_says_that_nothing_runs_by_itself() -> None:
    assert _shown([BEGIN, *_call("c", "run_command", {"command": "deploy.sh"}, outcome="unknown")])[1:] == [
        "? run_command  deploy.sh  outcome unknown: limnos ended while it ran",
        "  It is not run again by itself. Look, then tell limnos what happened.",
    ]


def test_a_failed_turn_ends_with_its_fix() -> None:
    failed = TurnFinished(
        reason="failed", exit=1, steps=1, calls=0, ms=1, tokens=0, message="no answer", fix="start it"
    )
    assert _shown([BEGIN, failed])[-2:] == ["error: no answer", "fix: start it"]


def test_sunk_steps_and_the_plan_are_shown() -> None:
    sunk = ContextChanged(reason="pruned", used=1, budget=2, reserve=1, sunk=["1.1"], marker="14 steps sank")
    plan = PlanUpdated(items=[{"text": "look", "state": "done"}, {"text": "mend", "state": "active"}])
    assert _shown([BEGIN, sunk, plan])[1:] == [
        "~ 14 steps sank",
        "- plan  1 of 2 done",
        "  ✓ look",
        "  › mend",
    ]


def test_the_meter_warns_from_eighty_percent_on() -> None:
    transcript = Transcript(look())
    transcript.apply(BEGIN)
    transcript.apply(ContextChanged(reason="assembled", used=5100, budget=12_083, reserve=1024))
    (row,) = text([transcript.meter.row(look())])
    assert row == "ask  qwen2…1.5b  window 5.1k of 12.1k, 42 %, reserve 1k  next 5.1k tokens, free"
    assert text([transcript.meter.row(look(40))]) == ["ask  qwen2…-1.5b  42 %  next 5.1k, free"]
    transcript.apply(ContextChanged(reason="assembled", used=100, budget=900, reserve=256))
    assert ", 11 %, reserve 256  next" in text([transcript.meter.row(look())])[0]
    transcript.apply(ContextChanged(reason="assembled", used=11_000, budget=12_083, reserve=1024))
    assert text([transcript.meter.row(look())])[0].startswith("? ask")


def test_a_question_that_nobody_answered_is_not_spoken_of_as_an_answer() -> None:
    answered = ApprovalAnswered(approval="k", call="c1", answer="expired", principal="", source="")
    assert Speaker().lines(answered) == ["limnos: denied, no answer in time."]


def test_where_no_slash_command_can_be_typed_none_is_named() -> None:
    expired = ApprovalAnswered(approval="k", call="c2", answer="expired", principal="", source="")
    full = END.changed(reason="failed", message="the disk is full", fix="free some space, then /continue")
    transcript = Transcript(look(), continue_with="limnos open s1")
    events = [BEGIN, *_call("c1", "run_command", {"command": "ls"}, exit=0, text="a\nb"), expired,
              END.changed(reason="stopped"), BEGIN, full]  # fmt: skip
    rows = text([row for event in events for row in transcript.apply(event)])
    assert rows[1:] == [
        "✓ run_command  ls",
        "- denied: no answer in time",
        "stopped after step 2: 1 call done  next: limnos open s1",
        "› why does the build fail",
        "error: the disk is full",
        "fix: free some space, then limnos open s1",
    ]
