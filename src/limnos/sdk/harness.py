"""Tests of a plugin: its functions called as limnos calls them, here or in a process of its own.

    from limnos.sdk.harness import in_process, over_wire

    assert in_process(plugin).call("greet", {"name": "Ada"}).text == "Hello, Ada."

    with over_wire(Path("weather")) as running:
        assert running.call("greet", {"name": "Ada"}).text == "Hello, Ada."

Both speak real frames over a real wire with a real arena. Every wait has a limit.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Final, NamedTuple, Self, cast

from limnos import lazy
from limnos.kernel.arguments import ParseFailure, parse_json
from limnos.kernel.messages import ToolError
from limnos.kernel.tools import Output
from limnos.sdk.handlers import Handlers
from limnos.sdk.outcome import PASS, Answer, Deny, Outcome, Rewrite
from limnos.sdk.peer import PATIENCE_S, Answers, NoAnswerError, Peer
from limnos.sdk.serving import Server
from limnos.sdk.wire import Wire
from limnos.wire import frames
from limnos.wire.arena import WAYS, Arena
from limnos.wire.methods import INLINE

END_S: Final = 5.0
_PYTHON: Final = "python:"
_PATH: Final = "/usr/bin:/bin:/usr/local/bin"
_SOURCE: Final = str(Path(__file__).resolve().parents[2])


NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


class Progress(NamedTuple):
    """What a call told of itself; `fraction` is between 0 and 1."""

    call: str
    text: str
    fraction: float | None


class Pending(NamedTuple):
    """A call that was begun."""

    call: str
    request: int
    leases: tuple[int, ...]


class Surroundings(NamedTuple):
    """What the plugin is told at its start, and what limnos answers when it asks; see `peer.Peer`."""

    name: str = "plugin"
    settings: Mapping[str, Any] = NOTHING
    answers: Answers = NOTHING
    arena: int = 16 * 1024 * 1024  # bytes
    hidden: tuple[str, ...] = ()
    provides: tuple[str, ...] = ()


USUAL: Final = Surroundings()


class Harness:
    """A started plugin. A refusal raises `wire.RefusedError`; what a tool cannot do is an `Output.error`."""

    def __init__(
        self, peer: Peer, around: Surroundings, end: Callable[[], None], descriptor: int | None = None
    ) -> None:
        self.peer = peer
        self.process: subprocess.Popen[bytes] | None = None  # when it has one of its own
        self._count = 0
        self._data = tempfile.mkdtemp(prefix="limnos-plugin-")
        self._end = weakref.finalize(self, _ended, peer, end, self._data)
        first = beginning(around, peer.arena, self._data)
        if descriptor is not None:
            first["arena"]["descriptor"] = descriptor
        try:
            self._begin(first)
        except BaseException:
            self.close()
            raise

    def call(
        self, tool: str, arguments: Mapping[str, Any] | None = None, *, cwd: str = "", session: str = ""
    ) -> Output:
        """What a tool returns; `cwd` is the folder that it works in, its data folder unless given."""
        return self.result(self.begin(tool, arguments, cwd=cwd, session=session))

    def begin(
        self, tool: str, arguments: Mapping[str, Any] | None = None, *, cwd: str = "", session: str = ""
    ) -> Pending:
        """Begin a call, to look at it while it runs."""
        self._count += 1
        call = f"c{self._count}"
        fields = self.peer.filled("arguments", arguments or {})
        given = {"call": call, "tool": tool, "cwd": cwd or self._data, "session": session}
        number = self.peer.request("tool.call", {**given, "timeout_s": PATIENCE_S, **fields})
        return Pending(call, number, _leases(fields))

    def result(self, pending: Pending, timeout_s: float = PATIENCE_S) -> Output:
        """What a begun call returns. Raises NoAnswerError."""
        answer = self._answer(pending.request, timeout_s, pending.leases)
        error = cast("dict[str, Any] | None", answer.get("error"))
        return Output(
            self.peer.text(answer, "text"),
            str(answer.get("summary", "")),
            answer.get("exit"),
            None
            if error is None
            else ToolError(error["reason"], error["detail"], str(error.get("hint", ""))),
            str(answer.get("origin", "")),
        )

    def cancel(self, pending: Pending) -> None:
        """Stop a begun call, as a person does."""
        self.peer.notify("tool.cancel", {"call": pending.call})

    def stage(self, handler: str, payload: Mapping[str, Any], stage: str = "") -> Outcome:
        """What a stage handler says to a payload. Raises ValueError and TypeError for none."""
        fields = self.peer.filled("payload", payload)
        number = self.peer.request("stage.run", {"handler": handler, "stage": stage, **fields})
        answer = self._answer(number, PATIENCE_S, _leases(fields))
        match answer.get("action"):
            case "pass":
                return PASS
            case "rewrite":
                return Rewrite(self._object(answer, "payload"))
            case "deny":
                return Deny(str(answer["reason"]))
            case "answer":
                return Answer(str(answer["text"]))
            case other:
                raise ValueError(f"{other!r} is no action")

    def send(self, channel: str, to: str, text: str) -> None:
        """Send a text through a channel; returns when the plugin says that it was handed over."""
        given = {"channel": channel, "to": to, "text": text}
        self._answer(self.peer.request("output.send", given), PATIENCE_S)

    def change_settings(self, settings: Mapping[str, Any]) -> None:
        """The person changed the plugin's settings; these are all of them now."""
        self.peer.notify("settings.changed", {"settings": dict(settings)})

    def close_session(self, session: str) -> None:
        """A session was closed."""
        self.peer.notify("session.closed", {"session": session})

    def stop(self) -> None:
        """Let the plugin save what it keeps, as limnos does before the process ends."""
        self._answer(self.peer.request("stop", {"reason": "the test ends"}), END_S)

    def close(self) -> None:
        """End it; again is fine."""
        self._end()

    @property
    def facilities(self) -> tuple[str, ...]:
        """What it said is ready."""
        return tuple(name for one in self._heard("ready") for name in one["facilities"])

    @property
    def progress(self) -> list[Progress]:
        """What calls told of themselves so far, oldest first."""
        return [
            Progress(one["call"], one.get("text", ""), one.get("fraction"))
            for one in self._heard("tool.progress")
        ]

    @property
    def logs(self) -> list[str]:
        """The lines it logged so far."""
        return [one["text"] for one in self._heard("log")]

    @property
    def asked(self) -> list[tuple[str, Mapping[str, Any]]]:
        """What it asked limnos so far: methods and their parameters."""
        self.peer.until(lambda: False, 0.0)
        return [(one.method, one.params) for one in self.peer.asked if one.method != "arena.lease"]

    def _begin(self, first: Mapping[str, Any]) -> None:
        peer = self.peer
        said = self._answer(peer.request("initialize", first), PATIENCE_S)
        peer.shares = said.get("arena") in WAYS
        self._answer(peer.request("start", {}), PATIENCE_S)
        if not peer.until(lambda: any(one.method == "ready" for one in peer.heard)):
            raise NoAnswerError("it did not say ready")

    def _answer(self, number: int, timeout_s: float, leases: tuple[int, ...] = ()) -> dict[str, Any]:
        try:
            answer = self.peer.answer(number, timeout_s)
        finally:
            for lease in leases:
                self.peer.arena.release(lease)
        if not isinstance(answer, dict):
            raise TypeError(f"an answer is an object, not {answer!r}")
        return cast("dict[str, Any]", answer)

    def _object(self, answer: Mapping[str, Any], name: str) -> dict[str, Any]:
        if f"{name}_at" not in answer:
            return answer[name]
        said = self.peer.text(answer, name)
        value = parse_json(said, most=len(said))
        if isinstance(value, ParseFailure) or not isinstance(value, dict):
            raise TypeError(f"{name} is no JSON object")
        return cast("dict[str, Any]", value)

    def _heard(self, method: str) -> list[Mapping[str, Any]]:
        self.peer.until(lambda: False, 0.0)
        return [one.params for one in self.peer.heard if one.method == method]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Started(NamedTuple):
    """A plugin's process that was not spoken to yet. `errors` is a file with what it wrote to its log."""

    peer: Peer
    process: "subprocess.Popen[bytes]"
    errors: Path

    def end(self) -> None:
        """Let it end by itself, for 5 seconds, then kill its group; again is fine."""
        self.peer.finish_writing()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(END_S)
        with suppress(ProcessLookupError):  # also what it left behind
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(END_S)
        self.errors.unlink(missing_ok=True)


def in_process(plugin: Handlers, around: Surroundings = USUAL) -> Harness:
    """The plugin in this process, in threads of its own; its settings have their defaults."""
    around = _with_defaults(_folder_of(plugin), around)
    here, there = socket.socketpair()
    peer = Peer(here, Arena(around.arena), around.answers)
    serving = threading.Thread(target=_serve, args=(plugin, there), daemon=True)
    serving.start()

    def end() -> None:
        peer.finish_writing()
        serving.join(END_S)

    return Harness(peer, around, end, os.dup(peer.arena.descriptor))


def _serve(plugin: Handlers, wire: socket.socket) -> None:
    with wire:
        Server(plugin, Wire(wire.fileno(), wire.fileno())).run()


def _ended(peer: Peer, end: Callable[[], None], data: str) -> None:
    try:
        end()
    finally:
        peer.close()
        peer.arena.close()
        shutil.rmtree(data, ignore_errors=True)


def over_wire(
    plugin: Path | Sequence[str], around: Surroundings = USUAL, *, cwd: str | None = None
) -> Harness:
    """The plugin in a process of its own: the entry of a folder with a `plugin.toml`, or a command."""
    around = _with_defaults(plugin if isinstance(plugin, Path) else None, around)
    started = start_process(plugin, around, cwd=cwd)
    running = Harness(started.peer, around, started.end)
    running.process = started.process
    return running


def start_process(
    plugin: Path | Sequence[str], around: Surroundings = USUAL, *, cwd: str | None = None
) -> Started:
    """As `over_wire`, without saying anything to it. Raises OSError when it cannot run."""
    folder = str(plugin) if isinstance(plugin, Path) else cwd
    argv = entry_of(plugin) if isinstance(plugin, Path) else tuple(plugin)
    here, there = socket.socketpair()
    arena = Arena(around.arena)
    file, name = tempfile.mkstemp(prefix="limnos-errors-")
    try:
        process = subprocess.Popen(
            argv,
            stdin=there.fileno(),
            stdout=there.fileno(),
            stderr=file,
            cwd=folder,
            env={"PATH": _PATH, "LANG": "C.UTF-8", "PYTHONPATH": _SOURCE, "PYTHONDONTWRITEBYTECODE": "1"},
            pass_fds=(arena.descriptor,),
            start_new_session=True,
        )
    except OSError:
        here.close()
        arena.close()
        raise
    finally:
        there.close()
        os.close(file)
    return Started(Peer(here, arena, around.answers), process, Path(name))


def _folder_of(plugin: Handlers) -> Path | None:
    """The folder with the `plugin.toml` beside the functions of a plugin."""
    for function in plugin.tools.values():
        file = getattr(sys.modules.get(function.__module__), "__file__", None)
        if file and (folder := Path(file).parent).joinpath("plugin.toml").is_file():
            return folder
    return None


def _with_defaults(folder: Path | None, around: Surroundings) -> Surroundings:
    """`around` with the defaults of a manifest for settings that it does not name."""
    if folder is None or not (folder / "plugin.toml").is_file():
        return around
    said: Any = lazy.tomllib.loads((folder / "plugin.toml").read_text(encoding="utf-8"))
    known = {name: one["default"] for name, one in said.get("settings", {}).items() if "default" in one}
    return around._replace(settings={**known, **around.settings})


def entry_of(folder: Path) -> tuple[str, ...]:
    """The command of a plugin's folder. Raises OSError and ValueError."""
    entry: Any = lazy.tomllib.loads((folder / "plugin.toml").read_text(encoding="utf-8"))["entry"]
    if isinstance(entry, str):
        return (sys.executable, "-m", entry.removeprefix(_PYTHON))
    first, *rest = cast("list[str]", entry)
    return (str(folder.absolute() / first) if "/" in first else first, *rest)


def beginning(around: Surroundings, arena: Arena, data: str) -> dict[str, Any]:
    """The parameters of `initialize`."""
    return {
        "protocol": frames.PROTOCOL,
        "plugin": around.name,
        "generation": 1,
        "data": data,
        "provides": list(around.provides),
        "settings": dict(around.settings),
        "arena": {"descriptor": arena.descriptor, "size": arena.size},
        "hidden": list(around.hidden),
        "limits": {"frame": frames.LIMIT, "inline": INLINE},
    }


def _leases(fields: Mapping[str, Any]) -> tuple[int, ...]:
    return tuple(at["lease"] for name, at in fields.items() if name.endswith("_at"))
