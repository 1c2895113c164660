from typing import Any

import pytest

from limnos.kernel.messages import (
    Media,
    Message,
    Reasoning,
    Text,
    ToolCall,
    ToolError,
    ToolResult,
    system,
    tool_message,
    user,
)
from limnos.kernel.model import ToolSpec
from limnos.providers.openai_codec import Dialect, decode_messages, encode_messages, encode_tools

CALL = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"p": "ä"}'}}
CONVERSATION: list[dict[str, Any]] = [
    {"role": "system", "content": "s"},
    {"role": "user", "content": "hi"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "ok"},
    {"role": "assistant", "content": "done"},
]


def encoded(message: Message, dialect: Dialect | None = None) -> dict[str, Any]:
    (item,) = encode_messages([message], dialect or Dialect())
    return item


def test_a_conversation_survives_both_directions() -> None:
    messages = decode_messages(CONVERSATION)
    assert encode_messages(messages, Dialect()) == CONVERSATION
    assert decode_messages(encode_messages(messages, Dialect())) == messages


def test_messages_become_what_they_are() -> None:
    call = ToolCall("c1", "read", {"p": "ä"}, '{"p": "ä"}')
    assert decode_messages(CONVERSATION) == (
        system("s"),
        user("hi"),
        Message("assistant", (), (call,)),
        tool_message(ToolResult("c1", "done", (Text("ok"),))),
        Message("assistant", (Text("done"),)),
    )


def test_a_call_that_could_not_be_read_goes_back_as_valid_json() -> None:
    call = ToolCall("c", "read", None, '{"p":', "cut off", cut=True)
    assert encoded(Message("assistant", (), (call,)))["tool_calls"][0]["function"]["arguments"] == "{}"


@pytest.mark.parametrize(("name", "sent"), [("", "unnamed"), ("a b/c", "a_b_c"), ("x" * 90, "x" * 64)])
def test_a_name_that_a_model_made_up_goes_back_in_a_form_that_providers_accept(name: str, sent: str) -> None:
    call = ToolCall("c", name, {})
    assert encoded(Message("assistant", (), (call,)))["tool_calls"][0]["function"]["name"] == sent


def test_a_failed_result_says_what_to_do() -> None:
    error = ToolError("not_found", "no file a", "list the folder")
    content = encoded(tool_message(ToolResult("c", "failed", error=error)))["content"]
    assert "not_found" in content
    assert "list the folder" in content


@pytest.mark.parametrize(
    ("policy", "with_thought", "without"),
    [("drop", None, None), ("keep", "hm", None), ("pad", "hm", "")],
)
def test_reasoning_follows_the_policy_of_the_route(
    policy: Any, with_thought: str | None, without: str | None
) -> None:
    dialect = Dialect("r/m", policy)
    thinking = Message("assistant", (Reasoning("hm"), Text("a")))
    assert encoded(thinking, dialect).get("reasoning_content") == with_thought
    assert encoded(Message("assistant", (Text("a"),)), dialect).get("reasoning_content") == without


def test_signed_reasoning_goes_back_to_its_own_model_only() -> None:
    message = Message("assistant", (Reasoning("hm", "sig", "r/m"), Text("a")))
    own = encoded(message, Dialect("r/m", "keep"))
    assert own["reasoning_details"] == [{"type": "reasoning.text", "text": "hm", "signature": "sig"}]
    other = encoded(message, Dialect("r/other", "keep"))
    assert not {"reasoning_details", "reasoning_content"} & set(other)
    assert decode_messages([own], "r/m") == (message,)


def test_the_route_names_the_field_of_its_reasoning() -> None:
    message = Message("assistant", (Reasoning("hm"), Text("a")))
    item = encoded(message, Dialect("r/m", "keep", "reasoning"))
    assert item["reasoning"] == "hm"
    assert decode_messages([item], "") == (message,)


def test_an_image_goes_to_a_model_that_sees_and_is_named_to_one_that_does_not() -> None:
    message = Message("user", (Text("what is this?"), Media("b1", "image/png", 3)))
    seen = encoded(message, Dialect(load=lambda block: b"png"))["content"]
    assert seen[1] == {"type": "image_url", "image_url": {"url": "data:image/png;base64,cG5n"}}
    told = encoded(message)["content"]
    assert "image/png" in told
    assert "b1" in told


@pytest.mark.parametrize("media", [Media("b", "image/png", 6_000_000), Media("b", "audio/wav", 3)])
def test_media_that_a_route_does_not_take_are_named_and_never_loaded(media: Media) -> None:
    def load(block: str) -> bytes:
        raise AssertionError(block)

    assert media.mime in encoded(Message("user", (media,)), Dialect(load=load))["content"]


def test_tools_are_functions_with_a_schema() -> None:
    schema = {"type": "object", "properties": {"p": {"type": "string"}}}
    (tool,) = encode_tools([ToolSpec("read", "Reads a file.", schema)])
    assert tool == {
        "type": "function",
        "function": {"name": "read", "description": "Reads a file.", "parameters": schema},
    }


def test_foreign_messages_are_taken_as_far_as_they_go() -> None:
    messages = decode_messages(
        [
            {"role": "developer", "content": "s"},
            {"role": "martian", "content": [{"type": "text", "text": "a"}, {"type": "image_url"}, "b"]},
            {"role": "assistant", "tool_calls": [{"function": {"name": "f"}}, 7, {"id": 3}]},
            {"role": "assistant", "function_call": {"name": "g", "arguments": "{"}},
            {"role": "function", "name": "g", "content": None},
            {},
        ]
    )
    assert messages[0] == system("s")
    assert messages[1] == Message("user", (Text("a"), Text("[image_url]"), Text("b")))
    assert [(call.id, call.name, call.arguments) for call in messages[2].calls] == [
        ("", "f", {}),
        ("", "", {}),
    ]
    (broken,) = messages[3].calls
    assert (broken.arguments, broken.cut) == (None, True)
    assert messages[4].result == ToolResult("", "done")
    assert messages[5].role == "user"


def test_arguments_given_as_an_object_are_arguments() -> None:
    (message,) = decode_messages(
        [{"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": {"a": 1}}}]}]
    )
    assert message.calls[0].arguments == {"a": 1}
