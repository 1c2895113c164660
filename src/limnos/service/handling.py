"""What the methods of the control socket do."""

import asyncio
import itertools
import os
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from limnos import __version__
from limnos.agent.listening import BehindError
from limnos.agent.scheduling import PLUGIN_LEVEL
from limnos.kernel.errors import LimnosError
from limnos.kernel.event_records import to_record
from limnos.kernel.events import ApprovalAsked, Event
from limnos.kernel.seams import Answer
from limnos.service import methods
from limnos.service.client import OpenRequest, Send
from limnos.service.connection import Connection, Gone
from limnos.service.local import LocalKernel, LocalSession
from limnos.service.methods import NOT_OPEN, failure_of
from limnos.service.roles import Nonces
from limnos.service.rooms import Rooms
from limnos.wire.frames import REFUSED, Failure, Notification

MOST_BEHIND: Final = 1_000  # events that wait for one subscription
DRAIN_SECONDS: Final = 3.0
MOST_SUBSCRIPTIONS: Final = 16  # of one connection


@dataclass(slots=True)
class Handling:
    """The methods over one kernel. `reload` is called before a session is opened, `stop` ends the daemon."""

    kernel: LocalKernel
    nonces: Nonces
    started: str
    reload: Callable[[], None]
    stop: Callable[[], None]
    connected: Callable[[], int]
    rooms: Rooms = field(init=False)
    _clients: Counter[str] = field(default_factory=Counter[str])
    _pumps: set["asyncio.Task[None]"] = field(default_factory=set["asyncio.Task[None]"])
    _numbers: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))

    def __post_init__(self) -> None:
        self.rooms = Rooms(self.kernel)

    async def call(self, name: str, connection: Connection, params: Any) -> Any:
        """The result of a method, or why it is refused. Raises LimnosError."""
        if name in _KERNEL:
            return await _KERNEL[name](self, connection, params)
        session = self.rooms.session(params.session)
        if session is None:
            return Failure(None, NOT_OPEN, f"session {params.session[:20]} is not open here")
        return await _SESSION[name](self, connection, session, params)

    async def after(self, connection: Connection) -> None:
        """Begin what waits until the reply is sent."""
        waiting, connection.pending = connection.pending, []
        for number, work in waiting:
            connection.subscriptions[number] = task = asyncio.create_task(work)
            self._pumps.add(task)
            task.add_done_callback(self._pumps.discard)

    async def drain(self) -> None:
        """Let the subscriptions of closed sessions send what they have; bounded."""
        if self._pumps:
            await asyncio.wait(tuple(self._pumps), timeout=DRAIN_SECONDS)

    def came(self, connection: Connection) -> None:
        """One more connection of a client is there."""
        self._clients[connection.client] += 1

    async def leave(self, connection: Connection) -> None:
        """The connection is gone; with the last one of a client it is in no session any more."""
        self._clients[connection.client] -= 1
        if self._clients[connection.client] <= 0:
            del self._clients[connection.client]
            await self.rooms.leave_all(connection.client)

    async def enter(self, connection: Connection, params: methods.Open) -> dict[str, Any]:
        """See `service.client`."""
        self.reload()
        how = OpenRequest(**{name: getattr(params, name) for name in OpenRequest._fields})
        session = await self.rooms.enter(how, connection.client)
        return _state(session)

    async def sessions(self, connection: Connection, params: methods.Sessions) -> list[list[Any]]:
        """See `service.client`."""
        return [list(row) for row in self.kernel.sessions(params.limit)]

    async def newest_in(self, connection: Connection, params: methods.NewestIn) -> list[Any] | None:
        """See `service.client`."""
        found = self.kernel.newest_in(params.folder)
        return None if found is None else list(found)

    async def path(self, connection: Connection, params: methods.OfSession) -> str:
        """See `service.client`."""
        return self.kernel.path(params.session)

    async def fork(self, connection: Connection, params: methods.Fork) -> str:
        """See `service.client`."""
        return self.kernel.fork(params.session, params.seq)

    async def rename(self, connection: Connection, params: methods.Rename) -> None:
        """See `service.client`."""
        session = self.rooms.session(params.session)
        if session is not None:
            session.rename(params.title)
        else:
            self.kernel.rename(params.session, params.title)

    async def export(self, connection: Connection, params: methods.Export) -> str:
        """See `service.client`."""
        return self.kernel.export(params.session, params.form)

    async def plugins(self, connection: Connection, params: methods.Nothing) -> list[list[Any]]:
        """See `service.client`."""
        return [list(one) for one in self.kernel.plugins()]

    async def renew_plugins(self, connection: Connection, params: methods.Nothing) -> None:
        """See `service.client`."""
        await self.kernel.renew_plugins()

    async def restart_plugin(self, connection: Connection, params: methods.OfPlugin) -> None:
        """See `service.client`."""
        await self.kernel.restart_plugin(params.name)

    async def stop_plugin(self, connection: Connection, params: methods.OfPlugin) -> None:
        """See `service.client`."""
        await self.kernel.stop_plugin(params.name)

    async def status(self, connection: Connection, params: methods.Nothing) -> dict[str, Any]:
        """What the daemon says of itself."""
        sessions = self.rooms.open_sessions()
        return {
            "pid": os.getpid(),
            "version": __version__,
            "started": self.started,
            "clients": self.connected(),
            "sessions": len(sessions),
            "busy": sum(one.busy for one in sessions),
        }

    async def stop_daemon(self, connection: Connection, params: methods.Nothing) -> None:
        """End the daemon."""
        self.stop()

    async def session_state(
        self, connection: Connection, session: LocalSession, params: methods.OfSession
    ) -> dict[str, Any]:
        """See `service.client`."""
        return _state(session)

    async def history(
        self, connection: Connection, session: LocalSession, params: methods.History
    ) -> list[dict[str, Any]]:
        """See `service.client`."""
        return [to_record(event) for event in await session.history(settled=params.settled)]

    async def events(
        self, connection: Connection, session: LocalSession, params: methods.Events
    ) -> int | Failure:
        """Subscribe: the number of the subscription. The events come as notifications."""
        if len(connection.subscriptions) >= MOST_SUBSCRIPTIONS:
            return Failure(None, REFUSED, f"{MOST_SUBSCRIPTIONS} subscriptions are open")
        if connection.role.kind == "person":
            self.rooms.join(session.id, connection.client)
        number = next(self._numbers)
        connection.pending.append((number, self._pump(connection, session, number, params.after)))
        return number

    async def _pump(self, connection: Connection, session: LocalSession, number: int, after: int) -> None:
        """Send a session's events until it ends or the client is too slow for them."""
        end: dict[str, Any] = {"subscription": number, "reason": "closed"}
        try:
            async for event in session.listen(after, MOST_BEHIND):
                await connection.send(Notification("event", self._told(connection, session, number, event)))
        except BehindError:
            end["reason"] = "resync"
        except LimnosError as error:
            failure = failure_of(None, error)
            end |= {"reason": "failed", "code": failure.code, "what": error.what, "fix": error.fix}
        except (Gone, ConnectionError):
            return
        finally:
            connection.subscriptions.pop(number, None)
        with suppress(Gone, ConnectionError):
            await connection.send(Notification("events.end", end))

    def _told(
        self, connection: Connection, session: LocalSession, number: int, event: Event
    ) -> dict[str, Any]:
        told: dict[str, Any] = {"subscription": number, "event": to_record(event)}
        person = connection.role.kind == "person"
        if person and isinstance(event, ApprovalAsked) and session.asks(event.approval):
            told["nonce"] = self.nonces.issue(session.id, event.approval)
        return told

    async def send(self, connection: Connection, session: LocalSession, params: methods.Input) -> None:
        """See `service.client`."""
        session.send(_spoken(connection, params))

    async def inject(self, connection: Connection, session: LocalSession, params: methods.Input) -> None:
        """See `service.client`."""
        session.inject(_spoken(connection, params))

    async def resume(self, connection: Connection, session: LocalSession, params: methods.Resume) -> None:
        """See `service.client`."""
        session.resume(params.source)

    async def stop_turn(self, connection: Connection, session: LocalSession, params: methods.Stop) -> None:
        """See `service.client`."""
        session.stop(params.reason)

    async def answer(
        self, connection: Connection, session: LocalSession, params: methods.Give
    ) -> bool | Failure:
        """See `service.client`."""
        if not self.nonces.take(params.nonce, session.id, params.approval):
            return Failure(None, REFUSED, "the number of this question is not good, or was used")
        answer = Answer(
            params.verdict, params.reason, params.arguments, source=params.source, scope=params.scope
        )
        if not session.answer(params.approval, answer):
            return Failure(None, REFUSED, "the question is not open any more")
        return True

    async def queued(
        self, connection: Connection, session: LocalSession, params: methods.OfSession
    ) -> list[list[Any]]:
        """See `service.client`."""
        return [list(message) for message in session.queued()]

    async def injected(
        self, connection: Connection, session: LocalSession, params: methods.OfSession
    ) -> list[list[Any]]:
        """See `service.client`."""
        return [list(message) for message in session.injected()]

    async def drop(
        self, connection: Connection, session: LocalSession, params: methods.Drop
    ) -> list[Any] | None:
        """See `service.client`."""
        dropped = session.drop(params.position)
        return None if dropped is None else list(dropped)

    async def jobs(
        self, connection: Connection, session: LocalSession, params: methods.OfSession
    ) -> list[list[Any]]:
        """See `service.client`."""
        return [list(job) for job in session.jobs()]

    async def stop_job(self, connection: Connection, session: LocalSession, params: methods.StopJob) -> None:
        """See `service.client`."""
        await session.stop_job(params.name)

    async def undo(
        self, connection: Connection, session: LocalSession, params: methods.OfSession
    ) -> list[Any] | None:
        """See `service.client`."""
        undone = await session.undo()
        return None if undone is None else list(undone)

    async def window(
        self, connection: Connection, session: LocalSession, params: methods.OfSession
    ) -> dict[str, Any]:
        """See `service.client`."""
        view = session.window()
        parts, units = [list(part) for part in view.parts], [list(unit) for unit in view.units]
        return view._asdict() | {"parts": parts, "units": units}

    async def pin(self, connection: Connection, session: LocalSession, params: methods.Pin) -> None:
        """See `service.client`."""
        session.pin(params.unit, pinned=params.pinned)

    async def cold(
        self, connection: Connection, session: LocalSession, params: methods.Cold
    ) -> list[list[Any]]:
        """See `service.client`."""
        return [list(unit) for unit in await session.cold(params.text)]

    async def recall(self, connection: Connection, session: LocalSession, params: methods.Recall) -> None:
        """See `service.client`."""
        await session.recall(params.units)

    async def close(self, connection: Connection, session: LocalSession, params: methods.OfSession) -> None:
        """See `service.client`."""
        await self.rooms.leave(session.id, connection.client)


def _spoken(connection: Connection, params: methods.Input) -> Send:
    """An input with the rights of who sends it."""
    role = connection.role
    if role.kind == "person":
        principal, source, level = "owner", params.source, params.level
    else:
        principal, source, level = f"channel:{role.name}", role.name, min(params.level, PLUGIN_LEVEL)
    return Send(params.text, params.client_id, source, principal, level, params.interrupt)


def _state(session: LocalSession) -> dict[str, Any]:
    return {
        "id": session.id,
        "path": session.path,
        "last_seq": session.last_seq,
        "interrupted": session.interrupted,
    }


_OnKernel = Callable[[Handling, Connection, Any], Awaitable[Any]]
_OnSession = Callable[[Handling, Connection, LocalSession, Any], Awaitable[Any]]
_KERNEL: dict[str, _OnKernel] = {
    "kernel.open": Handling.enter,
    "kernel.sessions": Handling.sessions,
    "kernel.newest_in": Handling.newest_in,
    "kernel.path": Handling.path,
    "kernel.fork": Handling.fork,
    "kernel.rename": Handling.rename,
    "kernel.export": Handling.export,
    "kernel.plugins": Handling.plugins,
    "kernel.renew_plugins": Handling.renew_plugins,
    "kernel.restart_plugin": Handling.restart_plugin,
    "kernel.stop_plugin": Handling.stop_plugin,
    "daemon.status": Handling.status,
    "daemon.stop": Handling.stop_daemon,
}
_SESSION: dict[str, _OnSession] = {
    "session.state": Handling.session_state,
    "session.history": Handling.history,
    "session.events": Handling.events,
    "session.send": Handling.send,
    "session.inject": Handling.inject,
    "session.resume": Handling.resume,
    "session.stop": Handling.stop_turn,
    "session.answer": Handling.answer,
    "session.queued": Handling.queued,
    "session.injected": Handling.injected,
    "session.drop": Handling.drop,
    "session.jobs": Handling.jobs,
    "session.stop_job": Handling.stop_job,
    "session.undo": Handling.undo,
    "session.window": Handling.window,
    "session.pin": Handling.pin,
    "session.cold": Handling.cold,
    "session.recall": Handling.recall,
    "session.close": Handling.close,
}
