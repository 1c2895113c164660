"""What each part of a request costs, in tokens of the model it goes to."""

import json

from limnos.context.shorten import text_to_count
from limnos.kernel.messages import Message, user
from limnos.kernel.model import Model, ToolSpec
from limnos.kernel.units import Said, Step, Unit

MESSAGE_TOKENS = 4  # roles and separators, as chat templates add them
KNOWN_TEXTS = 256


class Sizes:
    """Counts, and remembers what comes again in most requests. Units remember their own size."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._specs: dict[str, int] = {}
        self._known: dict[str, int] = {}

    def plain(self, text: str) -> int:
        """The tokens of a text inside a message."""
        return self._model.count_tokens(text)

    def text(self, text: str) -> int:
        """A text that is a message of its own in many requests: the prompt, a marker, the ledger."""
        if text not in self._known:
            if len(self._known) >= KNOWN_TEXTS:
                self._known.clear()
            self._known[text] = self._model.count_tokens(text) + MESSAGE_TOKENS if text else 0
        return self._known[text]

    def spec(self, spec: ToolSpec) -> int:
        """What offering a tool costs."""
        if spec.name not in self._specs:
            text = json.dumps(
                {"name": spec.name, "description": spec.description, "parameters": dict(spec.parameters)}
            )
            self._specs[spec.name] = self.text(text)
        return self._specs[spec.name]

    def message(self, message: Message) -> int:
        """A message with its calls."""
        return self._model.count_tokens(text_to_count(message)) + MESSAGE_TOKENS

    def unit(self, unit: Unit) -> int:
        """A unit as it is shown whole; counted once, when it is closed."""
        if unit.tokens is None or unit.rendered is None:
            unit.tokens = sum(self.message(message) for message in rendered(unit))
        return unit.tokens


def rendered(unit: Unit) -> tuple[Message, ...]:
    """The messages of a unit, made once when it is closed.

    A user message has its time at the head, and what it names: a stable text, so that the prefix stays.
    """
    if unit.rendered is not None:
        return unit.rendered
    if isinstance(unit, Said):
        here = f"; in this folder: {', '.join(unit.names)}" if unit.names else ""
        unit.rendered = (user(f"[{unit.time[:10]} {unit.time[11:16]} UTC{here}]\n{unit.text}"),)
        return unit.rendered
    messages = tuple(unit.messages())
    if not isinstance(unit, Step) or not unit.open:
        unit.rendered = messages
    return messages
