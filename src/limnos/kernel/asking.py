"""Asking the model: the context rendered, looked at, paired, sent; and what happens when that fails."""

import asyncio

from limnos.kernel.cancel import Cancelled, Suspended
from limnos.kernel.errors import ContextOverflowError, DeniedError, ModelError
from limnos.kernel.events import ContextChanged, Warned
from limnos.kernel.messages import Message
from limnos.kernel.model import Request
from limnos.kernel.reply import Reply, collect
from limnos.kernel.review import GUARDED, finish_step, record_usage
from limnos.kernel.seams import Rendered
from limnos.kernel.stages import ContextPayload, run_stage
from limnos.kernel.turn import Parts, Turn

RECOVERIES = 2
RETRY_SECONDS = 1.0


async def ask(parts: Parts, turn: Turn) -> Reply | str:
    """The model's reply, or the text with which pre_action answers.

    A request that is too large for the provider is rendered smaller, twice a turn at most. Raises
    errors.ModelError, errors.LimitError, errors.DeniedError or cancel.Cancelled.
    """
    note = turn.meter.hint(turn.window_share)
    await _recall(parts, turn)
    while True:
        rendered = await parts.context.render(
            parts.stream.conversation, note=note, tools=not turn.last_chance
        )
        turn.window_share = rendered.used / max(rendered.budget, 1)
        if rendered.sunk or turn.meter.steps == 1:
            parts.stream.emit(_changed(rendered))
        payload = ContextPayload(rendered.messages)
        verdict = await run_stage(parts.stages, parts.stream, "pre_action", payload)
        if verdict.denied is not None:
            raise DeniedError(verdict.denied, GUARDED)
        if verdict.answer is not None:
            return verdict.answer
        assert isinstance(verdict.payload, ContextPayload)
        request = Request(_paired(parts, turn, verdict.payload.messages), rendered.tools, parts.reply_tokens)
        turn.reply = reply = Reply(parts.model.name)
        try:
            async with asyncio.timeout(turn.meter.seconds_left):
                await turn.cancel.guard(collect(parts.model, request, parts.stream, reply), gives_way=True)
        except TimeoutError:
            record_usage(parts, turn, reply, rendered)
            raise turn.meter.out_of_time() from None
        except Cancelled:
            record_usage(parts, turn, reply, rendered)
            raise
        except Suspended:
            record_usage(parts, turn, reply, rendered)
            turn.meter.steps -= 1  # the step is taken again
            raise
        except ContextOverflowError as error:
            turn.recoveries += 1
            if turn.recoveries > RECOVERIES:
                raise
            parts.context.overflowed(error.limit)
            continue
        record_usage(parts, turn, reply, rendered)
        return reply


async def _recall(parts: Parts, turn: Turn) -> None:
    """Have memory put beside the input of a turn what belongs to it, once."""
    if turn.meter.steps != 1:
        return
    recalled = await turn.cancel.guard(parts.context.recall(parts.stream.conversation))
    if recalled is not None:
        parts.stream.emit(recalled)


async def retry(parts: Parts, turn: Turn, reply: Reply) -> None:
    """Keep the text of a reply that broke off and wait a little; the second time is an error."""
    finish_step(parts.stream, reply)
    turn.reply = None
    turn.broken += 1
    detail = reply.finish.detail or "the stream ended without a finish marker"
    if turn.broken > 1:
        raise ModelError(f"{reply.model} broke off twice: {detail}", "ask again, or limnos model use another")
    parts.stream.emit(
        Warned(code="reply_incomplete", text=f"{reply.model} broke off: {detail}; trying again")
    )
    await turn.cancel.guard(parts.stream.clock.sleep(RETRY_SECONDS))


def _paired(parts: Parts, turn: Turn, messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """`messages` as a provider may see them; a repair is told, since something put them into disorder."""
    pairing = turn.paired(messages)
    if not pairing.valid:
        repairs = {
            "results dropped": pairing.dropped,
            "results made up": pairing.synthesised,
            "results moved": pairing.moved,
            "calls renamed": pairing.renamed,
        }
        told = ", ".join(f"{what}: {count}" for what, count in repairs.items() if count)
        parts.stream.emit(
            Warned(
                code="pairing_repaired", text=f"calls and results of a request did not fit together; {told}"
            )
        )
    return pairing.messages


def _changed(rendered: Rendered) -> ContextChanged:
    return ContextChanged(
        reason="pruned" if rendered.sunk else "assembled",
        used=rendered.used,
        budget=rendered.budget,
        reserve=rendered.reserve,
        system=rendered.system,
        sunk=list(rendered.sunk),
        marker=rendered.marker,
        markers=list(rendered.markers),
        ledger=rendered.ledger,
        decisions=list(rendered.decisions),
    )
