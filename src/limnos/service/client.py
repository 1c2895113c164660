"""The one door to a running kernel, as front ends see it. Imports nothing of the agent."""

from collections.abc import AsyncIterator, Sequence
from typing import Literal, NamedTuple, Protocol, TypeAlias

from limnos.kernel.events import Event
from limnos.kernel.seams import Answer
from limnos.kernel.window_view import ColdUnit, WindowView

SessionState: TypeAlias = Literal[
    "working", "waiting", "interrupted", "done", "failed", "limit", "denied", "stopped", "empty", "unreadable"
]


class SessionSummary(NamedTuple):
    """A row of the session list. `updated` is ISO 8601 in UTC; `path` is the audit log.

    `last_seq` is the number of its last event; there may be fewer events, as some numbers are not kept.
    One that is unreadable has no time, and as its title what is wrong with the file, and what to do.
    """

    id: str
    state: SessionState
    updated: str
    persona: str
    title: str
    path: str
    last_seq: int


class Job(NamedTuple):
    """A background command of a session. `state` is running, ended or stopped; `exit` as of a command."""

    name: str
    command: str
    state: str
    exit: int | None


class Undone(NamedTuple):
    """A change of a file that was taken back; `removed`: the file is gone again. `left` more can be."""

    path: str
    removed: bool
    left: int


class Send(NamedTuple):
    """One input. `client_id` is the sender's own id of the message: a repeated id is answered once.

    `level` is 1 background, 2 message, 3 interactive or 4 critical. An `interrupt` sets a running turn of a
    lower level aside at its next border, or in the middle of the model's reply; that goes on afterwards.
    """

    text: str
    client_id: str
    source: str = "cli"
    principal: str = "owner"
    level: int = 3
    interrupt: bool = False


class Session(Protocol):
    """An open session. All calls return at once; what happens then comes as events."""

    @property
    def id(self) -> str: ...

    @property
    def path(self) -> str:
        """The audit log's file."""
        ...

    @property
    def last_seq(self) -> int:
        """The number of the newest persisted event; 0 when there is none."""
        ...

    @property
    def interrupted(self) -> bool:
        """Whether a turn has no end yet, nothing runs, and it can be continued."""
        ...

    async def history(self, *, settled: bool = False) -> Sequence[Event]:
        """What happened up to now: the persisted events, in order. Raises StorageError.

        `settled` leaves out the turn that runs, if one does.
        """
        ...

    def events(self, after: int = 0) -> AsyncIterator[Event]:
        """Events with a `seq` above `after`: the persisted ones first, then live ones as they happen.

        Ends when the session is closed. A reader that is slow misses nothing; events queue for it.
        """
        ...

    def send(self, message: Send) -> None:
        """Queue an input, or interrupt with it.

        Raises errors.LimitError when 256 are waiting, UsageError for one that cannot be taken.
        """
        ...

    def inject(self, message: Send) -> None:
        """Give an input to the running turn at its next step; without one it starts a turn."""
        ...

    def resume(self, source: str = "cli") -> None:
        """Continue the interrupted turn."""
        ...

    def stop(self, reason: Literal["stopped", "terminated"] = "stopped") -> None:
        """Stop the running turn; the queue is kept. A second call skips the grace time."""
        ...

    def answer(self, approval: str, answer: Answer) -> bool:
        """Answer an open question; False when it is not open (answered, expired, never asked)."""
        ...

    def queued(self) -> list[Send]:
        """Inputs that wait for a turn of their own, in the order in which they will be taken."""
        ...

    def injected(self) -> list[Send]:
        """Inputs that wait for the running turn's next step."""
        ...

    def drop(self, position: int) -> Send | None:
        """Take the input at `position` (from 0) out of the queue."""
        ...

    def jobs(self) -> list[Job]:
        """The background commands of this session, in order."""
        ...

    async def stop_job(self, name: str) -> None:
        """End a background command. Raises errors.UsageError when there is none of that name."""
        ...

    async def undo(self) -> Undone | None:
        """Take back the newest change of a file that was not taken back yet; None when none is left.

        Raises LimnosError when a turn runs, and when the file was changed since.
        """
        ...

    def window(self) -> WindowView:
        """What fills the window now."""
        ...

    def pin(self, unit: str, *, pinned: bool = True) -> None:
        """Keep a unit in the window, or let go of it. Raises UsageError, LimitError."""
        ...

    async def cold(self, text: str = "") -> Sequence[ColdUnit]:
        """What has left the window: what has to do with `text`, or the newest."""
        ...

    async def recall(self, units: Sequence[str]) -> None:
        """Bring sunk units back into the window until the turn ends. Raises UsageError."""
        ...

    async def close(self) -> None:
        """Stop what runs, write the rest, give the lock back."""
        ...


class OpenRequest(NamedTuple):
    """How to open a session. `session` None makes a new one; `attended` says a person can answer.

    Without `cwd` a session goes on in the folder it was started in, if that is still there, and a new one
    begins in the current folder, or in `fallback` where who asks is somewhere else. Rules that an *always*
    stored count only in the folder they were stored in.
    `trust` takes the folder as the person's own: its `.limnos/config.toml` counts, for the keys it may set,
    and its AGENTS.md (else CLAUDE.md) informs the model. An attended session trusts the folders that a person
    said to trust.
    """

    session: str | None = None
    cwd: str | None = None
    mode: str | None = None
    model: str | None = None
    steps: int | None = None
    max_cost: str | None = None
    trust: bool = False
    attended: bool = True
    fallback: str | None = None


class DaemonState(NamedTuple):
    """A daemon as it tells of itself. `started` is ISO 8601 in UTC; `busy` of its open sessions work."""

    pid: int
    version: str
    started: str
    clients: int
    sessions: int
    busy: int


class PluginState(NamedTuple):
    """A plugin of a running kernel. `generation` counts its starts; `pid` is 0 when nothing runs."""

    name: str
    state: str
    why: str
    generation: int
    pid: int
    start_ms: float


class Kernel(Protocol):
    """A running kernel."""

    async def open(self, how: OpenRequest) -> Session:
        """Open a session. Raises SessionInUseError, UsageError (no such session) or StorageError."""
        ...

    def sessions(self, limit: int | None = None) -> list[SessionSummary]:
        """All sessions, newest first; behind them what could not be read, which hides no other."""
        ...

    def newest_in(self, folder: str) -> SessionSummary | None:
        """The newest session that was started in `folder` and has a turn.

        Looks at the newest of all sessions only; None when none of them is one.
        """
        ...

    def path(self, session: str) -> str:
        """The audit log's file of `session`. Raises UsageError when there is no such session."""
        ...

    def fork(self, session: str, seq: int | None = None) -> str:
        """A new session with the events up to `seq` (a step's end); returns its id."""
        ...

    def rename(self, session: str, title: str) -> None:
        """Give the session a title."""
        ...

    def export(self, session: str, form: Literal["markdown", "openai"]) -> str:
        """The whole conversation as text."""
        ...

    def plugins(self) -> list[PluginState]:
        """How each plugin does, in the order in which they start."""
        ...

    async def renew_plugins(self) -> None:
        """Take in what was installed, accepted, enabled or removed since; new sessions have it."""
        ...

    async def restart_plugin(self, name: str) -> None:
        """Start a plugin anew, also one that crashed too often. Raises LimnosError."""
        ...

    async def stop_plugin(self, name: str) -> None:
        """End a plugin until somebody restarts it. Raises LimnosError."""
        ...

    def daemon(self) -> DaemonState | None:
        """The daemon that this kernel is in; None for one in this process."""
        ...

    async def close(self) -> None:
        """Close every session and the models; of a daemon only what was opened here."""
        ...
