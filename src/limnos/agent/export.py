"""A conversation as text: for people, and for other programs."""

import json

from limnos.kernel.conversation import Conversation, Said
from limnos.kernel.messages import Message, result_text, text_of
from limnos.kernel.pairing import check_pairing
from limnos.providers.openai_codec import Dialect, encode_messages


def export_openai(conversation: Conversation) -> str:
    """The conversation as a list of OpenAI messages, one JSON text; every call has its result."""
    messages = [message for unit in conversation.units for message in unit.messages()]
    encoded = encode_messages(check_pairing(messages).messages, Dialect(reasoning="keep"))
    return json.dumps({"messages": encoded}, ensure_ascii=False, indent=1) + "\n"


def export_markdown(conversation: Conversation, title: str) -> str:
    """The conversation for people to read."""
    lines = [f"# {title}", ""]
    for unit in conversation.units:
        if isinstance(unit, Said):
            lines += [f"**you** ({unit.time})", "", unit.text, ""]
        else:
            for message in unit.messages():
                lines += _markdown(message)
    return "\n".join(lines)


def _markdown(message: Message) -> list[str]:
    if message.result is not None:
        text = result_text(message.result)
        fence = "`" * max(3, *(len(run) + 1 for run in _backtick_runs(text)))
        return [fence, text, fence, ""]
    lines = [text_of(message.parts), ""] if text_of(message.parts) else []
    for call in message.calls:
        arguments = json.dumps(dict(call.arguments or {}), ensure_ascii=False)
        lines += [f"*{call.name}* `{arguments}`", ""]
    return ["**limnos**", "", *lines] if lines else []


def _backtick_runs(text: str) -> list[str]:
    return ["", *"".join(character if character == "`" else " " for character in text).split()]
