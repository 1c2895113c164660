"""What a stage handler may say to the payload it looked at."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, TypeAlias


class Pass(NamedTuple):
    """A stage handler has nothing to say."""


class Rewrite(NamedTuple):
    """A stage handler wants this payload instead; of the form it was given."""

    payload: Mapping[str, Any]


class Deny(NamedTuple):
    """A stage handler stops the input, call or result."""

    reason: str


class Answer(NamedTuple):
    """A stage handler answers in place of the model."""

    text: str


Outcome: TypeAlias = Pass | Rewrite | Deny | Answer
PASS: Final = Pass()
