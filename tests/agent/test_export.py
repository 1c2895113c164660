"""An export shows people what was said and done, whatever it was."""

from limnos.agent.export import export_markdown
from limnos.kernel.conversation import fold
from limnos.kernel.events import CallFinished, CallProposed, Event, ReplyFinished, StepFinished, TurnStarted

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
