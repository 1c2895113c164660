"""Calls: proposed, validated, looked at, approved one by one; started on disk, run, done on disk."""

import asyncio
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import NamedTuple

from limnos.kernel.approvals import Allowed, Gate, Proposal, Refused, approval_hash
from limnos.kernel.cancel import Cancel, Cancelled
from limnos.kernel.events import CallFinished, CallProposed, CallStarted
from limnos.kernel.messages import Outcome, Text, ToolCall, ToolError, ToolResult, text_of
from limnos.kernel.progress import Progress
from limnos.kernel.registry import Catalogue, Registry
from limnos.kernel.repeats import Repeats
from limnos.kernel.seams import Blobs, Folder, Invalid, Principal, Valid, Validator
from limnos.kernel.stages import CallPayload, Pipeline, ResultPayload, run_stage
from limnos.kernel.stream import EventStream
from limnos.kernel.tools import (
    BLOCK_READ,
    BLOCKS,
    Output,
    Tool,
    ToolContext,
    ToolFailure,
    findings_of,
    preflight_of,
    sandbox_of,
)

GUARDED_EDIT = ToolError("refused", "a guard does not let the edited arguments pass", "do it another way")
MOVED = ToolError(
    "refused", "what this call would change is no longer what was looked at", "look at it again, then call it"
)
CANCELLED = ToolError(
    "failed", "the person stopped the turn before this call ended", "wait for what they say"
)


class Toolset(NamedTuple):
    """What calls are made with. `inline_characters` bounds the text of a result that a model reads whole."""

    registry: Registry
    catalogue: Catalogue
    validate: Validator
    blobs: Blobs
    folder: Folder
    inline_characters: int = 60_000


@dataclass(slots=True)
class TurnState:
    """What the calls of one turn share."""

    principal: Principal
    cancel: Cancel
    repeats: Repeats
    calls: int = 0
    unattended: int = 0


class _Ready(NamedTuple):
    """A call that was said yes to."""

    call: ToolCall
    tool: Tool
    allowed: Allowed


class Calls:
    """Runs the calls of a step; gives exactly one result for each, whatever happens."""

    def __init__(self, tools: Toolset, gate: Gate, stages: Pipeline, stream: EventStream) -> None:
        self._tools = tools
        self._gate = gate
        self._stages = stages
        self._stream = stream

    def propose(self, calls: Sequence[ToolCall]) -> None:
        """Write down what the model asked for, before anything is decided."""
        for call in calls:
            tool = self._tools.registry.get(call.name)
            self._stream.emit(
                CallProposed(
                    call=call.id,
                    tool=call.name,
                    arguments=dict(call.arguments) if call.arguments is not None else None,
                    effects=tool.effects if tool else "none",
                    raw=call.raw if call.arguments is None else None,
                    parse_error=call.parse_error,
                    cut=call.cut,
                )
            )

    async def run(self, calls: Sequence[ToolCall], turn: TurnState) -> list[ToolResult]:
        """Decide about each call in order, then run the approved ones; results are in call order.

        Neighbours that are all `parallel_safe` run together, any other call runs alone.
        """
        results: dict[str, ToolResult] = {}
        ready: list[_Ready] = []
        for call in calls:
            decided = await self._decide(call, turn)
            if isinstance(decided, _Ready):
                ready.append(decided)
            else:
                results[call.id] = decided
        for together, group in groupby(ready, key=lambda one: one.tool.parallel_safe and not one.tool.serial):
            batch = list(group)
            if together:
                results.update(await self._together(batch, turn))
            else:
                for one in batch:
                    results[one.call.id] = await self._execute(one, turn)
        return [results[call.id] for call in calls]

    async def _together(self, batch: Sequence[_Ready], turn: TurnState) -> dict[str, ToolResult]:
        """Run calls side by side. When the log cannot be written any more, none goes on unrecorded."""
        tasks = [asyncio.ensure_future(self._execute(one, turn)) for one in batch]
        try:
            return {result.call_id: result for result in await asyncio.gather(*tasks)}
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def settle(self, call: ToolCall, outcome: Outcome, error: ToolError) -> ToolResult:
        """Close a call without running it."""
        result = ToolResult(call.id, outcome, error=error)
        self._finish(call.name, result, Output(""))
        return result

    def fail(self, call: ToolCall, turn: TurnState, error: ToolError) -> ToolResult:
        """Close a call that cannot run; the same failure again and again ends the turn."""
        result = self.settle(call, "failed", error)
        turn.repeats.record(None, call.name, call.arguments or {}, result)
        return result

    async def _decide(self, call: ToolCall, turn: TurnState) -> _Ready | ToolResult:
        if turn.cancel.reason is not None:
            return self.settle(call, "cancelled", CANCELLED)
        tool = self._tools.registry.get(call.name)
        if tool is None:
            return self.fail(call, turn, self._no_such_tool(call.name))
        checked = self._validate(tool, call)
        if isinstance(checked, ToolError):
            return self.fail(call, turn, checked)
        repeated = turn.repeats.verdict(tool, call.name, checked.value)
        if repeated is not None:
            return self.fail(call, turn, repeated)
        looked = await self._before(call, tool, checked)
        if isinstance(looked, ToolError):
            return self.settle(call, "denied", looked)
        return await self._ask(call, tool, looked, turn)

    async def _ask(self, call: ToolCall, tool: Tool, looked: Valid, turn: TurnState) -> _Ready | ToolResult:
        if (hopeless := preflight_of(tool, looked.value)) is not None:
            return self.fail(call, turn, hopeless)
        try:
            decision = await self._gate.decide(self._proposal(call, tool, looked, turn), turn.cancel)
        except Cancelled:
            return self.settle(call, "cancelled", CANCELLED)
        if isinstance(decision, Refused):
            return self._refused(call, turn, decision)
        if decision.arguments != looked.value:
            again = await self._before(call, tool, Valid(dict(decision.arguments)))
            if isinstance(again, ToolError) or again.value != decision.arguments:
                return self.settle(call, "denied", GUARDED_EDIT)
        return _Ready(call, tool, decision)

    def _refused(self, call: ToolCall, turn: TurnState, decision: Refused) -> ToolResult:
        turn.unattended += decision.unattended
        result = self.settle(call, decision.outcome, decision.error)
        turn.repeats.record(None, call.name, call.arguments or {}, result)
        return result

    def _validate(self, tool: Tool, call: ToolCall) -> Valid | ToolError:
        if call.arguments is None:
            hint = "send the call again, in smaller parts" if call.cut else "send one strict JSON object"
            return ToolError("invalid_arguments", call.parse_error or "the arguments could not be read", hint)
        checked = self._tools.validate(tool.parameters, call.arguments)
        if isinstance(checked, Invalid):
            return ToolError("invalid_arguments", checked.detail, checked.hint)
        return checked

    async def _before(self, call: ToolCall, tool: Tool, valid: Valid) -> Valid | ToolError:
        payload = CallPayload(call.id, call.name, tool.plugin, valid.value)
        verdict = await run_stage(self._stages, self._stream, "before_toolcall", payload)
        if verdict.denied is not None or verdict.answer is not None:
            return ToolError("refused", verdict.denied or str(verdict.answer), "go on without this call")
        assert isinstance(verdict.payload, CallPayload)
        if verdict.payload.arguments == valid.value:
            return valid
        checked = self._tools.validate(tool.parameters, verdict.payload.arguments)
        if isinstance(checked, Invalid):
            return ToolError("refused", f"a stage made the arguments invalid: {checked.detail}", checked.hint)
        return checked

    def _proposal(self, call: ToolCall, tool: Tool, valid: Valid, turn: TurnState) -> Proposal:
        return Proposal(
            call.id,
            tool,
            valid.value,
            self._tools.folder,
            turn.principal,
            partial(self._tools.validate, tool.parameters),
        )

    async def _execute(self, ready: _Ready, turn: TurnState) -> ToolResult:
        call, tool, allowed = ready.call, ready.tool, ready.allowed
        if turn.cancel.reason is not None:
            return self.settle(call, "cancelled", CANCELLED)
        folder = self._tools.folder
        findings = findings_of(tool, allowed.arguments)
        if approval_hash(tool, allowed.arguments, folder, findings) != allowed.hash:
            return self.settle(call, "denied", MOVED)
        self._stream.emit(
            CallStarted(
                call=call.id,
                hash=allowed.hash,
                arguments=dict(allowed.arguments),
                cwd=folder.path,
                sandbox=sandbox_of(tool, allowed.arguments),
            ),
            durable=True,
        )
        turn.calls += 1
        began = self._stream.clock.monotonic()
        outcome, output = await self._perform(ready, turn.cancel, findings.rests_on)
        error = turn.repeats.demanding(tool, call.name, allowed.arguments, output.error)
        result = ToolResult(call.id, outcome, (Text(output.text),) if output.text else (), error)
        result, output = await self._after(ready, result, output)
        self._tools.catalogue.touch(call.name)
        result = self._finish(call.name, result, output, int((self._stream.clock.monotonic() - began) * 1000))
        if output.changed:
            turn.repeats.note_change()
        turn.repeats.record(tool, call.name, allowed.arguments, result)
        return result

    async def _perform(self, ready: _Ready, cancel: Cancel, rests: str) -> tuple[Outcome, Output]:
        tool, call = ready.tool, ready.call
        try:
            with closing(Progress(call.id, self._stream)) as report:
                context = ToolContext(call.id, self._tools.folder.path, report, rests)
                async with asyncio.timeout(tool.timeout_s):
                    output = await cancel.guard(_run(tool, ready.allowed, context))
        except Cancelled:
            return "cancelled", Output("", error=CANCELLED)
        except TimeoutError:
            detail = f"no result after {tool.timeout_s:g} s; the work was {tool.after_timeout}"
            return "failed", Output(
                "", error=ToolError("timeout", detail, "ask for less, or in smaller parts")
            )
        except ToolFailure as failure:
            return "failed", Output("", error=failure.error)
        except Exception as error:  # noqa: BLE001 - the border to tools: their faults are results
            detail = f"{tool.name} broke: {type(error).__name__}: {error}"
            return "failed", Output("", error=ToolError("failed", detail, "try another way"))
        return ("failed" if output.error else "done"), output

    async def _after(self, ready: _Ready, result: ToolResult, output: Output) -> tuple[ToolResult, Output]:
        """What the guards leave of a result. One that a plugin rewrote is that plugin's text from then on."""
        payload = ResultPayload(ready.call.name, ready.tool.plugin, result)
        verdict = await run_stage(self._stages, self._stream, "after_toolcall", payload)
        if verdict.denied is not None or verdict.answer is not None:
            withheld = ToolError("refused", f"the result was withheld: {verdict.denied or verdict.answer}")
            return result._replace(parts=(), error=withheld, outcome="failed"), output
        assert isinstance(verdict.payload, ResultPayload)
        if verdict.by not in ("", "kernel"):
            output = output._replace(origin=f"plugin:{verdict.by}")
        return verdict.payload.result, output

    def _finish(self, name: str, result: ToolResult, output: Output, ms: int = 0) -> ToolResult:
        text = self._stream.mask.text(text_of(result.parts))
        shown, block = self._bounded(text)
        error = result.error
        self._stream.emit(
            CallFinished(
                call=result.call_id,
                tool=name,
                outcome=result.outcome,
                text=shown,
                error={"reason": error.reason, "detail": error.detail, "hint": error.hint} if error else None,
                block=block,
                bytes=len(text.encode("utf-8", "replace")),
                exit=output.exit,
                summary=output.summary,
                short=block is not None,
                ms=ms,
                origin=output.origin,
                trust="trusted" if output.origin == "kernel" else "untrusted",
            )
        )
        return result._replace(parts=(Text(shown),) if shown else ())

    def _bounded(self, text: str) -> tuple[str, str | None]:
        """`text`, or its head and tail with the id of the block that holds it whole."""
        bound = self._tools.inline_characters
        if len(text) <= bound:
            return text, None
        block = self._tools.blobs.put(text.encode("utf-8", "replace"))
        self._tools.catalogue.touch(BLOCKS)
        head, tail = text[: bound * 2 // 3], text[-(bound // 4) :]
        left_out = len(text) - len(head) - len(tail)
        return (
            f"{head}\n[... {left_out} of {len(text)} characters left out here;"
            f" {BLOCK_READ}(block={block!r}) pages through the whole ...]\n{tail}"
        ), block

    def _no_such_tool(self, name: str) -> ToolError:
        near = self._tools.registry.near(name) or [known for known, _ in self._tools.registry.items()][:5]
        return ToolError("not_found", f"there is no tool {name!r}", f"use one of: {', '.join(near)}")


async def _run(tool: Tool, allowed: Allowed, context: ToolContext) -> Output:
    return await tool.execute(allowed.arguments, context)
