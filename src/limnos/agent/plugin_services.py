"""What plugins may ask of this limnos beside what every host does: inputs, sessions, settings, each other."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from limnos.agent import deferred
from limnos.agent.scheduling import PLUGIN_LEVEL, Input
from limnos.agent.session_jobs import SessionJobs
from limnos.agent.sessions import SessionFiles
from limnos.kernel.errors import UsageError
from limnos.kernel.events import JobChanged
from limnos.kernel.masking import Mask
from limnos.kernel.seams import Validator
from limnos.kernel.stream import EventStream

if TYPE_CHECKING:
    from limnos.plugins.host import Host
    from limnos.plugins.manifest import Manifest
    from limnos.plugins.services import Asked, Service

SHELL: Final = "shell"  # the plugin that runs commands and jobs
MOST_SESSIONS: Final = 100


class Room(NamedTuple):
    """An open session, as plugins reach it."""

    stream: EventStream
    jobs: SessionJobs
    submit: Callable[[Input], None]


class House(NamedTuple):
    """What the services work on. `settings` are those of limnos, `mask` hides secrets."""

    home: Path
    files: SessionFiles
    validate: Validator
    settings: Callable[[], Mapping[str, Any]]
    mask: Callable[[], Mask]


class PluginServices:
    """The services of one kernel; `host` and `rooms` are those of the moment."""

    def __init__(self, house: House, rooms: Mapping[str, Room], host: "Callable[[], Host]") -> None:
        self._house = house
        self._rooms = rooms
        self._host = host

    def table(self) -> "Mapping[str, Service]":
        """By method of the wire."""
        return {
            "job.changed": self._job_changed,
            "io.inject": self._inject,
            "sessions.list": self._sessions,
            "settings.get": self._settings,
            "settings.set": self._set_settings,
            "settings.kernel": self._kernel_settings,
            "plugins.list": self._plugins,
            "plugins.restart": self._restart,
            "approvals.answer": _refuse_answer,
        }

    async def _job_changed(self, asked: "Asked") -> Any:
        room, told = self._rooms.get(asked.params.session), asked.params
        if asked.unit.name == SHELL and room is not None:
            room.jobs.heard(JobChanged(job=told.job, command=told.command, state=told.state, exit=told.exit))
        return {}

    async def _inject(self, asked: "Asked") -> Any:
        """An input in the plugin's own name, with the rights of a channel and never above its level."""
        params, name = asked.params, asked.unit.name
        session, room = self._room(params.session)
        room.submit(
            Input(
                text=params.text,
                client_id=f"{name}:{params.client_id}",
                source=f"plugin:{name}",
                principal=f"channel:{name}",
                level=min(max(params.level, 1), PLUGIN_LEVEL),
                interrupt=params.interrupt,
            )
        )
        return {"session": session}

    def _room(self, session: str) -> tuple[str, Room]:
        """The session that was named, else the one opened last."""
        names = [session] if session else list(self._rooms)[-1:]
        if not names or names[0] not in self._rooms:
            raise UsageError(f"no session {session or 'at all'} is open", "limnos open, or limnos up")
        return names[0], self._rooms[names[0]]

    async def _sessions(self, asked: "Asked") -> Any:
        rows = self._house.files.summaries(min(max(asked.params.limit, 1), MOST_SESSIONS))
        return {
            "sessions": [
                {"id": row.id, "state": row.state, "updated": row.updated, "title": row.title} for row in rows
            ]
        }

    async def _settings(self, asked: "Asked") -> Any:
        manifest = self._manifest_of(asked)
        return {"settings": deferred.own_settings.read_settings(self._house.home, manifest)}

    async def _set_settings(self, asked: "Asked") -> Any:
        manifest = self._manifest_of(asked)
        changed = deferred.own_settings.change_settings(
            self._house.home, manifest, asked.params.values, self._house.validate
        )
        self._host().settings_changed(manifest.name, changed)
        return {"settings": changed}

    def _manifest_of(self, asked: "Asked") -> "Manifest":
        """The plugin whose settings are meant; whether it may ask for others was looked at before."""
        return self._host().unit(asked.params.plugin or asked.unit.name).manifest

    async def _kernel_settings(self, asked: "Asked") -> Any:
        return {"settings": dict(self._house.settings())}

    async def _plugins(self, asked: "Asked") -> Any:
        return {"plugins": [one._asdict() for one in self._host().standings]}

    async def _restart(self, asked: "Asked") -> Any:
        if asked.params.plugin == asked.unit.name:
            raise UsageError("a plugin does not restart itself", "end the process; it is started again")
        await self._host().restart(asked.params.plugin)
        return {}


async def _refuse_answer(asked: "Asked") -> Any:
    """No plugin was given a person's word yet: none speaks for a signed-in person."""
    raise UsageError(
        f"{asked.unit.name} holds no word of a person for the question {asked.params.approval}",
        "the person answers it where it is asked",
    )
