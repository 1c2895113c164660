"""An export shows people what was said and done, whatever it was."""

import json

from limnos.agent.export import export_markdown, export_openai
from limnos.kernel.conversation import fold
from limnos.kernel.events import CallFinished, CallProposed, Event, ReplyFinished, StepFinished, TurnStarted
from limnos.sdk.scan import Scanner

SAID = TurnStarted(
    input="do it", source="t", principal="owner", client_id="m1", persona="p", model="m", mode="ask"
)


def exported(*events: Event) -> list[str]:
    reply = ReplyFinished(text="I look.")
    whole = (SAID, reply, *events, StepFinished(text="I look.", calls=["c1"]))
    return export_markdown(fold(event.changed(turn=1, step=1) for event in whole), "Work").splitlines()


def call(arguments: dict[str, object] | None, raw: str | None = None) -> CallProposed:
    return CallProposed(call="c1", tool="run_command", arguments=arguments, raw=raw)


def test_a_conversation_reads_from_top_to_bottom() -> None:
    lines = exported(
        call({"command": "ls"}), CallFinished(call="c1", tool="run_command", outcome="done", text="a")
    )

    assert [line for line in lines if line] == [
        "# Work",
        "**you** ()",
        "do it",
        "**limnos**",
        "I look.",
        '*run_command* `{"command": "ls"}`',
        "```",
        "a",
        "```",
    ]


def test_backticks_end_neither_the_code_of_a_call_nor_that_of_its_result() -> None:
    lines = exported(
        call({"command": "echo `id` ``"}),
        CallFinished(call="c1", tool="run_command", outcome="done", text="```\nx\n````"),
    )

    assert '*run_command* ``` {"command": "echo `id` ``"} ```' in lines
    assert lines.count("`````") == 2


def test_arguments_that_could_not_be_parsed_are_shown_as_the_model_wrote_them() -> None:
    assert '*run_command* `{"command": "l`' in exported(call(None, '{"command":\n"l'))
    assert "*run_command* `(none)`" in exported(call(None))


KEY = "sk-" + "Zq7wX2" * 8
CONFIGURED = "plain-words-of-lake"


def _with_secrets() -> list[Event]:
    said = f"{KEY} and {CONFIGURED}"
    arguments = {"command": f"echo '{said}'", "password": "Tr0ub4dor&3x", "note": 'say "hi"'}
    result = f'line "1"\n{said}\n'
    return [
        call(arguments, json.dumps(arguments)),
        CallFinished(call="c1", tool="run_command", outcome="done", text=result),
    ]


def test_no_secret_leaves_in_markdown() -> None:
    events = (
        SAID,
        ReplyFinished(text="I look."),
        *_with_secrets(),
        StepFinished(text="I look.", calls=["c1"]),
    )
    text = export_markdown(
        fold(event.changed(turn=1, step=1) for event in events), CONFIGURED, Scanner([CONFIGURED])
    )

    assert KEY not in text
    assert CONFIGURED not in text
    assert "Tr0ub4dor" not in text
    assert "I look." in text


def test_no_secret_leaves_as_messages_and_arguments_stay_json() -> None:
    events = (
        SAID,
        ReplyFinished(text="I look."),
        *_with_secrets(),
        StepFinished(text="I look.", calls=["c1"]),
    )
    text = export_openai(fold(event.changed(turn=1, step=1) for event in events), Scanner([CONFIGURED]))

    for secret in (KEY, CONFIGURED, "Tr0ub4dor"):
        assert secret not in text
    messages = json.loads(text)["messages"]
    arguments = json.loads(messages[1]["tool_calls"][0]["function"]["arguments"])
    assert arguments["note"] == 'say "hi"'
    assert arguments["command"] == "echo '[hidden: api key] and [hidden: configured value]'"
    assert messages[1]["tool_calls"][0]["id"] == messages[2]["tool_call_id"]


def test_what_holds_no_secret_is_exported_as_it_is() -> None:
    events = (SAID, ReplyFinished(text="I look."), call({"a": [1, {"b": None}]}), StepFinished(text="x"))
    text = export_openai(fold(event.changed(turn=1, step=1) for event in events))

    assert "[hidden" not in text
    assert json.loads(json.loads(text)["messages"][1]["tool_calls"][0]["function"]["arguments"]) == {
        "a": [1, {"b": None}]
    }
