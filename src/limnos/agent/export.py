"""A conversation as text: for people, and for other programs."""

import json
import re
from typing import Any, cast

from limnos.kernel.conversation import Conversation
from limnos.kernel.messages import Message, ToolCall, result_text, text_of
from limnos.kernel.pairing import check_pairing
from limnos.kernel.units import Said, Step
from limnos.providers.openai_codec import Dialect, encode_messages
from limnos.sdk import secret_shapes as shapes
from limnos.sdk.scan import Scanner

_BACKTICKS = re.compile("`+")
_KNOWN = Scanner()
_HIDDEN = "[hidden: password]"


def export_openai(conversation: Conversation, scanner: Scanner = _KNOWN) -> str:
    """The conversation as a list of OpenAI messages, one JSON text; every call has its result.

    What `scanner` takes for a secret is hidden.
    """
    messages = [message for unit in conversation.units for message in unit.messages()]
    encoded = encode_messages(check_pairing(messages).messages, Dialect(reasoning="keep"))
    hidden = _hidden(encoded, scanner)
    return json.dumps({"messages": hidden}, ensure_ascii=False, indent=1) + "\n"


def export_markdown(conversation: Conversation, title: str, scanner: Scanner = _KNOWN) -> str:
    """The conversation for people to read; what `scanner` takes for a secret is hidden."""
    lines = [f"# {title}", ""]
    for unit in conversation.units:
        if isinstance(unit, Said):
            lines += [f"**you** ({unit.time})", "", unit.text, ""]
        elif isinstance(unit, Step):
            for message in unit.messages():
                lines += _markdown(message)
    return scanner.hide("\n".join(lines))


def _hidden(value: Any, scanner: Scanner) -> Any:
    """A JSON value with the secrets of each text hidden; a text that is JSON itself stays JSON."""
    if isinstance(value, str):
        inner = _structure(value)
        if inner is None:
            return scanner.hide(value)
        hidden = _hidden(inner, scanner)
        return value if hidden == inner else json.dumps(hidden, ensure_ascii=False)
    if isinstance(value, dict):
        table = cast("dict[str, Any]", value)
        return {scanner.hide(name): _named(name, inner, scanner) for name, inner in table.items()}
    if isinstance(value, list):
        return [_hidden(inner, scanner) for inner in cast("list[Any]", value)]
    return value


def _named(name: str, value: Any, scanner: Scanner) -> Any:
    """A value of a table; what is a secret only because of its name, such as `password`, is hidden too."""
    hidden = _hidden(value, scanner)
    if isinstance(value, str) and hidden == value and shapes.NAME.search(name):
        return _HIDDEN if scanner.find(json.dumps({name: value}, ensure_ascii=False)) else value
    return hidden


def _structure(text: str) -> Any:
    if not text.startswith(("{", "[")):
        return None
    try:
        found: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return cast("Any", found) if isinstance(found, dict | list) else None


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
