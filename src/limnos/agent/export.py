"""A conversation as text: for people, and for other programs."""

import json
import re

from limnos.kernel.conversation import Conversation, Said
from limnos.kernel.messages import Message, ToolCall, result_text, text_of
from limnos.kernel.pairing import check_pairing
from limnos.providers.openai_codec import Dialect, encode_messages

_BACKTICKS = re.compile("`+")


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
        fence = "`" * max(3, _longest_run(text) + 1)
        return [fence, text, fence, ""]
    lines = [text_of(message.parts), ""] if text_of(message.parts) else []
    for call in message.calls:
        lines += [f"*{call.name}* {_code(_arguments(call))}", ""]
    return ["**limnos**", "", *lines] if lines else []


def _arguments(call: ToolCall) -> str:
    """As JSON; what could not be parsed as the model wrote it, on one line."""
    if call.arguments is None:
        return " ".join(call.raw.split()) or "(none)"
    return json.dumps(dict(call.arguments), ensure_ascii=False)


def _code(text: str) -> str:
    """Inline code that backticks inside `text` cannot end."""
    fence = "`" * (_longest_run(text) + 1)
    return f"{fence}{text}{fence}" if fence == "`" else f"{fence} {text} {fence}"


def _longest_run(text: str) -> int:
    return max(map(len, _BACKTICKS.findall(text)), default=0)
