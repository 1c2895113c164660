"""The kernel in the same process, behind the same door as a daemon's."""

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, cast

from limnos.agent import deferred
from limnos.agent.build import Home, Opening, home, model_of, open_session
from limnos.agent.clock import RandomIds
from limnos.agent.masking import mask_of, scanner_of
from limnos.agent.runner import Runner
from limnos.agent.scheduling import Input
from limnos.agent.settings import KEYS, Environment, Settings, parse_value, with_workspace
from limnos.agent.trust import TrustFile
from limnos.kernel.cancel import StopReason
from limnos.kernel.conversation import fold
from limnos.kernel.errors import UsageError
from limnos.kernel.events import Event, SessionChanged
from limnos.kernel.model import Model
from limnos.kernel.seams import Answer
from limnos.kernel.stream import EventStream
from limnos.kernel.window_view import ColdUnit, WindowView
from limnos.service.client import (
    DaemonState,
    Job,
    Kernel,
    OpenRequest,
    PluginState,
    Send,
    Session,
    SessionState,
    SessionSummary,
    Undone,
)
from limnos.store.audit import AuditLog, read_history

_NEWEST = 20  # sessions: each costs a look into its file, and a start must stay quick


def local_kernel(settings: Settings, environment: Environment) -> Kernel:
    """A kernel in this process. Touches nothing until a session is opened."""
    return LocalKernel(settings, environment)


class LocalSession:
    """Implements `service.client.Session`."""

    def __init__(self, runner: Runner, path: Path) -> None:
        self._runner = runner
        self._path = path

    @property
    def id(self) -> str:
        """See `Session`."""
        return self._runner.stream.session

    @property
    def path(self) -> str:
        """See `Session`."""
        return str(self._path)

    @property
    def last_seq(self) -> int:
        """See `Session`."""
        return self._runner.stream.conversation.last_seq

    @property
    def interrupted(self) -> bool:
        """See `Session`."""
        return self._runner.interrupted

    async def history(self, *, settled: bool = False) -> Sequence[Event]:
        """See `Session`."""
        events = read_history(self._path).events
        running = self._runner.running if settled else 0
        return [event for event in events if event.seq < running] if running else events

    def events(self, after: int = 0) -> AsyncIterator[Event]:
        """See `Session`."""
        return self._runner.events(after)

    def listen(self, after: int, bound: int) -> AsyncIterator[Event]:
        """As `events`; raises agent.listening.BehindError when more than `bound` wait."""
        return self._runner.events(after, bound)

    @property
    def busy(self) -> bool:
        """Whether a turn runs, or will begin by itself."""
        return self._runner.busy

    async def rest(self) -> None:
        """Wait until nothing runs."""
        await self._runner.rest()

    def asks(self, approval: str) -> bool:
        """Whether this question is open."""
        return self._runner.asks(approval)

    def send(self, message: Send) -> None:
        """See `Session`."""
        self._runner.submit(_input(message))

    def inject(self, message: Send) -> None:
        """See `Session`."""
        self._runner.inject(_input(message))

    def resume(self, source: str = "cli") -> None:
        """See `Session`."""
        self._runner.resume(source)

    def stop(self, reason: StopReason = "stopped") -> None:
        """See `Session`."""
        self._runner.stop(reason)

    def answer(self, approval: str, answer: Answer) -> bool:
        """See `Session`."""
        return self._runner.answer(approval, answer)

    def queued(self) -> list[Send]:
        """See `Session`."""
        return [_send(given) for given in self._runner.waiting]

    def injected(self) -> list[Send]:
        """See `Session`."""
        return [_send(given) for given in self._runner.injected]

    def drop(self, position: int) -> Send | None:
        """See `Session`."""
        given = self._runner.drop(position)
        return None if given is None else _send(given)

    def jobs(self) -> list[Job]:
        """See `Session`."""
        return [Job(*job) for job in self._runner.jobs()]

    def rename(self, title: str) -> None:
        """Give the session a title; as `Kernel.rename` for one that is not open."""
        self._runner.stream.emit(SessionChanged(title=_title(self.id, title)), durable=True)

    async def stop_job(self, name: str) -> None:
        """See `Session`."""
        await self._runner.stop_job(name)

    async def undo(self) -> Undone | None:
        """See `Session`."""
        undone = await self._runner.undo()
        return Undone(*undone) if undone is not None else None

    def window(self) -> WindowView:
        """See `Session`."""
        return self._runner.moves.view()

    def pin(self, unit: str, *, pinned: bool = True) -> None:
        """See `Session`."""
        self._runner.moves.pin(unit, pinned=pinned)

    async def cold(self, text: str = "") -> Sequence[ColdUnit]:
        """See `Session`."""
        return await self._runner.moves.cold(text)

    async def recall(self, units: Sequence[str]) -> None:
        """See `Session`."""
        await self._runner.moves.recall(units)

    @property
    def closed(self) -> bool:
        """Whether it was closed; nothing happens in it any more."""
        return self._runner.closed

    async def close(self) -> None:
        """See `Session`."""
        await self._runner.close()


class LocalKernel:
    """Implements `service.client.Kernel`."""

    def __init__(self, settings: Settings, environment: Environment) -> None:
        self._settings = settings
        self._base: Home = home(environment)
        self._models: dict[str, Model] = {}
        self._open: list[LocalSession] = []

    async def open(self, how: OpenRequest) -> Session:
        """See `Kernel`."""
        return await self.open_here(how)

    def use(self, settings: Settings) -> None:
        """Open sessions with these settings from now on."""
        self._settings = settings

    async def open_here(self, how: OpenRequest) -> LocalSession:
        """As `open`."""
        if how.session is None:
            session, started_in = RandomIds(self._base.files.exists).new("session"), ""
            path = self._base.files.new_path(session)
        else:
            session, path = how.session, self._base.files.find(how.session)
            started_in = self._base.files.started_in(path)
        cwd = _folder(how.cwd, started_in, how.fallback or ".")
        trusted = how.trust or (how.attended and TrustFile(self._base.environment.home).trusts(cwd))
        settings = with_workspace(self._settings, Path(cwd)) if trusted else self._settings
        settings = _overridden(settings, how)
        model = self._model(settings)
        self.begin_plugins(daemon=False)
        runner = open_session(self._base, settings, model, Opening(path, session, cwd, how.attended, trusted))
        opened = LocalSession(runner, path)
        self._open = [*(session for session in self._open if not session.closed), opened]
        return opened

    def sessions(self, limit: int | None = None) -> list[SessionSummary]:
        """See `Kernel`."""
        return [
            SessionSummary(
                row.id,
                cast("SessionState", row.state),
                row.updated,
                row.persona,
                row.title,
                row.path,
                row.last_seq,
            )
            for row in self._base.files.summaries(limit)
        ]

    def newest_in(self, folder: str) -> SessionSummary | None:
        """See `Kernel`."""
        real, started_in = os.path.realpath(folder), self._base.files.started_in
        begun = (row for row in self.sessions(_NEWEST) if row.state != "empty")
        return next((row for row in begun if started_in(Path(row.path)) == real), None)

    def path(self, session: str) -> str:
        """See `Kernel`."""
        return str(self._base.files.find(session))

    def fork(self, session: str, seq: int | None = None) -> str:
        """See `Kernel`."""
        fresh = RandomIds(self._base.files.exists).new("session")
        self._base.files.fork(session, fresh, seq)
        return fresh

    def rename(self, session: str, title: str) -> None:
        """See `Kernel`."""
        title = _title(session, title)
        log = AuditLog(self._base.files.find(session))
        try:
            conversation = fold(log.history.events, log.history.last_seq)
            mask = mask_of(self._base.environment, self._settings)
            stream = EventStream(session, log, self._base.clock, conversation, mask)
            stream.emit(SessionChanged(title=title), durable=True)
        finally:
            log.close()

    def export(self, session: str, form: Literal["markdown", "openai"]) -> str:
        """See `Kernel`."""
        events = read_history(self._base.files.find(session)).events
        conversation = fold(events)
        scanner = scanner_of(self._base.environment, self._settings)
        if form == "openai":
            return deferred.export.export_openai(conversation, scanner)
        titles = [event.title for event in events if isinstance(event, SessionChanged) and event.title]
        title = titles[-1] if titles else conversation.title or session
        return deferred.export.export_markdown(conversation, title, scanner)

    def plugins(self) -> list[PluginState]:
        """See `Kernel`."""
        return [
            PluginState(one.name, one.state, one.why, one.generation, one.pid, one.start_ms)
            for one in self._base.plugins.host.standings
        ]

    async def renew_plugins(self) -> None:
        """See `Kernel`."""
        await self._base.plugins.renew()

    async def restart_plugin(self, name: str) -> None:
        """See `Kernel`."""
        await self.renew_plugins()
        await self._base.plugins.host.restart(name)

    async def stop_plugin(self, name: str) -> None:
        """See `Kernel`."""
        await self._base.plugins.host.stop(name)

    def begin_plugins(self, *, daemon: bool) -> None:
        """Start the plugins that do not wait for their first use; they go on starting meanwhile."""
        self._base.plugins.begin(daemon=daemon)

    def daemon(self) -> DaemonState | None:
        """See `Kernel`."""
        return None

    async def close(self) -> None:
        """See `Kernel`."""
        sessions, models = [*self._open], [*self._models.values()]
        self._open.clear()
        self._models.clear()
        ended = [
            *await asyncio.gather(*(session.close() for session in sessions), return_exceptions=True),
            *await asyncio.gather(*(model.close() for model in models), return_exceptions=True),
            *await asyncio.gather(self._base.plugins.close(), return_exceptions=True),
            *await asyncio.gather(self._base.memory.close(), return_exceptions=True),
        ]
        for fault in ended:
            if fault is not None:
                raise fault

    def _model(self, settings: Settings) -> Model:
        """One model object for each choice: sessions share its connections or its child process."""
        key = f"{settings.model}\n{settings.fallback}"
        if key not in self._models:
            self._models[key] = model_of(self._base, settings)
        return self._models[key]


def _title(session: str, title: str) -> str:
    if not title.strip():
        raise UsageError("a title cannot be empty", f"limnos rename {session} TITLE")
    return title.strip()[:200]


def _folder(asked: str | None, started_in: str, fallback: str) -> str:
    """Where a session works, with links resolved. Raises UsageError when that is no folder."""
    path = asked or (started_in if os.path.isdir(started_in) else fallback)
    real = os.path.realpath(path)
    if not os.path.isdir(real):
        raise UsageError(f"{path} is no folder", "start limnos in a folder that exists")
    return real


def _overridden(settings: Settings, how: OpenRequest) -> Settings:
    """The settings with what this opening says on top."""
    given = {"mode": how.mode, "model": how.model, "steps": how.steps, "cap.turn": how.max_cost}
    changes = {
        KEYS[name].attribute: parse_value(KEYS[name], str(value), "the command line")
        for name, value in given.items()
        if value is not None
    }
    return replace(settings, **changes)  # pyright: ignore[reportArgumentType]


def _input(message: Send) -> Input:
    return Input(*message)


def _send(given: Input) -> Send:
    return Send(*given)
