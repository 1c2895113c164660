"""A bare `limnos`: the chat in this folder."""

from limnos.frontends.cli.chatting import chat_with
from limnos.frontends.cli.console import Console
from limnos.frontends.cli.starting import NO_CONSENT, NO_FLAGS, Consent, Flags, open_request


def chat(console: Console, *, flags: Flags = NO_FLAGS, consent: Consent = NO_CONSENT) -> int:
    """Chat in this folder."""
    return chat_with(console, flags, open_request(console, flags, consent), yes=consent.yes)


FUNCTIONS = {"": chat}
