"""The open sessions of a daemon: several connections may be in one, and it stays while it works."""

import asyncio
from dataclasses import dataclass, field

from limnos.service.client import OpenRequest
from limnos.service.local import LocalKernel, LocalSession


@dataclass(slots=True)
class _Room:
    session: LocalSession
    inside: set[str] = field(default_factory=set[str])


class Rooms:
    """Opens a session for the first who comes, and closes it when nobody is in it and nothing runs."""

    def __init__(self, kernel: LocalKernel) -> None:
        self._kernel = kernel
        self._rooms: dict[str, _Room] = {}
        self._opening = asyncio.Lock()
        self._leaving: set[asyncio.Task[None]] = set()

    def open_sessions(self) -> list[LocalSession]:
        """Those that are open, in the order in which they were opened."""
        return [room.session for room in self._rooms.values()]

    def session(self, name: str) -> LocalSession | None:
        """The open session of this id."""
        room = self._rooms.get(name)
        return room.session if room is not None else None

    async def enter(self, how: OpenRequest, who: str) -> LocalSession:
        """Open a session, or join those who are in it. Raises as `Kernel.open`."""
        async with self._opening:
            room = self._rooms.get(how.session or "")
            if room is None:
                room = _Room(await self._kernel.open_here(how))
                self._rooms[room.session.id] = room
            room.inside.add(who)
            return room.session

    def join(self, name: str, who: str) -> None:
        """Be in a session that is open."""
        self._rooms[name].inside.add(who)

    async def leave_all(self, who: str) -> None:
        """Go from everywhere."""
        for name in [name for name, room in self._rooms.items() if who in room.inside]:
            await self.leave(name, who)

    async def leave(self, name: str, who: str) -> None:
        """Go; the last one out closes it, at once or when what runs in it has ended."""
        room = self._rooms.get(name)
        if room is None:
            return
        room.inside.discard(who)
        if not room.session.busy:
            await self._close_empty(room)
        elif not room.inside:
            task = asyncio.create_task(self._close_later(room))
            self._leaving.add(task)
            task.add_done_callback(self._leaving.discard)

    async def _close_later(self, room: _Room) -> None:
        await room.session.rest()
        await self._close_empty(room)

    async def _close_empty(self, room: _Room) -> None:
        async with self._opening:
            if room.inside or self._rooms.get(room.session.id) is not room:
                return
            del self._rooms[room.session.id]
            await room.session.close()

    async def close(self) -> None:
        """Close all, whoever is in them."""
        rooms, self._rooms = list(self._rooms.values()), {}
        await asyncio.gather(*(room.session.close() for room in rooms), return_exceptions=True)
