"""The methods of the control socket: their parameters, and which roles may call them."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, Literal, NamedTuple

from limnos.kernel.errors import (
    DeniedError,
    LimitError,
    LimnosError,
    ModelError,
    SessionInUseError,
    SettingsError,
    StorageError,
    UsageError,
)
from limnos.service.roles import Kind
from limnos.wire.frames import Failure, Id
from limnos.wire.methods import Params

PROTOCOL: Final = 1
NOT_OPEN: Final = -32010
# What a person must act on crosses the wire as what it is.
ERRORS: Final[Sequence[type[LimnosError]]] = (
    LimnosError, UsageError, LimitError, DeniedError, SettingsError, SessionInUseError, StorageError,
    ModelError,
)  # fmt: skip
_FIRST_ERROR: Final = -32100


class Hello(Params):
    """The first request of a connection; nothing else is in it. The role is that of the token.

    Connections with the same `client`, a random text, belong together: they leave sessions together.
    """

    type: ClassVar[str] = "hello"

    token: str
    protocol: int
    client: str = ""


class Nothing(Params):
    """No parameters."""


class Open(Params):
    """As `service.client.OpenRequest`."""

    type: ClassVar[str] = "kernel.open"

    session: str | None = None
    cwd: str | None = None
    mode: str | None = None
    model: str | None = None
    steps: int | None = None
    max_cost: str | None = None
    trust: bool = False
    attended: bool = True
    fallback: str | None = None


class Sessions(Params):
    """The list of sessions, the newest `limit` of them."""

    type: ClassVar[str] = "kernel.sessions"

    limit: int | None = None


class NewestIn(Params):
    """The newest session of a folder."""

    type: ClassVar[str] = "kernel.newest_in"

    folder: str


class OfSession(Params):
    """A session by its id; it must be open, but for `kernel.path`."""

    session: str


class Fork(OfSession):
    """A copy of a session up to `seq`."""

    seq: int | None = None


class Rename(OfSession):
    """A title for a session."""

    title: str


class Export(OfSession):
    """A conversation as text."""

    form: Literal["markdown", "openai"]


class Events(OfSession):
    """Subscribe: `event` notifications with numbers above `after`, then one `events.end`."""

    after: int = 0


class History(OfSession):
    """The persisted events; `settled` leaves out the turn that runs."""

    settled: bool = False


class Input(OfSession):
    """As `service.client.Send`; who speaks is told by the role."""

    text: str
    client_id: str
    source: str = "cli"
    level: int = 3
    interrupt: bool = False


class Resume(OfSession):
    """Continue what was interrupted."""

    source: str = "cli"


class Stop(OfSession):
    """Stop the running turn."""

    reason: Literal["stopped", "terminated"] = "stopped"


class Give(OfSession):
    """A person's answer to a question; `nonce` came with the question."""

    approval: str
    nonce: str
    verdict: Literal["once", "always", "no", "edit"]
    reason: str | None = None
    arguments: Mapping[str, Any] | None = None
    source: str = "cli"
    scope: str = "session"


class Drop(OfSession):
    """Take an input out of the queue."""

    position: int


class StopJob(OfSession):
    """End a background command."""

    name: str


class Pin(OfSession):
    """Keep a unit in the window, or let go of it."""

    unit: str
    pinned: bool = True


class Cold(OfSession):
    """What has left the window."""

    text: str = ""


class Recall(OfSession):
    """Bring sunk units back into the window."""

    units: Sequence[str]


class OfPlugin(Params):
    """A plugin by its name."""

    name: str


class Method(NamedTuple):
    """One method and who may call it."""

    params: type[Params]
    roles: tuple[Kind, ...] = ("person",)


_BOTH: Final[tuple[Kind, ...]] = ("person", "plugin")
# A method that stands in no row is refused: whoever adds one says here who may call it.
METHODS: Final[Mapping[str, Method]] = {
    "kernel.open": Method(Open),
    "kernel.sessions": Method(Sessions, _BOTH),
    "kernel.newest_in": Method(NewestIn),
    "kernel.path": Method(OfSession),
    "kernel.fork": Method(Fork),
    "kernel.rename": Method(Rename),
    "kernel.export": Method(Export),
    "kernel.plugins": Method(Nothing),
    "kernel.renew_plugins": Method(Nothing),
    "kernel.restart_plugin": Method(OfPlugin),
    "kernel.stop_plugin": Method(OfPlugin),
    "session.state": Method(OfSession, _BOTH),
    "session.history": Method(History),
    "session.events": Method(Events, _BOTH),
    "session.send": Method(Input, _BOTH),
    "session.inject": Method(Input, _BOTH),
    "session.resume": Method(Resume),
    "session.stop": Method(Stop),
    "session.answer": Method(Give),
    "session.queued": Method(OfSession),
    "session.injected": Method(OfSession),
    "session.drop": Method(Drop),
    "session.jobs": Method(OfSession),
    "session.stop_job": Method(StopJob),
    "session.undo": Method(OfSession),
    "session.window": Method(OfSession),
    "session.pin": Method(Pin),
    "session.cold": Method(Cold),
    "session.recall": Method(Recall),
    "session.close": Method(OfSession),
    "daemon.status": Method(Nothing),
    "daemon.stop": Method(Nothing),
}


def read_params(kind: type[Params], given: Mapping[str, Any], *, strict: bool = False) -> Any:
    """The parameters of a request; unknown ones are ignored unless `strict`. Raises TypeError."""
    known = {name: given[name] for name in kind.fields if name in given}
    if strict and len(known) != len(given):
        raise TypeError(f"unknown: {', '.join(sorted(set(given) - set(known)))}")
    kind.check(known)
    return kind(**known)


def failure_of(number: Id | None, error: LimnosError) -> Failure:
    """The failure that stands for an error, as the nearest kind that is known."""
    kind = next(one for one in type(error).__mro__ if one in ERRORS)
    return Failure(number, _FIRST_ERROR - ERRORS.index(kind), error.what, error.fix)


def error_of(failure: Failure) -> LimnosError:
    """The error that a failure stands for."""
    place = _FIRST_ERROR - failure.code
    kind = ERRORS[place] if 0 <= place < len(ERRORS) else LimnosError
    return kind(failure.message, failure.hint or "limnos status")
