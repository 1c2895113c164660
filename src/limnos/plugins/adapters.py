"""Tools and stage handlers of the kernel that run in a plugin's process."""

import asyncio
from contextlib import suppress
from typing import Any, Final, cast

from limnos.kernel.messages import Arguments, ErrorReason, ToolError
from limnos.kernel.stages import Action, Handler, Payload
from limnos.kernel.tools import Output, ToolContext, ToolFailure
from limnos.plugins import payloads, stages
from limnos.plugins.connection import PluginLost, PluginRefused
from limnos.plugins.manifest import StageDeclaration, ToolDeclaration
from limnos.plugins.offered import SessionSide
from limnos.plugins.payloads import PayloadError
from limnos.plugins.services import OpenCall, Services
from limnos.plugins.unit import Unavailable, Unit
from limnos.plugins.within import within
from limnos.wire.arena import Arena, ArenaFull

LAST_ANSWER_S: Final = 10.0  # for the answer of a call that was stopped: what it did still counts
DELIVERY_S: Final = 10.0
MOST_SAID: Final = 4_000  # characters of what a plugin says about a failure
_BUILTIN_ORIGINS: Final = ("kernel", "file", "command")


class PluginTool:
    """One tool of a plugin, for one session."""

    def __init__(self, unit: Unit, services: Services, declared: ToolDeclaration, side: SessionSide) -> None:
        self._unit = unit
        self._services = services
        self._name = declared.name
        self._timeout_s = declared.timeout_s
        self._side = side

    async def __call__(self, arguments: Arguments, context: ToolContext) -> Output:
        """Run it there; see `kernel.tools.Execute`."""
        try:
            await self._unit.ready()
            return await self._run(arguments, context)
        except Unavailable as error:
            raise ToolFailure("unavailable", error.what, error.fix) from None
        except PluginLost as lost:
            raise ToolFailure(
                "unavailable",
                f"the plugin {self._unit.name} ended during this call: {lost}; what the call did is unknown",
                "look at what is there now before you call it again",
            ) from None
        except PluginRefused as refused:
            said = f"{self._name} broke: {refused}"[:MOST_SAID]
            error = ToolError("failed", said, refused.hint[:MOST_SAID] or "try another way")
            return Output("", error=error, origin=self._origin({}))
        except ArenaFull as full:
            raise ToolFailure("unavailable", full.what, full.fix) from None
        except PayloadError as error:
            self._unit.log.complain(f"{self._name} answered wrongly: {error}")
            raise ToolFailure(
                "failed", f"{self._name} answered wrongly: {error}", "tell the person"
            ) from None

    async def _run(self, arguments: Arguments, context: ToolContext) -> Output:
        arena = self._unit.arena
        assert arena is not None
        fields = payloads.filled(arena, self._unit.shares, "arguments", arguments)
        order = self._side.order(self._name, arguments)
        self._services.calls[context.call] = OpenCall(self._unit.name, context.report, self._side.changed)
        if order is not None:
            fields["order"] = order
        try:
            asking = self._unit.ask(
                "tool.call",
                call=context.call,
                tool=self._name,
                cwd=context.cwd,
                session=self._side.session,
                rests_on=context.rests_on,
                timeout_s=self._timeout_s,
                **fields,
            )
            answer = await self._answer(asking, context.call)
            try:
                return payloads.output(arena, answer, self._origin(answer))
            finally:
                payloads.given_back(arena, answer)
        finally:
            payloads.given_back(arena, fields)
            self._services.forget(context.call)

    async def _answer(self, asking: "asyncio.Future[Any]", call: str) -> Any:
        try:
            return await asking
        except asyncio.CancelledError:
            if (process := self._unit.process) is None:
                raise
            process.connection.notify("tool.cancel", call=call)
            with suppress(PluginLost, PluginRefused, TimeoutError):
                async with asyncio.timeout(LAST_ANSWER_S):
                    answer = await process.connection.late(asking)
                if not _record(answer).get("stopped"):
                    return answer
            raise

    def _origin(self, answer: Any) -> str:
        """Where the text comes from; only a plugin that is part of limnos may say so itself."""
        said = _record(answer).get("origin")
        if self._unit.manifest.builtin and said in _BUILTIN_ORIGINS:
            return str(said)
        return f"plugin:{self._unit.name}"


class PluginChannel:
    """The way out of one channel; it never says sent when nobody confirmed it."""

    def __init__(self, unit: Unit, name: str) -> None:
        self._unit = unit
        self._name = name

    async def __call__(self, arguments: Arguments, context: ToolContext) -> Output:
        """Send a text; see `kernel.tools.Execute`."""
        unit = self._unit
        try:
            asked = unit.request(
                "output.send", channel=self._name, to=arguments["to"], text=arguments["text"]
            )
            await within(unit.clock, DELIVERY_S, asked)
        except TimeoutError:
            return _unconfirmed(f"{self._name} did not confirm it in {DELIVERY_S:g} s", "timeout")
        except PluginLost as lost:
            return _unconfirmed(f"{unit.name} ended meanwhile ({lost})", "unavailable")
        except Unavailable as error:
            raise ToolFailure("unavailable", error.what, error.fix) from None
        except PluginRefused as refused:
            raise ToolFailure("failed", f"not sent: {refused}", refused.hint) from None
        return Output(f"sent to {arguments['to']}", "sent")


def _unconfirmed(why: str, reason: ErrorReason) -> Output:
    said = f"unconfirmed: {why}; it may have been sent"
    return Output(said, "unconfirmed", error=ToolError(reason, said, "ask the person before you repeat it"))


def handler_of(unit: Unit, declared: StageDeclaration) -> Handler:
    """The kernel's handler for one that a manifest declares; what breaks there is decided by its policy."""

    async def run(payload: Payload) -> Action:
        await unit.ready()
        arena = unit.arena
        assert arena is not None
        fields = payloads.filled(arena, unit.shares, "payload", stages.shown(payload))
        try:
            answer = await unit.request("stage.run", handler=declared.name, stage=declared.stage, **fields)
            return _action(unit, arena, payload, answer)
        finally:
            payloads.given_back(arena, fields)

    return Handler(
        name=declared.name,
        stage=declared.stage,
        run=run,
        plugin=unit.name,
        rewrites=declared.rewrites,
        priority=declared.priority,
        policy=declared.policy,
        scope=declared.scope,
        timeout_s=declared.timeout_s,
    )


def _action(unit: Unit, arena: Arena, payload: Payload, answer: Any) -> Action:
    """What the plugin said to `payload`. Raises PayloadError."""
    given = _record(answer)
    try:
        new = payloads.value(arena, given, "payload") if given.get("action") == "rewrite" else None
        return stages.action(payload, answer, new, unit.name)
    finally:
        payloads.given_back(arena, answer)


def _record(answer: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", answer) if isinstance(answer, dict) else {}
