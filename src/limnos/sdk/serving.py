"""Serves limnos: reads frames, runs the plugin's functions in threads, sends what they come to.

The thread that reads never runs them, so a `ping` is answered while tools work.
"""

import os
import sys
import traceback
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, cast

from limnos.kernel.messages import ToolError
from limnos.kernel.tools import Output, ToolFailure
from limnos.sdk.async_calls import AsyncCalls, is_async
from limnos.sdk.call import Call, Cancelled
from limnos.sdk.handlers import Handlers, Told
from limnos.sdk.outcome import Answer, Deny, Outcome, Pass, Rewrite
from limnos.sdk.payloads import Payloads
from limnos.sdk.wire import RefusedError, Wire
from limnos.sdk.workers import Workers
from limnos.wire import frames
from limnos.wire.frames import Failure, FrameError, Notification, Reply, Request

_SAID_AT_MOST: Final = 500


def serve(handlers: Handlers) -> None:
    """Serve over standard input and output; ends the process when limnos closes them."""
    read, write = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)  # what the plugin prints goes to its log and never between the frames
    sys.stdout = open(1, "w", buffering=1, encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
    Server(handlers, Wire(read, write)).run()
    sys.stderr.flush()
    os._exit(0)  # threads that still work do not hold it up


class Server:
    """One plugin on one wire."""

    def __init__(self, handlers: Handlers, wire: Wire) -> None:
        self._handlers = handlers
        self._wire = wire
        self._workers = Workers()
        self._quick = Workers()  # nothing else waits for tools that take long
        self._async = AsyncCalls()
        self._calls: dict[str, Call] = {}
        self._payloads = Payloads(wire)
        self._methods: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {
            "initialize": self._initialize,
            "start": self._start,
            "stop": self._stop,
            "stage.run": self._stage,
            "output.send": self._send,
        }

    def run(self) -> None:
        """Read until the other side closes; calls that still work then are stopped, and heard by nobody."""
        try:
            for frame in self._wire.frames():
                if isinstance(frame, Request):
                    self._request(frame)
                elif isinstance(frame, Notification):
                    self._hear(frame)
        finally:
            self._wire.close()
            self._stop_calls()
            self._payloads.close()

    def _request(self, request: Request) -> None:
        if request.method == "ping":
            self._wire.send(Reply(request.id, {}))
        elif request.method == "tool.call":
            self._begin_call(request)
        elif (method := self._methods.get(request.method)) is not None:
            self._quick.submit(partial(self._answer, request, method))
        else:
            self._wire.send(Failure(request.id, frames.NO_METHOD, f"there is no method {request.method}"))

    def _begin_call(self, request: Request) -> None:
        told = self._handlers.told
        if told is None:
            self._wire.send(Failure(request.id, frames.REFUSED, "initialize comes first"))
            return
        call = Call(told, request.params)
        self._calls[call.id] = call  # by the thread that reads, so that a stop that comes next finds it
        self._workers.submit(partial(self._answer, request, partial(self._call, call)))

    def _hear(self, told: Notification) -> None:
        if told.method == "tool.cancel":
            call = self._calls.get(str(told.params.get("call")))
            if call is not None:
                call.stop()
        elif told.method == "settings.changed" and self._handlers.told is not None:
            self._handlers.told = self._handlers.told._replace(settings=told.params["settings"])
        elif told.method == "session.closed" and (leaving := self._handlers.leaving) is not None:
            self._quick.submit(partial(self._quietly, leaving, str(told.params["session"])))

    def _answer(self, request: Request, work: Callable[[Mapping[str, Any]], Any]) -> None:
        """Run `work`; whatever happens, send one answer."""
        try:
            answer: Reply | Failure = Reply(request.id, work(request.params))
        except RefusedError as error:
            answer = Failure(request.id, error.code, str(error), error.hint)
        except BaseException as error:  # noqa: BLE001 - the border to the plugin's own code, `sys.exit` too
            traceback.print_exc()
            answer = Failure(request.id, frames.FAULT, _said(error))
        try:
            self._wire.send(answer)
        except FrameError as error:
            self._wire.send(Failure(request.id, error.code, str(error)))

    def _quietly(self, function: Callable[..., Any], *given: Any) -> None:
        try:
            self._run(function, *given)
        except BaseException:  # noqa: BLE001 - nobody waits for it
            traceback.print_exc()

    def _run(self, function: Callable[..., Any], *given: Any, **named: Any) -> Any:
        if is_async(function):
            return self._async.run(function(*given, **named))
        return function(*given, **named)

    def _initialize(self, given: Mapping[str, Any]) -> Any:
        if given.get("protocol") != frames.PROTOCOL:
            raise RefusedError(
                frames.REFUSED, f"this plugin speaks protocol {frames.PROTOCOL}", "use a matching limnos"
            )
        self._payloads.attach(given.get("arena"))
        self._handlers.told = Told(
            self._wire,
            self._payloads,
            given["plugin"],
            given["data"],
            given.get("settings", {}),
            tuple(given.get("hidden", ())),
            tuple(given.get("provides", ())),
        )
        return {"protocol": frames.PROTOCOL, "arena": "mmap" if self._payloads.shared else "none"}

    def _start(self, given: Mapping[str, Any]) -> Any:
        if self._handlers.starting is not None:
            self._run(self._handlers.starting)
        provides = self._handlers.told.provides if self._handlers.told is not None else ()
        self._wire.notify("ready", facilities=[*provides])
        return {}

    def _stop(self, given: Mapping[str, Any]) -> Any:
        self._stop_calls()
        if self._handlers.stopping is not None:
            self._run(self._handlers.stopping)
        return {}

    def _stop_calls(self) -> None:
        for call in tuple(self._calls.values()):
            call.stop()

    def _call(self, call: Call, given: Mapping[str, Any]) -> Any:
        stopped = False
        try:
            output = _output(self._do(call, self._payloads.value(given, "arguments")))
        except ToolFailure as failure:
            output = Output("", error=failure.error)
        except Cancelled:
            output, stopped = Output("", error=ToolError("failed", "the call was stopped")), True
        finally:
            self._calls.pop(call.id, None)
        return self._payloads.filled({**_record(output), "stopped": stopped}, "text", output.text)

    def _do(self, call: Call, arguments: dict[str, Any]) -> Any:
        function = self._handlers.tools.get(call.tool)
        if function is None:
            raise ToolFailure("not_found", f"the plugin has no function for the tool {call.tool}")
        if is_async(function):
            return self._async.run(function(call, **arguments), call)
        return function(call, **arguments)

    def _stage(self, given: Mapping[str, Any]) -> Any:
        handler = self._handlers.stages.get(given["handler"])
        if handler is None:
            raise RefusedError(frames.NO_METHOD, f"the plugin has no handler {given['handler']}")
        payload = self._payloads.value(given, "payload")
        outcome = cast("Outcome | None", self._run(handler[1], payload))
        match outcome:
            case None | Pass():
                return {"action": "pass"}
            case Rewrite(payload=new):
                return self._payloads.filled({"action": "rewrite"}, "payload", dict(new))
            case Deny(reason=reason):
                return {"action": "deny", "reason": reason}
            case Answer(text=text):
                return {"action": "answer", "text": text}

    def _send(self, given: Mapping[str, Any]) -> Any:
        channel = self._handlers.channels.get(given["channel"])
        if channel is None:
            raise RefusedError(frames.NO_METHOD, f"the plugin has no channel {given['channel']}")
        self._run(channel, given["to"], given["text"])
        return {}


def _output(value: Any) -> Output:
    if isinstance(value, Output):
        return value
    if isinstance(value, str):
        return Output(value)
    raise TypeError(f"a tool returns a text or an Output, not {type(value).__name__}")


def _record(output: Output) -> dict[str, Any]:
    error = output.error._asdict() if output.error is not None else None
    return {"summary": output.summary, "exit": output.exit, "error": error, "origin": output.origin}


def _said(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"[:_SAID_AT_MOST]
