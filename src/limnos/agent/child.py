"""One sub-agent: its seat in the session, its work, and the answer that the agent above it gets."""

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Final

from limnos.agent.assembly import PINNED, QUIET, Bench, Seat, engine_of, loop_of, offer_more, register
from limnos.agent.spawn import DEPTH, SPAWN, Order, Spawner
from limnos.kernel.cancel import Cancel
from limnos.kernel.errors import StorageError
from limnos.kernel.events import AgentFinished, AgentStarted
from limnos.kernel.limits import counted_steps
from limnos.kernel.messages import ToolError, text_of
from limnos.kernel.recovery import close_open_agents
from limnos.kernel.registry import Registry
from limnos.kernel.stream import AgentStream
from limnos.kernel.tools import BLOCK_READ, BLOCKS, Output, Tool, ToolFailure
from limnos.kernel.turn import Ending, Turn, say_ending
from limnos.kernel.units import Step

LONGEST: Final = 20_000  # characters of an answer that are handed back
KEPT: Final = frozenset({"plan_update", "tools_open"})  # the plan is the session's; each opens its own groups
LISTED: Final = 20
ABOUT = """You are not the one the person talks to: you are sub-agent {path} of this session, as {role}.
Another agent gave you the task that follows. It sees your last message only, and nobody answers questions.
End with the result: what you found or did, where, and what is left."""


class Child:
    """A sub-agent of the agent of the seat `above`, in its turn. `cancel` stops it."""

    def __init__(self, bench: Bench, above: Seat, turn: Turn, order: Order, depth: int) -> None:
        """Raises ToolFailure for tools that it cannot have."""
        self._bench = bench
        self._order = order
        below = Spawner(bench, Child, depth + 1)
        spawn = below.tool() if depth < DEPTH else None
        whole = above.stream.whole
        self._stream = AgentStream(whole, whole.conversation.agents.take_path(above.stream.agent))
        remembered = bench.remember(self._stream)
        tools = _tools(above.registry, order.tools, [*remembered.tools, *((spawn,) if spawn else ())])
        self._cancel = turn.cancel.beneath()
        meter = turn.meter.beneath(order.steps)
        source = f"agent:{self._stream.agent}"
        self._turn = Turn(order.task, source, turn.state.principal, meter, self._cancel)
        registry = Registry()
        pinned = tuple({tool.plugin for tool in tools} - {BLOCKS}) if order.tools else PINNED
        catalogue = register(registry, tools, pinned, QUIET)
        named = f"sub-agent {self._stream.agent}, {order.role}"
        gate = above.gate.beneath(self._stream, named)
        about = ABOUT.format(path=self._stream.agent, role=order.role)
        seat = Seat(self._stream, gate, registry, catalogue, remembered.sources, about)
        below.serve(seat, lambda: self._turn)
        self._loop = loop_of(bench, seat, engine_of(bench, seat))
        self._above = above
        self._leave = self._stream.listen(partial(offer_more, catalogue))

    @property
    def cancel(self) -> Cancel:
        """See `Worker`."""
        return self._cancel

    async def work(self) -> Output:
        """See `Worker`; whatever happens it and all of its calls have their ends when this returns."""
        try:
            self._begin()
            ending = await self._loop.work(self._turn, heard=True)
            say_ending(self._stream, self._turn, ending)
            return self._end(ending)
        except BaseException:
            with suppress(StorageError):
                close_open_agents(self._stream.whole, self._stream.agent)
            raise
        finally:
            self._leave()

    def _begin(self) -> None:
        order = self._order
        self._stream.emit(
            AgentStarted(
                call=order.call,
                role=order.role,
                task=order.task,
                model=self._loop.model_name,
                max_steps=order.steps,
                tools=list(order.tools),
            ),
            durable=True,
        )

    def _end(self, ending: Ending) -> Output:
        text, block = self._bounded(self._stream.mask.text(self._said(ending)))
        meter, state = self._turn.meter, self._turn.state
        self._stream.emit(
            AgentFinished(
                call=self._order.call,
                role=self._order.role,
                reason=ending.reason,
                steps=meter.steps,
                calls=state.calls,
                tokens=meter.tokens,
                ms=meter.milliseconds,
                cost=str(meter.cost),
                currency=meter.currency,
                message=ending.message,
                had_effects=state.repeats.changed,
                block=block,
            ),
            durable=True,
        )
        summary = f"{self._order.role}: {ending.reason} after {counted_steps(meter.steps)}"
        error = ToolError("failed", ending.message, ending.fix) if ending.reason == "failed" else None
        return Output(text, summary, error=error, changed=state.repeats.changed)

    def _said(self, ending: Ending) -> str:
        """Its last message; when it came to no end of its own, also what it had said before."""
        steps = (unit for unit in self._stream.conversation.units if isinstance(unit, Step))
        texts = [text for step in steps if (text := text_of(step.parts).strip())]
        return "\n\n".join(texts[-1:] if ending.reason == "done" else texts[-2:]) or "[it said nothing]"

    def _bounded(self, text: str) -> tuple[str, str | None]:
        """The answer as it is handed back, and the block that holds all of one that is too long."""
        if len(text) <= LONGEST:
            return text, None
        block = self._bench.blobs.put(text.encode("utf-8", "replace"))
        self._above.catalogue.touch(BLOCKS)
        note = (
            f"[... {len(text) - LONGEST} of {len(text)} characters left out here;"
            f" {BLOCK_READ}(block={block!r}, start={LONGEST}) reads on ...]"
        )
        return f"{text[:LONGEST]}\n{note}", block


def _tools(above: Registry, wanted: tuple[str, ...], own: Sequence[Tool]) -> list[Tool]:
    """The tools of the agent above, or those of them that are wanted; `own` take the place of its own."""
    usable = {name: tool for name, tool in above.items() if name not in (*KEPT, SPAWN)}
    usable |= {tool.name: tool for tool in own if above.get(tool.name) is not None}
    unknown = [name for name in wanted if name not in usable]
    if unknown:
        raise ToolFailure(
            "not_found",
            f"a sub-agent cannot have {', '.join(map(repr, unknown))}",
            f"leave tools out, or name some of: {', '.join([*usable][:LISTED])}",
        )
    return [tool for name, tool in usable.items() if not wanted or name in (*wanted, BLOCK_READ)]
